"""What a log record is about, beside its words: for a log that has fields."""

ATTRIBUTE = "picoclaw"


def fields(**context: str) -> dict[str, dict[str, str]]:
    """The `extra` of a log call: `fields(session=..., tool=..., path=...)`; the journal calls them PICOCLAW_SESSION,
    and so on. Empty ones are left out there, and all are escaped."""
    return {ATTRIBUTE: context}
