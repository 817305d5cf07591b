"""P1: whatever system call a mutating tool dies in, the file is the old one or the new one, the next start finds out
which, completes what can be, and nothing shows."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from picoclawd.history.query import Filter
from picoclawd.history.store import History
from picoclawd.workspace import settling
from picoclawd.workspace.workspace import Records
from tests.crashes import Crashes, crashes_of
from tests.house import House

OLD = "".join(f"line {number} of the old text\n" for number in range(300))
# The calls that change something; every other one is in the long form.
TELLING = re.compile(r"(rename|link|unlink|mkdir|write|fsync|fchmod|fchown|ftruncate|openat2)")


@dataclass(frozen=True)
class Case:
    """One mutating call; `after` is what it makes of `before` (None: no file)."""

    name: str
    tool: str
    params: dict[str, object]
    before: str | None
    after: str
    path: str = "f.txt"


CASES = [
    Case("create", "write_file", {"content": OLD}, None, OLD, "new/deep/f.txt"),
    Case("overwrite", "write_file", {"content": "new\n", "overwrite": True}, OLD, "new\n"),
    Case("append_shaped", "write_file", {"content": OLD + "more\n"}, OLD, OLD + "more\n"),
    Case("append", "append_file", {"content": "more\n"}, OLD, OLD + "more\n"),
    Case("append_creates", "append_file", {"content": OLD}, None, OLD),
    Case(
        "old_text", "edit_file", {"old_text": "line 7 ", "new_text": "LINE 7 "}, OLD, OLD.replace("line 7 ", "LINE 7 ")
    ),
    Case(
        "patch",
        "edit_file",
        {"patch": "@@\n-line 9 of the old text\n+9\n"},
        OLD,
        OLD.replace("line 9 of the old text", "9"),
    ),
]


QUICK = ("old_text",)


@pytest.fixture(scope="module")
def crashes() -> Iterator[Crashes]:
    with crashes_of("tests.e2e.tool_child") as made:
        yield made


def prepare(workspace: Path, case: Case) -> None:
    subprocess.run(["rm", "-rf", str(workspace), f"{workspace}-state"], check=True)
    workspace.mkdir()
    if case.before is not None:
        (workspace / case.path).write_text(case.before)


async def kill_everywhere(crashes: Crashes, tmp_path: Path, case: Case, telling: re.Pattern[str]) -> int:
    workspace = tmp_path / "ws"
    params = json.dumps({"path": case.path, **case.params})
    prepare(workspace, case)
    rules = [rule for rule in crashes.calls(workspace, case.tool, params, tmp_path / "log") if telling.search(rule)]
    assert (workspace / case.path).read_text() == case.after
    outcomes = []
    for rule in rules:
        prepare(workspace, case)
        assert crashes.kill(workspace, case.tool, params, rule), rule
        path = workspace / case.path
        left = path.read_text() if path.exists() else None
        in_place = "append" in case.name and case.before is not None
        whole = (
            left is not None and left.startswith(OLD) and case.after.startswith(left)
            if in_place
            else left in (case.before, case.after)
        )
        assert whole, f"torn by {rule}"
        outcomes.append(left == case.after)
        settled(workspace, case, left)
        await nothing_shows(workspace, case)
    assert outcomes == sorted(outcomes), "once it has taken effect, it stays"
    return len(rules)


def settled(workspace: Path, case: Case, left: str | None) -> None:
    """The next start: every intent is settled as the disk says, an append is completed, and nothing is left over."""
    path = workspace / case.path
    house = House(workspace, records=Records(History(f"{workspace}-state")))
    try:
        reports = settling.settle(house.rooted, house.workspace.roots, house.history)
        assert house.history.open_intents() == []
        begun = left != case.before or bool(reports)
        now = path.read_text() if path.exists() else None
        assert now in (case.before, case.after)
        if left != case.before:
            assert now == case.after, "what had taken effect in part is completed"
        made = house.history.versions(Filter(), 10)
        assert [each.state for each in made] == (["done"] if now == case.after and begun else [])
        for each in made:
            assert house.history.content_before(each.version) == (None if case.before is None else case.before.encode())
            assert house.history.content_after(each.version) == case.after.encode()
        assert not [name for _, _, names in os.walk(workspace) for name in names if name.startswith(".picoclawd.")]
    finally:
        house.close()


async def nothing_shows(workspace: Path, case: Case) -> None:
    """What the crash left behind is in no listing, and the next call works."""
    house = House(workspace)
    try:
        listing = await house.call(
            "list_dir", path=os.path.dirname(case.path) if (workspace / case.path).exists() else "."
        )
        assert ".picoclawd." not in listing["content"]
        await house.call("write_file", path=case.path, content="next\n", overwrite=True)
    finally:
        house.close()


# The others are in the slow test below, and all kinds of changes are in `tests/proof/test_v1_process_death.py`.
@pytest.mark.parametrize("case", [case for case in CASES if case.name in QUICK], ids=lambda case: case.name)
async def test_a_tool_killed_where_it_changes_something_leaves_old_or_new(
    crashes: Crashes, tmp_path: Path, case: Case
) -> None:
    assert await kill_everywhere(crashes, tmp_path, case, TELLING) >= 3


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_tool_killed_at_any_system_call_leaves_old_or_new(crashes: Crashes, tmp_path: Path, case: Case) -> None:
    assert await kill_everywhere(crashes, tmp_path, case, re.compile("")) >= 30
