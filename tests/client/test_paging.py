from typing import Any

import pytest

from picoclawd.client import paging
from picoclawd.client.paging import Request
from picoclawd.client.wire import Connection
from tests.client.fake import FakeDaemon

FOUND = [{"path": f"f{number}"} for number in range(450)]


def answer(results: list[Any], **data: Any) -> dict[str, Any]:
    whole = {"results": results, "total": len(results), "offset": 0, "next_offset": None, "complete": True, **data}
    return {"content": "", "display": None, "data": whole}


def page_of(params: Any) -> Any:
    """What the daemon does, with `limit` clamped."""
    begin, end = params["offset"], params["offset"] + min(params["limit"], 200)
    following = end if end < len(FOUND) else None
    return answer(FOUND[begin:end], total=None if following else len(FOUND), offset=begin, next_offset=following)


@pytest.mark.parametrize(
    ("wanted", "asked", "got"),
    [
        (50, [(0, 50)], 50),
        (300, [(0, 200), (200, 100)], 300),
        (None, [(0, 200), (200, 200), (400, 200)], 450),
        (900, [(0, 200), (200, 200), (400, 200)], 450),
    ],
)
def test_pages_are_fetched_until_enough(daemon: FakeDaemon, wanted: int | None, asked: Any, got: int) -> None:
    daemon.handlers["search_files"] = page_of
    with Connection.open(daemon.path) as connection:
        seen = list(paging.pages(connection, Request("search_files", {"pattern": "x"}, wanted=wanted)))
    rows = [row for page in seen for row in page["data"]["results"]]
    assert rows == FOUND[:got]
    assert [(params["offset"], params["limit"]) for params in daemon.asked("search_files")] == asked


def test_rows_that_the_daemon_cut_are_fetched_too(daemon: FakeDaemon) -> None:
    """`next_offset` counts the rows that came, however many were asked for."""

    def cut(params: Any) -> Any:
        begin, end = params["offset"], params["offset"] + min(params["limit"], 30)
        return answer(FOUND[begin:end], offset=begin, next_offset=end)

    daemon.handlers["search_files"] = cut
    with Connection.open(daemon.path) as connection:
        seen = list(paging.pages(connection, Request("search_files", {}, wanted=50)))
    assert [row for page in seen for row in page["data"]["results"]] == FOUND[:50]


def test_a_daemon_that_repeats_a_page_does_not_hold_us(daemon: FakeDaemon) -> None:
    daemon.handlers["find_files"] = lambda _: answer(FOUND[:3], next_offset=3)
    with Connection.open(daemon.path) as connection:
        seen = list(paging.pages(connection, Request("find_files", {}, offset=3, wanted=None)))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("rows", "complete", "code"),
    [(1, True, 0), (0, True, 1), (1, False, 2), (0, False, 2)],
)
def test_the_exit_code_is_rgs(rows: int, complete: bool, code: int) -> None:
    assert paging.exit_code({"complete": complete}, FOUND[:rows]) == code


def test_a_place_that_could_not_be_listed_is_an_error() -> None:
    assert paging.exit_code({"complete": True}, [*FOUND[:1], {"path": "x", "error": "not_found"}]) == 2


@pytest.mark.parametrize(
    ("found", "offset", "data", "said"),
    [
        (2, 0, {}, "[results 1-2 of 2]"),
        (2, 4, {"total": None, "next_offset": 6}, "[results 5-6; more: --offset 6, or --all]"),
        (0, 0, {}, "[no match]"),
        (0, 9, {"total": 7}, "[no result at offset 9: there are 7 in all]"),
    ],
)
def test_the_footer_says_which_results(found: int, offset: int, data: dict[str, Any], said: str) -> None:
    assert paging.footer([answer(FOUND[:found], **data)], FOUND[:found], offset) == said


def test_what_the_daemon_says_beside_the_count_is_kept_once() -> None:
    feet = [
        "a:1:x\n[results 1-1; more: call again with offset=1; not searched: 1 binary]",
        "b:1:x\n[results 2-2 of 2; not searched: 2 binary; watched: changes by other programs may lag]",
    ]
    seen = [{**answer(FOUND[:1], total=2), "content": foot} for foot in feet]
    said = paging.footer(seen, FOUND[:2], 0)
    assert said == "[results 1-2 of 2; not searched: 2 binary; watched: changes by other programs may lag]"


def test_an_error_of_one_place_is_named_and_not_counted() -> None:
    rows = [{"path": "nope", "error": "not_found"}]
    assert paging.footer([answer(rows)], rows, 0) == "nope: not_found\n[no match]"
