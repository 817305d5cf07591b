"""The corpus: whatever state a file's text is in, it is what is on disk, and no filter loses a match."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.index.contents import Allowance, Contents, Text, Trouble
from picoclawd.index.corpus import Corpus
from picoclawd.index.literals import requirement
from picoclawd.index.matcher import compile_search
from picoclawd.index.requirements import trigram_query
from picoclawd.index.scan import COUNT, scan_file
from picoclawd.index.trigrams import TrigramMatrix
from picoclawd.index.trust import Trust

PLENTY = 1 << 40


class Tree:
    """A directory of files and a corpus on it, with bundles of a few files each."""

    def __init__(self, root: Path, max_bytes: int = PLENTY, bundle_bytes: int = 120) -> None:
        self.root = root
        self.fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
        trust = Trust(1)
        self.contents = Contents(self.fd, max_bytes, trust)
        self.corpus = Corpus(self.fd, self.contents, trust, TrigramMatrix, bundle_bytes, join_bytes=1)

    def write(self, name: str, data: bytes) -> bytes:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return name.encode()

    def read(self, path: bytes) -> Text | Trouble:
        found = self.corpus.text(path, Allowance(1000, PLENTY))
        assert isinstance(found, Text | Trouble)
        return found

    def names(self) -> list[bytes]:
        return sorted(os.fsencode(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())

    def load(self) -> None:
        """Read everything, join it, and index it; the files look old, so that stats prove them."""
        for path in self.names():
            self.read(path)
        self.corpus.join()
        self.corpus.index_trigrams(lambda: False)

    def counts(self, source: str) -> dict[bytes, int]:
        """Matching lines by file, as a search that verifies counts them."""
        pattern = compile_search(source)
        cover = self.corpus.cover(self.names())
        alone = cover.singles + self.corpus.check(cover, lambda: False)
        found: dict[bytes, int] = {}
        for part in self.corpus.narrow(cover, trigram_query(requirement(source))):
            for index, count in part.bundle.tally(pattern):
                if part.wants(index):
                    found[part.bundle.paths[index]] = count
        for path in alone:
            text = self.read(path)
            if isinstance(text, Text) and (count := scan_file(pattern, text.data, COUNT, encoding=text.encoding).count):
                found[path] = count
        return found

    def true_counts(self, source: str) -> dict[bytes, int]:
        pattern = compile_search(source)
        counts = {}
        for path in self.names():
            data = (self.root / os.fsdecode(path)).read_bytes()
            if count := scan_file(pattern, data, COUNT).count:
                counts[path] = count
        return counts


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(tmp_path)
    yield made
    os.close(made.fd)


def settle(tree: Tree) -> None:
    """Wait out the racy window: then a stat proves what was read."""
    time.sleep(0.03)


def test_a_text_is_the_same_joined_and_alone(tree: Tree) -> None:
    path = tree.write("a.txt", b"one\ntwo\n")
    other = tree.write("b.txt", "é\n".encode())
    settle(tree)
    before = tree.read(path)
    tree.load()
    after = tree.read(path)
    assert isinstance(before, Text)
    assert isinstance(after, Text)
    assert (after.data, after.facts) == (before.data, before.facts)
    assert tree.corpus.has(other)
    assert tree.corpus.statistics().files == 2


def test_a_change_is_seen_and_comes_into_a_bundle_again(tree: Tree) -> None:
    names = [tree.write(f"{number}.txt", b"old line\n" * 5) for number in range(6)]
    settle(tree)
    tree.load()
    assert tree.corpus.cover(names).singles == []
    tree.write("3.txt", b"new line\n")
    assert tree.counts("new") == {b"3.txt": 1}
    assert tree.corpus.cover(names).singles == [b"3.txt"]
    settle(tree)
    tree.load()
    assert tree.corpus.cover(names).singles == []
    assert tree.counts("new") == {b"3.txt": 1}
    assert tree.counts("old") == {name: 5 for name in names if name != b"3.txt"}


def test_a_removed_file_is_nowhere(tree: Tree) -> None:
    path = tree.write("a.txt", b"x\n")
    settle(tree)
    tree.load()
    (tree.root / "a.txt").unlink()
    assert tree.read(path) is Trouble.VANISHED
    assert not tree.corpus.has(path)


def test_hints_and_own_writes_forget_only_what_changed(tree: Tree) -> None:
    path = tree.write("a.txt", b"x\n")
    settle(tree)
    tree.load()
    assert not tree.corpus.recheck(path)
    tree.write("a.txt", b"y\n")
    assert tree.corpus.recheck(path)
    assert not tree.corpus.has(path)


def test_retain_and_distrust_drop_joined_texts(tree: Tree) -> None:
    kept, lost = tree.write("a.txt", b"x\n"), tree.write("b.txt", b"y\n")
    settle(tree)
    tree.load()
    tree.corpus.retain([kept])
    assert (tree.corpus.has(kept), tree.corpus.has(lost)) == (True, False)
    tree.corpus.distrust()
    assert not tree.corpus.has(kept)
    assert tree.corpus.statistics().bytes == 0


def test_joined_bytes_count_in_the_budget(tmp_path: Path) -> None:
    tree = Tree(tmp_path, max_bytes=20_000)
    try:
        for number in range(10):
            tree.write(f"{number}.txt", b"x" * 900 + b"\n")
        settle(tree)
        tree.load()
        room = tree.corpus.room()
        tree.load()
        assert 0 < tree.corpus.room() == room < 20_000 - 9_000
        tree.corpus.distrust()
        assert tree.corpus.room() > 19_000
    finally:
        os.close(tree.fd)


def test_a_bundle_with_many_dead_files_is_made_anew(tree: Tree) -> None:
    names = [tree.write(f"{number}.txt", b"x\n") for number in range(8)]
    settle(tree)
    tree.load()
    for name in names[:3]:
        tree.corpus.forget(name)
    tree.corpus.join()
    tree.corpus.index_trigrams(lambda: False)
    cover = tree.corpus.cover(names)
    assert all(part.bundle.dead == 0 for part in cover.parts)
    assert tree.counts("x") == dict.fromkeys(names, 1)


def test_bundles_that_are_not_in_the_matrix_are_searched(tree: Tree) -> None:
    tree.write("a.txt", b"needle\n")
    settle(tree)
    tree.read(b"a.txt")
    tree.corpus.join()
    assert tree.counts("needle") == {b"a.txt": 1}
    assert not tree.corpus.index_trigrams(lambda: True)
    assert tree.counts("needle") == {b"a.txt": 1}


PATTERNS = ["foo", "bar", "^x", "o$", "foo|qux", "(?i)FOO", "f.*r", "[a-c]+", "qux bar", "é", "", "zzz"]


def churn(tree: Tree, steps: int, seed: int) -> None:
    dice = random.Random(seed)
    words = [b"foo", b"bar", b"qux", b"x", "é".encode(), b"\xff", b"\r"]
    for _ in range(steps):
        name = f"d{dice.randrange(3)}/{dice.randrange(12)}.txt"
        match dice.randrange(8):
            case 0 if (tree.root / name).exists():
                (tree.root / name).unlink()
            case 1 if (tree.root / name).exists():
                target = tree.root / f"d{dice.randrange(3)}/{dice.randrange(12)}.txt"
                target.parent.mkdir(exist_ok=True)
                (tree.root / name).rename(target)
            case 2:
                tree.corpus.join()
            case 3:
                tree.corpus.index_trigrams(lambda: dice.random() < 0.3)
            case _:
                lines = [b" ".join(dice.choices(words, k=dice.randrange(4))) for _ in range(dice.randrange(5))]
                tree.write(name, b"\n".join(lines) + dice.choice([b"", b"\n", b"\r\n"]))
        source = dice.choice(PATTERNS)
        assert tree.counts(source) == tree.true_counts(source), (seed, source)


@pytest.mark.parametrize("seed", range(6))
def test_no_match_is_lost_or_made_up_while_files_churn(tmp_path: Path, seed: int) -> None:
    tree = Tree(tmp_path)
    try:
        churn(tree, 120, seed)
    finally:
        os.close(tree.fd)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 120))
def test_no_match_is_lost_or_made_up_while_files_churn_for_long(tmp_path: Path, seed: int) -> None:
    tree = Tree(tmp_path)
    try:
        churn(tree, 2_000, seed)
    finally:
        os.close(tree.fd)
