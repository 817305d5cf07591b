"""Recordings are told by their first bytes."""

import pytest

from picoclawd.speech import kinds
from picoclawd.speech.kinds import recording
from tests.sounds import tone

PAD = b"\0" * 64


@pytest.mark.parametrize(
    ("head", "suffix"),
    [
        (tone(0.01), "wav"),
        (b"ID3\x04" + PAD, "mp3"),
        (b"\xff\xfb\x90\x64" + PAD, "mp3"),
        (b"\xff\xf1\x50\x80" + PAD, "aac"),
        (b"fLaC" + PAD, "flac"),
        (b"OggS" + PAD + b"OpusHead", "ogg"),
        (PAD[:4] + b"ftypM4A " + PAD, "m4a"),
        (PAD[:4] + b"ftypisom" + PAD, "mp4"),
        (b"\x1aE\xdf\xa3" + PAD[:20] + b"webm" + PAD, "webm"),
        (b"\x1aE\xdf\xa3" + PAD[:20] + b"matroska" + PAD, "mkv"),
        (b"RIFF\x00\x00\x00\x00AVI " + PAD, "avi"),
        (b"FORM\x00\x00\x00\x00AIFF" + PAD, "aiff"),
        (b"#!AMR\n" + PAD, "amr"),
    ],
)
def test_each_kind_is_known(head: bytes, suffix: str) -> None:
    found = recording(head)
    assert found is not None and found.suffix == suffix


@pytest.mark.parametrize(
    "head",
    [
        b"",
        PAD,
        b"ID3 is a tag, and OggS a mark",
        b"RIFF\x00\x00\x00\x00WEBP" + PAD,
        PAD[:4] + b"ftypheic" + PAD,
        b"\x89PNG\r\n\x1a\n" + PAD,
        b"\xff\xd8\xff\xe0" + PAD,
        b"\xff\xfe" + "text\n".encode("utf-16-le"),
        b"\xff\xfb\xf0\x00" + PAD,
        b"\xff\xff\xff\xff" + PAD,
    ],
)
def test_what_is_no_recording_is_none(head: bytes) -> None:
    assert recording(head) is None


def test_vorbis_is_told_from_the_rest_of_ogg() -> None:
    assert recording(b"OggS" + b"\0" * 24 + b"\x01vorbis" + PAD) is kinds.VORBIS
    assert recording(b"OggS" + b"\0" * 24 + b"OpusHead" + PAD) is not kinds.VORBIS
