"""One rule file, compiled: the last rule that matches is found, whatever finds it."""

import time

import pytest

from picoclawd.index.ignore_rules import Table, parse_rules


def last_path(table: Table, path: bytes) -> int:
    """The last anchored rule that matches."""
    return max(table.paths.get(path, -1), table.path_globs.last(path))


@pytest.mark.parametrize(
    ("rules", "name", "index"),
    [
        (b"a\nb\na\n", b"a", 2),
        (b"a\nb\na\n", b"b", 1),
        (b"a\n*\n", b"a", 1),
        (b"*\na\n", b"a", 1),
        (b"*\na\n", b"x", 0),
        (b"*.o\nx.o\n*.o\n", b"x.o", 2),
        (b"x.o\n?.o\n", b"x.o", 1),
        (b"?.o\nx.o\n", b"x.o", 1),
        (b"**/a\n", b"a", 0),
        (b"a\n", b"b", -1),
        (b"", b"b", -1),
    ],
)
def test_the_last_rule_counts(rules: bytes, name: bytes, index: int) -> None:
    assert parse_rules(rules).files.last_for_name(name) == index


def test_the_last_anchored_rule_counts() -> None:
    table = parse_rules(b"/a/b\na/?\n/a/b\na/[b]\n").files
    assert [last_path(table, path) for path in (b"a/b", b"a/c", b"b")] == [3, 1, -1]


def test_rules_for_directories_are_only_in_the_table_for_directories() -> None:
    rules = parse_rules(b"a/\n/b/\nc*/\nd\n")
    assert [rules.files.last_for_name(name) for name in (b"a", b"cc", b"d")] == [-1, -1, 3]
    assert [rules.directories.last_for_name(name) for name in (b"a", b"cc", b"d")] == [0, 2, 3]
    assert (last_path(rules.files, b"b"), last_path(rules.directories, b"b")) == (-1, 1)


def test_rules_without_a_rule_for_directories_are_compiled_once() -> None:
    rules = parse_rules(b"*.o\n")
    assert rules.files is rules.directories


def test_10_000_rules_of_each_sort_compile() -> None:
    for glob in (b"*.e%d", b"*a%d*b*", b"**/a%d/**/b", b"n%d", b"/p/n%d"):
        rules = parse_rules(b"\n".join(glob % number for number in range(10_001)))
        assert rules.truncated
        assert len(rules.lines) == 10_000
    assert parse_rules(b"*.o\n").truncated is False


def test_a_rule_too_long_takes_no_other_with_it_and_is_told() -> None:
    rules = parse_rules(b"a*\n" + b"[xyz]" * 2000 + b"\nb*\n")
    assert rules.truncated
    assert [rules.files.last_for_name(name) for name in (b"ax", b"bx", b"cx")] == [0, 1, -1]
    assert [line.line_no for line in rules.lines] == [1, 3]


@pytest.mark.parametrize(
    "piece", [b"[[:" + b"[:" * 4000 + b"x]", b"[" * 8000, b"*" * 8000 + b"x", b"**/" * 2700, b"\\" * 8001]
)
def test_a_file_full_of_absurd_rules_is_compiled_in_seconds(piece: bytes) -> None:
    begun = time.perf_counter()
    rules = parse_rules(b"\n".join([piece] * (1024 * 1024 // (len(piece) + 1))))
    assert time.perf_counter() - begun < 10  # 0.1 to 0.5 s where this was written
    assert len(rules.lines) >= 127
