"""Say of an OLE container why it is not read: it is encrypted, or of Office up to 2003."""

from typing import BinaryIO, NoReturn

from picoclawd import limits
from picoclawd.documents.units import Unreadable, Wanted

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_LOOK_BYTES = 16 * limits.MIB


def read(source: BinaryIO, wanted: Wanted) -> NoReturn:
    """Raises: Unreadable, always."""
    if _ENCRYPTED in source.read(_LOOK_BYTES):
        raise Unreadable("it is an encrypted Office document: it opens with a password only")
    raise Unreadable("it is in a format of Office up to 2003: save it as DOCX, PPTX, CSV or PDF")
