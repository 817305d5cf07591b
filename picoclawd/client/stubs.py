"""Write the type stub of `methods` out of the definitions, when a wheel is built: so an editor knows them all."""

from picoclawd.client import definitions, naming

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

FILE = "methods.pyi"

_HEAD = '''"""The daemon's methods: generated when the package was built."""

from collections.abc import Callable
from typing import Any, Literal

from picoclawd.client.answers import Result

class DefinedMethods(type): ...
'''

_OPTIONS = (
    "timeout_s: float | None = ...",
    "progress: Callable[[int, int | None, str], object] | None = ...",
    "dry_run: bool = ...",
    "op_id: str | None = ...",
)


def render(rows: "list[dict[str, Any]]") -> str:
    """The stub's text. `rows` as `picoclawd methods` prints them."""
    parts = [_HEAD]
    for name, coroutine in (("DaemonMethods", False), ("TrioMethods", True)):
        parts.append(f"class {name}(metaclass=DefinedMethods):")
        parts += [_method(row, coroutine) for row in rows if row["name"] not in definitions.OWN]
        # What a newer daemon has besides can be called all the same.
        parts += ["    def __getattr__(self, name: str) -> Callable[..., Any]: ...", ""]
    return "\n".join(parts)


def _method(row: "dict[str, Any]", coroutine: bool) -> str:
    name = naming.python_name(row["name"])
    schema = row["params"]
    words = ["self", "*"]
    required = schema.get("required", [])
    for key, part in sorted(schema.get("properties", {}).items(), key=lambda item: item[0] not in required):
        default = "" if key in required else " = ..."
        words.append(f"{naming.keyword_of(key)}: {definitions.annotation_of(part, schema)}{default}")
    answer = "Result" if "data" in row else "Any"
    signature = f"    {'async ' if coroutine else ''}def {name}({', '.join((*words, *_OPTIONS))}) -> {answer}:"
    return f"{signature}\n        {_quoted(row['description'])}\n"


def _quoted(text: str) -> str:
    body = "\n".join(f"        {line}".rstrip() for line in text.strip().splitlines()).lstrip()
    body = body.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{body}\n        """' if "\n" in body or body.endswith('"') else f'"""{body}"""'
