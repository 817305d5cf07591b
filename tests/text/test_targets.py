"""Several replacements at once: found in the file as it was, all made or none."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.text.lines import BOM
from picoclawd.text.quotes import straight
from picoclawd.text.replace import replace_once
from picoclawd.text.targets import FILE_MAX_BYTES, Target, apply_targets


def fault(original: bytes, *targets: Target) -> Fault:
    with pytest.raises(Fault) as caught:
        apply_targets(original, targets)
    return caught.value


@pytest.mark.parametrize(
    ("before", "targets", "after"),
    [
        pytest.param(b"one two\n", [Target("one ", ""), Target("two", "2\n3")], b"2\n3\n", id="a42 lines added first"),
        pytest.param(b"a\nb\nc\n", [Target("a\n", ""), Target("c", "C")], b"b\nC\n", id="a42 lines removed first"),
        pytest.param(b"a b c", [Target("c", "3"), Target("a", "1")], b"1 b 3", id="in any order"),
        pytest.param(b"ab", [Target("a", "1"), Target("b", "2")], b"12", id="side by side"),
        pytest.param(b"a b", [Target("a", "b"), Target("a b", "x")][:1], b"b b", id="a new text that was there"),
        pytest.param(b"a b a\n", [Target("a", "x", replace_all=True)], b"x b x\n", id="all"),
        pytest.param(b"aaa", [Target("aa", "b", replace_all=True)], b"ba", id="all, without overlap"),
        pytest.param(b"x", [Target("x", "$$5 $& \\1")], b"$$5 $& \\1", id="a30 literal"),
        pytest.param(b"a\n", [Target("a", "a")], b"a\n", id="nothing changes"),
        pytest.param(b"a\n", [Target("a", "a\nb")], b"a\nb\n", id="an insertion repeats its anchor"),
        pytest.param(BOM + b"a b\n", [Target("a", "1")], BOM + b"1 b\n", id="a16 byte order mark"),
        pytest.param(b"\xd6\xd0 a\n", [Target("a", "b")], b"\xd6\xd0 b\n", id="a17 not utf-8"),
        pytest.param(
            b"a\r\nb\r\nc\r\n", [Target("a\nb", "1\n2\n3")], b"1\r\n2\r\n3\r\nc\r\n", id="a23 lf matches crlf"
        ),
        pytest.param(
            b"a\r\nb\r\n-\r\na\r\nb\r\n",
            [Target("a\nb\n", "x\n", replace_all=True), Target("-", "+\n+")],
            b"x\r\n+\r\n+\r\nx\r\n",
            id="all over crlf, and a line end within a line",
        ),
        pytest.param(
            b"a a\r\nb\na", [Target("a", "1\n2", True)], b"1\r\n2 1\r\n2\r\nb\n1\n2", id="each line's own end"
        ),
        pytest.param(b"a\nb\r\nz", [Target("a\nb", "1\n2")], b"1\n2\r\nz", id="an exact match takes new as it is"),
    ],
)
def test_each_target_is_found_in_the_original(before: bytes, targets: list[Target], after: bytes) -> None:
    assert apply_targets(before, targets) == after


@pytest.mark.parametrize(
    ("before", "target", "after"),
    [
        pytest.param("say “x” and “y”\n", Target('"x"', '"z"'), "say “z” and “y”\n", id="straight for curly"),
        pytest.param('say "x"\n', Target("“x”", "“z”"), 'say "z"\n', id="curly for straight"),
        pytest.param("it’s\r\nso\r\n", Target("it's\nso", "it's\nnot"), "it’s\r\nnot\r\n", id="over crlf too"),
        pytest.param("“a” “b”", Target('"a"', '"a" or "c"'), "“a” or “c” “b”", id="more quotes than before"),
        pytest.param("“a”, “a”", Target('"a"', '"b"', True), "“b”, “b”", id="everywhere"),
        pytest.param('"x" “x”', Target('"x"', "'x'"), "'x' “x”", id="an exact match decides"),
        pytest.param("“x”\n", Target('"x"', ""), "\n", id="deleted"),
        pytest.param("“x”\r\ny\r\n", Target('"x"', '"x"\n"z"'), "“x”\r\n“z”\r\ny\r\n", id="a line end within a line"),
    ],
)
def test_quotes_match_in_either_style_and_keep_the_files(before: str, target: Target, after: str) -> None:
    assert apply_targets(before.encode(), [target]) == after.encode()


def test_an_empty_old_string_is_refused() -> None:
    error = fault(b"abc", Target("a", "b"), Target("", "x"))
    assert (error.slug, error.data["target"]) == (Slug.INVALID_PARAMS, 1)
    assert error.data["path"] == "$.targets[1].old_string"


@pytest.mark.parametrize("target", [Target("\ud800", "x"), Target("a", "\ud800")])
def test_a_lone_surrogate_is_refused(target: Target) -> None:
    assert fault(b"abc", target).slug is Slug.INVALID_PARAMS


def test_a_text_that_stands_twice_is_refused_with_its_lines() -> None:
    error = fault(b"b\na\na b a\n", Target("b\n", ""), Target("a", "x"))
    assert error.slug is Slug.AMBIGUOUS_MATCH
    assert (error.data["target"], error.data["count"], error.data["lines"]) == (1, 3, [2, 3, 3])
    assert "replace_all" in error.message


def test_quotes_that_fit_twice_are_ambiguous() -> None:
    assert fault("“x” “x”".encode(), Target('"x"', "z")).slug is Slug.AMBIGUOUS_MATCH


def test_a_text_that_is_not_there_is_diagnosed() -> None:
    error = fault(b"alpha\n\tvalue = 1\n", Target("alpha", "beta"), Target("    value = 1", "v"))
    assert error.slug is Slug.NO_MATCH
    assert (error.data["target"], error.data["differs"], error.data["lines"]) == (1, ["whitespace"], [2])
    assert error.message.startswith("targets[1].old_string not found in file. Make sure it matches exactly")
    assert error.excerpt == "2|\tvalue = 1"
    assert "value" not in error.message


@pytest.mark.parametrize(
    "targets",
    [
        [Target("abc", "1"), Target("cde", "2")],
        [Target("cde", "2"), Target("abc", "1")],
        [Target("abc", "1"), Target("abc", "2")],
        [Target("abcd", "1"), Target("b", "2")],
    ],
)
def test_a42_targets_on_one_region_are_refused(targets: list[Target]) -> None:
    error = fault(b"-\nabcdef\n", *targets)
    assert error.slug is Slug.TARGET_OVERLAP
    assert error.data == {"target": 1, "targets": [0, 1], "lines": [2]}


def test_an_old_string_inside_an_earlier_new_string_is_refused() -> None:
    error = fault(b"foo bar\n", Target("foo", "bar baz"), Target("bar", "x"))
    assert error.slug is Slug.TARGET_IN_EARLIER
    assert (error.data["target"], error.data["earlier"]) == (1, 0)
    assert apply_targets(b"foo bar\n", [Target("bar", "x"), Target("foo", "bar baz")]) == b"bar baz x\n"


def test_line_endings_do_not_hide_an_old_string_in_an_earlier_new_string() -> None:
    assert fault(b"a\nb\nc\n", Target("c", "a\r\nb"), Target("a\nb", "x")).slug is Slug.TARGET_IN_EARLIER


@pytest.mark.parametrize("before", [b"all\n", BOM + b"all\n"])
def test_a_file_is_never_emptied(before: bytes) -> None:
    assert fault(before, Target("all\n", "")).slug is Slug.WOULD_EMPTY


def test_a_file_over_a_mebibyte_is_refused_before_and_after() -> None:
    assert fault(b"x" * FILE_MAX_BYTES + b"end", Target("end", "END")).data["size"] == FILE_MAX_BYTES + 3
    full = b"x" * (FILE_MAX_BYTES - 3) + b"end"
    assert apply_targets(full, [Target("end", "END")]).endswith(b"xEND")
    assert fault(full, Target("end", "ends")).slug is Slug.TOO_LARGE


def test_a_replacement_that_would_explode_is_refused_before_it_is_made() -> None:
    assert fault(b"a" * 50_000, Target("a", "b" * 1_000_000, replace_all=True)).slug is Slug.TOO_LARGE


def test_one_exact_target_does_what_old_text_does() -> None:
    before = b"x\r\na\r\nb\r\n"
    for old, new in (("a", "1\n2"), ("\na\n", "\nA\nB\n"), ("x\na", "y"), ("b\r\n", "")):
        assert apply_targets(before, [Target(old, new)]) == replace_once(before, old, new)


def test_many_places_do_not_make_it_slow() -> None:
    began = time.perf_counter()
    apply_targets(b"a" * 100_000 + b"\r\n", [Target("a", "b\n", replace_all=True)])
    fault(b"ab" * 500_000, *(Target(f"{number}", "x" * 1000) for number in range(256)))
    apply_targets("“a”".encode() * 20_000 + b"\r\n", [Target('"a"', '"b"', replace_all=True)])
    assert time.perf_counter() - began < 10.0


TARGETS = st.lists(
    st.builds(Target, st.text("ab\n", min_size=1, max_size=3), st.text("cd\n", max_size=3), st.booleans()),
    min_size=1,
    max_size=4,
)


def naive(text: str, targets: list[Target]) -> str | Slug:
    """What must come out, by marking each character with the target that takes it."""
    owners: list[int | None] = [None] * len(text)
    begins: dict[int, str] = {}
    for index, target in enumerate(targets):
        if any(target.old_string in earlier.new_string for earlier in targets[:index]):
            return Slug.TARGET_IN_EARLIER
    for target in targets:
        count = text.count(target.old_string)
        if count != 1 and not (count and target.replace_all):
            return Slug.AMBIGUOUS_MATCH if count else Slug.NO_MATCH
    for index, target in enumerate(targets):
        at = text.find(target.old_string)
        while at >= 0:
            for place in range(at, at + len(target.old_string)):
                if owners[place] is not None:
                    return Slug.TARGET_OVERLAP
                owners[place] = index
            begins[at] = target.new_string
            at = text.find(target.old_string, at + len(target.old_string))
    after = "".join(begins.get(at, "") + ("" if owners[at] is not None else char) for at, char in enumerate(text))
    return after or Slug.WOULD_EMPTY


@settings(deadline=None, max_examples=300)
@given(st.text("ab\n", max_size=12), TARGETS)
def test_it_agrees_with_a_naive_model(text: str, targets: list[Target]) -> None:
    expected = naive(text, targets)
    if isinstance(expected, Slug):
        assert fault(text.encode(), *targets).slug is expected
    else:
        assert apply_targets(text.encode(), targets) == expected.encode()


@settings(deadline=None, max_examples=200)
@given(st.text("“”\"‘’'a\n", max_size=12), st.text("“”\"‘’'a\n", min_size=1, max_size=4), st.text('"b\n', max_size=3))
def test_whatever_the_quotes_the_text_is_what_a_plain_replacement_makes_of_it(text: str, old: str, new: str) -> None:
    before = f"<\r\n{text}>".replace("a\n", "a\r\n")
    try:
        after = apply_targets(before.encode(), [Target(old, new)]).decode()
    except Fault as error:
        assert error.slug in (Slug.NO_MATCH, Slug.AMBIGUOUS_MATCH)
        return
    if old in before:
        assert with_lf(after) == with_lf(before.replace(old, new))
    elif old in with_lf(before):
        assert with_lf(after) == with_lf(before).replace(old, new)
    else:
        assert straight(with_lf(after)) == straight(with_lf(before)).replace(straight(old), straight(new))


def with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")
