"""The matrix lets through every bundle that could hold a match, and few others."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index.literals import requirement
from picoclawd.index.requirements import EVERYTHING, Literal, Query, trigram_query
from picoclawd.index.trigrams import TrigramMatrix, TrigramStatistics
from picoclawd.limits import KIB, MIB
from tests.index.test_literals import FEW, MANY, SEARCHES, is_found


def query(source: str) -> Query:
    return trigram_query(requirement(source))


def filled(*texts: bytes) -> TrigramMatrix:
    matrix = TrigramMatrix()
    for column, text in enumerate(texts):
        matrix.add(column, text)
    return matrix


def check_search(source: str, data: bytes, multiline: bool) -> None:
    matrix = filled(b"", b"foo\n" + data + b"\nbar")
    admitted = matrix.candidates(trigram_query(requirement(source, multiline=multiline)))
    assert 1 in admitted or not is_found(source, data, multiline)


@FEW
@given(SEARCHES)
def test_every_file_that_a_pattern_matches_is_a_candidate(search: tuple[str, bytes, bool]) -> None:
    check_search(*search)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@MANY
@given(SEARCHES)
def test_every_file_that_a_pattern_matches_is_a_candidate_at_length(search: tuple[str, bytes, bool]) -> None:
    check_search(*search)


@given(st.binary(max_size=60))
def test_a_column_has_the_hashes_of_its_trigrams_and_no_others(data: bytes) -> None:
    trigrams = [data[index : index + 3] for index in range(len(data) - 2)]
    hashes = {number for trigram in trigrams for number in trigram_query(Literal(trigram)).hashes}
    matrix = filled(data)
    assert {number for number in hashes if matrix.candidates(Query((number,)))} == hashes
    others = {(number + 1) % 65536 for number in hashes} - hashes
    assert not [number for number in others if matrix.candidates(Query((number,)))]


def test_only_bundles_that_hold_the_literal_are_candidates() -> None:
    matrix = filled(b"int usb_submit_urb(void);", b"return 0;", b"USB_SUBMIT_URB", b"usb_submit")
    assert matrix.candidates(query("usb_submit_urb")) == [0, 2]
    assert matrix.candidates(query("(?i)Submit_Urb")) == [0, 2]
    assert matrix.candidates(query("zzzqqqxxx")) == []
    assert matrix.candidates(query("return|_urb")) == [0, 1, 2]
    assert matrix.candidates(query(r"usb_.*_urb\(")) == [0]


def test_choices_within_choices_are_followed() -> None:
    matrix = filled(b"abc def", b"abc ghi", b"xyz", b"abc")
    nested = Query(query("abc").hashes, ((query("def"), Query((), ((query("ghi"), query("xyz")),))),))
    assert matrix.candidates(nested) == [0, 1]


def test_a_query_for_everything_gives_all_columns_in_use() -> None:
    assert TrigramMatrix().candidates(EVERYTHING) == []
    assert filled(b"", b"abc", b"x").candidates(EVERYTHING) == [0, 1, 2]


def test_what_is_added_stays_beside_what_was_there() -> None:
    matrix = filled(b"first file")
    matrix.add(0, b"second one")
    assert matrix.candidates(query("first")) == matrix.candidates(query("second")) == [0]


def test_a_column_that_is_reset_is_empty_and_its_neighbours_are_not() -> None:
    matrix = filled(*[b"submit"] * 20)
    matrix.reset(9)
    assert matrix.candidates(query("submit")) == [column for column in range(20) if column != 9]
    matrix.add(9, b"return")
    assert matrix.candidates(query("return")) == [9]


def test_columns_beyond_a_block_are_found_by_their_numbers() -> None:
    matrix = TrigramMatrix()
    columns = [0, 7, 8, 511, 512, 513, 1024, 1500]
    for column in columns:
        matrix.add(column, b"needle %d" % column)
    assert matrix.candidates(query("needle")) == columns
    assert matrix.candidates(query("needle 1500")) == [1500]
    assert len(matrix.candidates(EVERYTHING)) == 1501


@pytest.mark.parametrize("border", [256 * KIB, 512 * KIB])
def test_a_literal_across_the_border_of_what_is_hashed_at_once_is_found(border: int) -> None:
    for shift in range(-8, 9):
        text = b"needle".rjust(border + shift, b".") + b"." * 10
        assert filled(text).candidates(query("needle")) == [0]


def test_texts_too_short_for_a_trigram_add_nothing() -> None:
    matrix = filled(b"", b"a", b"ab", b"abc")
    assert matrix.candidates(query("abc")) == [3]


def test_4000_columns_take_32_mebibytes() -> None:
    matrix = TrigramMatrix()
    assert matrix.statistics() == TrigramStatistics(0, 0)
    matrix.reset(3999)
    assert matrix.statistics() == TrigramStatistics(4000, 32 * MIB)


def test_it_grows_block_by_block() -> None:
    sizes = []
    matrix = TrigramMatrix()
    for column in (0, 511, 512, 1024):
        matrix.add(column, b"abc")
        sizes.append(matrix.statistics().bytes)
    assert [later - earlier for earlier, later in pairwise(sizes)] == [0, 4 * MIB, 4 * MIB]
