"""Patches of one file, judged by `git apply`."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picoclawd.text import gitpatch

CONTENTS = st.one_of(
    st.none(),
    st.lists(st.sampled_from([b"one\n", b"two\n", b"", b"three", b"\r\n", "é\n".encode()]), max_size=8).map(b"".join),
    st.binary(max_size=300),
)


def apply(root: Path, patch: str, *options: str) -> None:
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options, "-"],
        cwd=root,
        input=os.fsencode(patch),
        check=True,
        timeout=30,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(root.parent)},
    )


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def put(path: Path, data: bytes | None) -> None:
    path.unlink(missing_ok=True)
    if data is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=CONTENTS, after=CONTENTS)
def test_git_applies_every_patch_and_takes_it_back(tmp_path: Path, before: bytes | None, after: bytes | None) -> None:
    patch = gitpatch.file_patch("dir/f.txt", before, after)
    assert bool(patch) is (before != after)
    path = tmp_path / "dir" / "f.txt"
    put(path, before)
    if patch:
        apply(tmp_path, patch)
        assert content(path) == after
        apply(tmp_path, patch, "-R")
    assert content(path) == before


@pytest.mark.parametrize("name", ["a b.txt", 'quo"te.txt', "tab\there.txt", "é.txt", "back\\slash", "bad\udcff.txt"])
def test_odd_names_come_through(tmp_path: Path, name: str) -> None:
    apply(tmp_path, gitpatch.file_patch(name, None, b"x\n"))
    assert content(tmp_path / name) == b"x\n"


def test_patches_of_several_files_are_joined(tmp_path: Path) -> None:
    put(tmp_path / "gone.bin", b"\0\1")
    apply(
        tmp_path,
        gitpatch.file_patch("new.txt", None, b"n")
        + gitpatch.file_patch("gone.bin", b"\0\1", None)
        + gitpatch.file_patch("empty", None, b""),
    )
    assert (content(tmp_path / "new.txt"), content(tmp_path / "gone.bin")) == (b"n", None)
    assert content(tmp_path / "empty") == b""
