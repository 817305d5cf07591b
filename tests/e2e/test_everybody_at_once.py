"""An agent over MCP, a person in Neovim, at the operator's page and in a shell, on one real project."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import trio

from tests.conftest import needs
from tests.e2e.browsing import chromium, tab
from tests.e2e.daemon import Daemon
from tests.e2e.mcp_session import bridge_session
from tests.e2e.page import PageServer
from tests.editors import neovim
from tests.editors.driven import Driven, wait_for
from tests.editors.neovim import Neovim

EDIT = {
    "path": "json/decoder.py",
    "old_text": "class JSONDecodeError(ValueError):",
    "new_text": "class JSONDecodeError(ValueError):  # seen",
}


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.py")}


async def agent_works(daemon: Daemon) -> list[Any]:
    """An edit, then a removal, which waits for a person."""
    async with bridge_session(daemon) as client:
        edited = await client.call_tool("edit_file", EDIT)
        removed = await client.call_tool("remove_file", {"path": "json/scanner.py"})
        return [edited, removed]


def test_what_an_agent_does_is_seen_approved_and_undone(tmp_path: Path, short_path: Path) -> None:
    nvim = needs("nvim")
    with (
        chromium() as browser,
        Daemon(tmp_path) as daemon,
        PageServer(daemon) as server,
        tab(browser, server.url) as page,
    ):
        shutil.copytree(Path(json.__file__).parent, daemon.root / "json", ignore=shutil.ignore_patterns("__pycache__"))
        before = contents(daemon.root)
        decoder = daemon.root / "json/decoder.py"
        env = {**daemon.env, "PICOCLAWD_OPERATOR_SOCKET": str(daemon.operator_socket)}
        with Driven(neovim.command(nvim), env, short_path, daemon.root) as driven:
            editor = Neovim(driven)
            editor.open(os.fsencode(decoder))
            editor.connected()
            answers: list[Any] = []
            agent = threading.Thread(target=lambda: answers.extend(trio.run(agent_works, daemon)))
            agent.start()
            wait_for(lambda: "# seen" in editor.text(os.fsencode(decoder)), "the editor has the agent's edit")
            editor.command("who")
            wait_for(lambda: "edit_file" in editor.log(), "the editor says whose it was")

            page.wait_for_selector(".card:has-text('Remove(json/scanner.py)')")
            page.wait_for_selector("#cards:not([data-moving])")
            assert "json/decoder.py" in page.inner_text("#feed")
            page.get_by_role("button", name="Approve", exact=True).click()
            agent.join(60)
            assert [answer.is_error for answer in answers] == [False, False], answers
            assert not (daemon.root / "json/scanner.py").exists()
            assert contents(daemon.root) != before

            undone = daemon.control("undo", "--last", "10m", "--yes")
            assert undone.returncode == 0, undone.stderr
            assert contents(daemon.root) == before
            wait_for(lambda: "# seen" not in editor.text(os.fsencode(decoder)), "the editor has the old text again")
