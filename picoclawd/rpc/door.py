"""The methods beside the tools: sessions, ping, descriptions, status."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import trio
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.rpc.describe import describe_tools, openrpc
from picoclawd.rpc.method import Exchange, Method, Notifier, Params
from picoclawd.text import display, redact
from picoclawd.tools._call import Toolbox
from picoclawd.tools._decode import decode
from picoclawd.tools._spec import PathBytesParam
from picoclawd.tools.search_files import INDEXED_BYTES_MAX, SearchFilesSettings
from picoclawd.workspace.actors import Kind
from picoclawd.workspace.explain import Explained, explain
from picoclawd.workspace.sessions import Session, checked_label
from picoclawd.workspace.workspace import Workspace


@dataclass(slots=True, eq=False)
class Guest:
    """A connection's standing in the house: the session that it holds now, and what it is told by."""

    session: Session
    notifier: Notifier


@dataclass(frozen=True, slots=True)
class Facts:
    """What the daemon knows of itself and tells. `request_limits` are the numbers that a client should respect."""

    version: str
    started_at: float
    request_limits: dict[str, int]


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A method without parameters."""


class OpenParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of session.open."""

    client: Annotated[str, msgspec.Meta(description="Who is calling, for people to read.")] = ""
    kind: Annotated[Kind, msgspec.Meta(description='"agent" or "subagent": binds honest hosts only.')] = Kind.AGENT
    resume: Annotated[str, msgspec.Meta(description="The token of an earlier session.")] | UnsetType = UNSET


class WhyParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of workspace.why."""

    path: Annotated[str, msgspec.Meta(description="The path to explain. Default: the workspace.")] = "."
    path_bytes: PathBytesParam | UnsetType = UNSET


Answer = dict[str, Any]
Handler = Callable[["Door", Guest, Any], Answer | Awaitable[Answer]]


class Door:
    """Answers every method that is no tool, for one workspace."""

    def __init__(self, workspace: Workspace, toolbox: Toolbox, facts: Facts) -> None:
        self.workspace = workspace
        self.toolbox = toolbox
        self.facts = facts

    def methods(self) -> list[Method]:
        """One `Method` for each row of the table below. Those that need not wait are answered at once."""
        return [self._method(name, params, handler) for name, _text, params, handler in METHODS]

    def _method(self, name: str, struct: type[msgspec.Struct], handler: Handler) -> Method:
        order = struct.__struct_fields__

        def at_once(exchange: Exchange, params: Params) -> object:
            assert isinstance(exchange.client, Guest)
            if isinstance(params, list):
                if len(params) > len(order):
                    raise Fault(Slug.INVALID_PARAMS, f"{name} takes at most {len(order)} parameters.", path="$")
                params = dict(zip(order, params, strict=False))
            return handler(self, exchange.client, decode(name, struct, params))

        async def run(exchange: Exchange, params: Params) -> object:
            answer = at_once(exchange, params)
            return await answer if inspect.isawaitable(answer) else answer

        return Method(name, run, at_once=None if inspect.iscoroutinefunction(handler) else at_once)


def _ping(door: Door, guest: Guest, params: NoParams) -> dict[str, Any]:
    return {"pong": True}


def _session_open(door: Door, guest: Guest, params: OpenParams) -> dict[str, Any]:
    sessions = door.workspace.sessions
    if params.resume is UNSET:
        token = sessions.open(guest.session, params.client, params.kind)
    else:
        checked_label("client", params.client)
        guest.session, token = sessions.resume(guest.session, params.resume, params.kind)
    return {**_session_info(door, guest, NoParams()), "resume": token}


def _session_info(door: Door, guest: Guest, params: NoParams) -> dict[str, Any]:
    actor = guest.session.actor
    return {
        "session_id": actor.session_id,
        "client": actor.client,
        "kind": actor.kind.value,
        "role": actor.role.value,
        "workspace": display.data_name(door.workspace.root)[0],
        "limits": door.facts.request_limits,
        "tools": sorted(door.toolbox.names),
    }


def _session_close(door: Door, guest: Guest, params: NoParams) -> dict[str, Any]:
    closed = guest.session
    guest.session = door.workspace.sessions.close(closed)
    return {"closed": closed.session_id}


def _tools_list(door: Door, guest: Guest, params: NoParams) -> dict[str, Any]:
    return {"tools": describe_tools(door.toolbox)}


def _discover(door: Door, guest: Guest, params: NoParams) -> dict[str, Any]:
    return openrpc(door.toolbox, [(name, text, struct) for name, text, struct, _ in METHODS], door.facts.version)


def _status(door: Door, guest: Guest, params: NoParams) -> dict[str, Any]:
    """`content` for a person, `data` for programs; the same facts in both."""
    workspace = door.workspace
    now = trio.current_time()
    data: dict[str, Any] = {
        "version": door.facts.version,
        "workspace": display.data_name(workspace.root)[0],
        "uptime_s": round(now - door.facts.started_at, 3),
        "index": msgspec.to_builtins(workspace.index.state()),
        "watcher": msgspec.to_builtins(workspace.index.watcher_state()),
        "probes": msgspec.to_builtins(workspace.probes),
        "sessions": [_session_row(session) for session in workspace.sessions.live()],
        "locks": [_lock_row(row) for row in workspace.locks.statistics()],
        "threads": msgspec.to_builtins(workspace.threads.statistics()),
        "cache": workspace.reader.statistics(),
        "leftovers": list(workspace.leftovers),
    }
    data["weaker"] = weaker_promises(data["probes"])
    return {"content": _status_text(data), "display": None, "data": data}


def weaker_promises(probes: dict[str, Any]) -> list[str]:
    """What is weaker on this file system than promised, a sentence each; empty where every probe holds."""
    said = {
        "exchange": "no renameat2 EXCHANGE: a save by another program at the moment of ours may be lost",
        "leases": "no file leases: a program that writes a file in place at the moment of ours may lose its save",
        "openat2": "no openat2: paths are resolved component by component, which is slower and just as safe",
        "tmpfile": "no O_TMPFILE: a crash while a file is created may leave a hidden temporary file",
    }
    return [text for probe, text in said.items() if not probes.get(probe)]


def _session_row(session: Session) -> dict[str, Any]:
    actor = session.actor
    return {
        "session_id": actor.session_id,
        "role": actor.role.value,
        "kind": actor.kind.value,
        "client": actor.client,
        "pid": actor.peer_pid,
    }


def _lock_row(row: Any) -> dict[str, Any]:
    return {
        "path": display.data_name(row.key[-1])[0],
        "holder": row.holder,
        "waiters": row.waiters,
        "held_s": round(row.held_s, 3),
        "waited_s": round(row.waited_s, 3),
    }


def _status_text(data: dict[str, Any]) -> str:
    lines = [
        f"picoclawd {data['version']} serves {data['workspace']}, up {data['uptime_s']:.0f} s",
        f"sessions: {len(data['sessions'])}, locks held: {len(data['locks'])}",
        _index_line(data["index"]),
        _watcher_line(data["watcher"]),
        "probes: " + ", ".join(f"{name}={value}" for name, value in data["probes"].items()),
    ]
    lines += [f"weaker here: {text}" for text in data["weaker"]]
    lines += [f"left over from a crash, kept because it may hold someone's save: {name}" for name in data["leftovers"]]
    return "\n".join(lines)


async def _why(door: Door, guest: Guest, params: WhyParams) -> dict[str, Any]:
    workspace = door.workspace
    path = workspace.parse(params.path, None if params.path_bytes is UNSET else params.path_bytes)
    found = await explain(workspace, path, _scan_max_bytes(door.toolbox))
    return {
        "reason": found.reason.value,
        "at": display.data_name(found.at)[0],
        "searched": found.searched,
        "rule": _rule_row(found, verbatim=guest.session.actor.is_operator),
        "next": found.next,
    }


def _scan_max_bytes(toolbox: Toolbox) -> int:
    _tool, settings = toolbox.entries.get("search_files", (None, None))
    wanted = settings.scan_max_bytes if isinstance(settings, SearchFilesSettings) else None
    return INDEXED_BYTES_MAX if wanted is None else wanted


def _rule_row(found: Explained, *, verbatim: bool) -> dict[str, Any] | None:
    """The rule that decided; its pattern is text of a file, so agents get it redacted."""
    rule = found.rule
    if rule is None:
        return None
    pattern = rule.pattern.decode("utf-8", "replace")
    file = rule.directory + b"/" + rule.kind.encode() if rule.directory else rule.kind.encode()
    return {
        "file": display.data_name(file)[0],
        "line": rule.line_no,
        "pattern": pattern if verbatim else redact.redact(pattern),
    }


def _index_line(index: dict[str, Any]) -> str:
    if index["reason"]:
        return f"index: {index['state']}: {index['reason']}"
    load = f"{index['done']} of {index['total']} texts looked at, {index['text_bytes']} bytes of them kept"
    return f"index: {index['state']}, {index['files']} files in {index['directories']} directories; {load}"


def _watcher_line(watcher: dict[str, Any]) -> str:
    return f"watcher: {watcher['state']}" + (f": {watcher['reason']}" if watcher["reason"] else "")


METHODS: tuple[tuple[str, str, type[msgspec.Struct], Handler], ...] = (
    ("ping", "Answer at once.", NoParams, _ping),
    ("session.open", "Name the client, and get a token that resumes the session.", OpenParams, _session_open),
    ("session.info", "Who this connection is taken for.", NoParams, _session_info),
    ("session.close", "End the session; its token opens nothing any more.", NoParams, _session_close),
    ("tools.list", "The tools that are switched on, with their schemas.", NoParams, _tools_list),
    ("rpc.discover", "This daemon's OpenRPC document.", NoParams, _discover),
    ("workspace.status", "Index, watcher, probes, sessions, locks and leftovers.", NoParams, _status),
    ("workspace.why", "Why searches do, or do not, see a path.", WhyParams, _why),
)
