"""Show what an edit changed: a unified diff of two versions of a file, and a window of it that fits a budget."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, takewhile
from typing import Literal

from picoclawd import limits
from picoclawd.text import lines

DiffKind = Literal["header", "context", "removed", "added"]

# Bits of the table that finds the longest common subsequence, 8 MiB: 8,192 lines against as many take 30 ms.
_TABLE_MAX_BITS = 64 * 1024 * 1024
_BUDGET_MIN_CHARS = 16  # beside the notice: less shows nothing of use
_NO_NEWLINE = "\\ No newline at end of file"
_SIGNS: dict[DiffKind, str] = {"context": " ", "removed": "-", "added": "+"}
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a unified diff, as it stands in the diff: with its sign, without its newline.

    Text that comes from the file is never of kind `header`; headers, and the note that a newline is missing, are.
    Invalid UTF-8 shows as U+FFFD; a `\\r` before the newline is kept.
    """

    kind: DiffKind
    text: str


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of changes: before[start:end] becomes after[new_start:new_end]. 0-based."""

    start: int
    end: int
    new_start: int
    new_end: int


def small_enough(data: bytes) -> bool:
    """Whether a file is small enough for a diff of it to be built: under 64 KiB and under 2,000 lines."""
    line_count = data.count(b"\n") + (not data.endswith(b"\n"))
    return len(data) < limits.DIFF_FILE_MAX_BYTES and line_count < limits.DIFF_FILE_MAX_LINES


def unified(path: str, before: bytes, after: bytes, context: int = 3) -> tuple[DiffLine, ...]:
    """Build the unified diff between two versions of the file at `path`; empty where they are equal.

    The shortest possible for versions of up to some 8,000 changed lines; beyond that, what lies between the first
    and the last change may be shown as replaced whole.
    """
    start, end, new_end = _differing(before, after, context)
    skipped = before.count(b"\n", 0, start)
    old, new = lines.split_lines(before[start:end]), lines.split_lines(after[start:new_end])
    hunks = list(_grouped(_blocks(old, new), context))
    if not hunks:
        return ()
    out = [DiffLine("header", "--- " + quoted(f"a/{path}")), DiffLine("header", "+++ " + quoted(f"b/{path}"))]
    for blocks in hunks:
        out += _hunk(old, new, blocks, context, skipped)
    return tuple(out)


def _differing(before: bytes, after: bytes, context: int) -> tuple[int, int, int]:
    """Where the lines are that differ, with `context` lines around: start in both, end in `before`, end in `after`.

    Only these are split: an edit of one line costs what its surroundings do, however long the file is.
    """
    head = _agreeing(before, after)
    tail = _agreeing(before[head:][::-1], after[head:][::-1])
    start = before.rfind(b"\n", 0, head) + 1
    for _ in range(context):
        start = before.rfind(b"\n", 0, max(start - 1, 0)) + 1
    end = before.find(b"\n", len(before) - tail)
    for _ in range(context):
        end = before.find(b"\n", end + 1) if end >= 0 else end
    kept = 0 if end < 0 else len(before) - end - 1
    return start, len(before) - kept, len(after) - kept


def _agreeing(one: bytes, other: bytes) -> int:
    """How many of the first bytes are the same in both."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def bounded(rows: Sequence[DiffLine], max_chars: int) -> tuple[tuple[DiffLine, ...], bool]:
    """Keep head and tail around a notice (a `header` line) where the diff is over `max_chars`, newlines included.

    Returns the lines and whether any was left out. The notice counts the lines that are not shown whole; a line is
    cut only where none would fit whole before the notice.
    """
    if sum(len(row.text) + 1 for row in rows) - 1 <= max_chars:
        return tuple(rows), False
    budget = max_chars - len(_omission(len(rows)))
    if budget < _BUDGET_MIN_CHARS:
        return (DiffLine("header", _omission(len(rows))[: max(0, max_chars)]),), True
    head = _fitting(rows, budget // 2)
    before = rows[:head] or [DiffLine(rows[0].kind, rows[0].text[: budget // 2 - 2] + "…")]
    tail = _fitting(rows[:head:-1], budget - sum(len(row.text) + 1 for row in before))
    notice = DiffLine("header", _omission(len(rows) - head - tail))
    return (*before, notice, *rows[len(rows) - tail :]), True


def window(rows: Sequence[str], max_chars: int) -> tuple[str, bool]:
    """Join rows with newlines, bounded in the same way: at most `max_chars` with the notice, and whether it was cut."""
    kept, truncated = bounded([DiffLine("context", row) for row in rows], max_chars)
    return "\n".join(row.text for row in kept), truncated


def _omission(count: int) -> str:
    return f"[... {count} line{'' if count == 1 else 's'} omitted ...; read_file shows the full file]"


def _fitting(rows: Sequence[DiffLine], max_chars: int) -> int:
    """How many of the first rows fit, each with its newline."""
    ends = accumulate(len(row.text) + 1 for row in rows)
    return sum(1 for _ in takewhile(lambda end: end <= max_chars, ends))


def matching(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of lines that both have, in order: start in `old`, start in `new`, how many."""
    done = new_done = 0
    for block in _blocks(old, new):
        if block.start > done:
            yield done, new_done, block.start - done
        done, new_done = block.end, block.new_end
    if len(old) > done:
        yield done, new_done, len(old) - done


def quoted(name: str) -> str:
    """Quote a name as git does where it would break the header (`core.quotePath=false`).

    A byte that is no UTF-8 stands in `name` as `surrogateescape` has it.
    """
    if name.isprintable() and not {'"', "\\"} & set(name):
        return name
    return '"' + "".join(map(_quoted_char, name.translate(_ESCAPES))) + '"'


def _quoted_char(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\{code - 0xDC00:03o}"
    return f"\\{code:03o}" if code < 0x20 or code == 0x7F else char


def _blocks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Block]:
    """Yield the changes between two lists of lines, in order."""
    shortest = min(len(old), len(new))
    head = next((index for index in range(shortest) if old[index] != new[index]), shortest)
    rest = shortest - head
    tail = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    done, new_done = head, head
    pairs = _common(old[head : len(old) - tail], new[head : len(new) - tail])
    for index, new_index in [*((one + head, two + head) for one, two in pairs), (len(old) - tail, len(new) - tail)]:
        if (done, new_done) != (index, new_index):
            yield _Block(done, index, new_done, new_index)
        done, new_done = index + 1, new_index + 1


def _common(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pair the lines of a longest common subsequence. Lines that only one side has are set aside first."""
    both = set(old) & set(new)
    old_at = [index for index, line in enumerate(old) if line in both]
    new_at = [index for index, line in enumerate(new) if line in both]
    if len(old_at) * len(new_at) > _TABLE_MAX_BITS:
        return []
    pairs = _subsequence([old[index] for index in old_at], [new[index] for index in new_at])
    return [(old_at[one], new_at[two]) for one, two in pairs]


def _subsequence(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Walk back through the table of `_table`, matching wherever the lines are equal: that is never worse."""
    table = _table(old, new)
    pairs: list[tuple[int, int]] = []
    row, column = len(old), len(new)
    while row and column:
        if old[row - 1] == new[column - 1]:
            row, column = row - 1, column - 1
            pairs.append((row, column))
        elif _is_step(table[row], column):
            row -= 1
        else:
            column -= 1
    pairs.reverse()
    return pairs


def _is_step(bits: int, column: int) -> bool:
    """Whether the subsequence grows with this column, so that leaving the column out would lose a pair."""
    return not bits >> (column - 1) & 1


def _table(old: Sequence[bytes], new: Sequence[bytes]) -> list[int]:
    """Compute the longest common subsequence for each prefix of `old`, one integer each, one bit a line of `new`.

    A zero bit is a column with which the subsequence grows (Hyyro, "Bit-parallel LCS-length computation revisited",
    2004). Additions of long integers do 30 columns at a time, so no input is slow.
    """
    where: dict[bytes, int] = {}
    for column, line in enumerate(new):
        where[line] = where.get(line, 0) | 1 << column
    full = (1 << len(new)) - 1
    bits = full
    table = [bits]
    for line in old:
        matches = bits & where[line]
        bits = ((bits + matches) | (bits - matches)) & full
        table.append(bits)
    return table


def _grouped(blocks: Iterator[_Block], context: int) -> Iterator[list[_Block]]:
    """Yield the changes hunk by hunk: those whose context touches or overlaps share one."""
    group: list[_Block] = []
    for block in blocks:
        if group and block.start - group[-1].end > 2 * context:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(
    old: Sequence[bytes], new: Sequence[bytes], blocks: Sequence[_Block], context: int, skipped: int
) -> Iterator[DiffLine]:
    """The lines of one hunk. `skipped` is how many lines both have before the first of `old` and `new`."""
    first, last = blocks[0], blocks[-1]
    before = min(context, first.start)
    behind = min(context, len(old) - last.end)
    start, end = first.start - before, last.end + behind
    new_start, new_end = first.new_start - before, last.new_end + behind
    ranges = _range(start + skipped, end + skipped), _range(new_start + skipped, new_end + skipped)
    yield DiffLine("header", f"@@ -{ranges[0]} +{ranges[1]} @@")
    done = start
    for block in blocks:
        yield from _rows("context", old[done : block.start])
        yield from _rows("removed", old[block.start : block.end])
        yield from _rows("added", new[block.new_start : block.new_end])
        done = block.end
    yield from _rows("context", islice(old, done, end))


def _range(start: int, end: int) -> str:
    """A range as diff(1) writes it: 1-based, the length left out if it is 1, the line before if it is 0."""
    size = end - start
    if size == 1:
        return str(start + 1)
    return f"{start + 1 if size else start},{size}"


def _rows(kind: DiffKind, chunk: Sequence[bytes] | Iterator[bytes]) -> Iterator[DiffLine]:
    for line in chunk:
        yield DiffLine(kind, _SIGNS[kind] + line.removesuffix(b"\n").decode(errors="replace"))
        if not line.endswith(b"\n"):
            yield DiffLine("header", _NO_NEWLINE)
