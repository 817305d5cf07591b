"""Segments become text as their reader may see it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text import redact
from picoclawd.tools._render import Renderer, View
from picoclawd.tools._spec import FileRows, FileText, OwnText, Plain, Segment

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
MARK = redact.MARK
MASKING = [View.ACCIDENT, View.STRICT]
SHOWING = [View.VERBATIM, View.DISPLAY]


@pytest.mark.parametrize("view", MASKING)
def test_agents_see_no_secret_of_a_file(view: View) -> None:
    rows = FileRows((("1|", f"key {SECRET}", "", "."), ("2|", "plain", "", ".")))
    segments: list[Segment] = [Plain("head\n"), FileText(f"key {SECRET}\n"), rows]
    assert Renderer(view).render(segments) == f"head\nkey {MARK}\n1|key {MARK}.\n2|plain."


@pytest.mark.parametrize("view", SHOWING)
def test_people_see_everything(view: View) -> None:
    rows = FileRows((("1|", f"key {SECRET}", "rest", "."),))
    assert Renderer(view).render([FileText(SECRET), rows]) == f"{SECRET}1|key {SECRET}."


@pytest.mark.parametrize("view", MASKING)
def test_a_secret_that_an_edge_cuts_is_known_by_what_is_not_shown(view: View) -> None:
    assert SECRET[:12] not in Renderer(view).render([FileText(f"key {SECRET[:12]}", after=SECRET[12:])])
    assert SECRET[12:] not in Renderer(view).render([FileText(f"{SECRET[12:]} key", before=SECRET[:12])])
    shown = Renderer(view).render([FileRows((("1|", f"key {SECRET[:12]}", SECRET[12:], ""),))])
    assert SECRET[:12] not in shown


def test_a_line_of_the_call_itself_is_shown_and_in_the_strict_mode_only_if_it_was_supplied() -> None:
    own = [OwnText(f"+key {SECRET}\n")]
    assert Renderer(View.ACCIDENT).render(own) == f"+key {SECRET}\n"
    assert Renderer(View.STRICT).render(own) == f"+key {MARK}\n"
    assert Renderer(View.STRICT, supplied=f"x {SECRET} y").render(own) == f"+key {SECRET}\n"


@pytest.mark.parametrize("view", [*MASKING, *SHOWING])
def test_text_of_ours_is_never_masked(view: View) -> None:
    assert Renderer(view).render([Plain(SECRET)]) == SECRET


@pytest.mark.parametrize("view", list(View))
def test_rows_without_a_secret_are_the_same_together_and_alone(view: View) -> None:
    texts = ["a", "", "\x1b[31mred\x1b[0m", "é\u200b", "x" * 300]
    rows = tuple((f"{number}|", text, "", "") for number, text in enumerate(texts))
    together = Renderer(view).render([FileRows(rows)])
    alone = "\n".join(Renderer(view).render([FileRows((row,))]) for row in rows)
    assert together == alone
    assert Renderer(view).render([FileRows(())]) == ""


def test_a_span_of_a_line_is_found_again_when_the_line_is_masked() -> None:
    renderer = Renderer(View.ACCIDENT)
    line = f"{SECRET} then needle here"
    start = line.index("needle")
    text, first, last = renderer.clean_line(line, start, start + 6)
    assert text[first:last] == "needle"
    text, first, last = renderer.clean_line(line, 3, 9)
    assert 0 <= first <= last <= len(text)
    assert renderer.clean_line("plain needle", 6, 12) == ("plain needle", 6, 12)


_TEXTS = st.sampled_from(
    [
        f"x = {SECRET}",
        "token=",
        "Bearer ",
        "data:image/png;base64,",
        "A" * 600,
        "\u200d",
        "\u200b",
        "\ufe0f",
        "☺",
        "plain",
    ]
) | st.text("a\"'=:/+0 \u200d\ufe0f\0\n☺ب")


@pytest.mark.parametrize("view", list(View))
@given(texts=st.lists(_TEXTS, max_size=6))
def test_what_leaves_all_leaves_each(view: View, texts: list[str]) -> None:
    renderer = Renderer(view, omit_base64=True)
    if renderer.leaves(texts):
        assert [renderer.clean(text) for text in texts] == texts


@pytest.mark.parametrize("view", list(View))
def test_most_lines_are_left(view: View) -> None:
    assert Renderer(view).leaves(["static int x = 0;", "\treturn usb_submit_urb(urb, GFP_KERNEL);", "", "naïve ☺"])
    assert Renderer(view).leaves(["a", f"b {SECRET}"]) == (view in (View.VERBATIM, View.DISPLAY))
