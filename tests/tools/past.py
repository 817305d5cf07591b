"""Houses with a history, for the tools that look back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from picoclawd.errors import Fault
from picoclawd.history.query import Filter
from picoclawd.history.store import History
from picoclawd.workspace import questions
from picoclawd.workspace.workspace import Options, Records
from tests.house import House

ALLOW = Options(approvals=questions.Settings(mode="allow"))


def with_history(make_house: Callable[..., House], tmp_path: Path, **keys: Any) -> House:
    """A house that records its changes, in which nobody is asked unless `options` say so."""
    keys.setdefault("options", ALLOW)
    return make_house(records=Records(History(str(tmp_path / "state")), None), **keys)


def begin_task(house: House, objective: str = "tidy up", session: Any = None) -> str:
    return house.workspace.tasks.begin((session or house.agent).actor, objective).task_id


def versions(house: House, name: str) -> list[int]:
    """The versions of a path, oldest first."""
    history = house.workspace.journal.history
    assert history is not None
    return [made.version for made in history.versions(Filter(paths=[name.encode()]), 1000)][::-1]


class Asking:
    """Calls that wait for a person, and the person."""

    def __init__(self, house: House, nursery: trio.Nursery) -> None:
        self.house = house
        self.nursery = nursery
        self.outcomes: list[Any] = []

    async def start(self, name: str, **params: Any) -> None:
        self.nursery.start_soon(self._run, name, params)
        with trio.fail_after(30):
            while not self.rows and not self.outcomes:
                await wait_all_tasks_blocked()
                await trio.sleep(0.01)

    async def _run(self, name: str, params: dict[str, Any]) -> None:
        try:
            self.outcomes.append(await self.house.call(name, **params))
        except Fault as fault:
            self.outcomes.append(fault)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.house.workspace.confirmations.pending(self.house.operator.actor)

    def answer(self, answer: questions.Answer) -> None:
        (row,) = self.rows
        self.house.workspace.confirmations.answer(self.house.operator.actor, row["id"], row["digest"], answer)
