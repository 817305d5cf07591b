"""Each errno has its own words."""

import errno
import os

import pytest

from picoclawd.errors import Slug
from picoclawd.files.oserrors import as_fault


@pytest.mark.parametrize(
    ("code", "slug", "words"),
    [
        (errno.ENOENT, Slug.NOT_FOUND, "file not found"),
        (errno.EACCES, Slug.ACCESS_DENIED, "access denied"),
        (errno.EPERM, Slug.ACCESS_DENIED, "not permitted"),
        (errno.EEXIST, Slug.FILE_EXISTS, "already exists"),
        (errno.ENOTDIR, Slug.NOT_A_DIRECTORY, "not a directory"),
        (errno.EISDIR, Slug.NOT_A_FILE, "directory"),
        (errno.ENXIO, Slug.NOT_A_FILE, "socket"),
        (errno.ELOOP, Slug.SYMLINK_LOOP, "symbolic links"),
        (errno.ENAMETOOLONG, Slug.INVALID_PATH, "too long"),
        (errno.EBUSY, Slug.PATH_BUSY, "using it"),
        (errno.ETXTBSY, Slug.PATH_BUSY, "running"),
        (errno.ENOSPC, Slug.IO_ERROR, "no space"),
        (errno.EDQUOT, Slug.IO_ERROR, "quota"),
        (errno.EROFS, Slug.IO_ERROR, "read-only"),
        (errno.EFBIG, Slug.IO_ERROR, "larger"),
        (errno.EMFILE, Slug.IO_ERROR, "too many files"),
        (errno.EIO, Slug.IO_ERROR, "disk"),
    ],
)
def test_a54_each_errno_has_its_own_slug_words_and_name(code: int, slug: Slug, words: str) -> None:
    fault = as_fault(OSError(code, os.strerror(code), "/outside/secret"), "write", "notes.txt", size=3)
    assert fault.slug is slug
    assert fault.message.startswith("failed to write file: ")
    assert words in fault.message
    assert "notes.txt" in fault.message
    assert "/outside" not in fault.message
    assert fault.data == {"errno_name": errno.errorcode[code], "size": 3}


def test_all_words_differ() -> None:
    messages = {as_fault(OSError(code, ""), "read", "x").message for code in errno.errorcode}
    assert len(messages) > 100


def test_an_unknown_errno_is_still_named() -> None:
    assert as_fault(OSError(9999, ""), "read", "x").data == {"errno_name": "9999"}
    assert as_fault(OSError(errno.EUCLEAN, ""), "read", "x").slug is Slug.IO_ERROR
    assert as_fault(OSError(), "read", "x").data == {"errno_name": "EIO"}


def test_the_thing_may_be_a_directory() -> None:
    fault = as_fault(FileNotFoundError(errno.ENOENT, ""), "list", "sub", thing="directory")
    assert fault.message.startswith("failed to list directory: directory not found (sub)")
