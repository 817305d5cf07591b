"""Run a program on a file: bounded in time, memory and output, and ended with all that it started."""

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import trio

from picoclawd.errors import Fault, Slug
from picoclawd.files.oserrors import as_fault

_REAP_S = 5.0  # for the kernel to end a process that was killed
_CHUNK_BYTES = 65_536
# What a program needs of our environment. Keys and sockets that only we were given stay with us.
_PASSED = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"})
_PASSED_PREFIXES = ("LC_", "XDG_CACHE_", "XDG_CONFIG_", "XDG_DATA_")


@dataclass(frozen=True, slots=True)
class Bounds:
    """`rlimits` by the numbers of `resource`; `output_bytes` that are read from stdout."""

    deadline_s: float
    output_bytes: int
    rlimits: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: its status (negative: the signal), and its stdout; `overflowed` where that was too long."""

    status: int
    output: bytes
    overflowed: bool = False


def nothing(_chunk: bytes) -> None:
    """Take no notice of output as it comes."""


async def run(
    argv: Sequence[str],
    stdin: int,
    environ: Mapping[str, str],
    bounds: Bounds,
    *,
    shown: str,
    stdout: int | None = None,
    seen: Callable[[bytes], None] = nothing,
) -> Ended:
    """Run it to its end. `stdin` is a descriptor; stdout is read, or goes to a descriptor; stderr is thrown away.

    Cancelled, or at its deadline, it is killed with its process group before this returns.

    Raises: io_error where it does not start; timeout.
    """
    process = await start(argv, stdin, subprocess.PIPE if stdout is None else stdout, environ, shown)
    try:
        with trio.move_on_after(bounds.deadline_s):
            _limit(process.pid, bounds.rlimits)
            output, overflowed = await _output(process, bounds.output_bytes, seen)
            if overflowed:
                kill(process)
            return Ended(await process.wait(), output, overflowed)
    finally:
        await end(process)
    raise Fault(Slug.TIMEOUT, f"{shown} did not finish within {bounds.deadline_s:g} s and was ended.")


async def start(argv: Sequence[str], stdin: int, stdout: int, environ: Mapping[str, str], shown: str) -> trio.Process:
    """Start it as the first of a process group and session; whoever starts it calls `end`.

    Raises: io_error.
    """
    try:
        return await trio.lowlevel.open_process(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            env=clean(environ),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise as_fault(error, "start", shown, thing="program") from error


async def end(process: trio.Process) -> None:
    """Kill it with its process group unless it has ended, and wait for that, whoever is cancelled meanwhile."""
    with trio.CancelScope(deadline=trio.current_time() + _REAP_S, shield=True):
        if process.returncode is None:
            kill(process)
            await process.wait()
        if process.stdout is not None:
            await process.stdout.aclose()


def kill(process: trio.Process) -> None:
    """End the group. Its leader is our child and not yet reaped, so the number is nobody else's."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def collect(
    source: trio.abc.ReceiveStream, max_bytes: int, seen: Callable[[bytes], None] = nothing
) -> tuple[bytes, bool]:
    """All that comes, and whether that was more than `max_bytes`, of which the first are given."""
    parts: list[bytes] = []
    size = 0
    while size <= max_bytes:
        chunk = await source.receive_some(_CHUNK_BYTES)
        if not chunk:
            return b"".join(parts), False
        parts.append(bytes(chunk))
        size += len(chunk)
        seen(parts[-1])
    return b"".join(parts)[:max_bytes], True


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a program is given."""
    return {name: text for name, text in environ.items() if name in _PASSED or name.startswith(_PASSED_PREFIXES)}


async def _output(process: trio.Process, max_bytes: int, seen: Callable[[bytes], None]) -> tuple[bytes, bool]:
    return (b"", False) if process.stdout is None else await collect(process.stdout, max_bytes, seen)


def _limit(pid: int, rlimits: Mapping[int, int]) -> None:
    """Bound a child that just started: a fork that ran code of ours would be less safe than this moment without."""
    with suppress(ProcessLookupError):
        for what, most in rlimits.items():
            resource.prlimit(pid, what, (most, most))
