"""What the tables hold after an intent: above all, when a change by somebody else is recorded before it."""

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from picoclawd.files.stamps import Stamp
from picoclawd.history import recording
from picoclawd.history.query import Filter
from picoclawd.history.records import Addition, Intent, Outcome, Unread
from tests.history.conftest import ME, OTHER, Made, sha


def listed(made: Made, path: bytes = b"notes.txt") -> list[str]:
    """The actions on a path, oldest first."""
    return [str(v.action) for v in made.history.versions(Filter(paths=[path]), 100)][::-1]


def test_a_first_pre_image_is_kept_and_is_no_version(made: Made) -> None:
    number = made.change(b"was there", b"new")
    assert listed(made) == ["modify"]
    assert made.history.content_before(number) == b"was there"


def test_a_pre_image_that_is_not_the_last_post_image_is_an_external_version(made: Made) -> None:
    made.change(b"0", b"1")
    ours = made.change(b"by hand", b"2", author=OTHER)
    external = made.history.versions(Filter(), 10)[1]
    assert external.action == "external" and external.version == ours - 1
    assert (external.sha256_before, external.sha256_after) == (sha(b"1"), sha(b"by hand"))
    assert (external.size_before_bytes, external.size_bytes) == (1, 7)
    assert (external.session_id, external.tool, external.client, external.task_id) == (None, None, None, None)
    assert made.history.content_before(external.version) == b"1"
    assert made.history.content_after(external.version) == b"by hand"


def test_a_file_removed_or_made_by_hand_is_one_too(made: Made) -> None:
    made.change(b"0", b"1")
    made.change(None, b"2")
    removed = made.history.versions(Filter(), 10)[1]
    assert removed.action == "external" and not removed.exists and removed.restorable
    made.change(b"2", None)
    made.change(b"from nowhere", b"3")
    assert listed(made) == ["modify", "external", "create", "delete", "external", "modify"]


def test_our_own_changes_in_a_row_are_not(made: Made) -> None:
    made.change(None, b"1")
    made.change(b"1", Addition(b"2"), action="append")
    made.change(b"12", b"3")
    made.change(b"3", None)
    made.change(None, b"4", action="restore")
    assert listed(made) == ["create", "append", "modify", "delete", "restore"]


def test_a_change_that_came_to_nothing_moves_no_state(made: Made) -> None:
    made.change(b"0", b"1")
    made.history.finish(made.begin(b"1", b"failed").version, Outcome("not_applied"))
    made.change(b"1", b"2")
    assert listed(made) == ["modify", "modify"]


def test_after_an_unknown_outcome_either_of_its_states_is_ours(made: Made) -> None:
    made.history.finish(made.begin(b"0", b"1").version, Outcome("unknown"))
    made.change(b"0", b"2")
    made.history.finish(made.begin(b"2", b"3").version, Outcome("unknown"))
    made.change(b"3", b"4")
    assert "external" not in listed(made)
    made.history.finish(made.begin(b"4", b"5").version, Outcome("unknown"))
    made.change(b"neither", b"6")
    assert listed(made).count("external") == 1


def test_a_file_put_back_by_hand_to_what_was_before_our_change_was_changed_by_somebody_else(made: Made) -> None:
    made.change(b"0", b"1")
    made.change(b"0", b"2")
    assert listed(made) == ["modify", "external", "modify"]


def test_an_append_to_nothing_or_to_an_empty_file_has_the_hash_of_the_addition(made: Made) -> None:
    for before in (None, b""):
        version = made.history.version(made.change(before, Addition(b"more"), action="append"))
        assert (version.size_bytes, version.sha256_after) == (4, sha(b"more"))


def test_of_files_never_hashed_the_size_tells(made: Made) -> None:
    made.change(Unread(100), Addition(b"12345"), action="append")
    made.change(Unread(105), Addition(b"6"), action="append")
    assert listed(made) == ["append", "append"]
    made.change(Unread(50), Addition(b"7"), action="append")
    assert listed(made) == ["append", "append", "external", "append"]
    made.change(Unread(2), Addition(b"345"), path=b"third", action="append")
    made.change(b"12345", b"new", path=b"third")
    assert listed(made, b"third") == ["append", "modify"]
    made.change(None, b"hashed", path=b"other")
    made.change(Unread(6), b"new", path=b"other")
    assert listed(made, b"other") == ["create", "modify"]


def test_an_unread_hash_is_compared(made: Made) -> None:
    made.change(b"0", b"1")
    made.change(Unread(1, sha256=sha(b"1")), b"2")
    made.change(Unread(1, sha256=sha(b"x")), b"3")
    assert listed(made) == ["modify", "modify", "external", "modify"]


def test_an_unread_content_that_is_kept_already_is_undoable(made: Made) -> None:
    made.change(b"0", b"1")
    number = made.change(Unread(1, sha256=sha(b"1")), b"2")
    assert made.history.version(number).undoable
    assert made.history.content_before(number) == b"1"


def test_a_version_counts_the_bytes_that_it_brought_into_the_store(made: Made) -> None:
    made.change(b"12345", b"678")
    made.change(b"678", b"12345", path=b"both are there")
    made.change(b"678", Addition(b"9"), path=b"one is new", action="append")
    made.history.close()
    with sqlite3.connect(made.path / "history.db") as db:
        assert [row[0] for row in db.execute("SELECT stored FROM versions ORDER BY version")] == [8, 0, 1]
    db.close()


def test_what_was_before_is_needed_to_undo_and_what_is_after_to_restore(made: Made) -> None:
    unread_before, unread_after = made.begin(Unread(100), b"new"), made.begin(b"old", Unread(100), path=b"other")
    assert (unread_before.undoable, unread_before.restorable) == (False, True)
    assert (unread_after.undoable, unread_after.restorable) == (True, False)
    assert unread_before.reason == unread_after.reason == Unread(100).reason


def test_a_sensitive_file_is_not_kept_through_a_copy_of_it_either(made: Made) -> None:
    made.change(None, b"token", path=b"copy.txt")
    number = made.change(b"token", b"new token", path=b".env", sensitive=True)
    made.change(None, b"by hand", path=b"copy.txt")
    made.change(b"by hand", b"newer", path=b".env", sensitive=True)
    assert listed(made, b".env") == ["modify", "external", "modify"]
    for version in made.history.versions(Filter(paths=[b".env"]), 10):
        assert not version.undoable and made.history.content_before(version.version) is None
        assert not version.restorable and made.history.content_after(version.version) is None
        assert version.reason == recording.SENSITIVE
    assert made.history.version(number).sha256_before == sha(b"token"), "the hash tells whether it was changed"


def test_paths_are_bytes_and_each_has_a_life_of_its_own(made: Made) -> None:
    for path in (b"caf\xe9.txt", b"a\nb", b"CAF\xc9.TXT", "na\u00efve".encode()):
        made.change(None, path, path=path)
    for path in (b"caf\xe9.txt", b"a\nb", b"CAF\xc9.TXT", "na\u00efve".encode()):
        assert [v.path for v in made.history.versions(Filter(paths=[path]), 10)] == [path]


def test_the_sizes_of_an_intent_are_those_of_its_bytes() -> None:
    assert recording.sizes(Intent(b"x", "append", Unread(10**9), Addition(b"abc"))) == [3]
    assert recording.sizes(Intent(b"x", "modify", b"12", b"3456")) == [2, 4]
    assert recording.sizes(Intent(b"x", "delete", b"12", None, ME)) == [2]


def test_a_refusal_keeps_the_hashes_and_no_content() -> None:
    prepared = recording.prepare(Intent(b"x", "modify", b"a", Addition(b"b")), "it is full")
    assert prepared.contents == [] and prepared.reason == "it is full"
    assert prepared.after.sha == bytes.fromhex(sha(b"ab"))


def test_what_is_to_be_kept_is_at_hand_before_the_transaction() -> None:
    prepared = recording.prepare(Intent(b"x", "append", b"a", Addition(b"b")))
    assert prepared.contents == [(bytes.fromhex(sha(each)), each) for each in (b"a", b"b")]


@given(st.builds(Stamp, *([st.integers(0, 2**63)] * 7)))
def test_a_stamp_comes_back_from_its_text(stamp: Stamp) -> None:
    assert recording.stamp_of(recording.stamp_text(stamp)) == stamp


def test_no_stamp_is_no_text() -> None:
    assert recording.stamp_text(None) is None and recording.stamp_of(None) is None
