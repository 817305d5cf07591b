"""The operator's page in a browser, with names, keys and other sites that mean it ill."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

from tests.e2e.browsing import DEADLINE_MS, ada, opened, reloaded, tab
from tests.e2e.browsing import browser as browser
from tests.e2e.browsing import daemon as daemon
from tests.e2e.browsing import page as page
from tests.e2e.browsing import server as server
from tests.e2e.daemon import Daemon
from tests.e2e.page import PageServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_names_and_claims_are_texts_and_cannot_steer_the_page(daemon: Daemon, page: "Page") -> None:
    agent = daemon.client()
    agent.call("session.open", client="<img src=x onerror=document.title='owned'>")
    agent.call(
        "write_file", path="<b>bold<b>\u202etxt.exe\n", content="</script><script>document.title='owned'</script>\n"
    )
    page.locator("#newer").click()
    opened(page, 1)
    shown = page.inner_text("#rows")
    assert "<b>bold<b>\\u202etxt.exe\\n" in shown and "<img src=x" in shown and "</script>" in shown
    assert page.locator("#rows b, #rows img, #rows script").count() == 0
    assert "\u202e" not in page.inner_text("body")


def test_the_policy_forbids_markup_and_scripts_out_of_texts_whatever_the_page_does(
    browser: "Browser", server: PageServer
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    for sink in (
        "document.body.innerHTML = '<i>x</i>'",
        "document.body.setAttribute('onclick', 'x()')",
        "document.createElement('script').textContent = 'x()'",
    ):
        assert page.evaluate(f"(() => {{ try {{ {sink} }} catch {{ return true }} return false }})()"), sink
    context.close()


def test_the_key_leaves_the_address_and_stays_with_the_tab(browser: "Browser", server: PageServer) -> None:
    asked: list[str] = []
    with tab(browser, server.url) as page:
        page.wait_for_selector("#rows[data-ready]")
        page.on("request", lambda request: asked.append(request.url))
        assert "#" not in page.url
        reloaded(page)
        assert page.context.cookies() == []
        other = page.context.new_page()
        other.goto(server.origin)
        assert "lacks its key" in other.inner_text("#alarm")
        assert other.inner_text("#rows") == ""
    assert asked and not [url for url in asked if server.key in url]


def test_a_wrong_key_shows_nothing_and_says_what_to_open(browser: "Browser", server: PageServer) -> None:
    with tab(browser, f"{server.origin}/#{'A' * 43}") as page:
        page.wait_for_selector("#alarm:has-text('picoclawctl web')")
        assert page.inner_text("#state") == "not let in"
        assert page.locator(".card, #rows li").count() == 0


@contextmanager
def site(html: str) -> Iterator[str]:
    """A site of somebody else's on another port, with one page; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: Any) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}/"
        made.shutdown()
        thread.join(10)


def test_another_site_can_neither_post_nor_read_even_if_it_had_the_key(
    browser: "Browser", daemon: Daemon, server: PageServer
) -> None:
    path = daemon.write("a.txt", "old\n")
    ada(daemon).call("edit_file", path="a.txt", old_text="old", new_text="new")
    attack = f"""<script>
      const url = "{server.origin}/api/undo", body = JSON.stringify({{version: 1, do: true, force: true}});
      const ways = [
        {{method: "POST", body, headers: {{"Content-Type": "application/json", Authorization: "Bearer {server.key}"}}}},
        {{method: "POST", body, mode: "no-cors", headers: {{"Content-Type": "text/plain"}}}},
        {{headers: {{Authorization: "Bearer {server.key}"}}}},
        {{mode: "no-cors"}},
      ];
      Promise.all(ways.map((way) => fetch(url, way).then((a) => a.text()).catch(() => "refused"))).then((told) => {{
        document.title = told.join("|");
      }});
    </script>"""
    context = browser.new_context()
    context.set_default_timeout(DEADLINE_MS)
    with site(attack) as address:
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("document.title !== ''")
        assert page.title() in ("refused|refused|refused|refused", "refused||refused|")
        field = "<input name=version value=1><button>Go</button>"
        page.set_content(f"<form method=post action='{server.origin}/api/undo'>{field}</form>")
        with page.expect_navigation():
            page.click("button")
        assert "Another site" in page.inner_text("body")
    context.close()
    assert path.read_text() == "new\n"
    assert [row["version"] for row in server.ask("/api/history").json["versions"]] == [1]


def test_the_page_cannot_be_framed(browser: "Browser", server: PageServer) -> None:
    context = browser.new_context()
    context.set_default_timeout(DEADLINE_MS)
    with site(
        f"<iframe src='{server.url}'></iframe><script>onload = () => document.title = 'loaded'</script>"
    ) as address:
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("document.title === 'loaded'")
        (frame,) = [each for each in page.frames if each != page.main_frame]
        assert frame.locator("#waiting").count() == 0
    context.close()
