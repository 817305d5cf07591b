"""What a search left out, for data and for footers."""

from dataclasses import asdict

import msgspec

from picoclawd.index.listing import Skipped as SkippedNames
from picoclawd.workspace.search import Missed


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


def skipped_of(names: SkippedNames, missed: Missed) -> Skipped:
    """Add up what was left out among the names, and what among the texts."""
    found = asdict(missed)
    found["special"] += names.special
    found["unreadable"] += names.unreadable
    return Skipped(ignored=names.ignored, protected=names.protected, too_deep=names.too_deep, **found)


def skipped_words(skipped: Skipped) -> list[str]:
    """A footer's part about it; empty where nothing was left out."""
    left = [f"{count} {_WORDS[name]}" for name, count in msgspec.structs.asdict(skipped).items() if count]
    return ["not searched: " + ", ".join(left)] if left else []


def trust_words(consistency: str, degraded: str | None) -> list[str]:
    """A footer's part about how sure the names are; empty where they were verified as they were to be."""
    if degraded:
        return [f"the watcher is degraded ({degraded}), so everything was verified"]
    return ["watched: changes by other programs may lag"] if consistency == "watched" else []
