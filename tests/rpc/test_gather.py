"""Gathering the answers to one line."""

from picoclawd.rpc.gather import Gathering


def test_a_batch_answers_in_request_order_whatever_finishes_first() -> None:
    line = Gathering(3, is_batch=True, held_bytes=0)
    assert not line.add(2, b"3")
    assert not line.add(0, b"1")
    assert line.add(1, None)
    assert line.output() == b"[1,3]"
    assert line.told_bytes == 2


def test_a_batch_of_one_is_still_an_array_and_a_single_request_is_none() -> None:
    batch, single = Gathering(1, is_batch=True, held_bytes=0), Gathering(1, is_batch=False, held_bytes=0)
    batch.add(0, b"1")
    single.add(0, b"1")
    assert (batch.output(), single.output()) == (b"[1]", b"1")


def test_notifications_alone_say_nothing() -> None:
    for is_batch in (True, False):
        line = Gathering(1, is_batch, held_bytes=0)
        assert line.add(0, None)
        assert line.output() is None
