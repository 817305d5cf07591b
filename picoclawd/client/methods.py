"""Methods of the client classes, one for each method of the daemon: `read_file`, and `task_begin` for `task.begin`.

They are made when they are asked for. Calling one needs no definition, so that a client can call what a newer daemon
has; `help(Client.read_file)`, `inspect.signature` and `dir(Client)` read the definitions (`definitions`).
"""

from picoclawd.client.naming import wire_name

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class DefinedMethods(type):
    """The metaclass: shows the daemon's methods, with signature and docstring, on the class itself."""

    def __getattr__(cls, name: str) -> "Callable[..., Any]":
        from picoclawd.client import definitions  # only help and inspection need them: start-up time

        if not name.startswith("_") and (shown := definitions.shown(name)) is not None:
            return shown
        raise AttributeError(f"{cls.__name__} has no method {name}; dir({cls.__name__}) lists them")

    def __dir__(cls) -> list[str]:
        from picoclawd.client import definitions  # as above

        return sorted({*super().__dir__(), *definitions.names()})


class DaemonMethods(metaclass=DefinedMethods):
    """What has the daemon's methods as its own. A subclass makes the calls in `_call_named`."""

    def __getattr__(self, name: str) -> "Callable[..., Any]":
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no {name}")

        def method(*args: object, **params: "Any") -> "Any":
            if args:
                raise TypeError(f"{name}() takes keywords only: write the parameter's name, as in path='x.txt'")
            return self._call_named(wire_name(name), params)

        method.__name__ = name
        method.__doc__ = f"Call {wire_name(name)} on the daemon; help({type(self).__name__}.{name}) tells about it."
        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(type(self))})

    def _call_named(self, method: str, params: "dict[str, Any]") -> "Any":
        raise NotImplementedError


class TrioMethods(DaemonMethods):
    """The same where each is a coroutine function."""
