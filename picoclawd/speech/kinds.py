"""Tell recordings by how they begin; a name says nothing."""

from typing import Literal

import msgspec

from picoclawd.text import encodings


class Recording(msgspec.Struct, frozen=True):
    """A kind of recording, `shown` with its article. Services know it by the name's `suffix`, ffmpeg by `demuxer`."""

    format: Literal["audio", "video"]
    shown: str
    suffix: str
    mime: str
    demuxer: str


WAV = Recording("audio", "a WAV recording", "wav", "audio/wav", "wav")
MP3 = Recording("audio", "an MP3 recording", "mp3", "audio/mpeg", "mp3")
FLAC = Recording("audio", "a FLAC recording", "flac", "audio/flac", "flac")
VORBIS = Recording("audio", "an Ogg Vorbis recording", "ogg", "audio/ogg", "ogg")
_OGG = Recording("audio", "an Ogg recording", "ogg", "audio/ogg", "ogg")
_M4A = Recording("audio", "an MP4 recording", "m4a", "audio/mp4", "mov")
_MP4 = Recording("video", "an MP4 video", "mp4", "video/mp4", "mov")
_WEBM = Recording("video", "a WebM video", "webm", "video/webm", "matroska")
_MATROSKA = Recording("video", "a Matroska video", "mkv", "video/x-matroska", "matroska")
_AVI = Recording("video", "an AVI video", "avi", "video/x-msvideo", "avi")
_ASF = Recording("video", "a Windows Media recording", "wmv", "video/x-ms-asf", "asf")
_FLV = Recording("video", "a Flash video", "flv", "video/x-flv", "flv")
_MPEG = Recording("video", "an MPEG video", "mpg", "video/mpeg", "mpeg")
_AIFF = Recording("audio", "an AIFF recording", "aiff", "audio/aiff", "aiff")
_AMR = Recording("audio", "an AMR recording", "amr", "audio/amr", "amr")
_AAC = Recording("audio", "an AAC recording", "aac", "audio/aac", "aac")

_MAGIC: tuple[tuple[bytes, Recording], ...] = (
    (b"ID3", MP3),
    (b"fLaC", FLAC),
    (b"0&\xb2u\x8ef\xcf\x11", _ASF),
    (b"FLV\x01", _FLV),
    (b"\x00\x00\x01\xba", _MPEG),
    (b"#!AMR", _AMR),
)
_MATROSKA_MAGIC = b"\x1aE\xdf\xa3"
_RIFF = {b"WAVE": WAV, b"AVI ": _AVI}
_PICTURE_BRANDS = (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1")  # pictures in an MP4's box
_SOUND_BRANDS = (b"M4A ", b"M4B ", b"M4P ")


def recording(head: bytes) -> Recording | None:
    """The kind of recording that begins so; None for anything else, also for a text whose words are some kind's mark.

    The first bytes of an MP3 without a tag are no mark but fields: each must have a value that means something.
    """
    if not encodings.is_binary(head):
        return None
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"OggS"):
        return VORBIS if b"\x01vorbis" in head[:64] else _OGG
    if head.startswith(_MATROSKA_MAGIC):
        return _WEBM if b"webm" in head[:64] else _MATROSKA
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12])
    if head.startswith(b"FORM") and head[8:12] in (b"AIFF", b"AIFC"):
        return _AIFF
    if head[4:8] == b"ftyp":
        return _by_brand(head[8:12])
    return _by_frame(head)


def _by_brand(brand: bytes) -> Recording | None:
    if brand in _PICTURE_BRANDS:
        return None
    return _M4A if brand in _SOUND_BRANDS else _MP4


def _by_frame(head: bytes) -> Recording | None:
    """MPEG audio, by the header of its first frame (ISO 11172-3, 2.4.1.3; ISO 13818-7 for ADTS)."""
    if len(head) < 4 or head[0] != 0xFF:
        return None
    second, third = head[1], head[2]
    if second in (0xF0, 0xF1, 0xF8, 0xF9):
        return _AAC if third >> 2 & 0xF < 13 else None
    is_layer_3 = second & 0xE0 == 0xE0 and second & 0x06 == 0x02 and second & 0x18 != 0x08
    return MP3 if is_layer_3 and third >> 4 not in (0, 15) and third & 0x0C != 0x0C else None
