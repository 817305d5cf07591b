"""The exceptions of the client library: one class for each JSON-RPC code of `errors.py`, so that `except` reads well.

All are `RpcError`, and so `Failure`; `slug` tells the members of a family apart.
"""

from picoclawd.client.failures import Lost as Lost
from picoclawd.client.failures import NoDaemon as NoDaemon
from picoclawd.client.failures import RpcError as RpcError

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any


class InvalidParams(RpcError):
    """What was asked cannot be asked: `data["path"]` names the parameter."""


class AccessDenied(RpcError):
    """The path is outside the workspace, protected, or the system refuses it."""


class NotFound(RpcError):
    """No such file, version, task, session or approval."""


class FileExists(RpcError):
    """The file is there already, and the call does not overwrite."""


class Conflict(RpcError):
    """Somebody else was quicker: the file changed since it was read, is open in an editor, or was saved just now."""


class EditRejected(RpcError):
    """The edit does not fit the file as it is: nothing matches, several places do, or the patch is refused."""


class ConfirmationNeeded(RpcError):
    """A person has to confirm, and did not: it waits, was denied, or nobody can be asked."""


class NotVerified(RpcError):
    """The file could not be read back as it was written."""


class TooLarge(RpcError):
    """More than the tool takes."""


class WrongKind(RpcError):
    """A directory where a file is wanted, a binary file where text is, a format without a reader."""


class Forbidden(RpcError):
    """Not for this role: a subagent's or an agent's."""


class Busy(RpcError):
    """Later, perhaps: a deadline passed, the path or the daemon is busy, or it is shutting down."""


class StorageError(RpcError):
    """The disk, the workspace's root or the history failed: `data["errno_name"]` says how."""


class Cancelled(RpcError):
    """The call was cancelled before it took effect."""


class UnknownMethod(RpcError):
    """The daemon has no such method: it is older or newer than this client, or a tool is switched off."""


class BadRequest(RpcError):
    """The daemon refused the request as a whole."""


class DaemonBug(RpcError):
    """An error inside the daemon; its log has it under the id in the message."""


_BY_CODE = {
    -32602: InvalidParams,
    -32001: AccessDenied,
    -32002: NotFound,
    -32003: FileExists,
    -32004: Conflict,
    -32005: EditRejected,
    -32006: ConfirmationNeeded,
    -32007: NotVerified,
    -32008: TooLarge,
    -32009: WrongKind,
    -32010: Forbidden,
    -32011: Busy,
    -32012: StorageError,
    -32800: Cancelled,
    -32601: UnknownMethod,
    -32600: BadRequest,
    -32700: BadRequest,
    -32603: DaemonBug,
}


def error_of(method: str, error: "dict[str, Any]") -> RpcError:
    """The exception of an error object that answered `method`."""
    made = _BY_CODE.get(error.get("code", 0), RpcError)(error)
    if isinstance(made, UnknownMethod):
        made.message = _unknown(method, made)
        made.args = (made.message,)
    return made


def timed_out(method: str) -> RpcError:
    """The exception of a call that was given up in time to have no effect."""
    message = f"{method}: no answer within timeout_s; the call was cancelled and took no effect. Give it more time."
    data = {"error": "timeout", "retryable": True, "outcome": "not_applied"}
    return Busy({"code": -32011, "message": message, "data": data})


def _unknown(method: str, error: RpcError) -> str:
    import difflib  # only a wrong name needs it: start-up time

    offered = [str(name) for name in error.data.get("available") or ()]
    near = difflib.get_close_matches(method, offered, 1)
    if near:
        return f"the daemon has no method {method}: did you mean {near[0]}?"
    listed = f" It offers: {', '.join(offered)}." if offered else ""
    return (
        f"the daemon has no method {method}: the tool is switched off, or the daemon is older than this client."
        f"{listed}\n`picoclawctl version` shows both versions; restart the daemon after an upgrade."
    )
