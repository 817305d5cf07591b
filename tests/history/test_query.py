"""Questions to the history: filters against a plain list, tasks, numbers that do not exist, and speed."""

import sqlite3
import statistics
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.history import query
from picoclawd.history.query import Filter
from picoclawd.history.records import Author, Outcome, Version
from tests.history.conftest import OTHER, Made


def _fill(made: Made) -> list[Version]:
    for n in range(30):
        author = Author(f"session-{n % 3}", "c", "t", f"task-{n % 5}", None)
        made.change(b"%d" % (n // 4), b"%d" % (n // 4 + 1), path=b"file-%d" % (n % 4), author=author)
    return made.history.versions(Filter(), 1000)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.data())
def test_a_filter_lets_through_what_a_plain_list_would(made: Made, data: st.DataObject) -> None:
    everything = made.history.versions(Filter(), 1000) or _fill(made)
    times = [v.changed_at_ns for v in everything]
    wanted = Filter(
        paths=data.draw(st.none() | st.lists(st.sampled_from([b"file-0", b"file-1", b"file-9"]), max_size=3)),
        task_id=data.draw(st.none() | st.sampled_from(["task-1", "task-4", "task-9"])),
        session_id=data.draw(st.none() | st.sampled_from(["session-0", "session-9"])),
        from_ns=data.draw(st.none() | st.sampled_from(times)),
        to_ns=data.draw(st.none() | st.sampled_from(times)),
        before_version=data.draw(st.none() | st.integers(0, 2**70)),
    )
    limit = data.draw(st.integers(0, 40))
    expected = [v for v in everything if _lets_through(wanted, v)][:limit]
    assert made.history.versions(wanted, limit) == expected


def _lets_through(wanted: Filter, version: Version) -> bool:
    return (
        (wanted.paths is None or version.path in wanted.paths)
        and wanted.task_id in (None, version.task_id)
        and wanted.session_id in (None, version.session_id)
        and (wanted.from_ns is None or version.changed_at_ns >= wanted.from_ns)
        and (wanted.to_ns is None or version.changed_at_ns < wanted.to_ns)
        and (wanted.before_version is None or version.version < wanted.before_version)
    )


@pytest.mark.parametrize("number", [0, -1, 2, 2**63, 2**80])
def test_a_number_that_was_never_given_is_an_unknown_version(made: Made, number: int) -> None:
    made.change(b"a", b"b")
    for ask in (made.history.version, made.history.content_after, made.history.content_before):
        with pytest.raises(Fault) as caught:
            ask(number)
        assert caught.value.slug is Slug.UNKNOWN_VERSION
        assert "file_history" in caught.value.message


def test_too_many_paths_for_one_question_are_refused(made: Made) -> None:
    assert made.history.versions(Filter(paths=[b"x"] * query.PATHS_MAX), 10) == []
    with pytest.raises(Fault) as caught:
        made.history.versions(Filter(paths=[b"x"] * (query.PATHS_MAX + 1)), 10)
    assert caught.value.slug is Slug.INVALID_PARAMS


def test_the_last_version_and_the_last_by_a_tool_differ_after_an_outside_change(made: Made) -> None:
    first = made.change(b"0", b"1")
    made.history.finish(made.begin(b"by hand", b"2").version, Outcome("not_applied"))
    last, by_tool = made.history.last(b"notes.txt"), made.history.last_by_tool(b"notes.txt")
    assert last is not None and last.action == "external"
    assert by_tool is not None and by_tool.version == first
    assert made.history.last(b"nothing") is None and made.history.last_by_tool(b"nothing") is None


def test_a_task_is_undone_from_its_first_change_of_each_path(made: Made) -> None:
    made.change(b"A0", b"A1", path=b"A")
    made.change(b"A1", b"A2", path=b"A")
    made.change(None, b"B1", path=b"B")
    made.change(b"C0", None, path=b"C")
    made.change(b"elsewhere", b"E1", path=b"E", author=OTHER)
    paths = made.history.touched(Filter(task_id="task-1"))
    assert list(paths) == [b"A", b"B", b"C"]
    assert made.history.content_before(paths[b"A"].first.version) == b"A0"
    assert paths[b"A"].last.version == paths[b"A"].first.version + 1
    assert not paths[b"B"].first.existed
    assert made.history.content_before(paths[b"C"].first.version) == b"C0"
    assert all(path.others_after is None for path in paths.values())
    assert made.history.touched(Filter(task_id="never begun")) == {}


def test_a_task_undo_is_told_of_what_others_changed_since(made: Made) -> None:
    made.change(b"0", b"1")
    made.change(b"1", b"2", author=OTHER)
    assert made.history.touched(Filter(task_id="task-1"))[b"notes.txt"].others_after is not None
    made.change(b"2", b"3")
    assert made.history.touched(Filter(task_id="task-1"))[b"notes.txt"].others_after is None, (
        "the task changed it after them"
    )
    made.change(b"by hand", b"4", author=Author("session-1"))
    others = made.history.touched(Filter(task_id="task-1"))[b"notes.txt"].others_after
    assert others is not None and others.session_id == "session-1" and others.task_id is None


def _fill_by_sql(made: Made, rows: int) -> None:
    """Record many versions as fast as SQLite takes them: copies of one, on a thousand paths."""
    made.change(b"a", b"b")
    made.history.outcome("flush")
    db = sqlite3.connect(made.path / "history.db", isolation_level=None)
    columns = [row[1] for row in db.execute("PRAGMA table_info(versions)") if row[1] not in ("version", "path")]
    db.execute(
        f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) "
        f"INSERT INTO versions (path, {', '.join(columns)}) "
        f"SELECT CAST('src/dir/file-' || (n % 1000) AS BLOB), {', '.join(columns)} FROM n, versions WHERE version = 1"
    )
    db.close()


def _median_ms(ask: Callable[[], object]) -> float:
    took: list[float] = []
    for _ in range(30):
        start = time.perf_counter()
        ask()
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def test_among_100_000_versions_one_path_is_found_in_under_5_ms(made: Made) -> None:
    _fill_by_sql(made, 100_000)
    history = made.history
    assert len(history.versions(Filter(paths=[b"src/dir/file-7"]), 1000)) == 100
    assert _median_ms(lambda: history.versions(Filter(paths=[b"src/dir/file-7"]), 24)) < 5
    assert _median_ms(lambda: history.last(b"src/dir/file-7")) < 5
    assert _median_ms(lambda: history.versions(Filter(), 24)) < 5
    start = time.perf_counter()
    made.reopened()
    assert made.history.open_intents() == []
    assert time.perf_counter() - start < 0.5, "the start does not read them all"
