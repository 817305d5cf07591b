"""The names that hold credentials, and the files of the system that no tool touches.

All take folded text (see `fold`): letter case does not count, for on some file systems it does not either.
"""

import re

from picoclawd import limits

# One component, or two in a row. Each alternative is bounded by slashes, so matching is linear.
_PROTECTED = re.compile(
    r"""
    (?: \A | / )
    (?: \.ssh | \.gnupg | \.aws | \.azure | \.gcloud | \.kube | \.password-store | \.config/gh
      | authorized_keys | \.netrc | \.git-credentials | \.pgpass | \.npmrc | \.pypirc | \.security\.yml
      | \.docker/config\.json
      | id_(?: rsa | dsa | ecdsa | ed25519 )[^/]*(?<!\.pub)
      | \.env (?: \.[^/]*(?<!\.example)(?<!\.sample)(?<!\.template) )?
      | [^/]*\.(?: pem | key | p12 | pfx | jks )
    )
    (?: / | \Z )
    """,
    re.VERBOSE,
)

# passwd(5) and its tools keep the files before the last change as `shadow-` and `gshadow-`.
_SYSTEM_FILES = frozenset({"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/proc"})
_SYSTEM_PREFIXES = ("/etc/sudoers", "/proc/")

_TEMP = re.compile(re.escape(limits.TEMP_PREFIX) + rb"[0-9]+\.[0-9A-Za-z_-]+" + re.escape(limits.TEMP_SUFFIX))


def fold(path: bytes) -> str:
    """Give a path as text in which letter case does not count; bytes that are no text stay apart from all text."""
    return path.decode("utf-8", "surrogateescape").casefold()


def is_protected(path: str) -> bool:
    """Tell whether any component of a folded path, or two in a row, is a name that holds credentials."""
    return _PROTECTED.search(path) is not None


def is_system_secret(absolute: str) -> bool:
    """Tell whether a folded absolute path is one that every tool refuses, whatever the settings say."""
    return absolute in _SYSTEM_FILES or absolute.startswith(_SYSTEM_PREFIXES)


def is_temp(name: bytes) -> bool:
    """Tell whether this is the name of an unfinished write of ours: `.picoclawd.<pid>.<random>.tmp`."""
    return name.startswith(limits.TEMP_PREFIX) and _TEMP.fullmatch(name) is not None
