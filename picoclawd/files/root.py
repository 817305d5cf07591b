"""The directory that a workspace is: open it, and tell whether it still lies where it was opened. All calls block."""

import os

from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, linux
from picoclawd.files.oserrors import as_fault
from picoclawd.text import display

FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def open_root(workspace: bytes) -> int:
    """Open the workspace by its real path; the caller owns the descriptor. Raises: root_gone, io_error."""
    try:
        fd = os.open(workspace, FLAGS)
    except OSError as exc:
        raise _gone(workspace) from exc
    try:
        check(fd, workspace)
    except Fault:
        closing.close(fd)
        raise
    return fd


def check(fd: int, workspace: bytes) -> None:
    """Check that what was opened still has this path.

    Raises: root_gone once it was moved, removed or replaced; io_error where the system does not tell.
    """
    try:
        is_there = os.fstat(fd).st_nlink > 0 and linux.fd_path(fd) == workspace
    except OSError as exc:
        raise as_fault(exc, "check", display.name(workspace), thing="workspace") from exc
    if not is_there:
        raise _gone(workspace)


def _gone(workspace: bytes) -> Fault:
    shown = display.name(workspace)
    message = f"the workspace {shown} was moved, removed or replaced: put it back, or restart picoclawd on another one"
    return Fault(Slug.ROOT_GONE, message)
