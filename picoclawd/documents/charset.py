"""Name the encoding of a text that is neither UTF-8 nor marked, by its words. The only user of chardet."""

import codecs
import importlib
from typing import Any

from picoclawd.text import encodings

# chardet's own doubts: right guesses of short Cyrillic or Japanese texts are above, of a word with one accent below.
_SURE = 0.1
_LINE_FEED = "\n"


def guess(sample: bytes) -> str:
    """Name the Python codec of a text, as `encodings.Guess`: Windows-1252 when unsure, or without chardet.

    A few milliseconds for the largest sample.
    """
    fallback = encodings.western(sample)
    try:
        chardet: Any = importlib.import_module("chardet")  # 40 ms, and only few texts need it
    except ModuleNotFoundError:
        return fallback
    result = chardet.detect(sample, encoding_era=chardet.EncodingEra.MODERN_WEB)
    name, confidence = result["encoding"], result["confidence"]
    if not name or confidence < _SURE or not _is_usable(name):
        return fallback
    return codecs.lookup(name).name


def _is_usable(name: str) -> bool:
    """Whether Python knows it, and its lines end as `encodings` wants."""
    try:
        return _LINE_FEED.encode(name) == b"\n"
    except LookupError:
        return False
