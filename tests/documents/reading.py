"""Run a reader as the worker does, in this process."""

import importlib
import io
from typing import Any

from picoclawd.documents.units import Found, Wanted

ALL = ((1, 1 << 30),)


def read(reader: str, data: bytes, *windows: tuple[int, int], max_chars: int = 1 << 20, name: str = "") -> Found:
    """What the reader of that name finds in the bytes."""
    module: Any = importlib.import_module(f"picoclawd.documents.{reader}")
    found: Found = module.read(io.BytesIO(data), Wanted(windows or ALL, max_chars, name))
    return found
