"""Look into a zip container before a reader opens it: what it declares, and that its XML declares no entities."""

import re
import zipfile
import zlib
from typing import BinaryIO

from picoclawd import limits
from picoclawd.documents.units import Unreadable
from picoclawd.errors import Slug

ENTRIES_MAX = 10_000  # of a presentation with 1,000 slides there are 3,000
ENTRY_MAX_BYTES = 64 * limits.MIB  # unpacked; lxml's tree of it is several times that
TOTAL_MAX_BYTES = 200 * limits.MIB  # unpacked; the libraries read every part into memory
_RATIO_MAX = 250  # unpacked to packed, of what is large: text of people packs 5 to 20 times, tables 100 times
_RATIO_FROM_BYTES = 8 * limits.MIB
_CHUNK_BYTES = 256 * limits.KIB
# Parts that are no XML of Office's: pictures, sound, and the settings of a printer on a Mac, a property list.
_MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".emf", ".wmf", ".tif", ".tiff", ".bmp"),
    *(".mp3", ".mp4", ".wav", ".bin"),
)
# In UTF-8 and in UTF-16, either end first. Escaped in text, so that only a declaration has it.
_DECLARATIONS = tuple(
    mark for word in ("<!DOCTYPE", "<!ENTITY") for mark in (word.encode(), word.encode("utf-16-le")[:-1])
)
_OVERLAP_BYTES = max(map(len, _DECLARATIONS))
_ENCODING = re.compile(rb"""^[^>]{0,200}encoding\s*=\s*["']([A-Za-z0-9._-]+)""")
_ENCODINGS = (b"utf-8", b"utf-16", b"us-ascii", b"ascii")


def checked(source: BinaryIO) -> tuple[str, ...]:
    """Judge the container and every part of it; the names of its parts. The source is left at its start.

    Raises: Unreadable for what is damaged, encrypted, too large, or declares entities.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            entries = archive.infolist()
            _judge_sizes(entries)
            for entry in entries:
                if not entry.filename.lower().endswith(_MEDIA):
                    _judge_part(archive, entry)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error) as error:
        raise Unreadable("its zip container is damaged or cut off: a part does not hold what it declares") from error
    except RuntimeError as error:  # what zipfile raises where a password is needed
        raise Unreadable("it is encrypted: its zip container needs a password") from error
    source.seek(0)
    return tuple(entry.filename for entry in entries)


def _judge_sizes(entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > ENTRIES_MAX:
        raise _too_large(f"its zip container has {len(entries)} parts, and {ENTRIES_MAX} are read at most")
    for entry in entries:
        if entry.file_size > ENTRY_MAX_BYTES and not entry.filename.lower().endswith(_MEDIA):
            raise _too_large(f"a part of it unpacks to {entry.file_size // limits.MIB} MiB")
        if entry.file_size > _RATIO_FROM_BYTES and entry.file_size > _RATIO_MAX * max(1, entry.compress_size):
            raise _too_large(f"a part of it unpacks to {entry.file_size // max(1, entry.compress_size)} times its size")
    total = sum(entry.file_size for entry in entries)
    if total > TOTAL_MAX_BYTES:
        raise _too_large(f"it unpacks to {total // limits.MIB} MiB, and {TOTAL_MAX_BYTES // limits.MIB} are read")


def _judge_part(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    with archive.open(entry) as part:
        before = b""
        while chunk := part.read(_CHUNK_BYTES):
            if not before:
                _judge_encoding(chunk)
            if any(mark in before + chunk for mark in _DECLARATIONS):
                raise Unreadable("its XML declares a DOCTYPE or entities, which no Office document has")
            before = chunk[-_OVERLAP_BYTES:]


def _judge_encoding(start: bytes) -> None:
    """Refuse encodings in which a declaration would not be seen."""
    named = _ENCODING.match(start[:256]) if start.startswith(b"<?xml") else None
    if (named and named[1].lower() not in _ENCODINGS) or start.startswith((b"\0\0", b"\xff\xfe\0\0", b"Lo\xa7\x94")):
        raise Unreadable("its XML is in an encoding that no Office document has")


def _too_large(reason: str) -> Unreadable:
    return Unreadable(reason, Slug.TOO_LARGE)
