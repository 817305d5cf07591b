"""What of a version can be had again, from what its row keeps."""

from typing import Any

import pytest

from picoclawd.history.schema import hex_of, version_of

SHA = bytes(range(32))


def row(
    action: str = "modify",
    *,
    after: int | None = 5,
    before: int | None = 3,
    undoable: int = 1,
    keeps_after: int = 1,
    keeps_addition: int = 0,
) -> tuple[Any, ...]:
    head = (7, b"a", action, "done", after, before, SHA, None, "tool", "s", "c", "t", "o", 9, None, "why")
    return (*head, undoable, keeps_after, keeps_addition)


@pytest.mark.parametrize(
    ("given", "restorable", "undoable"),
    [
        (row(), True, True),
        (row(undoable=0), True, False),
        (row(keeps_after=0), False, True),
        (row("append", keeps_after=0, keeps_addition=1), True, True),
        (row("append", keeps_after=0, keeps_addition=1, undoable=0), False, False),
        (row("delete", after=None, keeps_after=0), True, True),
        (row("delete", after=None, keeps_after=0, undoable=0), False, False),
        (row("external", after=None, keeps_after=0, undoable=0), True, False),
    ],
)
def test_what_can_be_had_again(given: tuple[Any, ...], restorable: bool, undoable: bool) -> None:
    version = version_of(given)
    assert (version.restorable, version.undoable) == (restorable, undoable)
    assert version.reason == (None if restorable and undoable else "why")


def test_a_version_tells_whether_there_was_and_is_a_file() -> None:
    created, deleted = version_of(row("create", before=None)), version_of(row("delete", after=None))
    assert (created.existed, created.exists) == (False, True)
    assert (deleted.existed, deleted.exists) == (True, False)
    assert (created.sha256_before, created.sha256_after) == (SHA.hex(), None)
    assert hex_of(None) is None
