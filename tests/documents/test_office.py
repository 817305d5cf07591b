"""Which Office document a container is, and what the older containers are."""

import io
import zipfile

import pytest

from picoclawd.documents.units import Unreadable
from tests.documents import made
from tests.documents.reading import read


def test_the_parts_tell_documents_from_presentations() -> None:
    assert read("office", made.docx()).format == "docx"
    assert read("office", made.pptx([("a", "b", "")])).format == "pptx"


def test_a_workbook_is_named() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(Unreadable, match=r"Excel workbook.*CSV"):
        read("office", out.getvalue())


def test_an_old_container_is_encrypted_or_old() -> None:
    start = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    with pytest.raises(Unreadable, match="encrypted"):
        read("ole", start + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(Unreadable, match="up to 2003"):
        read("ole", start)
