"""Fixtures of the index tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files.conftest import as_nobody
from tests.index.grown import Grown, grown_in

__all__ = ["as_nobody", "grown"]


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[Grown]:
    """An empty workspace with its tree, which is not built yet."""
    with grown_in(tmp_path) as made:
        yield made
