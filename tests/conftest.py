"""What every test may use."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest


def needs(program: str) -> str:
    """The full path of a program from a Debian package; call it first in a test that runs the program.

    Where the program is missing the test is skipped and says so; with `CI=true` in the environment it fails: a check
    of the whole project must not pass by leaving tests out. `.ci/run` installs what is asked for here.
    """
    found = shutil.which(program)
    if found is None:
        _leave_out(f"{program} is not installed")
    return found


def require(module: str) -> None:
    """Leave the test out where a library of an extra is missing, as `needs` does for a program."""
    if importlib.util.find_spec(module) is None:
        _leave_out(f"the library {module} is not installed: picoclawd[dev] brings it")


def _leave_out(message: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{message}, and CI=true allows no skipping", pytrace=False)
    pytest.skip(message)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """An empty directory whose path leaves room for sockets below it: 107 bytes is all that they may have."""
    with tempfile.TemporaryDirectory(prefix="pcd") as made:
        yield Path(made)
