"""list_dir: the entries of one directory."""

import os
import stat
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.files import paths
from picoclawd.files.handles import OpenDirectory
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access, Allow
from picoclawd.files.threads import Lane
from picoclawd.text import display
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import READS, Call, PathBytesParam, Plain, Result, Settings, tool
from picoclawd.workspace.listing import ignored_in
from picoclawd.workspace.scope import Place
from picoclawd.workspace.workspace import Workspace

Kind = Literal["file", "dir", "symlink", "fifo", "socket", "char", "block"]

_LABELS: dict[Kind, str] = {"dir": "DIR:  ", "file": "FILE: ", "symlink": "FILE: "}
_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of list_dir."""

    path: Annotated[str, msgspec.Meta(description="The directory. Default: the workspace.")] = "."
    path_bytes: PathBytesParam | UnsetType = UNSET
    limit: Annotated[int, msgspec.Meta(ge=1, description="Entries at most.")] = 1000
    offset: Annotated[int, msgspec.Meta(ge=0, description="Entries to skip.")] = 0


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry. `target` is where a symlink points, as it is written in it."""

    name: str
    path_bytes: str | UnsetType = UNSET
    kind: Kind
    size: int
    mtime_ns: int
    target: str | None = None
    ignored: bool | None = None


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The page of entries. `ignored`: searches leave it out; null outside the workspace and where they never look."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    entries: list[Entry]
    total: int
    offset: int
    next_offset: int | None
    hidden: int


class _Listing(msgspec.Struct, frozen=True):
    real: bytes
    page: list[tuple[bytes, Entry]]
    total: int
    hidden: int


@tool(title="List a directory", hints=READS, params=Params, data=Data, settings=Settings, rows_field="entries")
async def list_dir(call: Call[Settings], params: Params) -> Result:
    """List the entries of a directory, one a line: `DIR:  name`, `FILE: name`, `OTHER: name`.

    Sorted by name. A symlink is a FILE and is not followed. Protected entries (keys, credentials) are not shown.
    To find files anywhere in the tree, search for their names instead of listing directory after directory.
    """
    given = params.path if params.path.strip() or params.path_bytes is not UNSET else "."
    path = call.workspace.parse(given, None if params.path_bytes is UNSET else params.path_bytes)
    listing = await call.workspace.threads.run(Lane.READ, _list, call, path, params.offset, params.limit)
    shown = len(listing.page)
    left = listing.total - params.offset - shown
    next_offset = params.offset + shown if left > 0 else None
    data = Data(
        **names_of(path, listing.real),
        entries=[entry for _name, entry in listing.page],
        total=listing.total,
        offset=params.offset,
        next_offset=next_offset,
        hidden=listing.hidden,
    )
    lines = [_LABELS.get(entry.kind, "OTHER: ") + display.name(name) for name, entry in listing.page]
    return Result(data, body=(Plain("\n".join(lines)),), foot=_footer(listing, params.offset, next_offset))


def _footer(listing: _Listing, offset: int, next_offset: int | None) -> str:
    shown = len(listing.page)
    if next_offset is not None:
        return (
            f"\n[entries {offset + 1}-{offset + shown} of {listing.total}; "
            f"call again with offset={next_offset} for more]"
        )
    if offset and not shown:
        return f"[no entry at offset {offset}: the directory shows {listing.total}]"
    return "" if listing.total else "[empty]"


def _list(call: Call[Settings], path: WsPath, offset: int, limit: int) -> _Listing:
    with call.workspace.rooted.open_directory(path, Access.LIST) as opened:
        try:
            with os.scandir(opened.fd) as entries:
                names = sorted(os.fsencode(entry.name) for entry in entries)
        except OSError as error:
            raise as_fault(error, "list", path.given) from error
        ignored = _ignored(call.workspace, opened)
        visible = [name for name in names if _is_visible(call.workspace, opened, name)]
        page: list[tuple[bytes, Entry]] = []
        for name in visible[offset : offset + limit]:
            entry = _entry(opened.fd, name, ignored.get(name))
            if entry is not None:
                page.append((name, entry))
        return _Listing(opened.real, page, len(visible), len(names) - len(visible))


def _is_visible(workspace: Workspace, directory: OpenDirectory, name: bytes) -> bool:
    """Whether a listing shows the entry: outside the workspace each one needs a match of its own."""
    absolute = paths.join(directory.real, name)
    policy = workspace.rooted.policy
    if paths.below(directory.real, workspace.root) is not None:
        return not policy.hidden(absolute)
    return isinstance(policy.decide(Access.LIST, absolute, None, is_directory=True), Allow)


def _ignored(workspace: Workspace, directory: OpenDirectory) -> dict[bytes, bool]:
    relative = paths.below(directory.real, workspace.root)
    if relative is None:
        return {}
    return ignored_in(workspace.finder, Place(workspace.root, relative, inside=True))


def _entry(directory_fd: int, name: bytes, ignored: bool | None) -> Entry | None:
    """None where the entry is gone again."""
    try:
        status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        kind = _KINDS[stat.S_IFMT(status.st_mode)]
        target = os.readlink(name, dir_fd=directory_fd) if kind == "symlink" else None
    except OSError:
        return None
    text, path_bytes = display.data_name(name)
    return Entry(
        name=text,
        path_bytes=UNSET if path_bytes is None else path_bytes,
        kind=kind,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        target=None if target is None else display.data_name(target)[0],
        ignored=ignored,
    )
