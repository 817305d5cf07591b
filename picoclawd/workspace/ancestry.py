"""Who started a process, as far as that says something, and whether one that answers for the person is an agent's."""

from collections.abc import Callable, Iterable

import msgspec

ANCESTORS_MAX = 32  # of a process; more are a loop or a game

_MANAGERS = frozenset({"systemd", "init"})  # parents of everything: to share them says nothing


class Process(msgspec.Struct, frozen=True):
    """A process's parent, and its own name as the kernel has it."""

    parent_pid: int
    name: str


ReadProcess = Callable[[int], Process | None]


def read_process(pid: int) -> Process | None:
    """Look a process up in /proc (proc(5), `stat`); None where it is gone. Waits for no disk."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
    except OSError:
        return None
    return Process(int(rest.split()[1]), head.partition(b"(")[2].decode("utf-8", "replace"))


def ancestors(pid: int, read: ReadProcess = read_process) -> tuple[int, ...]:
    """The processes above this one, nearest first, up to the one that manages the session."""
    chain: list[int] = []
    process = read(pid)
    while process is not None and process.parent_pid > 1 and len(chain) < ANCESTORS_MAX:
        pid = process.parent_pid
        process = read(pid)
        if process is None or process.name in _MANAGERS:
            break
        chain.append(pid)
    return tuple(chain)


class Answerer(msgspec.Struct, frozen=True):
    """The process that gives an answer, and those above it, nearest first. `warning` says why the answer may be an
    agent's; `via` who passed it on, where the person did not give it here."""

    pid: int
    ancestors: tuple[int, ...]
    warning: str | None
    via: str | None = None


def answerer(pid: int, agent_pids: Iterable[int], via: str | None = None, read: ReadProcess = read_process) -> Answerer:
    """Look at the process that answers: one that is an agent's, or descends from one or from an agent's parent, is
    warned of."""
    chain = ancestors(pid, read)
    mine = {pid, *chain} - {0}
    relative = next((each for each in agent_pids if mine & {each, *ancestors(each, read)[:1]}), None)
    warning = (
        None if relative is None else f"process {pid} shares its parent with process {relative}, a connected agent"
    )
    return Answerer(pid, chain, warning, via)
