"""`TrioClient` against a fake daemon: the same promises as `Client`, and cancel scopes."""

from typing import Any

import pytest
import trio

from picoclawd.client import Busy, Lost, NoDaemon, NotFound, TrioClient
from tests.client.fake import FakeDaemon, Refusal
from tests.client.fake_history import Memory

PATIENCE_S = 30


async def test_tools_are_methods_and_run_side_by_side(daemon: FakeDaemon) -> None:
    """The first is answered only after the second was asked."""
    daemon.handlers["read_file"] = lambda _: {"content": f"{daemon.cancelled.wait(PATIENCE_S)}", "data": {}}

    def release(_: Any) -> Any:
        daemon.cancelled.set()
        return {"released": True}

    daemon.handlers["task.begin"] = release
    got: list[Any] = []

    async def read(client: TrioClient) -> None:
        got.append(str(await client.read_file(path="x")))

    with trio.fail_after(PATIENCE_S):
        async with TrioClient(client="t") as client, trio.open_nursery() as nursery:
            nursery.start_soon(read, client)
            got.append(await client.task_begin(objective="o"))
    assert sorted(map(str, got)) == ["True", "{'released': True}"]  # both answers are on their way at once
    assert daemon.asked("session.open") == [{"client": "t", "kind": "agent"}]


async def test_an_error_is_of_its_family(daemon: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32002, "file not found", error="not_found")

    daemon.handlers["read_file"] = refuse
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            with pytest.raises(NotFound, match="file not found"):
                await client.read_file(path="x")


async def test_progress_is_told(daemon: FakeDaemon) -> None:
    told: list[Any] = []

    def slow(_: Any) -> Any:
        daemon.notify("$/progress", {"id": 2, "done": 1, "total": None, "message": "reading"})
        return {}

    daemon.handlers["search_files"] = slow
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            await client.search_files(pattern="x", progress=lambda *facts: told.append(facts))
    assert told == [(1, None, "reading")]


async def test_a_cancel_scope_cancels_at_the_daemon(daemon: FakeDaemon) -> None:
    daemon.handlers["search_files"] = lambda _: daemon.cancelled.wait(PATIENCE_S)
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            await client.ping()
            with trio.move_on_after(0.05) as scope:
                await client.search_files(pattern="x")
            assert scope.cancelled_caught
            assert await trio.to_thread.run_sync(daemon.cancelled.wait, PATIENCE_S)


async def test_a_timeout_says_what_became_of_the_call(daemon: FakeDaemon) -> None:
    def slow(_: Any) -> Any:
        assert daemon.cancelled.wait(PATIENCE_S)
        raise Refusal(-32800, "cancelled", error="cancelled")

    daemon.handlers["search_files"] = slow
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            with pytest.raises(Busy) as caught:
                await client.search_files(pattern="x", timeout_s=0.05)
    assert caught.value.outcome == "not_applied"


@pytest.mark.parametrize(("losses", "made", "lost"), [(("before",), 1, False), (("after",), 1, True)])
async def test_a_change_is_made_once(daemon: FakeDaemon, losses: tuple[str, ...], made: int, lost: bool) -> None:
    memory = Memory(daemon, *losses)
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            result = await client.edit_file(path="x")
    assert (len(memory.applied), result.answer_lost) == (made, lost)
    assert memory.tokens == [None, "token-1"]


async def test_what_nobody_can_tell_is_not_repeated(daemon: FakeDaemon) -> None:
    Memory(daemon, "before")
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            with pytest.raises(Lost, match="look before you repeat it"):
                await client.open_file(path="x")
    assert len(daemon.asked("open_file")) == 1


async def test_without_a_daemon_it_says_what_to_type(lonely: object) -> None:
    async with TrioClient() as client:
        with pytest.raises(NoDaemon, match="picoclawd serve --workspace"):
            await client.ping()


async def test_outside_its_block_it_says_how_to_open_it() -> None:
    with pytest.raises(Lost, match="async with"):
        await TrioClient().ping()


async def test_an_exception_of_the_block_comes_out_as_it_is(daemon: FakeDaemon) -> None:
    with pytest.raises(KeyError):
        async with TrioClient() as client:
            await client.ping()
            raise KeyError("mine")


async def test_an_exception_among_events_comes_out_as_it_is_too(daemon: FakeDaemon) -> None:
    daemon.handlers["events.subscribe"] = lambda _: {"subscription": "s", "cursor": "c"}
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client:
            with pytest.raises(KeyError):
                async with client.events():
                    raise KeyError("mine")
            assert await client.ping() == {}, "the client goes on"


async def test_events_that_are_missed_are_asked_for(daemon: FakeDaemon) -> None:
    """The daemon's queue ran full: `resync`, then the changes since the cursor, each told once."""
    change = {"path": "a", "action": "modify", "version": None, "by": "outside"}
    daemon.handlers["events.subscribe"] = lambda _: {"subscription": "s", "cursor": "c0"}
    page = {"changes": [{"seq": 1, **change}, {"seq": 2, **change}], "cursor": "c2", "fresh_instance": False}
    daemon.handlers["changes.since"] = lambda _: page
    with trio.fail_after(PATIENCE_S):
        async with TrioClient() as client, client.events() as events:
            daemon.notify("file.changed", {"seq": 1, **change})
            daemon.notify("resync", {})
            daemon.notify("file.changed", {"seq": 3, **change})
            found = [await events.__anext__() for _ in range(4)]
    assert [(event["event"], event.get("seq")) for event in found] == [
        ("file.changed", 1),
        ("resync", None),
        ("file.changed", 2),
        ("file.changed", 3),
    ]
    assert daemon.asked("changes.since") == [{"cursor": "c0"}]
