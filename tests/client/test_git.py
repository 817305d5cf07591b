import subprocess
from pathlib import Path

import pytest

from picoclawd.client.failures import Failure
from picoclawd.client.git import WorkTree
from picoclawd.text import gitpatch
from tests.conftest import needs


@pytest.fixture(autouse=True)
def _git() -> None:
    needs("git")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of this machine's, and an author."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.org")


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with `kept.txt` and `gone.txt` committed, and `build/` ignored."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    for name, text in {"kept.txt": "old\n", "gone.txt": "gone\n", ".gitignore": "build/\n"}.items():
        (root / name).write_text(text)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "first")
    return root


def change(root: Path, name: str, before: bytes | None, after: bytes | None) -> str:
    """Make a change on disk, and give its patch."""
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if after is not None:
        path.write_bytes(after)
    return gitpatch.file_patch(name, before, after)


def test_a_commit_holds_the_paths_of_the_patch_and_nothing_else(tree: Path) -> None:
    patch = "".join(
        (
            change(tree, "kept.txt", b"old\n", b"new\n"),
            change(tree, "gone.txt", b"gone\n", None),
            change(tree, "src/a b\n*.txt", None, b"hello\n"),
            change(tree, "picture", None, b"\0\1\2"),
            change(tree, "build/out", None, b"x"),
            gitpatch.file_patch("came and went", b"x\n", None),
        )
    )
    (tree / "staged.txt").write_text("staged\n")
    (tree / "src/other.txt").write_text("other\n")
    git(tree, "add", "staged.txt")
    work = WorkTree(str(tree))
    found = work.paths_of(patch)
    assert sorted(found.taken) == ["gone.txt", "kept.txt", "picture", "src/a b\n*.txt"]
    assert found.ignored == ["build/out"]
    name = work.commit(found.taken, "the objective")
    assert git(tree, "log", "-1", "--format=%h %s").split(maxsplit=1) == [name, "the objective\n"]
    shown = git(tree, "show", "--format=", "--name-status", "-z").split("\0")
    assert sorted(zip(shown[1::2], shown[::2], strict=False)) == [
        ("gone.txt", "D"),
        ("kept.txt", "M"),
        ("picture", "A"),
        ("src/a b\n*.txt", "A"),
    ]
    assert git(tree, "diff", "--cached", "--name-only") == "staged.txt\n"


def test_a_workspace_below_the_top_commits_its_own_files(tree: Path) -> None:
    below = tree / "sub"
    below.mkdir()
    (below / "kept.txt").write_text("below\n")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "-m", "second")
    patch = change(below, "kept.txt", b"below\n", b"changed\n")
    work = WorkTree(str(below))
    assert work.paths_of(patch).taken == ["kept.txt"]
    assert work.is_undone_by(patch)
    work.commit(["kept.txt"], "below")
    assert git(tree, "show", "--format=", "--name-only") == "sub/kept.txt\n"


def test_a_first_commit_can_be_made(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    patch = change(tmp_path, "a.txt", None, b"a\n")
    work = WorkTree(str(tmp_path))
    work.commit(work.paths_of(patch).taken, "first")
    assert git(tmp_path, "log", "--format=%s") == "first\n"


def test_files_that_changed_again_are_noticed(tree: Path) -> None:
    patch = change(tree, "kept.txt", b"old\n", b"new\n")
    work = WorkTree(str(tree))
    assert work.is_undone_by(patch)
    (tree / "kept.txt").write_text("newer\n")
    assert not work.is_undone_by(patch)


def test_a_hook_that_refuses_is_heard(tree: Path) -> None:
    hook = tree / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no tabs please >&2\nexit 1\n")
    hook.chmod(0o755)
    patch = change(tree, "kept.txt", b"old\n", b"new\n")
    work = WorkTree(str(tree))
    with pytest.raises(Failure, match="git commit failed: no tabs please"):
        work.commit(work.paths_of(patch).taken, "x")


def test_another_repository_in_the_environment_is_not_meant(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    assert WorkTree(str(tree)).paths_of("").taken == []


def test_no_work_tree_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(Failure, match="is no git work tree"):
        WorkTree(str(tmp_path))


def test_no_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Failure, match="no git on PATH"):
        WorkTree(str(tmp_path))
