"""A store as the workspace uses it: changes go in, their states come out, and nothing acknowledged is lost."""

import os
import stat
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files import stamps
from picoclawd.files.target import Target
from picoclawd.history.query import Filter
from picoclawd.history.records import Addition, HistoryError, Intent, Outcome, Unread
from picoclawd.history.settle import Verdict
from picoclawd.history.store import History
from tests.files.conftest import Injected
from tests.history.conftest import ME, OTHER, Made, noise, refused, sha


def test_a_change_is_a_version_with_both_of_its_states(made: Made) -> None:
    number = made.change(b"old\n", b"new\n", op="op-1")
    version = made.history.version(number)
    assert (version.path, version.action, version.state) == (b"notes.txt", "modify", "done")
    assert (version.sha256_before, version.sha256_after) == (sha(b"old\n"), sha(b"new\n"))
    assert (version.size_before_bytes, version.size_bytes) == (4, 4)
    assert (version.session_id, version.client, version.tool) == ("session-1", "pi", "edit_file")
    assert (version.task_id, version.objective, version.op) == ("task-1", "tidy up", "op-1")
    assert version.restorable and version.undoable and version.reason is None
    assert made.history.content_before(number) == b"old\n"
    assert made.history.content_after(number) == b"new\n"


def test_it_is_all_there_after_reopening(made: Made) -> None:
    numbers = [made.change(b"%d" % n, b"%d" % (n + 1)) for n in range(20)]
    history = made.reopened()
    assert [v.version for v in history.versions(Filter(), 100)] == numbers[::-1]
    assert [history.content_after(n) for n in numbers] == [b"%d" % (n + 1) for n in range(20)]


def test_a_created_file_had_no_state_before(made: Made) -> None:
    version = made.history.version(made.change(None, b"new"))
    assert version.action == "create" and not version.existed and version.exists and version.undoable
    assert made.history.content_before(version.version) is None


def test_restoring_a_deletion_brings_the_removed_bytes_back(made: Made) -> None:
    version = made.history.version(made.change(b"gone", None))
    assert not version.exists and version.restorable
    assert made.history.content_after(version.version) == b"gone"


def test_an_append_keeps_its_addition_and_makes_the_whole_of_it(made: Made) -> None:
    first = made.change(b"one\n", Addition(b"two\n"), action="append")
    second = made.change(b"one\ntwo\n", Addition(b"three\n"), action="append")
    assert made.history.content_after(first) == b"one\ntwo\n"
    assert made.history.content_after(second) == b"one\ntwo\nthree\n"
    assert made.history.version(second).sha256_after == sha(b"one\ntwo\nthree\n")
    assert len(made.history.versions(Filter(), 10)) == 2, "an append by ourselves is no external change"


def test_an_append_that_creates_the_file_is_restorable(made: Made) -> None:
    number = made.change(None, Addition(b"first\n"), action="append")
    assert made.history.version(number).restorable
    assert made.history.content_after(number) == b"first\n"


def test_of_a_file_that_was_not_read_there_is_a_row_and_the_reason(made: Made) -> None:
    begun = made.begin(Unread(300 << 20, "the file is over 64 MiB"), Addition(b"line\n"), action="append")
    made.history.finish(begun.version, Outcome("applied"))
    assert not begun.undoable and not begun.restorable and begun.reason == "the file is over 64 MiB"
    version = made.history.version(begun.version)
    assert version.size_bytes == (300 << 20) + 5 and version.reason == "the file is over 64 MiB"
    assert made.history.content_before(begun.version) is None and made.history.content_after(begun.version) is None


def test_an_outcome_fills_in_what_the_intent_could_not_know(made: Made) -> None:
    begun = made.begin(Unread(10), Unread(12))
    made.history.finish(begun.version, Outcome("applied", size_bytes=99, sha256=sha(b"x")))
    version = made.history.version(begun.version)
    assert (version.size_bytes, version.sha256_after) == (12, sha(b"x"))


def test_of_a_sensitive_file_no_byte_is_kept(made: Made) -> None:
    secret = b"hunter2-" + noise(8).hex().encode()
    begun = made.begin(secret, secret + b"!", path=b".env", sensitive=True)
    made.history.finish(begun.version, Outcome("applied"))
    assert not begun.restorable and begun.reason is not None and "secrets" in begun.reason
    made.history.close()
    assert not any(secret in path.read_bytes() for path in made.path.rglob("*") if path.is_file())


def test_the_store_is_for_its_owner_alone(made: Made) -> None:
    made.change(noise(300_000), noise(300_000))
    for path in [made.path, *made.path.rglob("*")]:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@pytest.mark.parametrize("size", [0, 1, 256 * 1024, 256 * 1024 + 1, 3 << 20])
def test_contents_of_every_size_come_back(made: Made, size: int) -> None:
    old, new = noise(size), noise(size)
    number = made.change(old, new)
    made.reopened()
    assert (made.history.content_before(number), made.history.content_after(number)) == (old, new)


def test_unchanged_content_is_stored_once(made: Made) -> None:
    data = noise(1 << 20)
    for n in range(10):
        made.change(None, data, path=b"copy-%d" % n)
    assert len(made.blob_files()) == 1
    assert made.history.statistics().used_bytes < 2 << 20


def test_an_open_or_failed_intent_is_no_version(made: Made) -> None:
    made.begin(b"a", b"b")
    failed = made.begin(b"a", noise(300_000))
    made.history.finish(failed.version, Outcome("not_applied"))
    assert made.history.versions(Filter(), 10) == []
    with pytest.raises(Fault) as caught:
        made.history.content_after(failed.version)
    assert caught.value.slug is Slug.UNKNOWN_VERSION
    assert made.blob_files() == [], "what was never made keeps no content"


def test_the_outcome_of_an_op_can_be_asked_for(made: Made) -> None:
    begun = made.begin(b"a", b"b", op="flying")
    assert made.history.outcome("flying") == "unknown"
    made.history.finish(begun.version, Outcome("applied"))
    assert made.history.outcome("flying") == "applied"
    made.history.finish(made.begin(b"b", b"c", op="failed").version, Outcome("not_applied"))
    assert made.history.outcome("failed") == "not_applied"
    made.history.finish(made.begin(b"b", b"c", op="lost").version, Outcome("unknown"))
    assert made.history.outcome("lost") == "unknown"
    assert made.history.outcome("never heard of") == "not_applied"


def test_of_several_changes_under_one_op_the_doubtful_one_counts(made: Made) -> None:
    made.change(b"a", b"b", path=b"1", op="undo")
    failed = made.begin(b"a", b"b", path=b"2", op="undo")
    made.history.finish(failed.version, Outcome("not_applied"))
    assert made.history.outcome("undo") == "applied"
    made.begin(b"a", b"b", path=b"3", op="undo")
    assert made.history.outcome("undo") == "unknown"


def test_open_intents_are_settled_once_at_the_start(made: Made) -> None:
    done, failed = made.begin(b"a", b"b", op="x"), made.begin(b"1", b"2", path=b"other")
    half = made.begin(b"log\n", Addition(b"line\n"), path=b"log", action="append")
    history = made.reopened()
    open_intents = {intent.version: intent for intent in history.open_intents()}
    assert list(open_intents) == [done.version, failed.version, half.version]
    assert open_intents[done.version].op == "x"
    assert open_intents[half.version].addition.content == b"line\n"
    history.settle(done.version, Verdict.APPLIED)
    history.settle(failed.version, Verdict.NOT_APPLIED)
    history.settle(half.version, Verdict.COMPLETED)
    assert history.open_intents() == []
    assert [v.version for v in history.versions(Filter(), 10)] == [half.version, done.version]
    assert history.content_after(half.version) == b"log\nline\n"


def test_a_settled_unknown_is_listed_and_says_so(made: Made) -> None:
    number = made.begin(b"a", b"b", op="x").version
    made.reopened().settle(number, Verdict.UNKNOWN)
    assert made.history.version(number).state == "unknown"
    assert made.history.outcome("x") == "unknown"


def test_a_displaced_save_is_kept_and_does_not_pose_as_the_newest(made: Made) -> None:
    ours = made.change(b"old", b"ours")
    kept = made.history.keep_displaced(b"notes.txt", b"theirs", ME)
    assert made.history.content_after(kept.version) == b"theirs"
    listed = made.history.versions(Filter(), 10)[0]
    assert (listed.version, listed.action, listed.state) == (kept.version, "external", "displaced")
    newest = made.history.last(b"notes.txt")
    assert newest is not None and newest.version == ours
    made.change(b"ours", b"next")
    assert len(made.history.versions(Filter(), 10)) == 3, "our own content is no outside change"


def test_a_displaced_save_that_may_not_be_kept_is_refused(made: Made) -> None:
    with pytest.raises(HistoryError, match="secrets"):
        made.history.keep_displaced(b".env", b"theirs", ME, sensitive=True)


def test_blame_gets_the_states_in_the_order_of_time(made: Made) -> None:
    made.change(b"0", b"1")
    made.change(b"1", b"2", author=OTHER)
    made.change(b"2", None)
    states = list(made.history.revisions(b"notes.txt"))
    assert [(s.exists, s.content) for s in states] == [(True, b"0"), (True, b"1"), (True, b"2"), (False, None)]
    assert [s.version and s.version.client for s in states] == [None, "pi", "qwen", "pi"]
    assert list(made.history.revisions(b"nothing")) == []


def test_blame_goes_on_where_versions_are_pruned_meanwhile(made: Made) -> None:
    made.change(b"0", b"1")
    states = made.history.revisions(b"notes.txt")
    assert next(states).content == b"0"
    made.history.purge(b"notes.txt")
    assert next(states).content is None


def _target(folder: Path, name: str = "notes.txt") -> Target:
    return Target(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), name.encode(), name)


@pytest.mark.parametrize("removed", [Unread(8), Unread(8, sha256=sha(b"precious"))])
def test_a_removed_file_is_restorable_from_the_trash_and_comes_back_as_it_was(
    made: Made, tmp_path: Path, removed: Unread
) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"precious")
    file.chmod(0o750)
    target, stamp = _target(tmp_path), stamps.of(file.stat())
    begun = made.begin(removed, None)
    trashed = made.history.trash.move(target, stamp, begun.version)
    made.history.finish(begun.version, Outcome("applied", trashed=trashed))
    assert made.history.version(begun.version).restorable
    assert made.history.trashed(begun.version) == trashed
    assert made.history.content_after(begun.version) == b"precious"
    back = made.history.retrieve(begun.version, trashed, target)
    assert file.read_bytes() == b"precious" and stat.S_IMODE(back.mode) == 0o750
    after = made.history.version(begun.version)
    assert not after.restorable and after.reason == "the file was taken back out of the trash"
    assert made.history.trashed(begun.version) is None
    os.close(target.dir_fd)


def test_what_comes_back_out_of_the_trash_stays_restorable_where_the_restore_keeps_it(
    made: Made, tmp_path: Path
) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"precious")
    target, stamp = _target(tmp_path), stamps.of(file.stat())
    begun = made.begin(Unread(8, "it is not in the trash any more", sha(b"precious")), None)
    trashed = made.history.trash.move(target, stamp, begun.version)
    made.history.finish(begun.version, Outcome("applied", trashed=trashed))
    restore = made.begin(None, b"precious", action="restore")
    made.history.retrieve(begun.version, trashed, target)
    made.history.finish(restore.version, Outcome("applied"))
    removal = made.history.version(begun.version)
    assert removal.restorable and removal.reason is None
    assert made.history.content_after(begun.version) == b"precious"
    os.close(target.dir_fd)


def test_the_mode_around_a_version_is_what_the_next_change_found(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    numbers: list[int] = []
    for mode in (0o4755, 0o640):
        file.write_bytes(b"x")
        file.chmod(mode)
        intent = Intent(b"notes.txt", "modify", b"x", b"y", stamp=stamps.of(file.stat()))
        numbers.append(made.history.begin(intent).version)
        made.history.finish(numbers[-1], Outcome("applied"))
    first, last = numbers
    mode_at = made.history.mode_at
    assert (mode_at(first, before=True), mode_at(first, before=False)) == (0o755, 0o640)
    assert (mode_at(last, before=True), mode_at(last, before=False)) == (0o640, 0o640)
    assert mode_at(made.change(None, b"x", path=b"new"), before=False) is None


def test_a_history_that_may_keep_nothing_says_so(tmp_path: Path) -> None:
    made = Made(tmp_path / "state")
    made.reopened(max_bytes=0)
    assert refused(made, b"a", b"b") == "the history is full"
    assert made.history.outcome("x") == "unknown", "what could not be recorded may have been made"
    made.history.close()


def test_a_gap_is_remembered_over_a_restart_and_forgotten_in_time(made: Made) -> None:
    made.reopened(max_bytes=0)
    refused(made, b"a", b"b")
    made.reopened()
    assert made.history.outcome("x") == "unknown"
    made.history.prune()
    assert made.history.outcome("x") == "unknown"
    two_days_ns = 2 * 86_400 * 10**9
    made.history.prune(now_ns=_now(made) + two_days_ns)
    assert made.history.outcome("x") == "not_applied"


def _now(made: Made) -> int:
    return made.history.version(made.change(b"a", b"b", path=b"clock")).changed_at_ns


def test_a_blob_directory_that_others_may_enter_is_not_written_to(made: Made) -> None:
    made.change(noise(300_000), noise(300_000))
    (made.path / "blobs").chmod(0o755)
    for prefix in (made.path / "blobs").iterdir():
        prefix.chmod(0o755)
    while True:  # until a hash falls into a directory that is there
        data = noise(300_000)
        if (made.path / "blobs" / sha(data)[:2]).exists():
            break
    assert refused(made, None, data) == "the history's own files cannot be read or written"


def test_a_closed_history_refuses_and_closes_again(made: Made) -> None:
    begun = made.begin(b"a", b"b")
    made.history.close()
    made.history.finish(begun.version, Outcome("applied"))
    assert refused(made, b"b", b"c") == "the history is closed"
    made.history.close()


@pytest.mark.parametrize("act", ["begin", "settle", "keep a displaced save"])
def test_what_cannot_be_synced_is_not_answered(made: Made, injected: Injected, act: str) -> None:
    version = made.begin(b"0", b"1").version
    with pytest.raises(HistoryError), injected("fsync,fdatasync:error=EIO"):
        if act == "begin":
            made.begin(b"1", b"2")
        elif act == "settle":
            made.history.settle(version, Verdict.APPLIED)
        else:
            made.history.keep_displaced(b"notes.txt", b"theirs", ME)


def test_what_was_queued_at_the_close_is_written(made: Made) -> None:
    number = made.change(b"a", b"b")
    made.reopened()
    assert made.history.version(number).state == "done"


def test_statistics_tell_what_the_store_holds(made: Made) -> None:
    before = made.history.statistics()
    made.change(b"a", noise(1 << 20))
    after = made.history.statistics()
    assert after.used_bytes - before.used_bytes >= 1 << 20
    assert after.writer.commits == before.writer.commits + 1
    assert after.max_bytes == 1 << 30


def test_a_history_that_cannot_be_read_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "history.db").mkdir(mode=0o700)
    with pytest.raises(Fault) as caught:
        History(str(tmp_path / "state"))
    assert caught.value.slug is Slug.ACCESS_DENIED
