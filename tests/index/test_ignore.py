"""Verdicts over a chain of rule files, and the explanation that names the line."""

import time
from collections.abc import Callable

import pytest

from picoclawd.index.ignore import ROOT, Explanation, Kind, Scope, explain
from picoclawd.index.ignore_rules import parse_rules
from tests.index.ignore_cases import CASES, load
from tests.index.ignore_worlds import ours


def root(gitignore: bytes = b"", ignore: bytes = b"") -> Scope:
    """The scope of the root with one or two rule files."""
    return ROOT.enter(b"", parse_rules(gitignore), parse_rules(ignore))


def below(scope: Scope, *names: bytes) -> Scope:
    """The scope further down, where no directory has a rule file."""
    for name in names:
        scope = scope.enter(name, None, None)
    return scope


@pytest.mark.parametrize("case", CASES)
def test_the_corpus_is_decided_as_written(case: str) -> None:
    world, verdicts = load(case)
    found = {path: ours(world, path) for path in verdicts}
    assert {path: bool(why and why.ignored) for path, why in found.items()} == verdicts


def test_a63_order_is_kept_whenever_it_is_asked() -> None:
    for _ in range(20):
        scope = root(b"/*\n!/foo\n/foo/*\n!/foo/bar\n")
        assert [scope.verdict(name, True) for name in (b"foo", b"x", b"bar")] == [False, True, True]
        assert [below(scope, b"foo").verdict(name, True) for name in (b"foo", b"bar")] == [True, False]


def test_a69_a_link_to_a_directory_is_no_directory() -> None:
    scope = root(b"only/\n")
    assert scope.verdict(b"only", is_directory=True)
    assert not scope.verdict(b"only", is_directory=False)


@pytest.mark.parametrize("rules", [b"", b"*\n!*.*\n", b"!.git\n", b"!.git/\n!*\n"])
@pytest.mark.parametrize("is_directory", [True, False])
def test_a70_git_is_always_skipped(rules: bytes, is_directory: bool) -> None:
    scope = root(rules, rules)
    assert scope.verdict(b".git", is_directory)
    assert below(scope, b"sub").verdict(b".git", is_directory)
    assert explain(scope, b".git", is_directory) == Explanation(True, Kind.ALWAYS, b"", 0, b".git")
    assert not scope.verdict(b"x.git", is_directory)


def test_a71_a_parent_stays_ignored_whatever_ignore_says_of_its_entries() -> None:
    scope = root(b"/dir\n", b"!/dir/sub/\n")
    assert scope.verdict(b"dir", True)
    assert not below(scope, b"dir").verdict(b"sub", True)


def test_a71_ignore_beats_gitignore() -> None:
    scope = root(b"/dir\n*.log\n", b"!/dir\nkeep\n")
    assert not scope.verdict(b"dir", True)
    assert scope.verdict(b"keep", False)
    assert scope.verdict(b"a.log", False)


def test_an_ignore_file_far_above_beats_the_nearest_gitignore() -> None:
    scope = root(b"", b"!*.log\n*.tmp\n").enter(b"sub", parse_rules(b"*.log\n!*.tmp\n"), None)
    assert not scope.verdict(b"a.log", False)
    assert scope.verdict(b"a.tmp", False)


def test_the_deeper_ignore_file_wins() -> None:
    scope = root(b"", b"*.log\n").enter(b"sub", None, parse_rules(b"!*.log\n"))
    assert not scope.verdict(b"a.log", False)
    assert root(b"", b"*.log\n").verdict(b"a.log", False)


def test_a72_a_directorys_name_is_no_pattern() -> None:
    for name in (b"***", b"[x]", b"?", b"\\", b"!", b"#", b"a b"):
        scope = ROOT.enter(b"", None, None).enter(name, parse_rules(b"*.tmp\n/top\nsub/y\n"), None)
        assert scope.verdict(b"a.tmp", False)
        assert scope.verdict(b"top", False)
        assert below(scope, b"sub").verdict(b"y", False)
        assert below(scope, b"sub").verdict(b"a.tmp", False)
        assert not below(scope, b"sub").verdict(b"top", False)
        beside = below(ROOT, b"x")
        assert not beside.verdict(b"a.tmp", False)


def test_a73_what_an_ignored_directory_holds_is_visible_once_it_is_named() -> None:
    scope = root(b"build/\n*.o\n")
    assert scope.verdict(b"build", True)
    named = below(scope, b"build")
    assert not named.verdict(b"out.txt", False)
    assert named.verdict(b"out.o", False)


def test_a_scope_is_not_changed_by_those_made_from_it() -> None:
    scope = root(b"*.o\n")
    scope.enter(b"a", parse_rules(b"*\n"), parse_rules(b"*\n"))
    assert not scope.verdict(b"x", False)
    assert not below(scope, b"a").verdict(b"x", False)


def test_a_directory_without_rule_files_shares_the_rules_of_its_parent() -> None:
    scope = root(b"*.o\n", b"*.p\n")
    deep = below(scope, b"a", b"b")
    assert [view.table for view in deep.for_files] == [view.table for view in scope.for_files]
    assert all(new.rules is old.rules for new, old in zip(deep.for_files, scope.for_files, strict=True))


def test_rules_that_can_match_no_more_are_left_behind() -> None:
    scope = root(b"/a\n/b/c\n/d/*/e\n")
    assert len(below(scope, b"b").for_files) == len(below(scope, b"d").for_files) == 1
    assert not below(scope, b"x").for_files


@pytest.mark.parametrize("glob", [b"/f**", b"?/x/y", b"[a]/x/y", b"**/x/y", b"a\\/x/y", b"*/x/y", b"/**/x/y", b"a/**"])
def test_rules_that_may_match_below_are_not_left_behind(glob: bytes) -> None:
    assert below(root(glob), b"f" if glob == b"/f**" else b"a").for_files


def test_an_explanation_names_file_line_and_rule() -> None:
    scope = root(b"# first\n\n*.log  \n!keep.log\r\n").enter(b"a", None, None).enter(b"b", parse_rules(b"/x/\n"), None)
    assert explain(scope, b"a.log", False) == Explanation(True, Kind.GITIGNORE, b"", 3, b"*.log")
    assert explain(scope, b"keep.log", False) == Explanation(False, Kind.GITIGNORE, b"", 4, b"!keep.log")
    assert explain(scope, b"x", True) == Explanation(True, Kind.GITIGNORE, b"a/b", 1, b"/x/")
    assert explain(scope, b"x", False) is None


def test_an_explanation_names_an_ignore_file() -> None:
    assert explain(root(b"x\n", b"!x\n"), b"x", False) == Explanation(False, Kind.IGNORE, b"", 1, b"!x")


def test_with_no_rule_file_nothing_is_ignored() -> None:
    assert not ROOT.verdict(b"x", True)
    assert explain(below(ROOT, b"a"), b"x", False) is None


def microseconds(work: Callable[[], object], calls: int) -> float:
    """The best of five runs, for one call."""
    best = min(_timed(work) for _ in range(5))
    return best / calls * 1e6


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def test_a_verdict_against_200_rules_costs_microseconds() -> None:
    # 1.5 to 3 us where this was written; the bound says only that no rule is asked one by one, which took 46.
    lines = (
        [b"*.e%d" % n for n in range(80)] + [b"name%d" % n for n in range(80)] + [b"gen*_%d?" % n for n in range(30)]
    )
    scope = below(
        root(b"\n".join([*lines, b".*", b"*~", b"/x/*/y", b"/z", b"a/b", b"!*.c", b"d/", b"!/q/", b"*.[ao]"]))
    )
    names = [b"some_file_%d%s" % (n, end) for n in range(500) for end in (b".c", b".h", b"", b".txt")]
    below_it = below(scope, b"src", b"core")
    assert microseconds(lambda: [below_it.verdict(name, False) for name in names], len(names)) < 15
