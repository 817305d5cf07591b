"""outcome.get and history.*: what became of a change, and what a person does with the record of all of them."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.files.threads import Lane
from picoclawd.history.query import Filter
from picoclawd.history.records import Version
from picoclawd.history.store import History
from picoclawd.rpc.rows import Answer, Caller, House, Row
from picoclawd.text import display, gitpatch
from picoclawd.text.blame import blame
from picoclawd.tools._spec import PathBytesParam
from picoclawd.workspace import recorded
from picoclawd.workspace.journal import name_of
from picoclawd.workspace.moments import moment_ns

_BLAMED_MAX_BYTES = limits.MIB
_VERSIONS_MAX = 10_000  # in one patch: more is a backup


class OutcomeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of outcome.get."""

    op: Annotated[str, msgspec.Meta(min_length=1, max_length=64, description="What the call had in `_meta.op`.")]


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose changes are meant: a task's, a session's, or all since a time; `path` narrows them to one file."""

    task_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    from_: (
        Annotated[str, msgspec.Meta(description="All since this local time: a date, a date and a time, ISO 8601.")]
        | UnsetType
    ) = msgspec.field(default=UNSET, name="from")
    path: str | UnsetType = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET


class DiffParams(Chosen, frozen=True, kw_only=True):
    """Parameters of history.diff."""

    version: (
        Annotated[int, msgspec.Meta(ge=1, description="This one change, in place of a task, a session or a time.")]
        | UnsetType
    ) = UNSET


class PathParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of history.blame and history.purge."""

    path: str = ""
    path_bytes: PathBytesParam | UnsetType = UNSET


async def filter_of(house: House, method: str, chosen: Chosen) -> Filter:
    """The changes that are meant. Raises: invalid_params."""
    given = [each for each in (chosen.task_id, chosen.session_id, chosen.from_) if each is not UNSET]
    if len(given) != 1:
        raise Fault(Slug.INVALID_PARAMS, f"{method} takes one of `task_id`, `session_id` and `from`.", path="$")
    path = path_of(house, chosen)
    return Filter(
        paths=None if path is None else [await _name_at(house, path)],
        task_id=None if chosen.task_id is UNSET else chosen.task_id,
        session_id=None if chosen.session_id is UNSET else chosen.session_id,
        from_ns=None if chosen.from_ is UNSET else moment_ns(chosen.from_, "from"),
    )


def path_of(house: House, chosen: Chosen) -> WsPath | None:
    """The file that is meant, if one is. Raises: invalid_path."""
    if chosen.path is UNSET and chosen.path_bytes is UNSET:
        return None
    path_bytes = None if chosen.path_bytes is UNSET else chosen.path_bytes
    return house.workspace.parse("" if chosen.path is UNSET else chosen.path, path_bytes)


def _parsed(house: House, params: PathParams) -> WsPath:
    return house.workspace.parse(params.path, None if params.path_bytes is UNSET else params.path_bytes)


async def _name_at(house: House, path: WsPath) -> bytes:
    """What history calls the file, which need not exist."""
    return await house.workspace.threads.run(Lane.READ, recorded.name_at, house.workspace.rooted, path)


async def _outcome(house: House, caller: Caller, params: OutcomeParams) -> Answer:
    history = house.workspace.journal.required("history")
    if params.op in house.underway:
        return {"op": params.op, "outcome": "unknown"}
    found = await house.workspace.threads.run(Lane.READ, history.outcome, params.op)
    return {"op": params.op, "outcome": "unknown" if params.op in house.underway else found}


async def _diff(house: House, caller: Caller, params: DiffParams) -> Answer:
    history, threads = house.workspace.journal.required("history"), house.workspace.threads
    if params.version is not UNSET:
        _check_alone(params)
        files = [await threads.run(Lane.READ, _patch_of, history, params.version)]
    else:
        wanted = await filter_of(house, "history.diff", params)
        files = await threads.run(Lane.READ, _patches, history, wanted)
    content = "".join(each.patch for each in files)
    data = [{"path": display.data_name(each.path)[0], "missing": each.missing} for each in files]
    return {"content": content, "display": None, "data": {"files": data}}


def _check_alone(params: DiffParams) -> None:
    """A version is one change of one file: nothing else narrows it. Raises: invalid_params."""
    others = (params.task_id, params.session_id, params.from_, params.path, params.path_bytes)
    if any(each is not UNSET for each in others):
        raise Fault(Slug.INVALID_PARAMS, "history.diff: `version` stands alone: leave out the rest.", path="$.version")


async def _blame(house: House, caller: Caller, params: PathParams) -> Answer:
    workspace = house.workspace
    now = await workspace.reader.read(_parsed(house, params), lambda file, size: file.read(_BLAMED_MAX_BYTES))
    rows = await workspace.threads.run(
        Lane.READ, _blamed, house.workspace.journal.required("history"), name_of(workspace.root, now.real), now.found
    )
    shown = [f"{_who(row)}  {row['line']}" for row in rows]
    return {"content": "\n".join(shown), "display": None, "data": {"lines": rows}}


async def _purge(house: House, caller: Caller, params: PathParams) -> Answer:
    path = await _name_at(house, _parsed(house, params))
    purged = await house.workspace.threads.run(Lane.HISTORY, house.workspace.journal.required("history").purge, path)
    return {"purged": purged}


class _FilePatch(msgspec.Struct, frozen=True):
    """One file's part of a patch; `missing` says why it is not in it."""

    path: bytes
    patch: str
    missing: str | None


def _patches(history: History, wanted: Filter) -> list[_FilePatch]:
    """What some changes did, file by file: from before the first to after the last. Blocking."""
    ends: dict[bytes, tuple[Version, Version]] = {}
    made = history.versions(wanted, _VERSIONS_MAX)
    for version in reversed(made):
        if version.action != "external":
            ends[version.path] = (ends.get(version.path, (version, version))[0], version)
    return [_file_patch(history, path, first, last) for path, (first, last) in sorted(ends.items())]


def _patch_of(history: History, number: int) -> _FilePatch:
    """What one change did. Blocking. Raises: unknown_version."""
    version = history.version(number)
    return _file_patch(history, version.path, version, version)


def _file_patch(history: History, path: bytes, first: Version, last: Version) -> _FilePatch:
    before = history.content_before(first.version) if first.existed else None
    after = history.content_after(last.version) if last.exists else None
    lost = (first.existed and before is None, last.exists and after is None)
    if any(lost):
        return _FilePatch(path, "", (first if lost[0] else last).reason or "its content is not kept")
    return _FilePatch(path, gitpatch.file_patch(path.decode("utf-8", "surrogateescape"), before, after), None)


def _blamed(history: History, path: bytes, now: bytes) -> list[dict[str, Any]]:
    """The lines on disk; those that no recorded change brought have no version. Blocking."""
    found = blame([*_contents(history, path), (None, now)])
    return [
        {
            "version": None if version is None else version.version,
            "line": line.rstrip(b"\r\n").decode("utf-8", "replace"),
            "client": None if version is None else version.client,
            "task_id": None if version is None else version.task_id,
        }
        for version, line in found
    ]


def _contents(history: History, path: bytes) -> Iterable[tuple[Version | None, bytes]]:
    return ((each.version, each.content or b"") for each in _known(history, path))


def _known(history: History, path: bytes) -> Iterator[Any]:
    """The states whose content is kept; what is not kept counts as the next change's own."""
    return (each for each in history.revisions(path) if each.content is not None or not each.exists)


def _who(row: dict[str, Any]) -> str:
    version = "-" if row["version"] is None else f"v{row['version']}"
    return f"{version:>7} {display.log_line(row['client'] or '-'):<16}"


ROWS = (
    Row("outcome.get", "What became of a change that was named in `_meta.op`.", OutcomeParams, _outcome),
    Row("history.diff", "Some changes as one patch for `git apply`.", DiffParams, _diff, operator_only=True),
    Row("history.blame", "Which change each line of a file comes from.", PathParams, _blame, operator_only=True),
    Row("history.purge", "Forget all versions of a path and below it.", PathParams, _purge, operator_only=True),
)
