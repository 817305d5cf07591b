"""What the tree shows, what it leaves out and counts, and how it takes in what happens."""

import itertools
import os
import resource
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.policy import PathRules, Policy
from picoclawd.files.rooted import Rooted
from picoclawd.index.changes import Difference, Found
from picoclawd.index.ground import Ground
from picoclawd.index.hiding import WorkspaceHiding
from picoclawd.index.listing import Kind, Skipped
from picoclawd.index.pathblob import order_key
from picoclawd.index.tree import Tree, Verified
from picoclawd.index.trust import Facts, Trust
from tests.depths import dug
from tests.index.grown import Grown
from tests.index.truth import TICK_NS, PlainHiding, difference, make_tree


def test_names_come_depth_first_by_name(grown: Grown) -> None:
    grown.write("b", "a/z", "a/b/c", "a.c", "a-b", "a/bb", "a0")
    expected = ["a/b/c", "a/bb", "a/z", "a-b", "a.c", "a0", "b"]
    assert grown.files() == expected
    assert grown.walked()[0] == expected
    assert sorted(map(os.fsencode, expected), key=order_key) == list(map(os.fsencode, expected))


def test_before_it_is_built_it_holds_nothing(grown: Grown) -> None:
    grown.write("a/b")
    grown.tree.verify(b"a")
    assert grown.tree.names(b"") is None
    assert grown.tree.listing(b"") is None


def test_git_and_our_own_directory_and_temporary_files_are_no_part_of_it(grown: Grown) -> None:
    grown.write(
        ".git/config", "a/.git/x", ".picoclaw/artifacts/1", "a/.picoclaw/y", ".picoclawd.12.0123456789abcdef.tmp"
    )
    grown.write("b/.git")
    names = grown.names()
    assert names.files.lines() == [b"a/.picoclaw/y"]
    assert names.skipped == Skipped()


def test_everything_left_out_is_counted_and_a_directory_once(grown: Grown) -> None:
    grown.write("build/a", "build/b/c", "x.log", "key.pem", ".ssh/id", ".ssh/config", "kept", "sub/y.log")
    grown.write(".gitignore", text="build/\n*.log\n*.pem\n")
    os.mkfifo(grown.root / "pipe")
    (grown.root / "link").symlink_to("kept")
    names = grown.names()
    assert names.files.lines() == [b".gitignore", b"kept"]
    assert names.links.lines() == [b"link"]
    assert names.skipped == Skipped(ignored=3, protected=2, special=1)
    assert grown.names("sub").skipped == Skipped(ignored=1)


@pytest.mark.parametrize(
    ("rules", "paths", "visible"),
    [
        pytest.param("build/\n!build/keep.txt\n", "build/keep.txt build/x", "", id="a62_excluded_parent"),
        pytest.param("build/*\n!build/keep.txt\n", "build/keep.txt build/x", "build/keep.txt", id="a62_reincluded"),
        pytest.param("/*\n!/foo\n/foo/*\n!/foo/bar\n", "foo/bar/x foo/y z", "foo/bar/x", id="a63_anchors"),
        pytest.param(
            "*.py\n!scripts/**/*.py\n", "a.py scripts/h.py scripts/x/h.py", "scripts/h.py scripts/x/h.py", id="a63"
        ),
        pytest.param("foo \nbar\\ \nqux\t\n", "foo bar qux", "bar qux", id="a64_trailing_spaces"),
        pytest.param("\\#notes\n\\!bang\n#comment\n", "#notes !bang #comment comment", "#comment comment", id="a65"),
        pytest.param("a/**/b\nfoo/**\n", "a/b a/x/b a/x/y/b z/a/b foo/q z/foo/a", "z/a/b z/foo/a", id="a66_globs"),
        pytest.param(
            "*.[oa]\n[!x]y.txt\n[a-c]z.md\n", "f.o f.a f.c ay.txt xy.txt az.md dz.md", "dz.md f.c xy.txt", id="a67"
        ),
        pytest.param("\ufeffskip.txt\r\nother.txt\r\n", "skip.txt other.txt c", "c", id="a68_bom_crlf"),
        pytest.param("only/\n", "only d/only/x d/y", "d/y only", id="a69_directories_only"),
        pytest.param("*\n!*.*\n", ".git/config.x a.b c", "a.b", id="a70_git_never"),
    ],
)
def test_a62_to_a70_ignore_rules_hold_in_the_tree_and_in_a_walk(
    grown: Grown, rules: str, paths: str, visible: str
) -> None:
    grown.write(*paths.split(" "))
    grown.write(".gitignore", text=rules)
    expected = [path for path in grown.files() if path != ".gitignore"]
    assert expected == visible.split()
    assert [path for path in grown.walked()[0] if path != ".gitignore"] == expected


def test_a69_a_link_to_a_directory_is_none(grown: Grown) -> None:
    grown.write("real/x").write(".gitignore", text="only/\n")
    (grown.root / "only").symlink_to("real")
    assert grown.names().links.lines() == [b"only"]


def test_a71_dot_ignore_beats_gitignore(grown: Grown) -> None:
    grown.write("dir/sub/x", "dir/y").write(".gitignore", text="/dir\n").write(".ignore", text="!/dir/sub/\n")
    assert grown.files() == [".gitignore", ".ignore"]
    grown.write(".ignore", text="!/dir\n")
    assert grown.files() == [".gitignore", ".ignore", "dir/sub/x", "dir/y"]


@pytest.mark.parametrize("name", ["***", "[x]", "?", "\\"])
def test_a72_a_directory_named_like_a_pattern_scopes_its_own_rules(grown: Grown, name: str) -> None:
    grown.write(f"{name}/a.tmp", f"{name}/b", "x/a.tmp", "a.tmp").write(f"{name}/.gitignore", text="*.tmp\n")
    assert sorted(grown.files()) == sorted([f"{name}/.gitignore", f"{name}/b", "a.tmp", "x/a.tmp"])


def test_a73_an_ignored_directory_is_counted_and_walked_where_it_is_named(grown: Grown) -> None:
    grown.write("build/out/hit.txt", "build/out/x.log", "src/a").write(".gitignore", text="build/\n*.log\n")
    assert grown.files() == [".gitignore", "src/a"]
    assert grown.names().skipped.ignored == 1
    assert grown.tree.names(b"build") is None
    assert grown.walked("build") == (["build/out/hit.txt"], Skipped(ignored=1))


def test_a77_links_that_lead_upwards_are_not_followed(grown: Grown) -> None:
    grown.write("sub/a")
    (grown.root / "loop").symlink_to(".")
    (grown.root / "sub/up").symlink_to("..")
    assert grown.files() == ["sub/a"]
    assert grown.names().links.lines() == [b"loop", b"sub/up"]


def test_a77_diamonds_of_links_cost_nothing(grown: Grown) -> None:
    for level in range(25):
        directory = grown.root / f"d{level}"
        directory.mkdir()
        (directory / "left").symlink_to(f"../d{level + 1}")
        (directory / "right").symlink_to(f"../d{level + 1}")
    assert grown.names().links.count == 50
    assert grown.tree.verify(b"").looked == 26


@pytest.mark.parametrize("levels", [255, 256, 1_500])
def test_a78_what_is_too_deep_is_counted_and_the_rest_is_found(grown: Grown, levels: int) -> None:
    with dug(grown.root, levels, (50, levels)):
        names = grown.names()
        shallow = b"d/" * 50 + b"needle"
        deep = [b"d/" * 255 + b"needle"] if levels == 255 else []
        assert names.files.lines() == [*deep, shallow]
        assert names.skipped == Skipped(too_deep=0 if levels == 255 else 1)
        assert grown.walked()[1] == names.skipped


def test_a79_what_was_removed_or_moved_outside_is_gone(grown: Grown) -> None:
    grown.write("a", "b", "d/c")
    assert grown.files() == ["a", "b", "d/c"]
    (grown.root / "a").unlink()
    (grown.root / "b").rename(grown.root / "d/b")
    assert grown.files() == ["d/b", "d/c"]


def test_a83_a_file_that_becomes_a_directory_was_removed_and_created(grown: Grown) -> None:
    grown.write("f")
    grown.names()
    (grown.root / "f").unlink()
    grown.write("f/g")
    assert grown.files() == ["f/g"]
    taken = grown.tree.take()
    assert taken.removed == (Found(b"f", Kind.FILE),)
    assert set(taken.created) == {Found(b"f", Kind.DIRECTORY), Found(b"f/g", Kind.FILE)}
    assert grown.tree.take() == Difference()


def test_a_thousand_files_moved_in_at_once_are_all_seen(grown: Grown, tmp_path: Path) -> None:
    grown.names()
    for number in range(1_000):
        path = tmp_path / "outside" / f"d{number % 40}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "outside").rename(grown.root / "inside")
    assert grown.names().files.count == 1_000
    assert len(grown.tree.take().created) == 1_041
    shutil.rmtree(grown.root / "inside")
    assert grown.files() == []
    assert len(grown.tree.take().removed) == 1_041


def test_a_storm_that_nobody_takes_is_told_in_one_word(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("picoclawd.index.changes.CHANGES_MAX", 50)
    grown.names()
    grown.write(*(f"f{number}" for number in range(60)))
    grown.names()
    assert grown.tree.take() == Difference(complete=False)
    grown.write("one")
    grown.names()
    assert grown.tree.take() == Difference(created=(Found(b"one", Kind.FILE),))


def test_a_rule_that_changes_says_so_in_the_difference(grown: Grown) -> None:
    grown.write("a.log")
    grown.names()
    grown.write("sub/deep/b.log")
    grown.names()
    assert not grown.tree.take().rules_changed, "what is new was judged by no rules before"
    grown.write(".gitignore", text="*.log\n")
    assert grown.files() == [".gitignore"]
    taken = grown.tree.take()
    assert taken.rules_changed
    assert {found.path for found in taken.removed} == {b"a.log", b"sub/deep/b.log"}


def test_to_verify_one_directory_leaves_no_other_judged_by_old_rules(grown: Grown) -> None:
    grown.write("one/a.log", "two/deep/b.log", "two/c").write(".gitignore", text="")
    grown.names()
    grown.write(".gitignore", text="*.log\n")
    grown.tree.verify(b"one")
    names = grown.tree.names(b"")
    assert names is not None
    assert names.files.lines() == [b".gitignore", b"two/c"]


def test_a_verify_that_was_stopped_loses_nothing(grown: Grown) -> None:
    grown.names()
    grown.write(*(f"d{number}/a.log" for number in range(1_200)), "kept")
    grown.write(".gitignore", text="*.log\n")

    def stop(looked: int) -> None:
        if looked > 500:
            raise Fault(Slug.CANCELLED, "stopped")

    with pytest.raises(Fault):
        grown.tree.verify(b"", stop)
    grown.tree.verify(b"kept")
    names = grown.tree.names(b"")
    assert names is not None
    assert names.files.lines() == [b".gitignore", b"kept"]
    assert names.skipped.ignored == 1_200


def test_a_build_that_was_stopped_is_continued(grown: Grown) -> None:
    grown.write(*(f"d{number}/a" for number in range(1_200)))

    def stop(looked: int) -> None:
        if looked:
            raise Fault(Slug.CANCELLED, "stopped")

    with pytest.raises(Fault):
        grown.tree.build(stop)
    assert not grown.tree.is_built
    assert grown.names().files.count == 1_200
    assert len(grown.tree.directories()) == 1_201
    assert grown.tree.take() == Difference()


@pytest.mark.parametrize("is_file", [False, True])
def test_an_own_write_is_seen_without_looking_again(grown: Grown, is_file: bool) -> None:
    grown.write("sub/a")
    grown.names()
    grown.write("sub/b", "sub/c.log", "new/deep/d")
    for path in (b"sub/b", b"sub/c.log", b"new/deep/d"):
        grown.tree.noted(path, is_file=is_file)
    assert _now(grown) == [b"new/deep/d", b"sub/a", b"sub/b", b"sub/c.log"]
    grown.write("sub/.gitignore", text="*.log\n")
    grown.tree.noted(b"sub/.gitignore", is_file=is_file)
    assert _now(grown) == [b"new/deep/d", b"sub/.gitignore", b"sub/a", b"sub/b"]
    (grown.root / "sub/b").unlink()
    (grown.root / "new").rename(grown.root / "sub/new")
    for path in (b"sub/b", b"new", b"sub/new"):
        grown.tree.noted(path)
    assert _now(grown) == [b"sub/.gitignore", b"sub/a", b"sub/new/deep/d"]


def _now(grown: Grown) -> list[bytes]:
    names = grown.tree.names(b"")
    assert names is not None
    return names.files.lines()


@pytest.mark.parametrize("path", ["build/x/y", ".git/x", ".picoclaw/z", ".ssh/k", "link/x", ".git", ".picoclaw"])
def test_an_own_write_to_where_the_tree_does_not_go_changes_nothing(grown: Grown, path: str) -> None:
    grown.write("build/a", ".ssh/b").write(".gitignore", text="build\n")
    (grown.root / "link").symlink_to("build")
    before = grown.names()
    grown.write(path if "/" in path else f"{path}/inside")
    grown.tree.noted(os.fsencode(path))
    assert _now(grown) == before.files.lines()


def test_an_outside_change_beside_an_own_write_is_still_found(grown: Grown) -> None:
    grown.write("sub/a")
    grown.names()
    grown.write("sub/own", "sub/other")
    grown.tree.noted(b"sub/own")
    assert grown.files() == ["sub/a", "sub/other", "sub/own"]


def test_names_are_at_hand_until_they_change(grown: Grown) -> None:
    grown.write("sub/a", "other/b")
    names = grown.names()
    assert grown.tree.names_at_hand(b"") is names
    assert grown.tree.names_at_hand(b"none") is None
    grown.write("sub/own")
    grown.tree.noted(b"sub/own")
    assert grown.tree.names_at_hand(b"") is None
    assert grown.tree.names_at_hand(b"other") is grown.tree.names(b"other")
    _now(grown)
    assert grown.tree.names_at_hand(b"") is not None


def test_a_hint_is_followed_wherever_it_leads(grown: Grown) -> None:
    grown.write("sub/a").write(".gitignore", text="build\n")
    grown.names()
    grown.write("sub/b", "build/x", "new/deep/c")
    for hint in (b"sub", b"build/y", b"new/deep", b"nowhere/at/all"):
        grown.tree.rescan(hint)
    assert _now(grown) == [b".gitignore", b"new/deep/c", b"sub/a", b"sub/b"]


def test_a_hint_brings_up_all_that_is_below_it_at_once(grown: Grown) -> None:
    grown.names()
    grown.write("new/deep/er/and/more/c")
    grown.tree.rescan(b"")
    assert _now(grown) == [b"new/deep/er/and/more/c"]


class _Counted(Ground):
    """A ground that remembers which directories were listed or looked at, and of which one can be lost for a while."""

    def __init__(self, root_fd: int) -> None:
        super().__init__(root_fd)
        self.opened: list[bytes] = []
        self.stats: list[bytes] = []
        self.lost: list[bytes] = []

    def stat(self, relative: bytes) -> os.stat_result:
        self.stats.append(relative)
        if relative in self.lost:
            self.lost.remove(relative)
            raise FileNotFoundError(relative)
        return super().stat(relative)

    def open(self, relative: bytes) -> int:
        self.opened.append(relative)
        return super().open(relative)


class _Believing(Trust):
    """Believes every stat, however fresh."""

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("hint", "looked_at"),
    [
        *((hint, []) for hint in ("build/y", "build/y/z", ".git/x", ".ssh/k", "sub/skip/x", "sub/.git/x")),
        *((hint, [""]) for hint in ("", "new/x", "file/x", "link/x", "pipe/x")),
        *((hint, ["sub"]) for hint in ("sub", "sub/new/x", "sub/file/x")),
    ],
)
def test_a_hint_costs_a_look_at_most_where_something_may_be_new(grown: Grown, hint: str, looked_at: list[str]) -> None:
    grown.write("build/a", ".ssh/b", ".git/c", "file", "sub/skip/d", "sub/file")
    grown.write(".gitignore", text="build\nskip\n")
    (grown.root / "link").symlink_to("sub")
    os.mkfifo(grown.root / "pipe")
    ground = _Counted(grown.fd)
    tree = Tree(ground, PlainHiding(), _Believing(TICK_NS), lambda: None)
    tree.build()
    ground.opened.clear()
    tree.rescan(os.fsencode(hint))
    assert ground.opened == list(map(os.fsencode, looked_at))


def test_a_directory_below_others_is_verified_and_named_by_its_path(grown: Grown) -> None:
    grown.write("a/b/c/one", "a/b/two")
    grown.names()
    grown.write("a/b/c/three", "a/four")
    assert grown.files("a/b/c") == ["a/b/c/one", "a/b/c/three"]
    listing = grown.tree.listing(b"a/b/c")
    assert listing is not None and [name for name, _ in listing.entries()] == [b"one", b"three"]


class _Doubting(Trust):
    """Finds every stat equal, and believes none."""

    def facts(self, stat: os.stat_result) -> Facts:
        return (0,)

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        return False


@pytest.mark.parametrize("trust", [_Believing(TICK_NS), _Doubting(TICK_NS)])
def test_a_change_anywhere_is_found_from_the_root(grown: Grown, trust: Trust) -> None:
    grown.write("a/b/c/old", "d/e/old")
    tree = Tree(grown.ground, PlainHiding(), trust, lambda: None)
    tree.build()
    for path in ("a/b/c/new", "d/e/f/g/new", "a/b/new"):
        grown.write(path)
        tree.verify(b"")
        names = tree.names(b"")
        assert names is not None and os.fsencode(path) in names.files.lines()


def test_a_rule_file_that_is_rewritten_in_place_is_read_again(grown: Grown) -> None:
    grown.write("a/b/x.log", "a/b/y.tmp").write("a/b/.gitignore", text="*.log\n")
    tree = Tree(grown.ground, PlainHiding(), _Believing(TICK_NS), lambda: None)
    tree.build()
    grown.write("a/b/.gitignore", text="*.tmp\n")  # the directory's own times stay
    tree.verify(b"")
    names = tree.names(b"")
    assert names is not None and names.files.lines() == [b"a/b/.gitignore", b"a/b/x.log"]


def test_a_verify_that_finds_nothing_to_do_asks_whether_to_stop_and_costs_a_stat_a_directory(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("picoclawd.index.tree.CHUNK", 5)
    grown.write(*(f"d{number}/a" for number in range(12)), "e/f/g")
    ground = _Counted(grown.fd)
    tree = Tree(ground, PlainHiding(), _Believing(TICK_NS), lambda: None)
    tree.build()
    ground.opened.clear()
    ground.stats.clear()
    polled: list[int] = []
    assert tree.verify(b"", polled.append) == Verified(looked=15)
    assert polled[:3] == [1, 6, 11]
    assert ground.opened == [] and sorted(ground.stats) == sorted(tree.directories())


@pytest.mark.parametrize("lost", ["", "e", "e/f"])
def test_a_directory_that_cannot_be_looked_at_is_listed_again(grown: Grown, lost: str) -> None:
    grown.write("e/f/g", "h")
    ground = _Counted(grown.fd)
    tree = Tree(ground, PlainHiding(), _Believing(TICK_NS), lambda: None)
    tree.build()
    ground.opened.clear()
    ground.lost = [os.fsencode(lost)] * (2 if lost else 1)  # below the root the quick look is followed by another
    tree.verify(b"")
    assert (ground.opened, ground.lost) == ([os.fsencode(lost)], [])
    names = tree.names(b"")
    assert names is not None and names.files.lines() == [b"e/f/g", b"h"]


def _stopped(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A tree that was stopped half-way through judging twelve directories by a new rule."""
    monkeypatch.setattr("picoclawd.index.tree.CHUNK", 5)
    grown.write(*(f"d{number}/a.log" for number in range(12)), "kept")
    tree = Tree(grown.ground, PlainHiding(), _Believing(TICK_NS), lambda: None)
    tree.build()
    grown.write(".gitignore", text="*.log\n")

    def stop(looked: int) -> None:
        if looked > 5:
            raise Fault(Slug.CANCELLED, "stopped")

    with pytest.raises(Fault):
        tree.verify(b"", stop)
    return tree


def test_what_a_stopped_call_owed_is_done_by_the_next_although_nothing_shows_it(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = _stopped(grown, monkeypatch)
    tree.rescan(b".git/x")  # looks nowhere itself
    names = tree.names(b"")
    assert names is not None and names.files.lines() == [b".gitignore", b"kept"]


def test_what_a_stopped_call_owed_and_is_gone_by_then_is_passed_over(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = _stopped(grown, monkeypatch)
    for number in range(12):
        shutil.rmtree(grown.root / f"d{number}")
    polls = itertools.count()

    def end(looked: int) -> None:
        assert next(polls) < 100, "it goes on for ever"

    tree.verify(b"", end)
    names = tree.names(b"")
    assert names is not None and names.files.lines() == [b".gitignore", b"kept"]


def test_a_hint_that_brings_up_much_asks_whether_to_stop(grown: Grown) -> None:
    grown.names()
    grown.write("new/deep/er/c")
    polled: list[int] = []
    grown.tree.rescan(b"", polled.append)
    assert polled and polled == sorted(polled)


def test_a_listing_is_that_of_the_directory_that_is_asked_for(grown: Grown) -> None:
    grown.write("sub/a", "b")
    grown.names()
    listing = grown.tree.listing(b"sub")
    assert listing is not None and [name for name, _ in listing.entries()] == [b"a"]
    assert grown.tree.listing(b"nowhere") is None


class _Held(Ground):
    """A ground on which a look at one directory stops until it is let go."""

    def __init__(self, root_fd: int, at: bytes) -> None:
        super().__init__(root_fd)
        self._at = at
        self.armed = False
        self.inside, self.go_on = threading.Event(), threading.Event()

    def open(self, relative: bytes) -> int:
        if self.armed and relative == self._at:
            self.inside.set()
            assert self.go_on.wait(30)
        return super().open(relative)


_LOOKS: dict[str, tuple[str, Callable[[Tree], object]]] = {
    "verify of the root": ("", lambda tree: tree.verify(b"")),
    "verify below": ("sub", lambda tree: tree.verify(b"")),
    "verify of what is new": ("new", lambda tree: tree.verify(b"")),
    "rescan": ("sub", lambda tree: tree.rescan(b"sub")),
    "rescan of what is new": ("new", lambda tree: tree.rescan(b"")),
    "rescan of what is new below": ("new/deep", lambda tree: tree.rescan(b"")),
    "own write": ("sub", lambda tree: tree.noted(b"sub/b")),
}
_OTHERS: dict[str, Callable[[Tree], object]] = {
    "verify": lambda tree: tree.verify(b""),
    "rescan": lambda tree: tree.rescan(b"sub"),
    "own write": lambda tree: tree.noted(b"sub/b"),
    "names": lambda tree: tree.names(b""),
    "directories": lambda tree: tree.directories(),
    "take": lambda tree: tree.take(),
    "judge again": lambda tree: tree.judge_again(),
}


@pytest.mark.parametrize(
    ("look", "other"),
    [*((look, "directories") for look in _LOOKS), *(("verify below", other) for other in _OTHERS)],
)
def test_nobody_sees_the_tree_while_a_directory_is_looked_at(grown: Grown, look: str, other: str) -> None:
    grown.write("sub/a")
    where, act = _LOOKS[look]
    ground = _Held(grown.fd, os.fsencode(where))
    tree = Tree(ground, PlainHiding(), Trust(TICK_NS), lambda: None)
    tree.build()
    grown.write("sub/b", "new/deep/c")
    tree.noted(b"sub/b")  # so that the names are to be joined anew
    ground.armed = True
    with ThreadPoolExecutor(2) as pool:
        looking = pool.submit(act, tree)
        try:
            assert ground.inside.wait(30)
            asking = pool.submit(_OTHERS[other], tree)
            assert not wait([asking], 0.02).done, "it did not wait for its turn"
        finally:
            ground.go_on.set()
        looking.result(30)
        asking.result(30)


def test_a_hint_of_a_directory_finds_another_in_the_place_of_its_subdirectory(grown: Grown) -> None:
    grown.write("sub/a", "sub/in/b")
    grown.names()
    shutil.rmtree(grown.root / "sub/in")
    grown.write("sub/in/c")
    grown.tree.rescan(b"sub")
    assert _now(grown) == [b"sub/a", b"sub/in/c"]


def test_a_hint_of_a_directory_that_is_gone_takes_it_out(grown: Grown) -> None:
    grown.write("sub/in/deep/a", "b")
    grown.names()
    shutil.rmtree(grown.root / "sub")
    grown.tree.rescan(b"sub/in/deep")
    assert _now(grown) == [b"b"]


def test_a_directory_behind_a_new_link_is_not_entered(grown: Grown, tmp_path: Path) -> None:
    grown.write("sub/in/a")
    grown.names()
    (tmp_path / "elsewhere/in").mkdir(parents=True)
    (tmp_path / "elsewhere/in/secret").touch()
    (grown.root / "sub").rename(tmp_path / "old")
    (grown.root / "sub").symlink_to(tmp_path / "elsewhere")
    grown.tree.rescan(b"sub/in")
    assert _now(grown) == []
    assert grown.names().links.lines() == [b"sub"]


def test_a_scope_that_is_gone_is_not_held(grown: Grown) -> None:
    grown.write("sub/a")
    grown.names()
    shutil.rmtree(grown.root / "sub")
    grown.tree.verify(b"sub")
    assert grown.tree.names(b"sub") is None


def test_what_cannot_be_read_is_counted_and_comes_back(
    grown: Grown, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    grown.write("shut/a", "open/b")
    for directory in (grown.root, *grown.root.parents):
        if not directory.stat().st_mode & 0o005:
            directory.chmod(directory.stat().st_mode | 0o055)
    (grown.root / "shut").chmod(0o700)
    with as_nobody():
        assert grown.names().skipped == Skipped(unreadable=1)
        assert grown.files() == ["open/b"]
        assert grown.walked() == (["open/b"], Skipped(unreadable=1))
        assert grown.walked("shut") == ([], Skipped(unreadable=1))
    assert grown.files() == ["open/b", "shut/a"]


def test_of_a_directory_that_could_not_be_read_no_half_is_shown(
    grown: Grown, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    grown.write("sub/a", "b")
    (grown.root / "sub").chmod(0)
    with as_nobody():
        assert grown.names().skipped == Skipped(unreadable=1)
    (grown.root / "sub").chmod(0o755)
    grown.write("sub/own")
    grown.tree.noted(b"sub/own")
    assert _now(grown) == [b"b"]
    assert grown.files() == ["b", "sub/a", "sub/own"]


def test_the_generation_of_a_scope_changes_with_its_names_only(grown: Grown) -> None:
    grown.write("one/a", "two/b")
    one, two = grown.names("one").generation, grown.names("two").generation
    grown.write("two/b", text="other text")
    assert (grown.names("one").generation, grown.names("two").generation) == (one, two)
    grown.write("two/c")
    assert grown.names("one").generation == one
    assert grown.names("two").generation != two
    assert grown.names("").generation != one


@pytest.mark.parametrize("name", [b"caf\xe9", b"li\nne", b"\n\xff\n\xfe", "caf\u00e9".encode()])
def test_names_of_any_bytes_are_kept_as_they_are(grown: Grown, name: bytes) -> None:
    root = os.fsencode(grown.root)
    os.mkdir(root + b"/" + name)
    os.close(os.open(root + b"/" + name + b"/" + name, os.O_CREAT | os.O_WRONLY))
    os.close(os.open(root + b"/" + name + b"/z.c", os.O_CREAT | os.O_WRONLY))
    assert grown.names().files.lines() == [name + b"/" + name, name + b"/z.c"]
    assert grown.glob("*.c") == [os.fsdecode(name + b"/z.c")]
    assert difference(grown.tree, root) is None


@pytest.mark.parametrize("trust", [Trust(TICK_NS), _Believing(TICK_NS)])
@pytest.mark.parametrize("look", [lambda tree: tree.verify(b""), lambda tree: tree.noted(b"sub/other")])
def test_a_policy_that_changes_is_asked_again(grown: Grown, look: Callable[[Tree], object], trust: Trust) -> None:
    grown.write("sub/key.pem")
    root = os.fsencode(grown.root)
    policies = [Policy(PathRules(workspace=root))]
    tree = Tree(grown.ground, WorkspaceHiding(root, lambda: policies[-1]), trust, lambda: None)
    tree.build()
    assert (names := tree.names(b"")) is not None and names.skipped.protected == 1
    policies.append(Policy(PathRules(workspace=root, unprotect=(r"\.pem$",))))
    tree.judge_again()
    look(tree)
    assert (names := tree.names(b"")) is not None and names.files.lines() == [b"sub/key.pem"]


@pytest.mark.parametrize("gone", ["moved", "removed"])
def test_a_root_that_is_gone_is_said_to_be(tmp_path: Path, gone: str) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    real = os.fsencode(root)
    with Rooted(real, Policy(PathRules(workspace=real))) as rooted:
        tree = Tree(Ground(rooted.root_fd), PlainHiding(), Trust(TICK_NS), rooted.check_root)
        tree.build()
        if gone == "moved":
            root.rename(tmp_path / "other")
        else:
            root.rmdir()
        with pytest.raises(Fault) as caught:
            tree.verify(b"")
    assert caught.value.slug is Slug.ROOT_GONE


def test_it_works_without_openat2(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").touch()
    (tmp_path / "link").symlink_to("a")
    fd = os.open(tmp_path, os.O_PATH)
    tree = Tree(Ground(fd, openat2=False), PlainHiding(), Trust(TICK_NS), lambda: None)
    tree.build()
    assert difference(tree, os.fsencode(tmp_path)) is None
    os.close(fd)


def test_without_descriptors_it_says_so_and_goes_on_later(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    tree, fd = make_tree(os.fsencode(tmp_path))
    (tmp_path / "a/new").touch()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(tmp_path, os.O_PATH)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        with pytest.raises(Fault) as caught:
            tree.verify(b"")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.slug is Slug.IO_ERROR
    tree.verify(b"")
    assert difference(tree, os.fsencode(tmp_path)) is None
    os.close(fd)
