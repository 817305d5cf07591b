"""search_files: what it finds, what it shows, and what it says of the rest, by fresh walks and by the tree."""

import os
import random
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.tools.search_files import SearchFilesSettings
from picoclawd.workspace.workspace import Options
from tests.depths import dug
from tests.house import House
from tests.index.rg import ripgrep

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fL2rU5"
Make = Callable[..., Awaitable[House]]


def rows(result: dict[str, Any]) -> list[tuple[str, int]]:
    return [(row["path"], row["line"]) for row in result["data"]["results"]]


def paths(result: dict[str, Any]) -> list[str]:
    return [row["path"] for row in result["data"]["results"]]


def lines(result: dict[str, Any]) -> list[str]:
    """The content without its footer."""
    found: list[str] = result["content"].split("\n")
    return found[:-1]


def footer(result: dict[str, Any]) -> str:
    last: str = result["content"].split("\n")[-1]
    assert last.startswith("[")
    assert last.endswith("]")
    return last


async def names(house: House, form: str, **params: Any) -> list[str]:
    return paths(await house.call("search_files", pattern=form, target="files", **params))


def real(path: Path) -> str:
    return os.path.realpath(path)


# rows


async def test_rows_come_in_discovery_order_and_the_footer_is_last(searched: House) -> None:
    for name in ("b.txt", "a/z.txt", "a.txt", "a/b/c.txt"):
        searched.write(name, "x\nhit one\nhit two\n")
    result = await searched.call("search_files", pattern="hit")
    assert lines(result) == [
        f"{name}:{line}:hit {text}"
        for name in ("a/b/c.txt", "a/z.txt", "a.txt", "b.txt")
        for line, text in ((2, "one"), (3, "two"))
    ]
    assert footer(result) == "[results 1-8 of 8]"
    assert result["data"]["results"][0] == {"path": "a/b/c.txt", "line": 2, "text": "hit one"}
    assert result["data"] | {"results": [], "skipped": {}} == {
        "results": [],
        "total": 8,
        "offset": 0,
        "next_offset": None,
        "complete": True,
        "consistency": "verified",
        "skipped": {},
    }


async def test_an_empty_pattern_is_every_line_and_every_file(searched: House) -> None:
    searched.write("a.txt", "one\n\nthree")
    assert lines(await searched.call("search_files", pattern="")) == ["a.txt:1:one", "a.txt:2:", "a.txt:3:three"]
    assert await names(searched, "") == ["a.txt"]


async def test_nothing_found_says_so_and_what_was_left_out(searched: House) -> None:
    searched.write(".gitignore", "out/\n*.log\n")
    for name in ("out/a.txt", "out/b.txt", "c.log", ".env", "ok.txt"):
        searched.write(name, "needle\n")
    searched.write("bin", b"\0needle\n")
    os.mkfifo(searched.root / "pipe")
    result = await searched.call("search_files", pattern="zzz")
    assert result["content"] == ("[no match; not searched: 2 ignored by rules, 1 protected, 1 binary, 1 special files]")
    skipped = {key: value for key, value in result["data"]["skipped"].items() if value}
    assert skipped == {"ignored": 2, "protected": 1, "binary": 1, "special": 1}


async def test_files_and_counts(searched: House) -> None:
    searched.write("a.txt", "hit\nhit hit\n")
    searched.write("b.txt", "no\n")
    searched.write("c.py", "hit\n")
    result = await searched.call("search_files", pattern="hit", output_mode="count")
    assert lines(result) == ["a.txt:2", "c.py:1"]
    assert result["data"]["results"] == [{"path": "a.txt", "count": 2}, {"path": "c.py", "count": 1}]
    result = await searched.call("search_files", pattern="hit", output_mode="files_only", file_glob="*.py")
    assert lines(result) == ["c.py"]
    assert result["data"]["results"] == [{"path": "c.py"}]


async def test_the_modified_order_is_newest_first_over_the_whole_scope(searched: House) -> None:
    for index, name in enumerate(("b/old.txt", "c.txt", "a.txt")):
        path = searched.write(name, "hit\nhit\n")
        os.utime(path, (1000 + index, 1000 + index))
    result = await searched.call("search_files", pattern="hit", order="modified", limit=3)
    assert rows(result) == [("a.txt", 1), ("a.txt", 2), ("c.txt", 1)]
    assert result["data"]["total"] == 6
    assert await names(searched, "", order="modified") == ["a.txt", "c.txt", "b/old.txt"]


async def test_context_makes_blocks_that_count_as_results(searched: House) -> None:
    searched.write("a.txt", "".join(f"{'hit' if n in (3, 5, 30) else 'line'} {n}\n" for n in range(1, 41)))
    result = await searched.call("search_files", pattern="hit", context=1)
    assert lines(result) == [
        "a.txt-2-line 2",
        "a.txt:3:hit 3",
        "a.txt-4-line 4",
        "a.txt:5:hit 5",
        "a.txt-6-line 6",
        "--",
        "a.txt-29-line 29",
        "a.txt:30:hit 30",
        "a.txt-31-line 31",
    ]
    assert result["data"]["total"] == 2
    block = result["data"]["results"][1]
    assert block["start_line"] == 29
    assert block["lines"][1] == {"line": 30, "text": "hit 30", "match": True}


async def test_blocks_split_at_50_lines_and_pages_take_them_up(searched: House) -> None:
    searched.write("a.txt", "hit\n" * 130)
    first = await searched.call("search_files", pattern="hit", context=1, limit=2)
    assert [len(row["lines"]) for row in first["data"]["results"]] == [50, 50]
    assert first["data"]["next_offset"] == 2
    last = await searched.call("search_files", pattern="hit", context=1, limit=2, offset=2)
    assert [row["start_line"] for row in last["data"]["results"]] == [101]
    assert [len(row["lines"]) for row in last["data"]["results"]] == [30]


@pytest.mark.parametrize("context", [0, 1, 3, 20])
async def test_rows_with_context_are_those_of_ripgrep(searched: House, context: int) -> None:
    dice = random.Random(context)
    for number in range(30):
        text = "".join(dice.choice(["alpha\n", "beta\r\n", "\n", "gamma hit\n", "hit hit\n"]) for _ in range(60))
        searched.write(f"d{number % 3}/f{number}.txt", text.removesuffix("\n") if number % 2 else text)
    command = [ripgrep(), "--no-config", "-n", "--crlf", "--sort", "path", "--no-heading", "--color=never"]
    ran = await trio.run_process([*command, "-C", str(context), "hit", "."], cwd=searched.root, capture_stdout=True)
    wanted = {line.removeprefix("./") for line in ran.stdout.decode().replace("\r", "").split("\n") if line != "--"}
    found: set[str] = set()
    offset: int | None = 0
    while offset is not None:
        result = await searched.call(
            "search_files", pattern="hit", context=context, limit=200, offset=offset, session=searched.operator
        )
        found.update(line for line in lines(result) if line != "--")
        offset = result["data"]["next_offset"]
    assert found == wanted - {""}


async def test_what_is_after_a_line_that_was_searched_in_part_is_shown_with_it(searched: House) -> None:
    searched.write("a.txt", b"before\nneedle" + b"x" * (1 << 20) + b"\nafter\n")
    result = await searched.call("search_files", pattern="needle", context=1)
    shown = [(line["line"], line["text"][:6]) for line in result["data"]["results"][0]["lines"]]
    assert shown == [(1, "before"), (2, "needle"), (3, "after")]
    assert result["data"]["skipped"]["truncated_lines"] == 1


async def test_a_byte_order_mark_is_not_shown_as_context(searched: House) -> None:
    searched.write("a.txt", b"\xef\xbb\xbffirst\nhit\n")
    result = await searched.call("search_files", pattern="hit", context=1, session=searched.operator)
    assert lines(result) == ["a.txt-1-first", "a.txt:2:hit"]


async def test_a_row_is_at_most_240_bytes_and_shows_the_match(searched: House) -> None:
    searched.write("a.txt", "é" * 3000 + "NEEDLE" + "ü" * 3000 + "\n")
    row = (await searched.call("search_files", pattern="NEEDLE"))["data"]["results"][0]["text"]
    assert len(row.encode()) <= 240
    assert row.startswith("…")
    assert row.endswith("…")
    assert "NEEDLE" in row


async def test_a_large_file_is_searched_to_its_end(searched: House) -> None:
    searched.write("big.txt", b"filler line\n" * 600_000 + b"needle\nlast\n")
    result = await searched.call("search_files", pattern="needle", context=1)
    assert lines(result) == ["big.txt-600000-filler line", "big.txt:600001:needle", "big.txt-600002-last"]


# pages


async def test_pages_neither_repeat_nor_lose(searched: House) -> None:
    for number in range(20):
        searched.write(f"d{number % 4}/f{number}.txt", "".join(f"hit {n}\n" for n in range(number)))
    whole = rows(await searched.call("search_files", pattern="hit", limit=200))
    paged: list[tuple[str, int]] = []
    offset: int | None = 0
    while offset is not None:
        result = await searched.call("search_files", pattern="hit", limit=7, offset=offset)
        assert "changed" not in result["content"]
        paged += rows(result)
        assert result["data"]["total"] in (None, 190)
        offset = result["data"]["next_offset"]
    assert len(paged) == 190
    assert paged == whole[:190]


async def test_an_early_stop_knows_no_total_and_names_the_next_offset(searched: House) -> None:
    searched.write("a.txt", "hit\n" * 60)
    result = await searched.call("search_files", pattern="hit")
    assert footer(result) == "[results 1-50; more: call again with offset=50]"
    assert result["data"]["total"] is None
    assert result["data"]["next_offset"] == 50
    exact = await searched.call("search_files", pattern="hit", limit=60)
    assert footer(exact) == "[results 1-60 of 60]"


@pytest.mark.parametrize("mode", ["content", "files_only", "count"])
async def test_past_the_end_is_the_total_and_not_no_match(searched: House, mode: str) -> None:
    searched.write("a.txt", "hit\n")
    result = await searched.call("search_files", pattern="hit", offset=9, output_mode=mode)
    assert result["content"] == "[no result at offset 9: there are 1 in all]"
    assert result["data"]["total"] == 1
    assert result["data"]["next_offset"] is None
    none = await searched.call("search_files", pattern="zzz", offset=9, output_mode=mode)
    assert none["content"] == "[no match]"
    past = await searched.call("search_files", pattern="", target="files", offset=9)
    assert past["content"] == "[no result at offset 9: there are 1 in all]"


async def test_limits_are_clamped_and_nonsense_is_refused(searched: House) -> None:
    searched.write("a.txt", "hit\n" * 300)
    assert len((await searched.call("search_files", pattern="hit", limit=100_000))["data"]["results"]) == 200
    block = (await searched.call("search_files", pattern="hit", context=99))["data"]["results"][0]
    assert len(block["lines"]) == 50
    for wrong in ({"offset": -1}, {"limit": 0}, {"limit": -3}, {"context": -1}, {"output_mode": "x"}, {"no": 1}):
        fault = await searched.fault(Slug.INVALID_PARAMS, "search_files", pattern="hit", **wrong)
        assert next(iter(wrong)) in str(fault.data.get("path", "")) + fault.message


async def test_a74_a_changed_scope_is_said_and_pages_of_an_unchanged_one_agree(searched: House) -> None:
    for number in range(200):
        searched.write(f"f{number:03}.txt", "hit\n")

    async def all_pages() -> list[str]:
        found: list[str] = []
        for offset in range(0, 200, 7):
            result = await searched.call("search_files", pattern="hit", limit=7, offset=offset)
            assert "changed" not in result["content"]
            found += paths(result)
        return found

    first = await all_pages()
    assert len(set(first)) == 200 == len(first)
    for _ in range(2):
        assert await all_pages() == first
    await searched.call("search_files", pattern="hit", limit=7)
    (searched.root / "f000.txt").unlink()
    result = await searched.call("search_files", pattern="hit", limit=7, offset=7)
    assert "the scope changed since the page before: begin again with offset=0" in footer(result)


async def test_a_file_that_was_passed_and_changed_is_a_changed_scope(searched: House) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        searched.write(name, "hit\n" * 10)
    await searched.call("search_files", pattern="hit", limit=5)
    searched.write("a.txt", "hit\n" * 11)
    assert "scope changed" in footer(await searched.call("search_files", pattern="hit", limit=5, offset=5))
    assert "scope changed" not in footer(await searched.call("search_files", pattern="hit", limit=5, offset=10))


async def test_names_page_as_rows_do(searched: House) -> None:
    for number in range(9):
        searched.write(f"f{number}.txt", "")
    assert await names(searched, "", limit=4) == [f"f{n}.txt" for n in range(4)]
    assert await names(searched, "", limit=4, offset=4) == [f"f{n}.txt" for n in range(4, 8)]
    searched.write("f00.txt", "")
    result = await searched.call("search_files", pattern="", target="files", limit=4, offset=8)
    assert "scope changed" in footer(result)
    assert result["data"]["total"] == 10


# names


async def test_the_three_forms_of_file_names(searched: House) -> None:
    for name in ("docker-compose.yml", "deploy/docker-compose.prod.yml", "src/main.ts", "src/a/b.ts", "src/a/c.js"):
        searched.write(name, "x\n")
    assert await names(searched, "docker-compose") == ["deploy/docker-compose.prod.yml", "docker-compose.yml"]
    assert await names(searched, "src/**/*.ts") == ["src/a/b.ts", "src/main.ts"]
    assert await names(searched, "src/*.ts") == ["src/main.ts"]
    assert await names(searched, "*.{js,ts}") == ["src/a/b.ts", "src/a/c.js", "src/main.ts"]
    assert await names(searched, "[mb]*.ts") == ["src/a/b.ts", "src/main.ts"]
    assert await names(searched, "a/", path="src") == ["src/a/b.ts", "src/a/c.js"]
    assert await names(searched, "src", path="src") == []


async def test_odd_names_are_one_row_each(searched: House) -> None:
    searched.write("a\nb.txt", "hit\n")
    searched.write_bytes_name(b"caf\xe9.txt", b"hit\n")
    result = await searched.call("search_files", pattern="hit")
    assert lines(result) == ["a\\nb.txt:1:hit", "caf\\xe9.txt:1:hit"]
    assert result["data"]["results"][1]["path_bytes"] == "caf%E9.txt"
    assert await names(searched, "*.txt") == ["a\nb.txt", "caf�.txt"]
    named = await searched.call("search_files", pattern="hit", path_bytes="caf%E9.txt")
    assert lines(named) == ["caf\\xe9.txt:1:hit"]


async def test_a09_a_pattern_or_name_that_looks_like_an_option_is_none(searched: House) -> None:
    for name in ("-rf.txt", "--pre=x.md", "u.txt"):
        searched.write(name, "use --help or -needle\n" if name == "u.txt" else "x\n")
    assert rows(await searched.call("search_files", pattern="--help")) == [("u.txt", 1)]
    assert rows(await searched.call("search_files", pattern="-needle")) == [("u.txt", 1)]
    assert rows(await searched.call("search_files", pattern="--pre=/tmp/p.sh")) == []
    assert await names(searched, "--pre") == ["--pre=x.md"]
    assert rows(await searched.call("search_files", pattern="x", path="-rf.txt")) == [("-rf.txt", 1)]


# lines


async def test_a19_a86_only_a_newline_ends_a_line(searched: House) -> None:
    searched.write("a.txt", b"one\n\x0ctwo\nthree\xe2\x80\xa8x\nfour\n")
    assert rows(await searched.call("search_files", pattern="four")) == [("a.txt", 4)]
    assert "\n" not in (await searched.call("search_files", pattern="three"))["data"]["results"][0]["text"]


async def test_a20_a_lone_carriage_return_ends_no_line(searched: House) -> None:
    searched.write("a.txt", b"alpha\nbeta\rcarriage\ngamma NEEDLE\n")
    assert rows(await searched.call("search_files", pattern="NEEDLE")) == [("a.txt", 3)]
    result = await searched.call("search_files", pattern="beta", context=1)
    assert lines(result) == ["a.txt-1-alpha", "a.txt:2:beta\\rcarriage", "a.txt-3-gamma NEEDLE"]


async def test_a24_a_byte_order_mark_belongs_to_no_line(searched: House) -> None:
    searched.write("a.txt", b"\xef\xbb\xbftest\ntest\n")
    result = await searched.call("search_files", pattern="^test")
    assert lines(result) == ["a.txt:1:test", "a.txt:2:test"]


async def test_a25_a_final_carriage_return_is_no_part_of_a_line(searched: House) -> None:
    searched.write("a.txt", b"needle\r\nneedle\n")
    assert lines(await searched.call("search_files", pattern="needle$")) == ["a.txt:1:needle", "a.txt:2:needle"]


async def test_a26_binary_is_a_nul_in_the_first_8_kib_and_is_counted(searched: House) -> None:
    searched.write("late", b"a\n" * 4500 + b"\0\nneedle\n")
    searched.write("early", b"a" * 100 + b"\0\nneedle\n")
    result = await searched.call("search_files", pattern="needle")
    assert paths(result) == ["late"]
    assert result["data"]["skipped"]["binary"] == 1


async def test_a29_utf16_is_counted_as_skipped(searched: House) -> None:
    searched.write("a.txt", b"\xff\xfet\x00e\x00s\x00t\x00\n\x00")
    result = await searched.call("search_files", pattern="test")
    assert paths(result) == []
    assert result["data"]["skipped"]["binary"] == 1


async def test_latin_1_lines_are_searched_but_match_no_accented_letter(searched: House) -> None:
    searched.write("a.txt", b"caf\xe9 one\ncaf\xc3\xa9 two\n")
    assert [line for _path, line in rows(await searched.call("search_files", pattern="caf. (one|two)"))] == [1, 2]
    assert [line for _path, line in rows(await searched.call("search_files", pattern="café"))] == [2]


async def test_a75_a_match_in_a_5_mib_line_is_shown_or_said_to_be_beyond(searched: House) -> None:
    line = bytearray(b"a" * (5 << 20))
    line[500_000:500_006] = b"needle"
    line[3_000_000:3_000_006] = b"farout"
    searched.write("a.txt", bytes(line) + b"\n")
    near = await searched.call("search_files", pattern="needle")
    assert len(near["data"]["results"][0]["text"].encode()) <= 240
    assert "needle" in near["data"]["results"][0]["text"]
    far = await searched.call("search_files", pattern="farout")
    assert far["data"]["results"] == []
    assert far["data"]["skipped"]["truncated_lines"] == 1
    assert "1 lines searched in part" in footer(far)


async def test_a76_a_hostile_pattern_is_answered_and_others_are_served(searched: House) -> None:
    searched.write("evil.txt", b"a" * 40 + b"!\n")
    began = time.monotonic()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: searched.call("search_files", pattern="(a+)+$", path="evil.txt"))
        with trio.fail_after(3):
            await searched.call("list_dir", path=".")
    assert time.monotonic() - began < 5


# ignore rules


@pytest.mark.parametrize(
    ("rules", "visible"),
    [
        pytest.param("build/\n!build/keep.txt\n", [], id="a62-parent"),
        pytest.param("build/*\n!build/keep.txt\n", ["build/keep.txt"], id="a62-entries"),
    ],
)
async def test_a62_nothing_below_an_ignored_directory_comes_back(
    searched: House, rules: str, visible: list[str]
) -> None:
    searched.write(".gitignore", rules)
    for name in ("build/keep.txt", "build/no.txt"):
        searched.write(name, "needle\n")
    assert paths(await searched.call("search_files", pattern="needle")) == visible


async def test_a63_the_order_of_rules_is_kept(searched: House) -> None:
    searched.write(".gitignore", "/*\n!/foo\n/foo/*\n!/foo/bar\n")
    for name in ("foo/bar/x", "foo/y", "z"):
        searched.write(name, "needle\n")
    for _ in range(20):
        assert paths(await searched.call("search_files", pattern="needle")) == ["foo/bar/x"]


@pytest.mark.parametrize(
    ("rules", "hidden", "seen"),
    [
        pytest.param(b"foo \nbar\\ \n", ["foo", "bar "], ["bar"], id="a64"),
        pytest.param(b"\\#notes\n\\!bang\n#comment\n", ["#notes", "!bang"], ["comment", "#comment"], id="a65"),
        pytest.param(b"a/**/b\n", ["a/b", "a/x/b", "a/x/y/b"], ["z/a/b"], id="a66"),
        pytest.param(b"*.[oa]\n[!x]y.txt\n[a-c]z.md\n", ["f.o", "f.a", "ay.txt", "az.md"], ["f.c", "xy.txt"], id="a67"),
        pytest.param(b"\xef\xbb\xbfskip.txt\r\nother.txt\r\n", ["skip.txt", "other.txt"], ["seen.txt"], id="a68"),
        pytest.param(b"*\n!*.*\n", ["plain"], ["a.b"], id="a70"),
    ],
)
async def test_a64_to_a70_rules_mean_what_git_means(
    searched: House, rules: bytes, hidden: list[str], seen: list[str]
) -> None:
    searched.write(".gitignore", rules)
    for name in (*hidden, *seen, ".git/config"):
        searched.write(name, "needle\n")
    assert paths(await searched.call("search_files", pattern="needle")) == sorted(seen)


async def test_a69_a_rule_for_directories_spares_files_and_links(searched: House) -> None:
    searched.write(".gitignore", "only/\n")
    searched.write("only", "needle\n")
    searched.write("d/only/x", "needle\n")
    searched.write("e/target/x", "needle\n")
    (searched.root / "e/only").symlink_to("target")
    assert paths(await searched.call("search_files", pattern="needle")) == ["e/target/x", "only"]


async def test_a71_dot_ignore_beats_gitignore(searched: House) -> None:
    searched.write(".gitignore", "/dir\n")
    searched.write("dir/sub/x", "needle\n")
    searched.write(".ignore", "!/dir/sub/\n")
    assert paths(await searched.call("search_files", pattern="needle")) == []
    searched.write(".ignore", "!/dir\n")
    assert paths(await searched.call("search_files", pattern="needle")) == ["dir/sub/x"]


@pytest.mark.parametrize("directory", ["***", "[x]"])
async def test_a72_the_name_of_a_directory_is_no_pattern(searched: House, directory: str) -> None:
    searched.write(f"{directory}/.gitignore", "*.tmp\n")
    for name in (f"{directory}/a.tmp", "x/a.tmp", "a.tmp"):
        searched.write(name, "needle\n")
    assert paths(await searched.call("search_files", pattern="needle")) == ["a.tmp", "x/a.tmp"]


async def test_a73_ignored_hits_are_counted_and_found_where_they_are_named(searched: House) -> None:
    searched.write(".gitignore", "out/\n*.log\n")
    searched.write("out/a.txt", "needle\n")
    searched.write("out/deep/b.log", "needle\n")
    searched.write("c.log", "needle\n")
    result = await searched.call("search_files", pattern="needle")
    assert result["data"]["results"] == []
    assert "2 ignored by rules" in footer(result)
    assert paths(await searched.call("search_files", pattern="needle", path="out")) == ["out/a.txt"]
    assert paths(await searched.call("search_files", pattern="needle", path="c.log")) == ["c.log"]
    assert await names(searched, "", path="out") == ["out/a.txt"]


# links, places, policy


async def test_a77_links_to_directories_are_not_followed(searched: House) -> None:
    searched.write("sub/a.txt", "needle\n")
    (searched.root / "loop").symlink_to(".")
    (searched.root / "sub/up").symlink_to("..")
    assert paths(await searched.call("search_files", pattern="needle")) == ["sub/a.txt"]
    assert await names(searched, "") == ["sub/a.txt"]


async def test_a_linked_file_is_searched_where_its_target_may_be_read(searched: House) -> None:
    outside = searched.root.parent / "out"
    (outside / "secret.txt").write_text("needle\n")
    searched.write(".env", "needle\n")
    searched.write("b.txt", "needle\n")
    os.mkfifo(searched.root / "pipe")
    for name, target in (("a", "b.txt"), ("c", "../out/secret.txt"), ("d", ".env"), ("e", "none"), ("f", "pipe")):
        (searched.root / name).symlink_to(target)
    for order in ("discovery", "modified"):
        result = await searched.call("search_files", pattern="needle", order=order)
        assert sorted(paths(result)) == ["a", "b.txt"]
        # A link that leads to nothing that may be read is no file, so nothing was left out for it.
        assert {name: count for name, count in result["data"]["skipped"].items() if count} == {
            "protected": 1,
            "special": 1,
        }
    assert await names(searched, "") == ["a", "b.txt"]


async def test_a78_what_is_too_deep_is_counted_and_the_rest_is_found(searched: House) -> None:
    with dug(searched.root, 400, (50, 400)):
        result = await searched.call("search_files", pattern="needle")
        assert paths(result) == ["d/" * 50 + "needle"]
        assert result["data"]["skipped"]["too_deep"] == 1


async def test_a79_what_was_removed_or_moved_is_gone_at_once(searched: House) -> None:
    for name in ("a.txt", "b/c.txt", "d.txt"):
        searched.write(name, "needle\n")
    assert len(await names(searched, "")) == 3
    (searched.root / "a.txt").unlink()
    (searched.root / "b").rename(searched.root / "moved")
    assert await names(searched, "") == ["d.txt", "moved/c.txt"]
    assert paths(await searched.call("search_files", pattern="needle")) == ["d.txt", "moved/c.txt"]


async def test_outside_needs_a_match_for_the_directory_and_each_entry(make_searched: Make) -> None:
    house = await make_searched(allow_read=(r"/out/$", r"/out/sub/$", r"/out/.*\.txt$"))
    outside = house.root.parent / "out"
    for name in ("a.txt", "b.bin", "sub/c.txt", "other/d.txt"):
        (outside / name).parent.mkdir(exist_ok=True)
        (outside / name).write_text("needle\n")
    top = real(outside)
    result = await house.call("search_files", pattern="needle", path=str(outside))
    assert lines(result) == [f"{top}/a.txt:1:needle", f"{top}/sub/c.txt:1:needle"]
    assert paths(result) == [f"{top}/a.txt", f"{top}/sub/c.txt"]
    assert paths(await house.call("search_files", pattern="needle", path=f"{outside}/a.txt")) == [f"{top}/a.txt"]
    newest = await house.call("search_files", pattern="needle", path=str(outside), order="modified")
    assert sorted(paths(newest)) == [f"{top}/a.txt", f"{top}/sub/c.txt"]
    await house.fault(Slug.OUTSIDE_WORKSPACE, "search_files", pattern="x", path=str(outside / "other"))


async def test_outside_is_open_where_reading_outside_is_allowed(make_searched: Make) -> None:
    house = await make_searched(allow_read_outside=True)
    outside = house.root.parent / "out"
    (outside / "a.txt").write_text("needle\n")
    (outside / ".env").write_text("needle\n")
    result = await house.call("search_files", pattern="needle", path=str(outside))
    assert paths(result) == [real(outside) + "/a.txt"]
    assert result["data"]["skipped"]["protected"] == 1


async def test_what_cannot_be_searched_is_refused_with_its_reason(searched: House) -> None:
    searched.write(".ssh/id_rsa", "x")
    searched.write(".picoclaw/artifacts/1.txt", "needle\n")
    os.mkfifo(searched.root / "pipe")
    await searched.fault(Slug.NOT_FOUND, "search_files", pattern="x", path="none")
    await searched.fault(Slug.OUTSIDE_WORKSPACE, "search_files", pattern="x", path="/etc")
    await searched.fault(Slug.PROTECTED_PATH, "search_files", pattern="x", path=".ssh")
    await searched.fault(Slug.PROTECTED_PATH, "search_files", pattern="x", path=".picoclaw/artifacts")
    await searched.fault(Slug.NOT_A_FILE, "search_files", pattern="x", path="pipe")
    fault = await searched.fault(Slug.INVALID_PARAMS, "search_files", pattern="(")
    assert "missing )" in fault.message
    await searched.fault(Slug.PATTERN_TOO_COMPLEX, "search_files", pattern="x" * 5000)
    assert await names(searched, "") == []


# secrets


async def test_a102_secrets_are_masked_in_rows_and_data_but_for_operators(searched: House) -> None:
    searched.write("a.txt", "x" * 300 + f" token = {SECRET} " + "y" * 300 + "\n" + f"plain {SECRET}\n")
    for pattern in ("token", "plain", SECRET[:8], "y$"):
        result = await searched.call("search_files", pattern=pattern, context=1)
        assert SECRET[4:12] not in result["content"]
        assert SECRET[4:12] not in str(result["data"])
        assert result["data"]["results"]
    verbatim = await searched.call("search_files", pattern="plain", session=searched.operator)
    assert lines(verbatim) == [f"a.txt:2:plain {SECRET}"]


async def test_a_token_that_the_window_would_cut_is_masked(searched: House) -> None:
    for lead in range(180, 260, 7):
        searched.write("a.txt", "hit " + "z " * (lead // 2) + SECRET + "\n")
        text = (await searched.call("search_files", pattern="hit"))["data"]["results"][0]["text"]
        assert "ghp_" not in text


@pytest.mark.parametrize("mode", ["content", "files_only", "count"])
async def test_under_strict_redaction_a_search_is_no_oracle(make_searched: Make, mode: str) -> None:
    house = await make_searched(options=Options(redaction="strict"))
    house.write("a.txt", f"key {SECRET}\n")
    guess = await house.call("search_files", pattern=f"ghp_{SECRET[4:9]}", output_mode=mode)
    wrong = await house.call("search_files", pattern="ghp_zzzzz", output_mode=mode)
    assert guess["data"]["results"] == wrong["data"]["results"] == []
    assert guess["data"]["skipped"]["redacted"] == 1
    assert "1 lines that match only in a masked secret" in footer(guess)
    assert len((await house.call("search_files", pattern="^key", output_mode=mode))["data"]["results"]) == 1
    told = await house.call("search_files", pattern=SECRET[:9], output_mode=mode, session=house.operator)
    assert len(told["data"]["results"]) == 1


# budget, deadline, cancelling


async def test_a_file_over_the_budget_is_skipped_alone_and_text_in_the_cache_is_free(make_searched: Make) -> None:
    settings = SearchFilesSettings(scan_max_bytes=1000)
    house = await make_searched(settings={"search_files": settings})
    long_ago = time.time() - 100
    for name, size in (("a.txt", 600), ("b.txt", 900), ("c.txt", 100), ("d.txt", 290)):
        path = house.write(name, b"needle\n" + b"x" * (size - 7))
        os.utime(path, (long_ago, long_ago))
    await trio.sleep(0.05)  # what changed within the last 20 ms is read, and not kept
    first = await house.call("search_files", pattern="needle")
    assert paths(first) == ["a.txt", "c.txt", "d.txt"]
    assert first["data"]["skipped"]["over_budget"] == 1
    assert "1 over the scan budget" in footer(first)
    again = await house.call("search_files", pattern="needle")
    assert paths(again) == ["a.txt", "b.txt", "c.txt", "d.txt"]


async def test_a_budget_of_files_ends_no_search(make_searched: Make) -> None:
    house = await make_searched(settings={"search_files": SearchFilesSettings(scan_max_files=2)})
    for name in ("a.txt", "b.txt", "c.txt"):
        house.write(name, "needle\n")
    result = await house.call("search_files", pattern="needle")
    assert paths(result) == ["a.txt", "b.txt"]
    assert result["data"]["skipped"]["over_budget"] == 1
    assert result["data"]["complete"]


async def test_at_the_deadline_it_says_that_it_is_not_complete(
    searched: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("picoclawd.tools.search_files.DEADLINE_S", -1.0)
    searched.write("a.txt", "needle\n")
    for params in ({"pattern": "needle"}, {"pattern": "x", "offset": 3}, {"pattern": "x", "order": "modified"}):
        result = await searched.call("search_files", **params)
        assert not result["data"]["complete"]
        assert result["data"]["total"] is None
        assert "is not complete" in footer(result)
        assert "no match" not in footer(result)


async def test_a_file_that_becomes_a_directory_or_vanishes_is_counted(
    searched: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        searched.write(name, "needle\n")
    searcher = searched.workspace.searcher
    read = searcher.text

    def text(*args: Any) -> Any:
        (searched.root / "a.txt").unlink(missing_ok=True)
        if (searched.root / "b.txt").is_file():
            (searched.root / "b.txt").unlink()
            (searched.root / "b.txt").mkdir()
        return read(*args)

    monkeypatch.setattr(searcher, "text", text)
    result = await searched.call("search_files", pattern="needle")
    assert paths(result) == ["c.txt"]
    assert result["data"]["skipped"]["vanished"] == 1
    assert result["data"]["skipped"]["special"] == 1


async def test_own_writes_are_seen_at_once_under_either_consistency(searched: House) -> None:
    for number in range(20):
        name = f"d{number % 3}/f{number}.txt"
        await searched.call("write_file", path=name, content=f"token{number} here\n")
        for consistency in ("verified", "watched"):
            result = await searched.call("search_files", pattern=f"token{number} ", consistency=consistency)
            assert paths(result) == [name]
            assert result["data"]["consistency"] == "verified"  # there is no watcher here


async def test_every_row_of_random_trees_is_one_of_a_naive_scan(searched: House) -> None:
    dice = random.Random(7)
    words = ["alpha", "beta", "Gamma", "x1", "é", "foo_bar", "  ", "\t"]
    for number in range(60):
        name = "/".join(dice.choice("abc") for _ in range(dice.randint(1, 3))) + f"/f{number}"
        searched.write(name, "\n".join(" ".join(dice.choices(words, k=4)) for _ in range(dice.randint(0, 30))))
    for pattern in ("alpha", "beta.*x1", "^$", r"\bGamma$", "é|foo", "[0-9]", r"^\s"):
        wanted = []
        for path in sorted(searched.root.rglob("*"), key=lambda each: str(each).replace("/", "\0")):
            if path.is_file():
                text = path.read_text().removesuffix("\n")
                wanted += [
                    (str(path.relative_to(searched.root)), line_no)
                    for line_no, line in enumerate(text.split("\n"), 1)
                    if path.stat().st_size and re.search(pattern, line, re.ASCII)
                ]
        result = await searched.call("search_files", pattern=pattern, limit=200)
        assert rows(result) == wanted[:200]


@pytest.mark.parametrize("size", [100, 3_000_000])
@pytest.mark.parametrize("consistency", ["verified", "watched"])
async def test_documents_that_were_not_searched_are_counted_by_their_content(
    make_searched: Callable[..., Awaitable[House]], size: int, consistency: str
) -> None:
    house = await make_searched()
    house.write("a.dat", b"\x89PNG\r\n\x1a\n" + b"\0" * size)
    house.write("b.docx", b"PK\x03\x04\0\0[Content_Types].xml" + b"\0" * size)
    house.write("c.pdf", b"\0" * size)
    house.write("d.txt", "needle\n")
    for tool, params in (
        ("search_files", {"pattern": "needle"}),
        ("find_files", {"queries": [{"pattern": "needle"}], "mode": "search"}),
    ):
        for _ in range(2):  # the second time from what was kept
            result = await house.call(tool, consistency=consistency, **params)
            skipped = result["data"]["skipped"]
            assert (skipped["documents"], skipped["binary"]) == (2, 1), tool
            assert "2 documents" in result["content"]
