"""Every way in which a tool changes a file, one call each, with what is there before it and after it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from picoclawd.history.store import History
from picoclawd.workspace.audit import Audit
from picoclawd.workspace.workspace import Records
from tests.e2e.tool_child import OneThread
from tests.house import House

OP = "the-call"
OLD = "".join(f"line {number} of the old text\n" for number in range(300)).encode()
NEW = OLD.replace(b"line 7 ", b"LINE 7 ")
ADDED = b"".join(b"added line %d\n" % number for number in range(40))
LARGE = OLD * 60  # beyond what history keeps in its database: a file of its own

Files = dict[str, bytes | None]


@dataclass(frozen=True)
class Case:
    """One mutating call. `setup` are calls that were made before, in the same history; paths are below the workspace.

    `after` is what the call makes of the files that it concerns, `before` what they were (None: no file).
    """

    name: str
    tool: str
    params: dict[str, Any]
    before: Files
    after: Files
    setup: tuple[tuple[str, dict[str, Any]], ...] = ()
    in_place: bool = False
    links: dict[str, str] = field(default_factory=dict)  # name: the existing name that it is one more of
    task: bool = False  # the setup belongs to a task that the call names
    apart: bool = False  # the state lies on another file system


def _put(name: str, data: bytes) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": name, "content": data.decode(), "overwrite": True}


CASES = (
    Case(
        "create",
        "write_file",
        {"path": "new/deep/f", "content": OLD.decode()},
        {"new/deep/f": None},
        {"new/deep/f": OLD},
    ),
    Case("overwrite", *_put("f", NEW), {"f": OLD}, {"f": NEW}),
    Case("overwrite_large", *_put("f", b"new\n" + LARGE), {"f": LARGE}, {"f": b"new\n" + LARGE}),
    Case(
        "append_shaped",
        "write_file",
        {"path": "f", "content": (OLD + ADDED).decode()},
        {"f": OLD},
        {"f": OLD + ADDED},
        in_place=True,
    ),
    Case(
        "append", "append_file", {"path": "f", "content": ADDED.decode()}, {"f": OLD}, {"f": OLD + ADDED}, in_place=True
    ),
    Case(
        "append_large",
        "append_file",
        {"path": "f", "content": LARGE.decode()},
        {"f": OLD},
        {"f": OLD + LARGE},
        in_place=True,
    ),
    Case("append_creates", "append_file", {"path": "f", "content": ADDED.decode()}, {"f": None}, {"f": ADDED}),
    Case("edit", "edit_file", {"path": "f", "old_text": "line 7 ", "new_text": "LINE 7 "}, {"f": OLD}, {"f": NEW}),
    Case(
        "patch",
        "edit_file",
        {"path": "f", "patch": "@@\n-line 7 of the old text\n+LINE 7 of the old text\n"},
        {"f": OLD},
        {"f": NEW},
    ),
    Case(
        "edit_linked",
        "edit_file",
        {"path": "f", "old_text": "line 7 ", "new_text": "LINE 7 "},
        {"f": OLD, "other": OLD},
        {"f": NEW, "other": OLD},
        links={"other": "f"},
    ),
    Case("remove", "remove_file", {"path": "f"}, {"f": OLD}, {"f": None}),
    Case("remove_apart", "remove_file", {"path": "f"}, {"f": OLD}, {"f": None}, apart=True),
    Case("restore_content", "restore_file", {"version": 1}, {"f": NEW}, {"f": OLD}, (_put("f", OLD), _put("f", NEW))),
    Case(
        "restore_removed",
        "restore_file",
        {"version": 2},
        {"f": None},
        {"f": OLD},
        (_put("f", OLD), ("remove_file", {"path": "f"})),
    ),
    Case(
        "restore_removed_apart",
        "restore_file",
        {"version": 2},
        {"f": None},
        {"f": OLD},
        (_put("f", OLD), ("remove_file", {"path": "f"})),
        apart=True,
    ),
    Case(
        "restore_task",
        "restore_file",
        {"task_id": "t"},
        {"a": NEW, "b": NEW},
        {"a": None, "b": None},
        (_put("a", NEW), _put("b", NEW)),
        task=True,
    ),
)


class Spot:
    """Where a case is played: `ws` and its state, made from a template at each `fresh`."""

    def __init__(self, root: Path, case: Case, apart: Path) -> None:
        self.case = case
        self.ws = root / "ws"
        self.state = (apart if case.apart else root) / "state"
        self._template = root / "template"
        self._state_template = root / "state-template"
        self._make()

    def fresh(self) -> None:
        """Put everything back to before the call."""
        for place, template in ((self.ws, self._template), (self.state, self._state_template)):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(template, place, symlinks=True)
        for name, existing in self.case.links.items():
            (self.ws / name).unlink()
            os.link(self.ws / existing, self.ws / name)

    def found(self) -> Files:
        """What the files of the case hold now."""
        return {name: content_of(self.ws / name) for name in self.case.before}

    def house(self) -> House:
        """A house whose every work is done in the thread that asks, with history and audit log."""
        records = Records(History(str(self.state)), Audit(str(self.state)))
        return House(self.ws, threads=OneThread(), records=records)

    async def play(self, house: House) -> dict[str, Any]:
        """Make the call."""
        return await house.call(self.case.tool, session=house.operator, op=OP, **self.case.params)

    def _make(self) -> None:
        shutil.rmtree(self.ws, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)
        self.ws.mkdir(parents=True)
        if not self.case.setup:
            for name, data in self.case.before.items():
                if data is not None:
                    (self.ws / name).write_bytes(data)
        house = self.house()
        try:
            trio.run(self._set_up, house)
        finally:
            house.close()
        assert self.found() == self.case.before
        shutil.copytree(self.ws, self._template)
        shutil.copytree(self.state, self._state_template)

    async def _set_up(self, house: House) -> None:
        if self.case.task:
            house.workspace.tasks.begin(house.operator.actor, "a task", "t")
        for tool, params in self.case.setup:
            await house.call(tool, session=house.operator, **params)
        await house.call("list_dir", path=".", session=house.operator)


def content_of(path: Path) -> bytes | None:
    """A file's bytes; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def named(names: str | None) -> Callable[[Case], bool]:
    """Whether a case is among those that are named, separated by commas; None: all."""
    wanted = None if names is None else set(names.split(","))
    return lambda case: wanted is None or case.name in wanted
