"""Read the rule files of a directory, `.gitignore` and `.ignore`, and know when they must be read again."""

import os
import stat as stat_bits
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp
from picoclawd.index.ground import Ground
from picoclawd.index.ignore import ROOT, Kind, Scope
from picoclawd.index.ignore_lines import RULE_FILE_MAX_BYTES
from picoclawd.index.ignore_rules import Rules, parse_rules
from picoclawd.index.trust import Trust

# Like git's, a rule file that is a link is not read: it may lead anywhere. O_NONBLOCK: it may have become a FIFO.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

RULE_NAMES = (Kind.GITIGNORE.encode(), Kind.IGNORE.encode())


@dataclass(frozen=True, slots=True)
class RuleFile:
    """One rule file as it was read; `trusted`: an equal stamp proves it unchanged. Empty where it cannot be read."""

    stamp: Stamp
    trusted: bool
    data: bytes
    rules: Rules


# By name; empty for most directories.
RuleFiles = Mapping[bytes, RuleFile]
NO_RULE_FILES: RuleFiles = {}


def refresh(directory_fd: int, old: RuleFiles, trust: Trust) -> RuleFiles:
    """Read the rule files that are there, but those that have not changed since `old`.

    Where the bytes are the same so is the `Rules` object: `same_rules` compares by identity.
    """
    found = {}
    for name in RULE_NAMES:
        file = _refreshed(directory_fd, name, old.get(name), trust)
        if file is not None:
            found[name] = file
    return found or NO_RULE_FILES


def are_current(ground: Ground, directory: bytes, files: RuleFiles, trust: Trust) -> bool:
    """Tell whether the rule files that a directory had are still what was read."""
    prefix = directory + b"/" if directory else b""
    try:
        return all(
            file.trusted and trust.matches(file.stamp, ground.stat(prefix + name)) for name, file in files.items()
        )
    except OSError:
        return False


def same_rules(one: RuleFiles, other: RuleFiles) -> bool:
    """Tell whether two readings gave the very same rules."""
    return one.keys() == other.keys() and all(file.rules is other[name].rules for name, file in one.items())


def entered(scope: Scope, name: bytes, files: RuleFiles) -> Scope:
    """The scope of the directory `name` in `scope`, which has these rule files."""
    gitignore, ignore = (files.get(rule_name) for rule_name in RULE_NAMES)
    return scope.enter(name, gitignore and gitignore.rules, ignore and ignore.rules)


def scope_at(ground: Ground, directory: bytes, trust: Trust) -> Scope:
    """The scope of a directory with the rules of all that lie above it, read now; no verdict is asked on the way.

    Raises: OSError where the directory is not there; path_busy.
    """
    names = directory.split(b"/") if directory else []
    scope = _entered_at(ground, ROOT, b"", b"", trust)
    for depth, name in enumerate(names, 1):
        scope = _entered_at(ground, scope, b"/".join(names[:depth]), name, trust)
    return scope


def _entered_at(ground: Ground, scope: Scope, path: bytes, name: bytes, trust: Trust) -> Scope:
    try:
        fd = ground.open(path)
    except PermissionError:
        return scope.enter(name, None, None)  # it may be passed through all the same
    try:
        return entered(scope, name, refresh(fd, NO_RULE_FILES, trust))
    finally:
        os.close(fd)


def _refreshed(directory_fd: int, name: bytes, old: RuleFile | None, trust: Trust) -> RuleFile | None:
    """None where there is no such regular file."""
    taken_ns = time.time_ns()
    try:
        now = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    except OSError:
        return None
    if not stat_bits.S_ISREG(now.st_mode):
        return None
    if old is not None and old.trusted and trust.matches(old.stamp, now):
        return old
    stamp, data = _read(directory_fd, name, stamps.of(now))
    rules = old.rules if old is not None and old.data == data else parse_rules(data)
    return RuleFile(stamp, trust.settles(stamp, taken_ns), data, rules)


def _read(directory_fd: int, name: bytes, stamp: Stamp) -> tuple[Stamp, bytes]:
    """The bytes, one more than count, and the stamp of the very file that was read; no bytes where none can be had."""
    data = b""
    with suppress(OSError):
        fd = os.open(name, _FLAGS, dir_fd=directory_fd)
        try:
            opened = os.fstat(fd)
            if stat_bits.S_ISREG(opened.st_mode):
                stamp = stamps.of(opened)
                data = _read_up_to(fd, RULE_FILE_MAX_BYTES + 1)
        finally:
            os.close(fd)
    return stamp, data


def _read_up_to(fd: int, size_bytes: int) -> bytes:
    parts = []
    while size_bytes > 0 and (part := os.read(fd, min(size_bytes, 64 * 1024))):
        parts.append(part)
        size_bytes -= len(part)
    return b"".join(parts)
