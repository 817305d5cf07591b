"""Each reason why a path is or is not searched has its word, its place and its rule."""

import os

import pytest

from picoclawd.index.ignore import Kind
from picoclawd.index.why import Reason, why
from tests.index.grown import Grown


@pytest.fixture
def made(grown: Grown) -> Grown:
    grown.write("src/a.c", "build/out/b", "x.log", "keep.log", ".ssh/id", ".git/config", "a/.git/x", ".picoclaw/t/1")
    grown.write(".gitignore", text="# rules\nbuild/\n*.log\n!keep.log\n")
    (grown.root / "link").symlink_to("src")
    os.mkfifo(grown.root / "pipe")
    grown.names()
    return grown


@pytest.mark.parametrize(
    ("path", "reason", "at", "line_no"),
    [
        ("", Reason.VISIBLE, "", None),
        ("src", Reason.VISIBLE, "src", None),
        ("src/a.c", Reason.VISIBLE, "src/a.c", None),
        ("keep.log", Reason.VISIBLE, "keep.log", 4),
        ("x.log", Reason.IGNORED, "x.log", 3),
        ("build", Reason.IGNORED, "build", 2),
        ("build/out/b", Reason.IGNORED, "build", 2),
        (".ssh/id", Reason.PROTECTED, ".ssh", None),
        (".git/config", Reason.OWN, ".git", None),
        ("a/.git", Reason.OWN, "a/.git", None),
        (".picoclaw/t/1", Reason.OWN, ".picoclaw", None),
        ("link", Reason.LINK, "link", None),
        ("link/a.c", Reason.LINK, "link", None),
        ("pipe", Reason.SPECIAL, "pipe", None),
        ("none", Reason.MISSING, "none", None),
        ("src/none/x", Reason.MISSING, "src/none", None),
        ("src/a.c/x", Reason.MISSING, "src/a.c/x", None),
    ],
)
def test_a_path_is_explained(made: Grown, path: str, reason: Reason, at: str, line_no: int | None) -> None:
    answer = why(made.tree, path.encode())
    assert (answer.reason, answer.at) == (reason, at.encode())
    assert (answer.rule.line_no if answer.rule else None) == line_no
    assert answer.rule is None or (answer.rule.kind, answer.rule.directory) == (Kind.GITIGNORE, b"")


def test_what_is_too_deep_is_explained(grown: Grown) -> None:
    deep = "/".join(["d"] * 255)
    (grown.root / deep / "e").mkdir(parents=True)
    grown.names()
    assert why(grown.tree, f"{deep}/e/f".encode()).reason is Reason.TOO_DEEP
