"""Tests of what tests share."""

import pytest

from tests.conftest import needs, require


def test_a_program_that_is_there_is_found() -> None:
    assert needs("sh").endswith("/sh")


def test_a_missing_program_skips_but_fails_where_ci_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="is not installed"):
        needs("no-such-program-anywhere")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="allows no skipping"):
        needs("no-such-program-anywhere")


def test_a_missing_library_is_treated_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    require("json")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no_such_library"):
        require("no_such_library")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="allows no skipping"):
        require("no_such_library")
