"""A tally counts in memory and on disk alike, shared by any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from picoclawd.index.matcher import compile_search
from picoclawd.index.scan import never
from picoclawd.index.tally import Tally
from tests.index.text_tree import PLENTY, TextTree, settle, text_tree


def filled(tree: TextTree) -> dict[bytes, int]:
    counts = {}
    for number in range(80):
        counts[tree.write(f"{number:02}.txt", b"return x;\n" * (number % 5) + b"y\n" * 30)] = number % 5
    settle()
    tree.load()
    tree.note()
    return {path: count for path, count in counts.items() if count}


@pytest.mark.parametrize("max_bytes", [PLENTY, 6_000, 0])
@pytest.mark.parametrize("pattern", ["return", "ret[u]rn", r"\w+ x"])
def test_threads_share_the_work(tmp_path: Path, max_bytes: int, pattern: str) -> None:
    with text_tree(tmp_path, max_bytes) as tree, ThreadPoolExecutor(4) as threads:
        counts = filled(tree)
        tally = Tally(tree.corpus, compile_search(pattern), tree.selected(pattern).parts, never)
        tally.prepare()
        shares = list(threads.map(lambda _: tally.run(), range(4)))
        found = [(path, count) for share in shares for path, count, _facts in share.found]
        assert sorted(found) == sorted(counts.items())
        assert not [share.alone for share in shares if share.alone]


@pytest.mark.parametrize("max_bytes", [PLENTY, 0])
def test_a_tally_ends_when_it_is_told_to(tmp_path: Path, max_bytes: int) -> None:
    with text_tree(tmp_path, max_bytes) as tree:
        filled(tree)
        assert (
            Tally(tree.corpus, compile_search("return"), tree.selected("return").parts, lambda: True).run().found == []
        )


def test_files_that_are_gone_or_strange_by_now_are_left_to_be_searched_alone(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        filled(tree)
        selection = tree.selected("return")
        (tree.root / "01.txt").unlink()
        tree.write("02.txt", b"return \xff\n")
        tree.write("03.txt", b"return\n")
        tally = Tally(tree.corpus, compile_search("return"), selection.parts, never)
        share = tally.run()
        assert sorted(share.alone) == [b"01.txt", b"02.txt"]
        assert (b"03.txt", 1) in [(path, count) for path, count, _facts in share.found]
        assert tree.unsettled() == [b"02.txt", b"03.txt"]
