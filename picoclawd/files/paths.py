"""Turn what a caller wrote into `WsPath`, the only type for a path below the tools. Pure: no disk is touched.

Paths are normalised as text: `link/../x` is `x`, wherever `link` leads. So what is checked is what is opened.
"""

import functools

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.text import display

# Absolute, normalised spellings of one directory. The first is its real path, the others lead to it through links.
Roots = tuple[bytes, ...]

_DIRECTORY_ENDS = frozenset({b"", b".", b".."})


class WsPath(msgspec.Struct, frozen=True):
    """A parsed path. `relative` is to the workspace (`b""` is the workspace itself), None outside of it.

    `given` is what the caller wrote, for messages. `absolute` is normalised, and spelled with the workspace's real
    path where it lies inside. `wants_directory`: it ends in `/`, `/.` or `/..`, so only a directory will do.
    """

    given: str
    absolute: bytes
    relative: bytes | None
    wants_directory: bool


@functools.lru_cache(maxsize=1024)  # each call on a path needs it twice: for its lane, and to open it
def parse(given: str | bytes, roots: Roots) -> WsPath:
    """Parse an absolute path, or one relative to the first of `roots`. `~` is an ordinary character.

    Raises: invalid_path for a blank path, NUL, text that is not UTF-8, and what is too long or too deep.
    """
    shown = display.name(given) if isinstance(given, bytes) else given
    raw = _encoded(given)
    if not given.strip():
        raise Fault(Slug.INVALID_PATH, "the path is blank: give one, absolute or relative to the workspace")
    if b"\0" in raw:
        raise Fault(Slug.INVALID_PATH, "the path holds a NUL character, which no file name can: remove it")
    absolute = lexical(raw if raw.startswith(b"/") else join(roots[0], raw))
    relative = inside(absolute, roots)
    if relative is not None:
        absolute = join(roots[0], relative)
    _check_size(raw, absolute, relative)
    return WsPath(shown, absolute, relative, raw.rsplit(b"/", 1)[-1] in _DIRECTORY_ENDS)


def lane_key(given: object, roots: Roots) -> bytes | None:
    """Tell which lane orders a request on this path: its normalised absolute bytes, None for what is no path."""
    if not isinstance(given, str | bytes):
        return None
    try:
        return parse(given, roots).absolute
    except Fault:
        return None


def lexical(absolute: bytes) -> bytes:
    """Resolve `.`, `..` and repeated slashes of an absolute path as text; `/..` is `/`."""
    kept: list[bytes] = []
    for component in absolute.split(b"/"):
        if component == b"..":
            del kept[-1:]
        elif component not in (b"", b"."):
            kept.append(component)
    return b"/" + b"/".join(kept)


def below(absolute: bytes, root: bytes) -> bytes | None:
    """Give `absolute` relative to `root`, None where it is not below it: `/ws-evil` is not below `/ws`."""
    if absolute == root:
        return b""
    prefix = root if root.endswith(b"/") else root + b"/"
    return absolute[len(prefix) :] if absolute.startswith(prefix) else None


def inside(absolute: bytes, roots: Roots) -> bytes | None:
    """Give `absolute` relative to the first of `roots` that holds it, None where none does."""
    for root in roots:
        relative = below(absolute, root)
        if relative is not None:
            return relative
    return None


def join(root: bytes, relative: bytes) -> bytes:
    """Put `relative` below `root`; an empty one is the root itself."""
    if not relative:
        return root
    return root + relative if root.endswith(b"/") else root + b"/" + relative


def split(path: bytes) -> tuple[bytes, bytes]:
    """Part a path into its directory and its last component; the directory of `/x` is `/`, that of `x` is empty."""
    directory, slash, name = path.rpartition(b"/")
    return (directory or slash, name) if path.startswith(b"/") else (directory, name)


def _encoded(given: str | bytes) -> bytes:
    if isinstance(given, bytes):
        return given
    try:
        return given.encode()
    except UnicodeEncodeError:
        message = "the path holds a lone surrogate, which is no character: pass its bytes in path_bytes instead"
        raise Fault(Slug.INVALID_PATH, message) from None


def _check_size(raw: bytes, absolute: bytes, relative: bytes | None) -> None:
    size_bytes = max(len(raw), len(absolute))
    if size_bytes >= limits.PATH_MAX_BYTES:
        raise _too_large(f"the path is {size_bytes} bytes long, at most {limits.PATH_MAX_BYTES - 1} are possible")
    components = (absolute[1:] if relative is None else relative).split(b"/")
    longest_bytes = max(map(len, components))
    if longest_bytes > limits.NAME_MAX_BYTES:
        raise _too_large(f"a name in the path has {longest_bytes} bytes, at most {limits.NAME_MAX_BYTES} are possible")
    if len(components) > limits.PATH_DEPTH_MAX:
        raise _too_large(f"the path is {len(components)} names deep, at most {limits.PATH_DEPTH_MAX} are allowed")


def _too_large(what: str) -> Fault:
    return Fault(Slug.INVALID_PATH, f"{what}: use a shorter path", errno_name="ENAMETOOLONG")
