"""What a search left out, for data and for footers."""

import msgspec


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """What was not searched, by reason. An ignored directory counts once."""

    ignored: int = 0
    protected: int = 0
    binary: int = 0
    documents: int = 0
    unreadable: int = 0
    special: int = 0
    too_deep: int = 0
    vanished: int = 0
    over_budget: int = 0
    truncated_lines: int = 0
    redacted: int = 0


_WORDS = {
    "ignored": "ignored by rules",
    "protected": "protected",
    "binary": "binary",
    "documents": "documents",
    "unreadable": "unreadable",
    "special": "special files",
    "too_deep": "too deep",
    "vanished": "vanished meanwhile",
    "over_budget": "over the scan budget",
    "truncated_lines": "lines searched in part",
    "redacted": "lines that match only in a masked secret",
}


def skipped_words(skipped: Skipped) -> list[str]:
    """A footer's part about it; empty where nothing was left out."""
    left = [f"{count} {_WORDS[name]}" for name, count in msgspec.structs.asdict(skipped).items() if count]
    return ["not searched: " + ", ".join(left)] if left else []
