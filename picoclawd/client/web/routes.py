"""What the page may ask: a short list, not whatever the operator's socket would take."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from picoclawd.client.failures import Lost, NoDaemon, RpcError
from picoclawd.client.web import shapes
from picoclawd.client.web.guard import Door, refusal
from picoclawd.client.web.messages import Answer, Request, found, refused
from picoclawd.client.web.post import Post

HISTORY_ROWS = 50  # of one page: the page is drawn as fast with ten thousand versions as with ten
WAIT_MAX_S = 25.0  # shorter than what proxies and browsers take for a dead connection
_INT_MAX = 2**53

Handler = Callable[[Request], Awaitable[Any]]


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of /api/answer."""

    id: str
    digest: str
    answer: Literal["once", "task", "deny"]


class Undoing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of /api/undo: the state after `version`, the one before what was changed `from_` then on in a file, or
    the one before a task. Without `do` it is only looked at."""

    version: int | None = None
    from_: str | None = msgspec.field(default=None, name="from")
    task_id: str | None = None
    path: str | None = None
    path_bytes: str | None = None
    force: bool = False
    do: bool = False

    def call(self) -> tuple[str, dict[str, Any]]:
        """The daemon's call for it. Raises: ValueError where it names no aim, or several."""
        aims = [each for each in (self.version, self.from_, self.task_id) if each is not None]
        if len(aims) != 1 or (self.from_ is not None and self.path is None and self.path_bytes is None):
            raise ValueError("name one of version, task_id, and from with a path")
        more: dict[str, Any] = {"force": True} if self.force else {}
        if not self.do:
            more["_meta"] = {"dry_run": True}
        if self.version is not None:
            return "restore_file", {"version": self.version, **more}
        if self.task_id is not None:
            return "history.undo", {"task_id": self.task_id, **more}
        name = {"path": self.path} if self.path_bytes is None else {"path_bytes": self.path_bytes}
        return "history.undo", {"from": self.from_, **name, **more}


class Routes:
    """Answers requests, for a page whose policy and text are `html`."""

    def __init__(self, door: Door, post: Post, html: Answer) -> None:
        self._door = door
        self._post = post
        self._html = html
        self._handlers: dict[tuple[str, str], Handler] = {
            ("GET", "/api/events"): self._events,
            ("GET", "/api/approvals"): self._approvals,
            ("GET", "/api/history"): self._history,
            ("GET", "/api/change"): self._change,
            ("POST", "/api/answer"): self._answer,
            ("POST", "/api/undo"): self._undo,
        }

    async def respond(self, request: Request) -> Answer:
        """The answer to a request."""
        if (no := refusal(request, self._door)) is not None:
            return no
        if request.path == "/" and request.method in ("GET", "HEAD"):
            return self._html
        if (handler := self._handlers.get((request.method, request.path))) is not None:
            return await _told(handler, request)
        return self._nothing(request)

    def _nothing(self, request: Request) -> Answer:
        allowed = (
            ["GET", "HEAD"] if request.path == "/" else [way for way, path in self._handlers if path == request.path]
        )
        if allowed:
            allow = (("Allow", ", ".join(allowed)),)
            return refused(405, "method_not_allowed", f"Only {allowed[0]} does that.", request.path, allow)
        return refused(404, "no_such_page", "There is nothing here: the page is at /.", request.path)

    async def _events(self, request: Request) -> Any:
        after = _number(request, "after", -1)
        news = await self._post.news(after, min(_number(request, "wait", 0), WAIT_MAX_S))
        return {
            "events": [line for event in news.events if (line := shapes.event(event)) is not None],
            "last": news.last,
            "missed": news.missed,
            "run": self._post.run_id,
            "daemon": self._post.state,
            "why": shapes.several_lines(self._post.why),
            "workspace": shapes.one_line(self._post.workspace),
        }

    async def _approvals(self, request: Request) -> Any:
        told = await self._post.call("approvals.list", {})
        return {"pending": [shapes.approval(row) for row in told["pending"]]}

    async def _history(self, request: Request) -> Any:
        asked: dict[str, Any] = {"mode": "list", "limit": HISTORY_ROWS}
        for name in ("path", "path_bytes"):
            if request.query.get(name):
                asked[name] = request.query[name]
        if "before" in request.query:
            asked["before"] = _number(request, "before", 0)
        data = (await self._post.call("file_history", asked))["data"]
        return {"versions": list(map(shapes.version, data["versions"])), "next_before": data.get("next_before")}

    async def _change(self, request: Request) -> Any:
        told = await self._post.call("history.diff", {"version": _number(request, "version", 0)})
        missing = [row["missing"] for row in told["data"]["files"] if row.get("missing")]
        return {"patch": shapes.patch(told["content"]), "missing": shapes.one_line(missing[0] if missing else "")}

    async def _answer(self, request: Request) -> Any:
        given = msgspec.json.decode(request.body, type=Given)
        told = await self._post.call("approvals.answer", msgspec.to_builtins(given))
        return {"warning": shapes.one_line(told.get("warning") or "")}

    async def _undo(self, request: Request) -> Any:
        undoing = msgspec.json.decode(request.body, type=Undoing)
        return shapes.undone(await self._post.call(*undoing.call()))


async def _told(handler: Handler, request: Request) -> Answer:
    """What a handler finds, or what the daemon has against it."""
    try:
        return found(await handler(request))
    except ValueError as error:  # msgspec's own are such
        return refused(400, "bad_request", f"{request.path}: {error}")
    except RpcError as error:
        return refused(422, error.slug, shapes.several_lines(error.message))
    except NoDaemon as failure:
        return refused(503, failure.slug, shapes.several_lines(failure))
    except Lost as failure:
        return refused(504, failure.slug, shapes.several_lines(failure))


def _number(request: Request, name: str, default: int) -> int:
    """A whole number of the query. Raises: ValueError."""
    text = request.query.get(name)
    if text is None:
        return default
    number = int(text) if len(text) <= len(str(_INT_MAX)) else _INT_MAX + 1
    if abs(number) > _INT_MAX:
        raise ValueError(f"{name} is too large a number")
    return number
