"""Cut a byte stream into lines, holding no more of it than allowed. Sans-io: bytes in, lines out.

Only 0x0A ends a line; a `\\r` before it and blank lines are ignored. A line that is too long, or that the common
budget has no room for, is announced at once and the rest of it is dropped unread into memory.
"""

from enum import Enum

from picoclawd.rpc.budget import Account

_BLANK = b" \t\r"


class Dropped(Enum):
    """Why a line is not there."""

    OVERSIZED = "oversized"
    OVER_BUDGET = "over budget"


class LineBuffer:
    """Holds the unterminated rest of one stream, at most `max_line_bytes` (ending not counted) of it.

    The length of each line that it gives is counted in the account: whoever gets the line gives that back.
    """

    def __init__(self, max_line_bytes: int, account: Account) -> None:
        self._max_line_bytes = max_line_bytes
        self._account = account
        self._rest = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> list[bytes | Dropped]:
        """Take what was received and return what it completes, in order: lines without their endings."""
        *ended, rest = data.split(b"\n")
        found: list[bytes | Dropped] = []
        for piece in ended:
            self._end_line(piece, found)
        if rest:
            self._keep(rest, found)
        return found

    def close(self) -> None:
        """Drop an unterminated rest, without effect: the stream has ended."""
        self._account.give(len(self._rest))
        self._rest = bytearray()
        self._dropping = False

    def _end_line(self, piece: bytes, found: list[bytes | Dropped]) -> None:
        if not self._dropping and self._fits(piece, found):
            line = piece
            if self._rest:
                line = bytes(self._rest) + piece
                self._rest = bytearray()
            kept = line.removesuffix(b"\r") if line.strip(_BLANK) else b""
            if len(kept) < len(line):
                self._account.give(len(line) - len(kept))
            if kept:
                found.append(kept)
        self._dropping = False

    def _keep(self, piece: bytes, found: list[bytes | Dropped]) -> None:
        if not self._dropping and self._fits(piece, found):
            self._rest += piece

    def _fits(self, piece: bytes, found: list[bytes | Dropped]) -> bool:
        """Count the piece in; or announce why not, forget the line and start dropping."""
        held_bytes = len(self._rest)
        if held_bytes + len(piece) > self._max_line_bytes:
            found.append(Dropped.OVERSIZED)
        elif not self._account.take(len(piece), beside_bytes=held_bytes):
            found.append(Dropped.OVER_BUDGET)
        else:
            return True
        self.close()
        self._dropping = True
        return False
