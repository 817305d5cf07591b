"""Closing: an error of close(2) fails nothing that is done, and a descriptor that is not ours is a bug."""

import os

import pytest

from picoclawd.files.closing import close
from tests.files.conftest import Folder, Injected


@pytest.mark.parametrize("error", ["EIO", "EINTR", "ENOSPC", "EDQUOT"])
def test_what_close_answers_fails_no_call(folder: Folder, injected: Injected, error: str) -> None:
    # A close that was interrupted was answered as an internal error, of a change that had been made.
    fd = os.dup(folder.fd)
    with injected(f"close:error={error}:when=1"):
        close(fd)
    os.close(fd)  # the call was answered and not made


def test_a_descriptor_that_is_closed_already_is_a_bug(folder: Folder) -> None:
    fd = os.dup(folder.fd)
    close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        close(fd)
