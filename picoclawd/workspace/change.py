"""The one write transaction. Every tool that mutates goes through `Changer.change`; nothing else writes.

resolve -> policy (ask?) -> lock -> resolve again -> read old, take its stamp -> if_match -> compute(old)
  -> [intent] -> commit on disk -> read back -> caches -> unlock
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, assert_never

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files import commit, stamps
from picoclawd.files.commit import Committed, Target
from picoclawd.files.handles import Place
from picoclawd.files.locks import LockKey, LockTable
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Foreseen, Rooted
from picoclawd.files.stamps import Stamp
from picoclawd.files.threads import Lane, Threads
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.approvals import settle

_KEY_TRIES = 16  # each means that the path was re-pointed between resolving and locking: somebody does it on purpose


@dataclass(frozen=True, slots=True)
class Replace:
    """Put these bytes in place of the file, atomically; or create it."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Append:
    """Add these bytes at the end, in place; or create the file."""

    data: bytes
    refuse_hardlinks: bool = False


@dataclass(frozen=True, slots=True)
class Keep:
    """Write nothing: the file is as it should be."""


Plan = Replace | Append | Keep


class Old:
    """The file as it is under the lock. Its bytes are read when somebody asks for them."""

    def __init__(self, fd: int | None, stamp: Stamp | None, real: bytes, given: str) -> None:
        self._fd = fd
        self.stamp = stamp
        self.real = real
        self._given = given

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.stamp is not None

    @property
    def size(self) -> int:
        """Bytes; 0 where there is no file."""
        return 0 if self.stamp is None else self.stamp.size

    @property
    def hardlinks(self) -> int:
        """How many names the file has; 1 where there is none yet."""
        return 1 if self.stamp is None else self.stamp.nlink

    @cached_property
    def data(self) -> bytes:
        """All bytes.

        Raises: too_large over limits.EDIT_MAX_BYTES; io_error, access_denied.
        """
        if self._fd is None:
            return b""
        if self.size > limits.EDIT_MAX_BYTES:
            raise Fault(
                Slug.TOO_LARGE,
                f"{self._given} has {self.size} bytes; files over {limits.EDIT_MAX_BYTES // limits.MIB} MiB are not "
                "edited in memory. Use append_file, or a program of your own.",
                size=self.size,
            )
        try:
            return _read_all(self._fd, self.size)
        except OSError as error:
            raise as_fault(error, "read", self._given) from error

    @property
    def known_data(self) -> bytes | None:
        """All bytes, where somebody has read them already."""
        return self.__dict__.get("data")

    def sha256(self) -> str:
        """The hash of all bytes, streamed for a file of any size."""
        if self._fd is None or self.known_data is not None or self.size <= limits.SHA256_MAX_BYTES:
            return hashlib.sha256(self.data).hexdigest()
        with open(self._fd, "rb", closefd=False) as source:
            source.seek(0)
            return hashlib.file_digest(source, "sha256").hexdigest()


Compute = Callable[[Old], Plan]
Action = Literal["created", "replaced", "appended", "unchanged"]


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change came to. `hardlinks` counts the names that the old file had, of which a replace left one."""

    action: Action
    real: bytes
    size: int
    bytes_written: int
    sha256: str | None
    hardlinks: int
    version: int | None = None
    restorable: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One wanted change: who, where, with which words for errors, and how it may be stopped.

    `verb` fills "failed to ... file"; `if_match` is the sha256 that the file must have, "" for no file.
    """

    actor: Actor
    path: WsPath
    verb: str
    cancelled: Callable[[], bool]
    if_match: str | None = None
    dry_run: bool = False


class Changer:
    """Runs changes on one workspace, one at a time for each path."""

    def __init__(
        self,
        rooted: Rooted,
        locks: LockTable,
        threads: Threads,
        new_file_mode: int | None,
        noted: Callable[[bytes], None],
    ) -> None:
        self._rooted = rooted
        self._noted = noted
        self._locks = locks
        self._threads = threads
        self.new_file_mode = new_file_mode
        self.closing = False

    async def change(self, request: Request, compute: Compute) -> Changed:
        """Compute the path's new content from its old one, and make it so, all under the path's lock.

        `compute(old)` is pure, runs in a thread, and may raise a Fault: then nothing is written. A call that is
        cancelled before its commit changes nothing (`cancelled`); from there on the real outcome is answered.

        Raises: shutting_down, conflict (if_match), path_busy, and what resolving, `compute` and the commit raise.
        """
        if self.closing:
            raise Fault(Slug.SHUTTING_DOWN, "the daemon is stopping and takes no new writes. Try again in a moment.")
        for _ in range(_KEY_TRIES):
            key = self._rooted.key_at_hand(request.path)
            if key is None:
                key = await self._threads.run(Lane.READ, self._key, request)
            async with self._locks.hold([key], holder=request.actor.session_id):
                changed = await self._threads.run(Lane.COMMIT, self._transact, request, key, compute)
            if changed is not None:
                return changed
        raise Fault(
            Slug.PATH_BUSY,
            f"{request.path.given}: a directory or link on the way was exchanged {_KEY_TRIES} times while this call "
            "waited for its turn. Nothing was written. Try again when it is quiet.",
        )

    def _key(self, request: Request) -> LockKey:
        found = self._find(request)
        if isinstance(found, Foreseen):
            return _new_directory_key(found)
        with found:
            return found.key

    def _find(self, request: Request) -> Place | Foreseen:
        """Where the path leads, after policy and confirmation; foreseen only where a directory is missing."""
        try:
            place = self._rooted.place(request.path, Access.WRITE)
        except Fault as fault:
            if fault.slug is not Slug.NOT_FOUND:
                raise
            foreseen = self._rooted.foresee(request.path, Access.WRITE)
            settle(request.actor, foreseen.verdict, request.path)
            return foreseen
        try:
            settle(request.actor, place.verdict, request.path)
        except BaseException:
            place.close()
            raise
        return place

    def _transact(self, request: Request, key: LockKey, compute: Compute) -> Changed | None:
        """Everything that happens under the lock; None where the path no longer leads to what is locked."""
        found = self._find(request)
        if isinstance(found, Foreseen):
            return self._into_new_directory(request, found, compute) if _new_directory_key(found) == key else None
        with found as place:
            if place.key != key:
                return None
            fd = _open_old(place, request)
            try:
                return self._commit(request, place, fd, compute)
            finally:
                if fd is not None:
                    os.close(fd)

    def _into_new_directory(self, request: Request, foreseen: Foreseen, compute: Compute) -> Changed | None:
        """Make the missing directories once the change is known to be wanted; the file itself is the next round's.

        So a file is only ever created under the lock of its own directory.
        """
        old = Old(None, None, foreseen.real, request.path.given)
        plan = self._plan(request, old, compute)
        if request.dry_run or isinstance(plan, Keep):
            return _foreseen(old, plan)
        self._rooted.place(request.path, Access.WRITE, make_parents=True).close()
        return None

    def _commit(self, request: Request, place: Place, fd: int | None, compute: Compute) -> Changed:
        old = Old(fd, None if fd is None else stamps.of(os.fstat(fd)), place.real, request.path.given)
        plan = self._plan(request, old, compute)
        if request.dry_run or isinstance(plan, Keep):
            return _foreseen(old, plan)
        try:
            return self._apply(request, place, old, plan)
        finally:
            self._noted(place.real)  # also after a failure: its outcome may be unknown

    def _plan(self, request: Request, old: Old, compute: Compute) -> Plan:
        _check_match(request, old)
        plan = compute(old)
        if request.cancelled():
            raise Fault(Slug.CANCELLED, "cancelled before anything was written.")
        return plan

    def _apply(self, request: Request, place: Place, old: Old, plan: Replace | Append) -> Changed:
        # The intent goes here, once there is history: the last moment at which nothing has happened yet.
        target = Target(place.dir_fd, place.name, request.path.given)
        if old.stamp is None:
            done = commit.create(target, plan.data, self.new_file_mode, still_there=place.still_there)
            commit.read_back(target, plan.data)
            return _changed("created", place, old, done, plan.data, plan.data)
        match plan:
            case Replace(data):
                done = commit.replace(target, data, old.stamp, old=old.known_data, still_there=place.still_there)
                commit.read_back(target, data)
                return _changed("replaced", place, old, done, data, data)
            case Append(data, refuse_hardlinks):
                whole = _appended(old, data)
                done = commit.append(
                    target,
                    data,
                    expected=old.stamp,
                    create_mode=self.new_file_mode,
                    refuse_hardlinks=refuse_hardlinks,
                    still_there=place.still_there,
                )
                commit.read_back(target, data, offset=old.size)
                return _changed("appended", place, old, done, data, whole)
            case _:
                assert_never(plan)


def _changed(action: Action, place: Place, old: Old, done: Committed, written: bytes, whole: bytes | None) -> Changed:
    return Changed(
        action=action,
        real=place.real,
        size=done.stamp.size,
        bytes_written=len(written),
        sha256=_hash(whole),
        hardlinks=old.hardlinks,
    )


def _foreseen(old: Old, plan: Plan) -> Changed:
    """What applying the plan would come to: the answer to a dry run, and to a plan that keeps the file."""
    whole: bytes | None
    match plan:
        case Keep():
            action: Action = "unchanged"
            written, whole, size = b"", old.data, old.size
        case Replace(data):
            action, written, whole, size = ("replaced" if old.exists else "created"), data, data, len(data)
        case Append(data):
            action, written, size = ("appended" if old.exists else "created"), data, old.size + len(data)
            whole = _appended(old, data)
        case _:
            assert_never(plan)
    return Changed(action, old.real, size, len(written), _hash(whole), old.hardlinks)


def _appended(old: Old, data: bytes) -> bytes | None:
    """The file with these bytes behind it; None where it is too large to be hashed."""
    return old.data + data if old.size + len(data) <= limits.SHA256_MAX_BYTES else None


def _hash(whole: bytes | None) -> str | None:
    return None if whole is None else hashlib.sha256(whole).hexdigest()


def _new_directory_key(foreseen: Foreseen) -> LockKey:
    """The lock of a name whose directory does not exist yet: its path, as no inode has number 0."""
    return (0, 0, foreseen.real)


def _check_match(request: Request, old: Old) -> None:
    wanted = request.if_match
    if wanted is None or wanted == (old.sha256() if old.exists else ""):
        return
    found = f"its sha256 is now {old.sha256()}" if old.exists else "it does not exist"
    raise Fault(
        Slug.CONFLICT,
        f"{request.path.given} is not what if_match asks for: {found}. Nothing was written. "
        "Read the file again and decide on what it holds now.",
        next_call=NextCall("read_file", {"path": request.path.given}),
        sha256=old.sha256() if old.exists else "",
    )


def _open_old(place: Place, request: Request) -> int | None:
    """Open the file for reading where there is one, below the descriptor that was checked.

    Raises: not_a_file, access_denied, io_error.
    """
    if place.stat is None:
        return None
    try:
        return os.open(
            place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=place.dir_fd
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise as_fault(error, request.verb, request.path.given) from error


def _read_all(fd: int, size: int) -> bytes:
    chunks: list[bytes] = []
    offset = 0
    while chunk := os.pread(fd, max(size - offset, 0) + 1, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)
