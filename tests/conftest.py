"""What every test may use."""

import os
import shutil

import pytest


def needs(program: str) -> str:
    """The full path of a program from a Debian package; call it first in a test that runs the program.

    Where the program is missing the test is skipped and says so; with `CI=true` in the environment it fails: a check
    of the whole project must not pass by leaving tests out. `.ci/run` installs what is asked for here.
    """
    found = shutil.which(program)
    if found is None:
        message = f"{program} is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message}, and CI=true allows no skipping", pytrace=False)
        pytest.skip(message)
    return found
