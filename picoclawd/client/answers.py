"""What a tool answers, as the client library hands it out."""

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any


class Result:
    """A tool's answer; `str(result)` is its `content`.

    `content`: what a model should read. `display`: what a chat shows a person, None where the result is silent.
    `data`: the same facts structured. `answer_lost`: the call took effect, but its answer went down with the
    connection; `content` says so then, and `data` holds `outcome` and `op` alone.
    """

    __slots__ = ("answer_lost", "content", "data", "display")

    def __init__(self, content: str, display: str | None, data: "dict[str, Any]", answer_lost: bool = False) -> None:
        self.content = content
        self.display = display
        self.data = data
        self.answer_lost = answer_lost

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return f"Result({self.content!r}, data={self.data!r})"


def answer_of(result: "Any") -> "Any":
    """A daemon's result: a `Result` where it has the shape of one, else as it came."""
    if isinstance(result, dict) and isinstance(result.get("content"), str) and isinstance(result.get("data"), dict):
        return Result(result["content"], result.get("display"), result["data"])
    return result


def lost_answer(method: str, op: str) -> Result:
    """The answer of a call of which nothing is known but that it took effect."""
    content = f"{method} took effect; its answer was lost with the connection. Read the file to see the result."
    return Result(content, None, {"outcome": "applied", "op": op}, answer_lost=True)
