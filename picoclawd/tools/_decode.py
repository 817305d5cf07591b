"""Parameters as a client sent them, made into a tool's Struct: lenient where models err, strict everywhere else."""

import difflib
import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug

P = TypeVar("P", bound=msgspec.Struct)
Coerce = Callable[[Any], Any]

_DECIMAL = re.compile(r"-?[0-9]{1,19}\Z")
_WHERE = re.compile(r" - at `(\$[^`]*)`\Z")
_FIELD = re.compile(r"field `([^`]*)`")


def decode(name: str, params: type[P], raw: dict[str, Any]) -> P:
    """Convert undecoded parameters of the tool `name`.

    Integers may come as integral floats or decimal strings, booleans as "true" or "false"; nothing else is bent.
    `path` may be left out where `path_bytes` is given.

    Raises: invalid_params; data.path is the JSON path of the fault.
    """
    if "path_bytes" in raw and "path" in params.__struct_fields__:
        raw = {"path": "", **raw}
    try:
        return msgspec.convert(_coercion(params)(raw), params, strict=True)
    except _OutOfRange as error:
        raise _invalid(
            name, f"at most {limits.INTEGER_MAX}, and no less than its negative - at `${error.path}`"
        ) from None
    except msgspec.ValidationError as error:
        raise _unknown(name, params.__struct_encode_fields__, raw) or _invalid(name, str(error)) from None


def _unknown(name: str, known: tuple[str, ...], raw: dict[str, Any]) -> Fault | None:
    """The fault of the first parameter that there is not: it comes before any other."""
    key = next((key for key in raw if key not in known), None)
    if key is None:
        return None
    close = difflib.get_close_matches(key, known, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    return Fault(
        Slug.INVALID_PARAMS,
        f"{name} has no parameter `{key[:100]}`.{hint} It takes: {', '.join(known)}.",
        path=f"$.{key[:100]}",
    )


def _invalid(name: str, reason: str) -> Fault:
    where = _WHERE.search(reason)
    path = where.group(1) if where else "$"
    what = _WHERE.sub("", reason)
    missing = _FIELD.search(what)
    if path == "$" and missing:
        path = f"$.{missing.group(1)}"
    return Fault(Slug.INVALID_PARAMS, f"{name}: `{path.removeprefix('$.')}`: {what}.", path=path)


@functools.cache
def _coercion(params: type[msgspec.Struct]) -> Coerce:
    info = msgspec.inspect.type_info(params)
    return _coerce_for(info) or _same


def _same(value: Any) -> Any:
    return value


def _coerce_for(info: msgspec.inspect.Type) -> Coerce | None:
    """The function that bends a value towards this type, None where nothing is to be bent below it."""
    match info:
        case msgspec.inspect.Metadata(type=inner):
            return _coerce_for(inner)
        case msgspec.inspect.IntType():
            return _to_int
        case msgspec.inspect.BoolType():
            return _to_bool
        case msgspec.inspect.ListType(item_type=item) | msgspec.inspect.VarTupleType(item_type=item):
            each = _coerce_for(item)
            return None if each is None else functools.partial(_each, each)
        case msgspec.inspect.StructType(fields=fields):
            by_name = {field.encode_name: coerce for field in fields if (coerce := _coerce_for(field.type))}
            return functools.partial(_fields, by_name) if by_name else None
        case msgspec.inspect.UnionType(types=types):
            candidates = [coerce for each in types if (coerce := _coerce_for(each))]
            return candidates[0] if len(candidates) == 1 else None
        case _:
            return None


class _OutOfRange(Exception):
    """An integer that nothing here counts to. `path` is where it is, below where it was caught."""

    path = ""


def _to_int(value: Any) -> Any:
    if (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and _DECIMAL.match(value)):
        value = int(value)
    if isinstance(value, int) and abs(value) > limits.INTEGER_MAX:
        raise _OutOfRange
    return value


def _to_bool(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _each(coerce: Coerce, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [_below(f"[{index}]", coerce, item) for index, item in enumerate(value)]


def _fields(by_name: dict[str, Coerce], value: Any) -> Any:
    if not isinstance(value, dict) or by_name.keys().isdisjoint(value):
        return value
    return {key: _below(f".{key}", by_name[key], item) if key in by_name else item for key, item in value.items()}


def _below(step: str, coerce: Coerce, value: Any) -> Any:
    try:
        return coerce(value)
    except _OutOfRange as error:
        error.path = step + error.path
        raise
