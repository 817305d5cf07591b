"""`Client` against a fake daemon: what it sends, what it raises, and what it does about lost connections."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from picoclawd import client as library
from picoclawd.client import Client, Lost, NoDaemon, Result, RpcError, families
from picoclawd.errors import CODES
from tests.client.fake import FakeDaemon, Refusal, Vanish
from tests.client.fake_history import Memory

PATIENCE_S = 30


@pytest.fixture
def client(daemon: FakeDaemon) -> Iterator[Client]:
    with Client(client="tester", reconnect_s=PATIENCE_S) as made:
        yield made


def test_importing_the_library_imports_nothing_heavy() -> None:
    code = """
import sys
import picoclawd.client
assert not [name for name in sys.modules if name.startswith("picoclawd.client.")]
from picoclawd.client import Client, NotFound
heavy = {"trio", "msgspec", "numpy", "asyncio", "re2", "argparse", "dataclasses"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_name_the_package_promises_is_there() -> None:
    for name in library.__all__:
        assert getattr(library, name).__name__ == name
    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = library.NoSuchThing


def test_every_code_has_a_family() -> None:
    made = {code: families.error_of("x", {"code": code, "message": "m"}) for code in CODES.values()}
    assert not [code for code, error in made.items() if type(error) is RpcError]


def test_a_tool_is_a_method_and_its_answer_a_result(daemon: FakeDaemon, client: Client) -> None:
    daemon.handlers["read_file"] = lambda _: {"content": "hello\n", "display": "shown", "data": {"size": 6}}
    result = client.read_file(path="x.txt")
    assert isinstance(result, Result)
    assert (str(result), result.display, result.data) == ("hello\n", "shown", {"size": 6})
    assert not result.answer_lost
    (params,) = daemon.asked("read_file")
    assert params["path"] == "x.txt"
    assert len(params["_meta"].pop("op")) == 32 and params["_meta"] == {}
    assert daemon.asked("session.open") == [{"client": "tester", "kind": "agent"}]


def test_a_dotted_method_and_a_keyword_of_python_have_names_too(daemon: FakeDaemon, client: Client) -> None:
    daemon.handlers["task.begin"] = lambda params: {"task_id": params["task_id"]}
    daemon.handlers["file_history"] = lambda params: {"from": params["from"]}
    assert client.task_begin(objective="try", task_id="t1") == {"task_id": "t1"}
    assert client.file_history(from_="2026-01-01") == {"from": "2026-01-01"}


def test_positional_parameters_are_refused_with_the_right_form(client: Client) -> None:
    with pytest.raises(TypeError, match=r"path='x\.txt'"):
        client.read_file("x.txt")


def test_dry_run_and_a_name_of_ones_own_are_sent(daemon: FakeDaemon, client: Client) -> None:
    daemon.handlers["edit_file"] = lambda _: {}
    client.edit_file(path="x", dry_run=True, op_id="mine")
    (params,) = daemon.asked("edit_file")
    assert params == {"path": "x", "_meta": {"op": "mine", "dry_run": True}}


def test_an_error_is_of_its_family_and_says_all(daemon: FakeDaemon, client: Client) -> None:
    call = {"method": "read_file", "params": {"path": "x"}}

    def refuse(_: Any) -> Any:
        raise Refusal(-32004, "stale", error="not_fresh", retryable=False, outcome="not_applied", next=call)

    daemon.handlers["edit_file"] = refuse
    with pytest.raises(library.Conflict) as caught:
        client.edit_file(path="x")
    error = caught.value
    assert (error.slug, error.outcome, error.retryable, error.next) == ("not_fresh", "not_applied", False, call)
    assert str(error) == "stale"
    assert isinstance(error, library.Failure)


@pytest.mark.parametrize(
    ("available", "words"), [(["read_file"], "did you mean read_file"), (["ping"], "older than this client")]
)
def test_a_method_that_an_older_daemon_lacks_is_explained(
    daemon: FakeDaemon, client: Client, available: list[str], words: str
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32601, "no method", error="method_not_found", available=available)

    daemon.handlers["reed_file"] = refuse
    with pytest.raises(library.UnknownMethod, match=words):
        client.reed_file(path="x")


def test_progress_is_told_in_the_calling_thread(daemon: FakeDaemon, client: Client) -> None:
    told: list[Any] = []

    def slow(_: Any) -> Any:
        daemon.notify("$/progress", {"id": 2, "done": 1, "total": 4, "message": "reading"})
        return {}

    daemon.handlers["search_files"] = slow
    client.search_files(pattern="x", progress=lambda *facts: told.append((*facts, threading.current_thread())))
    assert told == [(1, 4, "reading", threading.current_thread())]
    assert daemon.asked("search_files")[0]["_meta"]["progress"] is True


def test_a_call_that_takes_too_long_is_cancelled(daemon: FakeDaemon, client: Client) -> None:
    def slow(_: Any) -> Any:
        assert daemon.cancelled.wait(PATIENCE_S)
        raise Refusal(-32800, "cancelled", error="cancelled")

    daemon.handlers["search_files"] = slow
    with pytest.raises(library.Busy) as caught:
        client.search_files(pattern="x", timeout_s=0.05)
    assert (caught.value.slug, caught.value.outcome) == ("timeout", "not_applied")
    assert client.ping() == {}, "the connection goes on"


def test_what_took_effect_after_all_is_answered(daemon: FakeDaemon, client: Client) -> None:
    def past_its_intent(_: Any) -> Any:
        assert daemon.cancelled.wait(PATIENCE_S)
        return {"content": "written", "data": {}}

    daemon.handlers["write_file"] = past_its_intent
    assert str(client.write_file(path="x", content="y", timeout_s=0.05)) == "written"


def test_threads_share_a_client_and_each_gets_its_own_answer(daemon: FakeDaemon, client: Client) -> None:
    """All are out at once: the barrier opens only when every one of them has reached the daemon."""
    together = threading.Barrier(8)

    def echo(params: Any) -> Any:
        together.wait(PATIENCE_S)
        return {"content": params["path"], "data": {}}

    daemon.handlers["read_file"] = echo
    got: dict[int, list[str]] = {}

    def work(number: int) -> None:
        got[number] = [str(client.read_file(path=f"{number}-{turn}")) for turn in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert got == {number: [f"{number}-{turn}" for turn in range(5)] for number in range(8)}
    assert len(daemon.asked("session.open")) == 1


def test_a_change_that_was_not_applied_is_made_again(daemon: FakeDaemon, client: Client) -> None:
    memory = Memory(daemon, "before", "before")
    result = client.edit_file(path="x")
    assert (str(result), len(memory.applied)) == ("edited", 1)
    assert memory.tokens == [None, "token-1", "token-2"], "the session is resumed"
    assert len({params["_meta"]["op"] for params in daemon.asked("edit_file")}) == 1


def test_a_change_that_was_applied_is_never_made_again(daemon: FakeDaemon, client: Client) -> None:
    memory = Memory(daemon, "after")
    result = client.edit_file(path="x")
    assert result.answer_lost
    assert result.data == {"outcome": "applied", "op": memory.applied[0]}
    assert len(memory.applied) == 1 and len(daemon.asked("edit_file")) == 1


def test_reading_is_simply_repeated(daemon: FakeDaemon, client: Client) -> None:
    Memory(daemon, "after")
    assert str(client.read_file(path="x")) == "edited"
    assert daemon.asked("outcome.get") == []


@pytest.mark.parametrize(("method", "op_id"), [("open_file", None), ("edit_file", "unheard-of"), ("no_such", None)])
def test_what_nobody_can_tell_is_not_repeated(
    daemon: FakeDaemon, client: Client, method: str, op_id: str | None
) -> None:
    """What opens on the screen is in no history; a daemon may keep none; a method may be unknown here."""
    Memory(daemon, "before", "before")
    daemon.handlers.setdefault("no_such", daemon.handlers["edit_file"])
    with pytest.raises(Lost, match="look before you repeat it") as caught:
        client.call(method, {"path": "x"}, op_id=op_id)
    assert caught.value.outcome == "unknown"
    assert len(daemon.asked(method)) == 1


def test_a_session_that_is_still_wound_up_is_waited_for(daemon: FakeDaemon, client: Client) -> None:
    """Only then has nothing of the old connection a chance to take effect any more."""
    memory = Memory(daemon, "before")
    opened = daemon.handlers["session.open"]
    refusals = [Refusal(-32004, "still connected", error="session_in_use")] * 3

    def open_session(params: Any) -> Any:
        if params.get("resume") and refusals:
            raise refusals.pop()
        return opened(params)

    daemon.handlers["session.open"] = open_session
    assert str(client.edit_file(path="x")) == "edited"
    assert not refusals and len(memory.applied) == 1


def test_a_session_that_is_gone_is_begun_anew(daemon: FakeDaemon, client: Client) -> None:
    memory = Memory(daemon, "before")
    opened = daemon.handlers["session.open"]

    def open_session(params: Any) -> Any:
        if params.get("resume"):
            raise Refusal(-32002, "no session waits", error="unknown_session")
        return opened(params)

    daemon.handlers["session.open"] = open_session
    assert str(client.edit_file(path="x")) == "edited"
    assert memory.tokens == [None, None]


def test_a_daemon_that_dies_of_a_call_is_not_asked_for_ever(daemon: FakeDaemon, client: Client) -> None:
    Memory(daemon)

    def die(_: Any) -> Any:
        raise Vanish

    daemon.handlers["read_file"] = die
    with pytest.raises(Lost, match="went away 4 times"):
        client.read_file(path="x")
    assert len(daemon.asked("read_file")) == 4


def test_a_daemon_that_does_not_come_back_is_said(daemon: FakeDaemon) -> None:
    with Client(reconnect_s=0.2) as client:
        client.ping()
        daemon.stop()
        with pytest.raises((NoDaemon, Lost), match="picoclawd serve"):
            client.read_file(path="x")


def test_a_daemon_that_comes_back_is_found(daemon: FakeDaemon, client: Client) -> None:
    client.ping()
    daemon.stop()
    Path(daemon.path).unlink()
    again = FakeDaemon(daemon.path)
    starter = threading.Timer(0.2, again.__enter__)
    starter.start()
    try:
        assert client.ping() == {}
    finally:
        starter.join()
        again.stop()


def test_without_a_daemon_it_says_what_to_type(lonely: Path) -> None:
    with Client() as client, pytest.raises(NoDaemon, match="picoclawd serve --workspace"):
        client.ping()
    with Client(str(lonely / "none")) as client, pytest.raises(NoDaemon, match="no daemon listens at"):
        client.ping()


def test_a96_a_socket_of_someone_else_is_sent_nothing(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the client's side: the listener's uid is the kernel's word."""
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000)
    monkeypatch.setattr("picoclawd.client.wire.SUPERUSER", 4_000_001)
    with Client() as client, pytest.raises(NoDaemon, match=r"belongs to another user .* nothing was sent"):
        client.ping()
    assert daemon.calls == []


def test_a_closed_client_says_so_and_its_waiting_calls_end(daemon: FakeDaemon, client: Client) -> None:
    daemon.handlers["read_file"] = lambda _: {"late": daemon.cancelled.wait(PATIENCE_S)}
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            client.read_file(path="x")
        except Lost as lost:
            ended.append(lost)

    thread = threading.Thread(target=wait)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while not daemon.asked("read_file") and time.monotonic() < deadline:
        time.sleep(0.01)
    client.close()
    thread.join(PATIENCE_S)
    daemon.cancelled.set()
    assert [type(each) for each in ended] == [Lost]
    with pytest.raises(Lost, match="was closed"):
        client.ping()
