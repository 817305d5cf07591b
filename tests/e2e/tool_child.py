"""The children of `crashes.serve` that make one tool call: `action` is the tool, `new` its parameters as JSON.

The history is in the folder `<workspace>-state`; but for what it writes, all is done in one thread.
"""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import trio

from picoclawd.files.threads import ArgsT, Lane, ResultT, Threads
from picoclawd.history.store import History
from picoclawd.workspace.workspace import Records
from tests.crashes import serve
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


if __name__ == "__main__":
    serve(run_child)
