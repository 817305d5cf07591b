"""Fixtures for tool tests."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.history.store import History
from picoclawd.workspace import questions
from picoclawd.workspace.audit import Audit
from picoclawd.workspace.workspace import Options, Records
from tests.house import House


@pytest.fixture
def make_house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def make(**keys: Any) -> House:
        root = tmp_path / "ws"
        root.mkdir(exist_ok=True)
        (tmp_path / "out").mkdir(exist_ok=True)
        made.append(House(root, **keys))
        return made[-1]

    yield make
    for house in made:
        house.close()


@pytest.fixture
def house(make_house: Callable[..., House]) -> House:
    return make_house()


@pytest.fixture
def recorded(make_house: Callable[..., House], tmp_path: Path) -> House:
    """A house with a history and an audit log, in which everything is confirmed."""
    return make_house(
        options=Options(approvals=questions.Settings(mode="allow")),
        records=Records(History(str(tmp_path / "state" / "history")), Audit(str(tmp_path / "state"))),
    )


@pytest.fixture(params=["walk", "tree"])
def make_searched(
    request: pytest.FixtureRequest, make_house: Callable[..., House], nursery: trio.Nursery
) -> Callable[..., Awaitable[House]]:
    """Makes houses whose names come from fresh walks, and from the tree of a running index."""

    async def make(**keys: Any) -> House:
        house = make_house(**keys)
        if request.param == "tree":
            await house.start_index(nursery)
        return house

    return make


@pytest.fixture
async def searched(make_searched: Callable[..., Awaitable[House]]) -> House:
    """One such house."""
    return await make_searched()
