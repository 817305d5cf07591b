"""Restoring: file by file all or nothing, and against a plain dict whatever came before."""

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from picoclawd.errors import Slug
from picoclawd.tools.write_file import WriteFileSettings
from tests.house import House
from tests.tools.past import begin_task, with_history


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Make a directory take no change: by its mode, or for root by a mount."""
    if os.geteuid() != 0:
        directory.chmod(0o555)
        yield
        directory.chmod(0o755)
        return
    if subprocess.run(["mount", "--bind", directory, directory], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", directory], check=True, capture_output=True)
        yield
    finally:
        subprocess.run(["umount", directory], check=True, capture_output=True)


async def a_task_on_three_files(house: House) -> str:
    for name in ("a.txt", "b.txt", "ro/c.txt"):
        house.write(name, b"before\n")
    task = begin_task(house)
    for name in ("a.txt", "b.txt", "ro/c.txt"):
        await house.call("edit_file", path=name, old_text="before", new_text="after")
    return task


def contents(house: House) -> dict[str, bytes]:
    return {str(path.relative_to(house.root)): path.read_bytes() for path in house.root.rglob("*") if path.is_file()}


async def test_a60_a_file_in_a_read_only_directory_is_reported_and_the_others_are_restored(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    task = await a_task_on_three_files(house)
    with read_only(house.root / "ro"):
        answer = await house.call("restore_file", task_id=task)
    a, b, c = answer["data"]["files"]
    assert [a["action"], b["action"], c["action"]] == ["modified", "modified", "failed"]
    assert c["error"]["error"] in ("access_denied", "io_error")
    assert c["error"]["outcome"] == "not_applied"
    assert "ro/c.txt" in answer["content"].splitlines()[-1]
    assert contents(house) == {"a.txt": b"before\n", "b.txt": b"before\n", "ro/c.txt": b"after\n"}
    (c,) = (await house.call("restore_file", task_id=task, path="ro/c.txt"))["data"]["files"]
    assert c["action"] == "modified"


async def test_a60_a_file_whose_directory_is_one_no_more_is_reported_and_the_others_are_restored(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    task = await a_task_on_three_files(house)
    (house.root / "ro/c.txt").unlink()
    (house.root / "ro").rmdir()
    house.write("ro", b"a file\n")
    answer = await house.call("restore_file", task_id=task, force=True)
    assert [row["action"] for row in answer["data"]["files"]] == ["modified", "modified", "failed"]
    assert contents(house) == {"a.txt": b"before\n", "b.txt": b"before\n", "ro": b"a file\n"}


async def test_a_call_that_is_cancelled_before_the_first_file_restores_none(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    task = await a_task_on_three_files(house)
    house.stop = True
    await house.fault(Slug.CANCELLED, "restore_file", task_id=task)
    assert set(contents(house).values()) == {b"after\n"}


async def test_a_call_that_is_cancelled_half_way_says_what_it_did(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    task = await a_task_on_three_files(house)

    def stop(method: str, params: object) -> bool:
        house.stop = True
        return True

    house.workspace.feed.subscribe(house, house.operator.actor, stop)
    answer = await house.call("restore_file", task_id=task)
    rows = answer["data"]["files"]
    assert [row["action"] for row in rows] == ["modified", "failed", "failed"]
    assert rows[1]["error"]["error"] == "cancelled"
    assert contents(house) == {"a.txt": b"before\n", "b.txt": b"after\n", "ro/c.txt": b"after\n"}


async def test_undoing_a_task_again_and_its_undo_by_another_task(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    task = await a_task_on_three_files(house)
    undoing = begin_task(house, "undo")
    await house.call("restore_file", task_id=task)
    again = await house.call("restore_file", task_id=task)
    assert [row["action"] for row in again["data"]["files"]] == ["unchanged"] * 3
    await house.call("restore_file", task_id=undoing)
    assert set(contents(house).values()) == {b"after\n"}


@dataclass
class Made:
    """A recorded change, as the model has it; `number` None for one of an outside program."""

    number: int | None
    name: str
    before: bytes | None
    after: bytes | None
    task: str | None
    removal: bool = False

    @property
    def goal(self) -> bytes | None:
        return self.before if self.removal else self.after


@dataclass
class Model:
    """What lies on the disk, and the changes so far, in plain lists and dicts."""

    disk: dict[str, bytes] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)

    def last(self, name: str) -> Made | None:
        return next((made for made in reversed(self.made) if made.name == name), None)

    def drifted(self, name: str) -> bool:
        last = self.last(name)
        return last is not None and last.after != self.disk.get(name)

    def change(self, number: int, name: str, after: bytes | None, task: str | None, removal: bool = False) -> None:
        before, last = self.disk.get(name), self.last(name)
        if last is not None and last.after != before:
            self.made.append(Made(None, name, last.after, before, None))
        self.made.append(Made(number, name, before, after, task, removal))
        self.disk.pop(name, None)
        if after is not None:
            self.disk[name] = after

    def first_of(self, task: str, name: str) -> Made:
        return next(made for made in self.made if made.task == task and made.name == name)

    def names_of(self, task: str) -> list[str]:
        return sorted({made.name for made in self.made if made.task == task})

    def others_after(self, task: str, name: str) -> bool:
        mine = [made for made in self.made if made.name == name]
        last = max(index for index, made in enumerate(mine) if made.task == task)
        return last < len(mine) - 1


class Player:
    """Plays random changes on a house and on the model, and compares."""

    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.model = Model()
        self.random = random.Random(seed)
        self.tasks: list[str] = []
        self.names = ["a.txt", "d/b.txt", "d/e/c.txt"]

    @property
    def task(self) -> str | None:
        current = self.house.workspace.tasks.current(self.house.agent.session_id)
        return None if current is None else current.task_id

    async def step(self) -> None:
        moves = [self.write, self.write, self.append, self.remove, self.version, self.version, self.undo, self.outside]
        if self.random.random() < 0.1:
            self.tasks.append(begin_task(self.house))
        await self.random.choice(moves)()
        assert contents(self.house) == self.model.disk

    async def write(self) -> None:
        name, text = self.random.choice(self.names), f"{self.random.randrange(6)}\n"
        data = (await self.house.call("write_file", path=name, content=text, overwrite=True))["data"]
        if data["action"] != "unchanged":
            self.model.change(data["version"], name, text.encode(), self.task)

    async def append(self) -> None:
        name, text = self.random.choice(self.names), f"+{self.random.randrange(6)}\n"
        data = (await self.house.call("append_file", path=name, content=text))["data"]
        self.model.change(data["version"], name, self.model.disk.get(name, b"") + text.encode(), self.task)

    async def remove(self) -> None:
        name = self.random.choice(self.names)
        if name not in self.model.disk:
            await self.house.fault(Slug.NOT_FOUND, "remove_file", path=name)
            return
        data = (await self.house.call("remove_file", path=name))["data"]
        self.model.change(data["version"], name, None, self.task, removal=True)

    async def outside(self) -> None:
        name = self.random.choice(self.names)
        if name in self.model.disk and self.random.random() < 0.3:
            (self.house.root / name).unlink()
            del self.model.disk[name]
        else:
            self.model.disk[name] = f"outside {self.random.randrange(4)}\n".encode()
            self.house.write(name, self.model.disk[name])

    async def version(self) -> None:
        numbered = [made for made in self.model.made if made.number is not None]
        if not numbered:
            return
        made, force = self.random.choice(numbered), self.random.random() < 0.5
        reached = self.model.disk.get(made.name) == made.goal
        if not reached and not force and self.model.drifted(made.name):
            await self.house.fault(Slug.CONFLICT, "restore_file", version=made.number)
            return
        answer = await self.house.call("restore_file", version=made.number, force=force)
        self.note(answer["data"]["files"], {made.name: made.goal})

    async def undo(self) -> None:
        known = [task for task in self.tasks if self.model.names_of(task)]
        if not known:
            return
        task, force = self.random.choice(known), self.random.random() < 0.5
        goals = {name: self.model.first_of(task, name).before for name in self.model.names_of(task)}
        conflicts = {
            name
            for name, goal in goals.items()
            if self.model.disk.get(name) != goal
            and not force
            and (self.model.drifted(name) or self.model.others_after(task, name))
        }
        rows = (await self.house.call("restore_file", task_id=task, force=force))["data"]["files"]
        assert [row["path"] for row in rows] == sorted(goals)
        assert {row["path"] for row in rows if row["action"] == "failed"} == conflicts
        self.note(rows, goals)

    def note(self, rows: list[dict[str, Any]], goals: dict[str, bytes | None]) -> None:
        for row in rows:
            name = row["path"]
            if row["action"] in ("failed", "unchanged"):
                assert row["version"] is None
                continue
            assert row["restorable"], row
            self.model.change(row["version"], name, goals[name], self.task)


@pytest.mark.parametrize("seed", range(6))
async def test_any_order_of_changes_and_restores_agrees_with_a_dict(
    make_house: Callable[..., House], tmp_path: Path, seed: int
) -> None:
    settings = {"write_file": WriteFileSettings(refuse_known_stale=False)}
    house = with_history(make_house, tmp_path, settings=settings)
    player = Player(house, seed)
    for _ in range(80):
        await player.step()
    for made in player.model.made:
        if made.number is not None:
            await house.call("restore_file", version=made.number, force=True)
            player.model.disk.pop(made.name, None)
            if made.goal is not None:
                player.model.disk[made.name] = made.goal
            assert contents(house) == player.model.disk
