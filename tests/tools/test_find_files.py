"""find_files: several queries at once, each a listing, a glob or a search, by fresh walks and by the tree."""

import os
import random
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from picoclawd.errors import Slug
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fL2rU5"
Make = Callable[..., Awaitable[House]]


def lines(result: dict[str, Any]) -> list[str]:
    """The content without its tail."""
    found: list[str] = result["content"].split("\n")
    return found[:-1]


def tail(result: dict[str, Any]) -> str:
    last: str = result["content"].split("\n")[-1]
    return last


def rows(result: dict[str, Any]) -> list[tuple[str, int]]:
    return [(row["path"], row["line"]) for row in result["data"]["results"] if "context" not in row]


async def search(house: House, pattern: str, file_pattern: str = "", **params: Any) -> dict[str, Any]:
    queries = [{"pattern": pattern, "file_pattern": file_pattern}]
    return await house.call("find_files", queries=queries, **params)


# modes


@pytest.mark.parametrize(
    ("queries", "mode"),
    [
        ([{"dir": "."}], "list"),
        ([{}], "list"),
        ([{"pattern": "a*"}], "glob"),
        ([{"dir": "."}, {"pattern": "a*"}], None),
        ([{"pattern": "x", "file_pattern": "**/*"}], "search"),
    ],
)
async def test_the_mode_is_inferred(searched: House, queries: list[dict[str, Any]], mode: str | None) -> None:
    searched.write("a.txt", "x\n")
    if mode is None:
        await searched.fault(Slug.INVALID_PARAMS, "find_files", queries=queries)
    else:
        assert (await searched.call("find_files", queries=queries))["data"]["mode"] == mode


async def test_what_is_missing_or_wrong_is_refused(searched: House) -> None:
    searched.write("a.txt", "x\n")
    wrongs: list[dict[str, Any]] = [
        {"queries": []},
        {"queries": [{}], "mode": "search"},
        {"queries": [{"pattern": "(", "file_pattern": "*"}]},
        {"queries": [{"pattern": "x", "file_pattern": "*"}], "offset": -1},
        {"queries": [{"pattern": "x", "file_pattern": "*"}], "limit": 0},
        {"queries": [{"what": 1}]},
    ]
    for wrong in wrongs:
        await searched.fault(Slug.INVALID_PARAMS, "find_files", **wrong)
    await searched.fault(Slug.NOT_FOUND, "find_files", queries=[{"dir": "none", "pattern": "a*"}])


# list


async def test_a_listing_is_alphabetical_with_directories_and_ignored_entries_marked(searched: House) -> None:
    searched.write(".gitignore", "out/\n*.log\n")
    for name in ("b.txt", "a/inner.txt", "out/x", "c.log", ".env"):
        searched.write(name, "")
    (searched.root / "link").symlink_to("a")
    result = await searched.call("find_files", queries=[{}])
    assert lines(result) == [".gitignore", "a/", "b.txt", "c.log (ignored)", "link", "out/ (ignored)"]
    assert tail(result) == "[6 entries; not searched: 1 protected]"
    assert result["data"]["results"][5] == {"path": "out", "kind": "dir", "ignored": True}
    deep = await searched.call("find_files", queries=[{"recursive": True}])
    assert lines(deep) == [".gitignore", "a/", "a/inner.txt", "b.txt", "c.log (ignored)", "link", "out/ (ignored)"]


async def test_what_cannot_be_listed_is_a_row_of_its_query(searched: House) -> None:
    searched.write("a/x", "")
    searched.write("f", "")
    queries = [{"dir": "none"}, {"dir": "a"}, {"dir": "f"}, {"dir": "/etc"}]
    result = await searched.call("find_files", queries=queries)
    assert lines(result)[0] == "a/x"
    errors = [row["error"] for row in result["data"]["results"][1:]]
    assert errors == ["not_found", "not_a_directory", "outside_workspace"]
    assert lines(result)[1].startswith("none: [not_found]")


async def test_entries_of_two_queries_are_listed_once(searched: House) -> None:
    searched.write("a/x", "")
    searched.write("a/b/y", "")
    result = await searched.call("find_files", queries=[{"dir": "a/b"}, {"dir": "a", "recursive": True}, {"dir": "a"}])
    assert lines(result) == ["a/b/", "a/b/y", "a/x"]


async def test_at_most_128_kib_of_names_are_shown_and_the_rest_is_counted(searched: House) -> None:
    for number in range(1000):
        searched.write(f"{'n' * 200}{number:04}", "")
    result = await searched.call("find_files", queries=[{}], session=searched.operator)
    assert len(result["content"].encode()) < 129 * 1024
    dropped = result["data"]["dropped"]
    assert dropped == 1000 - len(lines(result))
    assert dropped > 300
    assert f"{dropped} dropped" in tail(result)
    assert result["data"]["total"] == 1000
    rest = await searched.call(
        "find_files", queries=[{}], offset=result["data"]["next_offset"], session=searched.operator
    )
    assert len(lines(rest)) == dropped
    assert tail(rest) == f"[entries {1001 - dropped}-1000 of 1000]"


# glob


async def test_a_glob_is_newest_first_and_merges_queries(searched: House) -> None:
    for number in range(5):
        path = searched.write(f"d{number % 2}/m{number}.txt", "")
        os.utime(path, (1000 + number, 1000 + number))
    result = await searched.call("find_files", queries=[{"pattern": "*.txt"}, {"dir": "d0", "pattern": "m"}])
    assert lines(result) == ["d0/m4.txt", "d1/m3.txt", "d0/m2.txt", "d1/m1.txt", "d0/m0.txt"]
    assert tail(result) == "[5 files]"
    flat = await searched.call("find_files", queries=[{"dir": ".", "pattern": "*.txt", "recursive": False}])
    assert lines(flat) == []
    assert flat["content"] == "[nothing found]"


@pytest.mark.parametrize("pattern", ["*", "**/*", "*.*", "?", ""])
async def test_a_glob_without_a_literal_is_refused_and_names_the_other_modes(searched: House, pattern: str) -> None:
    fault = await searched.fault(Slug.INVALID_PARAMS, "find_files", queries=[{"pattern": pattern}], mode="glob")
    assert "mode=list" in fault.message
    assert "mode=search" in fault.message


async def test_a_glob_obeys_ignore_rules_unless_the_place_is_named(searched: House) -> None:
    searched.write(".gitignore", "out/\n")
    searched.write("out/a.txt", "")
    result = await searched.call("find_files", queries=[{"pattern": "*.txt"}])
    assert result["content"] == "[nothing found; not searched: 1 ignored by rules]"
    assert lines(await searched.call("find_files", queries=[{"dir": "out", "pattern": "*.txt"}])) == ["out/a.txt"]


# search


async def test_files_come_with_their_count_and_first_five_rows(searched: House) -> None:
    searched.write("a.txt", "hit\nno\n" * 7)
    searched.write("b/c.txt", "hit\n")
    result = await search(searched, "hit")
    assert lines(result) == ["a.txt: 7 (1, 3, 5, 7, 9)", "b/c.txt: 1 (1)"]
    assert tail(result) == "[files 1-2 of 2; last page]"
    assert result["data"]["results"][0] == {"path": "a.txt", "count": 7, "lines": [1, 3, 5, 7, 9]}


async def test_lines_are_paged_and_the_last_page_says_so(searched: House) -> None:
    for number in range(5):
        searched.write(f"m{number}.txt", "".join(f"row {n}\n" for n in range(70)))
    first = await search(searched, "row", output="content")
    assert tail(first).startswith("[lines 1-256 of 350; next offset=256")
    last = await search(searched, "row", output="content", offset=256)
    assert tail(last) == "[lines 257-350 of 350; last page]"
    past = await search(searched, "row", output="content", offset=999)
    assert past["content"] == "[no result at offset 999: there are 350 lines; last page]"
    assert (await search(searched, "zzz", offset=9))["content"].startswith("[no match; last page")


async def test_context_rows_are_marked_and_not_counted(searched: House) -> None:
    searched.write("a.txt", "".join(f"{'hit' if n in (3, 4, 30) else 'line'} {n}\n" for n in range(1, 41)))
    result = await search(searched, "hit", output="content", context=1)
    assert lines(result) == [
        "a.txt-2-line 2",
        "a.txt:3:hit 3",
        "a.txt:4:hit 4",
        "a.txt-5-line 5",
        "--",
        "a.txt-29-line 29",
        "a.txt:30:hit 30",
        "a.txt-31-line 31",
    ]
    assert tail(result) == "[lines 1-3 of 3; last page]"
    assert [row["line"] for row in result["data"]["results"] if row.get("context")] == [2, 5, 29, 31]
    second = await search(searched, "hit", output="content", context=1, offset=1, limit=1)
    assert lines(second) == ["a.txt-3-hit 3", "a.txt:4:hit 4", "a.txt-5-line 5"]
    assert tail(second) == "[lines 2-2 of 3; next offset=2]"


async def test_rows_that_do_not_fit_are_cut_and_the_next_offset_counts_matches_only(searched: House) -> None:
    searched.write("a.txt", ("x" * 400 + "\n") * 2 + ("hit " + "y" * 400 + "\n" + "x" * 400 + "\n") * 250)
    seen: list[tuple[str, int]] = []
    offset: int | None = 0
    while offset is not None:
        result = await search(searched, "hit", output="content", context=1, limit=250, offset=offset)
        seen += rows(result)
        offset = result["data"]["next_offset"]
    assert len(result["data"]["results"]) > 0
    assert seen == [("a.txt", 3 + 2 * n) for n in range(250)]


async def test_a_match_line_is_cut_at_512_bytes(searched: House) -> None:
    searched.write("a.txt", "x" * 2000 + "hit" + "x" * 2000)
    text = (await search(searched, "hit", output="content"))["data"]["results"][0]["text"]
    assert "hit" in text
    assert 400 < len(text.encode()) <= 512


async def test_multiline_gives_every_row_that_a_match_spans(searched: House) -> None:
    searched.write("a.txt", "zero\nalpha\nmid\nomega\nend\n")
    result = await search(searched, "alpha.*omega", multiline=True, output="content")
    assert lines(result) == ["a.txt:2:alpha", "a.txt:3:mid", "a.txt:4:omega"]
    assert (await search(searched, "alpha.*omega"))["data"]["results"] == []
    files = await search(searched, "alpha.*omega", multiline=True)
    assert lines(files) == ["a.txt: 3 (2, 3, 4)"]


async def test_several_queries_merge_into_one_order(searched: House) -> None:
    searched.write("a.txt", "one\ntwo\nthree\n")
    searched.write("b/c.txt", "two\n")
    searched.write("b.txt", "one\n")
    queries = [
        {"pattern": "two|three", "file_pattern": "*"},
        {"pattern": "one|two", "file_pattern": "*.txt"},
        {"dir": "b", "pattern": "two", "file_pattern": "*"},
    ]
    result = await searched.call("find_files", queries=queries, output="content")
    assert rows(result) == [("a.txt", 1), ("a.txt", 2), ("a.txt", 3), ("b/c.txt", 1), ("b.txt", 1)]
    files = await searched.call("find_files", queries=queries)
    assert lines(files) == ["a.txt: 3 (1, 2, 3)", "b/c.txt: 1 (1)", "b.txt: 1 (1)"]


async def test_pages_are_of_one_search_even_where_files_come_and_go(searched: House) -> None:
    for number in range(10):
        searched.write(f"f{number}.txt", "hit\nhit\n")
    first = await search(searched, "hit", limit=5)
    searched.write("f00.txt", "hit\n")
    (searched.root / "f9.txt").unlink()
    second = await search(searched, "hit", limit=5, offset=5)
    assert [row["path"] for row in first["data"]["results"] + second["data"]["results"]] == [
        f"f{n}.txt" for n in range(10)
    ]
    assert "a file of this page changed since it was counted: begin again with offset=0" in tail(second)
    assert second["data"]["total"] == 10
    third = await search(searched, "hit", limit=5, offset=0)
    assert third["data"]["results"][1]["path"] == "f00.txt"


async def test_a_shrunk_file_does_not_stop_the_pages(searched: House) -> None:
    searched.write("a.txt", "hit\n" * 10)
    searched.write("b.txt", "hit\n" * 10)
    await search(searched, "hit", output="content", limit=5)
    searched.write("a.txt", "hit\n")
    second = await search(searched, "hit", output="content", limit=10, offset=5)
    assert "changed since it was counted" in tail(second)
    assert second["data"]["next_offset"] == 15
    assert rows(second) == [("b.txt", n) for n in range(1, 6)]


async def test_pages_of_another_search_are_said_to_be(searched: House) -> None:
    for number in range(9):
        searched.write(f"f{number}.txt", "hit\n")
    assert "this is a new search" in tail(await search(searched, "hit", offset=3, limit=3))
    assert "this is a new search" not in tail(await search(searched, "hit", offset=6, limit=2, mode="search"))
    assert "this is a new search" in tail(await search(searched, "hit", offset=3, output="content"))
    assert "this is a new search" in tail(await search(searched, "hit", offset=3, session=searched.operator))


async def test_a_ninth_search_pushes_the_oldest_out(searched: House) -> None:
    searched.write("a.txt", "hit\n" * 9)
    for number in range(9):
        await search(searched, f"hi[t{number}]")
    assert "new search" in tail(await search(searched, "hi[t0]", offset=1))
    assert "new search" not in tail(await search(searched, "hi[t8]", offset=1))


async def test_a_file_of_more_than_the_cache_takes_is_shown_too(searched: House) -> None:
    searched.write("big.txt", b"filler line\n" * 6_000_000 + b"needle\nlast\n")
    result = await search(searched, "needle", output="content", context=1)
    assert lines(result) == ["big.txt-6000000-filler line", "big.txt:6000001:needle", "big.txt-6000002-last"]
    multi = await search(searched, "needle", multiline=True)
    assert multi["data"]["skipped"]["over_budget"] == 1


async def test_the_budget_of_search_files_does_not_apply(searched: House) -> None:
    for number in range(30):
        searched.write(f"f{number}.txt", "hit\n")
    assert (await search(searched, "hit"))["data"]["total"] == 30


async def test_at_the_deadline_the_count_is_a_lower_bound(searched: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.txt"):
        searched.write(name, "hit\n")
    counter = searched.workspace.counter
    count = counter._count

    def stops_before_the_second(jobs: Any, stop: Any, make_sieve: Any) -> Any:
        is_second = any(job.path == b"b.txt" for job in jobs)
        return count(jobs, lambda: is_second, make_sieve)

    monkeypatch.setattr(counter, "_count", stops_before_the_second)
    result = await search(searched, "hit")
    assert not result["data"]["complete"]
    assert result["data"]["total"] is None
    assert tail(result).startswith("[files 1-1 of 1+; last page; the search ended after 30 s and is not complete")


async def test_a102_secrets_are_masked_but_for_operators(searched: House) -> None:
    searched.write("a.txt", f"token = {SECRET}\n")
    result = await search(searched, "token", output="content")
    assert lines(result) == ["a.txt:1:token = [FILTERED]"]
    assert "ghp_" not in str(result["data"])
    verbatim = await search(searched, "token", output="content", session=searched.operator)
    assert lines(verbatim) == [f"a.txt:1:token = {SECRET}"]


@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("output", ["files", "content"])
async def test_under_strict_redaction_a_search_is_no_oracle(make_searched: Make, multiline: bool, output: str) -> None:
    house = await make_searched(options=Options(redaction="strict"))
    house.write("a.txt", f"first\nkey {SECRET}\n")
    guess = await search(house, f"ghp_{SECRET[4:9]}", multiline=multiline, output=output)
    assert guess["data"]["results"] == []
    assert guess["data"]["total"] == 0
    assert guess["data"]["skipped"]["redacted"] == 1
    fair = await search(house, "^key", multiline=multiline, output=output)
    assert fair["data"]["total"] == 1


async def test_outside_paths_are_absolute(make_searched: Make) -> None:
    house = await make_searched(allow_read_outside=True)
    outside = house.root.parent / "out"
    (outside / "a.txt").write_text("hit\n")
    house.write("b.txt", "hit\n")
    top = absolute(outside)
    queries = [{"dir": str(outside), "pattern": "hit", "file_pattern": "*"}, {"pattern": "hit", "file_pattern": "*"}]
    assert lines(await house.call("find_files", queries=queries)) == ["b.txt: 1 (1)", f"{top}/a.txt: 1 (1)"]
    globs = await house.call("find_files", queries=[{"dir": str(outside), "pattern": "*.txt"}])
    assert lines(globs) == [f"{top}/a.txt"]
    assert lines(await house.call("find_files", queries=[{"dir": str(outside)}])) == [f"{top}/a.txt"]


def absolute(path: Path) -> str:
    return os.path.realpath(path)


async def test_every_count_of_random_trees_is_that_of_a_naive_scan(searched: House) -> None:
    dice = random.Random(11)
    words = ["alpha", "beta", "Gamma", "x1", "é", "foo_bar"]
    for number in range(80):
        name = "/".join(dice.choice("abc") for _ in range(dice.randint(1, 3))) + f"/f{number}.{dice.choice('xy')}"
        searched.write(name, "".join(" ".join(dice.choices(words, k=3)) + "\n" for _ in range(dice.randint(0, 40))))
    for pattern in ("alpha", "beta.*x1", r"\bGamma$", "é|foo"):
        wanted = {}
        for path in searched.root.rglob("*.x"):
            found = [n for n, line in enumerate(path.read_text().split("\n"), 1) if re.search(pattern, line)]
            if found:
                wanted[str(path.relative_to(searched.root))] = (len(found), found[:5])
        result = await search(searched, pattern, "*.x")
        assert {row["path"]: (row["count"], row["lines"]) for row in result["data"]["results"]} == wanted
        counted = await search(searched, pattern, "*.x", output="content", limit=1000, session=searched.operator)
        assert len(rows(counted)) == sum(count for count, _rows in wanted.values())
