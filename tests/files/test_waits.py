"""Tests of what a call's waiting comes to."""

import pytest
import trio
import trio.testing

from picoclawd.files.locks import LockTable
from picoclawd.files.waits import Waits


def test_each_kind_adds_up_for_itself_also_where_it_fails() -> None:
    waits = Waits()
    for _ in range(2):
        with pytest.raises(ValueError, match="x"), waits.for_turn():
            raise ValueError("x")
    assert waits.turn_s > 0
    once = waits.turn_s
    with waits.for_person():
        pass
    assert (waits.turn_s, waits.locks_s) == (once, 0.0)
    assert waits.person_s > 0


async def test_only_a_lock_that_others_hold_is_waited_for() -> None:
    table, waits = LockTable(), Waits()
    async with table.hold([(1, 1, b"a")], "one", waits):
        assert waits.locks_s == 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_hold, table, waits)
            await trio.testing.wait_all_tasks_blocked()
            (row,) = table.statistics()
            assert row.waiters == 1
            nursery.cancel_scope.cancel()
    assert waits.locks_s > 0


async def _hold(table: LockTable, waits: Waits) -> None:
    async with table.hold([(1, 1, b"a")], "two", waits):
        raise AssertionError("it is held")
