"""The engine `openai`: a service that transcribes what is sent to it."""

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.threads import Lane
from picoclawd.service import ClientMissingError, Service, ServiceError, ServiceTimeoutError, post
from picoclawd.speech import convert
from picoclawd.speech.engine import INSTALL, Job, Transcript, not_installed

_SENT_MAX_BYTES = 25 * limits.MIB  # OpenAI's own bound
_TAKEN = frozenset({"flac", "m4a", "mp3", "mp4", "ogg", "wav", "webm"})  # by suffix, as OpenAI documents them
_DEADLINE_S = 600.0


class _Answer(msgspec.Struct, frozen=True):
    text: str


async def transcribe(service: Service, job: Job) -> Transcript:
    """Send the recording; where it is too large or of a kind that services do not take, its sound alone.

    Raises: io_error where there is no answer, timeout, too_large, and what `convert.to_flac` raises.
    """
    if job.recording.suffix in _TAKEN and job.size_bytes <= _SENT_MAX_BYTES:
        return await _send(service, job)
    with convert.memory() as target:
        small = await convert.to_flac(job, target)
        if small.size_bytes > _SENT_MAX_BYTES:
            raise Fault(
                Slug.TOO_LARGE,
                f"{job.shown} is too long a recording: its sound has {small.size_bytes} bytes, and a service takes "
                f"{_SENT_MAX_BYTES} at the most. Split it.",
            )
        return await _send(service, small)


async def _send(service: Service, job: Job) -> Transcript:
    job.tell(f"waiting for {service.shown}")
    sound = await job.threads.run(Lane.READ, _whole, job.fd)
    # The file's own name is not for others to know.
    files = {"file": (f"recording.{job.recording.suffix}", sound, job.recording.mime)}
    data = {"model": service.model, "response_format": "json"}
    try:
        answer = await post(
            job.threads, job.environ, service, "audio/transcriptions", _DEADLINE_S, data=data, files=files
        )
    except ServiceError as error:
        raise _as_fault(error, job) from error
    try:
        text = msgspec.json.decode(answer, type=_Answer).text
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"{job.shown} was not transcribed: {service.shown} answered something that is no transcript."
        raise Fault(Slug.IO_ERROR, message) from error
    return await job.transcript(text)


def _as_fault(error: ServiceError, job: Job) -> Fault:
    match error:
        case ClientMissingError():
            return not_installed(f"{job.shown} was not transcribed: the library httpx2 is not installed", INSTALL)
        case ServiceTimeoutError():
            return Fault(Slug.TIMEOUT, f"{job.shown} was not transcribed: {error}.")
        case _:
            return Fault(Slug.IO_ERROR, f"{job.shown} was not transcribed: {error}.")


def _whole(fd: int) -> bytes:
    with open(fd, "rb", closefd=False) as source:
        source.seek(0)
        return source.read(_SENT_MAX_BYTES)
