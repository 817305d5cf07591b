"""The operator's page in a browser, before a real daemon: what a person sees, and does with mouse and keys."""

from typing import TYPE_CHECKING

import pytest

from tests.e2e.browsing import CONTRAST, ada, opened, reloaded, tab
from tests.e2e.browsing import browser as browser
from tests.e2e.browsing import daemon as daemon
from tests.e2e.browsing import page as page
from tests.e2e.browsing import server as server
from tests.e2e.daemon import Client, Daemon
from tests.e2e.page import PageServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CALM = "#cards:not([data-moving])"


def asks_to_remove(daemon: Daemon, page: "Page", agent: Client, name: str) -> int:
    """A removal that waits and is on the page, whose buttons count; the call's number."""
    daemon.write(name, "precious\n")
    number = agent.start("remove_file", {"path": name})
    page.wait_for_selector(f".card:has-text('Remove({name})')")
    page.wait_for_selector(CALM)
    return number


def test_a_removal_that_waits_is_shown_whole_and_approved(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    assert page.inner_text("#nothing") == "Nothing waits for you."
    number = asks_to_remove(daemon, page, agent, "old.txt")
    assert page.title().startswith("(1) ")
    card = page.locator(".card")
    claims = card.locator(".claims").inner_text()
    assert "not checked" in claims and "ada" in claims and "tidy up" in claims
    assert card.locator(".patch .del").inner_text() == "-precious"
    card.get_by_role("button", name="Approve", exact=True).click()
    assert "result" in agent.answer(number)
    assert not (daemon.root / "old.txt").exists()
    page.wait_for_selector(".card", state="detached")
    assert page.inner_text("#said").startswith("Approved: Remove(old.txt)")


def test_a_denial_leaves_the_file(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    number = asks_to_remove(daemon, page, agent, "old.txt")
    page.get_by_role("button", name="Deny").click()
    assert agent.answer(number)["error"]["data"]["error"] == "confirmation_denied"
    assert (daemon.root / "old.txt").exists()


def test_approved_for_its_task_the_next_one_is_not_asked_for(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    number = asks_to_remove(daemon, page, agent, "one.txt")
    page.get_by_role("button", name="Approve for its task").click()
    assert "result" in agent.answer(number)
    daemon.write("two.txt", "x\n")
    agent.call("remove_file", path="two.txt")
    assert not (daemon.root / "two.txt").exists()


def test_a_click_in_the_moment_when_the_list_moves_does_not_count(daemon: Daemon, page: "Page") -> None:
    agent, other = ada(daemon), daemon.client()
    asks_to_remove(daemon, page, agent, "one.txt")
    page.evaluate("moved(); document.querySelector('[data-answer=once]').click()")
    assert "press once more" in page.inner_text("#said")
    assert daemon.operator().call("approvals.list")["pending"]
    asks_to_remove(daemon, page, other, "two.txt")
    page.locator(".card", has_text="one.txt").get_by_role("button", name="Approve", exact=True).click()
    page.wait_for_selector(".card:has-text('one.txt')", state="detached")
    assert (daemon.root / "two.txt").exists()


def test_what_is_answered_elsewhere_leaves_the_page(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    asks_to_remove(daemon, page, agent, "old.txt")
    operator = daemon.operator()
    (row,) = operator.call("approvals.list")["pending"]
    operator.call("approvals.answer", id=row["id"], digest=row["digest"], answer="deny")
    page.wait_for_selector(".card", state="detached")
    page.wait_for_selector("#feed .row:has-text('answered')")


def test_a_file_has_its_history_with_diffs_and_comes_back_to_a_version(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    path = daemon.write("src/a.txt", "one\ntwo\n")
    agent.call("edit_file", path="src/a.txt", old_text="two", new_text="2")
    agent.call("write_file", path="b.txt", content="b\n")
    agent.call("edit_file", path="src/a.txt", old_text="one", new_text="1")
    page.locator("#newer").click()
    row = opened(page, 1)
    assert row.locator(".patch .del").inner_text() == "-two"
    row.get_by_role("button", name="History of this file").click()
    page.wait_for_selector("#rows [data-version='2']", state="detached")
    assert page.locator("#rows .row").count() == 2
    opened(page, 1).get_by_role("button", name="Restore this version").click()
    page.wait_for_selector("dialog[open]")
    assert "-1" in page.inner_text("#ask .patch") and path.read_text() == "1\n2\n"
    page.get_by_role("button", name="Cancel").click()
    assert path.read_text() == "1\n2\n"
    page.locator("#rows [data-version='1']").get_by_role("button", name="Restore this version").click()
    page.get_by_role("button", name="Do it").click()
    page.wait_for_selector("#rows .act[data-act=restore]")
    assert path.read_text() == "one\n2\n"


def test_undo_from_here_brings_back_what_was_before_the_first_change(daemon: Daemon, page: "Page") -> None:
    path = daemon.write("a.txt", "first\n")
    agent = ada(daemon)
    agent.call("edit_file", path="a.txt", old_text="first", new_text="second")
    page.locator("#newer").click()
    opened(page, 1).get_by_role("button", name="Undo from here").click()
    page.get_by_role("button", name="Do it").click()
    page.wait_for_selector("#rows .act[data-act=restore]")
    assert path.read_text() == "first\n"


def test_what_another_program_changed_since_is_said_before_it_is_restored_over(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    agent.call("write_file", path="a.txt", content="agent\n")
    path = daemon.write("a.txt", "person\n")
    page.locator("#newer").click()
    opened(page, 1).get_by_role("button", name="Restore this version").click()
    page.wait_for_selector("dialog[open] .bad")
    assert "-person" in page.inner_text("#ask .patch") and path.read_text() == "person\n"
    page.get_by_role("button", name="Do it all the same").click()
    page.wait_for_selector("#said:has-text('Done')")
    assert path.read_text() == "agent\n"


def test_a_whole_task_is_undone_and_what_others_changed_since_is_said_first(daemon: Daemon, page: "Page") -> None:
    agent, other = ada(daemon), daemon.client()
    agent.call("write_file", path="a.txt", content="a\n")
    agent.call("write_file", path="b.txt", content="b\n")
    other.call("append_file", path="b.txt", content="more\n")
    page.locator("#newer").click()
    opened(page, 1).get_by_role("button", name="Undo the whole task").click()
    page.wait_for_selector("dialog[open]")
    assert "b.txt" in page.locator("#ask .bad").first.inner_text()
    page.get_by_role("button", name="Do it all the same").click()
    page.wait_for_selector("#said:has-text('Done')")
    assert not (daemon.root / "a.txt").exists() and not (daemon.root / "b.txt").exists()


def test_everything_can_be_done_with_the_keyboard_alone(daemon: Daemon, page: "Page") -> None:
    agent = ada(daemon)
    first = asks_to_remove(daemon, page, agent, "one.txt")
    press = page.keyboard.press
    press("a")  # nothing has the focus: nothing is approved
    assert page.locator(".card").count() == 1
    press("j")
    assert page.evaluate("document.activeElement.matches('.card')")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "the focus is visible"
    press("a")
    assert "result" in agent.answer(first)
    second = asks_to_remove(daemon, page, agent, "two.txt")
    press("j")
    press("d")
    assert agent.answer(second)["error"]["data"]["error"] == "confirmation_denied"
    third = asks_to_remove(daemon, page, agent, "three.txt")
    page.locator("#help").focus()
    for _ in range(10):
        press("Tab")
        if page.evaluate("document.activeElement.dataset.answer") == "deny":
            break
    press("Enter")
    assert agent.answer(third)["error"]["data"]["error"] == "confirmation_denied"
    reloaded(page)
    press("j")
    press("Enter")
    page.wait_for_selector("#rows .patch")
    page.get_by_role("button", name="Bring it back").focus()
    press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.evaluate("document.activeElement.id") == "ask-no", "the answer that does nothing has the focus"
    press("Escape")
    assert page.evaluate("document.activeElement.dataset.do") == "restore", "the focus is where it was"
    press("Enter")
    page.wait_for_selector("dialog[open]")
    press("Tab")
    press("Enter")
    page.wait_for_selector("#said:has-text('Done')")
    assert (daemon.root / "one.txt").read_text() == "precious\n"
    press("/")
    page.keyboard.type("jda?")
    assert page.input_value("#path") == "jda?", "typing is typing"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_at_400_pixels_nothing_scrolls_sideways_and_texts_are_legible(
    browser: "Browser", daemon: Daemon, server: PageServer, scheme: str
) -> None:
    agent = ada(daemon)
    long = "a-very-long-name-without-any-break-" * 6
    agent.call("write_file", path=f"{long[:120]}/{long[:200]}.txt", content="x" * 5000 + "\n")
    traits = {"viewport": {"width": 400, "height": 800}, "color_scheme": scheme}
    with tab(browser, server.url, **traits) as page:
        asks_to_remove(daemon, page, agent, f"{long[:100]}/{long[:150]}.txt")
        reloaded(page)
        opened(page, 1)
        page.wait_for_selector(".card")
        width = page.evaluate("document.documentElement.scrollWidth")
        contrast = page.evaluate(CONTRAST)
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert width == 400
    assert min(contrast.values()) >= 4.5, f"WCAG 2.1, 1.4.3: {contrast}"
    assert (sum(map(int, ground[4:-1].split(","))) > 382) is (scheme == "light")


def test_a_daemon_that_goes_and_comes_is_said_and_the_page_goes_on(daemon: Daemon, page: "Page") -> None:
    ada(daemon).call("write_file", path="a.txt", content="a\n")
    page.wait_for_selector("#feed .row:has-text('a.txt')")
    daemon.stop()
    page.wait_for_selector("#alarm:has-text('picoclawd serve')")
    assert page.inner_text("#state") == "daemon gone"
    daemon.start()
    page.wait_for_selector("#state[data-state=connected]")
    assert page.inner_text("#alarm") == ""
    page.wait_for_selector("#rows [data-version='1']")
    agent = ada(daemon, "tidy-2")
    number = asks_to_remove(daemon, page, agent, "old.txt")
    page.get_by_role("button", name="Approve", exact=True).click()
    assert "result" in agent.answer(number)


def test_a_server_that_is_gone_is_said(server: PageServer, page: "Page") -> None:
    server.stop()
    page.wait_for_selector("#alarm:has-text('start it again')")
    assert page.inner_text("#state") == "not connected"


def test_history_comes_in_pages(daemon: Daemon, page: "Page") -> None:
    agent = daemon.client()
    for number in range(120):
        agent.call("write_file", path=f"{number}.txt", content="x\n")
    page.wait_for_selector("#newer:has-text('120 newer')")
    page.locator("#newer").click()
    page.wait_for_selector("#rows [data-version='120']")
    assert page.locator("#rows .row").count() == 50
    page.locator("#older").click()
    page.wait_for_selector("#rows [data-version='70']")
    page.locator("#older").click()
    page.wait_for_selector("#rows [data-version='20']")
    assert page.locator("#rows .row").count() == 20 and page.locator("#older").is_hidden()
    page.locator("#newest").click()
    page.wait_for_selector("#rows [data-version='120']")
    assert page.locator("#feed .row").count() == 100, "the feed is bounded"
