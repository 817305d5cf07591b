"""The engine `command`: how a program gets the recording, and what its failures say."""

import sys

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.speech.engine import TEXT_MAX_CHARS, Command
from picoclawd.speech.program import transcribe
from tests.sounds import tone
from tests.speech.conftest import MakeJob

READ = "import sys; print(open(sys.argv[1], 'rb').read(4).decode() if sys.argv[1:] else sys.stdin.read(4))"


def program(code: str, *arguments: str) -> Command:
    return Command((sys.executable, "-c", code, *arguments))


async def test_audio_in_an_argument_is_a_name_that_opens_the_recording(make_job: MakeJob) -> None:
    said = await transcribe(program(READ, "{audio}"), make_job(tone(0.1)))
    assert (said.text, said.draft, said.note) == ("RIFF", False, "")


async def test_without_it_the_recording_is_on_stdin_from_its_start(make_job: MakeJob) -> None:
    job = make_job(b"RIFF-text")
    for _ in range(2):
        assert (await transcribe(program(READ), job)).text == "RIFF"


async def test_the_name_can_be_a_part_of_an_argument_and_no_shell_sees_it(make_job: MakeJob) -> None:
    code = "import sys; print(*sys.argv[1:], sep='|')"
    said = await transcribe(program(code, "--in={audio}", "$HOME; echo `id`"), make_job(b"x"))
    assert said.text == "--in=/dev/fd/0|$HOME; echo `id`"


async def test_what_it_prints_need_not_be_utf_8(make_job: MakeJob) -> None:
    assert (await transcribe(program("import os; os.write(1, b'a\\xffb')"), make_job(b"x"))).text == "a\ufffdb"


async def test_too_long_a_transcript_is_cut_and_said(make_job: MakeJob) -> None:
    said = await transcribe(program("while True: print('word ' * 1000)"), make_job(b"x"))
    assert len(said.text) <= TEXT_MAX_CHARS
    assert "was cut" in said.note


async def test_a_program_that_fails_is_named_and_its_words_are_not_shown(make_job: MakeJob) -> None:
    with pytest.raises(Fault, match="failed with status 7") as caught:
        await transcribe(program("import sys; print('hidden'); sys.exit(7)"), make_job(b"x"))
    assert caught.value.slug is Slug.IO_ERROR
    assert "hidden" not in caught.value.message


async def test_a_program_that_is_not_there_is_named(make_job: MakeJob) -> None:
    with pytest.raises(Fault, match="no-such-program, the command") as caught:
        await transcribe(Command(("no-such-program",)), make_job(b"x"))
    assert caught.value.slug is Slug.READER_NOT_INSTALLED
