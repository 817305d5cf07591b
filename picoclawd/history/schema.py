"""The tables of the history database, and what makes a version's columns into a `Version`."""

from typing import Any

from picoclawd.history.records import Version

SCHEMA_VERSION = 1

# auto_vacuum must come before the first table. `size_*` NULL is: no file. `keeps_*` counts this row among the uses
# of the blob with that hash; an append keeps its addition and makes the whole of it and what was before. Contents
# have a table of their own: SQLite writes a row anew, as long as it is, when one number in it changes.
# `stored` is what the row brought into the store: by it a session is found that stores more than others.
TABLES = """
PRAGMA auto_vacuum = INCREMENTAL;
BEGIN IMMEDIATE;
CREATE TABLE versions (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    size_before INTEGER, sha_before BLOB, keeps_before INTEGER NOT NULL,
    size_after INTEGER, sha_after BLOB, keeps_after INTEGER NOT NULL,
    size_addition INTEGER, sha_addition BLOB, keeps_addition INTEGER NOT NULL,
    stamp TEXT,
    tool TEXT, session_id TEXT, client TEXT, task_id TEXT, objective TEXT,
    changed_at INTEGER NOT NULL,
    op TEXT,
    stored INTEGER NOT NULL,
    reason TEXT
);
CREATE INDEX versions_by_path ON versions (path, version);
CREATE INDEX versions_by_session ON versions (session_id, version);
CREATE INDEX versions_by_task ON versions (task_id, version) WHERE task_id IS NOT NULL;
CREATE INDEX versions_by_op ON versions (op) WHERE op IS NOT NULL;
CREATE INDEX versions_open ON versions (version) WHERE state = 'intent';
CREATE TABLE blobs (
    blob INTEGER PRIMARY KEY,
    sha BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    in_file INTEGER NOT NULL
);
CREATE INDEX blobs_in_files ON blobs (size) WHERE in_file;
CREATE TABLE contents (
    blob INTEGER PRIMARY KEY,
    content BLOB NOT NULL
);
CREATE TABLE trash (
    version INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    size INTEGER NOT NULL
);
CREATE TABLE gaps (
    at INTEGER NOT NULL
);
"""

# Read by `version_of`, in this order. A trashed file stands in for what a deletion removed.
VERSION_COLUMNS = (
    "v.version, v.path, v.action, v.state, v.size_after, v.size_before, v.sha_before, v.sha_after, v.tool, "
    "v.session_id, v.client, v.task_id, v.objective, v.changed_at, v.op, v.reason, "
    "v.size_before IS NULL OR v.keeps_before OR EXISTS (SELECT 1 FROM trash WHERE trash.version = v.version), "
    "v.keeps_after, v.keeps_addition"
)
# What happened, or may have: an intent that is still open, or came to nothing, is no version.
HAPPENED = "v.state IN ('done', 'unknown', 'displaced')"


def version_of(row: tuple[Any, ...]) -> Version:
    """Make a version of a row of `VERSION_COLUMNS`."""
    action, size_after, reason, undoable = row[2], row[4], row[15], bool(row[16])
    keeps_after, keeps_addition = bool(row[17]), bool(row[18])
    restorable = undoable if action == "delete" else size_after is None or keeps_after or (undoable and keeps_addition)
    return Version(
        version=row[0],
        path=row[1],
        action=action,
        state=row[3],
        size_bytes=size_after,
        size_before_bytes=row[5],
        sha256_before=hex_of(row[6]),
        sha256_after=hex_of(row[7]),
        tool=row[8],
        session_id=row[9],
        client=row[10],
        task_id=row[11],
        objective=row[12],
        changed_at_ns=row[13],
        op=row[14],
        restorable=restorable,
        undoable=undoable,
        reason=None if restorable and undoable else reason,
    )


def hex_of(sha: bytes | None) -> str | None:
    """Write a hash as people and models see it."""
    return None if sha is None else sha.hex()
