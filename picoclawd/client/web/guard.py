"""Who may ask: decided before anything else is looked at.

The key travels in a header that only our own page sets, never in a cookie: a cookie of 127.0.0.1 would go to every
port of it, and so to a development server that an agent started and the person opened. It reaches the page in the
URL's fragment, which no browser sends or hands on as a referrer, and stays in the tab's session storage, which belongs
to one port. A site elsewhere can neither read nor guess it, so nothing it makes a browser send counts.

The checks of Host (a foreign name that was rebound to 127.0.0.1), Origin and Sec-Fetch-Site would hold without it.
"""

import secrets

import msgspec

from picoclawd.client.web.messages import API, JSON, Answer, Request, refused

KEY_BYTES = 32
_SCHEME = "Bearer "
_OURS = ("same-origin", "none")  # "none": typed, or a bookmark


class Door(msgspec.Struct, frozen=True):
    """Where this server listens, and the key to it."""

    port: int
    key: str

    @property
    def url(self) -> str:
        """What the person opens."""
        return f"http://127.0.0.1:{self.port}/#{self.key}"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which this server may be asked."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"


def new_key() -> str:
    """A key of 256 random bits."""
    return secrets.token_urlsafe(KEY_BYTES)


def refusal(request: Request, door: Door) -> Answer | None:
    """Why this request is not answered, or None: then it may be."""
    return _wrong_host(request, door) or _wrong_site(request, door) or _wrong_key(request, door) or _no_json(request)


def _wrong_host(request: Request, door: Door) -> Answer | None:
    if request.headers.get("host", "").lower() in door.hosts:
        return None
    message = f"This page answers as 127.0.0.1:{door.port} only: open the address that `picoclawctl web` printed."
    return refused(421, "wrong_host", message, request.path)


def _wrong_site(request: Request, door: Door) -> Answer | None:
    """The page itself may be come to from anywhere; it cannot be framed, and shows nothing without the key."""
    if not request.path.startswith(API) and request.method in ("GET", "HEAD"):
        return None
    origin = request.headers.get("origin")
    ours = origin is None or origin.lower() in [f"http://{host}" for host in door.hosts]
    if ours and request.headers.get("sec-fetch-site", "none") in _OURS:
        return None
    return refused(403, "cross_site", "Another site asked for this: only the page itself may.", request.path)


def _wrong_key(request: Request, door: Door) -> Answer | None:
    if not request.path.startswith(API):
        return None
    given = request.headers.get("authorization", "")
    if given.startswith(_SCHEME) and secrets.compare_digest(given[len(_SCHEME) :].encode(), door.key.encode()):
        return None
    message = "The key is missing, or of an earlier run: open the address that `picoclawctl web` printed last."
    return refused(401, "wrong_key", message, request.path, (("WWW-Authenticate", "Bearer"),))


def _no_json(request: Request) -> Answer | None:
    """A form of another site cannot send JSON without asking first, which nothing here answers."""
    if request.method != "POST" or request.headers.get("content-type", "").partition(";")[0].strip() == JSON:
        return None
    return refused(415, "unsupported_media_type", f"A body must be {JSON}.", request.path)
