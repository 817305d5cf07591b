"""The `call` command, and how every command that makes one call ends."""

from picoclawd.client import discover, output
from picoclawd.client.failures import OK, UsageFault
from picoclawd.client.wire import Connection

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from picoclawd.client.arguments import Word


def run(args: "argparse.Namespace") -> int:
    """`picoclawctl call METHOD [key=value ...]`."""
    words = _split(args.arguments)
    connection, _ = discover.connect("operator" if args.operator else "agent")
    with connection:
        params = _params(connection, args, words) if words or args.params is not None else {}
        return finish(connection, args, args.method, params)


def status(args: "argparse.Namespace") -> int:
    """`picoclawctl status [--watch]`: workspace.status."""
    if args.watch:
        from picoclawd.client import watch  # a call starts earlier without it

        return watch.run(args)
    connection, _ = discover.connect("agent")
    with connection:
        return finish(connection, args, "workspace.status", {})


def metrics(args: "argparse.Namespace") -> int:
    """`picoclawctl metrics`: counters and gauges as Prometheus text."""
    connection, _ = discover.connect("operator" if args.operator else "agent")
    with connection:
        return finish(connection, args, "metrics", {})


def finish(
    connection: Connection, args: "argparse.Namespace", method: str, params: "dict[str, Any] | list[Any]"
) -> int:
    """Make the call and print what it answers; with `--dry-run` the daemon writes nothing."""
    if getattr(args, "dry_run", False):
        params = _dry(params)
    output.show_result(connection.call(method, params, args.timeout), args.json)
    return OK


def _split(given: list[str]) -> "list[Word]":
    if not given:
        return []
    from picoclawd.client import arguments  # a bare `call METHOD` starts 3 ms earlier without it

    return [arguments.Word(word) for word in given]


def _params(connection: Connection, args: "argparse.Namespace", words: "list[Word]") -> "dict[str, Any] | list[Any]":
    from picoclawd.client import arguments  # as above

    schema = _schema_of(connection, args.method) if arguments.needs_schema(words) else None
    return arguments.params(words, args.params, schema)


def _schema_of(connection: Connection, method: str) -> "dict[str, Any] | None":
    for tool in connection.call("tools.list")["tools"]:
        if tool["name"] == method:
            schema: dict[str, Any] = tool["params"]
            return schema
    return None


def _dry(params: "dict[str, Any] | list[Any]") -> "dict[str, Any]":
    if isinstance(params, list):
        raise UsageFault("--dry-run needs named params: write key=value, or --params with an object")
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), "dry_run": True}}
