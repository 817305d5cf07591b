"""Whether what clients saw of one file can be put into one order: the search of Wing and Gong, with Lowe's memory.

The file is a register with conditional writes. An operation takes effect at one moment between its call and its
return; the search looks for an order of such moments in which every answer is true.

J. M. Wing, C. Gong, "Testing and verifying concurrent objects", 1993; G. Lowe, "Testing for linearizability", 2017.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

State = bytes | None  # None: there is no such file


class Kind(Enum):
    """What an operation is."""

    READ = "read"
    WRITE = "write"
    WRITE_IF = "write_if"
    CREATE = "create"
    APPEND = "append"
    EDIT = "edit"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Operation:
    """One call on the file and how it ended. Times are seconds of one clock.

    `new` is the text that is written, `expected` the hash of a conditional write (None: no file) or the line that an
    edit replaces. `result` is the hash that a read saw (None: no file), and of changes "done" or the refusal's slug;
    "unknown" where nobody can tell whether it was done.
    """

    kind: Kind
    called: float
    returned: float
    result: str | None
    new: bytes = b""
    expected: str | None = None
    name: str = ""


def hash_of(state: State) -> str | None:
    """What a read tells of a state."""
    return None if state is None else hashlib.sha256(state).hexdigest()


# Refusals that are no statement on the file.
_BUSY = frozenset({"path_busy", "overloaded", "shutting_down", "cancelled"})
_REFUSED_IF = frozenset({"conflict", "not_found"})


def step(state: State, operation: Operation) -> tuple[State, ...]:
    """The states after the operation, if it took effect on this one; none where its answer would be a lie."""
    if operation.result == "unknown":
        return tuple({state, _changed(state, operation)})
    if operation.kind is Kind.READ:
        return (state,) if hash_of(state) == operation.result else ()
    if operation.result in _BUSY:
        return (state,)
    if operation.result == "done":
        return (_changed(state, operation),) if _applies(state, operation) else ()
    return (state,) if _refuses(state, operation) else ()


def _applies(state: State, operation: Operation) -> bool:
    """Whether the change can have been made to this state."""
    match operation.kind:
        case Kind.WRITE | Kind.APPEND:
            return True
        case Kind.WRITE_IF:
            return hash_of(state) == operation.expected
        case Kind.CREATE:
            return state is None
        case Kind.EDIT:
            return _occurrences(state, operation) == 1
        case Kind.REMOVE:
            return state is not None
        case Kind.READ:
            return False
        case unknown:
            assert_never(unknown)


def _refuses(state: State, operation: Operation) -> bool:
    """Whether the refusal tells the truth of this state."""
    match operation.kind, operation.result:
        case Kind.WRITE_IF, slug if slug in _REFUSED_IF:
            return hash_of(state) != operation.expected
        case Kind.CREATE, "file_exists":
            return state is not None
        case ((Kind.EDIT | Kind.REMOVE), "not_found"):
            return state is None
        case Kind.EDIT, "no_match":
            return state is not None and _occurrences(state, operation) == 0
        case _:
            return False


def _changed(state: State, operation: Operation) -> State:
    match operation.kind:
        case Kind.READ:
            return state
        case Kind.REMOVE:
            return None
        case Kind.APPEND:
            return (state or b"") + operation.new
        case Kind.EDIT:
            return state if state is None else state.replace((operation.expected or "").encode(), operation.new)
        case Kind.WRITE | Kind.WRITE_IF | Kind.CREATE:
            return operation.new
        case unknown:
            assert_never(unknown)


def _occurrences(state: State, operation: Operation) -> int:
    return (state or b"").count((operation.expected or "").encode())


def first_lie(history: Sequence[Operation], state: State = None) -> Operation | None:
    """None where the history is linearizable from this state; else the operation that no order gets past."""
    ordered = sorted(history, key=lambda operation: operation.called)
    # A place in the search: all before `base` have taken effect, and those after it whose bits are set; and the state.
    start = (0, 0, state)
    waiting, seen, furthest = [start], {start}, 0
    while waiting:
        base, mask, now = waiting.pop()
        if base == len(ordered):
            return None
        furthest = max(furthest, base)
        for place in _next(ordered, base, mask):
            after = _mark(base, mask, place)
            for then in step(now, ordered[place]):
                found = (*after, then)
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return ordered[furthest]


def _next(ordered: Sequence[Operation], base: int, mask: int) -> list[int]:
    """Which operations may take effect next: those called before any that is left returned."""
    places, earliest = [], math.inf
    for place in range(base, len(ordered)):
        operation = ordered[place]
        if operation.called > earliest:
            break
        if not mask >> (place - base) & 1:
            places.append(place)
            earliest = min(earliest, operation.returned)
    return [place for place in places if ordered[place].called <= earliest][::-1]


def _mark(base: int, mask: int, place: int) -> tuple[int, int]:
    mask |= 1 << (place - base)
    while mask & 1:
        base, mask = base + 1, mask >> 1
    return base, mask
