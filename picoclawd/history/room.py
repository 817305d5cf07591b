"""How much the store may still take: an estimate for every change, a measurement when it runs out."""

import threading
import time
from typing import Protocol

from picoclawd import limits
from picoclawd.history.records import HistoryError

ROW_BYTES = 2048  # a row with its index entries, on the high side
_CONTENT_SHARE = 4  # one content may take a quarter of the store
_HEADROOM_SHARE = 8  # kept free of contents: rows, the log, free pages
_HEADROOM_MAX_BYTES = 16 * limits.MIB
_REFUSED_S = 1.0  # after a refusal the same session is not measured again for so long
_TARGET = 0.9  # of the limit: making room one change at a time would make it for every change


class Store(Protocol):
    """What can be measured and made smaller: `retention.Retention`."""

    def used_bytes(self) -> int:
        """Bytes that it holds."""

    def make_room(self, target_bytes: int, now_ns: int, session_id: str | None) -> object:
        """Drop what may be dropped for this session, down to the target."""


class Room:
    """Admits contents up to `max_bytes` less a headroom, and rows up to `max_bytes`. Any thread; may block."""

    def __init__(self, store: Store, max_bytes: int) -> None:
        self._store = store
        self.max_bytes = max_bytes
        self.limit_bytes = max_bytes - min(max_bytes // _HEADROOM_SHARE, _HEADROOM_MAX_BYTES)
        self._lock = threading.Lock()
        self._used = store.used_bytes()
        self._refused: tuple[str | None, float] | None = None

    def refusal(self, sizes_bytes: list[int], session_id: str | None) -> str | None:
        """Say why contents of these sizes cannot be kept, or None: then they are counted. Room may be made first.

        Raises: HistoryError, where not even the change's row has room.
        """
        if self._claim(ROW_BYTES + sum(sizes_bytes), self.limit_bytes) and not self._oversized(sizes_bytes):
            return None
        if self._oversized(sizes_bytes):
            refusal = f"a content of {max(sizes_bytes)} bytes is too large for the history, which may keep {self._cap}"
        elif self._made(ROW_BYTES + sum(sizes_bytes), session_id):
            return None
        else:
            refusal = "the history is full of what may not be dropped yet"
        if not self._claim(ROW_BYTES, self.max_bytes):
            raise HistoryError("the history is full")
        return refusal

    @property
    def _cap(self) -> str:
        return f"{self.max_bytes} bytes in all"

    def _oversized(self, sizes_bytes: list[int]) -> bool:
        return max(sizes_bytes, default=0) > self.limit_bytes // _CONTENT_SHARE

    def _claim(self, size_bytes: int, limit_bytes: int) -> bool:
        with self._lock:
            if self._used + size_bytes > limit_bytes:
                return False
            self._used += size_bytes
            return True

    def _made(self, size_bytes: int, session_id: str | None) -> bool:
        """Measure, and prune if that does not help; whether the claim now holds."""
        self._measure()
        if self._claim(size_bytes, self.limit_bytes):
            return True
        if self._refused is not None and self._refused[0] == session_id and time.monotonic() < self._refused[1]:
            return False
        target = int(self.limit_bytes * _TARGET) - size_bytes
        self._store.make_room(target, time.time_ns(), session_id)
        self._measure()
        if self._claim(size_bytes, self.limit_bytes):
            return True
        self._refused = (session_id, time.monotonic() + _REFUSED_S)
        return False

    def _measure(self) -> None:
        used = self._store.used_bytes()
        with self._lock:
            self._used = used
