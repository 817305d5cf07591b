"""A rule file is parted as git parts it, and cut where it grows absurd."""

import pytest

from picoclawd.index.ignore_lines import RULE_FILE_MAX_BYTES, RULE_MAX_BYTES, RULES_MAX, RuleLine, read_rules


def texts(data: bytes) -> list[bytes]:
    """The rules' texts."""
    return [rule.text for rule in read_rules(data)[0]]


@pytest.mark.parametrize(
    ("data", "rules"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfa\r\nb\r\n", [b"a", b"b"]),
        (b"\xef\xbb\xbf#a\n", []),
        (b"a\r\r\n", [b"a\r"]),
        (b"a\r", [b"a"]),
        (b"\r\n", []),
        (b"a\rb\n", [b"a\rb"]),
        (b"#a\n #b\n\\#c\n", [b" #b", b"\\#c"]),
        (b"a \nb  \n  \n", [b"a", b"b"]),
        (b"a\t\nb \t\n", [b"a\t", b"b \t"]),
        (b"a\\ \nb\\  \nc\\\\ \nd\\ \\ \n", [b"a\\ ", b"b\\ ", b"c\\\\", b"d\\ \\ "]),
        (b"a \r\n", [b"a"]),
        (b"a\0b\n\0\n", [b"a"]),
        (b"caf\xe9\n", [b"caf\xe9"]),
    ],
)
def test_lines_become_rules(data: bytes, rules: list[bytes]) -> None:
    assert texts(data) == rules


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"a", RuleLine(1, b"a", b"a", negated=False, directories_only=False, anchored=False)),
        (b"!a", RuleLine(1, b"!a", b"a", negated=True, directories_only=False, anchored=False)),
        (b"a/", RuleLine(1, b"a/", b"a", negated=False, directories_only=True, anchored=False)),
        (b"/a", RuleLine(1, b"/a", b"a", negated=False, directories_only=False, anchored=True)),
        (b"!/a/b/", RuleLine(1, b"!/a/b/", b"a/b", negated=True, directories_only=True, anchored=True)),
        (b"\\!a", RuleLine(1, b"\\!a", b"\\!a", negated=False, directories_only=False, anchored=False)),
        (b"!!a", RuleLine(1, b"!!a", b"!a", negated=True, directories_only=False, anchored=False)),
    ],
)
def test_a_rule_has_its_parts(text: bytes, rule: RuleLine) -> None:
    assert read_rules(text)[0] == [rule]


def test_line_numbers_count_every_line() -> None:
    assert [rule.line_no for rule in read_rules(b"\xef\xbb\xbf# x\n\na\n\r\nb")[0]] == [3, 5]


def test_a_file_over_1_mib_is_cut_behind_its_last_whole_line() -> None:
    line = b"x" * 1023 + b"\n"
    assert read_rules(line * 1024)[1] is False
    rules, cut = read_rules(line * 1023 + b"y" * 1023 + b"z\n")
    assert cut
    assert len(rules) == 1023
    assert read_rules(b"x" * (RULE_FILE_MAX_BYTES + 1)) == ([], True)


def test_rules_over_10_000_are_cut_and_comments_are_none() -> None:
    full = b"a\n# comment\n\n" * RULES_MAX
    assert (len(read_rules(full)[0]), read_rules(full)[1]) == (RULES_MAX, False)
    assert (len(read_rules(full + b"b\n")[0]), read_rules(full + b"b\n")[1]) == (RULES_MAX, True)


def test_a_rule_over_8_kib_is_left_out_alone() -> None:
    longest = b"x" * RULE_MAX_BYTES
    rules, cut = read_rules(b"a\n" + longest + b"x\nb\n")
    assert ([rule.line_no for rule in rules], cut) == ([1, 3], True)
    assert len(read_rules(longest + b"\n")[0]) == 1
