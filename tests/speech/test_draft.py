"""The engine `pocketsphinx`: real recordings in a real worker."""

import sys
from pathlib import Path

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.speech import draft
from tests.conftest import needs
from tests.sounds import tone
from tests.speech.conftest import MakeJob


@pytest.fixture
def library() -> None:
    """What the worker imports."""
    pytest.importorskip("pocketsphinx")
    pytest.importorskip("miniaudio")


@pytest.mark.usefixtures("library")
async def test_a_tone_is_a_draft_without_a_crash(make_job: MakeJob) -> None:
    said = await draft.transcribe(make_job(tone(2.0, rate=22_050)))
    assert said.draft
    assert len(said.text) < 100


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("data", [b"RIFF\0\0\0\0WAVE" + b"\xff" * 100, b"RIFF", b""])
async def test_what_does_not_decode_is_said_to_be_damaged(make_job: MakeJob, data: bytes) -> None:
    with pytest.raises(Fault, match="does not decode") as caught:
        await draft.transcribe(make_job(data))
    assert caught.value.slug is Slug.UNSUPPORTED_FORMAT


@pytest.mark.usefixtures("library")
async def test_a_recording_that_ends_early_is_listened_to_as_far_as_it_goes(make_job: MakeJob) -> None:
    assert (await draft.transcribe(make_job(tone(2.0)[:20_000]))).draft


@pytest.mark.usefixtures("library")
async def test_spoken_words_are_recognised_by_and_large(make_job: MakeJob, tmp_path: Path) -> None:
    espeak = needs("espeak-ng")
    path = tmp_path / "spoken.wav"
    words = "we will meet again tomorrow in the city"
    await trio.run_process([espeak, "-v", "en-us+f3", "-s", "130", "-w", str(path), words])
    said = await draft.transcribe(make_job(path.read_bytes()))
    assert len(set(said.text.split()) & set(words.split())) >= 4, said.text


def stand_in(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(draft, "COMMAND", (sys.executable, "-c", code))


async def test_a_missing_library_is_named_with_the_command_that_installs_it(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, """print('["missing", "miniaudio"]')""")
    with pytest.raises(Fault, match=r"miniaudio is not installed.*pip install 'picoclawd\[stt\]'") as caught:
        await draft.transcribe(make_job(b"x"))
    assert caught.value.slug is Slug.READER_NOT_INSTALLED


async def test_how_far_it_is_and_what_was_left_out_are_told(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, """print('["at", 5]\\n["text", "one"]\\n["text", "two"]\\n["end", true]')""")
    told: list[str] = []
    said = await draft.transcribe(make_job(b"x", told=told))
    assert told == ["5 s listened to"]
    assert said.text == "one\ntwo"
    assert said.note == "only the first 15 minutes were listened to"


@pytest.mark.parametrize("code", ["import os; os.kill(os.getpid(), 9)", """print('["text", "one"]')""", ""])
async def test_a_worker_that_dies_gives_no_transcript(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    stand_in(monkeypatch, code)
    with pytest.raises(Fault, match="does not decode"):
        await draft.transcribe(make_job(b"x"))
