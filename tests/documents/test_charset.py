"""Encodings are told by their words."""

import pytest

from picoclawd.documents import charset
from tests.conftest import require

TEXTS = {
    "cp1251": "Привет, мир. Как дела сегодня?\n",
    "cp932": "これは日本語のテキストです。\n",
    "cp1252": "naïve café\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_told_by_its_words(name: str) -> None:
    require("chardet")
    assert TEXTS[name].encode(name).decode(charset.guess(TEXTS[name].encode(name))) == TEXTS[name]


def test_without_the_library_it_is_windows_1252(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "chardet", None)
    assert charset.guess(TEXTS["cp1251"].encode("cp1251")) in ("cp1252", "latin-1")
