"""A search stops for its deadline and for its caller, and says which."""

import time

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.tools._stop import Stop
from picoclawd.workspace.scope import OutOfTimeError


def never() -> bool:
    return False


def test_before_its_deadline_a_search_goes_on() -> None:
    stop = Stop(never, 60)
    assert not stop()
    stop.poll(0)
    stop.check()


def test_at_its_deadline_names_that_were_gathered_are_kept_and_nothing_is_a_fault() -> None:
    stop = Stop(never, -1)
    assert stop()
    with pytest.raises(OutOfTimeError):
        stop.poll(100)
    stop.check()


def test_a_deadline_comes_while_one_waits() -> None:
    stop = Stop(never, 0.05)
    end = time.monotonic() + 10
    while not stop():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("deadline_s", [60, -1])
def test_a_caller_that_gave_up_gets_a_fault_before_and_after_the_deadline(deadline_s: float) -> None:
    given_up = False
    stop = Stop(lambda: given_up, deadline_s)
    given_up = True
    assert stop()
    with pytest.raises(Fault) as polled:
        stop.poll(0)
    with pytest.raises(Fault) as checked:
        stop.check()
    assert polled.value.slug is checked.value.slug is Slug.CANCELLED
