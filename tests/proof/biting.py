"""The warm process of V13: pytest with all tests collected, which forks a child for each mutant and listens to it.

Run in a copy of the tree, which a mutant is also written to, for the processes that tests start. Reads mutants from
standard input, one JSON object a line, and answers each with a line on the descriptor that it was given.
"""

import ast
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path

import coverage
import msgspec
import pytest

from tests.proof import mutants, swapping
from tests.proof.mutants import Mutant

_TICK_S = 0.1
_STOPPED_S = 2.0  # a tick that took so long: somebody stopped all of us, and a deadline of a test may have passed
_LEAST_S = 15.0
_TIMES = 10  # its plain time that a test may take
_FILE_MAX_BYTES = 1 << 29
_PR_SET_CHILD_SUBREAPER = 36


class Asked(msgspec.Struct, frozen=True):
    """A mutant, and the tests (by file) that run its module in processes of their own: they come last."""

    mutant: Mutant
    apart: tuple[str, ...] = ()


class Told(msgspec.Struct, frozen=True):
    """What became of a mutant. `by` is the test that failed, None where all passed."""

    killed: bool
    by: str | None
    how: str
    tests: int
    seconds: float


class Reach(msgspec.Struct):
    """Which tests pass, how long each takes, and which lines of which file each runs: file, then line, then tests.

    `texts` are the files as they were then.
    """

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]
    texts: dict[str, str]

    def follow(self, module: str, text: str) -> None:
        """Let the lines be those of this text; a line that is new in it is taken to be reached by what reached those
        before and behind."""
        was, now = self.texts.get(module, text).splitlines(), text.splitlines()
        self.texts[module] = text
        if was == now:
            return
        old, new = self.lines.get(module, {}), {}
        for kind, a, b, c, d in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            near = {test for line in range(a, b + 2) for test in old.get(line, ())}
            for offset in range(d - c):
                new[c + 1 + offset] = old.get(a + 1 + offset, []) if kind == "equal" else sorted(near)
        self.lines[module] = new


class Biting:
    """The plugin. `reach` is a file to keep what was measured in, `modules` are those that mutants are of; `spend_s` is
    the plain time of the tests that one mutant must stand."""

    def __init__(self, modules: list[str], reach: Path, spend_s: float, answers: int) -> None:
        self._modules = modules
        self._kept = reach
        self._spend_s = spend_s
        self._answers = answers
        self._killers: dict[str, list[str]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests: run them for each mutant."""
        for module in self._modules:
            import_module(_dotted(module))
        self._items = {item.nodeid: item for item in session.items}
        self._reach = self._known_reach(session)
        os.write(self._answers, b"{}\n")
        for line in sys.stdin:
            asked = msgspec.json.decode(line, type=Asked)
            told = self._bitten(session, asked)
            os.write(self._answers, msgspec.json.encode(told) + b"\n")
        return True

    def _known_reach(self, session: pytest.Session) -> Reach:
        """What was measured, with what is new measured now."""
        reach = Reach({}, {}, {})
        if self._kept.exists():
            reach = msgspec.json.decode(self._kept.read_bytes(), type=Reach)
        for module in self._modules:
            reach.follow(module, Path(module).read_text())
        missing = [item for item in session.items if item.nodeid not in reach.seconds]
        if missing:
            _measure(session, missing, self._modules, reach)
            self._kept.write_bytes(msgspec.json.encode(reach))
        return reach

    def _bitten(self, session: pytest.Session, asked: Asked) -> Told:
        mutant = asked.mutant
        path = Path(mutant.module)
        text = path.read_text()
        was = path.stat()
        chosen = self._chosen(asked)
        tree = mutants.mutated(text, mutant.number)
        path.write_text(ast.unparse(tree))
        began = time.monotonic()
        try:
            by, how, run = _run_in_child(session, mutant, tree, chosen, self._reach)
            while how == "stopped":
                by, how, run = _run_in_child(session, mutant, tree, chosen, self._reach)
        finally:
            path.write_text(text)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        if by is not None and by in self._items:
            killers = self._killers[f"{mutant.module} {mutant.function}"]
            if by in killers:
                killers.remove(by)
            killers.insert(0, by)
        return Told(by is not None, by, how, run, round(time.monotonic() - began, 2))

    def _chosen(self, asked: Asked) -> list[pytest.Item]:
        """The tests that may see it: first what saw its neighbours, then the module's own, the quick ones first."""
        mutant, seconds = asked.mutant, self._reach.seconds
        lines = self._reach.lines.get(mutant.module, {})
        if mutant.function:
            found = {test for line in range(mutant.lines[0], mutant.lines[1] + 1) for test in lines.get(line, ())}
        else:
            found = {test for tests in lines.values() for test in tests}
        found = {test for test in found if test in self._items and seconds[test] >= 0}
        own = "/test_" + Path(mutant.module).name
        killers = [test for test in self._killers[f"{mutant.module} {mutant.function}"][:12] if test in found]
        rest = sorted(found - set(killers), key=lambda test: (own not in test, seconds[test]))
        spent, chosen = 0.0, []
        for test in (*killers, *rest):
            spent += seconds[test]
            if spent < self._spend_s:
                chosen.append(test)
        apart = [test for test in self._items if test.partition("::")[0] in asked.apart and seconds[test] >= 0]
        chosen += [test for test in apart if test not in chosen]
        return [self._items[test] for test in chosen]


def _dotted(module: str) -> str:
    return module.removesuffix(".py").replace("/", ".")


def _measure(session: pytest.Session, items: list[pytest.Item], modules: list[str], reach: Reach) -> None:
    """Run the tests once as they are, in a child, and add what they reach; a test that fails counts for nothing."""
    with tempfile.TemporaryDirectory(prefix="bite") as scratch:
        data, times = Path(scratch, "coverage"), Path(scratch, "times")
        pid = os.fork()
        if pid == 0:
            _become_child(Path(scratch, "t"))
            cover = coverage.Coverage(data_file=str(data), include=modules, config_file=False)
            cover.start()
            seconds = {}
            for item, following in zip(items, [*items[1:], None], strict=True):
                cover.switch_context(item.nodeid)
                failed, began = session.testsfailed, time.monotonic()
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                took = time.monotonic() - began
                seconds[item.nodeid] = took if session.testsfailed == failed else -1.0
            cover.stop()
            cover.save()
            times.write_text(json.dumps(seconds))
            os._exit(0)
        os.waitpid(pid, 0)
        reach.seconds.update(json.loads(times.read_text()))
        found = coverage.CoverageData(str(data))
        found.read()
        for module in modules:
            for line, tests in found.contexts_by_lineno(os.path.abspath(module)).items():
                known = reach.lines.setdefault(module, {}).setdefault(line, [])
                known += [test for test in tests if test]


def _run_in_child(
    session: pytest.Session, mutant: Mutant, tree: ast.Module, items: list[pytest.Item], reach: Reach
) -> tuple[str | None, str, int]:
    """The test that failed, how, and how many were run."""
    scratch = Path(tempfile.mkdtemp(prefix="b"))
    heard, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(heard)
        _become_child(scratch)
        _child(session, mutant, tree, items, said)
    os.close(said)
    try:
        return _listen(heard, pid, items, reach)
    finally:
        os.close(heard)
        _end_children()
        shutil.rmtree(scratch, ignore_errors=True)


def _child(session: pytest.Session, mutant: Mutant, tree: ast.Module, items: list[pytest.Item], said: int) -> None:
    """Never returns. Says the number of each test that begins, then `!` and the number of one that failed."""
    try:
        try:
            swapping.swap_in(sys.modules[_dotted(mutant.module)], tree)
        except Exception:  # noqa: BLE001 - a module that cannot be loaded is seen by every test
            os.write(said, b"load\n")
            os._exit(0)
        for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
            os.write(said, b"%d\n" % number)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                os.write(said, b"!%d\n" % number)
                os._exit(0)
        os.write(said, b"end\n")
    except BaseException:  # noqa: BLE001 - even an exit that a test did not keep in is a failure of that test
        os.write(said, b"died\n")
    finally:
        os._exit(0)


def _become_child(scratch: Path) -> None:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = str(scratch)
    scratch.mkdir(exist_ok=True)
    tempfile.tempdir = None
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # of a mutant; its time and size may be those of the next
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_MAX_BYTES, _FILE_MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(quiet, number)


def _listen(heard: int, pid: int, items: list[pytest.Item], reach: Reach) -> tuple[str | None, str, int]:
    """Wait for the child's word. Time is counted in ticks: while all of us are stopped, none passes."""
    at, ticks, buffer, stopped = 0, 0.0, b"", False
    while True:
        began = time.monotonic()
        ready, _, _ = select.select([heard], [], [], _TICK_S)
        passed = time.monotonic() - began
        stopped |= passed > _STOPPED_S
        ticks += min(passed, _TICK_S)
        if ready:
            got = os.read(heard, 65536)
            buffer += got
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                if line == b"end":
                    return None, "survived", len(items)
                if line == b"load":
                    return "load", "load", 0
                if line == b"died" or line.startswith(b"!"):
                    return items[at].nodeid, "stopped" if stopped else "failed", at + 1
                at, ticks = int(line), 0.0
            if not got:
                return items[at].nodeid, "died", at + 1
        if ticks > _LEAST_S + _TIMES * reach.seconds[items[at].nodeid]:
            os.kill(pid, signal.SIGKILL)
            return items[at].nodeid, "deadline", at + 1


def be_reaper() -> None:
    """Become the parent of what our children leave behind, so that it can be ended by its number."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_children() -> None:
    """End and reap whatever this process is the parent of."""
    for _ in range(50):
        children = list(_children())
        if not children:
            return
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def _children() -> Iterator[int]:
    for listing in Path("/proc/self/task").glob("*/children"):
        yield from map(int, listing.read_text().split())


def main() -> None:
    """Run what the argument says, as JSON: see `mutation.Biter`."""
    said = json.loads(sys.argv[1])
    be_reaper()
    plugin = Biting(said["modules"], Path(said["reach"]), said["spend_s"], said["answers"])
    options = ["-q", "-s", "-p", "no:cacheprovider", "-o", "timeout=0"]
    sys.exit(pytest.main([*options, *said["tests"]], plugins=[plugin]))


if __name__ == "__main__":
    main()
