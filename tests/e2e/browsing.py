"""Debian's Chromium, driven by Playwright, and what tests of the operator's page do in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import needs, require
from tests.e2e.daemon import Client, Daemon
from tests.e2e.page import PageServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

DEADLINE_MS = 30_000
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> "Iterator[Browser]":
    """A browser; where it or Playwright is missing the test is left out."""
    program = needs("chromium")
    require("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield made
        made.close()


@contextmanager
def tab(browser: "Browser", url: str, **traits: Any) -> "Iterator[Page]":
    """A page in a profile of its own. Whatever the browser complains of fails the test."""
    context = browser.new_context(**traits)
    context.set_default_timeout(DEADLINE_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    try:
        page.goto(url)
        yield page
    finally:
        context.close()
    assert not [each for each in complaints if "Failed to load resource" not in each]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as made:
        yield made


@pytest.fixture
def daemon(browser: "Browser", tmp_path: Path) -> Iterator[Daemon]:
    """After the browser, so that a test that lacks one starts nothing."""
    with Daemon(tmp_path) as made:
        yield made


@pytest.fixture
def server(daemon: Daemon) -> Iterator[PageServer]:
    with PageServer(daemon) as made:
        yield made


@pytest.fixture
def page(browser: "Browser", server: PageServer) -> "Iterator[Page]":
    with tab(browser, server.url) as made:
        made.wait_for_selector("#rows[data-ready]")
        yield made


def ada(daemon: Daemon, task_id: str = "tidy-1") -> Client:
    """An agent that runs a task."""
    agent = daemon.client()
    agent.call("session.open", client="ada")
    agent.call("task.begin", objective="tidy up", task_id=task_id)
    return agent


def opened(page: "Page", version: int) -> "Locator":
    """A change of the history, opened."""
    row = page.locator(f"#rows [data-version='{version}']")
    row.locator("button.item").click()
    row.locator(".patch").wait_for()
    return row


def reloaded(page: "Page") -> None:
    page.reload()
    page.wait_for_selector("#rows[data-ready]")


# The contrast of each kind of text with what is behind it, as WCAG 2.1 defines it.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => {
    const linear = (v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.slice(0, 3).map((v) => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const rgb = parse(getComputedStyle(at).backgroundColor);
      if (rgb.length < 4 || rgb[3] > 0) return rgb;
    }
  };
  const found = {};
  for (const each of ["h1", "h2", "h3", ".soft", ".claims .tag", ".claims q", ".patch .add", ".patch .del", ".act",
      ".patch .hunk", ".patch .head", "button.yes", "button.no", "#count", "#where", "summary", "#feed .row .soft",
      "#feed button"]) {
    const node = document.querySelector(each);
    if (!node) throw new Error(`there is no ${each}`);
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    found[each] = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  }
  return found;
}"""
