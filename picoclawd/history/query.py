"""Read versions and contents. Every function takes a connection for reading, and blocks."""

from collections.abc import Sequence

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.history.blobs import Blobs
from picoclawd.history.database import Connection
from picoclawd.history.recording import stamp_of
from picoclawd.history.records import Applied, Trashed, Version
from picoclawd.history.schema import HAPPENED, VERSION_COLUMNS, version_of
from picoclawd.history.trash import Trash

_PERMISSIONS = 0o777  # no set-id bit comes back with a content
PATHS_MAX = 500  # in one question: SQLite takes 999 values at least


class Filter(msgspec.Struct, frozen=True):
    """Which versions are wanted; what is None asks for nothing. Times are ns since 1970, `to_ns` exclusive.

    `before_version` is exclusive, for the next page.
    """

    paths: Sequence[bytes] | None = None
    task_id: str | None = None
    session_id: str | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    before_version: int | None = None


class Touched(msgspec.Struct, frozen=True):
    """What some changes (a task's, a session's) did to one path: their first and last version there.

    The state to go back to is the content before `first`; `first.existed` False: there was no file. `others_after`
    is the newest version that another session or task, or somebody outside, made after `last`.
    """

    path: bytes
    first: Version
    last: Version
    others_after: Version | None


class Revision(msgspec.Struct, frozen=True):
    """One state of a path in the order of time; `version` None is the state before the first recorded change.

    `exists` False: there was no file. `content` None: there was none, or it is not kept.
    """

    version: Version | None
    exists: bool
    content: bytes | None


def versions(db: Connection, wanted: Filter, limit: int) -> list[Version]:
    """The newest `limit` versions that the filter lets through, newest first. Raises: invalid_params (paths)."""
    where, values = _conditions(wanted)
    rows = db.execute(
        f"SELECT {VERSION_COLUMNS} FROM versions v WHERE {' AND '.join(where)} ORDER BY v.version DESC LIMIT ?",
        (*values, max(limit, 0)),
    )
    return [version_of(row) for row in rows]


def version(db: Connection, number: int) -> Version:
    """One version by its number. Raises: unknown_version."""
    found = _one(db, "v.version = ?", number) if 0 < number < 2**63 else None
    if found is None:
        raise Fault(
            Slug.UNKNOWN_VERSION,
            f"there is no version {number}: it was never made, or its time to be kept is over. "
            "file_history lists the versions that there are.",
        )
    return found


def last(db: Connection, path: bytes) -> Version | None:
    """The newest version of a path, made by a tool or recorded as external; None where there is none."""
    return _one(db, f"v.path = ? AND {HAPPENED} AND v.state <> 'displaced'", path)


def last_by_tool(db: Connection, path: bytes) -> Version | None:
    """The newest version of a path that a tool made: what a file is compared with to see if it drifted."""
    return _one(db, f"v.path = ? AND {HAPPENED} AND v.action <> 'external'", path)


def content_before(db: Connection, blobs: Blobs, trash: Trash, number: int) -> bytes | None:
    """The bytes right before a version; None: no file, or not kept. Raises: unknown_version."""
    row = _facts(db, number)
    return _before(db, blobs, trash, number, row)


def content_after(db: Connection, blobs: Blobs, trash: Trash, number: int) -> bytes | None:
    """The bytes right after a version, of a deletion those that it removed; None: no file, or not kept.

    Raises: unknown_version.
    """
    row = _facts(db, number)
    if row.action == "delete":
        return _before(db, blobs, trash, number, row)
    if row.sha_after is not None and row.keeps_after:
        return blobs.read(db, row.sha_after)
    if row.sha_addition is None or not row.keeps_addition:
        return None
    addition = blobs.read(db, row.sha_addition)
    before = _before(db, blobs, trash, number, row) if row.existed else b""
    return None if addition is None or before is None else before + addition


def mode_at(db: Connection, number: int, *, before: bool) -> int | None:
    """The permission bits that the file had right before or after a version, as the next change found them; None where
    no change of that path saw any. Raises: unknown_version."""
    row = db.execute(
        "SELECT stamp FROM versions WHERE path = ? AND stamp IS NOT NULL AND version BETWEEN ? AND ? "
        "ORDER BY version LIMIT 1",
        (version(db, number).path, number if before else number + 1, 2**63 - 1),
    ).fetchone()
    if row is None:
        return None if before else mode_at(db, number, before=True)
    stamp = stamp_of(row[0])
    return None if stamp is None else stamp.mode & _PERMISSIONS


def touched(db: Connection, wanted: Filter) -> dict[bytes, Touched]:
    """What the changes that the filter lets through did, path by path, in the order of their first ones.

    What others did is not among them: nobody undoes what happened outside on his own account. Raises: invalid_params.
    """
    where, values = _conditions(wanted)
    rows = db.execute(
        f"SELECT {VERSION_COLUMNS} FROM versions v WHERE {' AND '.join(where)} "
        "AND v.state <> 'displaced' AND v.action <> 'external' ORDER BY v.version",
        values,
    )
    ends: dict[bytes, tuple[Version, Version]] = {}
    for row in rows:
        made = version_of(row)
        ends[made.path] = (ends.get(made.path, (made, made))[0], made)
    return {path: Touched(path, *both, _others_after(db, path, wanted, both[1])) for path, both in ends.items()}


def outcome(db: Connection, op: str) -> Applied:
    """What became of the change, or the changes, that a client gave this name.

    One that nobody heard of was not applied, unless the history has a gap: then nobody can tell.
    """
    states = {row[0] for row in db.execute("SELECT DISTINCT state FROM versions WHERE op = ?", (op,))}
    if states & {"intent", "unknown"}:
        return "unknown"
    if states & {"done", "displaced"}:
        return "applied"
    if not states and db.execute("SELECT 1 FROM gaps LIMIT 1").fetchone() is not None:
        return "unknown"
    return "not_applied"


def trashed(db: Connection, number: int) -> Trashed | None:
    """The file in the trash that a version's change removed; None where there is none."""
    row = db.execute("SELECT name, size FROM trash WHERE version = ?", (number,)).fetchone()
    return None if row is None else Trashed(*row)


class _Facts(msgspec.Struct, frozen=True):
    action: str
    existed: bool
    sha_before: bytes | None
    keeps_before: bool
    sha_after: bytes | None
    keeps_after: bool
    sha_addition: bytes | None
    keeps_addition: bool


def _facts(db: Connection, number: int) -> _Facts:
    version(db, number)
    row = db.execute(
        "SELECT action, size_before IS NOT NULL, sha_before, keeps_before, sha_after, keeps_after, sha_addition, "
        "keeps_addition FROM versions WHERE version = ?",
        (number,),
    ).fetchone()
    return _Facts(*row)


def _before(db: Connection, blobs: Blobs, trash: Trash, number: int, row: _Facts) -> bytes | None:
    if row.sha_before is not None and row.keeps_before:
        return blobs.read(db, row.sha_before)
    removed = trashed(db, number)
    return None if removed is None else trash.read(removed.name)


def _conditions(wanted: Filter) -> tuple[list[str], list[object]]:
    where, values = [HAPPENED], list[object]()
    if wanted.paths is not None:
        if len(wanted.paths) > PATHS_MAX:
            raise Fault(Slug.INVALID_PARAMS, f"{len(wanted.paths)} paths are too many for one call: give {PATHS_MAX}")
        where.append(f"v.path IN ({', '.join('?' * len(wanted.paths))})")
        values += wanted.paths
    for column, value in (
        ("v.task_id = ?", wanted.task_id),
        ("v.session_id = ?", wanted.session_id),
        ("v.changed_at >= ?", wanted.from_ns),
        ("v.changed_at < ?", wanted.to_ns),
        ("v.version < ?", wanted.before_version),
    ):
        if value is not None:
            where.append(column)
            values.append(min(value, 2**63 - 1) if isinstance(value, int) else value)
    return where, values


def _one(db: Connection, where: str, *values: object) -> Version | None:
    row = db.execute(
        f"SELECT {VERSION_COLUMNS} FROM versions v WHERE {where} AND {HAPPENED} ORDER BY v.version DESC LIMIT 1", values
    ).fetchone()
    return None if row is None else version_of(row)


def _others_after(db: Connection, path: bytes, wanted: Filter, since: Version) -> Version | None:
    """The newest change by another task or session; where neither was asked for, by somebody outside."""
    if wanted.task_id is not None:
        return _one(db, "v.path = ? AND v.version > ? AND v.task_id IS NOT ?", path, since.version, wanted.task_id)
    return _one(db, "v.path = ? AND v.version > ? AND v.session_id IS NOT ?", path, since.version, wanted.session_id)
