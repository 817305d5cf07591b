"""Turn a command line's `key=value` words into a call's params.

`key=text` is a string, turned into the integer, boolean or other type that the tool's schema asks for; given several
times it is an array. `key:=JSON` is JSON. `key=@FILE` is a file's text, `key=@-` what comes in on stdin, `key=@@text`
the text `@text`.
"""

import json
import os
import sys

from picoclawd.client import schema
from picoclawd.client.failures import UsageFault

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any


class Word:
    """One `key=value` word, split: `form` is "text", "file" or "json"; `raw` is what follows the sign."""

    __slots__ = ("form", "key", "raw")

    def __init__(self, word: str) -> None:
        key, sign, raw = word.partition("=")
        if not sign or not key.rstrip(":"):
            raise UsageFault(f"{word!r} is no argument: write key=value, key:=JSON or key=@FILE")
        self.form = "text"
        if key.endswith(":"):
            key, self.form = key[:-1], "json"
        elif raw.startswith("@@"):
            raw = raw[1:]
        elif raw.startswith("@"):
            raw, self.form = raw[1:], "file"
        self.key = key
        self.raw = raw


def needs_schema(words: list[Word]) -> bool:
    """Whether the tool's schema decides what some word means."""
    return any(word.form == "text" for word in words)


def params(
    words: list[Word], whole: str | None, params_schema: "dict[str, Any] | None"
) -> "dict[str, Any] | list[Any]":
    """The params of a call: those of `--params`, with the words over them.

    Raises:
        UsageFault: broken JSON, a file that cannot be read, or words beside positional params.
    """
    base: dict[str, Any] | list[Any] = {} if whole is None else parse_json("--params", text_or_file(whole))
    if not isinstance(base, dict | list):
        raise UsageFault("--params takes a JSON object or array")
    if not words:
        return base
    if isinstance(base, list):
        raise UsageFault("--params with an array leaves no room for key=value: put everything into the array")
    return {**base, **_named(words, params_schema or {})}


def _named(words: list[Word], params_schema: "dict[str, Any]") -> "dict[str, Any]":
    known = schema.properties(params_schema)
    values: dict[str, list[Any]] = {}
    for word in words:
        kinds = schema.types(known.get(word.key, {}), params_schema)
        values.setdefault(word.key, []).append(_value(word, kinds))
    return {key: _one_or_many(found, known.get(key), params_schema) for key, found in values.items()}


def _value(word: Word, kinds: list[str]) -> "Any":
    if word.form == "json":
        return parse_json(word.key, word.raw)
    if word.form == "file":
        return read_text(word.raw)
    return schema.from_text(check_text(word.key, word.raw), kinds)


def _one_or_many(found: "list[Any]", part: "dict[str, Any] | None", params_schema: "dict[str, Any]") -> "Any":
    kinds = schema.types(part, params_schema) if part is not None else []
    if len(found) > 1:
        return found
    if kinds and "array" in kinds and "string" not in kinds and isinstance(found[0], str):
        return found
    return found[0]


def parse_json(key: str, text: str) -> "Any":
    """The value of a JSON text that belongs to `key`."""
    try:
        return json.loads(text)
    except ValueError as exc:
        raise UsageFault(f"{key}: not JSON: {exc}") from None


def text_or_file(value: str) -> str:
    """What a text option means: `@FILE`, `@-` (stdin), `@@text` for `@text`, else the text itself."""
    if value.startswith("@@"):
        return value[1:]
    return read_text(value[1:]) if value.startswith("@") else check_text("the argument", value)


def read_text(name: str) -> str:
    """The UTF-8 text of a file, or of stdin for `-`, line endings as they are."""
    try:
        if name == "-":
            return sys.stdin.buffer.read().decode()
        with open(name, "rb") as file:
            return file.read().decode()
    except OSError as exc:
        raise UsageFault(f"cannot read {name}: {exc.strerror}") from None
    except UnicodeDecodeError:
        raise UsageFault(f"{name} is not UTF-8 text") from None


def check_text(key: str, text: str) -> str:
    """`text`, unless it holds bytes that are no UTF-8: JSON cannot carry them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageFault(f"{key}: not UTF-8; name such a file by path_bytes={percent(text)}") from None
    return text


def path_params(path: str) -> "dict[str, str]":
    """`{"path": ...}`, or `path_bytes` percent-encoded for a name that is not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return {"path_bytes": percent(path)}
    return {"path": path}


def percent(path: str) -> str:
    """A path as `path_bytes` takes it."""
    from picoclawd.text import display  # only names that are not UTF-8 need it: start-up time

    return display.to_path_bytes(os.fsencode(path))
