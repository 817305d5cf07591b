"""A process that forks a child for each line on its standard input: the child stops itself, then makes one tool call.

A line is JSON: {"folder": workspace, "action": tool, "new": parameters as JSON}. The child's pid is printed as soon as
it stands still; how it ended (os.waitpid's status) when it has ended. All that a call does is done in one thread, but
for what history writes, so that its system calls can be counted. The history is in the folder `<workspace>-state`.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from picoclawd.files.threads import ArgsT, Lane, ResultT, Threads
from picoclawd.history.store import History
from picoclawd.workspace.workspace import Records
from tests.house import House


class OneThread(Threads):
    """Blocking work is done where it stands."""

    async def run(self, lane: Lane, work: Callable[[*ArgsT], ResultT], *args: *ArgsT) -> ResultT:
        await trio.lowlevel.checkpoint()
        return work(*args)


def run_child(folder: str, action: str, new: str) -> None:
    """Stand still until somebody lets it go on, make the call, and end without any cleaning up."""
    records = Records(History(f"{folder}-state"))
    house = House(Path(folder), threads=OneThread(), records=records)

    async def call() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        await house.call(action, **json.loads(new))

    trio.run(call)
    os._exit(0)


def main() -> None:
    """Serve the lines."""
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run_child(order["folder"], order["action"], order["new"])
        os.waitpid(pid, os.WUNTRACED)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


if __name__ == "__main__":
    main()
