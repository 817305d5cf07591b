"""A request to a service: the key reaches it and nothing else, and each failure says what is wrong."""

import logging
from collections.abc import Iterator

import pytest

from picoclawd.files.threads import Threads
from picoclawd.service import Service, ServiceError, ServiceTimeoutError, post
from tests.loopback import Loopback, loopback

KEY = "sk-" + "aB3dE5fG7hI9jK1lM2nO4pQ6"
WAIT_S = 20.0


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as state:
        yield state


async def ask(server: Loopback, timeout_s: float = WAIT_S, key: str | None = KEY, base_url: str | None = None) -> bytes:
    service = Service(server.base_url if base_url is None else base_url, "m", "THE_KEY")
    environ = {} if key is None else {"THE_KEY": key}
    return await post(Threads(), environ, service, "chat/completions", timeout_s, json={"model": "m"})


async def failure(server: Loopback, **keys: object) -> str:
    with pytest.raises(ServiceError) as caught:
        await ask(server, **keys)  # type: ignore[arg-type]
    return str(caught.value)


async def test_the_key_is_a_bearer_token_and_the_path_is_below_the_base_url(server: Loopback) -> None:
    server.says(b"answer")
    assert await ask(server, base_url=server.base_url + "/") == b"answer"
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_without_a_key_there_is_no_header_and_a_refusal_names_the_variable(server: Loopback) -> None:
    server.says({}, 401)
    assert "has no THE_KEY" in await failure(server, key=None)
    assert "authorization" not in server.requests[0].headers


async def test_a_refusal_shows_neither_the_key_nor_the_answer(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.says({"error": f"Incorrect API key provided: {KEY}"}, 401)
    assert await failure(server) == "127.0.0.1 refused the key in THE_KEY (HTTP 401)"
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["sk-a\nX-Evil: 1", "schlüssel"])
async def test_a_key_that_is_none_is_refused_unshown(server: Loopback, key: str) -> None:
    message = await failure(server, key=key)
    assert "THE_KEY" in message and key not in message
    assert not server.requests


@pytest.mark.parametrize(("status", "words"), [(404, "check base_url"), (413, "this size"), (429, "now"), (500, "500")])
async def test_each_status_says_what_to_do(server: Loopback, status: int, words: str) -> None:
    server.says({}, status)
    assert words in await failure(server)


async def test_a_redirect_is_not_followed(server: Loopback) -> None:
    server.headers["Location"] = server.base_url + "/elsewhere"
    server.says({}, 307)
    assert "307" in await failure(server)
    assert len(server.requests) == 1


async def test_a_slow_service_is_given_up_and_hung_up_on(server: Loopback) -> None:
    server.held.clear()
    with pytest.raises(ServiceTimeoutError, match="did not answer within"):
        await ask(server, timeout_s=2.0)
    assert server.gone.wait(WAIT_S)


async def test_a_dead_service_could_not_be_reached() -> None:
    with loopback() as state:
        pass
    assert await failure(state) == "127.0.0.1 could not be reached"


async def test_an_endless_answer_is_cut_off(server: Loopback) -> None:
    server.says(b"x" * 9_000_000)
    assert "more than 8 MiB" in await failure(server)


@pytest.mark.parametrize("base_url", ["http://[", "nonsense", "ftp://host/", "http://127.0.0.1:99999/"])
async def test_a_url_that_is_none_is_a_failure_in_words(server: Loopback, base_url: str) -> None:
    assert await failure(server, base_url=base_url)


async def test_a_password_in_the_url_is_not_shown(server: Loopback) -> None:
    server.says({}, 500)
    message = await failure(server, base_url=server.base_url.replace("//", "//me:geheim@"), key=None)
    assert "geheim" not in message
