"""edit_file's forms that rest on an earlier read: each refusal, with the file as it was."""

from typing import Any

import pytest

from picoclawd.errors import Slug
from picoclawd.tools._edit_forms import EditFileSettings
from tests.house import House


def one(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"old_string": old, "new_string": new, **more}


@pytest.mark.parametrize(
    ("slug", "params"),
    [
        (Slug.NO_MATCH, {"targets": [one("nothing", "x")]}),
        (Slug.AMBIGUOUS_MATCH, {"targets": [one("a", "x")]}),
        (Slug.TARGET_OVERLAP, {"targets": [one("a b", "1"), one("b a", "2")]}),
        (Slug.TARGET_IN_EARLIER, {"targets": [one("end", "b a x"), one("b a", "2")]}),
        (Slug.WOULD_EMPTY, {"targets": [one("a b a\nend\n", "")]}),
        (Slug.INVALID_PARAMS, {"targets": []}),
        (Slug.INVALID_PARAMS, {"targets": [one("", "x")]}),
        (Slug.TOO_LARGE, {"targets": [one("end", "x" * (1 << 20))]}),
        (Slug.TOO_LARGE, {"content": "x" * ((1 << 20) + 1)}),
        (Slug.INVALID_PARAMS, {"content": "x", "old_text": "a"}),
        (Slug.INVALID_PARAMS, {"content": "x", "mode": "patch"}),
        (Slug.INVALID_PARAMS, {"targets": [one("end", "x")], "mode": "write"}),
        (Slug.INVALID_PARAMS, {"targets": [one("end", "x")], "row": 1}),
        (Slug.INVALID_PARAMS, {"insert_string": "x"}),
        (Slug.CONFLICT, {"content": "x", "if_match": "0" * 64}),
    ],
)
async def test_each_refusal_leaves_the_file_as_it_was(house: House, slug: Slug, params: dict[str, Any]) -> None:
    path = house.write("f.txt", "a b a\nend\n")
    await house.call("read_files", files=[{"path": "f.txt"}])
    await house.fault(slug, "edit_file", path="f.txt", **params)
    assert path.read_text() == "a b a\nend\n"


@pytest.mark.parametrize(("mode", "tool"), [("remove", "remove_file"), ("restore", "restore_file")])
async def test_modes_that_are_tools_of_their_own_name_them(house: House, mode: str, tool: str) -> None:
    fault = await house.fault(Slug.INVALID_PARAMS, "edit_file", path="f.txt", mode=mode)
    assert tool in fault.message


async def test_a_blank_path_is_no_path(house: House) -> None:
    await house.fault(Slug.INVALID_PARAMS, "edit_file", path=" \t", content="x")
    assert list(house.root.iterdir()) == []


async def test_content_creates_with_directories_and_replaces_after_a_read(house: House) -> None:
    made = await house.call("edit_file", path="new/f.txt", content="1\n")
    assert (made["data"]["action"], made["data"]["form"]) == ("created", "content")
    again = await house.call("edit_file", path="new/f.txt", content="2\n", mode="write")
    assert again["data"]["action"] == "modified"
    assert "-1" in again["content"] and "+2" in again["content"]


async def test_a42_targets_are_located_in_the_original(house: House) -> None:
    path = house.write("f.txt", "one\ntwo\nthree\n")
    await house.call("read_file", path="f.txt")
    await house.call("edit_file", path="f.txt", targets=[one("one\n", "1\n1.5\n"), one("three", "3")])
    assert path.read_text() == "1\n1.5\ntwo\n3\n"


async def test_without_a_read_it_is_refused_with_the_next_call_and_a_way_round(house: House) -> None:
    path = house.write("f.txt", "a\n")
    fault = await house.fault(Slug.NOT_FRESH, "edit_file", path="f.txt", targets=[one("a", "b")])
    assert fault.next_call is not None and fault.next_call.method == "read_files"
    await house.call("edit_file", path="f.txt", targets=[one("a", "b")], if_match=fault.data["sha256"])
    assert path.read_text() == "b\n"


async def test_a_search_is_no_read(house: House) -> None:
    house.write("f.txt", "a\n")
    await house.call("search_files", pattern="a")
    await house.fault(Slug.NOT_FRESH, "edit_file", path="f.txt", targets=[one("a", "b")])


async def test_a_mask_in_new_content_is_not_written_over_a_secret(house: House) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    path = house.write("f.txt", f"token={secret}\nport=1\n")
    await house.call("read_file", path="f.txt")
    await house.fault(Slug.MASKED_TEXT, "edit_file", path="f.txt", content="token=[FILTERED]\nport=2\n")
    await house.fault(Slug.MASKED_TEXT, "edit_file", path="f.txt", targets=[one(f"token={secret}", "token=[FILTERED]")])
    assert secret in path.read_text()


@pytest.mark.parametrize(
    ("setting", "changed", "slug"),
    [
        ("content", "a\nb\nc\nd!\n", Slug.NOT_FRESH),
        ("content", None, None),
        ("mtime", None, Slug.NOT_FRESH),
        ("anchors", "a\nb\nc\nd!\n", None),
        ("anchors", "a!\nb\nc\nd\n", Slug.NOT_FRESH),
        ("off", "a\nb!\nc\nd\n", None),
    ],
)
async def test_the_four_settings(make_house: Any, setting: Any, changed: str | None, slug: Slug | None) -> None:
    house: House = make_house(settings={"edit_file": EditFileSettings(freshness=setting)})
    path = house.write("f.txt", "a\nb\nc\nd\n")
    await house.call("read_file", path="f.txt")
    path.write_text(changed or "a\nb\nc\nd\n")
    call: dict[str, Any] = {
        "path": "f.txt",
        "targets": [one("a\n", "A\n")] if changed != "a\nb!\nc\nd\n" else [one("c", "C")],
    }
    if slug is not None:
        await house.fault(slug, "edit_file", **call)
        assert path.read_text() == (changed or "a\nb\nc\nd\n")
        return
    answer = await house.call("edit_file", **call)
    if setting == "anchors":
        assert "changed by others" in answer["content"] and "+d!" in answer["content"]
