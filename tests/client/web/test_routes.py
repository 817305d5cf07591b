import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from picoclawd.client.web.guard import Door
from picoclawd.client.web.messages import Answer, Request
from picoclawd.client.web.post import Post
from picoclawd.client.web.routes import HISTORY_ROWS, Routes
from tests.client.fake import FakeDaemon, Refusal, Vanish
from tests.client.web.waiting import until

HEADERS = {"host": "127.0.0.1:81", "authorization": "Bearer k", "content-type": "application/json"}
PAGE = Answer(200, b"<!doctype html>", "text/html")


class Asker:
    """Asks routes, and remembers what the daemon behind them was asked."""

    def __init__(self, routes: Routes, daemon: FakeDaemon) -> None:
        self._routes = routes
        self.daemon = daemon

    async def get(self, path: str, /, **query: str) -> Answer:
        return await self._routes.respond(Request("GET", path, query, HEADERS))

    async def post(self, path: str, body: Any) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._routes.respond(Request("POST", path, {}, HEADERS, data))

    async def other(self, method: str, path: str) -> Answer:
        return await self._routes.respond(Request(method, path, {}, HEADERS))


@asynccontextmanager
async def asker(daemon: FakeDaemon) -> AsyncIterator[Asker]:
    daemon.handlers["session.open"] = lambda _: {"session_id": "s-1", "workspace": "/ws"}
    daemon.handlers["events.subscribe"] = lambda _: {}
    post = Post(None)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(post.run)
            await until(lambda: post.state == "connected")
            yield Asker(Routes(Door(81, "k"), post, PAGE), daemon)
            nursery.cancel_scope.cancel()


async def test_the_page_is_at_the_root(operated: FakeDaemon) -> None:
    async with asker(operated) as ask:
        assert await ask.get("/") == PAGE
        assert (await ask.other("HEAD", "/")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("PUT", "/", 405, "GET, HEAD"),
        ("POST", "/api/history", 405, "GET"),
        ("GET", "/api/undo", 405, "POST"),
        ("OPTIONS", "/api/undo", 405, "POST"),
        ("GET", "/api/", 404, None),
        ("GET", "/../etc/passwd", 404, None),
        ("GET", "/page.html", 404, None),
        ("GET", "/favicon.ico", 404, None),
    ],
)
async def test_nothing_else_is_there(
    operated: FakeDaemon, method: str, path: str, status: int, allow: str | None
) -> None:
    async with asker(operated) as ask:
        answer = await ask.other(method, path)
    assert (answer.status, dict(answer.headers).get("Allow")) == (status, allow)


async def test_history_is_asked_for_a_page_at_a_time(operated: FakeDaemon) -> None:
    operated.handlers["file_history"] = lambda _: {"data": {"versions": [], "next_before": 12}}
    async with asker(operated) as ask:
        answer = await ask.get("/api/history", path="a", before="70", limit="100000", mode="read")
    assert json.loads(answer.body) == {"versions": [], "next_before": 12}
    assert operated.asked("file_history") == [{"mode": "list", "limit": HISTORY_ROWS, "path": "a", "before": 70}]


@pytest.mark.parametrize(
    ("body", "method", "params"),
    [
        ({"version": 4}, "restore_file", {"version": 4, "_meta": {"dry_run": True}}),
        ({"version": 4, "do": True}, "restore_file", {"version": 4}),
        ({"version": 4, "do": True, "force": True}, "restore_file", {"version": 4, "force": True}),
        ({"task_id": "t", "do": True}, "history.undo", {"task_id": "t"}),
        ({"from": "2026", "path": "a", "do": True}, "history.undo", {"from": "2026", "path": "a"}),
        ({"from": "2026", "path": "?", "path_bytes": "%E9"}, "history.undo", {"from": "2026", "path_bytes": "%E9"}),
    ],
)
async def test_an_undo_is_only_looked_at_unless_it_is_to_be_done(
    operated: FakeDaemon, body: dict[str, Any], method: str, params: dict[str, Any]
) -> None:
    operated.handlers[method] = lambda _: {"content": "", "data": {"files": []}}
    async with asker(operated) as ask:
        assert (await ask.post("/api/undo", body)).status == 200
    (asked,) = operated.asked(method)
    meta = {"_meta": {"dry_run": True}} if "do" not in body else {}
    assert asked == {**params, **meta}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/undo", b""),
        ("/api/undo", b"{"),
        ("/api/undo", {}),
        ("/api/undo", {"version": "4"}),
        ("/api/undo", {"version": 4, "task_id": "t"}),
        ("/api/undo", {"from": "2026"}),
        ("/api/undo", {"version": 4, "method": "history.purge"}),
        ("/api/answer", {"id": "a-1", "digest": "d", "answer": "always"}),
        ("/api/answer", {"id": "a-1", "answer": "once"}),
    ],
)
async def test_a_body_that_says_something_else_changes_nothing(operated: FakeDaemon, path: str, body: Any) -> None:
    async with asker(operated) as ask:
        answer = await ask.post(path, body)
    assert (answer.status, json.loads(answer.body)["error"]) == (400, "bad_request")
    assert {method for method, _ in operated.calls} == {"session.open", "events.subscribe"}


@pytest.mark.parametrize("number", ["x", "1.5", "9" * 400, "-9" + "9" * 30])
async def test_a_number_that_is_none_is_refused(operated: FakeDaemon, number: str) -> None:
    async with asker(operated) as ask:
        assert (await ask.get("/api/change", version=number)).status == 400


async def test_an_answer_carries_the_digest_of_what_was_shown_and_the_warning_comes_back(operated: FakeDaemon) -> None:
    operated.handlers["approvals.answer"] = lambda _: {"warning": "shares\u202ea parent"}
    given = {"id": "a-1", "digest": "d" * 64, "answer": "once"}
    async with asker(operated) as ask:
        answer = await ask.post("/api/answer", given)
    assert json.loads(answer.body) == {"warning": "shares\\u202ea parent"}
    assert operated.asked("approvals.answer") == [given]


async def test_what_the_daemon_has_against_it_is_passed_on(operated: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32002, "nothing waits\x1b[2J", error="unknown_approval")

    operated.handlers["approvals.answer"] = refuse
    async with asker(operated) as ask:
        answer = await ask.post("/api/answer", {"id": "a-1", "digest": "d", "answer": "deny"})
    told = json.loads(answer.body)
    assert (answer.status, told["error"], told["message"]) == (422, "unknown_approval", "nothing waits\\x1b[2J")


async def test_a_daemon_that_is_lost_in_the_middle_is_told_of(operated: FakeDaemon) -> None:
    def vanish(_: Any) -> Any:
        raise Vanish

    operated.handlers["restore_file"] = vanish
    async with asker(operated) as ask:
        answer = await ask.post("/api/undo", {"version": 1, "do": True})
        assert (answer.status, "unknown" in json.loads(answer.body)["message"]) == (504, True)
        operated.stop()
        told: dict[str, Any] = {}
        while "no daemon answers" not in told.get("why", ""):
            told = json.loads((await ask.get("/api/events", after="-1")).body)
            await trio.sleep(0.005)
        assert (await ask.get("/api/approvals")).status == 503
    assert (told["daemon"], "picoclawd serve" in told["why"]) == ("gone", True)
