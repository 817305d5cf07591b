"""How an editor finds its daemon, loses it, and finds it again; and what it says where something is wrong."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake import FakeDaemon, Refusal, Vanish
from tests.conftest import needs
from tests.e2e.daemon import Daemon
from tests.editors.conftest import EDITORS
from tests.editors.driven import Driven, Editor, is_refused, wait_for


@pytest.fixture(params=sorted(EDITORS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def alone(scratch: Path) -> dict[str, str]:
    """An environment in which no daemon is found."""
    for directory in ("run", "state", "home", "ws"):
        (scratch / directory).mkdir(mode=0o700)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PICOCLAW")}
    places = {"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "HOME": "home"}
    return {**kept, **{key: str(scratch / place) for key, place in places.items()}}


def driven(name: str, env: dict[str, str], scratch: Path, root: Path) -> tuple[Driven, Callable[[Driven], Editor]]:
    command, kind = EDITORS[name]
    return Driven(command(needs(name)), env, scratch, root), kind


def directory(parent: Path, name: str) -> Path:
    path = parent / name
    path.mkdir()
    return path


def test_a94_a_killed_daemon_is_found_again_when_it_is_back(name: str, scratch: Path) -> None:
    with Daemon(directory(scratch, "d")) as daemon:
        unsaved, saved = (os.fsencode(daemon.write(each, "one\n")) for each in ("a.txt", "b.txt"))
        process, kind = driven(name, daemon.env, scratch, daemon.root)
        with process:
            editor = kind(process)
            editor.open(saved)
            editor.open(unsaved)
            editor.connected()
            editor.type("mine ")
            agent = daemon.client()
            wait_for(lambda: is_refused(agent, "a.txt"), "kept away")
            daemon.stop(signal.SIGKILL)
            assert "Trying again" in editor.said("the daemon ended the connection")
            daemon.write("b.txt", "while it was away\n")
            daemon.start()
            editor.said("connected again")
            editor.said("b.txt: reloaded")
            assert editor.text(saved) == "while it was away\n"
            again = daemon.client()
            wait_for(lambda: is_refused(again, "a.txt"), "kept away again")
            assert editor.text(unsaved) == "mine one\n"


def test_two_workspaces_in_one_editor_each_have_their_daemon(name: str, scratch: Path) -> None:
    outer = Daemon(directory(scratch, "1"))
    inner = Daemon(
        directory(scratch, "2"),
        root=directory(outer.root, "inner"),
        env={"XDG_RUNTIME_DIR": outer.env["XDG_RUNTIME_DIR"]},
    )
    with outer, inner:
        mine, theirs = (os.fsencode(each.write("a.txt", "one\n")) for each in (outer, inner))
        process, kind = driven(name, outer.env, scratch, outer.root)
        with process:
            editor = kind(process)
            for path in (mine, theirs):
                editor.open(path)
            wait_for(lambda: _status(editor).count(": connected") == 2, "two connections")
            for daemon, path in ((outer, mine), (inner, theirs)):
                daemon.client().call("write_file", path="a.txt", content="two\n", overwrite=True)
                wait_for(lambda path=path: editor.text(path) == "two\n", "reloaded")  # type: ignore[misc]
            editor.type("mine ")
            agent = inner.client()
            wait_for(lambda: is_refused(agent, "a.txt"), "kept away through the inner daemon")
            assert not is_refused(outer.client(), "a.txt")


def test_two_editors_with_unsaved_text_of_one_file_both_count(daemon: Daemon, scratch: Path) -> None:
    path = os.fsencode(daemon.write("both.txt", "one\n"))
    env = {**daemon.env, "PICOCLAWD_OPERATOR_SOCKET": str(daemon.operator_socket)}
    (left, nvim), (right, emacs) = (driven(each, env, directory(scratch, each), daemon.root) for each in EDITORS)
    with left, right:
        agent, editors = daemon.client(), (nvim(left), emacs(right))
        for editor in editors:
            editor.open(path)
            editor.connected()
            editor.type("mine ")
        for editor in editors:
            wait_for(lambda: is_refused(agent, "both.txt"), "kept away")
            editor.drop()
        wait_for(lambda: not is_refused(agent, "both.txt"), "let in again")


def _status(editor: Editor) -> str:
    editor.command("status")
    return editor.log().splitlines()[-1]


def test_without_a_daemon_a_command_says_what_to_type(name: str, scratch: Path, alone: dict[str, str]) -> None:
    process, kind = driven(name, alone, scratch, scratch / "ws")
    with process:
        editor = kind(process)
        (scratch / "ws/a.txt").write_text("one\n")
        editor.open(os.fsencode(scratch / "ws/a.txt"))
        assert "picoclawd" not in editor.log()  # an editor without a daemon is no news
        editor.command("history")
        assert "picoclawd serve --workspace " in editor.said("no daemon serves")


def fault_of(name: str, scratch: Path, alone: dict[str, str], text: str) -> str:
    """What `history` says with $PICOCLAWD_OPERATOR_SOCKET at `sock`."""
    env = {**alone, "PICOCLAWD_OPERATOR_SOCKET": str(scratch / "sock")}
    process, kind = driven(name, env, scratch, scratch / "ws")
    with process:
        editor = kind(process)
        (scratch / "ws/a.txt").write_text("one\n")
        editor.open(os.fsencode(scratch / "ws/a.txt"))
        editor.command("history")
        said = editor.said(text)
        assert "traceback" not in editor.log().lower()
        return said


def handlers(workspace: Path, **more: Any) -> dict[str, Any]:
    return {
        "session.open": lambda _: {"session_id": "s-1", "workspace": str(workspace)},
        "events.subscribe": lambda _: {"subscription": "sub-1", "cursor": "c"},
        "approvals.list": lambda _: {"pending": []},
        **more,
    }


def _vanish(_: object) -> object:
    raise Vanish


def _refuse(_: object) -> object:
    raise Refusal(-32601, "there is no method events.subscribe", error="method_not_found")


def test_a_daemon_that_dies_in_a_call_is_told_of(name: str, scratch: Path, alone: dict[str, str]) -> None:
    with FakeDaemon(str(scratch / "sock"), handlers(scratch / "ws", file_history=_vanish)):
        assert "what became of" in fault_of(name, scratch, alone, "the daemon ended the connection: ")


def test_an_older_daemon_is_named_as_the_reason(name: str, scratch: Path, alone: dict[str, str]) -> None:
    with FakeDaemon(str(scratch / "sock"), handlers(scratch / "ws", **{"events.subscribe": _refuse})):
        assert "there is no method events.subscribe" in fault_of(name, scratch, alone, "refused the connection")


def test_a_file_in_the_place_of_a_socket_is_left_alone(name: str, scratch: Path, alone: dict[str, str]) -> None:
    (scratch / "sock").write_text("mine\n")
    fault_of(name, scratch, alone, "is no socket")
    assert (scratch / "sock").read_text() == "mine\n"


def test_a_socket_that_is_not_there_is_named(name: str, scratch: Path, alone: dict[str, str]) -> None:
    assert "picoclawd serve" in fault_of(name, scratch, alone, f"no daemon listens at {scratch / 'sock'}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")
def test_a_socket_of_another_user_is_not_used(name: str, scratch: Path, alone: dict[str, str]) -> None:
    with FakeDaemon(str(scratch / "sock"), handlers(scratch / "ws")) as fake:
        os.chown(scratch / "sock", 12345, -1)
        fault_of(name, scratch, alone, "belongs to another user")
        assert fake.calls == []


def test_what_does_not_speak_json_is_hung_up_on(name: str, scratch: Path, alone: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(scratch / "sock"))
        listener.listen(8)

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listener.accept()
                    with peer:
                        peer.sendall(b"220 mail ready\n")
                        peer.recv(1 << 16)  # or a batch Emacs, alone in heeding SIGPIPE, ends

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        fault_of(name, scratch, alone, "does not speak JSON-RPC")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(20)
