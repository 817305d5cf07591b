import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from picoclawd.client import sieve, tail
from picoclawd.client.follower import Follower
from picoclawd.client.main import main
from picoclawd.client.wire import Connection
from tests.client.fake import FakeDaemon

ADA = {"session_id": "s-1", "client": "ada", "tool": "edit_file"}


def changed(seq: int, path: str = "a.txt", by: Any = ADA) -> dict[str, Any]:
    return {"seq": seq, "path": path, "action": "modify", "version": seq, "by": by}


class Feed:
    """A desk with a daemon behind it that sent `sent`, and answers changes.since with `pages`, one after the other."""

    def __init__(self, sent: list[tuple[str, dict[str, Any]]], pages: list[dict[str, Any]]) -> None:
        self.sent = sent
        self.pages = pages
        self.calls: list[tuple[str, Any]] = []
        self.connection = self

    def next_notification(self) -> dict[str, Any]:
        if not self.sent:
            raise KeyboardInterrupt
        method, params = self.sent.pop(0)
        return {"method": method, "params": params}

    def call(self, method: str, params: Any) -> Any:
        self.calls.append((method, params))
        return {"subscription": "sub-1", "cursor": "c0"} if method == "events.subscribe" else self.pages.pop(0)


def followed(feed: Feed, kinds: list[str] | None = None, paths: list[str] | None = None) -> list[Any]:
    """All that a follower yields until the interrupt: numbers of changes, names of anything else."""
    desk: Any = feed
    found: list[Any] = []
    events: Iterator[dict[str, Any]] = Follower(desk, kinds or [], paths or []).events()
    with pytest.raises(KeyboardInterrupt):
        for event in events:
            found.append(event["seq"] if event["event"] == "file.changed" else event["event"])
    return found


def page(*changes: dict[str, Any], cursor: str = "c1", **members: Any) -> dict[str, Any]:
    return {"changes": list(changes), "cursor": cursor, "fresh_instance": False, "more": False, **members}


def test_after_a_resync_what_was_missed_is_asked_for_and_nothing_told_twice() -> None:
    sent = [("file.changed", changed(1)), ("resync", {}), ("file.changed", changed(3)), ("file.changed", changed(5))]
    feed = Feed(sent, [page(changed(1), changed(2), cursor="c1", more=True), page(changed(3), changed(4))])
    assert followed(feed) == [1, "resync", 2, 3, 4, 5]
    assert [params for method, params in feed.calls if method == "changes.since"] == [
        {"cursor": "c0"},
        {"cursor": "c1"},
    ]


def test_more_missed_than_is_kept_is_said() -> None:
    feed = Feed([("resync", {}), ("file.changed", changed(9))], [page(fresh_instance=True)])
    assert followed(feed) == ["resync", "gap", 9]


def test_a_long_feed_keeps_its_cursor_young(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sieve, "_CURSOR_EVENTS", 2)
    feed = Feed(
        [("file.changed", changed(seq)) for seq in (1, 2, 3, 4)], [page(changed(1), changed(2), changed(3)), page()]
    )
    assert followed(feed) == [1, 2, 3, 4], "3 was told with the cursor, and not again"


def test_missed_changes_are_narrowed_as_the_feed_is() -> None:
    missed = page(changed(1, "a.py"), changed(2, "a.txt"), changed(3, "src/b.py"), changed(4, "é[.py"))
    feed = Feed([("resync", {})], [missed])
    assert followed(feed, paths=["*.py"]) == ["resync", 1, 3, 4]
    assert feed.calls[0] == ("events.subscribe", {"paths": ["*.py"]})


def test_who_follows_no_files_is_told_of_none() -> None:
    feed = Feed([("resync", {}), ("approval.answered", {"seq": 1})], [])
    assert followed(feed, kinds=["approval.*"]) == ["resync", "approval.answered"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"event": "file.changed", **changed(7)}, "modify  a.txt v7  ada (s-1) edit_file"),
        ({"event": "file.changed", **changed(7, by="outside"), "version": None}, "modify  a.txt  outside"),
        (
            {
                "event": "approval.requested",
                "id": "a-1",
                "call": "Remove(x)",
                "reason": "it is removed",
                "session_id": "s-1",
                "client": "ada",
                "objective": "",
            },
            "approval requested  a-1 Remove(x): it is removed (claimed: client ada, objective -)",
        ),
        ({"event": "approval.answered", "id": "a-1", "answer": "deny"}, "approval answered   a-1: deny"),
        ({"event": "approval.withdrawn", "id": "a-1", "reason": "expired"}, "approval withdrawn  a-1: expired"),
        ({"event": "session.opened", "session_id": "s-1", "client": "ada"}, "session opened      s-1 ada"),
        ({"event": "resync"}, "resync: events were missed; asking for the changes among them"),
        ({"event": "gap"}, "more was missed than the daemon keeps: nothing is known of that time"),
    ],
)
def test_each_event_is_a_line(event: dict[str, Any], text: str) -> None:
    assert tail.line(event, False)[9:] == text


def test_a_line_is_coloured_by_who_and_stays_a_line() -> None:
    ours = tail.line({"event": "file.changed", **changed(1)}, True)
    again = tail.line({"event": "file.changed", **changed(2, "b\x1b[2J\n.txt")}, True)
    outside = tail.line({"event": "file.changed", **changed(2, by="outside")}, True)
    assert ours[9:].split("m")[0] == again[9:].split("m")[0] != outside[9:].split("m")[0]
    assert "\\x1b[2J\\n.txt" in again
    assert "\n" not in again


def serve(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, *sent: tuple[str, dict[str, Any]]) -> None:
    """Send these, and interrupt whoever waits for more."""
    waits = Connection.next_notification

    def subscribe(_: Any) -> Any:
        for method, params in sent:
            daemon.notify(method, params)
        return {"subscription": "sub-1", "cursor": "c0"}

    def interrupted(self: Connection) -> dict[str, Any]:
        if not self.notifications:
            raise KeyboardInterrupt
        return waits(self)

    daemon.handlers["events.subscribe"] = subscribe
    monkeypatch.setattr(Connection, "next_notification", interrupted)


def test_tail_ends_with_the_interrupt(
    operated: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = {"seq": 2, "session_id": "s-2", "client": ""}
    serve(operated, monkeypatch, ("file.changed", changed(1)), ("session.closed", closed))
    assert main(["tail", "*.txt", "--kind", "file.changed", "--kind", "session.*"]) == 130
    assert [line[9:] for line in capsys.readouterr().out.splitlines()] == ["modify  a.txt v1  ada (s-1) edit_file"]
    assert operated.asked("events.subscribe") == [{"kinds": ["file.changed", "session.*"], "paths": ["*.txt"]}]
    assert operated.asked("session.open") == [{"client": "picoclawctl tail"}]


def test_json_is_a_line_for_each_event(
    operated: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = {"seq": 2, "session_id": "s-2", "client": ""}
    serve(operated, monkeypatch, ("file.changed", changed(1)), ("session.closed", closed))
    assert main(["tail", "--json"]) == 130
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"event": "file.changed", **changed(1)}, {"event": "session.closed", **closed}]


def test_a_daemon_that_goes_away_ends_it(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    def subscribe(_: Any) -> Any:
        operated.notify("file.changed", changed(1))
        threading.Timer(0.05, operated.hang_up).start()
        return {"subscription": "sub-1", "cursor": "c0"}

    operated.handlers["events.subscribe"] = subscribe
    assert main(["tail"]) == 1
    shown = capsys.readouterr()
    assert "a.txt" in shown.out
    assert "the daemon went away" in shown.err
