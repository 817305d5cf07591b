"""Judging open intents by what is on the disk: the table of what a crash can leave."""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from picoclawd.files.stamps import Stamp
from picoclawd.history.recording import Image
from picoclawd.history.settle import OpenIntent, Verdict, judge, judge_tail, judge_unread, rest, written_part

APPLIED, NOT_APPLIED, COMPLETED, UNKNOWN = Verdict
STAMP = Stamp(dev=1, ino=2, size=3, mtime_ns=4, ctime_ns=5, mode=0o100644, nlink=1)


def image(content: bytes | None) -> Image:
    if content is None:
        return Image()
    return Image(len(content), hashlib.sha256(content).digest(), content)


def change(before: bytes | None, after: bytes | None) -> OpenIntent:
    return OpenIntent(1, b"x", "modify", image(before), image(after), Image(), STAMP, None)


def append(before: bytes | None, addition: bytes) -> OpenIntent:
    return OpenIntent(1, b"x", "append", image(before), image((before or b"") + addition), image(addition), STAMP, None)


@pytest.mark.parametrize(
    ("intent", "on_disk", "verdict"),
    [
        (change(b"old", b"new"), b"new", APPLIED),
        (change(b"old", b"new"), b"old", NOT_APPLIED),
        (change(b"old", b"new"), b"other", UNKNOWN),
        (change(b"old", b"new"), None, UNKNOWN),
        (change(b"same", b"same"), b"same", APPLIED),
        (change(None, b"new"), b"new", APPLIED),
        (change(None, b"new"), None, NOT_APPLIED),
        (change(None, b"new"), b"", UNKNOWN),
        (change(None, b""), b"", APPLIED),
        (change(b"old", None), None, APPLIED),
        (change(b"old", None), b"old", NOT_APPLIED),
        (change(b"old", None), b"other", UNKNOWN),
        (append(b"old", b"add"), b"oldadd", APPLIED),
        (append(b"old", b"add"), b"old", NOT_APPLIED),
        (append(b"old", b"add"), b"olda", COMPLETED),
        (append(b"old", b"add"), b"oldad", COMPLETED),
        (append(b"old", b"add"), b"oldaddmore", APPLIED),
        (append(b"old", b"add"), b"oldax", UNKNOWN),
        (append(b"old", b"add"), b"xldadd", UNKNOWN),
        (append(b"old", b"add"), b"ol", UNKNOWN),
        (append(b"old", b"add"), None, UNKNOWN),
        (append(b"old", b""), b"old", APPLIED),
        (append(None, b"add"), b"add", APPLIED),
        (append(None, b"add"), None, NOT_APPLIED),
    ],
)
def test_the_disk_tells_what_became_of_it(intent: OpenIntent, on_disk: bytes | None, verdict: Verdict) -> None:
    assert judge(intent, on_disk) is verdict


def test_an_append_to_bytes_never_hashed_is_judged_by_its_own() -> None:
    intent = replace(append(b"old", b"add"), before=Image(3))
    assert judge(intent, b"oldad") is COMPLETED
    assert judge_tail(intent, b"add") is APPLIED
    assert judge_tail(intent, b"") is NOT_APPLIED


def test_a_half_append_whose_bytes_were_not_kept_is_unknown() -> None:
    intent = replace(append(b"old", b"add"), addition=replace(image(b"add"), content=None))
    assert judge(intent, b"olda") is UNKNOWN
    assert judge(intent, b"oldadd") is APPLIED


def test_of_what_was_never_hashed_the_stamp_tells_that_nothing_happened() -> None:
    intent = replace(change(b"old", b"new"), before=Image(3), after=Image(3))
    assert judge(intent, b"old") is UNKNOWN
    assert judge(intent, b"old", STAMP) is NOT_APPLIED
    assert judge(intent, b"old", msgspec.structs.replace(STAMP, ctime_ns=99)) is NOT_APPLIED
    assert judge(intent, b"old", msgspec.structs.replace(STAMP, mtime_ns=99)) is UNKNOWN
    assert judge_unread(replace(intent, stamp=None), STAMP) is UNKNOWN


@given(st.binary(max_size=20), st.binary(min_size=1, max_size=20), st.data())
def test_every_prefix_of_an_append_is_completed_to_the_whole(old: bytes, addition: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(addition)))
    intent, on_disk = append(old, addition), old + addition[:cut]
    verdict = judge(intent, on_disk)
    assert verdict is (NOT_APPLIED if cut == 0 else APPLIED if cut == len(addition) else COMPLETED)
    good, lacking = rest(intent, on_disk[len(old) :])
    assert on_disk[: len(old) + good] + lacking == old + addition


@given(st.binary(min_size=1, max_size=2000), st.integers(0, 2000), st.integers(1, 2000))
def test_nuls_behind_a_prefix_are_what_was_never_written(content: bytes, written: int, size: int) -> None:
    found = (content[:written] + bytes(2000))[: min(size, len(content))]
    good = written_part(content, found)
    assert good is not None and content[:good] == found[:good] and not any(found[good:][:1])
    assert written_part(content, b"\xff" + found[1:] if content[:1] != b"\xff" else b"\x01" + found[1:]) is None


def test_each_verdict_has_the_outcome_that_is_recorded() -> None:
    assert [verdict.applied for verdict in Verdict] == ["applied", "not_applied", "applied", "unknown"]
