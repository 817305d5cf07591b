"""Read pictures: what format and how large, and the picture made small enough to look at. The only user of Pillow."""

import io
from typing import Any, BinaryIO

import PIL.BmpImagePlugin  # these four Image.open would import, in the process of each picture anew
import PIL.GifImagePlugin
import PIL.JpegImagePlugin
import PIL.PngImagePlugin  # noqa: F401
from PIL import Image, ImageOps, UnidentifiedImageError

from picoclawd.documents.units import IMAGE_MAX_BYTES, Found, Picture, Unreadable, Wanted
from picoclawd.errors import Slug

LONGEST_PX = 1568  # more pixels on a side are not looked at by models
PIXELS_MAX = 100_000_000  # of the picture in the file: 300 MB of memory in RGB
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")  # the plugins that may run: Pillow has many more
_JPEG_QUALITIES = (90, 80, 65, 50)
_PNG_LEVEL = 3  # of zlib: 6 takes twice as long for 5 % less
_LOSSY = ("JPEG", "WEBP")


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read the picture, as the one unit there is. Raises: Unreadable."""
    with _open(source) as opened:
        name, (width, height) = opened.format or "", opened.size
        frames = getattr(opened, "n_frames", 1)
        if width * height > PIXELS_MAX:
            raise Unreadable(
                f"{width} × {height} are {width * height // 1_000_000} megapixels, "
                f"and {PIXELS_MAX // 1_000_000} are read at most",
                Slug.TOO_LARGE,
            )
        picture = _shrunk(opened)
    lines = f"{name} image, {width} × {height} pixels" + (f", {frames} frames" if frames > 1 else "")
    shown = f"shown as {picture.mime}, {picture.width} × {picture.height}"
    units = ((1, f"[{lines}; {shown}]"),) if wanted.wants(1) else ()
    return Found(name.lower(), "image", 1, units, picture=picture if units else None)


def encode(image: Any, *, prefer_png: bool) -> Picture:
    """A picture of at most LONGEST_PX on a side as a PNG or JPEG of at most IMAGE_MAX_BYTES."""
    image.thumbnail((LONGEST_PX, LONGEST_PX), Image.Resampling.BICUBIC, reducing_gap=2.0)
    if prefer_png:
        data = _saved(image, "PNG", compress_level=_PNG_LEVEL)
        if len(data) <= IMAGE_MAX_BYTES:
            return Picture("image/png", image.width, image.height, data)
    flat = _flat(image)
    while True:
        for quality in _JPEG_QUALITIES:
            data = _saved(flat, "JPEG", quality=quality)
            if len(data) <= IMAGE_MAX_BYTES:
                return Picture("image/jpeg", flat.width, flat.height, data)
        flat = flat.reduce(2)


def _open(source: BinaryIO) -> Image.Image:
    Image.MAX_IMAGE_PIXELS = None  # the size is judged here, before a pixel is decoded
    try:
        return Image.open(source, formats=_FORMATS)
    except UnidentifiedImageError as error:
        raise Unreadable("it begins like an image, but is damaged or cut off") from error


def _shrunk(opened: Image.Image) -> Picture:
    if opened.format == "JPEG":
        opened.draft("RGB", (LONGEST_PX, LONGEST_PX))  # decodes at a half, a quarter or an eighth of the size
    is_lossy = opened.format in _LOSSY
    try:
        opened.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise Unreadable("the picture is damaged or cut off") from error
    small = opened if opened.mode in ("RGB", "RGBA", "L") else opened.convert(_plain_mode(opened))
    small.thumbnail((LONGEST_PX, LONGEST_PX), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return encode(ImageOps.exif_transpose(small), prefer_png=not is_lossy)


def _plain_mode(image: Image.Image) -> str:
    has_alpha = image.mode in ("LA", "PA", "La", "RGBa") or "transparency" in image.info
    return "RGBA" if has_alpha else "RGB"


def _flat(image: Any) -> Any:
    if image.mode != "RGBA":
        return image if image.mode == "RGB" else image.convert("RGB")
    flat = Image.new("RGB", image.size, "white")
    flat.paste(image, mask=image.getchannel("A"))
    return flat


def _saved(image: Any, name: str, **options: Any) -> bytes:
    """Encoded, and without what the file says beside the picture: where it was taken, by which camera."""
    bare = image.copy() if image.info else image
    bare.info = {}
    out = io.BytesIO()
    bare.save(out, name, **options)
    return out.getvalue()
