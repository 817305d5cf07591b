"""What a pattern requires is in every text that it matches, and is worth asking for."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picoclawd.errors import Fault
from picoclawd.index.literals import requirement
from picoclawd.index.matcher import compile_search
from picoclawd.index.requirements import (
    ALTERNATIVES_MAX,
    ANYTHING,
    EVERYTHING,
    All,
    AnyOf,
    Literal,
    Query,
    Requirement,
    trigram_query,
)
from picoclawd.index.scan import EXISTS, scan_file

# A pattern, and a text that it should match: a random text alone hardly ever would.
Pair = tuple[str, str]

CHARS = st.sampled_from([*"aabckKsSZ_ 09=-(.{", "é", "É", "\u212a", "\u017f", "µ", "語", "\t", "\r", "\n", "\0"])
WORDS = st.one_of(
    CHARS, st.sampled_from(["submit", "Task", "SKB", "foo", "fool", "bar", "kmalloc", "skb", "return", "été"])
)


def escaped(text: str) -> str:
    return "".join(rf"\{char}" if char in r"\.+*?()|[]{}^$" else char for char in text)


SPELLINGS: list[Callable[[str], str]] = [
    escaped,
    escaped,
    escaped,
    lambda text: "".join(f"\\x{{{ord(char):x}}}" for char in text),
    lambda text: "".join(f"\\x{ord(char):02x}" if ord(char) < 256 else char for char in text),
    lambda text: "".join(f"\\{ord(char):03o}" if ord(char) < 256 else char for char in text),
    lambda text: rf"\Q{text}\E",
    lambda text: "".join(rf"\{char}" if not char.isalnum() and char.isascii() else char for char in text),
    lambda text: text.translate({9: r"\t", 10: r"\n", 13: r"\r"}),
]
LITERALS = st.builds(lambda text, spelling: (spelling(text), text), WORDS, st.sampled_from(SPELLINGS))
ATOMS: list[Pair] = [
    *((".", char) for char in "aé\n"),
    *((r"\C", "a"), (r"[^x]", "\n"), (r"[^x\n]", "é"), (r"\w+", "foo"), (r"\s*", " \n"), (r"\W", "é"), (r"\D", "a")),
    *((r"\pL", "é"), (r"\p{Greek}", "µ"), (r"\p{^L}", "0"), (r"\PL", "-"), (r"\pN+", "09"), (r"[\pL\d]", "é")),
    *(("[ab]", "b"), ("[a-c]", "c"), ("[sk]", "k"), ("[-a]", "-"), ("[]a]", "]"), ("[a-]", "-"), ("[^]a]", "b")),
    *(("[é語]", "語"), ("[à-ü]", "é"), (r"[\n ]", "\n"), (r"[\x41\x{42}]", "B"), (r"[\t\r]", "\r"), ("[a-c-e]", "-")),
    *(
        ("[[:alpha:]]", "k"),
        ("[[:^space:]s]", "s"),
        (r"[\-\]]", "]"),
        ("[0-9]{4}", "0990"),
        ("[S]", "S"),
        ("[[a]", "["),
    ),
    *((r"\b", ""), (r"\B", ""), ("^", ""), ("$", ""), (r"\A", ""), (r"\z", ""), ("", ""), ("()", ""), ("(?:)", "")),
    *(("(?i)", ""), ("(?-i)", ""), ("(?s)", ""), ("(?m)", ""), ("(?U)", ""), ("(?i-s)", ""), ("(?)", "")),
    *(("a{", "a{"), ("a{,2}", "a{,2}"), ("a{02}", "a{02}"), ("a{1000000000}", "a{1000000000}"), ("]}", "]}")),
]
FORMS = [
    "({})",
    "(?:{})",
    "(?i:{})",
    "(?i:{})",
    "(?-i:{})",
    "((?i){})",
    "(?s-i:{})",
    "(?P<n>{})",
    "(?<m>{})",
    "(?mU:{})",
]
REPEATS = [*("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0}", "{0,2}", "{1}", "{3,}", "{2,}?", "{5}", "{6,7}")]


def concatenated(pairs: list[Pair]) -> Pair:
    return "".join(source for source, _ in pairs), "".join(text for _, text in pairs)


def grouped(pair: Pair, form: str, case: Callable[[str], str]) -> Pair:
    return form.replace("{}", pair[0]), case(pair[1]) if "?i" in form else pair[1]


def alternated(pairs: list[Pair], index: int) -> Pair:
    return "(" + "|".join(source for source, _ in pairs) + ")", pairs[index % len(pairs)][1]


def repeated(pair: Pair, repeat: str, times: int, is_grouped: bool) -> Pair:
    return f"(?:{pair[0]}){repeat}" if is_grouped else f"{pair[0]}{repeat}", pair[1] * times


CASES: list[Callable[[str], str]] = [
    str.swapcase,
    str.upper,
    lambda text: text.translate({ord("k"): "\u212a", ord("s"): "\u017f"}),
    lambda text: text.replace("\u212a", "K").replace("\u017f", "S"),
]
PAIRS: st.SearchStrategy[Pair] = st.recursive(
    st.one_of(LITERALS, st.sampled_from(ATOMS)),
    lambda pairs: st.one_of(
        st.lists(pairs, min_size=2, max_size=5).map(concatenated),
        st.builds(grouped, pairs, st.sampled_from(FORMS), st.sampled_from(CASES)),
        st.builds(alternated, st.lists(pairs, min_size=2, max_size=5), st.integers(0, 4)),
        st.builds(repeated, pairs, st.sampled_from(REPEATS), st.integers(0, 6), st.booleans()),
    ),
    max_leaves=8,
)
NOISE = st.sampled_from([b"", b"", b"a", b"\n", b"\r\n", b" foo", "é".encode(), b"\xe9", b"K", b"x\n"])


@st.composite
def searches(draw: st.DrawFn) -> tuple[str, bytes, bool]:
    """A pattern, the bytes of a file that it mostly matches, and whether over several lines."""
    source, text = draw(PAIRS)
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "latin-1"]))
    data = draw(NOISE) + text.encode(encoding, "replace") + draw(NOISE)
    return source, data.replace(b"\n", draw(st.sampled_from([b"\n", b"\r\n"]))), draw(st.booleans())


SEARCHES = searches()
FEW = settings(max_examples=1_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(FEW, max_examples=100_000)


def is_found(source: str, data: bytes, multiline: bool) -> bool:
    """Whether the search itself finds the pattern in a file; not if RE2 refuses the pattern."""
    try:
        pattern = compile_search(source, multiline=multiline)
    except Fault:
        return False
    return scan_file(pattern, data, EXISTS).count > 0


def holds(needed: Requirement, data: bytes) -> bool:
    match needed:
        case Literal():
            return needed.data in (data.lower() if needed.folded else data)
        case AnyOf():
            return any(holds(part, data) for part in needed.parts)
        case All():
            return all(holds(part, data) for part in needed.parts)


def check_search(source: str, data: bytes, multiline: bool) -> None:
    needed = requirement(source, multiline=multiline)
    assert holds(needed, data) or not is_found(source, data, multiline)


@FEW
@given(SEARCHES)
def test_what_a_pattern_requires_is_in_every_file_that_it_matches(search: tuple[str, bytes, bool]) -> None:
    check_search(*search)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@MANY
@given(SEARCHES)
def test_what_a_pattern_requires_is_in_every_file_that_it_matches_at_length(search: tuple[str, bytes, bool]) -> None:
    check_search(*search)


@settings(FEW, max_examples=500)
@given(st.text(st.sampled_from(r"aks\QEpPx{}()[]|*+?.^$:-,0123<>iUé" + "\n\ud800"), max_size=30))
def test_no_pattern_however_broken_raises(source: str) -> None:
    assert isinstance(trigram_query(requirement(source)), Query)


def literal(text: str) -> Literal:
    return Literal(text.encode())


def any_of(*texts: str) -> AnyOf:
    return AnyOf(tuple(map(literal, texts)))


def all_of(*texts: str) -> All:
    return All(tuple(map(literal, texts)))


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("EXPORT_SYMBOL_GPL", literal("EXPORT_SYMBOL_GPL")),
        ("usb_submit_urb", literal("usb_submit_urb")),
        ("zzzqqqxxx", literal("zzzqqqxxx")),
        ("return", literal("return")),
        ("[a-z]+_[0-9]{4}x", all_of("_", "x")),
        (r"\bschedule_work\w*\(", all_of("schedule_work", "(")),
        (r"^static int .*probe\(.*\)$", all_of("static int ", "probe(", ")")),
        ("TODO|FIXME|XXX", any_of("TODO", "FIXME", "XXX")),
        (r"\w+\s*=\s*kmalloc\(", all_of("=", "kmalloc(")),
        ("(foo|bar)baz", any_of("foobaz", "barbaz")),
        ("x(?P<n>foo|bar)?y", any_of("xfooy", "xbary", "xy")),
        ("colou?r", any_of("colour", "color")),
        ("[ab]cd", any_of("acd", "bcd")),
        ("ab{3}c", literal("abbbc")),
        ("(abc)+d", all_of("abc", "abcd")),
        ("abc*d", all_of("ab", "d")),
        (r"\x41\x{42}\103\Q.*\E\.\t", literal("ABC.*.\t")),
        ("foo|fool", literal("foo")),
        ("foo(?:bar.*)?", literal("foo")),
        ("été", literal("été")),
        (r"foo[\n ]bar", literal("foo bar")),
        ("foo\nbar", all_of("foo", "bar")),
        ("A(?i)b(?-i)CD", Literal(b"abcd", folded=True)),
        ("(?i:(?-i)AB)", literal("AB")),
        ("((?i)ab)|CD", AnyOf((Literal(b"ab", folded=True), literal("CD")))),
        ("(?i:ab).CD", All((Literal(b"ab", folded=True), literal("CD")))),
        ("(?i)_09", literal("_09")),
        ("(?i)fooéBAR", All((Literal(b"foo", folded=True), Literal(b"bar", folded=True)))),
    ],
)
def test_the_requirement_is_worth_asking_for(source: str, needed: Requirement) -> None:
    assert requirement(source) == needed


@pytest.mark.parametrize(
    "source",
    [
        "",
        ".",
        "x*",
        "a|",
        "(foo)?",
        r"\pL+",
        "[^a]",
        "(?:foo){0,3}",
        "(?i)é",
        "[0-9]",
        "(((",
        "foo)",
        "a{1001}b",
        r"\8a",
    ],
)
def test_a_pattern_that_requires_nothing_or_is_not_understood_filters_nothing(source: str) -> None:
    assert requirement(source) == ANYTHING
    assert trigram_query(ANYTHING) == EVERYTHING


def test_letters_with_partners_outside_of_ascii_are_looked_for_as_these_too() -> None:
    needed = requirement("(?i)submit_urb")
    assert needed == AnyOf((Literal(b"submit_urb", folded=True), Literal("\u017fubmit_urb".encode(), folded=True)))
    for text in ("SUBMIT_URB", "Submit_Urb", "\u017fubmit_URB"):
        assert holds(needed, text.encode())
    assert not holds(needed, b"submit urb")


def test_a_line_break_in_a_match_is_not_looked_for_as_it_may_be_two_bytes() -> None:
    assert requirement(r"foo\nbar", multiline=True) == all_of("foo", "bar")
    assert requirement(r"foo[\n ]bar", multiline=True) == all_of("foo", "bar")


def alternatives(needed: Requirement) -> int:
    """The most alternatives anywhere in a requirement."""
    if isinstance(needed, Literal):
        return 1
    here = len(needed.parts) if isinstance(needed, AnyOf) else 1
    return max([here, *map(alternatives, needed.parts)])


def test_alternatives_are_bounded_and_what_follows_too_many_is_still_found() -> None:
    many = "|".join(f"word{index}" for index in range(ALTERNATIVES_MAX + 1))
    assert requirement(many) == ANYTHING
    assert requirement(f"({many}).*tail") == literal("tail")
    needed = requirement("(?i)skb_task_struct_success_kick")
    assert alternatives(needed) == ALTERNATIVES_MAX
    assert holds(needed, b"SKB_task_STRUCT_success_kick")
    assert not holds(needed, b"skb_task_success_kick")


def test_no_depth_of_groups_and_no_length_overflows() -> None:
    assert requirement("(" * 2000 + "abc" + ")" * 2000) == ANYTHING
    assert requirement("(" * 40 + "abc" + ")" * 40) == literal("abc")
    assert requirement("abcd" * 1000) == literal("abcd" * 1000)
    assert isinstance(trigram_query(requirement("(?i)ks[ab](x|y)?." * 200)), Query)
    assert requirement("a{" + "9" * 5000 + "}") == ANYTHING


def test_most_of_the_random_patterns_match_their_texts() -> None:
    found: list[bool] = []

    @settings(max_examples=200, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(SEARCHES)
    def count(search: tuple[str, bytes, bool]) -> None:
        found.append(is_found(*search))

    count()
    assert sum(found) > len(found) / 4, f"{sum(found)} of {len(found)}"
