"""Tests of the nearest valid key."""

import pytest

from picoclawd.daemon.suggest import CLOSE, LOOSE, nearest

KEYS = ("max_lines", "max_line_length", "mode", "enabled", "read_file", "edit_file")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("max_line", "max_lines"),
        ("maxLines", "max_lines"),
        ("max-lines", "max_lines"),
        ("MODE", "mode"),
        ("moed", "mode"),
        ("enable", "enabled"),
        ("reed_file", "read_file"),
    ],
)
def test_a_misspelt_key_names_the_one_that_was_meant(written: str, meant: str) -> None:
    assert nearest(written, KEYS, LOOSE) == meant


def test_nothing_like_it_names_nothing() -> None:
    assert nearest("zzz", KEYS, LOOSE) is None
    assert nearest("", KEYS, LOOSE) is None
    assert nearest("mode", (), LOOSE) is None


@pytest.mark.parametrize("other", ["send_file", "web", "exec", "cron", "find_skills", "spawn", "mcp"])
def test_another_programs_key_is_not_taken_for_a_misspelling(other: str) -> None:
    assert nearest(other, KEYS, CLOSE) is None


def test_of_equals_the_first_wins() -> None:
    assert nearest("ab", ("abx", "aby"), LOOSE) == "abx"


def test_a_huge_key_is_compared_by_its_head() -> None:
    assert nearest("x" * 1_000_000, KEYS, LOOSE) is None
