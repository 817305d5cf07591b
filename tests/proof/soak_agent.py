"""V11, one agent: a client with a directory of its own, whose calls must end as it expects."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.daemon import Client, Daemon, RpcError

DENIED, UNANSWERED = "denied", "unanswered"  # what a person says no or nothing to has this in its name
TIMEOUT_S = 120.0  # of one call, on a machine that has a lot to do


class Agent:
    """One client with a directory of its own; `step` is called before each call, `done` counts them."""

    def __init__(self, daemon: Daemon, name: str, step: Callable[[], None], done: Counter[str]) -> None:
        self.daemon = daemon
        self.name = name
        self._step = step
        self._done = done
        self._count = 0
        self.client = self.connect()
        (daemon.root / name).mkdir(exist_ok=True)

    def close(self) -> None:
        """Leave."""
        self.client.close()

    def connect(self) -> Client:
        """A further connection, which its user closes."""
        return Client(self.daemon.agent_socket, TIMEOUT_S)

    def fresh(self, suffix: str = ".txt") -> str:
        """A name that nothing ever had, in this agent's directory."""
        self._count += 1
        return f"{self.name}/{self.name}-{self._count}{suffix}"

    def on_disk(self, path: str) -> Path:
        """Where that is."""
        return self.daemon.root / path

    def ok(self, method: str, **params: Any) -> dict[str, Any]:
        """A call that must succeed."""
        self._step()
        answer = self.client.call(method, **params)
        self._done["calls"] += 1
        return answer

    def data(self, method: str, **params: Any) -> dict[str, Any]:
        """The data of a tool's call that must succeed."""
        data = self.ok(method, **params)["data"]
        assert isinstance(data, dict)
        return data

    def complete(self, method: str, **params: Any) -> dict[str, Any]:
        """The data of a search; one that ran out of its time says so, and is made again."""
        end = time.monotonic() + TIMEOUT_S
        while not (data := self.data(method, **params))["complete"]:
            assert time.monotonic() < end, f"{method} does not come to its end: {data}"
            self._done["searches out of time"] += 1
        return data

    def refused(self, slug: str, method: str, **params: Any) -> RpcError:
        """A call that must be refused with this slug."""
        self._step()
        error = self.client.error(method, **params)
        assert error.slug == slug, f"{method}: {slug} was expected, not {error}"
        self._done["refusals"] += 1
        return error

    def started(self, client: Client, method: str, **params: Any) -> int:
        """A call that is not waited for."""
        self._step()
        return client.start(method, params)

    def until_asked(self, path: str) -> None:
        """Wait until a person sees the request about a path."""
        end = time.monotonic() + TIMEOUT_S
        with Client(self.daemon.operator_socket, TIMEOUT_S) as operator:
            while not any(row["path"].endswith(path) for row in operator.call("approvals.list")["pending"]):
                assert time.monotonic() < end, f"nobody is asked about {path}"
                time.sleep(0.01)
