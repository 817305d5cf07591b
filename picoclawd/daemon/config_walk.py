"""Turn decoded JSON into frozen Structs key by key, so that every fault is found and not only the first."""

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from picoclawd.daemon.findings import Findings, join

S = TypeVar("S", bound=Struct)

# msgspec's words for JSON types, and a person's.
_WORDS = {
    "`int`": "an integer",
    "`str`": "a string",
    "`bool`": "true or false",
    "`float`": "a number",
    "`array`": "a list",
    "`object`": "an object",
    "`null`": "null",
}
SHOWN_CHARS_MAX = 60  # of a value that is quoted back: enough to recognise it


def read_struct(kind: type[S], raw: object, path: str, findings: Findings) -> S | UnsetType:
    """The Struct that `raw` describes; what is missing or wrong takes its default. UNSET where it has none.

    A key that the Struct lacks is a fault where it forbids unknown fields, else at most a warning. null means
    "not set" for every key that cannot be null.
    """
    if not isinstance(raw, dict):
        findings.fault(path or "the file", f"must be an object, not {_kind_of(raw)}")
        return UNSET
    known = {info.encode_name: info for info in fields(kind)}
    _check_names(kind, raw, known, path, findings)
    values: dict[str, object] = {}
    for name, info in known.items():
        value = _read(info, raw.get(name), join(path, name), findings) if name in raw else UNSET
        if value is not UNSET:
            values[info.name] = value
        elif _required(info):
            if name not in raw:
                findings.fault(join(path, name), "missing")
            return UNSET
    return kind(**values)


def _check_names(
    kind: type[Struct], raw: dict[str, Any], known: dict[str, FieldInfo], path: str, findings: Findings
) -> None:
    """Judge the keys that are no field, in the order of the file."""
    config = kind.__struct_config__
    for name in raw:
        if name in known or name == config.tag_field or (not path and name == "$schema"):
            continue
        if config.forbid_unknown_fields:
            findings.unknown(path, name, known)
        else:
            findings.foreign(path, name, known)


def _required(info: FieldInfo) -> bool:
    return info.default is NODEFAULT and info.default_factory is NODEFAULT


def _read(info: FieldInfo, raw: object, path: str, findings: Findings) -> object:
    """One field's value, UNSET where it is wrong or not set."""
    members = list(_members(info.type))
    structs = [member for member in members if isinstance(member, type) and issubclass(member, Struct)]
    if raw is None:
        return None if types.NoneType in members else UNSET
    if structs:
        kind = _pick(structs, raw, path, findings)
        return UNSET if kind is None else read_struct(kind, raw, path, findings)
    if isinstance(raw, list):
        return _read_list(info.type, raw, path, findings)
    return _convert(info.type, raw, path, findings)


def _members(kind: Any) -> Iterator[Any]:
    """The plain types that an annotation allows."""
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin is Union or origin is types.UnionType:
        for member in get_args(kind):
            yield from _members(member)
    else:
        yield kind


def _pick(structs: list[type[Struct]], raw: object, path: str, findings: Findings) -> type[Struct] | None:
    """The one Struct, or the one whose tag the object carries."""
    tag_field = structs[0].__struct_config__.tag_field
    if tag_field is None or not isinstance(raw, dict):
        return structs[0]
    by_tag = {kind.__struct_config__.tag: kind for kind in structs}
    tag = raw.get(tag_field)
    if isinstance(tag, str) and tag in by_tag:
        return by_tag[tag]
    allowed = ", ".join(f'"{name}"' for name in by_tag)
    findings.fault(join(path, tag_field), f"must be one of {allowed}" + (f"; it is {_shown(tag)}" if tag else ""))
    return None


def _read_list(kind: Any, raw: list[object], path: str, findings: Findings) -> object:
    """A list, each item judged on its own."""
    (plain,) = _members(kind) if len(list(_members(kind))) == 1 else (None,)
    if get_origin(plain) is not tuple:
        return _convert(kind, raw, path, findings)
    item_kind = get_args(plain)[0]
    items = [_convert(item_kind, item, f"{path}[{index}]", findings) for index, item in enumerate(raw)]
    return UNSET if UNSET in items else _convert(kind, items, path, findings)


def _convert(kind: Any, raw: object, path: str, findings: Findings) -> object:
    """A value without Structs in it. Strict: a number in quotes is a string."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as exc:
        findings.fault(path, _wrong(kind, raw, str(exc)))
        return UNSET


def _wrong(kind: Any, raw: object, said: str) -> str:
    """What is wrong with a value, in a person's words."""
    choices = [choice for member in _members(kind) if get_origin(member) is Literal for choice in get_args(member)]
    if choices:
        allowed = ", ".join(f'"{choice}"' for choice in choices)
        return f"must be one of {allowed}; it is {_shown(raw)}"
    text = said.replace("Expected ", "must be ").replace(", got", "; it is").replace(" | null`", "`")
    for word, plain in _WORDS.items():
        text = text.replace(word, plain)
    if "; it is" not in text:
        return f"{text}; it is {_shown(raw)}"
    unquoted = isinstance(raw, str) and not {int, float, bool}.isdisjoint(_members(kind))
    return f"{text}: write it without quotes" if unquoted else text


def _kind_of(raw: object) -> str:
    if raw is None:
        return "null"
    if isinstance(raw, bool):
        return "true or false"
    names: dict[type, str] = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(raw), "something else")


def _shown(raw: object) -> str:
    text = msgspec.json.encode(raw).decode()
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"
