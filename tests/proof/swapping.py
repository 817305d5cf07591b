"""Put a changed text of a module into the module that is loaded already, with all who use it.

A function keeps its identity and gets the new code, so whoever imported it, decorated it or holds a method of it runs
the change. What a function remembers (`functools.cache`) is forgotten. A plain value at the level of the module takes
the place of the old one, also where another module of ours imported it.
"""

import ast
import re
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (int, float, str, bytes, bool, tuple, frozenset, dict, re.Pattern, type(None))


def swap_in(module: ModuleType, tree: ast.Module) -> None:
    """Make the module run what the tree says. Raises: whatever the changed module raises when it is loaded."""
    code = compile(tree, module.__file__ or "", "exec", dont_inherit=True)
    fresh: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(code, fresh)
    new = {function.__qualname__: function for function in _functions(fresh, module.__name__)}
    for function in list(_functions(vars(module), module.__name__)):
        changed = new.get(function.__qualname__)
        if changed is not None and _is_plain(changed.__defaults__) and _is_plain(function.__defaults__):
            function.__defaults__ = changed.__defaults__
        if changed is not None and not _same(function.__code__, changed.__code__):
            function.__code__ = changed.__code__
    for name, value in fresh.items():
        old = vars(module).get(name)
        if isinstance(value, _PLAIN) and not name.startswith("__") and _is_plain(value) and old != value:
            _replace(name, old, value, module)
    _forget(vars(module))


def _same(one: CodeType, other: CodeType) -> bool:
    return one == other


def _functions(names: dict[str, Any], module: str) -> Iterator[FunctionType]:
    """The functions and methods that a module made itself, under their decorators."""
    for value in list(names.values()):
        yield from _within(value, module)


def _within(value: object, module: str) -> Iterator[FunctionType]:
    if isinstance(value, property):
        for part in (value.fget, value.fset, value.fdel):
            yield from _within(part, module)
        return
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    if isinstance(value, FunctionType) and value.__module__ == module:
        yield value
    elif isinstance(value, type) and value.__module__ == module:
        for part in list(vars(value).values()):
            yield from _within(part, module)


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN) or type(value).__module__.startswith("picoclawd.errors")


def _replace(name: str, old: object, new: object, module: ModuleType) -> None:
    setattr(module, name, new)
    for other in list(sys.modules.values()):
        if other.__name__.startswith("picoclawd.") and vars(other).get(name) is old:
            setattr(other, name, new)


def _forget(names: dict[str, Any]) -> None:
    for value in names.values():
        forget = getattr(value, "cache_clear", None)
        if forget is not None:
            forget()
