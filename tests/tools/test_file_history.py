"""file_history: what is listed to whom, and how a version compares with the disk."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.files.policy import PathRules, Policy
from picoclawd.text.redact import MARK
from picoclawd.tools._history_list import AGENT_LIMIT, OPERATOR_LIMIT
from picoclawd.workspace.actors import Role
from tests.house import House
from tests.tools.past import begin_task, with_history

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"


@pytest.fixture
def past(make_house: Callable[..., House], tmp_path: Path) -> House:
    return with_history(make_house, tmp_path)


async def rows(house: House, session: Any = None, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await house.call("file_history", session=session, **params))["data"]["versions"]
    return found


async def edit(house: House, name: str, old: str, new: str, session: Any = None) -> int:
    answer = await house.call("edit_file", session=session, path=name, old_text=old, new_text=new)
    version = answer["data"]["version"]
    assert isinstance(version, int)
    return version


async def test_a_row_says_what_who_when_and_for_what(past: House) -> None:
    past.write("a.txt", b"0\n")
    task = begin_task(past, "tidy up")
    version = await edit(past, "a.txt", "0", "10")
    answer = await past.call("file_history")
    (row,) = answer["data"]["versions"]
    changed_at = datetime.fromisoformat(row.pop("changed_at"))
    assert timedelta(0) <= datetime.now(UTC) - changed_at < timedelta(minutes=5)
    assert changed_at.utcoffset() is not None
    assert len(row.pop("sha256_before")) == len(row.pop("sha256_after")) == 64
    assert row == {
        "version": version,
        "path": "a.txt",
        "action": "modify",
        "size": 3,
        "tool": "edit_file",
        "session_id": past.agent.session_id,
        "client": "test",
        "task_id": task,
        "objective": "tidy up",
        "restorable": True,
        "reason": None,
    }
    assert answer["data"]["next_before"] is None
    assert "a.txt" in answer["content"]
    assert f"edit_file by {past.agent.session_id} (test), task {task}: tidy up" in answer["content"]


async def test_rows_are_newest_first_and_narrowed_by_path_and_task(past: House) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        past.write(name, b"0\n")
    await edit(past, "a.txt", "0", "1")
    task = begin_task(past)
    await edit(past, "b.txt", "0", "1")
    await edit(past, "c.txt", "0", "1")
    assert [row["path"] for row in await rows(past)] == ["c.txt", "b.txt", "a.txt"]
    assert [row["path"] for row in await rows(past, path="./b.txt")] == ["b.txt"]
    assert [row["path"] for row in await rows(past, path=["a.txt", "c.txt"])] == ["c.txt", "a.txt"]
    assert [row["path"] for row in await rows(past, task_id=task)] == ["c.txt", "b.txt"]
    assert [row["path"] for row in await rows(past, task_id="current", path=["a.txt", "b.txt"])] == ["b.txt"]
    assert await rows(past, path="none.txt") == []


async def test_a_path_is_followed_through_links_to_the_file_that_was_changed(past: House) -> None:
    past.write("d/a.txt", b"0\n")
    (past.root / "link").symlink_to("d")
    await edit(past, "link/a.txt", "0", "1")
    assert [row["path"] for row in await rows(past, path="link/a.txt")] == ["d/a.txt"]
    await past.call("remove_file", path="d/a.txt")
    (past.root / "d").rmdir()
    assert len(await rows(past, path="d/a.txt")) == 2


async def test_pages_join_to_the_whole_and_the_limit_is_clamped(past: House) -> None:
    past.write("a.txt", b"0\n")
    made = [await edit(past, "a.txt", f"{n}\n", f"{n + 1}\n") for n in range(60)]
    found: list[int] = []
    before: int | None = None
    while True:
        params: dict[str, Any] = {} if before is None else {"before": before}
        answer = await past.call("file_history", limit=100, **params)
        assert len(answer["data"]["versions"]) <= AGENT_LIMIT
        found += [row["version"] for row in answer["data"]["versions"]]
        before = answer["data"]["next_before"]
        if before is None:
            break
        assert answer["content"].endswith(f"[older ones: before={before}]")
    assert found == made[::-1]
    assert len(await rows(past, session=past.operator)) == 60
    assert len(await rows(past, limit=3)) == 3
    assert OPERATOR_LIMIT == 1000


async def test_times_are_local_from_included_and_to_not(past: House) -> None:
    past.write("a.txt", b"0\n")
    await edit(past, "a.txt", "0", "1")
    await trio.sleep(0.002)  # times are told to the millisecond
    second = await edit(past, "a.txt", "1", "2")
    at = (await rows(past, limit=1))[0]["changed_at"]
    assert [row["version"] for row in await rows(past, **{"from": at})] == [second]
    assert second not in [row["version"] for row in await rows(past, to=at)]
    today = datetime.fromisoformat(at).date()
    tomorrow = today + timedelta(days=1)
    assert len(await rows(past, **{"from": str(today), "to": str(tomorrow)})) == 2
    assert len(await rows(past, **{"from": f"{today} 00:00", "to": f"{tomorrow}T00:00:00"})) == 2
    assert await rows(past, to=str(today)) == []
    assert await rows(past, **{"from": "2999-01-01T00:00:00Z"}) == []


@pytest.mark.parametrize(
    "params",
    [
        {"from": "yesterday"},
        {"to": ""},
        {"from": "0001-01-01", "to": "0001-01-01"},
        {"from": "2026-02-01", "to": "2026-01-01"},
        {"limit": 0},
        {"before": "x"},
        {"mode": "all"},
        {"path": []},
        {"path": 7},
        {"version": 1},
        {"content": True},
        {"mode": "read"},
        {"mode": "read", "path": "a.txt", "limit": 3},
        {"mode": "read", "path": "a.txt", "task_id": "t"},
        {"mode": "read", "path": ["a.txt", "b.txt"], "version": 1},
        {"mode": "read", "path": ["a.txt"] * 25},
        {"from_": "2026-01-01"},
    ],
)
async def test_bad_parameters_are_told_apart(past: House, params: dict[str, Any]) -> None:
    await past.fault(Slug.INVALID_PARAMS, "file_history", **params)


async def test_what_is_unknown_has_its_own_word(past: House) -> None:
    past.write("a.txt", b"0\n")
    await past.fault(Slug.UNKNOWN_TASK, "file_history", task_id="t-none")
    await past.fault(Slug.UNKNOWN_TASK, "file_history", task_id="current")
    await past.fault(Slug.UNKNOWN_VERSION, "file_history", mode="read", version=99)
    await past.fault(Slug.NOT_FOUND, "file_history", mode="read", path="a.txt")
    task = begin_task(past)
    assert await rows(past, task_id=task) == []


async def test_agents_do_not_see_rows_of_what_is_protected_today_and_operators_do(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path, unprotect=(r"\.env$",), allow_write=(r".*/out/",), allow_read=(".*",))
    for name in (".env", "a.txt"):
        house.write(name, b"0\n")
    (tmp_path / "out" / "o.txt").write_bytes(b"0\n")
    version = await edit(house, ".env", "0", "1")
    await edit(house, str(tmp_path / "out" / "o.txt"), "0", "1")
    await edit(house, "a.txt", "0", "1")
    assert len(await rows(house)) == 3
    house.rooted.policy = Policy(PathRules(workspace=house.rooted.workspace))
    assert [row["path"] for row in await rows(house)] == ["a.txt"]
    assert len(await rows(house, session=house.operator)) == 3
    assert [row["path"] for row in await rows(house, session=house.operator, path=".env")] == [".env"]
    await house.fault(Slug.PROTECTED_PATH, "file_history", path=".env")
    fault = await house.fault(Slug.PROTECTED_PATH, "file_history", mode="read", version=version, content=True)
    assert ".env" not in fault.message


async def test_hidden_rows_do_not_use_up_the_page(make_house: Callable[..., House], tmp_path: Path) -> None:
    house = with_history(make_house, tmp_path, unprotect=(r"\.env$",))
    house.write("a.txt", b"0\n")
    house.write(".env", b"0\n")
    await edit(house, "a.txt", "0", "1")
    for number in range(5):
        await edit(house, ".env", f"{number}\n", f"{number + 1}\n")
    house.rooted.policy = Policy(PathRules(workspace=house.rooted.workspace))
    answer = await house.call("file_history", limit=1)
    assert [row["path"] for row in answer["data"]["versions"]] == ["a.txt"]
    assert answer["data"]["next_before"] is None


async def test_a_name_is_one_row_whatever_it_holds(past: House) -> None:
    past.write_bytes_name(b"caf\xe9\n.txt", b"0\n")
    await past.call("append_file", path_bytes="caf%E9%0A.txt", content="1\n")
    answer = await past.call("file_history", path_bytes="caf%E9%0A.txt")
    (row,) = answer["data"]["versions"]
    assert row["path_bytes"] == "caf%E9%0A.txt"
    assert len(answer["content"].splitlines()) == 2
    assert "caf\\xe9\\n.txt" in answer["content"]


async def test_an_unchanged_file_has_not_drifted(past: House) -> None:
    past.write("a.txt", b"0\n")
    version = await edit(past, "a.txt", "0", "1")
    answer = await past.call("file_history", mode="read", path="a.txt")
    (row,) = answer["data"]["files"]
    assert (row["version"], row["drifted"], row["exists"], row["restorable"]) == (version, False, True, True)
    assert "as this version left it" in answer["content"]


async def test_an_outside_change_is_drift_and_the_diff_shows_it(past: House) -> None:
    path = past.write("a.txt", b"0\nsame\n")
    version = await edit(past, "a.txt", "0", "1")
    path.write_bytes(b"outside\nsame\n")
    answer = await past.call("file_history", mode="read", path="a.txt")
    assert answer["data"]["files"][0]["drifted"] is True
    assert "-1\n+outside\n same" in answer["content"]
    answer = await past.call("file_history", mode="read", path="a.txt", content=True)
    assert "1\nsame" in answer["content"]
    assert "outside\n" not in answer["content"]
    path.unlink()
    (row,) = (await past.call("file_history", mode="read", version=version))["data"]["files"]
    assert (row["drifted"], row["exists"]) == (True, False)


async def test_the_newest_version_by_a_tool_counts_not_an_external_one(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    path.write_bytes(b"outside\n")
    last = (await past.call("restore_file", version=first, force=True))["data"]["files"][0]["version"]
    listed = await rows(past, path="a.txt")
    assert [row["action"] for row in listed] == ["restore", "external", "modify"]
    (row,) = (await past.call("file_history", mode="read", path="a.txt"))["data"]["files"]
    assert row["version"] == last
    answer = await past.call("file_history", mode="read", version=listed[1]["version"], content=True)
    assert "outside" in answer["content"]


async def test_a_removed_file_shows_what_it_held_and_how_it_comes_back(past: House) -> None:
    past.write("a.txt", b"precious\n")
    version = (await past.call("remove_file", path="a.txt"))["data"]["version"]
    answer = await past.call("file_history", mode="read", path="a.txt")
    (row,) = answer["data"]["files"]
    assert (row["action"], row["drifted"], row["exists"]) == ("delete", False, False)
    assert f"restore_file with version={version}" in answer["content"]
    answer = await past.call("file_history", mode="read", version=version, content=True)
    assert "precious" in answer["content"]
    past.write("a.txt", b"again\n")
    assert (await past.call("file_history", mode="read", path="a.txt"))["data"]["files"][0]["drifted"] is True


async def test_secrets_are_masked_in_diffs_and_contents_but_for_operators(past: House) -> None:
    path = past.write("a.txt", f"0\n{SECRET}\n0 at the end\n")
    version = await edit(past, "a.txt", "at the end", "at the very end")
    path.write_text(f"1\n{SECRET}x\n1 at the end\n")
    for params in ({"path": "a.txt"}, {"version": version, "content": True}):
        answer = await past.call("file_history", mode="read", **params)
        assert SECRET not in str(answer)
        assert MARK in answer["content"]
        assert SECRET in (await past.call("file_history", session=past.operator, mode="read", **params))["content"]


async def test_one_of_several_files_that_fails_is_told_of_and_the_others_compared(past: House) -> None:
    past.write("a.txt", b"0\n")
    past.write(".env", b"0\n")
    await edit(past, "a.txt", "0", "1")
    answer = await past.call("file_history", mode="read", path=["none.txt", ".env", "a.txt"])
    none, env, a = answer["data"]["files"]
    assert (none["error"]["error"], env["error"]["error"], a["drifted"]) == ("not_found", "protected_path", False)
    assert "[not_found]" in answer["content"]


async def test_large_and_binary_files_are_compared_without_a_diff(past: House) -> None:
    path = past.write("big.txt", b"x\n" * 600_000)
    await past.call("append_file", path="big.txt", content="end\n")
    answer = await past.call("file_history", mode="read", path="big.txt")
    assert answer["data"]["files"][0]["drifted"] is False
    path.write_bytes(b"y\n" * 600_003)
    answer = await past.call("file_history", mode="read", path="big.txt")
    assert answer["data"]["files"][0]["drifted"] is True
    past.write("b.bin", b"a\0b")
    await past.call("append_file", path="b.bin", content="c")
    past.write("b.bin", b"other\0")
    assert "No text" in (await past.call("file_history", mode="read", path="b.bin"))["content"]


async def test_a_version_of_another_file_is_refused(past: House) -> None:
    past.write("a.txt", b"0\n")
    past.write("b.txt", b"0\n")
    version = await edit(past, "a.txt", "0", "1")
    await past.fault(Slug.INVALID_PARAMS, "file_history", mode="read", path="b.txt", version=version)
    assert (await past.call("file_history", mode="read", path="a.txt", version=str(version)))["data"]["files"]


async def test_it_is_no_read_that_an_edit_may_rest_on(past: House) -> None:
    past.write("a.txt", b"0\n")
    await edit(past, "a.txt", "0", "1")
    other = past.session(Role.AGENT)
    await past.call("file_history", session=other, mode="read", path="a.txt", content=True)
    target = {"old_string": "1", "new_string": "2"}
    await past.fault(Slug.NOT_FRESH, "edit_file", session=other, path="a.txt", targets=[target])


async def test_without_a_history_it_says_so(house: House) -> None:
    await house.fault(Slug.HISTORY_UNAVAILABLE, "file_history")
    await house.fault(Slug.HISTORY_UNAVAILABLE, "file_history", mode="read", path="a.txt")
    assert os.listdir(house.root) == []
