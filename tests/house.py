"""A whole workspace in process, with its tools, and no socket: what tool tests call."""

import os
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.files import linux
from picoclawd.files.policy import PathRules, Policy
from picoclawd.files.probes import Probes
from picoclawd.files.resolve import ResolverKind
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.history.store import History
from picoclawd.tools import _registry
from picoclawd.tools._call import Asked, Toolbox, call_tool
from picoclawd.tools._spec import Settings
from picoclawd.workspace import questions
from picoclawd.workspace.actors import Kind, Role
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.workspace import Options, Records, Workspace

PROBES = Probes(
    openat2=True,
    exchange=True,
    noreplace=True,
    tmpfile=True,
    leases=True,
    xattrs=True,
    timestamp_tick_ns=4_000_000,
    watch_limit=None,
    file_system="ext4",
)


NOBODY = questions.Settings(reachable=False)  # for those who would wait for a person in vain


class House:
    """Call a tool as an agent or an operator; `root` is the workspace."""

    def __init__(
        self,
        root: Path,
        options: Options | None = None,
        off: frozenset[str] = frozenset(),
        settings: dict[str, Settings] | None = None,
        threads: Threads | None = None,
        records: Records | None = None,
        watcher_command: tuple[str, ...] | None = None,
        kind: ResolverKind | None = None,
        **rules: Any,
    ) -> None:
        linux.ignore_lease_signal()
        self.root = root
        real = os.fsencode(os.path.realpath(root))
        self.rooted = Rooted(real, Policy(PathRules(workspace=real, **rules)), kind)
        self.workspace = Workspace(
            self.rooted,
            (real,),
            PROBES,
            options or Options(approvals=NOBODY),
            threads,
            records=records,
            watcher_command=watcher_command,
        )
        given = settings or {}
        self.toolbox = Toolbox(
            {
                name: (tool, given.get(name, tool.settings()))
                for name, tool in _registry.discover().items()
                if name not in off
            }
        )
        self.agent = self.session(Role.AGENT)
        self.operator = self.session(Role.OPERATOR)
        self.stop = False

    async def start_index(self, nursery: trio.Nursery) -> None:
        """Run the index until the nursery is cancelled; its names are there when this returns."""
        await nursery.start(self.workspace.index.run)
        await self.workspace.threads.run(Lane.INDEX, self.workspace.index.tree.build)

    def session(self, role: Role) -> Session:
        session = self.workspace.sessions.connect(role, os.getpid())
        self.workspace.sessions.open(session, "test", Kind.AGENT)
        return session

    @property
    def history(self) -> History:
        """The history of a house that has one."""
        history = self.workspace.journal.history
        assert history is not None
        return history

    async def call(
        self, name: str, *args: Any, session: Any = None, op: str | None = None, **params: Any
    ) -> dict[str, Any]:
        return await self._call(name, list(args) if args else params, session, dry_run=False, op=op)

    async def dry(self, name: str, **params: Any) -> dict[str, Any]:
        return await self._call(name, params, None, dry_run=True)

    async def _call(
        self, name: str, params: Any, session: Session | None, *, dry_run: bool, op: str | None = None
    ) -> dict[str, Any]:
        asked = Asked(session or self.agent, lambda: self.stop, lambda done, total, message: None, dry_run, op)
        return await call_tool(self.toolbox, self.workspace, name, params, asked)

    async def fault(self, slug: Slug, name: str, session: Any = None, **params: Any) -> Fault:
        """The fault of a call that must fail with this slug."""
        with pytest.raises(Fault) as caught:
            await self.call(name, session=session, **params)
        assert caught.value.slug is slug, caught.value
        return caught.value

    def write(self, name: str, data: bytes | str, mode: int | None = None) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if mode is not None:
            path.chmod(mode)
        return path

    def write_bytes_name(self, name: bytes, data: bytes) -> None:
        """Write a file whose name is not UTF-8."""
        with open(os.fsencode(self.root) + b"/" + name, "wb") as file:
            file.write(data)

    def close(self) -> None:
        self.workspace.journal.close()
        self.rooted.close()
