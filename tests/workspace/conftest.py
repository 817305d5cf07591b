"""Fixtures for tests of the workspace: the houses of the tools' tests."""

from tests.tools.conftest import house as house
from tests.tools.conftest import make_house as make_house
from tests.tools.conftest import recorded as recorded
