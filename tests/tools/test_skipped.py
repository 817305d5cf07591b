"""What a search left out is added up from names and texts, and said in words that name only what there was."""

import msgspec
import pytest

from picoclawd.index.listing import NONE_SKIPPED
from picoclawd.index.listing import Skipped as SkippedNames
from picoclawd.tools._skipped import Skipped, skipped_of, skipped_words, trust_words
from picoclawd.workspace.search import Missed


def test_names_and_texts_are_added_up() -> None:
    names = SkippedNames(ignored=1, protected=2, special=3, unreadable=4, too_deep=5)
    missed = Missed(
        binary=6, documents=13, unreadable=7, special=8, vanished=9, over_budget=10, truncated_lines=11, redacted=12
    )
    assert msgspec.structs.asdict(skipped_of(names, missed)) == {
        "ignored": 1,
        "protected": 2,
        "special": 11,
        "unreadable": 11,
        "too_deep": 5,
        "binary": 6,
        "documents": 13,
        "vanished": 9,
        "over_budget": 10,
        "truncated_lines": 11,
        "redacted": 12,
    }


@pytest.mark.parametrize("each", [*SkippedNames.__struct_fields__, *Missed.__dataclass_fields__])
def test_everything_that_is_counted_is_said(each: str) -> None:
    names = SkippedNames(**{each: 3}) if each in SkippedNames.__struct_fields__ else NONE_SKIPPED
    missed = Missed(**{each: 4}) if each in Missed.__dataclass_fields__ else Missed()
    total = 3 * (names is not NONE_SKIPPED) + 4 * (missed != Missed())
    (words,) = skipped_words(skipped_of(names, missed))
    assert words.startswith(f"not searched: {total} ")


def test_where_nothing_was_left_out_nothing_is_said() -> None:
    assert skipped_words(Skipped()) == []
    assert skipped_words(skipped_of(NONE_SKIPPED, Missed())) == []


@pytest.mark.parametrize(
    ("consistency", "degraded", "words"),
    [
        ("verified", None, []),
        ("watched", None, ["watched: changes by other programs may lag"]),
        ("verified", "overflow", ["the watcher is degraded (overflow), so everything was verified"]),
    ],
)
def test_how_sure_the_names_are_is_said_where_it_matters(
    consistency: str, degraded: str | None, words: list[str]
) -> None:
    assert trust_words(consistency, degraded) == words
