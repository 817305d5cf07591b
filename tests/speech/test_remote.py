"""The engine `openai`: what is sent, and what each answer or its lack becomes."""

import re
from collections.abc import Iterator

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.service import Service
from picoclawd.speech import kinds, remote
from picoclawd.speech.engine import Job, Transcript
from tests.loopback import Loopback, loopback
from tests.sounds import tone
from tests.speech.conftest import MakeJob

KEY = "sk-" + "aB3dE5fG7hI9jK1lM2nO4pQ6"
WAIT_S = 20.0
NOT_SENT = kinds.recording(b"FORM\x00\x00\x00\x00AIFF")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as state:
        yield state


async def transcribe(server: Loopback, job: Job) -> Transcript:
    return await remote.transcribe(Service(server.base_url, "whisper-9", "THE_KEY"), job)


async def fault(server: Loopback, job: Job) -> Fault:
    with pytest.raises(Fault) as caught:
        await transcribe(server, job)
    return caught.value


async def test_the_recording_is_sent_without_its_name(server: Loopback, make_job: MakeJob) -> None:
    server.says({"text": "Hello there."})
    sound = tone(0.1)
    assert await transcribe(server, make_job(sound, THE_KEY=KEY)) == Transcript("Hello there.")
    (request,) = server.requests
    assert request.path == "/v1/audio/transcriptions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert sound in request.body
    assert re.findall(rb'name="(\w+)"', request.body) == [b"model", b"response_format", b"file"]
    assert b"whisper-9" in request.body and b'filename="recording.wav"' in request.body
    assert b"a.wav" not in request.body


@pytest.mark.parametrize("answer", [b"no JSON", b"[]", b'{"text": 7}', b"[" * 100_000, b""])
async def test_a_wrong_answer_is_no_transcript(server: Loopback, make_job: MakeJob, answer: bytes) -> None:
    server.says(answer)
    found = await fault(server, make_job(b"x"))
    assert found.slug is Slug.IO_ERROR
    assert "answered something that is no transcript" in found.message


async def test_a_refused_key_names_the_variable_and_shows_nothing(server: Loopback, make_job: MakeJob) -> None:
    server.says({"error": KEY}, 401)
    found = await fault(server, make_job(b"x", THE_KEY=KEY))
    assert "refused the key in THE_KEY" in found.message
    assert KEY not in repr(found) + repr(found.data) + found.excerpt


async def test_a_dead_service_is_named(make_job: MakeJob) -> None:
    with loopback() as state:
        pass
    assert "127.0.0.1 could not be reached" in (await fault(state, make_job(b"x"))).message


async def test_a_slow_service_is_a_timeout(
    server: Loopback, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_DEADLINE_S", 2.0)
    server.held.clear()
    found = await fault(server, make_job(b"x"))
    assert found.slug is Slug.TIMEOUT and found.retryable


async def test_cancelled_it_hangs_up(server: Loopback, make_job: MakeJob) -> None:
    server.held.clear()
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transcribe, server, make_job(b"x"))
            assert await trio.to_thread.run_sync(server.arrived.wait, WAIT_S)
            nursery.cancel_scope.cancel()
        assert await trio.to_thread.run_sync(server.gone.wait, WAIT_S)


async def test_what_services_do_not_take_needs_ffmpeg(server: Loopback, make_job: MakeJob) -> None:
    assert NOT_SENT is not None
    found = await fault(server, make_job(b"x", NOT_SENT, PATH="/nowhere"))
    assert found.slug is Slug.READER_NOT_INSTALLED
    assert "ffmpeg" in found.message
    assert not server.requests


async def test_what_is_too_large_to_be_sent_needs_ffmpeg(
    server: Loopback, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_SENT_MAX_BYTES", 10)
    assert "ffmpeg" in (await fault(server, make_job(b"x" * 11, PATH="/nowhere"))).message
    assert not server.requests
