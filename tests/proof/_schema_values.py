"""Values made from a JSON Schema: mostly such as it asks for, now and then at its edges, and now and then anything."""

import random
from typing import Any

Schema = dict[str, Any]

_WRONG_OF, _UNKNOWN_OF, _DEEP_OF = 25, 60, 200  # one value in so many is of a wrong type; and so on
_NUMBERS = (0, 1, 2, 7, -1, 255, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**40)
_ODD_NUMBERS = (1.0, 1.5, -0.0, 1e300, "7", "1e3", "٣", " 1", True, None)
_WORDS = (
    "", "a.txt", "b.txt", "d", "d/c.txt", ".", "..", "/", "//", "./a.txt", "d/../a.txt", "../out/canary.txt", "new.txt",
    "a.txt/x", "d/", "~", "$HOME", "%00", "%ff", "%zz", "caf%E9.txt", "a\x00b", "a\nb", "a\tb", "\x1b[2J", "\u202e",
    "é", "e\u0301", "💥", "\ufffd", "😀", "x" * 300, "y/" * 300, "z" * 5000, "*", "**/*", "[", "[!a]", "{a,b",
    "*.{js,ts}", "(a+)+$", "(?i)A", "a{1000}", "(?P<n>x)", "\\", "\\b", "^$", "alpha", "alpha\n", "beta", "gamma\r\n",
    "current", "2020-01-01", "2020-01-01 10:00", "1969-12-31", "9999-12-31T23:59:59Z", "0001-01-01", "now", "-1",
    "0" * 64, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "[FILTERED]", "file:///etc/hosts",
    "https://example.org/?q=1", "mailto:x@example.org", "javascript:1", "[::1", "http://[", "approval.*", "[a",
    "@@\n-alpha\n+beta\n", "*** Begin Patch\n*** Update File: a.txt\n@@\n-alpha\n+gamma\n*** End Patch", "@@", "+", "-",
)  # fmt: skip


class Maker:
    """Makes values; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def params(self, schema: Schema) -> dict[str, Any]:
        """Parameters of one call, for the schema of an object."""
        made = self._object(schema, schema.get("$defs", {}))
        if self._one_in(_UNKNOWN_OF):
            made[self._dice.choice(("x", "Path", "", "_met", "limitt", "a" * 300))] = self._anything(2)
        if self._one_in(10):
            made["_meta"] = {"dry_run": True}
        return made

    def _one_in(self, count: int) -> bool:
        return self._dice.randrange(count) == 0

    def _value(self, schema: Schema, defs: Schema) -> Any:
        if self._one_in(_WRONG_OF):
            return self._anything(3)
        if "$ref" in schema:
            return self._value(defs[schema["$ref"].rsplit("/", 1)[1]], defs)
        if "anyOf" in schema:
            return self._value(self._dice.choice(schema["anyOf"]), defs)
        if "enum" in schema:
            return self._dice.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._object(schema, defs)
            case "array":
                return self._array(schema, defs)
            case "integer":
                return self._integer(schema)
            case "boolean":
                return self._dice.choice((True, False, "true", "false", "yes", 1))
            case "string":
                return self._word()
            case _:
                return self._anything(2)

    def _object(self, schema: Schema, defs: Schema) -> dict[str, Any]:
        required = schema.get("required", ())
        chance = self._dice.random()
        return {
            key: self._value(each, defs)
            for key, each in schema.get("properties", {}).items()
            if (key in required and not self._one_in(_WRONG_OF)) or self._dice.random() < chance
        }

    def _array(self, schema: Schema, defs: Schema) -> list[Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
        length = self._dice.choice((least, most, most + 1, 0) if self._one_in(30) else (1, 1, 2, 3))
        items = schema.get("items", {})
        return [self._value(items, defs) for _ in range(length)]

    def _integer(self, schema: Schema) -> Any:
        edges = [schema[key] + step for key in ("minimum", "maximum") if key in schema for step in (-1, 0, 1)]
        if self._one_in(3):
            return self._dice.choice((*_NUMBERS, *_ODD_NUMBERS))
        return self._dice.choice((1, 2, 3, 10, *edges))

    def _word(self) -> str:
        word = self._dice.choice(_WORDS)
        return word if not self._one_in(6) else word + self._dice.choice(_WORDS)

    def _anything(self, depth: int) -> Any:
        match self._dice.randrange(7 if depth else 4):
            case 0:
                return self._word()
            case 1:
                return self._dice.choice((*_NUMBERS, *_ODD_NUMBERS))
            case 2:
                return None
            case 3:
                return self._dice.choice((True, False))
            case 4:
                return [self._anything(depth - 1) for _ in range(self._dice.randrange(3))]
            case 5:
                return {self._word(): self._anything(depth - 1) for _ in range(self._dice.randrange(3))}
            case _:
                deep: Any = 0
                for _ in range(_DEEP_OF):
                    deep = [deep]
                return deep
