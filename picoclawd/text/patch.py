"""Place the hunks of a parsed V4A patch in a file, and build the file that results.

Placing comes first, for all hunks, and building after it: a patch applies whole or not at all.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, islice, pairwise

from picoclawd.errors import Fault, Slug
from picoclawd.text import differences, lines, nearest
from picoclawd.text.v4a import Hunk, HunkLine, Patch

_PLACES_NAMED_MAX = 20  # of a hunk that fits several: naming more would help nobody to choose
# Hunks times file size: each hunk is looked for in the whole file, at some 3 GiB a second.
_WORK_MAX_BYTES = 16 * 1024**3
_CRLF = b"\r\n"


def apply(original: bytes, patch: Patch) -> bytes:
    """Apply all hunks of a patch to a file's bytes, or none.

    A hunk's lines are compared with the file's without endings. Four steps, the first with a match decides and must
    have exactly one: exact after the previous hunk; without trailing whitespace after it; exact in the whole file;
    without trailing whitespace in the whole file. Hunks may so come in any order, but must not overlap. Lines that
    are matched as context keep their bytes.

    Line endings: a line keeps its own; an added line takes that of the line it replaces, else of the line it
    follows, else of the one it precedes. What ends up behind a last line without newline gives that line the file's
    usual ending (that of most lines; LF in an empty file) and has none itself.

    Raises:
        Fault: `ambiguous_match` (`hunk`, `lines`: where it fits) or `patch_rejected` (`hunk`): a hunk fits nowhere
            (nearest lines in `excerpt`), overlaps another, only adds lines without `*** End of File`, or the patch
            changes nothing or is applied already; `too_large`: too many hunks for so large a file.
    """
    _check_work(original, patch)
    bom, text = lines.split_bom(original)
    file = _File(text)
    placed = _place_all(file, patch.hunks)
    changed = bom + _build(file, placed)
    if changed == original:
        raise Fault(Slug.PATCH_REJECTED, "The patch changes nothing: its removed and added lines are the same.")
    _refuse_applied(file, placed)
    return changed


@dataclass(frozen=True, slots=True)
class _Placed:
    """A hunk with the 0-based range of lines that it matched."""

    hunk: Hunk
    start: int
    end: int


class _Rows:
    """Lines to search in, joined into one text: bytes.find is linear however much the lines repeat."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self.count = len(rows)
        self.rows = rows
        self._text = b"\n".join((b"", *rows, b""))
        self._starts = array("Q", accumulate((len(row) + 1 for row in rows), initial=0))

    def find(self, wanted: Sequence[bytes], after: int) -> Iterator[int]:
        """Yield each index from `after` on at which the wanted rows, one at least, begin."""
        needle = b"\n" + b"\n".join(wanted) + b"\n"
        offset = self._text.find(needle, self._starts[after])
        while offset >= 0:
            yield bisect_left(self._starts, offset)
            offset = self._text.find(needle, offset + 1)

    def at(self, wanted: Sequence[bytes], index: int) -> bool:
        """Whether the wanted rows stand at this index."""
        return index >= 0 and list(self.rows[index : index + len(wanted)]) == list(wanted)


class _File:
    """The file's lines with their endings, and as the two kinds of rows that hunks are compared with."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.lines = lines.split_lines(text)

    @cached_property
    def exact(self) -> _Rows:
        return _Rows(self.text.replace(_CRLF, b"\n").split(b"\n")[: len(self.lines)])

    @cached_property
    def loose(self) -> _Rows:
        return _Rows([line.rstrip() for line in self.lines])

    @cached_property
    def ending(self) -> bytes:
        """The ending of most lines; a tie is decided by the first line, and without any ending it is LF."""
        crlf = self.text.count(_CRLF)
        lf = self.text.count(b"\n") - crlf
        if crlf == lf and crlf:
            return lines.ending(self.lines[0])
        return _CRLF if crlf > lf else b"\n"


def _check_work(original: bytes, patch: Patch) -> None:
    if len(original) * len(patch.hunks) > _WORK_MAX_BYTES:
        raise Fault(
            Slug.TOO_LARGE,
            f"{len(patch.hunks)} hunks are too many for a file of {len(original)} bytes. Send them in several patches.",
        )


def _place_all(file: _File, hunks: Sequence[Hunk]) -> list[_Placed]:
    """Place the hunks, and return them in the file's order."""
    placed: list[_Placed] = []
    for hunk in hunks:
        start = _place(file, hunk, placed[-1].end if placed else 0)
        placed.append(_Placed(hunk, start, start + len(hunk.source)))
    placed.sort(key=lambda each: (each.start, each.end, each.hunk.index))
    for one, other in pairwise(placed):
        if other.start < one.end:
            raise _overlap(one, other)
    return placed


def _place(file: _File, hunk: Hunk, after: int) -> int:
    source = hunk.source
    if not source:
        return _place_addition(file, hunk)
    loose = [row.rstrip() for row in source]
    for begin in dict.fromkeys((after, 0)):
        places = _places(file.exact, source, begin, at_end=hunk.at_end)
        places = places or _places(file.loose, loose, begin, at_end=hunk.at_end)
        if len(places) > 1:
            raise _several_places(hunk, places)
        if places:
            return places[0]
    raise _no_place(file, hunk)


def _place_addition(file: _File, hunk: Hunk) -> int:
    if hunk.at_end:
        return len(file.lines)
    raise Fault(
        Slug.PATCH_REJECTED,
        f"Hunk {hunk.index} only adds lines, so where they belong is ambiguous. Add context lines (they start with a "
        "space) around them, or close the hunk with `*** End of File` to append them.",
        hunk=hunk.index,
    )


def _places(rows: _Rows, wanted: Sequence[bytes], begin: int, *, at_end: bool) -> list[int]:
    """Where the rows stand, as indexes: all that an error would name, and one more."""
    if at_end:
        last = rows.count - len(wanted)
        return [last] if last >= begin and rows.at(wanted, last) else []
    return list(islice(rows.find(wanted, begin), _PLACES_NAMED_MAX + 1))


def _build(file: _File, placed: Sequence[_Placed]) -> bytes:
    """Put the new file together; whatever is not its last line is terminated."""
    out: list[bytes] = []
    done = 0
    for each in placed:
        out += file.lines[done : each.start]
        out += _rewritten(file, each)
        done = each.end
    out += file.lines[done:]
    last = out[-1:]
    return b"".join([line if line.endswith(b"\n") else _with_ending(line, file.ending) for line in out[:-1]] + last)


def _with_ending(text: bytes, ending: bytes) -> bytes:
    """Add an ending to an added line; a `\\r` that the patch itself wrote is not doubled."""
    return text + (b"\n" if ending == _CRLF and text.endswith(b"\r") else ending)


def _rewritten(file: _File, placed: _Placed) -> Iterator[bytes]:
    """Yield the lines that stand in the hunk's place: context from the file, added lines with their endings."""
    at = placed.start
    for is_context, group in groupby(placed.hunk.lines, key=lambda line: line.kind == "context"):
        run = list(group)
        if is_context:
            yield from file.lines[at : at + len(run)]
            at += len(run)
        else:
            yield from _added(file, at, run)
            at += sum(line.kind == "remove" for line in run)


def _added(file: _File, at: int, run: Sequence[HunkLine]) -> Iterator[bytes]:
    """Yield the added lines of a run of changes before line `at`; the n-th replaces the n-th removed one."""
    texts = [line.text for line in run if line.kind == "add"]
    removed = file.lines[at : at + len(run) - len(texts)]
    for index, text in enumerate(texts):
        is_last = index == len(texts) - 1
        if removed and is_last and not lines.ending(removed[-1]):
            model = removed[-1]  # the file's last line has no newline: so has what replaces it
        elif removed:
            model = removed[min(index, len(removed) - 1)]
        else:
            model = _neighbour(file, at)
        yield _with_ending(text, lines.ending(model))


def _neighbour(file: _File, at: int) -> bytes:
    """The line that an added one follows, else the one that it precedes."""
    if not file.lines:
        return file.ending
    return file.lines[at - 1 if at else 0]


def _several_places(hunk: Hunk, places: Sequence[int]) -> Fault:
    line_nos = [index + 1 for index in places[:_PLACES_NAMED_MAX]]
    more = ", and more" if len(places) > _PLACES_NAMED_MAX else ""
    return Fault(
        Slug.AMBIGUOUS_MATCH,
        f"Hunk {hunk.index} of the patch matches several places: it would begin at lines "
        f"{', '.join(map(str, line_nos))}{more}. Add more context lines. (The text after `@@` does not narrow it.)",
        hunk=hunk.index,
        lines=line_nos,
    )


def _overlap(one: _Placed, other: _Placed) -> Fault:
    first, second = sorted((one.hunk.index, other.hunk.index))
    return Fault(
        Slug.PATCH_REJECTED,
        f"Hunks {first} and {second} of the patch overlap at line {other.start + 1} of the file; a line may belong to "
        "one hunk only, context too. Join them into one hunk.",
        hunk=second,
    )


def _no_place(file: _File, hunk: Hunk) -> Fault:
    why, near = _reason(file, hunk)
    return Fault(
        Slug.PATCH_REJECTED,
        f"Hunk {hunk.index} of the patch matches nowhere in the file.{why} Nothing was written.",
        excerpt=nearest.excerpt(near),
        hunk=hunk.index,
    )


def _reason(file: _File, hunk: Hunk) -> tuple[str, tuple[nearest.Near, ...]]:
    """Why a hunk has no place, as a sentence with a leading space, and the lines to show."""
    count = min(3, len(hunk.source))
    applied = _applied_at(file, hunk)
    if applied is not None:
        why = f" It looks already applied: its result stands at line {applied + 1}. Read the file before sending more."
        return why, nearest.rows_from(file.exact.rows, applied + 1, count)
    elsewhere = _places(file.loose, [row.rstrip() for row in hunk.source], 0, at_end=False)
    if elsewhere:
        why = f" Its lines stand at line {elsewhere[0] + 1}, not at the end: leave `*** End of File` out."
        return why, nearest.rows_from(file.exact.rows, elsewhere[0] + 1, count)
    found = differences.line_differences(file.exact.rows, hunk.source)
    if found:
        return differences.sentences(found), nearest.rows_from(file.exact.rows, found[0].line_no, count)
    near = nearest.nearest(file.exact.rows, hunk.source)
    return (" The lines most like it are shown: read them again and repeat them exactly." if near else ""), near


def _applied_at(file: _File, hunk: Hunk) -> int | None:
    """Where the result of a hunk without a place stands, if it does and says enough."""
    result = [row.rstrip() for row in hunk.result]
    between = hunk.lines[0].kind == hunk.lines[-1].kind == "context"  # two lines that a removal has brought together
    if not any(result) or not (between or len(result) > sum(line.kind == "context" for line in hunk.lines)):
        return None
    places = _places(file.loose, result, 0, at_end=hunk.at_end)
    return places[0] if places else None


def _refuse_applied(file: _File, placed: Sequence[_Placed]) -> None:
    """Refuse a patch all of whose hunks still fit, but would only repeat what stands there from a first time.

    A hunk with context on one side of its added lines fits again after it was applied. An answer that was lost on
    the way must not double the lines when the patch is sent again.
    """
    changing = [each for each in placed if each.hunk.source != each.hunk.result]
    if not changing or not all(_repeats(file, each) for each in changing):
        return
    at = changing[0]
    raise Fault(
        Slug.PATCH_REJECTED,
        f"The patch looks already applied: what hunk {at.hunk.index} adds stands at line {at.start + 1} already. To "
        "add it once more, give context lines on both sides of it.",
        excerpt=nearest.excerpt(nearest.rows_from(file.exact.rows, at.start + 1, min(3, len(at.hunk.result)))),
        hunk=at.hunk.index,
    )


def _repeats(file: _File, placed: _Placed) -> bool:
    """Whether a growing hunk's result stands where the hunk was placed; blank lines may be repeated at will."""
    hunk = placed.hunk
    source, result = hunk.source, hunk.result
    if (
        not source
        or len(result) <= len(source)
        or not any(line.text.strip() for line in hunk.lines if line.kind == "add")
    ):
        return False
    leading = next(index for index, line in enumerate(hunk.lines) if line.kind != "add")
    trailing = next(index for index, line in enumerate(reversed(hunk.lines)) if line.kind != "add")
    return file.exact.at(result, placed.start - leading) or file.exact.at(result, placed.end + trailing - len(result))
