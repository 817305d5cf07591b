"""read_files with a decision model: withheld once, and never in doubt."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from picoclawd.errors import Slug
from picoclawd.service import Service
from picoclawd.workspace import questions, relevance
from picoclawd.workspace.actors import Role
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.loopback import Loopback, loopback

LONG = "All work and no play makes a dull day.\n" * 200
NO = '{"related": false, "confidence": 0.9}'
YES = '{"related": true, "confidence": 0.9}'


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as state:
        yield state


@pytest.fixture
def judged(make_house: Callable[..., House], server: Loopback) -> House:
    """A house with a decision model, a task, and a long file."""
    house = make_house(
        options=Options(
            approvals=questions.Settings(mode="allow"), decision_model=Service(server.base_url, "m", "NO_SUCH_KEY")
        )
    )
    house.workspace.tasks.begin(house.agent.actor, "fix the parser")
    house.write("long.txt", LONG)
    server.chats(NO)
    return house


async def read(house: House, *files: dict[str, Any], session: Any = None) -> tuple[str, list[dict[str, Any]]]:
    answer = await house.call("read_files", session=session, files=list(files))
    return answer["content"], answer["data"]["files"]


def is_content(content: str) -> bool:
    return content.startswith("1\tAll work")


async def test_an_unrelated_file_is_one_line_and_the_second_read_gives_it(judged: House, server: Loopback) -> None:
    content, (file,) = await read(judged, {"path": "long.txt"})
    assert content.startswith("File withheld: ") and "\n" not in content
    assert file["withheld"] and file["path"] == "long.txt" and file["error"] is None and file["start"] is None
    content, (file,) = await read(judged, {"path": "long.txt"})
    assert is_content(content) and "withheld" not in file
    assert len(server.requests) == 1


async def test_a_withheld_file_was_not_read_as_far_as_edits_go(judged: House) -> None:
    await read(judged, {"path": "long.txt"})
    edit = {"path": "long.txt", "content": "new\n"}
    await judged.fault(Slug.NOT_FRESH, "edit_file", **edit)
    await read(judged, {"path": "long.txt"})
    await judged.call("edit_file", **edit)


async def test_twice_in_one_call_is_a_line_and_the_content(judged: House, server: Loopback) -> None:
    content, files = await read(judged, {"path": "long.txt"}, {"path": "./long.txt", "limit": 1})
    assert "== long.txt ==\nFile withheld: " in content and "== ./long.txt ==\n1\tAll work" in content
    assert [file.get("withheld") for file in files] == [True, None]


async def test_each_session_has_its_own_once(judged: House) -> None:
    other = judged.session(Role.AGENT)
    judged.workspace.tasks.begin(other.actor, "write a poem")
    for session in (judged.agent, other):
        assert (await read(judged, {"path": "long.txt"}, session=session))[0].startswith("File withheld")


async def test_a_related_file_is_given_and_its_next_page_costs_no_question(judged: House, server: Loopback) -> None:
    server.chats(YES)
    assert is_content((await read(judged, {"path": "long.txt", "limit": 10}))[0])
    await read(judged, {"path": "long.txt", "offset": 11})
    assert len(server.requests) == 1


async def test_around_short_files_and_sessions_without_an_objective_are_not_judged(
    judged: House, server: Loopback
) -> None:
    judged.write("short.txt", "x" * 4095)
    await read(judged, {"path": "long.txt", "around": [1]}, {"path": "short.txt"})
    assert is_content((await read(judged, {"path": "long.txt"}, session=judged.session(Role.AGENT)))[0])
    blank = judged.session(Role.AGENT)
    judged.workspace.tasks.begin(blank.actor, " ")
    assert is_content((await read(judged, {"path": "long.txt"}, session=blank))[0])
    assert not server.requests


async def test_4096_characters_are_enough(judged: House, server: Loopback) -> None:
    judged.write("f.txt", "x" * 4096)
    assert (await read(judged, {"path": "f.txt"}))[0].startswith("File withheld")


@pytest.mark.parametrize("name", [".env", ".ssh/notes.txt"])
async def test_sensitive_files_are_never_sent(judged: House, server: Loopback, name: str) -> None:
    judged.write(name, LONG)
    operator = judged.operator
    judged.workspace.tasks.begin(operator.actor, "fix the parser")
    content, _ = await read(judged, {"path": name}, session=operator)
    assert is_content(content)
    assert not server.requests


async def test_a_link_with_a_sensitive_name_is_never_sent(judged: House, server: Loopback) -> None:
    (judged.root / ".env").symlink_to("long.txt")
    judged.workspace.tasks.begin(judged.operator.actor, "fix the parser")
    assert is_content((await read(judged, {"path": ".env"}, session=judged.operator))[0])
    assert not server.requests


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_an_unhappy_model_gives_the_content(judged: House, server: Loopback, status: int) -> None:
    server.says({}, status)
    assert is_content((await read(judged, {"path": "long.txt"}))[0])


@pytest.mark.parametrize("words", ["I cannot say.", '{"related": false, "confidence": "high"}'])
async def test_a_wrong_answer_gives_the_content(judged: House, server: Loopback, words: str) -> None:
    server.chats(words)
    assert is_content((await read(judged, {"path": "long.txt"}))[0])


async def test_a_slow_model_gives_the_content_and_is_not_asked_again_in_the_call(
    judged: House, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance, "TIMEOUT_S", 2.0)
    server.held.clear()
    judged.write("other.txt", LONG)
    _, files = await read(judged, {"path": "long.txt", "limit": 3}, {"path": "other.txt", "limit": 3})
    assert [file["start"] for file in files] == [1, 1]
    assert len(server.requests) == 1


async def test_a_dead_model_gives_the_content(make_house: Callable[..., House]) -> None:
    with loopback() as state:
        pass
    house = make_house(options=Options(decision_model=Service(state.base_url, "m", "K")))
    house.workspace.tasks.begin(house.agent.actor, "fix the parser")
    house.write("long.txt", LONG)
    assert is_content((await read(house, {"path": "long.txt"}))[0])


async def test_a_file_in_another_encoding_is_judged_by_its_text(judged: House, server: Loopback) -> None:
    judged.write("g.txt", ("é word " * 700).encode("utf-16"))
    assert (await read(judged, {"path": "g.txt"}))[0].startswith("File withheld")
    assert "é word" in json.loads(server.requests[0].body)["messages"][1]["content"]
