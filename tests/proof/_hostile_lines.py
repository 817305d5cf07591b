"""Lines that were requests once, and what a reader of JSON-RPC 2.0 that is not ours expects for each."""

import json
import math
import random
from collections.abc import Iterator
from typing import Any

BATCH_MAX = 100  # requests in one batch, by the contract

REQUESTS: tuple[bytes, ...] = (
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}',
    b'{"jsonrpc":"2.0","method":"ping","params":[]}',
    b'{"jsonrpc":"2.0","id":null,"method":"session.info"}',
    b'{"jsonrpc":"2.0","id":2,"method":"session.open","params":{"client":"x","kind":"agent"}}',
    b'{"jsonrpc":"2.0","id":3,"method":"read_file","params":{"path":"a.txt","offset":0,"length":10}}',
    b'{"jsonrpc":"2.0","id":4,"method":"read_file","params":["a.txt",0,10]}',
    b'{"jsonrpc":"2.0","id":5,"method":"read_files","params":{"files":[{"path":"a.txt","around":[1,2]},{"path":"b"}]}}',
    b'{"jsonrpc":"2.0","id":6,"method":"list_dir","params":{"path":"d","limit":5}}',
    b'{"jsonrpc":"2.0","id":7,"method":"search_files","params":{"pattern":"a+","path":".","limit":5}}',
    b'{"jsonrpc":"2.0","id":8,"method":"find_files","params":{"queries":[{"pattern":"*.txt"}]}}',
    b'{"jsonrpc":"2.0","id":9,"method":"write_file","params":{"path":"n.txt","content":"\\u00e9\\n","overwrite":true}}',
    b'{"jsonrpc":"2.0","id":10,"method":"append_file","params":{"path":"a.txt","content":"x","_meta":{"op":"o"}}}',
    b'{"jsonrpc":"2.0","id":11,"method":"edit_file","params":{"path":"a.txt","old_text":"a","new_text":"b"}}',
    b'{"jsonrpc":"2.0","id":12,"method":"file_history","params":{"path":"a.txt","from":"2020-01-01"}}',
    b'{"jsonrpc":"2.0","id":13,"method":"outcome.get","params":{"op":"o"}}',
    b'{"jsonrpc":"2.0","id":14,"method":"changes.since","params":{"cursor":"x"}}',
    b'{"jsonrpc":"2.0","id":15,"method":"task.begin","params":{"objective":"x"}}',
    b'{"jsonrpc":"2.0","id":16,"method":"workspace.status"}',
    b'{"jsonrpc":"2.0","id":17,"method":"metrics"}',
    b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"ping"},7]',
    b'[{"jsonrpc":"2.0","method":"ping"}]',
    b"[]",
    b" \t\r",
)
# What parsers stumble over, in JSON and beside it.
_SPLINTERS: tuple[bytes, ...] = (
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\u", b"\\ud83d", b"\\udc00", b"\\u0000", b"\x00", b"\xff",
    b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"\t", b"\x7f", b"NaN",
    b"-Infinity", b"1e999", b"-0", b"1.0", b"0x10", b"18446744073709551616", b"9" * 400, b"null", b"true", b"[" * 2000,
    b'{"a":' * 1000, b"2.0", b'"id":[]', b'"id":{}', b'"id":true', b'"id":1e2', b'"params":null', b'"_meta":{"op":7}',
    b'"_meta":{"progress":true}', b'"method":"rpc.discover"', b"/*", b"//", b"'", b"\\n", b"\x1b[2J",
)  # fmt: skip


def lines(seed: int) -> Iterator[bytes]:
    """Mutants without end; none holds a line ending. The same seed gives the same ones."""
    dice = random.Random(seed)
    while True:
        line = dice.choice(REQUESTS)
        for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 8))):
            line = _mutant(line, dice)
        yield line.replace(b"\n", b"")


def _mutant(line: bytes, dice: random.Random) -> bytes:
    place, other = dice.randrange(len(line) + 1), dice.randrange(len(line) + 1)
    first, last = min(place, other), max(place, other)
    match dice.randrange(8):
        case 0:
            return line[:place] + bytes([dice.randrange(256)]) + line[place + 1 :]
        case 1:
            return line[:place] + line[place + 1 :]
        case 2:
            return line[:place] + dice.choice(_SPLINTERS) + line[place:]
        case 3:
            return line[:place]
        case 4:
            return line[:first] + line[last:]
        case 5:
            return line[:last] + line[first:]
        case 6:
            return line[:place] + dice.choice(REQUESTS)[other:]
        case _ if len(line) > 4000:
            return line + b" "
        case _:
            return b"[" + b",".join([line] * dice.choice((1, 2, 100, 101))) + b"]"


def is_answered(line: bytes) -> bool:
    """Whether the line gets a line of answer, as the standard library's reader and the specification have it."""
    if not line.strip(b" \t\r"):
        return False
    try:
        value = json.loads(line.removesuffix(b"\r").decode(), parse_constant=_refuse, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()  # refuses lone surrogates
    except (ValueError, RecursionError):
        return True
    if isinstance(value, list) and 0 < len(value) <= BATCH_MAX:
        return not all(_is_notification(each) for each in value)
    return not _is_notification(value)


def _is_notification(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "id" not in value
        and value.get("jsonrpc") == "2.0"
        and isinstance(value.get("method"), str)
        and isinstance(value.get("params", {}), (dict, list))
    )


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
