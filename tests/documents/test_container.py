"""Zip containers are judged before a reader opens them."""

import io
import zipfile

import pytest

from picoclawd.documents import container
from picoclawd.documents.units import Unreadable
from picoclawd.errors import Slug
from tests.documents import made


def zipped(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def refusal(data: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        container.checked(io.BytesIO(data))
    return caught.value


def test_what_an_office_program_makes_passes() -> None:
    for data in (made.docx(), made.pptx([("a", "b", "c")])):
        assert "[Content_Types].xml" in container.checked(io.BytesIO(data))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("word", ["<!DOCTYPE x>", '<!ENTITY e "x">'])
def test_declarations_are_found_in_every_encoding_wherever_they_stand(encoding: str, word: str) -> None:
    for before in ("", "<!--" + "x" * (256 * 1024 - 10) + "-->"):
        text = f"<?xml version='1.0'?>{before}{word}<x/>"
        assert "DOCTYPE" in refusal(zipped(part=text.encode(encoding))).reason


@pytest.mark.parametrize("encoding", ["utf-7", "cp037", "utf-32"])
def test_encodings_that_hide_them_are_refused(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [<!ENTITY e "x">]><x>&e;</x>'
    data = text.encode("utf-8" if encoding == "utf-7" else encoding)
    assert "encoding" in refusal(zipped(part=data)).reason or "DOCTYPE" in refusal(zipped(part=data)).reason


def test_declared_sizes_are_judged_first() -> None:
    bomb = refusal(zipped(media_png=b"\0" * 20_000_000))
    assert bomb.slug is Slug.TOO_LARGE
    assert "times its size" in bomb.reason
    many = refusal(zipped(**{f"part{number}": b"" for number in range(container.ENTRIES_MAX + 1)}))
    assert (many.slug, "parts" in many.reason) == (Slug.TOO_LARGE, True)


def test_a_size_that_is_a_lie_is_found() -> None:
    data = made.with_lying_size(zipped(part=b"<x>" + b"a" * 100_000 + b"</x>"), b"part", 100)
    assert "does not hold what it declares" in refusal(data).reason


def test_a_container_that_is_cut_off_is_damaged() -> None:
    data = zipped(part=b"<x/>" * 1000)
    assert "damaged or cut off" in refusal(data[: len(data) // 2]).reason
