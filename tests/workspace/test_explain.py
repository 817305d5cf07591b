"""Each reason why a path is not searched has its word, at the path that decides, and searches agree with it."""

import os
from pathlib import Path

import pytest

from picoclawd.workspace import explain
from picoclawd.workspace.explain import Explained
from tests.house import House

BUDGET = 1000


@pytest.fixture
def made(tmp_path: Path) -> House:
    root = tmp_path / "ws"
    root.mkdir()
    house = House(root)
    house.write("src/a.c", "text")
    house.write(".gitignore", "build/\n*.log\n!keep.log\n")
    house.write("src/.ignore", "gen.*\n")
    for name in (
        "build/out/b",
        "x.log",
        "keep.log",
        "src/gen.c",
        ".env",
        "keys/.ssh/id",
        ".git/config",
        ".env.example",
    ):
        house.write(name, "text")
    house.write(".picoclawd.1.abc.tmp", "text")
    house.write("bin", b"a\0b")
    house.write("big", "x" * (BUDGET + 1))
    house.write("closed", "text", 0)
    (root / "link").symlink_to("src/a.c")
    (root / "dirlink").symlink_to("src")
    (root / "secret").symlink_to(".env")
    (root / "out").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    return house


async def asked(house: House, path: str | bytes) -> Explained:
    given = path if isinstance(path, str) else path.decode("utf-8", "surrogateescape")
    return await explain.explain(house.workspace, house.workspace.parse(given), BUDGET)


@pytest.mark.parametrize(
    ("path", "reason", "at", "searched"),
    [
        (".", "visible", "", True),
        ("src", "visible", "src", True),
        ("src/a.c", "visible", "src/a.c", True),
        ("src/../src/a.c", "visible", "src/a.c", True),
        ("keep.log", "visible", "keep.log", True),
        (".env.example", "visible", ".env.example", True),
        ("x.log", "ignored", "x.log", False),
        ("build/out/b", "ignored", "build", False),
        ("src/gen.c", "ignored", "src/gen.c", False),
        (".env", "protected", ".env", False),
        ("keys/.ssh/id", "protected", "keys/.ssh", False),
        (".git/config", "own", ".git", False),
        (".picoclaw/artifacts", "own", ".picoclaw", False),
        (".picoclawd.1.abc.tmp", "own", ".picoclawd.1.abc.tmp", False),
        ("bin", "binary", "bin", False),
        ("big", "over_budget", "big", False),
        ("link", "link", "link", True),
        ("dirlink", "link", "dirlink", False),
        ("dirlink/a.c", "link", "dirlink", False),
        ("secret", "link", "secret", False),
        ("out", "link", "out", False),
        ("pipe", "special", "pipe", False),
        ("none/x", "missing", "none", False),
        ("src/a.c/x", "missing", "src/a.c/x", False),
    ],
)
async def test_a_path_is_explained(made: House, path: str, reason: str, at: str, searched: bool) -> None:
    found = await asked(made, path)
    assert (found.reason.value, found.at.decode(), found.searched) == (reason, at, searched)
    assert found.next


@pytest.mark.parametrize(
    ("path", "directory", "line_no", "pattern"),
    [("x.log", "", 2, "*.log"), ("keep.log", "", 3, "!keep.log"), ("src/gen.c", "src", 1, "gen.*")],
)
async def test_the_rule_is_named(made: House, path: str, directory: str, line_no: int, pattern: str) -> None:
    rule = (await asked(made, path)).rule
    assert rule is not None
    assert (rule.directory.decode(), rule.line_no, rule.pattern.decode()) == (directory, line_no, pattern)


async def test_what_changed_a_moment_ago_is_known(made: House) -> None:
    assert (await asked(made, "src/a.c")).searched
    made.write("src/.gitignore", "a.c\n")
    assert (await asked(made, "src/a.c")).reason == "ignored"
    (made.root / "src/.gitignore").unlink()
    (made.root / "src/a.c").unlink()
    assert (await asked(made, "src/a.c")).reason == "missing"


async def test_nobody_learns_what_lies_outside(made: House, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    there, absent = [await asked(made, str(tmp_path / name)) for name in ("there", "absent")]
    assert (there.reason.value, there.next) == ("outside", absent.next)
    assert absent.reason == "outside"


async def test_nobody_learns_whether_a_protected_file_exists(made: House) -> None:
    there, absent = await asked(made, ".env"), await asked(made, "src/.env")
    assert (absent.reason, absent.next) == (there.reason, there.next)


async def test_what_may_be_read_outside_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    house = House(tmp_path / "ws", allow_read_outside=True)
    found = await asked(house, str(tmp_path / "x"))
    assert (found.reason.value, found.searched) == ("outside", False)
    assert "it may be used" in found.next


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_what_cannot_be_read_is_said(made: House) -> None:
    assert (await asked(made, "closed")).reason == "unreadable"


@pytest.mark.parametrize("path", ["src/a.c", "keep.log", "x.log", "src/gen.c", ".env", "bin", "link", "secret", "pipe"])
async def test_a_search_by_content_agrees(made: House, path: str) -> None:
    """The walk of a search is the oracle: it knows nothing of explanations."""
    found = await made.call("search_files", pattern="", output_mode="files_only", limit=200)
    seen = {row["path"] for row in found["data"]["results"]}
    assert (await asked(made, path)).searched == (path in seen)
