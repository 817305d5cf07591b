"""Explain why searches do, or do not, see a path: what the policy, the tree and the file itself say, in that order.

Where the policy refuses, no disk is touched: the answer is the same whatever lies there.
"""

import os
import time
from enum import StrEnum
from functools import partial
from typing import assert_never

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import paths, protected
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access, Refuse
from picoclawd.files.threads import Lane
from picoclawd.index.ignore import Explanation, Kind
from picoclawd.index.scan import is_binary
from picoclawd.index.why import Reason, Why, why
from picoclawd.text import display
from picoclawd.workspace.scope import Place
from picoclawd.workspace.workspace import Workspace

DEADLINE_S = 10.0  # as a search has; it is the names above and below the path that may take long


class FileReason(StrEnum):
    """Why a file that the tree shows, or that lies outside of it, is not searched."""

    OUTSIDE = "outside"
    BINARY = "binary"
    OVER_BUDGET = "over_budget"


class Explained(msgspec.Struct, frozen=True):
    """The answer. `at`, relative to the workspace or absolute outside it, is the path or the one above that decides.

    `rule` is the ignore rule that spoke last, also one that kept the path in. `next` says what to do.
    """

    reason: Reason | FileReason
    at: bytes
    searched: bool
    rule: Explanation | None
    next: str


async def explain(workspace: Workspace, path: WsPath, scan_max_bytes: int) -> Explained:
    """Explain a path as it is now. `scan_max_bytes`: what one search may read from disk.

    Waits for an index that is being built. Raises: root_gone, io_error, path_busy, timeout.
    """
    refused = _refused(workspace, path)
    if refused is not None:
        return refused
    relative = path.relative
    if relative is None:
        advice = "it may be used, but no search sees it unless its `path` names it or a directory above it"
        return Explained(FileReason.OUTSIDE, path.absolute, False, None, advice)
    known = await workspace.threads.run(Lane.INDEX, _known, workspace, relative)
    return await workspace.threads.run(Lane.READ, partial(_explained, workspace, path, known, scan_max_bytes))


def _refused(workspace: Workspace, path: WsPath) -> Explained | None:
    """What the policy says of the path, or of the first one above it that it refuses."""
    policy, above = workspace.rooted.policy, path.absolute
    verdict = policy.decide(Access.READ, above, None)
    if not isinstance(verdict, Refuse):
        return None
    while isinstance(higher := policy.decide(Access.READ, paths.split(above)[0], None), Refuse) and above != b"/":
        above, verdict = paths.split(above)[0], higher
    at = above if path.relative is None else paths.below(above, workspace.root) or b""
    if verdict.slug is Slug.OUTSIDE_WORKSPACE:
        return Explained(FileReason.OUTSIDE, path.absolute, False, None, verdict.reason)
    reason = Reason.OWN if protected.is_temp(paths.split(at)[1]) else Reason.PROTECTED
    return Explained(reason, at, False, None, verdict.reason)


def _known(workspace: Workspace, relative: bytes) -> Why:
    """What the tree says, after a look at everything above the path."""
    end = time.monotonic() + DEADLINE_S

    def poll(_looked: int) -> None:
        if time.monotonic() > end:
            raise Fault(Slug.TIMEOUT, f"the names alone took {DEADLINE_S:.0f} s: ask again, the next look goes on")

    tree = workspace.index.tree
    tree.verify(relative, poll)
    return why(tree, relative)


def _explained(workspace: Workspace, path: WsPath, known: Why, scan_max_bytes: int) -> Explained:
    relative, reason = path.relative or b"", known.reason
    is_directory = workspace.index.tree.deepest(relative).path == relative
    found: Reason | FileReason = reason
    if reason is Reason.VISIBLE and not is_directory:
        found = _of_content(workspace, path, scan_max_bytes)
    place = Place(workspace.root, b"", inside=True)
    followed = reason is Reason.LINK and known.at == relative and workspace.finder.may_follow(place, relative)
    searched = found is Reason.VISIBLE or followed
    rule = None if known.rule is not None and known.rule.kind is Kind.ALWAYS else known.rule
    return Explained(found, known.at, searched, rule, _next(found, followed, known.at))


def _of_content(workspace: Workspace, path: WsPath, scan_max_bytes: int) -> Reason | FileReason:
    try:
        with workspace.rooted.open_file(path, Access.READ) as opened:
            if is_binary(os.pread(opened.fd, limits.BINARY_SNIFF_BYTES, 0)):
                return FileReason.BINARY
            is_kept = workspace.index.contents.has(path.relative or b"")  # what is kept costs no budget
            over = opened.stat.st_size > scan_max_bytes and not is_kept
            return FileReason.OVER_BUDGET if over else Reason.VISIBLE
    except Fault as fault:
        return Reason.MISSING if fault.slug is Slug.NOT_FOUND else Reason.UNREADABLE
    except OSError:
        return Reason.UNREADABLE


def _next(reason: Reason | FileReason, followed: bool, at: bytes) -> str:
    named = display.name(at) or "."
    match reason:
        case Reason.VISIBLE:
            return "nothing: searches see it. A result that is missing all the same is a matter of the pattern"
        case Reason.IGNORED:
            return (
                f"name {named}, or what is below it, as `path` of a search: no rule is applied to a path that is named"
            )
        case Reason.PROTECTED:
            return "tools.unprotect frees names in the workspace"
        case Reason.OWN:
            return "nothing: no search sees `.git`, `.picoclaw` and unfinished writes; read_file may read what it names"
        case Reason.LINK if followed:
            return "nothing: it leads to a file that may be read, so searches see it under this name"
        case Reason.LINK:
            return "name what it leads to: links to directories, and out of what may be read, are not followed"
        case Reason.SPECIAL:
            return "nothing: a FIFO, socket or device holds no text"
        case Reason.TOO_DEEP:
            return f"search with a deeper `path`: names end at {limits.PATH_DEPTH_MAX} levels below the workspace"
        case Reason.UNREADABLE:
            return "give the daemon's user leave to read it: see its owner and mode"
        case Reason.MISSING:
            return "check the spelling: nothing is there"
        case FileReason.BINARY:
            return "read_file reads it in byte mode: its first 8 KiB hold a NUL byte, so it is no text to search"
        case FileReason.OVER_BUDGET:
            return "raise tools.search_files.scan_max_bytes: the file alone is larger than what one search may read"
        case FileReason.OUTSIDE:
            return "name it as `path` of a search"
        case _:
            assert_never(reason)
