"""One call of one tool: what its reader gets, whole, masked, cut to fit or spilled."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.text import redact
from picoclawd.tools._call import Asked, Toolbox, call_at_once, call_tool, named
from picoclawd.tools._spec import READS, Call, FileText, Plain, Result, Settings, tool
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str = ""
    rows: int = 0
    fails: bool = False


class Data(msgspec.Struct, frozen=True):
    rows: list[str]
    path: str
    offset: int = 3
    next_offset: int | None = None


@tool(title="Toy", hints=READS, params=Params, data=Data, settings=Settings, rows_field="rows")
async def toy(call: Call[Settings], params: Params) -> Result:
    """Say what it was given."""
    if params.fails:
        raise Fault(
            Slug.NO_MATCH,
            "it failed",
            excerpt=params.text,
            next_call=NextCall("toy", {"text": "x"}),
            lines=[params.text],
        )
    data = Data([params.text] * params.rows, params.text)
    return Result(data, head="head\n", body=(FileText(params.text),), foot="\nfoot", display=(Plain("shown"),))


TOOLBOX = Toolbox({"toy": (toy, Settings())})


async def ask(house: House, operator: bool = False, **params: Any) -> dict[str, Any]:
    session = house.operator if operator else house.agent
    asked = Asked(session, lambda: False, lambda done, total, message: None)
    return await call_tool(TOOLBOX, house.workspace, "toy", params, asked)


async def test_an_answer_is_head_body_and_foot(house: House) -> None:
    answer = await ask(house, text="body")
    assert answer == {
        "content": "head\nbody\nfoot",
        "display": "shown",
        "data": {"rows": [], "path": "body", "offset": 3, "next_offset": None},
    }


async def test_an_agent_gets_no_secret_but_in_names(house: House) -> None:
    answer = await ask(house, text=SECRET, rows=1)
    assert answer["content"] == f"head\n{redact.MARK}\nfoot"
    assert answer["data"]["rows"] == [redact.MARK]
    assert answer["data"]["path"] == SECRET  # else it would name nothing
    told = await ask(house, operator=True, text=SECRET, rows=1)
    assert told["content"] == f"head\n{SECRET}\nfoot"
    assert told["data"]["rows"] == [SECRET]


async def test_file_text_in_a_fault_is_masked_and_the_rest_is_kept(house: House) -> None:
    with pytest.raises(Fault) as caught:
        await ask(house, text=f"key {SECRET}", fails=True)
    fault = caught.value
    assert (fault.slug, fault.message, fault.excerpt) == (Slug.NO_MATCH, "it failed", f"key {redact.MARK}")
    assert fault.data == {"lines": [f"key {redact.MARK}"]}
    assert fault.next_call == NextCall("toy", {"text": "x"})
    with pytest.raises(Fault) as caught:
        await ask(house, operator=True, text=f"key {SECRET}", fails=True)
    assert caught.value.excerpt == f"key {SECRET}"


@pytest.mark.parametrize("size", [500, 1_999, 2_001, 50_000])
async def test_what_is_too_long_is_shown_in_part_and_stored_whole(make_house: Callable[..., House], size: int) -> None:
    house = make_house(options=Options(inline_chars=2_000))
    text = "".join(f"{number:07}\n" for number in range(size // 8))
    answer = await ask(house, text=text)
    whole = f"head\n{text}\nfoot"
    if len(whole) <= 2_000:
        assert answer["content"] == whole
        assert "spilled" not in answer["data"]
        return
    content, artifact = answer["content"], answer["data"]["artifact"]
    assert answer["data"]["spilled"] is True
    assert len(content) <= 2_000
    assert content.startswith(f"head\n{text[:100]}") and content.endswith(f"{text[-100:]}\nfoot")
    assert f'call read_file with {{"path": "{artifact}"}}' in content
    assert (house.root / artifact).read_text() == whole
    assert (await ask(house, operator=True, text=text))["content"] == whole


async def test_rows_beyond_what_data_may_hold_are_cut_and_counted(house: House) -> None:
    text = "x" * 1_000
    count = limits.DATA_MAX_BYTES_AGENT // 500
    data = (await ask(house, text=text, rows=count))["data"]
    assert len(json.dumps(data)) <= limits.DATA_MAX_BYTES_AGENT * 1.1  # spaces, which the wire has not
    assert len(msgspec.json.encode(data)) <= limits.DATA_MAX_BYTES_AGENT
    assert len(data["rows"]) + data["rows_cut"] == count
    assert data["next_offset"] == 3 + len(data["rows"])
    assert "rows_cut" not in (await ask(house, text=text, rows=3))["data"]


async def test_a_tool_that_must_wait_is_not_answered_at_once(house: House) -> None:
    asked = Asked(house.agent, lambda: False, lambda done, total, message: None)
    assert call_at_once(TOOLBOX, house.workspace, "toy", {"text": "x"}, asked) is None


def test_positional_parameters_follow_the_fields() -> None:
    assert named(toy, Settings(), ["a", 2]) == {"text": "a", "rows": 2}
    assert named(toy, Settings(), {"rows": 2}) == {"rows": 2}
    with pytest.raises(Fault) as caught:
        named(toy, Settings(), ["a", 2, False, "one more"])
    assert caught.value.data["path"] == "$[3]"
    assert "text, rows, fails" in caught.value.message
