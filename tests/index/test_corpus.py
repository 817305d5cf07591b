"""The corpus: whatever state a file's text is in, it is what is on disk, and no filter loses a match."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.index.contents import Text, Trouble
from picoclawd.index.corpus import Corpus
from picoclawd.index.places import Places
from picoclawd.index.scan import never
from picoclawd.index.trust import Facts, Trust
from tests.index.text_tree import PLENTY, TextTree, nothing, settle, text_tree


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[TextTree]:
    with text_tree(tmp_path) as made:
        yield made


def test_a_text_is_the_same_joined_and_alone(tree: TextTree) -> None:
    path = tree.write("a.txt", b"one\ntwo\n")
    other = tree.write("b.txt", "é\n".encode())
    settle()
    before = tree.read(path)
    tree.load()
    after = tree.read(path)
    assert isinstance(before, Text)
    assert isinstance(after, Text)
    assert (after.data, after.facts) == (before.data, before.facts)
    assert tree.corpus.has(other)
    assert tree.corpus.statistics().files == 2


def test_a_change_is_seen_and_comes_into_a_bundle_again(tree: TextTree) -> None:
    names = [tree.write(f"{number}.txt", b"old line\n" * 5) for number in range(6)]
    settle()
    tree.load()
    assert tree.unsettled() == []
    tree.write("3.txt", b"new line\n")
    assert tree.counts("new") == {b"3.txt": 1}
    assert tree.unsettled() == [b"3.txt"]
    settle()
    tree.load()
    assert tree.unsettled() == []
    assert tree.counts("new") == {b"3.txt": 1}
    assert tree.counts("old") == {name: 5 for name in names if name != b"3.txt"}


def test_a_removed_file_is_nowhere(tree: TextTree) -> None:
    path = tree.write("a.txt", b"x\n")
    settle()
    tree.load()
    (tree.root / "a.txt").unlink()
    assert tree.read(path) is Trouble.VANISHED
    assert not tree.corpus.has(path)


def test_hints_and_own_writes_forget_only_what_changed(tree: TextTree) -> None:
    path = tree.write("a.txt", b"x\n")
    settle()
    tree.load()
    assert not tree.corpus.recheck(path)
    tree.write("a.txt", b"y\n")
    assert tree.corpus.recheck(path)
    assert not tree.corpus.has(path)


def test_retain_and_distrust_drop_joined_texts(tree: TextTree) -> None:
    kept, lost = tree.write("a.txt", b"x\n"), tree.write("b.txt", b"y\n")
    settle()
    tree.load()
    tree.corpus.retain([kept])
    assert (tree.corpus.has(kept), tree.corpus.has(lost)) == (True, False)
    tree.corpus.distrust()
    assert not tree.corpus.has(kept)
    assert tree.corpus.statistics().bytes == 0


def test_joined_bytes_count_in_the_budget(tmp_path: Path) -> None:
    with text_tree(tmp_path, max_bytes=20_000) as tree:
        for number in range(10):
            tree.write(f"{number}.txt", b"x" * 900 + b"\n")
        settle()
        tree.load()
        room = tree.corpus.room()
        tree.load()
        assert 0 < tree.corpus.room() == room < 20_000 - 9_000
        tree.corpus.distrust()
        assert tree.corpus.room() > 19_000


def test_a_bundle_with_many_dead_files_is_made_anew(tree: TextTree) -> None:
    names = [tree.write(f"{number}.txt", b"x\n") for number in range(8)]
    settle()
    tree.load()
    for name in names[:3]:
        tree.corpus.forget(name)
    tree.corpus.join()
    tree.corpus.index_trigrams(never)
    assert all(part.group.dead == 0 for part in tree.selected("").parts)
    assert tree.counts("x") == dict.fromkeys(names, 1)


def test_bundles_that_are_not_in_the_matrix_are_searched(tree: TextTree) -> None:
    tree.write("a.txt", b"needle\n")
    settle()
    tree.read(b"a.txt")
    tree.corpus.join()
    assert tree.counts("needle") == {b"a.txt": 1}
    assert not tree.corpus.index_trigrams(lambda: True)
    assert tree.counts("needle") == {b"a.txt": 1}


PATTERNS = [
    "foo",
    "bar",
    "^x",
    "o$",
    "foo|qux",
    "(?i)FOO",
    "f.*r",
    "[a-c]+",
    "qux bar",
    "é",
    "",
    "zzz",
    "one1",
    "two2|six6",
]
RARE = [b"one1", b"two2", b"six6"]  # which few columns hold


def churn(tree: TextTree, steps: int, seed: int) -> None:
    """Whatever happens to the files, a verified count is right; so is a watched one, where each change is told."""
    dice = random.Random(seed)
    words = [b"foo", b"bar", b"qux", b"x", "é".encode(), b"\xff", b"\r", b"\0", *RARE]
    is_told = seed % 2 == 1
    for _ in range(steps):
        name = f"d{dice.randrange(3)}/{dice.randrange(12)}.txt"
        other = f"d{dice.randrange(3)}/{dice.randrange(12)}.txt"
        match dice.randrange(10):
            case 0 if (tree.root / name).exists():
                (tree.root / name).unlink()
            case 1 if (tree.root / name).exists():
                (tree.root / other).parent.mkdir(exist_ok=True)
                (tree.root / name).rename(tree.root / other)
            case 2:
                tree.corpus.join()
            case 3:
                tree.corpus.index_trigrams(lambda: dice.random() < 0.3)
            case 4 | 5:
                tree.corpus.start_noting(tree.names())
                for _step in range(dice.choice([1, 2, 100])):
                    tree.corpus.note()
            case _:
                lines = [b" ".join(dice.choices(words, k=dice.randrange(4))) for _ in range(dice.randrange(5))]
                tree.write(name, b"\n".join(lines) + dice.choice([b"", b"\n", b"\r\n"]))
        source = dice.choice(PATTERNS)
        if is_told:
            for hinted in (name, other):
                tree.corpus.recheck(hinted.encode())
            assert tree.counts(source, verified=False) == tree.true_counts(source), (seed, source)
        else:
            assert tree.counts(source) == tree.true_counts(source), (seed, source)


BUDGETS = {"plenty": PLENTY, "for a few": 4_000, "for none": 0}


@pytest.mark.parametrize("budget", list(BUDGETS))
@pytest.mark.parametrize("seed", range(6))
def test_no_match_is_lost_or_made_up_while_files_churn(tmp_path: Path, seed: int, budget: str) -> None:
    with text_tree(tmp_path, BUDGETS[budget]) as tree:
        churn(tree, 120, seed)


@pytest.mark.parametrize(
    ("seed", "overlooks"),
    [(0, (Corpus, "_changed", [])), (1, (Places, "forget", None)), (1, (Corpus, "_is_current", True))],
)
def test_a_corpus_that_overlooks_changes_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, overlooks: tuple[type, str, object]
) -> None:
    owner, name, answer = overlooks
    monkeypatch.setattr(owner, name, lambda *_: answer)
    with text_tree(tmp_path, 0) as tree, pytest.raises(AssertionError):
        churn(tree, 500, seed)


# What happens while a group is made, or while a search has begun


class Interrupted(Trust):
    """Lets a test do something right after a stat was looked at."""

    def __init__(self) -> None:
        super().__init__(1)
        self.then = nothing

    def facts(self, stat: os.stat_result) -> Facts:
        found = super().facts(stat)
        then, self.then = self.then, nothing
        then()
        return found


@pytest.mark.parametrize("how", ["recheck", "forget"])
def test_a_text_that_changes_while_it_is_joined_is_not_believed(tmp_path: Path, how: str) -> None:
    trust = Interrupted()
    with text_tree(tmp_path, trust=trust) as tree:
        path = tree.write("a.txt", b"old\n")
        settle()
        tree.read(path)

        def change() -> None:
            tree.write("a.txt", b"new line\n")
            getattr(tree.corpus, how)(path)

        trust.then = change
        tree.load()
        assert tree.counts("new", verified=False) == {path: 1}


@pytest.mark.parametrize("how", ["recheck", "forget"])
def test_a_file_that_changes_while_it_is_noted_is_not_believed(tmp_path: Path, how: str) -> None:
    with text_tree(tmp_path, 0) as tree:
        path, other = tree.write("a.txt", b"old\n"), tree.write("b.txt", b"old\n")
        settle()

        def change() -> None:
            tree.write("a.txt", b"new line\n")
            getattr(tree.corpus, how)(path)

        tree.matrix.on_add = change
        tree.note()
        assert tree.unsettled() == [path]
        assert tree.counts("new", verified=False) == {path: 1}
        assert tree.counts("old", verified=False) == {other: 1}


def test_nothing_that_was_read_before_the_clock_was_set_is_noted(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        path = tree.write("a.txt", b"x\n")
        settle()
        tree.matrix.on_add = tree.corpus.distrust
        tree.note()
        assert tree.unsettled() == [path]
        tree.note()
        assert tree.unsettled() == []


@pytest.mark.parametrize("max_bytes", [PLENTY, 0])
def test_a_search_keeps_its_files_when_their_column_gets_others_meanwhile(tmp_path: Path, max_bytes: int) -> None:
    with text_tree(tmp_path, max_bytes) as tree:
        names = [tree.write(f"{number}.txt", b"needle\n" * 20) for number in range(3)]
        settle()
        tree.load()
        tree.note()
        assert tree.looked_at("needle") == names
        assert tree.looked_at("nowhere") == []

        def others() -> None:
            tree.corpus.distrust()
            for number in range(3):
                tree.write(f"{number}.txt", b"other\n" * 20)
            settle()
            tree.load()
            tree.note()

        tree.matrix.on_look = others
        assert tree.looked_at("needle") == names


def test_a_bundle_whose_trigrams_are_half_noted_is_searched(tree: TextTree) -> None:
    name = tree.write("a.txt", b"needle\n")
    settle()
    seen = []
    tree.matrix.on_add = lambda: seen.append(tree.looked_at("needle"))
    tree.load()
    assert seen == [[name]]


# Files of which only the trigrams are known


def test_only_files_that_may_match_are_read(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        for number in range(20):
            tree.write(f"{number:02}.txt", (b"needle" if number == 7 else b"nothing") + b" of hay\n" * 6)
        settle()
        tree.note()
        assert tree.unsettled() == []
        looked_at = tree.looked_at("needle")
        assert b"07.txt" in looked_at
        assert len(looked_at) < 4
        assert tree.counts("needle", verified=False) == {b"07.txt": 1}
        assert tree.corpus.statistics().files == 0
        assert not tree.corpus.has(b"07.txt")


def test_a_changed_file_is_read_until_it_is_noted_again(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        names = [tree.write(f"{number}.txt", b"old\n" * 9) for number in range(8)]
        settle()
        tree.note()
        tree.write("3.txt", b"new\n")
        assert tree.counts("new") == {b"3.txt": 1}
        assert tree.unsettled() == [b"3.txt"]
        settle()
        tree.note()
        assert tree.unsettled() == []
        assert tree.counts("new", verified=False) == {b"3.txt": 1}
        assert tree.counts("old", verified=False) == dict.fromkeys([each for each in names if each != b"3.txt"], 9)


def test_a_column_that_is_used_again_has_forgotten_what_it_held(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        tree.write("a.txt", b"needle\n")
        settle()
        tree.note()
        path = tree.write("a.txt", b"nothing\n")
        tree.corpus.forget(path)
        settle()
        tree.note()
        assert (tree.looked_at("nothing"), tree.looked_at("needle")) == ([path], [])


def test_binary_files_are_counted_and_not_read(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        path = tree.write("a.bin", b"\0needle\n")
        settle()
        tree.note()
        for verified in (False, True):
            for pattern in ("needle", "[a-z]"):
                selection = tree.selected(pattern, verified=verified)
                assert (selection.alone, selection.binary) == ([], [path])
                assert not any(tree.corpus.load(part).bundle.paths for part in selection.parts)
        tree.write("a.bin", b"a needle\n")
        assert tree.counts("needle") == {path: 1}


def test_a_text_that_comes_into_a_bundle_leaves_its_column(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0) as tree:
        names = [tree.write(f"{number}.txt", b"x\n" * 9) for number in range(8)]
        settle()
        tree.note()
        tree.contents.hold(-PLENTY)
        tree.load()
        tree.note()
        assert tree.corpus.statistics().files == 8
        assert tree.counts("x", verified=False) == dict.fromkeys(names, 9)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("budget", list(BUDGETS))
@pytest.mark.parametrize("seed", range(100, 120))
def test_no_match_is_lost_or_made_up_while_files_churn_for_long(tmp_path: Path, seed: int, budget: str) -> None:
    with text_tree(tmp_path, BUDGETS[budget]) as tree:
        churn(tree, 2_000, seed)
