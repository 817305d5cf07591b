"""Sifting keeps the order of the files, and looks no further than it is asked to."""

from itertools import islice
from pathlib import Path

import pytest

from picoclawd.index.matcher import compile_search
from picoclawd.index.scan import never
from picoclawd.index.sifting import sift
from tests.index.text_tree import PLENTY, settle, text_tree


@pytest.mark.parametrize("max_bytes", [PLENTY, 0])
def test_files_that_may_match_come_in_their_order(tmp_path: Path, max_bytes: int) -> None:
    with text_tree(tmp_path, max_bytes) as tree:
        for number in range(60):
            tree.write(f"{number:02}.txt", (b"needle\n" if number % 7 == 0 else b"nothing\n") * 9)
        settle()
        tree.load()
        tree.note()
        names = tree.names()
        found = list(sift(tree.corpus, names, compile_search("needle"), verified=True, stop=never, unfiltered=3))
        assert found == sorted(found)
        assert set(names[::7]) <= set(found)
        assert len(found) < 40


def test_a_search_that_ends_early_looks_at_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with text_tree(tmp_path, 0) as tree:
        for number in range(60):
            tree.write(f"{number:02}.txt", b"needle\n" * 9)
        settle()
        tree.note()
        names = tree.names()
        looked_at: list[int] = []
        monkeypatch.setattr(tree.corpus, "select", lambda files, *_, **__: looked_at.append(len(files)))
        found = sift(tree.corpus, names, compile_search("needle"), verified=True, stop=never, unfiltered=8)
        assert list(islice(found, 8)) == names[:8]
        assert looked_at == []


def test_what_is_stopped_gives_no_more(tmp_path: Path) -> None:
    with text_tree(tmp_path) as tree:
        names = [tree.write(f"{number}.txt", b"needle\n") for number in range(9)]
        pattern = compile_search("needle")
        assert list(sift(tree.corpus, names, pattern, verified=True, stop=lambda: True, unfiltered=2)) == names[:2]
