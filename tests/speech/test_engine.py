"""What an engine gave becomes rows that a page can hold."""

from picoclawd.speech.engine import TEXT_MAX_CHARS, transcript


def test_a_long_line_becomes_rows_that_hold_the_same_words() -> None:
    said = " ".join(f"word{number}" for number in range(2000))
    rows = transcript(said).text.split("\n")
    assert max(map(len, rows)) <= 200
    assert " ".join(rows) == said


def test_an_engines_own_lines_stay() -> None:
    assert transcript("one\n\ntwo\n").text == "one\n\ntwo"


def test_what_is_beyond_the_cap_is_cut_and_said() -> None:
    made = transcript("a " * TEXT_MAX_CHARS)
    assert len(made.text) <= TEXT_MAX_CHARS
    assert "cut" in made.note


def test_silence_is_no_row() -> None:
    assert transcript(" \n").text == ""
