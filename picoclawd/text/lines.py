"""Split bytes into lines, each with its own ending. A line ends at `\\n` and nowhere else."""

BOM = b"\xef\xbb\xbf"


def split_bom(data: bytes) -> tuple[bytes, bytes]:
    """Part a leading UTF-8 byte order mark from the rest: it belongs to no line."""
    return (BOM, data[len(BOM) :]) if data.startswith(BOM) else (b"", data)


def split_lines(data: bytes) -> list[bytes]:
    """Split after each `\\n`, endings kept. `b""` has no line; `b"a"` has one, without an ending."""
    lines = data.split(b"\n")
    last = lines.pop()
    kept = [line + b"\n" for line in lines]
    if last:
        kept.append(last)
    return kept


def ending(line: bytes) -> bytes:
    """The line's own ending: `\\r\\n`, `\\n`, or nothing for an unterminated last line."""
    if line.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if line.endswith(b"\n") else b""


def body(line: bytes) -> bytes:
    """The line without its ending."""
    return line[: len(line) - len(ending(line))]
