"""Give a quick, advisory verdict on the syntax of a file just written. It never stops a write.

`.json` must be JSON (RFC 8259), except for the files that their tools read as JSON with comments; C and its family, Go,
Python and TOML get the scanner of `brackets`. Every other extension is left unchecked.
"""

import json
import re
from enum import Enum
from typing import NoReturn

from picoclawd.text.brackets import Dialect, Problem, Skipped, check_brackets
from picoclawd.text.lines import BOM


class Verdict(Enum):
    """What is said where there is no problem. UNCHECKED says nothing: no rule for this file, or it was too deep."""

    OK = "ok"
    UNCHECKED = "unchecked"


Syntax = Verdict | Problem

_DIALECTS = {
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "hh"), Dialect.C),
    "go": Dialect.GO,
    **dict.fromkeys(("py", "pyi"), Dialect.PYTHON),
    "toml": Dialect.TOML,
}


def check(path: str, content: bytes) -> Syntax:
    """Check the full content of a file by the extension of its path, in any case. Linear time.

    A `Problem` carries a message that begins with `line N: ` and holds no file text.
    """
    directory, _, base = path.lower().rpartition("/")
    extension = base.rpartition(".")[2] if "." in base else ""
    if extension == "json":
        return Verdict.UNCHECKED if _may_hold_comments(directory, base) else _check_json(content)
    dialect = _DIALECTS.get(extension)
    return Verdict.UNCHECKED if dialect is None else _check_brackets(content, dialect)


def _may_hold_comments(directory: str, base: str) -> bool:
    if base in ("jsconfig.json", "devcontainer.json") or base.startswith("tsconfig"):
        return True
    return directory.rpartition("/")[2] == ".vscode"


def _check_brackets(content: bytes, dialect: Dialect) -> Syntax:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return Verdict.UNCHECKED
    match check_brackets(text, dialect):
        case None:
            return Verdict.OK
        case Skipped():
            return Verdict.UNCHECKED
        case Problem() as problem:
            return problem


class _NotJSON(ValueError):
    """Raised for the constants that Python's decoder knows and JSON does not."""


def _check_json(content: bytes) -> Syntax:
    if content.startswith(BOM):
        return Problem("line 1: begins with a byte order mark, which JSON does not allow", 1)
    if not content.strip():
        return Problem("line 1: is empty; JSON needs a value", 1)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line_no = content.count(b"\n", 0, error.start) + 1
        return Problem(f"line {line_no}: is not UTF-8", line_no)
    try:
        # Nothing is kept: a number stays text (Python limits the digits of an int), an object becomes its size.
        json.loads(text, parse_constant=_refuse, parse_int=str, parse_float=str, object_pairs_hook=len)
    except json.JSONDecodeError as error:
        return Problem(f"line {error.lineno}: {error.msg} (column {error.colno})", error.lineno)
    except _NotJSON as error:
        line_no = text.count("\n", 0, _place_of_constant(text)) + 1
        return Problem(f"line {line_no}: {error} is not JSON", line_no)
    except RecursionError:
        return Verdict.UNCHECKED
    return Verdict.OK


def _refuse(constant: str) -> NoReturn:
    raise _NotJSON(constant)


_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?P<constant>NaN|-?Infinity)', re.DOTALL)


def _place_of_constant(text: str) -> int:
    """Where the first such constant stands outside a string."""
    return next((match.start() for match in _STRING_OR_CONSTANT.finditer(text) if match["constant"]), 0)
