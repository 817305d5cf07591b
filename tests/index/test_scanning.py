"""One look at a directory: what is gone is told from what cannot be read."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from picoclawd.index.rule_files import NO_RULE_FILES
from picoclawd.index.scanning import UNREADABLE, GoneError, scan
from picoclawd.index.trust import Trust
from tests.index.grown import Grown
from tests.index.truth import TICK_NS

TRUST = Trust(TICK_NS)


def test_a_scan_holds_entries_and_rules_and_the_facts_of_before(grown: Grown) -> None:
    grown.write("b", "a/x").write(".gitignore", text="*.log\n")
    found = scan(grown.ground, b"", NO_RULE_FILES, TRUST)
    assert found.seen.names == (b".gitignore", b"a", b"b")
    assert found.facts == TRUST.facts(grown.root.stat())
    assert not found.trusted
    assert set(found.rule_files) == {b".gitignore"}


@pytest.mark.parametrize("path", [b"none", b"file", b"link", b"link/x"])
def test_what_is_no_directory_is_gone(grown: Grown, path: bytes) -> None:
    grown.write("file", "real/x/y")
    (grown.root / "link").symlink_to("real")
    with pytest.raises(GoneError):
        scan(grown.ground, path, NO_RULE_FILES, TRUST)


def test_what_may_not_be_read_is_unreadable(
    grown: Grown, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    grown.write("shut/a")
    (grown.root / "shut").chmod(0o700)
    with as_nobody():
        assert scan(grown.ground, b"shut", NO_RULE_FILES, TRUST) is UNREADABLE
    assert os.fsencode("a") in scan(grown.ground, b"shut", NO_RULE_FILES, TRUST).seen.names
