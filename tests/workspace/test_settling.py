"""The next start after a crash: what was intended is compared with the disk."""

import hashlib
import os

import pytest

from picoclawd import limits
from picoclawd.files import stamps
from picoclawd.history.query import Filter
from picoclawd.history.records import Action, Addition, After, Author, Before, Intent, Unread
from picoclawd.workspace import settling
from picoclawd.workspace.settling import Settled
from tests.house import House

OURS = ".picoclawd.1.0123456789abcdef.tmp"


def begun(house: House, name: str, action: Action, before: Before, after: After) -> int:
    """An intent that nobody finished."""
    intent = Intent(name.encode(), action, before, after, Author("s-1", "one", "edit_file"), op=f"op {name}")
    return house.history.begin(intent).version


def settled(house: House) -> list[Settled]:
    found = settling.settle(house.rooted, house.workspace.roots, house.history)
    assert house.history.open_intents() == []
    return found


@pytest.mark.parametrize(
    ("on_disk", "outcome"), [(b"new\n", "applied"), (b"old\n", "not_applied"), (b"?\n", "unknown")]
)
def test_a_replace_is_what_the_disk_says(recorded: House, on_disk: bytes, outcome: str) -> None:
    recorded.write("f.txt", on_disk)
    version = begun(recorded, "f.txt", "modify", b"old\n", b"new\n")
    assert [(each.version, each.outcome) for each in settled(recorded)] == [(version, outcome)]
    assert recorded.history.outcome("op f.txt") == outcome
    assert (recorded.root / "f.txt").read_bytes() == on_disk


@pytest.mark.parametrize(("there", "outcome"), [(True, "applied"), (False, "not_applied")])
def test_a_file_that_was_to_be_created(recorded: House, there: bool, outcome: str) -> None:
    if there:
        recorded.write("d/f.txt", b"new\n")
    begun(recorded, "d/f.txt", "create", None, b"new\n")
    assert [each.outcome for each in settled(recorded)] == [outcome]


def test_a_file_that_was_to_be_removed(recorded: House) -> None:
    recorded.write("still.txt", b"x\n")
    sha = hashlib.sha256(b"x\n").hexdigest()
    begun(recorded, "gone.txt", "delete", Unread(2, "in the trash", sha), None)
    begun(recorded, "still.txt", "delete", Unread(2, "in the trash", sha), None)
    assert [each.outcome for each in settled(recorded)] == ["applied", "not_applied"]


@pytest.mark.parametrize("written", [0, 2, 4])
def test_an_append_that_stopped_half_way_is_completed(recorded: House, written: int) -> None:
    path = recorded.write("log", b"old\n" + b"more"[:written])
    begun(recorded, "log", "append", b"old\n", Addition(b"more"))
    (found,) = settled(recorded)
    assert found.outcome == ("applied" if written else "not_applied")
    assert path.read_bytes() == (b"old\nmore" if written else b"old\n")


def test_an_append_behind_which_somebody_else_wrote_is_left_alone(recorded: House) -> None:
    path = recorded.write("log", b"old\nmoTHEIRS")
    begun(recorded, "log", "append", b"old\n", Addition(b"more"))
    assert [each.outcome for each in settled(recorded)] == ["unknown"]
    assert path.read_bytes() == b"old\nmoTHEIRS"


def test_what_lies_beside_goes_only_where_it_holds_nothing_that_is_not_kept(recorded: House) -> None:
    recorded.write("f.txt", b"old\n")
    for number, data in enumerate((b"old\n", b"new", b"somebody's save\n")):
        recorded.write(OURS.replace("0", str(number), 1), data)
    begun(recorded, "f.txt", "modify", b"old\n", b"new\n")
    (found,) = settled(recorded)
    assert len(found.removed) == 2
    left = [name for name in os.listdir(recorded.root) if name.startswith(".picoclawd.")]
    assert [(recorded.root / name).read_bytes() for name in left] == [b"somebody's save\n"]


def test_a_directory_that_is_gone_or_a_link_by_now_stops_nothing(recorded: House) -> None:
    (recorded.root / "out").symlink_to(recorded.root.parent / "out")
    begun(recorded, "gone/f.txt", "modify", b"old\n", b"new\n")
    begun(recorded, "out/f.txt", "modify", b"old\n", b"new\n")
    assert [each.outcome for each in settled(recorded)] == ["unknown", "unknown"]
    assert os.listdir(recorded.root.parent / "out") == []


def test_all_are_settled_oldest_first_and_only_once(recorded: House) -> None:
    for number in range(3):
        recorded.write(f"{number}.txt", b"new\n")
        begun(recorded, f"{number}.txt", "create", None, b"new\n")
    assert [each.path for each in settled(recorded)] == [b"0.txt", b"1.txt", b"2.txt"]
    assert settled(recorded) == []
    assert {each.state for each in recorded.history.versions(Filter(), 10)} == {"done"}


def test_what_may_not_be_looked_at_is_unknown_and_not_taken_for_missing(recorded: House) -> None:
    (recorded.root / "out").symlink_to(recorded.root.parent / "out")
    begun(recorded, "out/f.txt", "create", None, b"new\n")
    assert [each.outcome for each in settled(recorded)] == ["unknown"]


def test_a_leftover_that_cannot_be_read_stays_and_spoils_no_verdict(recorded: House) -> None:
    recorded.write("f.txt", b"new\n")
    (recorded.root / OURS).mkdir()
    begun(recorded, "f.txt", "modify", b"old\n", b"new\n")
    (found,) = settled(recorded)
    assert (found.outcome, found.removed) == ("applied", ())
    assert (recorded.root / OURS).is_dir()


def test_an_append_whose_blocks_the_power_kept_from_the_disk_is_completed(recorded: House) -> None:
    # ext4: the size was there and the bytes were not. It was left as it was, and called unknown.
    addition = b"x" * 3000 + b"\n"
    path = recorded.write("log", b"old\n" + addition[:1000] + bytes(len(addition) - 1000))
    begun(recorded, "log", "append", b"old\n", Addition(addition))
    assert [each.outcome for each in settled(recorded)] == ["applied"]
    assert path.read_bytes() == b"old\n" + addition


def test_a_temporary_file_whose_blocks_were_never_written_goes(recorded: House) -> None:
    recorded.write("f.txt", b"old\n")
    recorded.write(OURS, b"n" * 512 + bytes(512))
    begun(recorded, "f.txt", "modify", b"old\n", b"n" * 2000)
    (found,) = settled(recorded)
    assert (found.outcome, found.removed) == ("not_applied", (OURS.encode(),))


@pytest.mark.parametrize(
    ("on_disk", "left", "outcome"),
    [
        (b"0123456789" * 2, None, "not_applied"),
        (b"0123456789" * 2 + b"mo", b"0123456789" * 2 + b"more", "applied"),
        (b"0123456789" * 2 + b"more", None, "applied"),
        (b"0123456789" * 2 + b"m?", None, "unknown"),
    ],
)
def test_an_append_to_a_file_too_large_to_be_read_is_judged_by_its_end(
    recorded: House, monkeypatch: pytest.MonkeyPatch, on_disk: bytes, left: bytes | None, outcome: str
) -> None:
    path = recorded.write("log", on_disk)
    begun(recorded, "log", "append", Unread(20), Addition(b"more"))
    monkeypatch.setattr(limits, "EDIT_MAX_BYTES", 8)
    assert [each.outcome for each in settled(recorded)] == [outcome]
    assert path.read_bytes() == (left or on_disk)


@pytest.mark.parametrize(("replaced", "outcome"), [(False, "not_applied"), (True, "unknown")])
def test_a_file_too_large_to_be_read_is_judged_by_its_stamp(
    recorded: House, monkeypatch: pytest.MonkeyPatch, replaced: bool, outcome: str
) -> None:
    path = recorded.write("large", b"0123456789")
    stamp = stamps.of(path.stat())
    if replaced:
        recorded.write("other", b"9876543210").rename(path)
    author = Author("s-1", "one", "write_file")
    recorded.history.begin(Intent(b"large", "modify", Unread(10), Unread(10), author, stamp=stamp))
    monkeypatch.setattr(limits, "EDIT_MAX_BYTES", 8)
    assert [each.outcome for each in settled(recorded)] == [outcome]


@pytest.mark.parametrize(("size", "goes"), [(8, True), (9, False)])
def test_a_leftover_that_is_too_large_to_be_read_stays(
    recorded: House, monkeypatch: pytest.MonkeyPatch, size: int, goes: bool
) -> None:
    recorded.write("f.txt", b"old\n")
    recorded.write(OURS, b"n" * size)
    begun(recorded, "f.txt", "modify", b"old\n", b"n" * 100)
    monkeypatch.setattr(limits, "EDIT_MAX_BYTES", 8)
    (found,) = settled(recorded)
    assert bool(found.removed) is goes is not (recorded.root / OURS).exists()
