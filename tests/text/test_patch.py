import time
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.text.lines import BOM, split_lines
from picoclawd.text.patch import apply
from picoclawd.text.v4a import Hunk, HunkLine, Patch, parse
from tests.text.test_v4a import PATCHES

CORPUS = Path(__file__).parent.parent / "data" / "v4a"
CASES = sorted(folder.name for folder in CORPUS.iterdir())


def rejection(before: bytes, patch: str) -> Fault:
    with pytest.raises(Fault) as caught:
        apply(before, parse(patch))
    return caught.value


@pytest.mark.parametrize("case", CASES)
def test_corpus(case: str) -> None:
    folder = CORPUS / case
    before, patch = (folder / "before").read_bytes(), (folder / "patch").read_bytes().decode()
    if (folder / "after").exists():
        assert apply(before, parse(patch)) == (folder / "after").read_bytes()
        return
    slug, *phrases = (folder / "error").read_text().splitlines()
    fault = rejection(before, patch)
    assert fault.slug == slug
    assert [phrase for phrase in phrases if phrase not in fault.message] == []


def test_the_corpus_covers_the_public_reports() -> None:
    covered = {int(case[1:3]) for case in CASES if case[1:3].isdigit()}
    assert covered >= {12, 13, 14, 15, 20, 30, 32, 33, 34, 35, 36, 37, 39, 40, 41, 45}


def test_an_ambiguous_hunk_carries_its_number_and_all_lines() -> None:
    fault = rejection(b"m\nr\nr\n", "@@\n-m\n+M\n@@\n-r\n+s\n")
    assert fault.data == {"hunk": 2, "lines": [2, 3]}


def test_more_than_twenty_places_name_twenty() -> None:
    assert rejection(b"x\n" * 1000, "@@\n-x\n+y\n").data["lines"] == list(range(1, 21))


def test_a_hunk_without_a_place_shows_the_line_that_differs() -> None:
    fault = rejection(
        b"def f():\n    total = 1\n    return total\n", "@@\n def f():\n-    totl = 1\n     return total\n"
    )
    assert fault.data == {"hunk": 1}
    assert "2|    total = 1" in fault.excerpt
    assert "total" not in fault.message


def test_a_hunk_that_resembles_nothing_shows_nothing() -> None:
    assert rejection(b"a\n", "@@\n-zzzzzz\n").excerpt == ""


def test_a45_an_applied_patch_shows_where_its_result_stands() -> None:
    before, patch = b"one\ntwo\nthree\n", "@@\n one\n-two\n+TWO\n three\n"
    fault = rejection(apply(before, parse(patch)), patch)
    assert fault.excerpt == "1|one\n2|TWO\n3|three"


def test_a37_a_wrong_hunk_applies_nothing_of_the_others() -> None:
    assert rejection(b"a\nb\n", "@@\n-a\n+A\n@@\n-q\n+Q\n").outcome is None


def test_an_addition_built_by_hand_needs_its_anchor_too() -> None:
    patch = Patch(None, (Hunk(1, (HunkLine("add", b"x"),), False),))
    with pytest.raises(Fault, match="only adds lines"):
        apply(b"a\n", patch)


def test_a_carriage_return_that_ends_an_unterminated_line_is_not_doubled() -> None:
    assert apply(b"a\r\nb\r", parse("@@\n b\n+c\n")) == b"a\r\nb\r\nc"


def test_too_many_hunks_for_a_huge_file_are_refused_before_they_cost() -> None:
    patch = Patch(None, tuple(Hunk(n, (HunkLine("remove", b"y"),), False) for n in range(1, 3000)))
    with pytest.raises(Fault) as caught:
        apply(b"x" * 8_000_000, patch)
    assert caught.value.slug is Slug.TOO_LARGE


def test_repetitive_text_does_not_make_matching_quadratic() -> None:
    lines = [HunkLine("context", b"x")] * 5_000 + [HunkLine("remove", b"y")]
    began = time.perf_counter()
    with pytest.raises(Fault):
        apply(b"x\n" * 200_000, Patch(None, (Hunk(1, tuple(lines), False),)))
    assert time.perf_counter() - began < 5.0


# Few different lines: much that repeats, much that is ambiguous.
FILE_LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"  d", b"d  ", b"e\rf", "ü".encode()]), max_size=12)
ENDINGS = st.sampled_from([b"\n", b"\r\n"])


@st.composite
def versions(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two versions of a file of one line ending, with or without a mark at the start and a newline at the end."""
    ending, bom = draw(ENDINGS), draw(st.sampled_from([b"", BOM]))
    last = draw(st.sampled_from([b"", ending]))
    old, new = draw(FILE_LINES), draw(FILE_LINES)
    if not last:
        old, new = [line for line in old if line], [line for line in new if line]  # an empty last line would terminate
    return bom + ending.join(old) + (last if old else b""), bom + ending.join(new) + (last if new else b"")


def whole_file_hunk(before: list[bytes], after: list[bytes]) -> Hunk:
    out: list[HunkLine] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            out += [HunkLine("context", line) for line in before[start:end]]
        else:
            out += [HunkLine("remove", line) for line in before[start:end]]
            out += [HunkLine("add", line) for line in after[new_start:new_end]]
    return Hunk(1, tuple(out), True)


def rows(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\n").removesuffix(b"\r") for line in split_lines(data.removeprefix(BOM))]


@settings(deadline=None)
@given(versions())
def test_a_patch_of_the_whole_file_gives_the_other_version(sides: tuple[bytes, bytes]) -> None:
    before, after = sides
    hunk = whole_file_hunk(rows(before), rows(after))
    if rows(before) == rows(after) or not hunk.source:
        return
    result = apply(before, Patch(None, (hunk,)))
    assert rows(result) == rows(after)
    if b"\n" not in before and b"\r\n" in after:
        return  # a file without any line end gets LF
    if before.endswith(b"\n") or hunk.lines[-1].kind != "remove":  # the line above a removed last line keeps its ending
        assert result == after


UNIQUE_LINES = st.lists(
    st.binary(min_size=1, max_size=6).filter(lambda b: not set(b"\r\n") & set(b)), unique=True, max_size=30
)


@st.composite
def scattered_hunks(draw: st.DrawFn) -> tuple[list[bytes], dict[int, list[bytes]], list[int]]:
    """Distinct lines, some of them to be replaced by some new lines, and an order of the hunks."""
    file_lines = [line for line in draw(UNIQUE_LINES) if line == line.rstrip() and not line.startswith(BOM)]
    file_lines = list(dict.fromkeys(file_lines))
    chosen = draw(st.lists(st.integers(0, max(0, len(file_lines) - 1)), unique=True, max_size=8)) if file_lines else []
    texts = st.lists(st.sampled_from([b"new", b"", b"newer"]), max_size=3)
    return file_lines, {index: draw(texts) for index in chosen}, chosen


@settings(deadline=None)
@given(scattered_hunks(), st.lists(ENDINGS, min_size=30, max_size=30))
def test_hunks_in_any_order_do_what_replacing_lines_by_hand_does(
    drawn: tuple[list[bytes], dict[int, list[bytes]], list[int]], endings: list[bytes]
) -> None:
    file_lines, changes, order = drawn
    if not changes:
        return
    hunks = tuple(
        Hunk(n, (HunkLine("remove", file_lines[at]), *(HunkLine("add", text) for text in changes[at])), False)
        for n, at in enumerate(order, 1)
    )
    expected = b"".join(
        b"".join(text + ending for text in changes.get(index, [line]))
        for index, (line, ending) in enumerate(zip(file_lines, endings, strict=False))
    )
    before = b"".join(line + ending for line, ending in zip(file_lines, endings, strict=False))
    assert apply(before, Patch(None, hunks)) == expected


@settings(deadline=None)
@given(FILE_LINES.map(b"\n".join), PATCHES)
@example(b"", "@@\n \n+a\n")
def test_any_text_applies_or_is_a_fault(before: bytes, text: str) -> None:
    try:
        result = apply(before, parse(text))
    except Fault as fault:
        assert fault.slug in (Slug.PATCH_REJECTED, Slug.AMBIGUOUS_MATCH)
    else:
        assert result != before


@settings(deadline=None)
@given(FILE_LINES.map(b"\n".join), st.lists(st.sampled_from([" a", "-a", "+x", " b", "-b", "+a", "", " "]), max_size=6))
def test_applied_lines_are_the_old_ones_and_the_added_ones(before: bytes, body: list[str]) -> None:
    try:
        patch = parse("@@\n" + "\n".join(body))
        result = apply(before, patch)
    except Fault:
        return
    kinds = Counter(line.kind for hunk in patch.hunks for line in hunk.lines)
    assert len(split_lines(result)) <= len(split_lines(before)) + kinds["add"] - kinds["remove"]
    assert len(split_lines(result)) >= len(split_lines(before)) + kinds["add"] - kinds["remove"] - 1
