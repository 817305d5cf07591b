"""Read one directory in full: stamp, entries, rule files. Tell what is gone from what cannot be read."""

import errno
import os
import time
from dataclasses import dataclass

from picoclawd.files import stamps
from picoclawd.files.oserrors import as_fault
from picoclawd.files.stamps import Stamp
from picoclawd.index.ground import Ground, look
from picoclawd.index.listing import Seen
from picoclawd.index.rule_files import NO_RULE_FILES, RuleFiles, refresh
from picoclawd.index.trust import Trust
from picoclawd.text import display

# The path leads to no directory any more, or through a link.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
# The daemon's or the machine's own trouble: to go on would show a tree with holes.
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class GoneError(Exception):
    """There is no directory at this path."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What one look at a directory gave. `stamp` was taken before it; None, with nothing seen, where it is unreadable.

    `trusted`: an equal stamp will prove that the entries are the same.
    """

    seen: Seen
    stamp: Stamp | None
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
            raise GoneError from exc
        if exc.errno in _OURS:
            raise as_fault(exc, "list", display.name(directory or b"."), thing="directory") from exc
        return UNREADABLE


def _scan(fd: int, directory: bytes, old: RuleFiles, trust: Trust) -> Scan:
    taken_ns = time.time_ns()
    stamp = stamps.of(os.fstat(fd))
    seen = look(fd, directory)
    return Scan(seen, stamp, trust.settles(stamp, taken_ns), refresh(fd, old, trust))
