"""Ask a service that speaks OpenAI's HTTP protocol: the one module through which anything leaves this machine.

The key is read from the environment at each call. Neither it nor a word of what the service answers is in an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import trio

from picoclawd import limits
from picoclawd.files.threads import Lane, Threads

_CONNECT_S = 10.0  # for a connection: who is not there after that is not there
_ANSWER_MAX_BYTES = 8 * limits.MIB  # far more than any transcript or verdict


@dataclass(frozen=True, slots=True)
class Service:
    """Where it is, which model is meant, and the name of the environment variable that holds the key."""

    base_url: str
    model: str
    api_key_env: str

    @property
    def shown(self) -> str:
        """The host to name in messages: a URL may hold a password."""
        try:
            return urlsplit(self.base_url).hostname or "the service"
        except ValueError:
            return "the service"


class ServiceError(Exception):
    """Why there is no answer, in words for a person."""


class ClientMissingError(ServiceError):
    """The library that speaks HTTP is not installed."""


class ServiceTimeoutError(ServiceError):
    """No answer in time; later there may be one."""


async def post(
    threads: Threads, environ: Mapping[str, str], service: Service, path: str, timeout_s: float, **body: Any
) -> bytes:
    """Send `body` (as httpx2 takes it: `json`, or `data` and `files`) to `path` below the base URL; the answer's bytes.

    Redirects are not followed: the key is for this host alone.

    Raises: ServiceError where there is no answer with status 200 within `timeout_s`.
    """
    headers = _headers(service, environ)
    with trio.move_on_after(timeout_s):
        client = await threads.run(Lane.READ, _client)
        return await _answer(client, service, path, headers, body, bool(headers))
    raise ServiceTimeoutError(f"{service.shown} did not answer within {timeout_s:g} s")


def _client() -> Any:
    """Make a client, in a thread: the import and reading the certificates take 0.2 s and more."""
    try:
        import httpx2
    except ImportError as error:
        raise ClientMissingError("the HTTP client is not installed") from error
    try:
        return httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=_CONNECT_S))
    except (OSError, ValueError) as error:  # a wrong proxy or certificate file in the environment
        raise ServiceError("the HTTP client does not start: check the proxy and SSL variables") from error


async def _answer(
    client: Any, service: Service, path: str, headers: dict[str, str], body: dict[str, Any], has_key: bool
) -> bytes:
    import httpx2

    url = f"{service.base_url.rstrip('/')}/{path}"
    try:
        async with client, client.stream("POST", url, headers=headers, **body) as response:
            if response.status_code != 200:
                raise ServiceError(_refused(service, response.status_code, has_key))
            return await _bounded(response.aiter_bytes(), service)
    except httpx2.ConnectError as error:
        raise ServiceError(f"{service.shown} could not be reached") from error
    except httpx2.InvalidURL as error:
        raise ServiceError("base_url is no URL") from error
    except httpx2.HTTPError as error:
        raise ServiceError(f"the connection to {service.shown} failed ({type(error).__name__})") from error


async def _bounded(chunks: Any, service: Service) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > _ANSWER_MAX_BYTES:
            raise ServiceError(f"{service.shown} sent more than {_ANSWER_MAX_BYTES // limits.MIB} MiB")
    return b"".join(parts)


def _headers(service: Service, environ: Mapping[str, str]) -> dict[str, str]:
    """The key as a header; a service on this machine may want none, so a variable that is not set is no error here."""
    key = environ.get(service.api_key_env, "").strip()
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise ServiceError(
            f"the environment variable {service.api_key_env} holds no key: it has unprintable characters"
        )
    return {"Authorization": f"Bearer {key}"}


def _refused(service: Service, status: int, has_key: bool) -> str:
    host, variable = service.shown, service.api_key_env
    match status:
        case 401 | 403 if not has_key:
            return f"{host} wants a key (HTTP {status}), and the daemon's environment has no {variable}"
        case 401 | 403:
            return f"{host} refused the key in {variable} (HTTP {status})"
        case 404:
            return f"{host} knows no such address or model (HTTP 404): check base_url and model"
        case 413:
            return f"{host} takes no recording of this size (HTTP 413)"
        case 429:
            return f"{host} takes no more requests now (HTTP 429)"
        case _:
            return f"{host} answered with HTTP status {status}"
