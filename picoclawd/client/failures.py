"""What can go wrong on a client's side, each with the exit code that `picoclawctl` gives it."""

TYPE_CHECKING = False  # typing costs 3 ms of the 25 that a call may take; type checkers know this name
if TYPE_CHECKING:
    from typing import Any

OK = 0
CALL_FAILED = 1
USAGE = 2
NO_DAEMON = 3
CONFIRMATION = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells count


class Failure(Exception):
    """A failure that ends a command. Its text says what happened and what to type next."""

    slug = "failed"
    exit_code = CALL_FAILED
    outcome: "str | None" = None  # of a call that changes something: not_applied, applied or unknown
    retryable = False  # whether the same call, unchanged, may succeed later
    next: "dict[str, Any] | None" = None  # the call that would help, where there is one: method and params

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.data: dict[str, Any] = {}

    def as_json(self) -> "dict[str, Any]":
        """The error object that `--json` prints: shaped like the daemon's own."""
        return {"code": None, "message": str(self), "data": {"error": self.slug}}


class UsageFault(Failure):
    """The command line asks for something that cannot be asked."""

    slug = "usage"
    exit_code = USAGE


class NoDaemon(Failure):
    """No daemon answers where one was looked for."""

    slug = "no_daemon"
    exit_code = NO_DAEMON


class Lost(Failure):
    """The daemon went away, or did not answer in time: whether the call took effect is unknown."""

    slug = "connection_lost"
    outcome = "unknown"

    def as_json(self) -> "dict[str, Any]":
        """The error object, which says that the outcome is unknown."""
        return {"code": None, "message": str(self), "data": {"error": self.slug, "outcome": "unknown"}}


class RpcError(Failure):
    """The daemon answered with an error: `code`, `message` and `data` as JSON-RPC 2.0, section 5.1, has them."""

    def __init__(self, error: "dict[str, Any]") -> None:
        self.code: int = error.get("code", 0)
        self.message: str = error.get("message", "")
        super().__init__(self.message)
        data = error.get("data")
        if isinstance(data, dict):
            self.data = data
        self.slug = str(self.data.get("error", "error"))
        self.outcome = self.data.get("outcome")
        self.retryable = self.data.get("retryable") is True
        self.next = self.data.get("next")
        self.exit_code = CONFIRMATION if self.slug.startswith("confirmation_") else CALL_FAILED

    def as_json(self) -> "dict[str, Any]":
        """The error object as the daemon sent it."""
        return {"code": self.code, "message": self.message, "data": self.data}
