"""The bounded queue of notifications."""

import json
from collections.abc import Callable

from picoclawd.rpc.notifications import CAPACITY, OFFER_CAPACITY, Notifications


class Wire:
    """An outbox that sends when told to."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.sent: list[Callable[[], None]] = []

    def put(self, line: bytes, sent: Callable[[], None]) -> None:
        self.lines.append(line)
        self.sent.append(sent)

    def send(self, count: int) -> None:
        for sent in self.sent[:count]:
            sent()
        del self.sent[:count]


def test_a_full_queue_gives_one_resync_and_then_silence_until_it_is_sent() -> None:
    wire = Wire()
    queue = Notifications(wire.put)
    told = [queue.notify("file.changed", {"seq": seq}) for seq in range(CAPACITY + 50)]
    assert told == [True] * CAPACITY + [False] * 50
    assert [json.loads(line)["method"] for line in wire.lines[CAPACITY:]] == ["resync"]
    wire.send(CAPACITY)
    assert not queue.notify("file.changed", {})
    wire.send(1)
    assert queue.notify("file.changed", {})


def test_an_offer_is_dropped_where_the_peer_lags_and_causes_no_resync() -> None:
    wire = Wire()
    queue = Notifications(wire.put)
    told = [queue.offer("$/progress", {"done": done}) for done in range(1000)]
    assert told.count(True) == OFFER_CAPACITY == len(wire.lines)
    assert queue.notify("file.changed", {})


def test_nothing_is_queued_once_the_connection_ends() -> None:
    wire = Wire()
    queue = Notifications(wire.put)
    queue.close()
    assert not queue.notify("a", {})
    assert not queue.offer("a", {})
    assert wire.lines == []
