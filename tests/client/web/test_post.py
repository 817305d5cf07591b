from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from picoclawd.client.failures import Lost, NoDaemon, RpcError
from picoclawd.client.web import post
from picoclawd.client.web.post import Post
from tests.client.fake import FakeDaemon, Refusal, Vanish
from tests.client.web.waiting import until


@pytest.fixture
def served(operated: FakeDaemon) -> FakeDaemon:
    """A daemon that a page can connect to."""
    operated.handlers["session.open"] = lambda _: {"session_id": "s-1", "workspace": "/ws"}
    operated.handlers["events.subscribe"] = lambda _: {"subscription": "sub-1", "cursor": "c"}
    return operated


@asynccontextmanager
async def running(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Post]:
    monkeypatch.setattr(post, "_RETRY_S", 0.02)
    made = Post(None)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.run)
            yield made
            nursery.cancel_scope.cancel()


async def kinds(made: Post, after: int, count: int) -> list[str]:
    """The kinds of so many events after a number."""
    found: list[Any] = []
    while len(found) < count:
        found += (await made.news(after + len(found), 10)).events
    return [event.kind for event in found]


def notify_many(daemon: FakeDaemon, count: int) -> None:
    for number in range(count):
        daemon.notify("file.changed", {"path": str(number)})


async def test_it_introduces_itself_subscribes_and_calls(served: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    served.handlers["approvals.list"] = lambda _: {"pending": []}
    async with running(monkeypatch) as made:
        await until(lambda: made.state == "connected")
        assert made.workspace == "/ws"
        assert await made.call("approvals.list", {}) == {"pending": []}
    assert served.asked("session.open") == [{"client": "picoclawctl web"}]
    assert served.asked("events.subscribe") == [{}]


async def test_what_happens_is_told_in_order(served: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch) as made:
        await until(lambda: made.state == "connected")
        served.notify("file.changed", {"path": "a"})
        served.notify("approval.requested", {"id": "a-1"})
        assert await kinds(made, 0, 3) == ["daemon.connected", "file.changed", "approval.requested"]


async def test_a_daemon_that_comes_back_is_found_again(served: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch) as made:
        await until(lambda: made.state == "connected")
        last = made.statistics()["events"]
        served.hang_up()
        assert await kinds(made, last, 2) == ["daemon.gone", "daemon.connected"]
        served.handlers["ping"] = lambda _: {"well": True}
        assert await made.call("ping", {}) == {"well": True}


async def test_without_a_daemon_a_call_says_what_to_type(lonely: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch) as made:
        await until(lambda: made.why)
        with pytest.raises(NoDaemon, match="picoclawd serve --workspace"):
            await made.call("ping", {})


async def test_a_daemon_that_refuses_the_greeting_is_not_connected(
    served: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32011, "512 sessions are open", error="overloaded")

    served.handlers["session.open"] = refuse
    async with running(monkeypatch) as made:
        await until(lambda: "512 sessions" in made.why)
        assert made.state == "gone"


async def test_a_daemon_that_dies_in_a_call_leaves_its_outcome_unknown(
    served: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(_: Any) -> Any:
        raise Vanish

    served.handlers["history.undo"] = vanish
    async with running(monkeypatch) as made:
        await until(lambda: made.state == "connected")
        with pytest.raises(Lost, match="unknown"):
            await made.call("history.undo", {})


async def test_a_refusal_is_the_callers(served: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(monkeypatch) as made:
        await until(lambda: made.state == "connected")
        with pytest.raises(RpcError):
            await made.call("no.such.method", {})


async def test_only_so_many_events_are_kept_and_who_asks_too_late_learns_it(
    served: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(monkeypatch) as made:
        await until(lambda: made.state == "connected")
        first = made.statistics()["events"]
        await trio.to_thread.run_sync(notify_many, served, post.EVENTS_KEPT + 10)
        await until(lambda: made.statistics()["events"] == first + post.EVENTS_KEPT + 10)
        assert made.statistics()["kept"] == post.EVENTS_KEPT
        late = await made.news(first, 1)
        assert late.missed and len(late.events) == post.NEWS_MAX
        assert late.last == late.events[-1].number, "the rest is asked for next"
        assert not (await made.news(late.last, 1)).missed
        newest = await made.news(-1, 0)
        assert (newest.missed, newest.events[-1].params) == (False, {"path": str(post.EVENTS_KEPT + 9)})


async def test_no_news_is_told_after_the_wait(autojump_clock: trio.testing.MockClock) -> None:
    started = trio.current_time()
    told = await Post(None).news(0, 25)
    assert (told.events, told.last, trio.current_time() - started) == ([], 0, 25)
