"""Make a plan true on disk: write down what is intended, commit, read back, write down what came of it. Blocking.

Runs under the path's lock; what was looked at there (`Old`) is what the commit insists on.
"""

import hashlib
import time
from typing import Literal, assert_never

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault
from picoclawd.files import commit
from picoclawd.files.commit import Target
from picoclawd.files.handles import Place
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import reported
from picoclawd.history.records import Action, Addition, After, Before, Trashed, Unread
from picoclawd.workspace.journal import Attribution, Entry, Journal, Wanted
from picoclawd.workspace.plans import Append, Keep, Old, Plan, Remove, Replace, Retrieve

_APPENDED_KEPT_BYTES = limits.SHA256_MAX_BYTES  # larger files are appended to often, and are not read for that

Done = Literal["created", "replaced", "appended", "removed", "unchanged"]


class Applied(msgspec.Struct, frozen=True):
    """A change that was made. `stamp` is the file's now, None where there is none; `whole` are its bytes, where they
    are at hand; `moved_to` is its name in the trash."""

    action: Done
    stamp: Stamp | None
    bytes_written: int
    whole: bytes | None
    entry: Entry
    sha256: str | None = None
    moved_to: bytes | None = None


class _Made(msgspec.Struct, frozen=True):
    stamp: Stamp | None
    whole: bytes | None
    trashed: Trashed | None = None


def apply(
    journal: Journal,
    by: Attribution,
    place: Place,
    old: Old,
    plan: Plan,
    new_file_mode: int | None,
    action: Action | None = None,
    approval: str | None = None,
) -> Applied:
    """Make the plan true. `action` is what history calls it, where that is not the plan's own word.

    Raises: what the commit raises; history_unavailable for a removal where there is no trash.
    """
    target = Target(place.dir_fd, place.name, old.given)
    wanted = Wanted(by, place.real, action or _history_action(old, plan), *_contents(old, plan), old.stamp, approval)
    entry = journal.begin(wanted)
    try:
        # The commits know how far they came; what they do not speak of may have come after the change.
        with reported("change", old.given, outcome="unknown"):
            made = _make(journal, entry, target, place, old, plan, new_file_mode)
    except Fault as fault:
        entry.failed(fault)
        raise
    except BaseException:
        entry.lost()
        raise
    sha256 = None if made.whole is None else hash_of(made.whole)
    entry.done(None if made.stamp is None else made.stamp.size, sha256, made.trashed)
    moved_to = None if made.trashed is None else made.trashed.name
    return Applied(action_of(old, plan), made.stamp, bytes_to_write(plan), made.whole, entry, sha256, moved_to)


def action_of(old: Old, plan: Plan) -> Done:
    """What applying the plan does."""
    match plan:
        case Keep():
            return "unchanged"
        case Remove():
            return "removed"
        case Append():
            return "appended" if old.exists else "created"
        case Replace() | Retrieve():
            return "replaced" if old.exists else "created"
        case _:
            assert_never(plan)


def bytes_to_write(plan: Plan) -> int:
    """How many bytes of the plan's own go to the disk."""
    return len(plan.data) if isinstance(plan, Replace | Append) else 0


def foreseen_content(old: Old, plan: Plan) -> bytes | None:
    """What the file will hold; None where there will be none, or that is not at hand.

    Raises: io_error, access_denied, too_large.
    """
    match plan:
        case Keep():
            return old.data
        case Replace(data):
            return data
        case Append(data):
            return _appended(old, data)
        case Retrieve(_, _, data):
            return data
        case Remove():
            return None
        case _:
            assert_never(plan)


def hash_of(data: bytes) -> str:
    """The sha256 of a content as clients see it."""
    return hashlib.sha256(data).hexdigest()


def _appended(old: Old, data: bytes) -> bytes | None:
    """The file with these bytes behind it; None where it is too large to be hashed."""
    return old.data + data if old.size + len(data) <= limits.SHA256_MAX_BYTES else None


def _history_action(old: Old, plan: Plan) -> Action:
    match plan:
        case Remove():
            return "delete"
        case Append() if old.exists:
            return "append"
        case _:
            return "modify" if old.exists else "create"


def _contents(old: Old, plan: Plan) -> tuple[Before, After]:
    """What history keeps of before and after. Raises: io_error, access_denied, with nothing done."""
    match plan:
        case Replace(data):
            return old.kept(limits.EDIT_MAX_BYTES), data
        case Append(data):
            return old.kept(_APPENDED_KEPT_BYTES), Addition(data) if old.exists else data
        case Remove():
            return old.removed(), None
        case Retrieve(_, trashed, data):
            return None, Unread(trashed.size_bytes) if data is None else data
        case Keep():
            return None, None
        case _:
            assert_never(plan)


def _make(
    journal: Journal, entry: Entry, target: Target, place: Place, old: Old, plan: Plan, new_file_mode: int | None
) -> _Made:
    match plan:
        case Remove():
            return _remove(journal, entry, target, old)
        case Retrieve(version, trashed, data):
            return _Made(journal.required(target.given).retrieve(version, trashed, target), data)
        case Keep():
            return _Made(old.stamp, old.data)
        case Replace(data) | Append(data) if old.stamp is None:
            mode = plan.mode if isinstance(plan, Replace) and plan.mode is not None else new_file_mode
            done = commit.create(target, data, mode, still_there=place.still_there)
            commit.read_back(target, data)
            return _Made(done.stamp, data)
        case Replace(data):
            assert old.stamp is not None
            done = commit.replace(
                target, data, old.stamp, old=old.known_data, still_there=place.still_there, keep=entry.keep
            )
            commit.read_back(target, data)
            return _Made(done.stamp, data)
        case Append(data, refuse_hardlinks):
            whole = _appended(old, data)
            done = commit.append(
                target,
                data,
                expected=old.stamp,
                create_mode=new_file_mode,
                refuse_hardlinks=refuse_hardlinks,
                still_there=place.still_there,
            )
            commit.read_back(target, data, offset=old.size)
            return _Made(done.stamp, whole)
        case _:
            assert_never(plan)


def _remove(journal: Journal, entry: Entry, target: Target, old: Old) -> _Made:
    assert old.stamp is not None
    # Without a version the number only has to be one that no version will have.
    number = time.time_ns() if entry.version is None else entry.version
    return _Made(None, None, journal.required(target.given).trash.move(target, old.stamp, number))
