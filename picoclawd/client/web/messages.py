"""What comes in and what goes out over HTTP, as values, and the answers that say no."""

import json
from typing import Any

import msgspec

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
API = "/api/"


class Request(msgspec.Struct, frozen=True):
    """One request, complete. Names of headers are lower case; of several with one name the last counts."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""


class Answer(msgspec.Struct, frozen=True):
    """One answer; what every answer carries besides (`page.HEADERS`) is added when it is sent."""

    status: int
    body: bytes
    media: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def found(value: Any) -> Answer:
    """An answer with JSON."""
    return Answer(200, json.dumps(value).encode())


def refused(
    status: int, slug: str, message: str, path: str = API, headers: tuple[tuple[str, str], ...] = (), **more: Any
) -> Answer:
    """An answer that says what is wrong and what to do: JSON for the page's own calls, text for whoever typed a URL."""
    if path.startswith(API):
        body = json.dumps({"error": slug, "message": message, **more}).encode()
        return Answer(status, body, headers=headers)
    return Answer(status, f"{message}\n".encode(), TEXT, headers)
