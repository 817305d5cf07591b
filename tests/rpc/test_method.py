"""What a running request is given."""

import trio
import trio.testing

from picoclawd.rpc.method import Exchange, Peer
from picoclawd.rpc.notifications import Notifications


class Heard:
    """A notifier that keeps what it is told, and may be full."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def notify(self, method: str, params: object) -> bool:
        self.told.append((method, params))
        return True

    offer = notify


def exchange(heard: Heard | None = None, *, progress: bool = True) -> Exchange:
    return Exchange(None, Peer("agent", 1, 1), 7, {"progress": progress}, heard or Heard())


async def test_progress_is_told_from_any_thread_at_most_ten_times_a_second() -> None:
    heard = Heard()
    running = exchange(heard)

    def work() -> None:
        for done in range(1000):
            running.progress(done, 1000, "scanning")

    await trio.to_thread.run_sync(work)
    await trio.testing.wait_all_tasks_blocked()
    assert heard.told[0] == ("$/progress", {"id": 7, "done": 0, "total": 1000, "message": "scanning"})
    assert len(heard.told) < 20


async def test_progress_goes_to_nobody_who_did_not_ask_and_never_after_the_answer() -> None:
    heard = Heard()
    exchange(heard, progress=False).progress(1)
    late = exchange(heard)
    late.progress(1)
    late.finish()
    late.progress(2)
    await trio.testing.wait_all_tasks_blocked()
    assert heard.told == []


async def test_cancelling_raises_the_flag_and_ends_the_scope_also_before_it_begins() -> None:
    early, running = exchange(), exchange()
    early.cancel()
    for each in (early, running):
        with each.scope:
            each.cancel()
            await trio.sleep_forever()
        assert (each.cancelled(), each.scope.cancelled_caught, each.timed_out) == (True, True, False)


async def test_a_deadline_ends_the_scope_as_a_timeout(autojump_clock: trio.abc.Clock) -> None:
    running = exchange()
    with running.scope:
        running.deadline = trio.current_time() + 5
        await trio.sleep_forever()
    assert (running.timed_out, running.cancelled()) == (True, False)
    assert running.deadline == trio.current_time()


def test_the_real_notifier_fits_the_protocol() -> None:
    assert Exchange(None, Peer("agent", 1, 1), 1, {}, Notifications(lambda line, sent: None)).cancelled() is False
