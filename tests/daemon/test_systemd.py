"""Tests of inherited sockets."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.daemon.systemd import listen_fds
from picoclawd.errors import Fault


@pytest.fixture
def inherited(tmp_path: Path) -> Iterator[int]:
    """The first of two adjacent descriptors that are listening sockets, inheritable as after exec."""
    made = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    first = 200
    for index, sock in enumerate(made):
        sock.bind(str(tmp_path / str(index)))
        sock.listen()
        os.dup2(sock.fileno(), first + index, inheritable=True)
        sock.close()
    yield first
    for fd in (first, first + 1):
        os.close(fd)


def environ(count: int, names: str | None, pid: int | None = None) -> dict[str, str]:
    made = {"LISTEN_PID": str(pid or os.getpid()), "LISTEN_FDS": str(count), "PATH": "/bin"}
    return made if names is None else {**made, "LISTEN_FDNAMES": names}


@pytest.mark.parametrize(
    ("count", "names", "expected"),
    [
        (2, "agent:operator", {"agent": 0, "operator": 1}),
        (2, "operator:agent", {"operator": 0, "agent": 1}),
        (1, None, {"agent": 0}),
        (1, "picoclawd.socket", {"agent": 0}),
        (1, "operator", {"operator": 0}),
        (2, "unknown:operator", {"agent": 0, "operator": 1}),
        (2, "unknown:agent", {"agent": 1}),
        (2, "agent", {"agent": 0}),
        (0, None, {}),
    ],
)
def test_sockets_come_by_name(inherited: int, count: int, names: str | None, expected: dict[str, int]) -> None:
    env = environ(count, names)
    found = listen_fds(env, os.getpid(), inherited)
    assert found == {role: inherited + index for role, index in expected.items()}
    assert env == {"PATH": "/bin"}
    assert not any(os.get_inheritable(fd) for fd in found.values())


@pytest.mark.parametrize("count", ["", "x", "-1", "²"])
def test_a_count_that_is_no_number_is_no_socket(count: str) -> None:
    env = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count}
    assert listen_fds(env, os.getpid()) == {}


def test_sockets_of_another_process_are_left_alone_but_do_not_reach_children(inherited: int) -> None:
    env = environ(1, "agent", pid=1)
    assert listen_fds(env, os.getpid(), inherited) == {}
    assert env == {"PATH": "/bin"}
    assert os.get_inheritable(inherited)


def test_no_variables_are_no_sockets() -> None:
    assert listen_fds({}, os.getpid()) == {}


def test_two_sockets_of_one_name_are_refused(inherited: int) -> None:
    with pytest.raises(Fault, match="two inherited sockets are named agent"):
        listen_fds(environ(2, "agent:agent"), os.getpid(), inherited)


def test_a_descriptor_that_is_no_listening_socket_is_refused(inherited: int, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as idle, open(tmp_path / "file", "w") as file:
        for source in (idle.fileno(), file.fileno()):
            os.dup2(source, inherited)
            with pytest.raises(Fault, match="no listening Unix stream socket"):
                listen_fds(environ(1, None), os.getpid(), inherited)
