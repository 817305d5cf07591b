"""Take the sound out of a video, or out of a format that an engine does not know, with ffmpeg.

A recording may be hostile. So ffmpeg is told the format, by what the content is: it never looks for one by itself, and
a playlist that names other files is not followed. It gets a descriptor, no name, and is bounded in all that it takes.
"""

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from picoclawd import limits, programs
from picoclawd.errors import Fault, Slug
from picoclawd.speech.engine import Job, not_installed
from picoclawd.speech.kinds import FLAC

_DEADLINE_S = 600.0
_SOUND_MAX_S = 4 * 3600  # four hours are 200 MiB
_OUTPUT_MAX_BYTES = 256 * limits.MIB
_BOUNDS = programs.Bounds(
    _DEADLINE_S,
    0,
    {
        resource.RLIMIT_AS: 2048 * limits.MIB,
        resource.RLIMIT_CPU: int(_DEADLINE_S),
        resource.RLIMIT_FSIZE: _OUTPUT_MAX_BYTES,
        resource.RLIMIT_CORE: 0,
    },
)


@contextmanager
def memory() -> Iterator[int]:
    """A file without a name, in memory, for the length of a block."""
    fd = os.memfd_create("picoclawd-sound", os.MFD_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


async def to_flac(job: Job, target: int) -> Job:
    """Write the sound, mono at 16 kHz, to the descriptor `target`; the job to go on with.

    Raises: reader_not_installed without ffmpeg; unsupported_format where it finds no sound; timeout.
    """
    program = shutil.which("ffmpeg", path=job.environ.get("PATH", os.defpath))
    if program is None:
        what = f"{job.shown} is {job.recording.shown}, and to take the sound out of it the daemon needs ffmpeg"
        raise not_installed(what, "apt install ffmpeg")
    job.tell("taking the sound out")
    argv = _argv(program, job.recording.demuxer)
    ended = await programs.run(argv, job.fd, job.environ, _BOUNDS, shown="ffmpeg", stdout=target)
    size = os.fstat(target).st_size
    if ended.status != 0 or not size:
        raise Fault(
            Slug.UNSUPPORTED_FORMAT,
            f"{job.shown} is {job.recording.shown} in which ffmpeg finds no sound, or it is damaged.",
        )
    os.lseek(target, 0, os.SEEK_SET)
    return replace(job, fd=target, size_bytes=size, recording=FLAC)


def _argv(program: str, demuxer: str) -> list[str]:
    # A name for stdin, not `pipe:`, so that it can seek: an MP4 may have its table at the end.
    source = ["-nostdin", "-v", "quiet", "-protocol_whitelist", "file", "-f", demuxer, "-i", "file:/dev/fd/0"]
    sound = ["-map", "0:a:0", "-vn", "-sn", "-dn", "-map_metadata", "-1", "-ac", "1", "-ar", "16000"]
    return [program, *source, *sound, "-t", str(_SOUND_MAX_S), "-c:a", "flac", "-f", "flac", "pipe:1"]
