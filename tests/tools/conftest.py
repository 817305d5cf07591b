"""Fixtures for tool tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
