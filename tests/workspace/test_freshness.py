"""Freshness: an edit from what a session no longer knows writes nothing, and hears all that helps."""

import hashlib
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp
from picoclawd.workspace.events import OUTSIDE, Author
from picoclawd.workspace.freshness import (
    Fresh,
    Guard,
    LastChange,
    Setting,
    check,
    check_overwrite,
    is_unchanged,
)
from picoclawd.workspace.ledger import Entry, Ledger, Pins
from picoclawd.workspace.plans import Old

SETTINGS: list[Setting] = ["content", "mtime", "anchors"]


class Text:
    """A file in memory."""

    def __init__(self, data: bytes, mtime_ns: int = 5, ino: int = 2, exists: bool = True) -> None:
        self.data = data
        made = Stamp(1, ino, len(data), mtime_ns, mtime_ns, 0o100600, 1)
        self.stamp = made if exists else None

    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def seen(file: Text, *, pinned: bool = True) -> Entry:
    assert file.stamp is not None
    small = len(file.data) <= limits.SHA256_MAX_BYTES
    return Entry(file.stamp, file.sha256() if small else None, file.data if pinned else None)


def guard(entry: Entry | None, setting: Setting = "content", **more: object) -> Guard:
    return replace(Guard("f.txt", setting, entry), **more)


def refused(given: Guard, file: Text) -> Fault:
    with pytest.raises(Fault) as caught:
        check(given, file)
    assert caught.value.slug is Slug.NOT_FRESH
    return caught.value


READ = Text(b"alpha\nbeta\ngamma\n")


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_was_read_and_is_the_same_may_be_edited(setting: Setting) -> None:
    assert check(guard(seen(READ), setting), READ) == Fresh()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_file_that_was_never_read_is_refused_with_its_hash_and_the_next_call(setting: Setting) -> None:
    fault = refused(guard(None, setting), READ)
    assert "has not read" in fault.message
    assert "restarted" not in fault.message
    assert fault.data["sha256"] == READ.sha256()
    assert fault.excerpt == ""
    assert fault.next_call is not None
    assert (fault.next_call.method, fault.next_call.params) == ("read_files", {"files": [{"path": "f.txt"}]})


def test_an_empty_ledger_says_that_a_restart_may_be_why() -> None:
    assert "restarted" in refused(guard(None, ledger_is_empty=True), READ).message


def test_the_next_call_is_read_file_where_that_is_the_tool() -> None:
    next_call = refused(guard(None, read_tool="read_file"), READ).next_call
    assert next_call is not None
    assert (next_call.method, next_call.params) == ("read_file", {"path": "f.txt"})


@pytest.mark.parametrize("setting", SETTINGS)
def test_changed_bytes_are_refused_although_mtime_size_and_inode_stayed(setting: Setting) -> None:
    refused(guard(seen(READ), setting), Text(b"ALPHA\nbeta\ngamma\n"))


@pytest.mark.parametrize("setting", ["content", "anchors"])
def test_a58_a_touch_and_a_rewrite_with_the_same_bytes_are_forgiven(setting: Setting) -> None:
    assert check(guard(seen(READ), setting), Text(READ.data, mtime_ns=99)) == Fresh()
    assert check(guard(seen(READ), setting), Text(READ.data, mtime_ns=99, ino=77)) == Fresh()


def test_the_setting_mtime_refuses_a_touch_and_says_that_it_was_one() -> None:
    fault = refused(guard(seen(READ), "mtime"), Text(READ.data, mtime_ns=99))
    assert "its bytes are the same" in fault.message
    assert "freshness" in fault.message


def test_off_lets_everything_pass() -> None:
    assert check(guard(None, "off"), READ) == Fresh()
    assert check(guard(seen(READ), "off"), Text(b"else\n")) == Fresh()


def test_there_is_nothing_stale_where_there_is_no_file() -> None:
    assert check(guard(None), Text(b"", exists=False)) == Fresh()
    assert check(guard(seen(READ)), Text(b"", exists=False)) == Fresh()


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_hash_from_the_error_counts_as_a_read(setting: Setting) -> None:
    now = Text(b"new\n", mtime_ns=9)
    for entry in (None, seen(READ)):
        sha256 = refused(guard(entry, setting), now).data["sha256"]
        assert check(guard(entry, setting, if_match=sha256), now) == Fresh()
        refused(guard(entry, setting, if_match=READ.sha256()), now)


def test_a_stale_file_shows_the_diff_since_the_read_and_the_rows_that_changed() -> None:
    fault = refused(guard(seen(READ)), Text(b"ALPHA\nbeta\ngamma\ndelta\n"))
    assert fault.excerpt.splitlines()[2:] == ["@@ -1,3 +1,4 @@", "-alpha", "+ALPHA", " beta", " gamma", "+delta"]
    assert fault.data["rows"] == [[1, 1], [4, 4]]
    assert "ALPHA" not in fault.message


def test_without_pinned_bytes_it_names_the_rows_to_read_again() -> None:
    fault = refused(guard(seen(READ, pinned=False)), Text(b"1\n2\n3\n4"))
    assert fault.excerpt == ""
    assert fault.data["rows"] == [[1, 4]]
    assert "rows 1 to 4" in fault.message


def test_an_emptied_file_has_no_rows_to_read() -> None:
    assert "rows" not in refused(guard(seen(READ, pinned=False)), Text(b"")).data


def test_a_long_diff_is_bounded() -> None:
    before = Text(b"".join(b"line %d\n" % number for number in range(9_000)))
    after = Text(b"".join(b"LINE %d\n" % number for number in range(9_000)))
    fault = refused(guard(seen(before)), after)
    assert len(fault.excerpt) <= limits.DIFF_MODEL_MAX_CHARS
    assert "omitted" in fault.excerpt


@pytest.mark.parametrize(("before", "after"), [(b"a\n", b"\0\1"), (b"\0\1", b"a\n")])
def test_bytes_that_are_no_text_are_never_shown(before: bytes, after: bytes) -> None:
    assert refused(guard(seen(Text(before))), Text(after)).excerpt == ""


def test_the_error_says_which_session_changed_the_file() -> None:
    last = LastChange(Author("s-2", "writer-b", "write_file"), at=12.5)
    fault = refused(guard(seen(READ), last_change=lambda: last), Text(b"x\n"))
    assert "by write_file of 'writer-b' session s-2" in fault.message
    assert fault.data["changed_by"] == {"session_id": "s-2", "client": "writer-b", "tool": "write_file"}
    assert fault.data["changed_at"] == 12.5


def test_the_error_says_that_it_was_a_program_outside() -> None:
    fault = refused(guard(seen(READ), last_change=lambda: LastChange(OUTSIDE)), Text(b"x\n"))
    assert "outside picoclawd" in fault.message
    assert fault.data["changed_by"] == "outside"
    assert "changed_at" not in fault.data


def test_the_error_makes_nobody_up_where_nobody_is_known() -> None:
    fault = refused(guard(seen(READ)), Text(b"x\n"))
    assert "changed_by" not in fault.data


def test_nobody_asks_who_changed_a_file_that_is_fresh() -> None:
    def never() -> LastChange:
        raise AssertionError("asked")

    assert check(guard(seen(READ), last_change=never), READ) == Fresh()


def test_over_1_mib_inode_size_and_mtime_decide() -> None:
    large = Text(b"x" * (limits.SHA256_MAX_BYTES + 1))
    entry = seen(large, pinned=False)
    assert is_unchanged(entry, large)
    assert not is_unchanged(entry, Text(large.data, mtime_ns=6))
    assert not is_unchanged(entry, Text(large.data, ino=3))
    fault = refused(guard(entry), Text(large.data + b"y"))
    assert "rows" not in fault.data


# anchors


LINES = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    ("anchors", "now"),
    [
        ([b"four\n"], b"ONE\ntwo\nthree\nfour\nfive\n"),
        ([b"four", b"two"], b"ONE\ntwo\nthree\nfour\nfive\n"),
        ([b"four\nfive"], b"two\nthree\nfour\nfive\n"),
        ([b"one\n"], b"one\nthree\nfour\nfive\n"),
        ([b"three\n"], b"one\nthree\nfour\nfive\n"),
        ([b"five"], b"one\ntwo\nthree\nfour\nbetween\nfive\n"),
    ],
)
def test_anchors_beside_the_change_are_accepted_and_the_change_is_shown(anchors: list[bytes], now: bytes) -> None:
    fresh = check(guard(seen(Text(LINES)), "anchors", anchors=anchors), Text(now))
    assert any(row.kind in ("added", "removed") for row in fresh.changed)


@pytest.mark.parametrize(
    ("anchors", "now"),
    [
        ([b"one"], b"ONE\ntwo\nthree\nfour\nfive\n"),  # gone
        ([b"two"], b"one\nxx two yy\nthree\nfour\nfive\n"),  # on a changed line
        ([b"four", b"two"], b"one\nxx two yy\nthree\nfour\nfive\n"),  # one of them is
        ([b"four"], b"ONE\ntwo\nthree\nfour\nfive\nfour\n"),  # no longer unique
        ([b"o"], b"ONE\ntwo\nthree\nfour\nfive\n"),  # never was unique
        ([b"two\nfour"], b"one\ntwo\nfour\nfive\n"),  # has come to be by a deletion within
        ([b""], b"ONE\ntwo\nthree\nfour\nfive\n"),
        ([], b"ONE\ntwo\nthree\nfour\nfive\n"),  # the form that replaces the whole
    ],
)
def test_anchors_that_the_change_touched_are_refused(anchors: list[bytes], now: bytes) -> None:
    refused(guard(seen(Text(LINES)), "anchors", anchors=anchors), Text(now))


def test_an_anchor_that_became_unique_by_a_deletion_is_refused() -> None:
    refused(guard(seen(Text(b"a\nx\nb\nx\n")), "anchors", anchors=[b"x"]), Text(b"a\nb\nx\n"))


def test_overlapping_places_are_not_unique() -> None:
    refused(guard(seen(Text(b"aaa\nb\n")), "anchors", anchors=[b"aa"]), Text(b"aaa\nB\n"))


def test_an_anchor_with_lf_means_crlf_too() -> None:
    before, now = b"one\r\ntwo\r\nthree\r\n", b"ONE\r\ntwo\r\nthree\r\n"
    assert check(guard(seen(Text(before)), "anchors", anchors=[b"two\nthree"]), Text(now)).changed


def test_anchors_cannot_be_placed_without_the_bytes_that_were_read() -> None:
    refused(guard(seen(Text(LINES), pinned=False), "anchors", anchors=[b"five"]), Text(b"ONE\n" + LINES[4:]))


@pytest.mark.parametrize("setting", ["content", "mtime"])
def test_only_the_setting_anchors_looks_at_anchors(setting: Setting) -> None:
    refused(guard(seen(Text(LINES)), setting, anchors=[b"five"]), Text(b"ONE\n" + LINES[4:]))


# write_file with overwrite


def test_a59_a_known_stale_overwrite_is_refused_with_the_diff() -> None:
    now = Text(b"ALPHA\nbeta\ngamma\n")
    with pytest.raises(Fault) as caught:
        check_overwrite(guard(seen(READ)), now)
    assert caught.value.slug is Slug.NOT_FRESH
    assert "+ALPHA" in caught.value.excerpt
    assert caught.value.data["sha256"] == now.sha256()


def test_an_overwrite_of_what_was_never_read_or_did_not_change_goes_on() -> None:
    check_overwrite(guard(None), READ)
    check_overwrite(guard(seen(READ)), Text(READ.data, mtime_ns=99))
    check_overwrite(guard(seen(READ)), Text(b"", exists=False))
    check_overwrite(guard(seen(READ), if_match=Text(b"x").sha256()), Text(b"x"))


def test_the_file_under_the_lock_is_one_to_check(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(READ.data)
    fd = os.open(path, os.O_RDONLY)
    try:
        old = Old(fd, stamps.of(os.fstat(fd)), os.fsencode(path), "f.txt")
        assert old.stamp is not None
        assert check(guard(Entry(old.stamp, READ.sha256(), READ.data)), old) == Fresh()
        with pytest.raises(Fault, match="has not read"):
            check(guard(None), old)
    finally:
        os.close(fd)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a61_an_own_write_is_fresh_and_a_formatter_after_it_is_told(setting: Setting) -> None:
    ledger = Ledger(Pins())
    written = Text(b"a = 1\nb=2\n", mtime_ns=7)
    assert written.stamp is not None
    ledger.note_write(b"/w/f.txt", written.stamp, written.sha256(), written.data)
    entry = ledger.entry(b"/w/f.txt")
    assert check(guard(entry, setting), written) == Fresh()
    fault = refused(guard(entry, setting), Text(b"a = 1\nb = 2\n", mtime_ns=8))
    assert "-b=2\n+b = 2" in fault.excerpt
