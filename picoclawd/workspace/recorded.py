"""From the names that history keeps to paths that can be opened, and back. Blocking."""

from msgspec.structs import replace

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.paths import Roots, WsPath
from picoclawd.files.policy import Access, Refuse
from picoclawd.files.rooted import Rooted
from picoclawd.history.records import Version
from picoclawd.text import display
from picoclawd.workspace.journal import name_of

_NO_FILE_NOW = (Slug.NOT_A_FILE, Slug.NOT_A_DIRECTORY, Slug.NOT_FOUND, Slug.SYMLINK_LOOP)


def real_of(rooted: Rooted, name: bytes) -> bytes:
    """The real path that a name of history stands for."""
    return name if name.startswith(b"/") else paths.join(rooted.workspace, name)


def path_of(rooted: Rooted, roots: Roots, name: bytes) -> WsPath:
    """The path of a name of history, whose messages call it by that name.

    Raises: invalid_path for one that is longer than paths may be.
    """
    return replace(paths.parse(real_of(rooted, name), roots), given=display.name(name))


def check(rooted: Rooted, version: Version, access: Access) -> None:
    """Judge the file of a version by the policy of today. The name stays out of the fault: the caller may not know it.

    Raises: protected_path, outside_workspace.
    """
    verdict = rooted.policy.decide(access, real_of(rooted, version.path), None)
    if isinstance(verdict, Refuse):
        raise Fault(verdict.slug, f"{verdict.reason} (the file of version {version.version})")


def name_at(rooted: Rooted, path: WsPath, access: Access = Access.READ) -> bytes:
    """What history calls the file at a path, whatever is there now: links on the way are followed.

    Raises: what the policy says to the path; access_denied, path_busy, io_error, root_gone.
    """
    try:
        return name_of(rooted.workspace, rooted.foresee(path, access).real)
    except Fault as fault:
        if fault.slug not in _NO_FILE_NOW:
            raise
        return name_of(rooted.workspace, path.absolute)
