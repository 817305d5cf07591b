"""Decide whether a path may be used: allow it, refuse it with a slug, or ask a person first.

One decision, made for the requested path and again for the real path of what was opened; the stricter one counts.
It knows the settings, never who asks: whether an `Ask` is put to anybody is decided above. No disk is touched.
"""

import functools
from enum import Enum, auto
from typing import ClassVar, TypeVar

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import paths, protected
from picoclawd.files.protected import is_temp
from picoclawd.index.matcher import Pattern, compile_pattern
from picoclawd.text import glob

__all__ = ["Access", "Allow", "Ask", "PathRules", "Policy", "Refuse", "Verdict", "is_temp", "strictest"]

_VERDICTS_MAX = 1024

_TEMP_REASON = "access denied: this is an unfinished write of picoclawd, which will vanish by itself"
_SYSTEM_REASON = "access denied: this file of the system, or of picoclawd itself, is refused to every tool"
_NAME_REASON = "access denied: the name is one that holds credentials (tools.unprotect frees names in the workspace)"
_NAME_REASON_OUTSIDE = "access denied: the name is one that holds credentials"
_WRITE_REASON = "access denied: {0} is not written to by tools, no setting lifts that"
_ASK_READ_REASON = "the name is one that holds credentials"
_ASK_WRITE_REASON = "tools.confirm_write_globs wants a confirmation for this path"

_READ_HINT = "tools.allow_read_paths or agents.defaults.allow_read_outside_workspace would allow it"
_WRITE_HINT = "tools.allow_write_paths would allow it"


class Access(Enum):
    """What a tool is about to do with a path.

    READ_OR_ASK is a read where protected names are asked for instead of refused. WRITE includes what an edit itself
    must read.
    """

    READ = auto()
    READ_OR_ASK = auto()
    LIST = auto()
    WRITE = auto()


class Allow(msgspec.Struct, frozen=True):
    """The path may be used."""

    strictness: ClassVar = 0


class Ask(msgspec.Struct, frozen=True):
    """A person must be asked first; `reason` is for that question."""

    strictness: ClassVar = 1
    reason: str


class Refuse(msgspec.Struct, frozen=True):
    """The path may not be used; `reason` is a message for the caller, which names no path outside the roots."""

    strictness: ClassVar = 2
    slug: Slug
    reason: str


Verdict = Allow | Ask | Refuse

_Some = TypeVar("_Some", bound=Verdict)

_ALLOW = Allow()


class PathRules(msgspec.Struct, frozen=True):
    """The settings that decide about paths: RE2 sources, and absolute, real, normalised paths.

    `restrict` and `allow_read_outside` are `restrict_to_workspace` and `allow_read_outside_workspace`; `own` are the
    daemon's config, state and sockets.
    """

    workspace: bytes
    restrict: bool = True
    allow_read_outside: bool = False
    allow_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    unprotect: tuple[str, ...] = ()
    confirm_write_globs: tuple[str, ...] = ()
    own: tuple[bytes, ...] = ()


class Policy:
    """`PathRules`, compiled. Immutable and safe to share between threads.

    Raises: invalid_params, naming the setting, for a pattern that RE2 refuses.
    """

    def __init__(self, rules: PathRules) -> None:
        self.rules = rules
        self._allow_read = _compiled("tools.allow_read_paths", rules.allow_read)
        self._allow_write = _compiled("tools.allow_write_paths", rules.allow_write)
        self._unprotect = _compiled("tools.unprotect", rules.unprotect)
        self._confirm = _compiled("tools.confirm_write_globs", tuple(map(glob.to_re2, rules.confirm_write_globs)))
        self._own = tuple(map(protected.fold, rules.own))
        # Pure functions of a policy that never changes; agents come back to the same few paths.
        self._judged = functools.lru_cache(maxsize=_VERDICTS_MAX)(self._judge)
        self._is_hidden = functools.lru_cache(maxsize=_VERDICTS_MAX)(self._hide)

    def decide(self, access: Access, given: bytes, real: bytes | None, *, is_directory: bool = False) -> Verdict:
        """Give the stricter verdict of two absolute normalised paths: the requested one and, once known, the real one.

        `is_directory`: the allow-lists may also match the path with `/` appended.
        """
        verdict = self._judged(access, given, is_directory)
        if real is None or real == given:
            return verdict
        return strictest(verdict, self._judged(access, real, is_directory))

    def hidden(self, absolute: bytes, *, is_directory: bool = False) -> bool:
        """Tell whether lists and searches leave this path out: protected names, our temporary files, system secrets."""
        return self._is_hidden(absolute, is_directory)

    def holds_credentials(self, absolute: bytes) -> bool:
        """Tell whether the name is one that holds credentials, also where tools.unprotect frees it."""
        relative = paths.below(absolute, self.rules.workspace)
        return protected.is_protected(protected.fold(absolute if relative is None else relative))

    def _hide(self, absolute: bytes, is_directory: bool) -> bool:
        relative = paths.below(absolute, self.rules.workspace)
        return self._never(absolute) is not None or self._is_protected(absolute, relative, is_directory)

    def _judge(self, access: Access, absolute: bytes, is_directory: bool) -> Verdict:
        relative = paths.below(absolute, self.rules.workspace)
        if relative is None and not self._is_open_outside(access, absolute, is_directory):
            return self._outside(access)
        never = self._never(absolute)
        if never is not None:
            return Refuse(Slug.PROTECTED_PATH, never)
        if self._is_protected(absolute, relative, is_directory):
            return _on_protected_name(access, relative)
        return self._judge_write(absolute, relative) if access is Access.WRITE else _ALLOW

    def _judge_write(self, absolute: bytes, relative: bytes | None) -> Verdict:
        kept = _kept_from_writes(absolute, relative)
        if kept is not None:
            return Refuse(Slug.PROTECTED_PATH, _WRITE_REASON.format(kept))
        shown = absolute[1:] if relative is None else relative
        return Ask(_ASK_WRITE_REASON) if _any_matches(self._confirm, shown, False) else _ALLOW

    def _is_open_outside(self, access: Access, absolute: bytes, is_directory: bool) -> bool:
        if not self.rules.restrict:
            return True
        if access is Access.WRITE:
            return _any_matches(self._allow_write, absolute, is_directory)
        return self.rules.allow_read_outside or _any_matches(self._allow_read, absolute, is_directory)

    def _outside(self, access: Access) -> Refuse:
        """The same words whatever lies there, so that nobody learns what exists."""
        workspace = self.rules.workspace.decode("utf-8", "replace")
        hint = _WRITE_HINT if access is Access.WRITE else _READ_HINT
        reason = f"access denied: path is outside the workspace. The workspace is {workspace}; {hint}"
        return Refuse(Slug.OUTSIDE_WORKSPACE, reason)

    def _never(self, absolute: bytes) -> str | None:
        """Why no tool gets this path, whatever the settings say; None where one may."""
        if limits.TEMP_PREFIX in absolute and any(map(is_temp, absolute.split(b"/"))):
            return _TEMP_REASON
        folded = protected.fold(absolute)
        if protected.is_system_secret(folded) or _is_covered(folded, self._own):
            return _SYSTEM_REASON
        return None

    def _is_protected(self, absolute: bytes, relative: bytes | None, is_directory: bool) -> bool:
        if relative is None:
            return protected.is_protected(protected.fold(absolute))
        if not protected.is_protected(protected.fold(relative)):
            return False
        return not _any_matches(self._unprotect, relative, is_directory)


def strictest(one: _Some, other: _Some) -> _Some:
    """Give the stricter of two verdicts; of two alike the first."""
    return other if other.strictness > one.strictness else one


def _on_protected_name(access: Access, relative: bytes | None) -> Verdict:
    if access is Access.READ_OR_ASK:
        return Ask(_ASK_READ_REASON)
    return Refuse(Slug.PROTECTED_PATH, _NAME_REASON_OUTSIDE if relative is None else _NAME_REASON)


def _kept_from_writes(absolute: bytes, relative: bytes | None) -> str | None:
    """The name that keeps a path from being written: git's and our own directories run or record things."""
    components = protected.fold(absolute if relative is None else relative).split("/")
    if ".git" in components:
        return ".git"
    if relative is not None and components[0] in ("sessions", ".picoclaw"):
        return f"the workspace's {components[0]}"
    return None


def _is_covered(folded: str, owns: tuple[str, ...]) -> bool:
    return any(folded == own or folded.startswith(own + "/") for own in owns)


def _any_matches(patterns: tuple[Pattern, ...], path: bytes, is_directory: bool) -> bool:
    if not patterns:
        return False
    text = path.decode("utf-8", "replace").encode()  # a stray byte must not hide a name from `.` or `[^/]`
    forms = (text, text + b"/") if is_directory else (text,)
    return any(pattern.search(form) for pattern in patterns for form in forms)


def _compiled(setting: str, sources: tuple[str, ...]) -> tuple[Pattern, ...]:
    try:
        return tuple(map(compile_pattern, sources))
    except Fault as fault:
        raise Fault(fault.slug, f"{setting}: {fault.message}") from None
