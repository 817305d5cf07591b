"""Read the rule files of a directory, `.gitignore` and `.ignore`, and know when they must be read again."""

import os
import stat as stat_bits
import time
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from picoclawd.index.ground import Ground
from picoclawd.index.ignore import ROOT, Kind, Scope
from picoclawd.index.ignore_lines import RULE_FILE_MAX_BYTES
from picoclawd.index.ignore_rules import Rules, parse_rules
from picoclawd.index.trust import Facts, Trust

# Like git's, a rule file that is a link is not read: it may lead anywhere. O_NONBLOCK: it may have become a FIFO.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

RULE_NAMES = (Kind.GITIGNORE.encode(), Kind.IGNORE.encode())


class RuleFile(msgspec.Struct, frozen=True):
    """One rule file as it was read; `trusted`: equal facts prove it unchanged. Empty where it cannot be read."""

    facts: Facts
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
            file.trusted and trust.facts(ground.stat(prefix + name)) == file.facts for name, file in files.items()
        )
    except OSError:
        return False


def same_rules(one: RuleFiles, other: RuleFiles) -> bool:
    """Tell whether two readings gave the very same rules."""
    return one.keys() == other.keys() and all(file.rules is other[name].rules for name, file in one.items())


def entered(scope: Scope, name: bytes, files: RuleFiles) -> Scope:
    """The scope of the directory `name` in `scope`, which has these rule files."""
    gitignore, ignore = (files[rule_name].rules if rule_name in files else None for rule_name in RULE_NAMES)
    return scope.enter(name, gitignore, ignore)


def scope_above(ground: Ground, directory: bytes, trust: Trust) -> Scope:
    """The scope that a directory lies in: the rules of all above it, read now. No verdict is asked on the way.

    Raises: OSError where they are not there; path_busy.
    """
    scope = ROOT
    above = directory.split(b"/")[:-1]
    for depth, name in enumerate([b"", *above] if directory else []):
        scope = entered(scope, name, _read_at(ground, b"/".join(above[:depth]), trust))
    return scope


def _read_at(ground: Ground, directory: bytes, trust: Trust) -> RuleFiles:
    try:
        fd = ground.open(directory)
    except PermissionError:
        return NO_RULE_FILES  # it may be passed through all the same
    try:
        return refresh(fd, NO_RULE_FILES, trust)
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
    if old is not None and old.trusted and trust.facts(now) == old.facts:
        return old
    now, data = _read(directory_fd, name, now)
    rules = old.rules if old is not None and old.data == data else parse_rules(data)
    return RuleFile(trust.facts(now), trust.settles(now, taken_ns), data, rules)


def _read(directory_fd: int, name: bytes, now: os.stat_result) -> tuple[os.stat_result, bytes]:
    """The bytes, one more than count, and the stat of the very file that was read; no bytes where none can be had."""
    data = b""
    with suppress(OSError):
        fd = os.open(name, _FLAGS, dir_fd=directory_fd)
        try:
            opened = os.fstat(fd)
            if stat_bits.S_ISREG(opened.st_mode):
                now = opened
                data = _read_up_to(fd, RULE_FILE_MAX_BYTES + 1)
        finally:
            os.close(fd)
    return now, data


def _read_up_to(fd: int, size_bytes: int) -> bytes:
    parts = []
    while size_bytes > 0 and (part := os.read(fd, min(size_bytes, 64 * 1024))):
        parts.append(part)
        size_bytes -= len(part)
    return b"".join(parts)
