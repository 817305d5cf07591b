"""Clients: the library (`Client`, `TrioClient`), picoclawctl, the MCP bridge. They reach the daemon by its sockets.

The library's names are imported when they are first asked for: importing this package costs nothing, and only
`TrioClient` needs trio.
"""

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

    from picoclawd.client.answers import Result as Result
    from picoclawd.client.failures import Failure as Failure
    from picoclawd.client.families import AccessDenied as AccessDenied
    from picoclawd.client.families import BadRequest as BadRequest
    from picoclawd.client.families import Busy as Busy
    from picoclawd.client.families import Cancelled as Cancelled
    from picoclawd.client.families import ConfirmationNeeded as ConfirmationNeeded
    from picoclawd.client.families import Conflict as Conflict
    from picoclawd.client.families import DaemonBug as DaemonBug
    from picoclawd.client.families import EditRejected as EditRejected
    from picoclawd.client.families import FileExists as FileExists
    from picoclawd.client.families import Forbidden as Forbidden
    from picoclawd.client.families import InvalidParams as InvalidParams
    from picoclawd.client.families import Lost as Lost
    from picoclawd.client.families import NoDaemon as NoDaemon
    from picoclawd.client.families import NotFound as NotFound
    from picoclawd.client.families import NotVerified as NotVerified
    from picoclawd.client.families import RpcError as RpcError
    from picoclawd.client.families import StorageError as StorageError
    from picoclawd.client.families import TooLarge as TooLarge
    from picoclawd.client.families import UnknownMethod as UnknownMethod
    from picoclawd.client.families import WrongKind as WrongKind
    from picoclawd.client.library import Client as Client
    from picoclawd.client.trio_library import TrioClient as TrioClient

__all__ = [
    "AccessDenied",
    "BadRequest",
    "Busy",
    "Cancelled",
    "Client",
    "ConfirmationNeeded",
    "Conflict",
    "DaemonBug",
    "EditRejected",
    "Failure",
    "FileExists",
    "Forbidden",
    "InvalidParams",
    "Lost",
    "NoDaemon",
    "NotFound",
    "NotVerified",
    "Result",
    "RpcError",
    "StorageError",
    "TooLarge",
    "TrioClient",
    "UnknownMethod",
    "WrongKind",
]


def __getattr__(name: str) -> "Any":
    if not name[:1].isupper():  # a module of ours that is about to be imported: the command line's start-up time
        raise AttributeError(f"module 'picoclawd.client' has no attribute {name!r}")
    import importlib

    homes = {"Client": "library", "TrioClient": "trio_library", "Result": "answers", "Failure": "failures"}
    found = getattr(importlib.import_module(f"picoclawd.client.{homes.get(name, 'families')}"), name, None)
    if found is None:
        raise AttributeError(f"module 'picoclawd.client' has no attribute {name!r}")
    return found
