"""The watcher's line protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index import watcher_lines as lines

PATHS = st.binary(max_size=40).map(lambda name: b"/" + name)


@given(PATHS)
def test_any_path_survives_the_line(path: bytes) -> None:
    for line in (lines.watch_lines([path]), lines.forget_lines([path]), lines.cookies_line(path)):
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
    assert lines.parse_order(lines.watch_lines([path])[:-1]) == lines.Watch(path)
    assert lines.parse_order(lines.forget_lines([path])[:-1]) == lines.Forget(path)
    assert lines.parse_order(lines.cookies_line(path)[:-1]) == lines.Cookies(path)
    assert lines.parse_report(lines.hint_lines([path])[:-1]) == lines.Dirty(path)
    assert lines.parse_report(lines.hint_lines([], [path])[:-1]) == lines.Touched(path)
    assert lines.parse_report(lines.unwatched_line(path, "no reason")[:-1]) == lines.Unwatched(path, "no reason")


@pytest.mark.parametrize(
    ("path", "quoted"),
    [(b"/a b", b"/a%20b"), (b"/a%b\n", b"/a%25b%0A"), ("/é".encode(), b"/%C3%A9"), (b"/\xff~!", b"/%FF~!")],
)
def test_only_what_could_break_a_line_is_quoted(path: bytes, quoted: bytes) -> None:
    assert lines.quote(path) == quoted


def test_the_other_reports_survive_the_line() -> None:
    assert lines.parse_report(lines.cookie_line(7)[:-1]) == lines.CookieSeen(7)
    assert lines.parse_report(lines.ready_line(2)[:-1]) == lines.Ready(2)
    assert lines.parse_report(lines.lost_line("a batch")[:-1]) == lines.Lost("a batch")
    assert lines.parse_report(lines.degraded_line("a limit")[:-1]) == lines.Degraded("a limit")
    assert lines.parse_order(lines.END_OF_BATCH[:-1]) == lines.EndOfBatch()


def test_a_reason_stays_on_its_line_whatever_it_holds() -> None:
    line = lines.lost_line("two\nlines, é, \x07 and " + "x" * 1000)
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert len(line) < 600


@pytest.mark.parametrize("line", [b"", b"dirt /a", b"cookie x", b"cookie", b"ready", b"readys 1", b"Dirty /a"])
def test_what_is_no_report_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        lines.parse_report(line)


@pytest.mark.parametrize("line", [b"", b"watch", b"watch /a b", b"end-of-batch now", b"dirty /a"])
def test_what_is_no_order_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="no order"):
        lines.parse_order(line)
