"""Tests of the log's lines."""

import io
import logging
import re
from collections.abc import Iterator

import pytest

from picoclawd.daemon.log import set_up


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Give the logger back as it was: it is the process's."""
    logger = logging.getLogger("picoclawd")
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def test_an_entry_is_one_line_with_time_level_and_message() -> None:
    out = io.StringIO()
    set_up("info", out).info("serving %s", "x")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO serving x\n", out.getvalue())


def test_what_a_client_sent_cannot_end_the_line_or_steer_the_terminal() -> None:
    out = io.StringIO()
    set_up("info", out).warning("client %s", "a\nFAKE INFO b\x1b[31m\u202e")
    assert out.getvalue().count("\n") == 1
    assert "a\\nFAKE INFO b\\x1b[31m\\u202e" in out.getvalue()


def test_a_traceback_follows_indented_and_escaped() -> None:
    out = io.StringIO()
    logger = set_up("info", out)
    try:
        raise ValueError("bad\x1b")
    except ValueError:
        logger.exception("broke")
    head, *trace = out.getvalue().splitlines()
    assert head.endswith("ERROR broke")
    assert trace[-1] == "    ValueError: bad\\x1b"
    assert all(line.startswith("    ") for line in trace)


def test_entries_below_the_level_are_left_out() -> None:
    out = io.StringIO()
    set_up("warning", out)
    child = logging.getLogger("picoclawd.rpc.test")
    child.info("no")
    child.error("yes")
    assert out.getvalue().count("\n") == 1


def test_setting_up_again_replaces_the_handler() -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up("info", first)
    set_up("info", second).info("x")
    assert first.getvalue() == ""
    assert second.getvalue() != ""


def test_an_entry_that_cannot_be_written_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    logger = set_up("info", out)
    out.close()
    logger.info("x")
    assert capsys.readouterr().err == ""
