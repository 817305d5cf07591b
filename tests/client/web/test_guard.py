import pytest

from picoclawd.client.web.guard import Door, new_key, refusal
from picoclawd.client.web.messages import Request

DOOR = Door(8123, "the-key")
KEY = {"authorization": "Bearer the-key"}
HOST = {"host": "127.0.0.1:8123"}
POSTED = {**HOST, **KEY, "content-type": "application/json", "origin": "http://127.0.0.1:8123"}


def status(method: str, path: str, headers: dict[str, str]) -> int:
    """The status of the refusal, 0 where there is none."""
    answer = refusal(Request(method, path, {}, headers), DOOR)
    return 0 if answer is None else answer.status


@pytest.mark.parametrize(
    ("method", "path", "headers", "expected"),
    [
        ("GET", "/", HOST, 0),
        ("GET", "/", {"host": "localhost:8123"}, 0),
        ("GET", "/", {**HOST, "sec-fetch-site": "cross-site"}, 0),  # a link to the page is no harm
        ("GET", "/api/history", {**HOST, **KEY}, 0),
        ("GET", "/api/history", {**HOST, **KEY, "sec-fetch-site": "same-origin"}, 0),
        ("POST", "/api/undo", POSTED, 0),
        ("POST", "/api/undo", {**POSTED, "content-type": "application/json; charset=utf-8"}, 0),
        ("POST", "/api/undo", {**POSTED, "sec-fetch-site": "same-origin"}, 0),
        ("GET", "/", {}, 421),
        ("GET", "/", {"host": "evil.example:8123"}, 421),
        ("GET", "/", {"host": "127.0.0.1"}, 421),
        ("GET", "/", {"host": "127.0.0.1:8124"}, 421),
        ("GET", "/", {"host": "127.0.0.1.evil.example:8123"}, 421),
        ("GET", "/api/history", {"host": "evil.example:8123", **KEY}, 421),
        ("POST", "/", {**HOST, "origin": "http://evil.example"}, 403),
        ("POST", "/api/undo", {**POSTED, "origin": "http://evil.example"}, 403),
        ("POST", "/api/undo", {**POSTED, "origin": "null"}, 403),
        ("POST", "/api/undo", {**POSTED, "origin": "http://127.0.0.1:3000"}, 403),
        ("POST", "/api/undo", {**POSTED, "origin": "https://127.0.0.1:8123"}, 403),
        ("POST", "/api/undo", {**POSTED, "sec-fetch-site": "cross-site"}, 403),
        ("POST", "/api/undo", {**POSTED, "sec-fetch-site": "same-site"}, 403),
        ("GET", "/api/history", {**HOST, **KEY, "sec-fetch-site": "cross-site"}, 403),
        ("GET", "/api/history", HOST, 401),
        ("GET", "/api/history", {**HOST, "authorization": "Bearer the-ke"}, 401),
        ("GET", "/api/history", {**HOST, "authorization": "Bearer the-keys"}, 401),
        ("GET", "/api/history", {**HOST, "authorization": "Bearer caf\xe9"}, 401),
        ("GET", "/api/history", {**HOST, "authorization": "Basic the-key"}, 401),
        ("GET", "/api/history", {**HOST, "cookie": "key=the-key"}, 401),
        ("POST", "/api/undo", {**POSTED, "content-type": "text/plain"}, 415),
        ("POST", "/api/undo", {**HOST, **KEY}, 415),
    ],
)
def test_only_the_page_itself_may_ask(method: str, path: str, headers: dict[str, str], expected: int) -> None:
    assert status(method, path, headers) == expected


def test_a_key_has_256_bits_and_none_is_like_another() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert min(map(len, keys)) >= 43  # base64 of 32 bytes


def test_the_key_stands_in_the_fragment_which_no_browser_sends() -> None:
    assert DOOR.url == "http://127.0.0.1:8123/#the-key"
