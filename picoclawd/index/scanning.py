"""Read one directory in full: stat, entries, rule files. Tell what is gone from what cannot be read."""

import errno
import os
import time

import msgspec

from picoclawd.files.oserrors import as_fault
from picoclawd.index.ground import Ground, look
from picoclawd.index.listing import Seen
from picoclawd.index.rule_files import NO_RULE_FILES, RuleFiles, refresh
from picoclawd.index.trust import Facts, Trust
from picoclawd.text import display

# The path leads to no directory any more, or through a link.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
# The daemon's or the machine's own trouble: to go on would show a tree with holes.
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class GoneError(Exception):
    """There is no directory at this path; `error` says what is there instead."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


class Scan(msgspec.Struct, frozen=True):
    """What one look at a directory gave. `facts` are of just before; None, with nothing seen, where it is unreadable.

    `trusted`: equal facts will prove that the entries are the same.
    """

    seen: Seen
    facts: Facts | None
    trusted: bool
    rule_files: RuleFiles


UNREADABLE = Scan(Seen((), b""), None, False, NO_RULE_FILES)


def scan(ground: Ground, directory: bytes, old: RuleFiles, trust: Trust) -> Scan:
    """Look at a directory; rule files that did not change since `old` are not read again.

    Raises: GoneError; io_error where this process has no descriptor or memory left; path_busy.
    """
    try:
        fd = ground.open(directory)
        try:
            return _scan(fd, directory, old, trust)
        finally:
            os.close(fd)
    except OSError as exc:
        if exc.errno in _GONE:
            raise GoneError(exc) from exc
        if exc.errno in _OURS:
            raise as_fault(exc, "list", display.name(directory or b"."), thing="directory") from exc
        return UNREADABLE


def _scan(fd: int, directory: bytes, old: RuleFiles, trust: Trust) -> Scan:
    taken_ns = time.time_ns()
    stat = os.fstat(fd)
    seen = look(fd, directory)
    return Scan(seen, trust.facts(stat), trust.settles(stat, taken_ns), refresh(fd, old, trust))
