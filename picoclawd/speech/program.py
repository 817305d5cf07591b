"""The engine `command`: a program of the person's choice, whose stdout is the transcript.

`{audio}` in an argument becomes `/dev/fd/0`, a name that opens the recording: most programs want one (whisper's tools
do, and look at the content, not at the ending). Without `{audio}` the program reads its stdin. That is the recording in
both cases: a regular file, in which it can seek.
"""

import os
import shutil

from picoclawd import programs
from picoclawd.errors import Fault, Slug
from picoclawd.speech.engine import DEADLINE_S, TEXT_MAX_CHARS, Command, Job, Transcript

AUDIO = "{audio}"
_STDIN_NAME = "/dev/fd/0"
_BOUNDS = programs.Bounds(DEADLINE_S, TEXT_MAX_CHARS, {})  # a model may want any memory; the person chose the program


async def transcribe(command: Command, job: Job) -> Transcript:
    """Run the program, without a shell.

    Raises: reader_not_installed where it is not there; io_error where it fails; timeout.
    """
    program, *arguments = command.argv
    path = shutil.which(program, path=job.environ.get("PATH", os.defpath))
    name = os.path.basename(program)
    if path is None:
        what = f"{job.shown} was not transcribed: {name}, the command of daemon.speech_to_text, is not there"
        raise Fault(Slug.READER_NOT_INSTALLED, f"{what}. Tell the person.")
    job.tell(f"waiting for {name}")
    argv = [path, *(argument.replace(AUDIO, _STDIN_NAME) for argument in arguments)]
    os.lseek(job.fd, 0, os.SEEK_SET)
    ended = await programs.run(argv, job.fd, job.environ, _BOUNDS, shown=name)
    if ended.status != 0 and not ended.overflowed:
        raise Fault(
            Slug.IO_ERROR,
            f"{job.shown} was not transcribed: {name} failed with status {ended.status}. The person can run it by "
            "hand to see why.",
        )
    note = f"the transcript was cut at {TEXT_MAX_CHARS} bytes" if ended.overflowed else ""
    return await job.transcript(ended.output.decode("utf-8", "replace"), note=note)
