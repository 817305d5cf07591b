"""Recordings of a workspace: opened by the policy's leave, listened to once, and refused with a way out."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.speech.engine import Command
from picoclawd.workspace.transcripts import SOURCE_MAX_BYTES
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.sounds import tone

MakeHouse = Callable[..., House]
# Says what it was given, and leaves a mark for each time it runs.
COUNTING = "import sys; open(sys.argv[1], 'a').write('x'); print(len(sys.stdin.buffer.read()))"


def silent(_line: str) -> None:
    return None


def listening(make_house: MakeHouse, code: str, *arguments: str) -> House:
    return make_house(options=Options(speech=Command((sys.executable, "-c", code, *arguments))))


def old(path: Path) -> None:
    """Let the file be one that did not change just now; ctime is now, whatever is done."""
    os.utime(path, (1_000_000_000, 1_000_000_000))
    time.sleep(0.05)


async def read(house: House, name: str) -> str:
    return (await house.workspace.transcripts.read(house.workspace.parse(name), silent)).found.text


async def test_a_recording_is_listened_to_once_while_it_stays_the_same(make_house: MakeHouse, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    house = listening(make_house, COUNTING, str(marks))
    old(house.write("a.wav", tone(0.1)))
    first = await read(house, "a.wav")
    assert [await read(house, "a.wav") for _ in range(2)] == [first, first]
    assert marks.read_text() == "x"
    old(house.write("a.wav", tone(0.2)))
    assert await read(house, "a.wav") != first
    assert marks.read_text() == "xx"


async def test_a_recording_that_changes_meanwhile_is_unstable_and_not_kept(
    make_house: MakeHouse, tmp_path: Path
) -> None:
    house = listening(make_house, "import sys; open(sys.argv[1], 'ab').write(b'more')", str(tmp_path / "ws" / "a.wav"))
    old(house.write("a.wav", tone(0.1)))
    reading = await house.workspace.transcripts.read(house.workspace.parse("a.wav"), silent)
    assert reading.unstable


async def test_without_an_engine_the_error_says_how_to_configure_one(house: House) -> None:
    house.write("a.wav", tone(0.1))
    with pytest.raises(Fault) as caught:
        await read(house, "a.wav")
    assert caught.value.slug is Slug.READER_NOT_INSTALLED
    for words in ("a WAV recording", "daemon.speech_to_text", '{"engine": "pocketsphinx"}', "pip install 'picoclawd"):
        assert words in caught.value.message


async def test_a_protected_name_is_not_listened_to(make_house: MakeHouse) -> None:
    house = listening(make_house, "print('heard')")
    house.write(".ssh/a.wav", tone(0.1))
    with pytest.raises(Fault) as caught:
        await read(house, ".ssh/a.wav")
    assert caught.value.slug is Slug.PROTECTED_PATH


async def test_a_recording_of_hours_is_refused_before_it_is_read(make_house: MakeHouse) -> None:
    house = listening(make_house, "print('heard')")
    path = house.write("a.wav", tone(0.1))
    os.truncate(path, SOURCE_MAX_BYTES + 1)
    with pytest.raises(Fault) as caught:
        await read(house, "a.wav")
    assert caught.value.slug is Slug.TOO_LARGE


async def test_two_are_listened_to_at_a_time(make_house: MakeHouse, tmp_path: Path) -> None:
    code = (
        "import os, sys, time\n"
        "own = os.path.join(sys.argv[1], str(os.getpid()))\n"
        "open(own, 'w').close()\n"
        "time.sleep(0.3)\n"
        "print(len(os.listdir(sys.argv[1])))\n"
        "os.unlink(own)\n"
    )
    (tmp_path / "running").mkdir()
    house = listening(make_house, code, str(tmp_path / "running"))
    counts: list[str] = []

    async def one(name: str) -> None:
        counts.append(await read(house, name))

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for number in range(4):
                house.write(f"{number}.wav", tone(0.1))
                nursery.start_soon(one, f"{number}.wav")
    assert len(counts) == 4
    assert max(map(int, counts)) <= 2
