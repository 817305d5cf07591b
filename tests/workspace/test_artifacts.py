"""Spilled answers lie in a directory of ours that no tool shows, and go when they are old or too many."""

import os
import stat
import time
from pathlib import Path

import pytest

from picoclawd import limits
from tests.house import House


def artifacts(house: House) -> list[str]:
    top = house.root / ".picoclaw/artifacts"
    return sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())


async def test_a_spilled_answer_is_a_private_file_that_git_ignores(house: House) -> None:
    path = await house.workspace.artifacts.spill(house.agent, "read_file", "é\ud800\n")
    assert path is not None
    written = house.root / path
    assert written.read_bytes() == "é?\n".encode()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert (house.root / ".picoclaw/.gitignore").read_text() == "*\n"


async def test_each_spill_has_a_name_of_its_own_and_its_sessions_directory(house: House) -> None:
    store = house.workspace.artifacts
    paths = [await store.spill(session, "list_dir", "x") for session in (house.agent, house.agent, house.operator)]
    assert len(set(paths)) == 3
    assert {str(path).split("/")[2] for path in paths} == {house.agent.session_id, house.operator.session_id}


async def test_an_ignore_file_of_the_persons_is_left_as_it_is(house: House) -> None:
    house.write(".picoclaw/.gitignore", "mine\n")
    assert await house.workspace.artifacts.spill(house.agent, "read_file", "x")
    assert (house.root / ".picoclaw/.gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("link", [".picoclaw", ".picoclaw/artifacts"])
async def test_nothing_is_written_or_pruned_through_a_link(house: House, tmp_path: Path, link: str) -> None:
    (house.root / link).parent.mkdir(exist_ok=True)
    (tmp_path / "out/s").mkdir(parents=True)
    old = tmp_path / "out/s/1-x.txt"
    old.write_text("x")
    os.utime(old, (0, 0))
    (house.root / link).symlink_to(tmp_path / "out")
    assert await house.workspace.artifacts.spill(house.agent, "read_file", "x") is None
    assert await house.workspace.artifacts.prune() == 0
    assert old.read_text() == "x"


async def test_what_is_old_goes(house: House) -> None:
    store = house.workspace.artifacts
    assert await store.prune() == 0
    old, new = [await store.spill(house.agent, "read_file", text) for text in ("old", "new")]
    assert old is not None and new is not None
    then = time.time() - limits.ARTIFACT_MAX_AGE_S - 60
    os.utime(house.root / old, (then, then))
    assert await store.prune() == 1
    assert artifacts(house) == [new.removeprefix(".picoclaw/artifacts/")]


async def test_of_too_many_bytes_the_oldest_go(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ARTIFACTS_MAX_BYTES", 25)
    store = house.workspace.artifacts
    now = time.time()
    for age_s in (10, 30, 20, 40):
        path = await store.spill(house.agent, f"tool{age_s}", "x" * 10)
        assert path is not None
        os.utime(house.root / path, (now - age_s, now - age_s))
    assert await store.prune() == 2
    assert {name.rpartition("-")[2] for name in artifacts(house)} == {"tool10.txt", "tool20.txt"}
