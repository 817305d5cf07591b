"""Verdicts of a decision model: what is sent, and which answers count."""

import json
from collections.abc import Callable, Iterator

import pytest

from picoclawd.files.threads import Threads
from picoclawd.service import Service
from picoclawd.text.redact import MARK
from picoclawd.workspace.relevance import SENT_MAX_CHARS, Judged, NoVerdictError, Relevance, head_of, is_long
from tests.house import House
from tests.loopback import Loopback, loopback

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
PROSE = b"All work and no play makes a dull day. " * 200


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as state:
        yield state


@pytest.fixture
def relevance(house: House, server: Loopback) -> Relevance:
    service = Service(server.base_url, "small-model", "THE_KEY")
    return Relevance(house.rooted, Threads(), service, {"THE_KEY": "sk-k"})


async def judge(relevance: Relevance, house: House, head: bytes = PROSE, objective: str = "fix the parser") -> bool:
    return await relevance.is_unrelated(objective, house.rooted.workspace + b"/notes/day.txt", head)


def sent(server: Loopback) -> tuple[str, str]:
    """The model and what the user's message of the one request says."""
    (request,) = server.requests
    body = json.loads(request.body)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    return body["model"], body["messages"][1]["content"]


@pytest.mark.parametrize(
    ("answer", "unrelated"),
    [
        ('{"related": false, "confidence": 0.7}', True),
        ('{"related": false, "confidence": 1}', True),
        ('Sure!\n```json\n{"related": false, "confidence": 0.95, "why": "x"}\n```', True),
        ('{"related": false, "confidence": 0.69}', False),
        ('{"related": true, "confidence": 0.99}', False),
    ],
)
async def test_a_sure_no_counts_and_nothing_else(
    relevance: Relevance, house: House, server: Loopback, answer: str, unrelated: bool
) -> None:
    server.chats(answer)
    assert await judge(relevance, house) is unrelated


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no",
        "}{",
        '{"related": false}',
        '{"related": false, "confidence": 7}',
        '{"related": false, "confidence": NaN}',
        '{"related": "false", "confidence": 0.9}',
        '{"related": false, "confidence": "0.9"}',
        '{"a":' * 10_000 + "}",
    ],
)
async def test_a_wrong_answer_is_no_verdict(relevance: Relevance, house: House, server: Loopback, answer: str) -> None:
    server.chats(answer)
    with pytest.raises(NoVerdictError):
        await judge(relevance, house)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}'])
async def test_an_answer_without_a_message_is_no_verdict(
    relevance: Relevance, house: House, server: Loopback, body: bytes
) -> None:
    server.says(body)
    with pytest.raises(NoVerdictError):
        await judge(relevance, house)


async def test_what_is_sent_is_masked_and_bounded(relevance: Relevance, house: House, server: Loopback) -> None:
    server.chats("{}")
    head = f"token = {SECRET}\n".encode() + b"plain words here\n" * 2000
    with pytest.raises(NoVerdictError):
        await judge(relevance, house, head_of([head]), f"use {SECRET}")
    model, message = sent(server)
    assert model == "small-model"
    assert SECRET not in message and message.count(MARK) == 2
    assert "notes/day.txt" in message and house.rooted.workspace.decode() not in message
    assert len(message) < SENT_MAX_CHARS + 500


@pytest.mark.parametrize("before", range(24_576 - 45, 24_576, 7))
async def test_a_secret_at_the_cut_is_not_sent(
    relevance: Relevance, house: House, server: Loopback, before: int
) -> None:
    """Characters of four bytes make the cut by bytes come before the cut by characters."""
    server.chats("{}")
    wide, rest = divmod(before, 4)
    head = head_of(["\U0001f600".encode() * wide + b" " * rest + SECRET.encode() + b"\n" + PROSE])
    with pytest.raises(NoVerdictError):
        await judge(relevance, house, head)
    assert SECRET[:8] not in sent(server)[1]


async def test_a_short_file_is_not_sent(relevance: Relevance, house: House, server: Loopback) -> None:
    assert not await judge(relevance, house, b"x" * 4095)
    assert not server.requests


def test_long_is_counted_in_characters() -> None:
    assert is_long("é".encode() * 4096)
    assert not is_long("é".encode() * 4095)
    assert is_long(head_of(["\U0001f600".encode() * 2048] * 2))


def test_names_that_hold_credentials_are_not_judged_freed_or_not(make_house: Callable[..., House]) -> None:
    house = make_house(unprotect=(r"\.env$",))
    relevance, root = house.workspace.relevance, house.rooted.workspace
    assert [relevance.may_judge(root + name) for name in (b"/.env", b"/.ssh/config", b"/a.txt")] == [False, False, True]


def test_a_session_remembers_what_was_withheld_and_what_is_related_to_which_objective() -> None:
    judged = Judged()
    judged.note_related(b"/a", "one")
    judged.note_withheld(b"/b")
    assert judged.is_settled(b"/a", "one") and not judged.is_settled(b"/a", "two")
    assert judged.is_settled(b"/b", "one") and judged.is_settled(b"/b", "two")
