import io
import os
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client import arguments
from picoclawd.client.arguments import Word
from picoclawd.client.failures import USAGE, UsageFault
from tests.client.fake import SCHEMA


def parse(*words: str, whole: str | None = None, schema: dict[str, Any] | None = SCHEMA) -> Any:
    return arguments.params([Word(word) for word in words], whole, schema)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("path=a=b", {"path": "a=b"}),
        ("path=", {"path": ""}),
        ("path=12", {"path": "12"}),
        ("path=true", {"path": "true"}),
        ("offset=12", {"offset": 12}),
        ("offset=twelve", {"offset": "twelve"}),
        ("whole=true", {"whole": True}),
        ("rows=[1, 2]", {"rows": [1, 2]}),
        ("rows=7", {"rows": ["7"]}),
        ("mode=lines", {"mode": "lines"}),
        ("unknown=12", {"unknown": "12"}),
        ("path:=12", {"path": 12}),
        ('x:={"a": [null]}', {"x": {"a": [None]}}),
        ("path=@@home", {"path": "@home"}),
        ("path=@@@", {"path": "@@"}),
    ],
)
def test_a_word_becomes_a_parameter(word: str, value: Any) -> None:
    assert parse(word) == value


def test_a_key_given_twice_is_an_array() -> None:
    assert parse("path=a", "path=b") == {"path": ["a", "b"]}


def test_without_a_schema_all_is_text() -> None:
    assert parse("offset=12", schema=None) == {"offset": "12"}


def test_words_stand_over_the_whole_params() -> None:
    assert parse("path=b", whole='{"path": "a", "offset": 1}') == {"path": "b", "offset": 1}


def test_positional_params_are_passed_as_they_are() -> None:
    assert parse(whole='["a", 1]') == ["a", 1]


def test_a_file_gives_its_text_with_its_line_endings(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes("é\r\n12\n".encode())
    assert parse(f"offset=@{tmp_path}/t") == {"offset": "é\r\n12\n"}


def test_a_dash_reads_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"from stdin\r\n")))
    assert parse("path=@-") == {"path": "from stdin\r\n"}


@pytest.mark.parametrize(
    ("words", "whole", "said"),
    [
        (["path"], None, "write key=value"),
        (["=x"], None, "write key=value"),
        ([":=1"], None, "write key=value"),
        (["x:={"], None, "x: not JSON"),
        (["path=@/nowhere/file"], None, "cannot read /nowhere/file"),
        ([], "{", "--params: not JSON"),
        ([], "3", "JSON object or array"),
        (["a=1"], "[1]", "no room for key=value"),
    ],
)
def test_a_wrong_word_says_how_to_write_it(words: list[str], whole: str | None, said: str) -> None:
    with pytest.raises(UsageFault, match=said) as caught:
        parse(*words, whole=whole)
    assert caught.value.exit_code == USAGE


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageFault, match="not UTF-8"):
        parse(f"x=@{tmp_path}/t")


def test_a_name_that_is_not_utf8_is_sent_as_path_bytes() -> None:
    name = os.fsdecode(b"a b/caf\xe9.txt")
    assert arguments.path_params(name) == {"path_bytes": "a%20b/caf%E9.txt"}
    assert arguments.path_params("café") == {"path": "café"}
    with pytest.raises(UsageFault, match=r"path_bytes=a%20b/caf%E9\.txt"):
        parse(f"path={name}")


def test_only_plain_text_needs_the_schema() -> None:
    assert arguments.needs_schema([Word("a=1")])
    assert not arguments.needs_schema([Word("a:=1"), Word("b=@f")])
