"""Rule files are read when they changed, and only then; links and what else is no file are not."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.index import rule_files
from picoclawd.index.ground import Ground
from picoclawd.index.ignore import ROOT
from picoclawd.index.ignore_lines import RULE_FILE_MAX_BYTES
from picoclawd.index.rule_files import NO_RULE_FILES, RuleFiles, are_current, entered, refresh, same_rules, scope_above
from picoclawd.index.trust import Trust
from tests.index.truth import TICK_NS

TRUST = Trust(TICK_NS)
BELIEVING = Trust(TICK_NS)
BELIEVING.settles = lambda stat, taken_ns: True  # type: ignore[method-assign]


class Place:
    """A directory with rule files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDONLY)

    def put(self, data: bytes, name: str = ".gitignore") -> None:
        (self.path / name).write_bytes(data)

    def read(self, old: RuleFiles = NO_RULE_FILES, trust: Trust = TRUST) -> RuleFiles:
        return refresh(self.fd, old, trust)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    os.close(made.fd)


def test_both_kinds_are_read(place: Place) -> None:
    place.put(b"*.log\n")
    place.put(b"!a.log\n", ".ignore")
    scope = entered(ROOT, b"", place.read())
    assert [scope.verdict(name, False) for name in (b"a.log", b"b.log")] == [False, True]


def test_the_same_bytes_are_the_same_rules(place: Place) -> None:
    place.put(b"*.log\n")
    first = place.read()
    place.put(b"*.log\n")
    again = place.read(first)
    assert again[b".gitignore"] is not first[b".gitignore"]
    assert same_rules(first, again)
    place.put(b"*.txt\n")
    assert not same_rules(first, place.read(first))
    (place.path / ".gitignore").unlink()
    assert not same_rules(first, place.read(first))


def test_an_old_unchanged_file_is_not_read_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put(b"*.log\n")
    first = place.read(trust=BELIEVING)
    monkeypatch.setattr(rule_files, "parse_rules", None)
    assert place.read(first, BELIEVING) == first


def test_a_young_file_is_not_believed(place: Place) -> None:
    place.put(b"*.log\n")
    young = place.read()
    ground = Ground(place.fd)
    assert not are_current(ground, b"", young, TRUST)
    time.sleep(0.03)
    settled = place.read(young)
    assert are_current(ground, b"", settled, TRUST)
    old = (place.path / ".gitignore").stat()
    place.put(b"*.txt\n")
    os.utime(place.path / ".gitignore", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert not are_current(ground, b"", settled, TRUST)


@pytest.mark.parametrize("kind", ["link", "directory", "fifo"])
def test_only_a_regular_file_holds_rules(place: Place, kind: str) -> None:
    place.put(b"*.log\n", "rules")
    name = place.path / ".gitignore"
    if kind == "link":
        name.symlink_to("rules")
    elif kind == "directory":
        name.mkdir()
    else:
        os.mkfifo(name)
    assert place.read() is NO_RULE_FILES


def test_no_more_than_counts_is_read(place: Place) -> None:
    place.put(b"#" * (RULE_FILE_MAX_BYTES + 10))
    file = place.read()[b".gitignore"]
    assert len(file.data) == RULE_FILE_MAX_BYTES + 1
    assert file.rules.truncated


def test_the_scope_above_a_directory_has_the_rules_of_all_above_it(place: Place) -> None:
    (place.path / "a/b").mkdir(parents=True)
    place.put(b"*.log\n")
    place.put(b"*.txt\n", "a/.gitignore")
    place.put(b"*.c\n", "a/b/.gitignore")
    scope = scope_above(Ground(place.fd), b"a/b", TRUST)
    assert [scope.verdict(name, False) for name in (b"x.log", b"x.txt", b"x.c")] == [True, True, False]
    assert scope_above(Ground(place.fd), b"", TRUST) is ROOT
