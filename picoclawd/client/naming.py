"""The daemon's methods and parameters by the names that Python gives them, and back."""

import keyword

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

# The daemon's methods beside the tools have a dot behind one of these.
_GROUPS = (
    *("approvals", "changes", "editor", "events", "history", "outcome"),
    *("rpc", "session", "task", "tools", "workspace"),
)

# Keywords that every method takes beside the daemon's own parameters.
OPTIONS = ("timeout_s", "progress", "dry_run", "op_id")


def wire_name(name: str) -> str:
    """The daemon's name of a Python method: `task.begin` for `task_begin`."""
    group, _, rest = name.partition("_")
    return f"{group}.{rest}" if rest and group in _GROUPS else name


def python_name(method: str) -> str:
    """The Python name of a daemon's method."""
    return method.replace(".", "_")


def split(params: "dict[str, Any]") -> "tuple[dict[str, Any], dict[str, Any]]":
    """The keywords of a call: the daemon's parameters, and our own options (`OPTIONS`)."""
    options = {name: params[name] for name in OPTIONS if name in params}
    own = {name.rstrip("_"): value for name, value in params.items() if name not in options}
    return own, options


def keyword_of(param: str) -> str:
    """A parameter's name as Python takes it: `from_` for `from`."""
    return f"{param}_" if keyword.iskeyword(param) else param
