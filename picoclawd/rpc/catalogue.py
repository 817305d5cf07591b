"""Every method of this build, described without a daemon: what client libraries make their own methods of."""

from typing import Any

from picoclawd.rpc import door
from picoclawd.rpc.describe import describe_tool, schema_of
from picoclawd.tools._registry import discover


def describe_all() -> list[dict[str, Any]]:
    """A row for each method, by name: a tool's as `tools.list` has it; of the others name, description, params and
    whether they are the operator's only."""
    rows = [describe_tool(tool) for tool in discover().values()]
    rows += [
        {
            "name": row.name,
            "description": row.summary,
            "params": schema_of(row.params),
            "operator_only": row.operator_only,
        }
        for row in door.ROWS
    ]
    return sorted(rows, key=lambda row: str(row["name"]))
