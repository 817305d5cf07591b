import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.text.v4a import Hunk, HunkLine, Patch, parse

# What a parser can trip over, often: whole lines of the grammar, and pieces of them.
GRAMMAR = ("*** Begin Patch", "*** End Patch", "*** Update File: f", "*** End of File", "@@", "@@ x", " a", "-a", "+b")
OTHERS = ("", " ", "\r", "\n", "\r\n", "***", "*** Move to: g", "+*** End Patch", "\ufeff", "a", "\x00", "é")
PIECES = st.sampled_from((*GRAMMAR, *OTHERS))
PATCHES = st.one_of(st.text(), st.lists(PIECES).map("\n".join), st.lists(PIECES).map("".join))


def rejection(text: str) -> Fault:
    with pytest.raises(Fault) as caught:
        parse(text)
    return caught.value


def test_a_patch_becomes_hunks_of_lines_without_prefix_and_ending() -> None:
    patch = parse(
        "*** Begin Patch\n*** Update File: a b/ü.txt\n@@ x\n a\n-b\n+ü\n*** End of File\n@@\n-q\n*** End Patch\n"
    )
    assert patch == Patch(
        "a b/ü.txt",
        (
            Hunk(1, (HunkLine("context", b"a"), HunkLine("remove", b"b"), HunkLine("add", "ü".encode())), True),
            Hunk(2, (HunkLine("remove", b"q"),), False),
        ),
    )


def test_source_and_result_are_what_a_hunk_reads_and_leaves() -> None:
    (hunk,) = parse("@@\n a\n-b\n+c\n+d\n e\n").hunks
    assert hunk.source == [b"a", b"b", b"e"]
    assert hunk.result == [b"a", b"c", b"d", b"e"]


def test_without_an_update_line_there_is_no_path() -> None:
    assert parse("@@\n-a\n").path is None


def test_a32_a_truly_empty_line_inside_a_hunk_is_an_empty_context_line() -> None:
    (hunk,) = parse("@@\n a\n\n-b\n\n*** End Patch").hunks
    assert hunk.source == [b"a", b"", b"b"]


def test_a_patch_written_with_crlf_reads_like_one_with_lf() -> None:
    text = "*** Begin Patch\n*** Update File: f\n@@ x\n a\n\n-b\n+c\n*** End Patch\n"
    assert parse(text.replace("\n", "\r\n")) == parse(text)


def test_a_carriage_return_is_content_unless_every_line_has_one() -> None:
    assert parse("@@\n a\r\n-b\n").hunks[0].source == [b"a\r", b"b"]


def test_a_last_line_without_newline_does_not_speak_for_lf() -> None:
    assert parse("@@\r\n a\r\n-b").hunks[0].source == [b"a", b"b"]


def test_a_line_ends_at_newline_only() -> None:
    assert parse("@@\n-a\x0b\x0c\x1c\x85\u2028b\n").hunks[0].source == ["a\x0b\x0c\x1c\x85\u2028b".encode()]


def test_an_error_names_the_line_of_the_patch() -> None:
    fault = rejection("@@\n-a\nfoo\n")
    assert fault.slug is Slug.PATCH_REJECTED
    assert fault.data == {"patch_line": 3}
    assert "foo" not in fault.message


def test_an_empty_hunk_is_named_by_its_number() -> None:
    assert rejection("@@\n-a\n@@\n*** End Patch\n").data == {"hunk": 2}


def test_a_lone_surrogate_is_a_fault_of_the_caller() -> None:
    assert rejection("@@\n-\ud800\n").slug is Slug.PATCH_REJECTED


@settings(deadline=None)
@given(PATCHES)
def test_any_text_is_a_patch_or_a_rejection(text: str) -> None:
    try:
        patch = parse(text)
    except Fault as fault:
        assert fault.slug is Slug.PATCH_REJECTED
    else:
        assert [hunk.index for hunk in patch.hunks] == list(range(1, len(patch.hunks) + 1))
        assert all(hunk.lines for hunk in patch.hunks)
        assert not any(b"\n" in line.text for hunk in patch.hunks for line in hunk.lines)
