"""workspace.status, workspace.why and metrics: how the daemon is, in words and numbers."""

from contextlib import suppress
from typing import Annotated, Any

import msgspec
import trio
from msgspec import UNSET, UnsetType

from picoclawd.files.threads import Lane
from picoclawd.history.records import HistoryError
from picoclawd.rpc import metrics
from picoclawd.rpc.rows import Answer, Caller, House, NoParams, Row
from picoclawd.text import display, redact
from picoclawd.tools._call import Toolbox
from picoclawd.tools._spec import PathBytesParam
from picoclawd.tools.search_files import INDEXED_BYTES_MAX, SearchFilesSettings
from picoclawd.workspace.explain import Explained, explain
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.workspace import Workspace


class WhyParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of workspace.why."""

    path: Annotated[str, msgspec.Meta(description="The path to explain. Default: the workspace.")] = "."
    path_bytes: PathBytesParam | UnsetType = UNSET


def _status(house: House, caller: Caller, params: NoParams) -> Answer:
    """`content` for a person, `data` for programs; the same facts in both."""
    workspace = house.workspace
    now = trio.current_time()
    data: dict[str, Any] = {
        "version": house.facts.version,
        "workspace": display.data_name(workspace.root)[0],
        "uptime_s": round(now - house.facts.started_at, 3),
        "index": msgspec.to_builtins(workspace.index.state()),
        "watcher": msgspec.to_builtins(workspace.index.watcher_state()),
        "probes": msgspec.to_builtins(workspace.probes),
        "sessions": [_session_row(session) for session in workspace.sessions.live()],
        "locks": [_lock_row(row) for row in workspace.locks.statistics()],
        "threads": msgspec.to_builtins(workspace.threads.statistics()),
        "cache": workspace.reader.statistics(),
        "history": _history(workspace),
        "leftovers": list(workspace.leftovers),
    }
    data["weaker"] = weaker_promises(data["probes"])
    return {"content": _status_text(data), "display": None, "data": data}


def _history(workspace: Workspace) -> dict[str, Any]:
    """Whether changes are recorded, and how many shared a commit."""
    history = workspace.journal.history
    if history is None:
        return {"state": "off", "reason": workspace.journal.no_history}
    return {"state": "ok", "reason": history.notice, **msgspec.to_builtins(history.writes())}


def weaker_promises(probes: dict[str, Any]) -> list[str]:
    """What is weaker on this file system than promised, a sentence each; empty where every probe holds."""
    said = {
        "exchange": "no renameat2 EXCHANGE: a save by another program at the moment of ours may be lost",
        "leases": "no file leases: a program that writes a file in place at the moment of ours may lose its save",
        "openat2": "no openat2: paths are resolved component by component, which is slower and just as safe",
        "tmpfile": "no O_TMPFILE: a crash while a file is created may leave a hidden temporary file",
    }
    return [text for probe, text in said.items() if not probes.get(probe)]


def _session_row(session: Session) -> Answer:
    actor = session.actor
    return {
        "session_id": actor.session_id,
        "role": actor.role.value,
        "kind": actor.kind.value,
        "client": actor.client,
        "pid": actor.peer_pid,
    }


def _lock_row(row: Any) -> Answer:
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
    if data["history"]["reason"]:
        lines.append(f"history: {data['history']['state']}: {data['history']['reason']}")
    lines += [f"weaker here: {text}" for text in data["weaker"]]
    lines += [f"left over from a crash, kept because it may hold someone's save: {name}" for name in data["leftovers"]]
    return "\n".join(lines)


def _index_line(index: dict[str, Any]) -> str:
    if index["reason"]:
        return f"index: {index['state']}: {index['reason']}"
    load = f"{index['done']} of {index['total']} texts looked at, {index['text_bytes']} bytes of them kept"
    return f"index: {index['state']}, {index['files']} files in {index['directories']} directories; {load}"


def _watcher_line(watcher: dict[str, Any]) -> str:
    return f"watcher: {watcher['state']}" + (f": {watcher['reason']}" if watcher["reason"] else "")


async def _why(house: House, caller: Caller, params: WhyParams) -> Answer:
    workspace = house.workspace
    path = workspace.parse(params.path, None if params.path_bytes is UNSET else params.path_bytes)
    found = await explain(workspace, path, _scan_max_bytes(house.toolbox))
    return {
        "reason": found.reason.value,
        "at": display.data_name(found.at)[0],
        "searched": found.searched,
        "rule": _rule_row(found, verbatim=caller.actor.is_operator),
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


async def _metrics(house: House, caller: Caller, params: NoParams) -> Answer:
    workspace = house.workspace
    history = workspace.journal.history
    kept = None
    if history is not None:
        with suppress(HistoryError):  # a store that cannot be read is one that is not ok
            kept = await workspace.threads.run(Lane.READ, history.statistics)
    return {"content": metrics.text(workspace, house.facts, house.meter, kept), "display": None, "data": {}}


ROWS = (
    Row("workspace.status", "Index, watcher, probes, sessions, locks and leftovers.", NoParams, _status),
    Row("workspace.why", "Why searches do, or do not, see a path.", WhyParams, _why),
    Row("metrics", "Counters, gauges and latencies as Prometheus text.", NoParams, _metrics),
)
