import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from picoclawd.client import wire
from picoclawd.client.failures import CALL_FAILED, CONFIRMATION, Lost, RpcError
from picoclawd.client.wire import Connection
from tests.client.fake import FakeDaemon, Refusal, Vanish


@contextmanager
def peer(script: Callable[[socket.socket], None]) -> Iterator[Connection]:
    """A connection whose other end reads one line and then does as `script` says."""
    ours, theirs = socket.socketpair()

    def play() -> None:
        with theirs, theirs.makefile("rb") as lines:
            lines.readline()
            script(theirs)

    thread = threading.Thread(target=play)
    thread.start()
    with Connection(ours) as connection:
        yield connection
    thread.join(10)


def sent(*messages: Any) -> Callable[[socket.socket], None]:
    data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    return lambda sock: sock.sendall(data)


def test_a_call_returns_its_result(daemon: FakeDaemon) -> None:
    daemon.handlers["echo"] = lambda params: params
    with Connection.open(daemon.path) as connection:
        assert connection.call("echo", {"text": "é\u2028"}) == {"text": "é\u2028"}
        assert connection.call("echo", [1, 2]) == [1, 2]


def test_an_error_keeps_code_message_and_data(daemon: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32002, "no such file", error="not_found", retryable=False)

    daemon.handlers["read_file"] = refuse
    with Connection.open(daemon.path) as connection, pytest.raises(RpcError) as caught:
        connection.call("read_file", {"path": "x"})
    assert (caught.value.code, str(caught.value), caught.value.slug) == (-32002, "no such file", "not_found")
    assert caught.value.exit_code == CALL_FAILED
    assert caught.value.as_json()["data"] == {"error": "not_found", "retryable": False}


@pytest.mark.parametrize("slug", ["confirmation_pending", "confirmation_denied", "confirmation_unavailable"])
def test_a_confirmation_has_an_exit_code_of_its_own(slug: str) -> None:
    assert RpcError({"code": -32006, "message": "m", "data": {"error": slug}}).exit_code == CONFIRMATION


def test_an_answer_in_many_pieces_is_put_together(daemon: FakeDaemon) -> None:
    daemon.handlers["big"] = lambda _: "x" * 1_000_000
    with Connection.open(daemon.path) as connection:
        assert len(connection.call("big")) == 1_000_000


def test_notifications_before_the_answer_are_kept_in_order() -> None:
    notes = [{"jsonrpc": "2.0", "method": "$/progress", "params": {"done": n}} for n in range(3)]
    with peer(sent(*notes, {"id": 1, "result": "done"})) as connection:
        assert connection.call("slow", timeout_s=10) == "done"
        assert [note["params"]["done"] for note in connection.notifications] == [0, 1, 2]


def test_old_notifications_are_dropped() -> None:
    notes = [{"method": "n", "params": n} for n in range(wire.NOTIFICATIONS_MAX + 5)]
    with peer(sent(*notes, {"id": 1, "result": None})) as connection:
        connection.call("slow", timeout_s=10)
        assert len(connection.notifications) == wire.NOTIFICATIONS_MAX
        assert connection.notifications[0]["params"] == 5


def test_another_calls_answer_is_not_taken_for_ours() -> None:
    with peer(sent({"id": 7, "result": "theirs"}, {"id": 1, "result": "ours"})) as connection:
        assert connection.call("ask", timeout_s=10) == "ours"


def test_an_error_without_an_id_answers_the_only_request() -> None:
    error = {"code": -32700, "message": "not JSON"}
    with peer(sent({"id": None, "error": error})) as connection, pytest.raises(RpcError, match="not JSON"):
        connection.call("ask", timeout_s=10)


def test_a_daemon_that_goes_away_leaves_the_outcome_unknown(daemon: FakeDaemon) -> None:
    def vanish(_: Any) -> Any:
        raise Vanish

    daemon.handlers["write_file"] = vanish
    with Connection.open(daemon.path) as connection, pytest.raises(Lost, match="unknown") as caught:
        connection.call("write_file", {})
    assert caught.value.as_json()["data"] == {"error": "connection_lost", "outcome": "unknown"}


def test_a_call_has_a_deadline() -> None:
    done = threading.Event()

    def sit(_: socket.socket) -> None:
        done.wait(10)

    with peer(sit) as connection:
        with pytest.raises(Lost, match=r"no answer within 0\.05 s"):
            connection.call("slow", timeout_s=0.05)
        done.set()


@pytest.mark.parametrize("line", [b"not json\n", b"[1]\n", b"\xff\n"])
def test_what_is_no_message_ends_the_call(line: bytes) -> None:
    with peer(lambda sock: sock.sendall(line)) as connection, pytest.raises(Lost, match="went away"):
        connection.call("ask", timeout_s=10)


def test_an_endless_line_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "ANSWER_MAX_BYTES", 1000)
    with peer(lambda sock: sock.sendall(b"x" * 5000)) as connection, pytest.raises(Lost, match="more than 1000 bytes"):
        connection.call("ask", timeout_s=10)


def test_a_socket_that_nobody_listens_on_is_an_os_error(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError):
        Connection.open(str(tmp_path / "none"))


def test_notifications_are_taken_in_order_whether_they_came_with_an_answer_or_not(daemon: FakeDaemon) -> None:
    def tell(_: Any) -> Any:
        daemon.notify("first", {"n": 1})
        threading.Timer(0.05, daemon.notify, ("second", {"n": 2})).start()
        return {}

    daemon.handlers["tell"] = tell
    with Connection.open(daemon.path) as connection:
        connection.call("tell")
        taken = [connection.next_notification() for _ in range(2)]
        assert [(each["method"], each["params"]) for each in taken] == [("first", {"n": 1}), ("second", {"n": 2})]
        daemon.hang_up()
        with pytest.raises(Lost, match="went away"):
            connection.next_notification()
