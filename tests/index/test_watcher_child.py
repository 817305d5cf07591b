"""The child process itself, spoken to in lines."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from picoclawd.index import watcher_lines as lines
from picoclawd.index.watcher import COMMAND
from picoclawd.index.watcher_child import Notify, Out, Pace, directory_of_bad_name
from picoclawd.index.watcher_generations import BadName, Failed
from tests.conftest import needs
from tests.index.fake_backend import DEADLINE_S, Ear

_IN_NAMESPACE = ("unshare", "--user", "--map-root-user", "sh", "-c")


class Child:
    """A running child, and what it tells."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.stdin, self.stdout = process.stdin, process.stdout
        self.ear = Ear()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        for line in self.stdout:
            self.ear.write(line)

    def order(self, block: bytes) -> None:
        self.stdin.write(block)
        self.stdin.flush()

    def watch(self, *paths: bytes) -> None:
        self.order(lines.watch_lines(paths) + lines.END_OF_BATCH)

    def end(self) -> int:
        self.stdin.close()
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self._thread.join(DEADLINE_S)
            self.stdout.close()


@contextmanager
def child(*command: str) -> Iterator[Child]:
    pipe = subprocess.PIPE
    started = Child(subprocess.Popen(command or COMMAND, stdin=pipe, stdout=pipe, start_new_session=True))
    try:
        yield started
    finally:
        started.end()


def test_it_watches_what_it_is_told_and_nothing_below(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    (tmp_path / "below").mkdir()
    with child() as talk:
        talk.watch(root)
        assert talk.ear.wait(b"ready 1") == [b"dirty %s" % root, b"ready 1"]
        (tmp_path / "below" / "f").touch()
        (tmp_path / "a b").touch()
        assert talk.ear.wait(b"touched %s/a%%20b" % root) == [b"dirty %s" % root, b"touched %s/a%%20b" % root]


def test_the_end_of_stdin_ends_it() -> None:
    with child() as talk:
        talk.watch(b"/")
        talk.ear.wait(b"ready 1")
        assert talk.end() == 0


def test_the_end_of_its_reader_ends_it(tmp_path: Path) -> None:
    read_fd, write_fd = os.pipe()
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=write_fd)
    os.close(write_fd)
    os.close(read_fd)
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(lines.watch_lines([os.fsencode(tmp_path)]) + lines.END_OF_BATCH)
        process.stdin.flush()
        assert process.wait(DEADLINE_S) == 0


def test_it_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child.stdin.write(b'end-of-batch\\n'); child.stdin.flush()\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    parent = subprocess.Popen([sys.executable, "-c", script, *COMMAND], stdin=pipe, stdout=pipe)
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent.stdin, parent.stdout:
        pid = int(parent.stdout.readline())
        pidfd = os.pidfd_open(pid)
        parent.kill()
        parent.wait(DEADLINE_S)
        assert _ends(pidfd)


def _ends(pidfd: int) -> bool:
    with os.fdopen(pidfd):
        return bool(select.select([pidfd], [], [], DEADLINE_S)[0])


def test_an_interrupt_does_not_end_it_but_a_term_does() -> None:
    with child() as talk:
        talk.watch(b"/")
        talk.ear.wait(b"ready 1")
        talk.process.send_signal(signal.SIGINT)
        talk.watch()
        talk.ear.wait(b"ready 2")
        talk.process.send_signal(signal.SIGTERM)
        assert talk.process.wait(DEADLINE_S) == -signal.SIGTERM


def test_a_senseless_order_ends_it_with_a_traceback() -> None:
    done = subprocess.run(COMMAND, input=b"dance\n", capture_output=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 1
    assert b"ValueError: no order: b'dance'" in done.stderr
    assert not done.stdout


@pytest.fixture
def namespace() -> None:
    needs("unshare")
    made = subprocess.run([*_IN_NAMESPACE, "echo 9 > /proc/sys/user/max_inotify_watches"], check=False)
    if made.returncode != 0:
        pytest.skip("no user namespace can be made here")


@pytest.mark.usefixtures("namespace")
def test_a84_at_the_watch_limit_it_says_what_to_raise(tmp_path: Path) -> None:
    directories = [os.fsencode(tmp_path / str(number)) for number in range(9)]
    for path in directories:
        os.mkdir(path)
    script = 'echo 9 > /proc/sys/user/max_inotify_watches; exec "$@"'
    with child(*_IN_NAMESPACE, script, "sh", *COMMAND) as talk:
        talk.watch(*directories[:6])
        talk.ear.wait(b"ready 1")
        talk.watch(*directories)
        heard = talk.ear.wait(b"degraded watch limit reached: raise fs.inotify.max_user_watches")
        assert b"ready 2" not in heard
        talk.order(lines.forget_lines(directories[5:]) + lines.END_OF_BATCH)
        talk.ear.wait(b"ready 3")


@pytest.mark.usefixtures("namespace")
def test_a_limit_of_instances_is_named_too(tmp_path: Path) -> None:
    script = 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$@"'
    with child(*_IN_NAMESPACE, script, "sh", *COMMAND) as talk:
        talk.watch(os.fsencode(tmp_path))
        talk.ear.wait(
            b"degraded too many inotify instances or open files: raise fs.inotify.max_user_instances",
        )


@pytest.mark.parametrize(
    "name",
    [b"\xff", b"a\xffb", b"\xff\n\t\r\\\"'", b"\xc3\xa9\xff\xe2\x80\x8b", b"e\xcc\x81\xff", b'" to string\xff'],
    ids=range(6),
)
def test_watchfiles_names_the_directory_of_a_bad_name(name: bytes, tmp_path: Path) -> None:
    directory = os.path.join(os.fsencode(tmp_path), 'd\u00e9 "\\\n\u0301'.encode())
    os.mkdir(directory)
    watches = Notify(Pace(), [directory])
    os.mkdir(os.path.join(directory, name))
    with pytest.raises(BadName) as caught:
        watches.watch(threading.Event())
    assert caught.value.directory == directory
    watches.close()


def test_any_other_error_names_no_directory() -> None:
    assert directory_of_bad_name("error in underlying watcher: it rains") is None


def test_missing_directories_are_passed_over(tmp_path: Path) -> None:
    watches = Notify(Pace(), [os.fsencode(tmp_path / "missing"), os.fsencode(tmp_path)])
    (tmp_path / "f").touch()
    assert watches.watch(threading.Event()) == {(1, str(tmp_path / "f"))}
    watches.close()


def test_a_stopped_watch_returns_nothing(tmp_path: Path) -> None:
    watches = Notify(Pace(), [os.fsencode(tmp_path)])
    stop = threading.Event()
    stop.set()
    assert watches.watch(stop) is None
    watches.close()


def test_a_closed_watch_fails(tmp_path: Path) -> None:
    watches = Notify(Pace(), [os.fsencode(tmp_path)])
    watches.close()
    with pytest.raises(Failed):
        watches.watch(threading.Event())


def test_a_block_larger_than_the_pipe_is_written_whole() -> None:
    read_fd, write_fd = os.pipe()
    block = b"dirty /a\n" * 100_000
    writer = threading.Thread(target=Out(write_fd).write, args=(block,))
    writer.start()
    with os.fdopen(read_fd, "rb") as reader:
        assert reader.read(len(block)) == block
    writer.join(DEADLINE_S)
    os.close(write_fd)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def cookie(number: int) -> set[tuple[int, str]]:
    return {(1, f"/w/.picoclaw/cookies/{number}"), (2, "/w/src/a.c")}


def test_it_looks_often_while_cookies_follow_one_another_and_calms_down_at_a_late_one() -> None:
    clock = Clock()
    pace = Pace(clock)
    calm = pace.step_ms
    pace.note(cookie(1))
    assert pace.step_ms == calm
    clock.now_s += 1
    pace.note({(1, "/w/src/7")})
    assert pace.step_ms == calm
    pace.note(cookie(2))
    pace.note(cookie(2))
    assert pace.step_ms < calm
    clock.now_s += lines.EAGER_FOR_S + 1
    pace.note(cookie(3))
    assert pace.step_ms == calm
