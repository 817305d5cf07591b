"""Another process swaps directories and links as fast as it can: nothing outside is read or written.

Each race is shown to be one: links were met in between, and a victim that checks a path and then opens it by name is
robbed under the same racer.
"""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.policy import Access
from picoclawd.files.resolve import ResolverKind
from picoclawd.files.rooted import Rooted
from tests.files.sandbox import RESOLVERS, Sandbox, racing

both_resolvers = pytest.mark.parametrize("kind", RESOLVERS)

SECRET = b"top secret\n"
SWAP = "linux.rename_exchange(fd, b'p', fd, b'q')\nlinux.rename_exchange(fd, b'f', fd, b'g')"
SEEN_IN_A_RACE = {Slug.OUTSIDE_WORKSPACE, Slug.PATH_BUSY, Slug.NOT_FOUND, Slug.SYMLINK_LOOP, Slug.NOT_A_DIRECTORY}
CREATE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """`p` is a directory and `q` a link out, `f` a file and `g` a link out; the racer swaps each pair."""
    top = tmp_path.resolve()
    for directory in ("ws/p", "out/sub"):
        (top / directory).mkdir(parents=True)
    for name in ("out/f.txt", "out/g.txt"):
        (top / name).write_bytes(SECRET)
    for name in ("ws/p/f.txt", "ws/f"):
        (top / name).write_bytes(b"inside\n")
    (top / "ws/q").symlink_to("../out")
    (top / "ws/g").symlink_to(top / "out/f.txt")
    return Sandbox(top)


def read_once(rooted: Rooted, sandbox: Sandbox, given: str) -> str:
    """Give "opened", or the slug of the refusal; fail where the secret was read."""
    try:
        with rooted.open_file(sandbox.path(given)) as opened:
            assert os.read(opened.fd, 100) == b"inside\n"
            assert opened.real.startswith(sandbox.ws + b"/")
            return "opened"
    except Fault as fault:
        assert fault.slug in SEEN_IN_A_RACE, fault
        return fault.slug.value


def write_once(rooted: Rooted, sandbox: Sandbox, given: str) -> str:
    """Create a file at a place, in the directory that was held; give "placed", or the slug of the refusal."""
    try:
        with rooted.place(sandbox.path(given), Access.WRITE, make_parents=True) as place:
            os.close(os.open(place.name, CREATE, 0o600, dir_fd=place.dir_fd))
            os.unlink(place.name, dir_fd=place.dir_fd)
            return "placed"
    except Fault as fault:
        assert fault.slug in SEEN_IN_A_RACE, fault
        return fault.slug.value
    except OSError:
        return "swapped"  # after the place was found, its name became a link or was taken away: O_NOFOLLOW met it


def find_once(rooted: Rooted, sandbox: Sandbox, given: str) -> str:
    """Find the place of a name that is a link now and then; give "found", or the slug of the refusal."""
    try:
        with rooted.place(sandbox.path(given)) as place:
            assert place.real == sandbox.ws + b"/f"
            return "found"
    except Fault as fault:
        assert fault.slug in SEEN_IN_A_RACE, fault
        return fault.slug.value


def race(sandbox: Sandbox, kind: ResolverKind, rounds: int) -> Counter[str]:
    outside = sandbox.outside()
    seen: Counter[str] = Counter()
    with sandbox.rooted(kind) as rooted, racing(SWAP, os.fsdecode(sandbox.ws)):
        for count in range(rounds):
            seen[read_once(rooted, sandbox, "p/f.txt")] += 1
            seen[read_once(rooted, sandbox, "f")] += 1
            seen[find_once(rooted, sandbox, "f")] += 1
            seen[write_once(rooted, sandbox, "p/new.txt")] += 1
            seen[write_once(rooted, sandbox, f"p/made{count % 50}/new.txt")] += 1
    assert sandbox.outside() == outside
    return seen


@both_resolvers
def test_a04_a_racer_makes_no_call_read_or_write_outside(sandbox: Sandbox, kind: ResolverKind) -> None:
    seen = race(sandbox, kind, 2_000)
    assert seen["opened"] > 100
    assert seen["placed"] > 100
    assert seen["found"] > 100
    assert seen[Slug.OUTSIDE_WORKSPACE.value] > 100


@pytest.mark.slow
@pytest.mark.timeout(600)
@both_resolvers
def test_a04_a_racer_makes_no_call_read_or_write_outside_in_100000_calls(sandbox: Sandbox, kind: ResolverKind) -> None:
    seen = race(sandbox, kind, 20_000)
    assert sum(seen.values()) == 100_000
    assert seen["opened"] > 1000
    assert seen[Slug.OUTSIDE_WORKSPACE.value] > 1000


def test_the_same_racer_robs_a_victim_that_checks_and_then_opens(sandbox: Sandbox) -> None:
    victim = os.path.join(sandbox.ws, b"p/f.txt")
    deadline = time.monotonic() + 10
    started = time.monotonic()
    with racing(SWAP, os.fsdecode(sandbox.ws)):
        started = time.monotonic()
        while not checks_then_reads_the_secret(victim, sandbox.ws):
            assert time.monotonic() < deadline, "the racer is too slow to prove anything"
    assert time.monotonic() - started < 1


def checks_then_reads_the_secret(victim: bytes, workspace: bytes) -> bool:
    try:
        if not os.path.realpath(victim).startswith(workspace + b"/"):
            return False
        with open(victim, "rb") as opened:
            return opened.read() == SECRET
    except OSError:
        return False
