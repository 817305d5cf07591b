"""read_files on recordings: the transcript's rows, its quality, and what happens meanwhile."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.speech.engine import Command
from picoclawd.text.redact import MARK
from picoclawd.tools._call import Asked, call_tool
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.sounds import tone

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
WAIT_S = 30.0
MakeHouse = Callable[..., House]


def listening(make_house: MakeHouse, code: str, *arguments: str) -> House:
    house = make_house(options=Options(speech=Command((sys.executable, "-c", code, *arguments))))
    house.write("talk.wav", tone(0.1))
    return house


async def read(house: House, **entry: Any) -> tuple[str, dict[str, Any]]:
    answer = await house.call("read_files", files=[{"path": "talk.wav", **entry}])
    (file,) = answer["data"]["files"]
    return answer["content"], file


async def test_a_recording_is_the_rows_of_its_transcript(make_house: MakeHouse) -> None:
    content, file = await read(listening(make_house, "print('Hello.\\nBye.')"))
    assert content == "1\tHello.\n2\tBye."
    assert file.items() >= {"format": "audio", "encoding": None, "start": 1, "end": 2, "total": 2, "eof": True}.items()
    assert "quality" not in file


async def test_pages_of_a_transcript_join_to_the_whole(make_house: MakeHouse) -> None:
    house = listening(make_house, "print(*(f'word{n}' for n in range(6000)))")
    rows: list[str] = []
    offset: int | None = 1
    while offset is not None:
        content, file = await read(house, offset=offset, limit=100)
        rows += [row.split("\t")[1] for row in content.split("\n") if "\t" in row]
        offset = file["next_offset"]
    assert " ".join(rows) == " ".join(f"word{n}" for n in range(6000))


async def test_secrets_that_are_said_are_masked(make_house: MakeHouse) -> None:
    content, _ = await read(listening(make_house, f"print('my token is {SECRET}')"))
    assert SECRET not in content and MARK in content


async def test_silence_is_said(make_house: MakeHouse) -> None:
    content, file = await read(listening(make_house, "pass"))
    assert content == "[no speech was recognised in the recording]"
    assert file["total"] == 0 and file["eof"]


async def test_a_transcript_counts_as_a_read(make_house: MakeHouse) -> None:
    house = listening(make_house, "print('Hello.')")
    await house.fault(Slug.NOT_FRESH, "edit_file", path="talk.wav", content="text\n")
    await read(house)
    await house.call("edit_file", path="talk.wav", content="text\n")


async def test_one_that_fails_is_an_entry_and_no_read(make_house: MakeHouse) -> None:
    house = listening(make_house, "import sys; sys.exit(1)")
    house.write("a.txt", "text")
    answer = await house.call("read_files", files=[{"path": "talk.wav"}, {"path": "a.txt"}])
    assert [bool(file["error"]) for file in answer["data"]["files"]] == [True, False]
    await house.fault(Slug.NOT_FRESH, "edit_file", path="talk.wav", content="text\n")


async def test_without_an_engine_the_entry_says_how_to_configure_one(house: House) -> None:
    house.write("talk.wav", tone(0.1))
    content, file = await read(house)
    assert "daemon.speech_to_text" in content
    assert file["error"]["error"] == "reader_not_installed"


async def test_cancellation_ends_the_program(make_house: MakeHouse, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}\\n'); time.sleep(60)"
    house = listening(make_house, code, str(pid_file))
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: read(house))
            for _ in range(int(WAIT_S / 0.01)):
                if pid_file.exists() and pid_file.read_text().endswith("\n"):
                    break
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):  # it was our child, and is reaped
        os.kill(int(pid_file.read_text()), 0)


async def test_progress_names_the_file_and_what_it_waits_for(make_house: MakeHouse) -> None:
    house = listening(make_house, "print('Hello.')")
    told: list[tuple[int, int | None, str]] = []
    asked = Asked(house.agent, lambda: False, lambda *step: told.append(step))
    await call_tool(house.toolbox, house.workspace, "read_files", {"files": [{"path": "talk.wav"}]}, asked)
    name = os.path.basename(sys.executable)
    assert told == [(0, 1, "talk.wav: waiting for its turn"), (0, 1, f"talk.wav: waiting for {name}")]
