"""The commands `read`, `ls` and `edit`: one file tool each, with paths as the shell means them."""

from picoclawd.client import arguments, discover
from picoclawd.client.call import finish
from picoclawd.client.failures import UsageFault

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

_READ_OPTIONS = ("offset", "length", "start_line", "max_lines", "mode")
_LIST_OPTIONS = ("limit", "offset")


def read(args: "argparse.Namespace") -> int:
    """`picoclawctl read PATH`: read_file."""
    return _on_path(args, "read_file", _given(args, _READ_OPTIONS))


def ls(args: "argparse.Namespace") -> int:
    """`picoclawctl ls [PATH]`: list_dir."""
    return _on_path(args, "list_dir", _given(args, _LIST_OPTIONS))


def edit(args: "argparse.Namespace") -> int:
    """`picoclawctl edit PATH --old TEXT --new TEXT | --patch TEXT`: edit_file."""
    if args.patch is not None:
        if args.old is not None or args.new is not None:
            raise UsageFault("edit takes --old and --new, or --patch, not both")
        return _on_path(args, "edit_file", {"patch": arguments.text_or_file(args.patch)})
    if args.old is None or args.new is None:
        raise UsageFault("edit needs --old TEXT and --new TEXT, or --patch @FILE")
    texts = {"old_text": arguments.text_or_file(args.old), "new_text": arguments.text_or_file(args.new)}
    return _on_path(args, "edit_file", texts)


def workspace_path(path: str, workspace: str, here: str) -> str:
    """A path as typed in the directory `here`, as the daemon takes it: relative to the workspace.

    In a subdirectory of the workspace a relative path means what the shell means by it. Elsewhere, and where the
    workspace is not known (a socket that only the environment names), it is relative to the workspace.
    """
    below = discover.within(here, workspace) if workspace and not path.startswith("/") else None
    if not below:
        return path
    return f"{below}/{path}" if path else below


def _given(args: "argparse.Namespace", names: tuple[str, ...]) -> "dict[str, Any]":
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _on_path(args: "argparse.Namespace", method: str, given: "dict[str, Any]") -> int:
    connection, endpoint = discover.connect("agent")
    with connection:
        path = workspace_path(args.path, endpoint.workspace, discover.start_directory(None))
        return finish(connection, args, method, {**arguments.path_params(path), **given})
