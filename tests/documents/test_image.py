"""Pictures: told by their content, made small enough, and without what they say of their maker."""

import io
from typing import Any

import pytest

from picoclawd.documents.units import IMAGE_MAX_BYTES, Found, Picture, Unreadable
from picoclawd.errors import Slug
from tests.conftest import require
from tests.documents import made
from tests.documents.reading import read


def shown(found: Found) -> tuple[Picture, Any]:
    from PIL import Image

    assert found.picture is not None
    opened = Image.open(io.BytesIO(found.picture.data))
    opened.load()
    assert opened.size == (found.picture.width, found.picture.height)
    assert opened.get_format_mimetype() == found.picture.mime
    return found.picture, opened


def test_a_small_png_stays_as_it_is() -> None:
    picture, opened = shown(found := read("image", made.png(300, 200)))
    assert (picture.mime, picture.width, picture.height) == ("image/png", 300, 200)
    assert opened.getpixel((5, 5)) == (127, 127, 127)
    assert found.format == "png"
    assert "300 × 200" in found.units[0][1]


@pytest.mark.parametrize(
    ("mode", "name", "mime"),
    [
        ("RGB", "JPEG", "image/jpeg"),
        ("CMYK", "JPEG", "image/jpeg"),
        ("RGBA", "PNG", "image/png"),
        ("I;16", "PNG", "image/png"),
        ("P", "GIF", "image/png"),
        ("RGB", "WEBP", "image/jpeg"),
        ("RGB", "BMP", "image/png"),
        ("CMYK", "TIFF", "image/png"),
    ],
)
def test_every_format_comes_as_png_or_jpeg(mode: str, name: str, mime: str) -> None:
    found = read("image", made.picture(mode, (40, 30), name))
    assert shown(found)[0].mime == mime
    assert found.format == name.lower()


def test_the_longest_side_is_1568_pixels() -> None:
    picture, _ = shown(read("image", made.picture("RGB", (6000, 1000), "JPEG")))
    assert (picture.width, picture.height) == (1568, 261)
    picture, _ = shown(read("image", made.picture("RGBA", (100, 3136), "PNG")))
    assert (picture.width, picture.height) == (50, 1568)


def test_noise_fits_as_well() -> None:
    require("PIL")
    from PIL import Image

    out = io.BytesIO()
    Image.effect_noise((1500, 1500), 99).convert("RGB").save(out, "PNG", compress_level=0)
    picture, _ = shown(read("image", out.getvalue()))
    assert picture.mime == "image/jpeg"
    assert len(picture.data) <= IMAGE_MAX_BYTES


def test_what_a_camera_noted_stays_out_and_the_picture_is_turned_upright() -> None:
    require("PIL")
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x010F] = "maker of the camera"
    picture, opened = shown(read("image", made.picture("RGB", (40, 30), "JPEG", exif=exif)))
    assert (picture.width, picture.height) == (30, 40)
    assert not opened.getexif()
    assert b"maker" not in picture.data


def test_900_megapixels_are_refused_by_their_size() -> None:
    with pytest.raises(Unreadable, match="900 megapixels") as caught:
        read("image", made.png(30_000, 30_000, rows=1))
    assert caught.value.slug is Slug.TOO_LARGE


def test_a_picture_that_is_cut_off_is_said_to_be() -> None:
    with pytest.raises(Unreadable, match="damaged or cut off"):
        read("image", made.png(300, 200)[:60])
    with pytest.raises(Unreadable, match="damaged or cut off"):
        read("image", b"\x89PNG\r\n\x1a\n\0\0\0")
