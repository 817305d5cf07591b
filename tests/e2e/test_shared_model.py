"""Many clients, an outside program, and a daemon that is killed: nothing acknowledged is lost, nobody reads a lie."""

import os
from pathlib import Path

import pytest

from tests.e2e.shared_world import World

SEED = int(os.environ.get("PICOCLAWD_SEED", "5"))


@pytest.mark.timeout(300)
def test_eight_clients_and_three_kills(tmp_path: Path) -> None:
    World(tmp_path, SEED, steps=5_000).run()


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_eight_clients_and_three_hundred_kills(tmp_path: Path) -> None:
    World(tmp_path, SEED, steps=500_000, kills=300).run()
