"""The operator's page over plain HTTP, before a real daemon: what a browser never sends, and what comes of the rest."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon
from tests.e2e.page import PageServer, Reply, wait_until


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as made:
        yield made


@pytest.fixture
def page(daemon: Daemon) -> Iterator[PageServer]:
    with PageServer(daemon) as made:
        wait_until(lambda: made.ask("/api/approvals").status == 200)
        yield made


def test_who_lacks_the_key_gets_the_empty_page_and_nothing_of_the_workspace(page: PageServer) -> None:
    shown = page.ask("/", Authorization=None)
    assert (shown.status, b"/ws" in shown.body, page.key.encode() in shown.body) == (200, False, False)
    for path in ("/api/events?after=-1", "/api/approvals", "/api/history", "/api/change?version=1"):
        assert page.ask(path, Authorization=None).slug == "wrong_key"
        assert page.ask(path, Authorization="Bearer " + "A" * 43).status == 401
    assert page.ask(f"/api/history?key={page.key}", Authorization=None).status == 401
    assert page.ask("/api/history", Authorization=None, Cookie=f"key={page.key}").status == 401


def test_a_rebound_name_gets_nothing_even_with_the_key(page: PageServer) -> None:
    for host in ("evil.example", f"evil.example:{page.port}", "127.0.0.1", f"127.0.0.1:{page.port}.evil.example"):
        assert page.ask("/api/history", Host=host).status == 421
        assert page.ask("/", Host=host).status == 421


def test_a_cross_site_post_changes_nothing_even_with_the_key(daemon: Daemon, page: PageServer) -> None:
    path = daemon.write("a.txt", "old\n")
    daemon.client().call("write_file", path="a.txt", content="new\n", overwrite=True)
    undo = {"version": 1, "do": True, "force": True}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": None, "Sec_Fetch_Site": "cross-site"},
        {"Origin": None, "Sec_Fetch_Site": "same-site"},
    ):
        assert page.ask("/api/undo", undo, **headers).slug == "cross_site"
    assert page.ask("/api/undo", undo, Content_Type="text/plain").status == 415
    assert path.read_text() == "new\n"
    assert [row["version"] for row in page.ask("/api/history").json["versions"]] == [1]


def test_no_answer_may_be_framed_cached_or_sniffed(page: PageServer) -> None:
    for reply in (page.ask("/"), page.ask("/api/history"), page.ask("/nothing"), page.ask("/", Host="evil.example")):
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert not [name for name in reply.headers if name.startswith("access-control-") or name == "set-cookie"]


def test_hostile_requests_are_told_so_and_the_page_goes_on(page: PageServer) -> None:
    host = f"Host: 127.0.0.1:{page.port}\r\n".encode()
    for data, status in (
        (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n" + host + b"\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + host + b"X: " + b"y" * 100_000 + b"\r\n\r\n", 431),
        (b"POST /api/undo HTTP/1.1\r\n" + host + b"Content-Length: 100000\r\n\r\n" + b"z" * 100_000, 413),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\0" * 50_000, 400),
    ):
        reply = page.raw(data)
        assert reply.status in (status, 414 if data[:1] == b"\0" else status)
        assert page.ask("/api/history").status == 200


def test_clients_that_say_nothing_do_not_keep_others_out(page: PageServer) -> None:
    held = [socket.create_connection(("127.0.0.1", page.port), timeout=20) for _ in range(40)]
    try:
        for sock in held[::2]:
            sock.sendall(b"GET /")
        assert page.ask("/api/history").status == 200
    finally:
        for sock in held:
            sock.close()
    assert page.ask("/").status == 200


def test_what_waits_is_shown_with_its_claims_and_an_answer_counts_for_what_was_shown(
    daemon: Daemon, page: PageServer
) -> None:
    path = daemon.write("old.txt", "x\n")
    agent = daemon.client()
    agent.call("session.open", client="ada <b>")
    asked = agent.start("remove_file", {"path": "old.txt"})
    wait_until(lambda: page.ask("/api/approvals").json["pending"])
    (row,) = page.ask("/api/approvals").json["pending"]
    assert (row["call"], row["claims"]["client"]) == ("Remove(old.txt)", "ada <b>")
    assert ["-", "-x"] in row["patch"]["rows"]
    wrong = {"id": row["id"], "digest": "0" * 64, "answer": "once"}
    assert page.ask("/api/answer", wrong).status == 422 and path.exists()
    assert page.ask("/api/answer", {**wrong, "digest": row["digest"]}).status == 200
    assert "result" in agent.answer(asked) and not path.exists()


def test_a_single_change_is_shown_also_the_first_of_a_file_that_was_there(daemon: Daemon, page: PageServer) -> None:
    daemon.write("a.txt", "one\ntwo\n")
    agent = daemon.client()
    agent.call("edit_file", path="a.txt", old_text="two", new_text="2")
    agent.call("edit_file", path="a.txt", old_text="one", new_text="1")
    changes = [page.ask(f"/api/change?version={number}").json["patch"]["rows"] for number in (1, 2)]
    assert [[text for kind, text in rows if kind in ("+", "-")] for rows in changes] == [["-two", "+2"], ["-one", "+1"]]
    assert page.ask("/api/change?version=99").slug == "unknown_version"
    operator = daemon.operator()
    assert operator.error("history.diff", version=1, path="a.txt").slug == "invalid_params"
    assert operator.error("history.diff", version=99).slug == "unknown_version"


def test_events_come_as_they_happen_and_a_daemon_that_restarts_is_found_again(daemon: Daemon, page: PageServer) -> None:
    def news(after: int, wait: int = 20) -> Reply:
        return page.ask(f"/api/events?after={after}&wait={wait}")

    before = news(-1, 0).json
    daemon.client().call("write_file", path="a.txt", content="a\n")
    (event,) = [each for each in news(before["last"]).json["events"] if each["kind"] == "file.changed"]
    assert (event["text"], event["action"], event["version"]) == ("a.txt", "create", 1)
    daemon.stop()
    wait_until(lambda: news(-1, 0).json["daemon"] == "gone")
    gone = news(-1, 0).json
    assert f"picoclawd serve --workspace {daemon.root}" in gone["why"]
    assert page.ask("/api/history").status == 503
    daemon.start()
    wait_until(lambda: news(-1, 0).json["daemon"] == "connected")
    assert [row["path"] for row in page.ask("/api/history").json["versions"]] == ["a.txt"]
