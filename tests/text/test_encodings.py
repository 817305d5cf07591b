"""Encodings: by mark, by being valid, by guess; and read as UTF-8 in any chunks."""

import codecs
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text.encodings import SAMPLE_BYTES, Encoding, detect, is_binary, utf8_chunks, western


def found(data: bytes) -> Encoding:
    return detect(io.BytesIO(data))


def text_of(data: bytes) -> str:
    source = io.BytesIO(data)
    return b"".join(utf8_chunks(source, detect(source))).decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(b"", "utf-8", id="empty"),
        pytest.param(b"plain\n", "utf-8", id="ascii"),
        pytest.param("naïve 한\n".encode(), "utf-8", id="utf-8"),
        pytest.param("real \ufffd here\n".encode(), "utf-8", id="a replacement character that is in the file"),
        pytest.param("naïve café\n".encode("latin-1"), "cp1252", id="western"),
        pytest.param("“quoted” €5\n".encode("cp1252"), "cp1252", id="windows"),
        pytest.param(b"caf\xe9 \x81\n", "latin-1", id="bytes that windows-1252 lacks"),
        pytest.param(b"a" * 600_000 + b"\xe9\n", "cp1252", id="far behind the first chunk"),
        pytest.param(b"a" * (1 << 18) + b"\xe9", "cp1252", id="at a chunk's edge"),
        pytest.param(b"caf\xc3", "cp1252", id="cut at the end"),
    ],
)
def test_an_encoding_is_found_without_a_mark(data: bytes, name: str) -> None:
    assert found(data) == Encoding(name)


def test_a29_a_byte_order_mark_decides_and_belongs_to_no_line() -> None:
    assert found(b"\xff\xfet\x00e\x00s\x00t\x00\n\x00") == Encoding("utf-16-le", codecs.BOM_UTF16_LE)
    assert text_of(b"\xff\xfet\x00e\x00s\x00t\x00\n\x00") == "test\n"
    for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8"):
        data = "\ufeffné 한😀\r\n".encode(name)
        assert found(data).name == name
        assert text_of(data) == "né 한😀\r\n"


def test_a_few_bad_bytes_do_not_make_utf8_something_else() -> None:
    assert found("naïve café \n".encode() * 3 + b"\xff") == Encoding("utf-8", lossy=True)
    assert found(codecs.BOM_UTF8 + b"a\xff") == Encoding("utf-8", codecs.BOM_UTF8, lossy=True)
    far = "é".encode() * SAMPLE_BYTES + b"\xe9" + "é".encode() * SAMPLE_BYTES
    assert found(far) == Encoding("utf-8", lossy=True)


def test_a_guess_of_ones_own_gets_the_place_that_is_not_utf8() -> None:
    samples: list[bytes] = []

    def guess(sample: bytes) -> str:
        samples.append(sample)
        return "shift_jis"

    data = b"a" * 1_000_000 + "日本".encode("shift_jis") + b"a" * 1_000_000
    source = io.BytesIO(data)
    encoding = detect(source, guess)
    assert encoding.name == "shift_jis"
    assert "日本".encode("shift_jis") in samples[0]
    assert len(samples[0]) == SAMPLE_BYTES
    assert b"".join(utf8_chunks(source, encoding)).decode() == data.decode("shift_jis")


@given(st.text(max_size=200).filter(lambda text: not text.startswith("\ufeff")))
def test_every_text_comes_back_from_every_encoding_with_a_mark(text: str) -> None:
    for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8"):
        data = ("\ufeff" + text).encode(name)
        if name == "utf-16-le" and text.startswith("\0"):
            continue  # that is the mark of UTF-32
        assert text_of(data) == text


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(data: bytes) -> None:
    assert all(utf8_chunks(io.BytesIO(data), found(data)))


def test_a_character_over_the_edge_of_a_chunk_is_whole() -> None:
    text = "x" + "é" * 300_000
    assert text_of("\ufeff".encode("utf-16-be") + text.encode("utf-16-be")) == text


def test_an_odd_byte_at_the_end_is_shown_as_bad() -> None:
    assert text_of(b"\xff\xfea\x00b") == "a\ufffd"


@pytest.mark.parametrize(
    ("head", "binary"),
    [
        (b"", False),
        (b"text", False),
        (b"te\0xt", True),
        ("\ufefftext".encode("utf-16-le"), False),
        ("\ufeffte\0xt".encode("utf-16-be"), True),
        ("\ufefftext".encode("utf-32-le"), False),
        ("text".encode("utf-16-le"), True),
    ],
)
def test_a_nul_makes_a_file_binary_unless_its_mark_explains_it(head: bytes, binary: bool) -> None:
    assert is_binary(head) is binary


def test_the_western_guess_prefers_windows_where_it_can() -> None:
    assert western(bytes(range(0xA0, 0x100))) == "cp1252"
    assert western(b"\x9d") == "latin-1"
