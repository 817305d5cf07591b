"""Curly and straight quotes: make them the same for finding a text, and keep a file's own style in what replaces it."""

from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal["double", "single"]
Style = Literal["curly", "straight"]

_PAIRS: Final[Mapping[Kind, tuple[str, str, str]]] = {"double": ('"', "“", "”"), "single": ("'", "‘", "’")}
_STRAIGHTEN = str.maketrans({curly: pair[0] for pair in _PAIRS.values() for curly in pair[1:]})
_OPENS_AFTER = frozenset("([{<-–—/=“‘")  # behind these, and behind whitespace, a quote opens


def straight(text: str) -> str:
    """The text with every curly quote as the straight one: as many characters."""
    return text.translate(_STRAIGHTEN)


def holds_quotes(text: str) -> bool:
    """Tell whether there is any quote, curly or straight."""
    return any(char in text for pair in _PAIRS.values() for char in pair)


def style_of(text: str, kind: Kind) -> Style | None:
    """Which style most quotes of a kind have; of two as frequent curly; None where there is none."""
    plain, opening, closing = _PAIRS[kind]
    curly, uncurled = text.count(opening) + text.count(closing), text.count(plain)
    if not curly and not uncurled:
        return None
    return "curly" if curly >= uncurled else "straight"


def restyle(region: str, old: str, new: str, before: str, elsewhere: Mapping[Kind, Style | None]) -> str:
    """Give `new` in the quote style of `region`, the file's text in whose place it comes.

    `region` and `old` are the same but for the style of their quotes. What `new` begins and ends with as `old` does
    keeps the file's characters. In between, as many quotes as before take the styles they had one by one; otherwise
    they follow the region, and where it has none of their kind, `elsewhere`, the style of the whole file. `before`
    is the character in front of the region.
    """
    head = _common(straight(old), straight(new))
    most = min(len(old), len(new)) - head
    tail = min(most, _common(straight(old)[::-1], straight(new)[::-1]))
    kept_tail = region[len(region) - tail :]
    middle = new[head : len(new) - tail]
    replaced = region[head : len(region) - tail]
    for kind in _PAIRS:
        lead = (before + region[:head])[-1:]
        style = style_of(region, kind) or elsewhere[kind]
        middle = _one_by_one(kind, replaced, middle) or _in_style(kind, style, middle, lead)
    return region[:head] + middle + kept_tail


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _one_by_one(kind: Kind, replaced: str, middle: str) -> str | None:
    """Put the quotes of what is replaced in the place of the new ones; None where there are not as many."""
    own = [char for char in replaced if char in _PAIRS[kind]]
    if not own or len(own) != sum(char in _PAIRS[kind] for char in middle):
        return None
    quotes = iter(own)
    return "".join(next(quotes) if char in _PAIRS[kind] else char for char in middle)


def _in_style(kind: Kind, style: Style | None, middle: str, lead: str) -> str:
    plain, opening, closing = _PAIRS[kind]
    if style is None:
        return middle
    if style == "straight":
        return middle.replace(opening, plain).replace(closing, plain)
    shaped: list[str] = []
    for char in middle:
        if char == plain:
            char = opening if not lead or lead.isspace() or lead in _OPENS_AFTER else closing
        shaped.append(char)
        lead = char
    return "".join(shaped)
