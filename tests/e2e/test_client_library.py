"""The client library on a real daemon: calls, events, and a daemon that is killed at work."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from picoclawd.client import Client, Conflict, EditRejected, NotFound, TrioClient
from tests.e2e.daemon import Daemon

PATIENCE_S = 60


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as made:
        yield made


def open_client(daemon: Daemon, name: str = "tester") -> Client:
    return Client(str(daemon.agent_socket), client=name, reconnect_s=PATIENCE_S)


def test_a_program_reads_edits_and_meets_errors(daemon: Daemon) -> None:
    daemon.write("x.txt", "one\n")
    with open_client(daemon) as client:
        assert "one" in str(client.read_file(path="x.txt"))
        client.edit_file(path="x.txt", old_text="one", new_text="two")
        assert (daemon.root / "x.txt").read_text() == "two\n"
        with pytest.raises(NotFound):
            client.read_file(path="nope")
        with pytest.raises(EditRejected) as caught:
            client.edit_file(path="x.txt", old_text="three", new_text="four")
        assert (caught.value.slug, caught.value.outcome) == ("no_match", "not_applied")
        assert client.session["workspace"] == str(daemon.root)


def test_two_clients_of_one_name_are_two_sessions(daemon: Daemon) -> None:
    """A name is what a client says of itself: each edits on what it has read itself."""
    daemon.write("x.txt", "one\n")
    with open_client(daemon, "twin") as first, open_client(daemon, "twin") as second:
        assert first.session["session_id"] != second.session["session_id"]
        first.read_file(path="x.txt")
        second.edit_file(path="x.txt", old_text="one", new_text="two")
        with pytest.raises(Conflict):
            first.write_file(path="x.txt", content="three\n", overwrite=True)


def test_a_dry_run_writes_nothing_and_an_op_is_remembered(daemon: Daemon) -> None:
    with open_client(daemon) as client:
        client.write_file(path="x.txt", content="x", dry_run=True)
        assert not (daemon.root / "x.txt").exists()
        client.write_file(path="x.txt", content="x", op_id="first-write")
        assert client.outcome_get(op="first-write")["outcome"] == "applied"


def test_a_killed_daemon_is_come_back_to_and_no_append_is_made_twice(daemon: Daemon) -> None:
    """Four threads append while the daemon is killed and started again, twice: each line is there exactly once."""
    daemon.write("log", "")
    with open_client(daemon) as client:
        done = threading.Semaphore(0)

        def append(thread: int) -> None:
            for number in range(25):
                client.append_file(path="log", content=f"{thread}-{number}\n")
                done.release()

        threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            for _ in range(10):
                assert done.acquire(timeout=PATIENCE_S)
            daemon.stop(signal.SIGKILL)
            daemon.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    lines = (daemon.root / "log").read_text().splitlines()
    assert sorted(lines) == sorted(f"{thread}-{number}" for thread in range(4) for number in range(25))


def test_a_resumed_session_still_knows_what_it_read(daemon: Daemon) -> None:
    """What this session read is forgotten only with the daemon: a lost connection alone loses nothing."""
    daemon.write("x.txt", "one\n")
    with open_client(daemon) as client:
        client.read_file(path="x.txt")
        before = client.session["session_id"]
        client._channel.close()  # type: ignore[union-attr] # as a network fault would
        assert client.session["session_id"] == before
        daemon.write("x.txt", "changed by somebody else\n")
        with pytest.raises(Conflict) as caught:
            client.write_file(path="x.txt", content="mine\n", overwrite=True)
    assert caught.value.slug == "not_fresh"


def test_events_are_told_and_go_on_after_a_restart(daemon: Daemon) -> None:
    with open_client(daemon, "watcher") as client, open_client(daemon, "writer") as writer:
        with client.events(paths=["*.txt"]) as events:
            found = iter(events)
            writer.write_file(path="a.md", content="a")
            writer.write_file(path="a.txt", content="a")
            event = next(found)
            assert (event["event"], event["path"], event["action"]) == ("file.changed", "a.txt", "create")
            assert event["by"]["client"] == "writer"
            daemon.stop()
            daemon.start()
            assert next(found) == {"event": "gap"}, "nothing is known of the time without a daemon"
            writer.write_file(path="b.txt", content="b")
            assert next(found)["path"] == "b.txt"


def test_closing_ends_the_events_of_another_thread(daemon: Daemon) -> None:
    with open_client(daemon) as client:
        events = client.events()
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.extend(event["path"] for event in events))
        thread.start()
        client.write_file(path="x", content="x")
        events.close()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


async def test_trio_events_go_on_after_a_restart(daemon: Daemon) -> None:
    with trio.fail_after(PATIENCE_S):
        async with TrioClient(str(daemon.agent_socket), client="watcher", reconnect_s=PATIENCE_S) as client:
            async with client.events(kinds=["file.changed"]) as events:
                found = events.__aiter__()
                await client.write_file(path="a.txt", content="a")
                assert (await found.__anext__())["path"] == "a.txt"
                await trio.to_thread.run_sync(daemon.stop)
                await trio.to_thread.run_sync(daemon.start)
                assert await found.__anext__() == {"event": "gap"}
                await client.write_file(path="b.txt", content="b")
                assert (await found.__anext__())["path"] == "b.txt"


async def test_a_slow_trio_consumer_misses_nothing(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """More changes than the queue holds, before the first is taken."""
    monkeypatch.setattr("picoclawd.client.trio_events.NOTIFICATIONS_MAX", 50)
    wanted = [f"{number}.txt" for number in range(130)]
    with trio.fail_after(PATIENCE_S):
        async with TrioClient(str(daemon.agent_socket)) as client, client.events(paths=["*.txt"]) as events:
            for name in wanted:
                await client.write_file(path=name, content="x")
            seen: list[str] = []
            async for event in events:
                if event["event"] == "file.changed":
                    seen.append(event["path"])
                    if event["path"] == wanted[-1]:
                        break
    assert sorted(seen) == sorted(wanted)
