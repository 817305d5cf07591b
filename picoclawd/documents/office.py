"""Tell apart the documents of Office Open XML, and hand each to its reader."""

import importlib
from typing import BinaryIO

from picoclawd.documents import container
from picoclawd.documents.units import Found, Unreadable, Wanted

_READERS = (("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"))


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Judge the container, then read it. Raises: Unreadable."""
    names = container.checked(source)
    for part, reader in _READERS:
        if part in names:
            found: Found = importlib.import_module(f"picoclawd.documents.{reader}").read(source, wanted)
            return found
    if "xl/workbook.xml" in names:
        raise Unreadable("it is an Excel workbook, which has no reader here: export it as CSV")
    raise Unreadable("it is a zip container of Office, but neither a DOCX document nor a PPTX presentation")
