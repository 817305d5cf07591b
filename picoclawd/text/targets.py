"""Replace several texts in a file's bytes at once, each found in the file as it was before any of them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from typing import Literal

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.text import lines, quotes, replace

FILE_MAX_BYTES = limits.MIB  # the most that a file may have, before and after: more is no text that one edits so
TARGETS_MAX = 256  # each is looked for in all earlier new_strings

_CURLY = rb"\xe2\x80[\x98\x99\x9c\x9d]"
_FOLDS_QUOTES = re.compile(_CURLY)
_FOLDS_LINE_ENDS = re.compile(rb"\r\n")
_FOLDS_BOTH = re.compile(rb"\r\n|" + _CURLY)
_CRLF = b"\r\n"
_LF = b"\n"

# What the line ends of a new text follow: the caller, the line that its place is within, or the lines it replaces.
_Ends = Literal["as_given", "of_line", "of_region"]


@dataclass(frozen=True, slots=True)
class Target:
    """One text to replace: `old_string` once, or everywhere with `replace_all`; an empty `new_string` deletes."""

    old_string: str
    new_string: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes to put in place of a part of the text behind the byte order mark. `index` is the target's, from 0."""

    start: int
    end: int
    fresh: bytes
    index: int


def apply_targets(original: bytes, targets: Sequence[Target]) -> bytes:
    """Make every replacement, or none: all else keeps its bytes.

    A text is found as `replace.replace_once` finds it: exactly, else with LF for CRLF; and after that also with
    curly quotes for straight ones and the other way round, where the replacement keeps the file's quotes. The first
    way with a match decides. New line ends follow the file's as there. Every fault's data has `target`, the index
    from 0, where it is one target's.

    Raises:
        Fault: `too_large` (over FILE_MAX_BYTES, before or after), `invalid_params` (an empty old_string, a lone
            surrogate), `target_in_earlier`, `no_match`, `ambiguous_match`, `target_overlap` (`targets`, `lines`),
            `would_empty`.
    """
    _refuse_large(len(original), "has")
    bom, text = lines.split_bom(original)
    edits = locate(original, targets)
    _refuse_large(len(original) + sum(len(edit.fresh) - (edit.end - edit.start) for edit in edits), "would have")
    after = b"".join(_pieces(text, edits))
    if text and not after:
        raise Fault(
            Slug.WOULD_EMPTY,
            "the targets would leave the file empty; nothing was written. To empty a file on purpose, give "
            "`content`; to get rid of it, use remove_file.",
        )
    return bom + after


def locate(original: bytes, targets: Sequence[Target]) -> list[Edit]:
    """Find what each target replaces, in the file's order; no two overlap.

    Raises: as `apply_targets`, but too_large and would_empty.
    """
    _, text = lines.split_bom(original)
    wanted = [_checked(index, target) for index, target in enumerate(targets)]
    _refuse_nested(targets)
    finder = _Finder(original, text)
    edits = [edit for index, old in enumerate(wanted) for edit in finder.edits(index, targets[index], old)]
    edits.sort(key=lambda edit: (edit.start, edit.end))
    _refuse_overlap(text, edits)
    return edits


def _name(index: int) -> str:
    return f"targets[{index}].old_string"


def _checked(index: int, target: Target) -> bytes:
    replace.encoded(target.new_string, f"targets[{index}].new_string")
    if not target.old_string:
        raise Fault(
            Slug.INVALID_PARAMS,
            f"{_name(index)} is empty: give the exact text to replace. To insert, repeat the text beside the place "
            "in new_string.",
            target=index,
            path=f"$.{_name(index)}",
        )
    return replace.encoded(target.old_string, _name(index))


def _refuse_large(size_bytes: int, has: str) -> None:
    if size_bytes > FILE_MAX_BYTES:
        raise Fault(
            Slug.TOO_LARGE,
            f"the file {has} {size_bytes} bytes; targets edit files of at most {FILE_MAX_BYTES}. "
            "Use `old_text` with `new_text`, or `patch`.",
            size=size_bytes,
            limit=FILE_MAX_BYTES,
        )


def _refuse_nested(targets: Sequence[Target]) -> None:
    """An old_string inside an earlier new_string was most likely meant to be found there, and would not be."""
    fresh: list[str] = []
    for index, target in enumerate(targets):
        old = target.old_string.replace("\r\n", "\n")
        for earlier, new in enumerate(fresh):
            if old in new:
                raise Fault(
                    Slug.TARGET_IN_EARLIER,
                    f"{_name(index)} occurs in targets[{earlier}].new_string. Each target is looked for in the file "
                    f"as it is, before any change: make targets {earlier} and {index} one target, or two calls.",
                    target=index,
                    earlier=earlier,
                    path=f"$.{_name(index)}",
                )
        fresh.append(target.new_string.replace("\r\n", "\n"))


def _refuse_overlap(text: bytes, edits: Sequence[Edit]) -> None:
    for one, other in pairwise(edits):
        if other.start < one.end:
            first, second = sorted((one.index, other.index))
            line_no = text.count(_LF, 0, other.start) + 1
            raise Fault(
                Slug.TARGET_OVERLAP,
                f"targets[{first}] and targets[{second}] cover the same text at line {line_no}. Nothing was written: "
                "make them one target.",
                target=second,
                targets=[first, second],
                lines=[line_no],
            )


def _pieces(text: bytes, edits: Sequence[Edit]) -> Iterator[bytes]:
    done = 0
    for edit in edits:
        yield text[done : edit.start]
        yield edit.fresh
        done = edit.end
    yield text[done:]


class _Finder:
    """Finds targets in one text, in the ways that are tried one after the other."""

    def __init__(self, original: bytes, text: bytes) -> None:
        self._original = original
        self._text = text
        self._holds_crlf = _CRLF in text
        self._styles: Mapping[quotes.Kind, quotes.Style | None] | None = None

    def edits(self, index: int, target: Target, wanted: bytes) -> list[Edit]:
        """Where the target's text stands, and what comes there.

        Raises: no_match, ambiguous_match.
        """
        fresh = target.new_string.encode()
        holds_ends = _LF in wanted or b"\r" in wanted
        if wanted in self._text:
            spans = _spans(self._text, wanted, index, target)
            return self._made(index, spans, repeat(fresh, len(spans)), "as_given" if holds_ends else "of_line")
        folds_ends = self._holds_crlf and _LF in wanted and _CRLF not in wanted
        if folds_ends:
            view = _View(self._text, _FOLDS_LINE_ENDS)
            if wanted in view.folded:
                spans = [view.span(*span) for span in _spans(view.folded, wanted, index, target)]
                return self._made(index, spans, repeat(fresh, len(spans)), "of_region")
        if quotes.holds_quotes(target.old_string):
            view = _View(self._text, _FOLDS_BOTH if folds_ends else _FOLDS_QUOTES)
            plain = quotes.straight(target.old_string).encode()
            if plain in view.folded:
                spans = [view.span(*span) for span in _spans(view.folded, plain, index, target)]
                ends: _Ends = "of_region" if folds_ends else "as_given" if holds_ends else "of_line"
                return self._made(index, spans, self._restyled(target, spans, folds_ends), ends)
        raise replace.not_found(self._original, wanted, _name(index), target=index, path=f"$.{_name(index)}")

    def _made(self, index: int, spans: Sequence[tuple[int, int]], texts: Iterable[bytes], ends: _Ends) -> list[Edit]:
        """Edits with their line ends as the file has them."""
        made: list[Edit] = []
        ending, until = _LF, -1
        for (start, end), fresh in zip(spans, texts, strict=True):
            if self._holds_crlf and ends != "as_given" and _LF in fresh:
                if ends == "of_region":
                    ending = replace.main_ending(self._text[start:end])
                elif start > until:  # many places on one line are looked at once
                    ending, until = replace.ending_at(self._text, start), self._line_end(start)
                fresh = replace.with_ending(fresh, ending)
            made.append(Edit(start, end, fresh, index))
        return made

    def _line_end(self, place: int) -> int:
        newline = self._text.find(_LF, place)
        return newline if newline >= 0 else len(self._text)

    def _restyled(self, target: Target, spans: Sequence[tuple[int, int]], folds_ends: bool) -> Iterator[bytes]:
        """New texts that keep the quotes of what they replace."""
        for start, end in spans:
            region = _decoded(self._text[start:end])
            region = region.replace("\r\n", "\n") if folds_ends else region
            before = _decoded(self._text[max(0, start - 4) : start])[-1:]
            new = quotes.restyle(region, target.old_string, target.new_string, before, self._file_styles())
            yield new.encode(errors="surrogateescape")

    def _file_styles(self) -> Mapping[quotes.Kind, quotes.Style | None]:
        if self._styles is None:
            text = _decoded(self._text)
            self._styles = {
                "double": quotes.style_of(text, "double"),
                "single": quotes.style_of(text, "single"),
            }
        return self._styles


def _decoded(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _spans(text: bytes, wanted: bytes, index: int, target: Target) -> list[tuple[int, int]]:
    """Each place of a text that is there, without overlap; one only, unless the target wants all."""
    if not target.replace_all and (count := text.count(wanted)) > 1:
        hint = ", or set replace_all to change each of them"
        name = _name(index)
        raise replace.ambiguous(text, wanted, count, name, hint, target=index, path=f"$.{name}")
    found: list[tuple[int, int]] = []
    start = text.find(wanted)
    while start >= 0:
        found.append((start, start + len(wanted)))
        start = text.find(wanted, start + len(wanted))
    return found


class _View:
    """A text with some of its characters folded to one byte each: `\\r\\n` to `\\n`, curly quotes to straight ones."""

    def __init__(self, text: bytes, pattern: re.Pattern[bytes]) -> None:
        pieces: list[bytes] = []
        places: list[int] = []
        surplus: list[int] = []
        done = lost = 0
        for match in pattern.finditer(text):
            pieces += [text[done : match.start()], _folded(match[0])]
            places.append(match.start() - lost)
            lost += len(match[0]) - 1
            surplus.append(len(match[0]) - 1)
            done = match.end()
        self.folded = b"".join([*pieces, text[done:]])
        self._places = places
        self._lost = [0, *accumulate(surplus)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same part in the text itself."""
        return self._unfolded(start), self._unfolded(end)

    def _unfolded(self, place: int) -> int:
        return place + self._lost[bisect_left(self._places, place)]


def _folded(found: bytes) -> bytes:
    if found == _CRLF:
        return _LF
    return b"'" if found[2] in b"\x98\x99" else b'"'
