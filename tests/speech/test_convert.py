"""The sound is taken out with ffmpeg, and its lack is named."""

import os
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.speech import convert, kinds
from tests.conftest import needs
from tests.sounds import tone
from tests.speech.conftest import MakeJob


async def test_without_ffmpeg_the_error_says_what_to_install(make_job: MakeJob) -> None:
    with convert.memory() as target:
        with pytest.raises(Fault, match=r"needs ffmpeg.*apt install ffmpeg") as caught:
            await convert.to_flac(make_job(b"x", PATH="/nowhere"), target)
    assert caught.value.slug is Slug.READER_NOT_INSTALLED


async def test_the_sound_becomes_flac(make_job: MakeJob) -> None:
    needs("ffmpeg")
    with convert.memory() as target:
        job = await convert.to_flac(make_job(tone(1.0, rate=44_100)), target)
        assert kinds.recording(os.pread(job.fd, 512, 0)) is kinds.FLAC
        assert job.size_bytes == os.fstat(job.fd).st_size


async def test_a_damaged_file_has_no_sound(make_job: MakeJob) -> None:
    needs("ffmpeg")
    with convert.memory() as target:
        with pytest.raises(Fault, match="finds no sound") as caught:
            await convert.to_flac(make_job(b"RIFF\0\0\0\0WAVE" + b"\xff" * 100), target)
    assert caught.value.slug is Slug.UNSUPPORTED_FORMAT


async def test_the_format_is_told_and_other_protocols_are_refused(make_job: MakeJob, tmp_path: Path) -> None:
    """A playlist that names other files must not be taken for one."""
    (tmp_path / "bin").mkdir()
    stand_in = tmp_path / "bin" / "ffmpeg"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$*"\n')
    stand_in.chmod(0o755)
    with convert.memory() as target:
        job = await convert.to_flac(make_job(b"x", PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin"), target)
        arguments = os.pread(job.fd, 10_000, 0).decode()
    assert "-protocol_whitelist file -f wav -i file:/dev/fd/0" in arguments
