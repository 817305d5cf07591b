"""What is kept of a change besides the change: intent, outcome, a displaced save, a line."""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.history.query import Filter
from picoclawd.history.records import Author, Intent, Outcome, Unread
from picoclawd.workspace import events
from picoclawd.workspace.events import OUTSIDE
from picoclawd.workspace.journal import Attribution, Journal, Wanted, name_of
from tests.house import House


def wanted(house: House, name: str = "f.txt") -> Wanted:
    by = Attribution(house.agent.actor, "edit_file", op="op-1")
    return Wanted(by, house.rooted.workspace + b"/" + name.encode(), "modify", b"old\n", b"new\n", None, "a-1")


def test_a_change_is_recorded_before_it_is_made_and_finished_after(recorded: House, tmp_path: Path) -> None:
    journal = recorded.workspace.journal
    entry = journal.begin(wanted(recorded))
    assert recorded.history.outcome("op-1") == "unknown"
    entry.done(4, "0" * 64)
    assert (entry.restorable, recorded.history.outcome("op-1")) == (True, "applied")
    line = json.loads((tmp_path / "state" / "audit.ndjson").read_text())
    assert (line["path"], line["outcome"], line["approval"], line["version"]) == (
        "f.txt",
        "applied",
        "a-1",
        entry.version,
    )


@pytest.mark.parametrize(("said", "outcome"), [(None, "not_applied"), ("unknown", "unknown"), ("applied", "applied")])
def test_a_fault_tells_what_became_of_it(recorded: House, said: str | None, outcome: str) -> None:
    entry = recorded.workspace.journal.begin(wanted(recorded))
    entry.failed(Fault(Slug.IO_ERROR, "x", outcome=said))  # type: ignore[arg-type]
    assert recorded.history.outcome("op-1") == outcome


def test_what_a_bug_ended_is_unknown(recorded: House) -> None:
    recorded.workspace.journal.begin(wanted(recorded)).lost()
    assert recorded.history.outcome("op-1") == "unknown"


def test_a_save_that_lost_its_name_is_kept_as_external(recorded: House) -> None:
    entry = recorded.workspace.journal.begin(wanted(recorded))
    entry.keep(b"their save\n")
    displaced = [each for each in recorded.history.versions(Filter(), 10) if each.state == "displaced"]
    assert [recorded.history.content_after(each.version) for each in displaced] == [b"their save\n"]


def test_it_must_stay_where_it_is_if_it_cannot_be_kept(house: House, recorded: House) -> None:
    without = Journal(house.rooted.workspace, lambda real: False)
    with pytest.raises(Fault) as caught:
        without.begin(wanted(house)).keep(b"their save\n")
    assert caught.value.slug is Slug.HISTORY_UNAVAILABLE
    sensitive = Journal(house.rooted.workspace, lambda real: True, recorded.history)
    with pytest.raises(Fault) as caught:
        sensitive.begin(wanted(house)).keep(b"their save\n")
    assert caught.value.slug is Slug.HISTORY_UNAVAILABLE


def test_of_a_sensitive_file_no_byte_is_kept(recorded: House) -> None:
    journal = Journal(recorded.rooted.workspace, lambda real: True, recorded.history)
    entry = journal.begin(wanted(recorded))
    entry.done(4, None)
    assert not entry.restorable
    assert entry.version is not None
    assert recorded.history.content_before(entry.version) is None


def test_who_changed_a_file_last(recorded: House) -> None:
    journal, real = recorded.workspace.journal, recorded.rooted.workspace + b"/f.txt"
    unknown = journal.last_change(real, "0" * 64)
    assert unknown is not None and unknown.by == OUTSIDE
    journal.begin(wanted(recorded)).done(4, None)
    made = recorded.history.last(b"f.txt")
    assert made is not None and made.sha256_after is not None
    actor = recorded.agent.actor
    assert actor.client and (made.client, made.session_id, made.tool) == (actor.client, actor.session_id, "edit_file")
    ours, theirs = journal.last_change(real, made.sha256_after), journal.last_change(real, "0" * 64)
    assert ours is not None and not isinstance(ours.by, str) and ours.by.tool == "edit_file"
    assert theirs is not None and theirs.by == OUTSIDE


def test_of_whom_only_the_session_is_known_the_rest_is_empty(recorded: House) -> None:
    begun = recorded.history.begin(Intent(b"f.txt", "modify", b"old\n", b"new\n", Author("s-9")))
    recorded.history.finish(begun.version, Outcome("applied"))
    sha256 = hashlib.sha256(b"new\n").hexdigest()
    made = recorded.workspace.journal.last_change(recorded.rooted.workspace + b"/f.txt", sha256)
    assert made is not None and made.by == events.Author("s-9", "", "")


@pytest.mark.parametrize(
    ("before", "after", "restorable"),
    [(b"old\n", b"new\n", True), (Unread(99), b"new\n", False), (b"old\n", Unread(99), False)],
)
def test_a_change_is_restorable_where_both_its_states_are_kept(
    recorded: House, before: bytes | Unread, after: bytes | Unread, restorable: bool
) -> None:
    change = msgspec.structs.replace(wanted(recorded), before=before, after=after)
    assert recorded.workspace.journal.begin(change).restorable is restorable


def test_files_outside_go_by_their_whole_path() -> None:
    assert name_of(b"/ws", b"/ws/a/b") == b"a/b"
    assert name_of(b"/ws", b"/ws-evil/b") == b"/ws-evil/b"


def test_what_cannot_be_recorded_is_logged_with_whose_it_was(recorded: House, caplog: pytest.LogCaptureFixture) -> None:
    recorded.history.close()
    entry = recorded.workspace.journal.begin(wanted(recorded, "a\nb"))
    assert (entry.version, entry.restorable) == (None, False)
    (told,) = caplog.records
    assert "could not be recorded" in told.getMessage()
    about = told.__dict__["picoclaw"]
    assert about["session"] == recorded.agent.session_id
    assert (about["tool"], about["path"]) == ("edit_file", f"{recorded.root}/a\\nb")
