"""What a commit is given and what it answers: a place in a directory that is held open, and what became of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from picoclawd.errors import Fault, Outcome, Slug
from picoclawd.files.oserrors import as_fault
from picoclawd.files.stamps import Stamp

# Tells whether the directory is still where it was resolved; asked before a commit and after it.
StillThere = Callable[[], bool]
# Takes the bytes of an outside save that cannot be given its name back; may raise a Fault, then they stay on disk.
Keep = Callable[[bytes], None]


class Target(msgspec.Struct, frozen=True):
    """One name in one open directory. `name` is a single component; `given` is the path as the caller wrote it."""

    dir_fd: int
    name: bytes
    given: str


class Committed(msgspec.Struct, frozen=True):
    """What a finished commit did.

    `stamp` is the new file's. `hardlinks` counts the file's other names: after a replace they hold the old content.
    `exchanged` and `leased` say which guards against an outside save were in force: the exchange, and a read lease
    on the old file.
    """

    stamp: Stamp
    bytes_written: int
    hardlinks: int
    exchanged: bool
    leased: bool


def always() -> bool:
    """Answer that the directory is still there: for callers that hold the place in another way."""
    return True


@contextmanager
def reported(action: str, given: str, outcome: Outcome | None = None) -> Iterator[None]:
    """Turn an `OSError` of the body into the fault of `failed to {action} file`, with this outcome."""
    try:
        yield
    except OSError as exc:
        fault = as_fault(exc, action, given)
        fault.outcome = outcome
        raise fault from exc


def changed_meanwhile(target: Target, how: str) -> Fault:
    """Make the conflict of a file that is not what the change was computed from; `how` says what became of it."""
    return Fault(
        Slug.CONFLICT,
        f"{target.given} {how} while this change was being made: nothing was written and the file is as it is now. "
        "Read it again and repeat the change on what you find",
    )


def check_still_there(target: Target, still_there: StillThere, outcome: Outcome | None = None) -> None:
    """Raise the conflict of a directory that is no longer where it was. Raises: conflict."""
    if not still_there():
        what = "nothing was written" if outcome is None else "the new content went with it"
        raise directory_gone(target, what, outcome)


def directory_gone(target: Target, what: str, outcome: Outcome | None = None) -> Fault:
    """Make the conflict of a directory that was moved or removed; `what` says what that means for the change."""
    return Fault(
        Slug.CONFLICT,
        f"the directory of {target.given} was moved or removed while this change was being made: {what}. "
        "List the directory above it, then repeat the change",
        outcome=outcome,
    )
