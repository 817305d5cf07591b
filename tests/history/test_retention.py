"""Retention: old versions go, the store keeps its bounds, and no agent can flood undo away."""

import itertools
import os
import sqlite3
import time

from picoclawd import limits
from picoclawd.files import stamps
from picoclawd.files.target import Target
from picoclawd.history.query import Filter
from picoclawd.history.records import Author, HistoryError, Outcome, Trashed, Unread
from picoclawd.history.retention import DAY_NS
from tests.history.conftest import ME, OTHER, Made, noise

SMALL = 8 * limits.MIB
AGENT = Author("flood", "agent", "write_file", "task-f", None)


def paths(made: Made) -> set[bytes]:
    return {v.path for v in made.history.versions(Filter(), 100_000)}


def test_versions_go_by_age_and_with_them_their_contents(made: Made) -> None:
    old = made.change(b"0", noise(300_000), path=b"old")
    made.aged(31)
    kept = made.change(b"0", noise(300_000), path=b"new")
    pruned = made.history.prune()
    assert pruned.versions == 1
    assert [v.version for v in made.history.versions(Filter(), 10)] == [kept] != [old]
    assert len(made.blob_files()) == 1


def test_age_keeps_what_younger_versions_use(made: Made) -> None:
    made.change(b"0", b"1")
    made.aged(31)
    number = made.change(b"1", b"2")
    made.history.prune()
    assert made.history.content_before(number) == b"1"


def test_an_open_intent_is_never_pruned(made: Made) -> None:
    number = made.begin(b"0", b"1").version
    made.aged(400)
    made.history.prune()
    made.history.finish(number, Outcome("applied"))
    assert made.history.version(number).state == "done"


def test_a101_a_thousand_edits_of_one_file_stay_within_the_bound_and_the_newest_are_restorable(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    contents = [noise(100 * 1024) for _ in range(140)]
    numbers = [made.change(old, new) for old, new in itertools.pairwise(contents)]
    assert made.bytes_on_disk() <= SMALL
    versions = made.history.versions(Filter(), 1000)
    assert 40 < len(versions) < len(numbers)
    assert all(v.restorable for v in versions[:30])
    for number in numbers[-30:]:
        assert made.history.content_after(number) == contents[numbers.index(number) + 1]
    first = made.history.touched(Filter(task_id="task-1"))[b"notes.txt"].first
    assert first.version == numbers[0], "what was there before the session's first change is still known"
    assert made.history.content_before(first.version) == contents[0]
    assert not first.restorable and first.reason is not None and "make room" in first.reason
    assert made.history.content_after(first.version) is None


def test_an_agent_that_damages_a_file_and_then_floods_can_be_undone(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    precious = noise(200_000)
    damage = made.change(precious, b"", path=b"thesis.tex", author=AGENT)
    for n in range(120):
        made.change(None, noise(300_000), path=b"flood-%d" % n, author=AGENT)
        made.change(b"x", noise(5_000), path=b"small-%d" % n, author=AGENT)
    assert made.history.content_before(damage) == precious
    assert made.history.touched(Filter(task_id="task-f"))[b"thesis.tex"].first.version == damage
    assert made.bytes_on_disk() <= SMALL


def test_nor_can_it_flood_away_what_others_did(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    theirs = [made.change(b"%d" % n, b"%d" % (n + 1), author=OTHER) for n in range(20)]
    for n in range(60):
        made.change(None, noise(300_000), path=b"flood-%d" % n, author=AGENT)
    assert [made.history.content_after(n) for n in theirs] == [b"%d" % (n + 1) for n in range(20)]


def test_who_stored_more_bytes_loses_first_also_with_fewer_changes(made: Made) -> None:
    theirs = [made.change(b"%d" % n, b"%d" % (n + 1), author=OTHER) for n in range(40)]
    for n in range(18):
        made.change(None, noise(500_000), path=b"large-%d" % n, author=AGENT)
    made.reopened(max_bytes=SMALL)
    pruned = made.history.prune()
    assert pruned.versions + pruned.stripped > 0
    assert [made.history.content_after(n) for n in theirs] == [b"%d" % (n + 1) for n in range(40)]


def test_where_only_protected_contents_are_left_new_changes_are_not_restorable(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    kept: list[tuple[int, bytes]] = []
    while True:
        old = noise(300_000)
        begun = made.begin(old, b"ruined", path=b"file-%d" % len(kept), author=AGENT)
        made.history.finish(begun.version, Outcome("applied"))
        if not begun.undoable:
            break
        kept.append((begun.version, old))
        assert len(kept) < 40
    assert begun.reason == "the history is full of what may not be dropped yet"
    assert made.history.version(begun.version).reason == begun.reason
    assert len(kept) > 15
    assert all(made.history.content_before(number) == old for number, old in kept)
    assert made.bytes_on_disk() <= SMALL


def test_after_seven_days_it_is_like_any_other(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    first = made.change(noise(300_000), b"ruined", path=b"first", author=AGENT)
    made.aged(8)
    for n in range(40):
        made.change(noise(300_000), b"ruined", path=b"file-%d" % n, author=AGENT)
    assert first not in {v.version for v in made.history.versions(Filter(), 1000)}


def test_first_rows_without_a_content_to_protect_go_as_the_last_resort(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    for n in range(60):
        made.change(None, noise(300_000), path=b"file-%d" % n, author=AGENT)
    newest = made.history.versions(Filter(), 1)[0]
    assert newest.restorable
    assert len(paths(made)) <= 60
    assert made.bytes_on_disk() <= SMALL


def test_a_store_that_became_too_large_for_its_bound_shrinks(made: Made) -> None:
    contents = [noise(250 * 1024) for _ in range(80)]
    for old, new in itertools.pairwise(contents):
        made.change(old, new)
    assert made.bytes_on_disk() > 2 * SMALL
    made.reopened(max_bytes=SMALL)
    pruned = made.history.prune()
    assert pruned.versions > 0
    made.reopened(max_bytes=SMALL)
    assert made.bytes_on_disk() <= SMALL


def test_pruning_again_finds_nothing_to_do(made: Made) -> None:
    made.change(b"0", b"1")
    assert (made.history.prune().versions, made.history.prune().stripped) == (0, 0)


def test_trash_counts_and_goes_with_its_version(made: Made) -> None:
    folder = made.path.parent / "ws"
    folder.mkdir()
    (folder / "big.bin").write_bytes(noise(3_000_000))
    trashed, number = _remove(made, "big.bin")
    assert made.history.statistics().trash_bytes == 3_000_000
    assert (made.path / "trash" / trashed.name.decode()).exists()
    made.aged(31)
    made.history.prune()
    assert not (made.path / "trash" / trashed.name.decode()).exists()
    assert number not in {v.version for v in made.history.versions(Filter(), 10)}


def _remove(made: Made, name: str, author: Author = ME, finish: bool = True) -> tuple[Trashed, int]:
    folder = made.path.parent / "ws"
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    stamp = stamps.of((folder / name).stat())
    begun = made.begin(Unread(stamp.size), None, path=name.encode(), author=author)
    trashed = made.history.trash.move(Target(fd, name.encode(), name), stamp, begun.version)
    os.close(fd)
    if finish:
        made.history.finish(begun.version, Outcome("applied", trashed=trashed))
    return trashed, begun.version


def test_a_trash_over_its_bound_loses_the_oldest_that_is_not_protected(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    folder = made.path.parent / "ws"
    folder.mkdir()
    numbers: list[int] = []
    for n in range(4):
        made.change(None, b"made by the session itself", path=b"own-%d" % n, author=AGENT)
        (folder / f"own-{n}").write_bytes(noise(3_000_000))
        numbers.append(_remove(made, f"own-{n}", AGENT)[1])
    (folder / "precious").write_bytes(noise(6_000_000))
    numbers.append(_remove(made, "precious", AGENT)[1])
    assert made.history.prune().swept_files == 4, "its own four, all to let the precious one stay"
    assert [made.history.trashed(number) is None for number in numbers] == [True] * 4 + [False]
    version = made.history.version(numbers[0])
    assert not version.restorable and version.reason is not None and "make room" in version.reason
    made.aged(8)
    (folder / "next").write_bytes(noise(6_000_000))
    _remove(made, "next", AGENT)
    assert made.history.prune().swept_files == 1
    assert made.history.trashed(numbers[-1]) is None


def test_what_an_agent_removed_is_protected_from_its_flood(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    folder = made.path.parent / "ws"
    folder.mkdir()
    data = noise(900_000)
    (folder / "precious").write_bytes(data)
    _, number = _remove(made, "precious", AGENT)
    for n in range(60):
        made.change(None, noise(300_000), path=b"flood-%d" % n, author=AGENT)
    assert made.history.content_after(number) == data


def test_a_trashed_file_that_a_crash_left_uncounted_is_counted_again(made: Made) -> None:
    (made.path.parent / "ws").mkdir()
    (made.path.parent / "ws" / "x").write_bytes(b"precious")
    _, number = _remove(made, "x", finish=False)
    made.reopened()
    made.history.finish(number, Outcome("applied"))
    assert made.history.content_after(number) is None
    made.history.prune()
    assert made.history.content_after(number) == b"precious"
    made.history.prune()
    assert made.history.content_after(number) == b"precious"


def test_trash_of_no_version_goes_in_time_and_not_before(made: Made) -> None:
    made.history.trash.files()
    stray = made.path / "trash" / "77-stray"
    stray.write_bytes(b"?")
    made.history.prune()
    assert stray.exists()
    assert made.history.prune(now_ns=time.time_ns() + 31 * DAY_NS).swept_files == 1
    assert not stray.exists()


def test_files_that_no_row_names_are_swept(made: Made) -> None:
    made.change(None, noise(300_000))
    directory = made.blob_files()[0].parent
    (directory / ("0" * 62)).write_bytes(b"left by a crash")
    (directory / ".picoclawd.1.0123456789abcdef.tmp").write_bytes(b"half of one")
    (directory / "README").write_bytes(b"not ours")
    assert made.history.prune().swept_files == 1
    assert not (directory / ("0" * 62)).exists() and not list(directory.glob(".picoclawd*"))
    assert (directory / "README").exists()


def test_a_purge_takes_every_version_and_leaves_no_byte_of_the_content(made: Made) -> None:
    secret = b"token-" + noise(8).hex().encode()
    made.change(secret, secret + b"1", path=b"conf/app.ini")
    made.change(secret + b"1", secret + noise(300_000), path=b"conf/app.ini")
    kept = made.change(b"other", b"content", path=b"conf.txt")
    assert made.history.purge(b"conf") == 2
    assert [v.version for v in made.history.versions(Filter(), 10)] == [kept]
    assert not any(secret in path.read_bytes() for path in made.path.rglob("*") if path.is_file())
    assert made.history.purge(b"conf/app.ini") == 0


def test_a_purge_of_one_path_keeps_the_same_content_of_another(made: Made) -> None:
    data = noise(300_000)
    made.change(None, data, path=b"a")
    number = made.change(None, data, path=b"b")
    made.history.purge(b"a")
    assert made.history.content_after(number) == data


def test_a_purge_takes_trashed_files_too(made: Made) -> None:
    (made.path.parent / "ws").mkdir()
    (made.path.parent / "ws" / "x").write_bytes(b"secret")
    trashed, _ = _remove(made, "x")
    assert made.history.purge(b"x") == 1
    assert not (made.path / "trash" / trashed.name.decode()).exists()


def test_a_content_that_takes_too_much_of_the_store_is_not_kept(made: Made) -> None:
    made.reopened(max_bytes=SMALL)
    begun = made.begin(b"small", noise(SMALL // 2))
    assert not begun.restorable and begun.reason is not None and "too large for the history" in begun.reason


def test_not_even_rows_go_over_the_bound(made: Made) -> None:
    made.reopened(max_bytes=96 * 1024)
    taken = 0
    while taken < 500:
        try:
            begun = made.begin(noise(3000), b"", path=b"%d" % taken, author=AGENT)
        except HistoryError:
            break
        made.history.finish(begun.version, Outcome("applied"))
        taken += 1
    assert made.history.statistics().used_bytes <= 96 * 1024
    made.history.close()
    db = sqlite3.connect(made.path / "history.db")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    made.reopened()


def test_counts_of_uses_add_up_after_everything(made: Made) -> None:
    made.reopened(max_bytes=2 * limits.MIB)
    for n in range(200):
        author = (ME, OTHER, AGENT)[n % 3]
        made.change(noise(2000), noise(9000), path=b"%d" % (n % 20), author=author)
        if n % 50 == 49:
            made.history.purge(b"%d" % (n % 20))
            made.history.prune()
    made.history.close()
    db = sqlite3.connect(made.path / "history.db")
    counted = db.execute(
        "SELECT sha, count(*) FROM (SELECT sha_before AS sha FROM versions WHERE keeps_before "
        "UNION ALL SELECT sha_after FROM versions WHERE keeps_after "
        "UNION ALL SELECT sha_addition FROM versions WHERE keeps_addition) GROUP BY sha ORDER BY sha"
    ).fetchall()
    assert counted == db.execute("SELECT sha, uses FROM blobs ORDER BY sha").fetchall()
    db.close()
    made.reopened()
