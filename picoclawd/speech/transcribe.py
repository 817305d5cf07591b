"""Give a recording to the engine that is configured."""

from typing import assert_never

from picoclawd.service import Service
from picoclawd.speech import draft, program, remote
from picoclawd.speech.engine import Command, Draft, Engine, Job, Transcript


async def transcribe(engine: Engine, job: Job) -> Transcript:
    """What is said in the recording. Cancellation ends the request or the process.

    Raises: reader_not_installed, unsupported_format, too_large, io_error, timeout.
    """
    match engine:
        case Service():
            return await remote.transcribe(engine, job)
        case Command():
            return await program.transcribe(engine, job)
        case Draft():
            return await draft.transcribe(job)
        case _:
            assert_never(engine)
