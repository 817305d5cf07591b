"""The client part of the VS Code extension, run by node beside a real daemon; the rest is linted."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from picoclawd.text import display
from tests.client.fake import FakeDaemon, Refusal
from tests.conftest import needs
from tests.e2e.daemon import Daemon
from tests.editors.driven import CONTRIB, HERE, STRANGE, Driven, is_refused, wait_for

EXTENSION = CONTRIB / "vscode"


def command() -> list[str]:
    return [needs("node"), str(HERE / "drive.js"), str(EXTENSION)]


def heard(driven: Driven, kind: str) -> list[Any]:
    return [what for name, what in driven.run("return heard") if name == kind]


def is_open(driven: Driven) -> bool:
    return bool(driven.run("return client.state === 'open'"))


@pytest.fixture
def node(daemon: Daemon, scratch: Path) -> Iterator[Driven]:
    """Connected to the shared daemon, which it found by its info.json."""
    with Driven(command(), daemon.env, scratch, daemon.root) as driven:
        wait_for(lambda: is_open(driven), "connected")
        yield driven


def test_a_change_is_heard_with_its_author(node: Driven, daemon: Daemon) -> None:
    agent = daemon.client()
    agent.call("session.open", client="claude")
    agent.call("write_file", path="vs.txt", content="one\n")
    change = wait_for(lambda: [each for each in heard(node, "file.changed") if each["path"] == "vs.txt"], "a change")[0]
    assert node.run(f"return text.author({json.dumps(change['by'])}, [])").startswith("claude (write_file, session s-")
    assert node.run(f"return text.author({json.dumps(change['by'])}, ['{change['by']['session_id']}'])") == (
        "you (write_file)"
    )


def test_a_call_answers_or_rejects_in_the_daemons_words(node: Driven) -> None:
    assert node.run("return (await client.call('session.info')).client") == "VS Code"
    with pytest.raises(AssertionError, match=r"CallError: .*no/such"):
        node.run("await client.call('read_file', {path: 'no/such'})")
    assert node.run("return client.call('read_file', {path: 'no/such'}).catch((fault) => fault.slug)") == "not_found"


def test_unsaved_text_keeps_agents_away(node: Driven, daemon: Daemon) -> None:
    path = json.dumps(os.path.realpath(daemon.write("vs-dirty.txt", "one\n")))
    agent = daemon.client()
    node.run(f"client.mark({path}, true); client.mark({path}, false); client.mark({path}, true)")
    wait_for(lambda: is_refused(agent, "vs-dirty.txt"), "kept away")
    node.run(f"client.mark({path}, false)")
    wait_for(lambda: not is_refused(agent, "vs-dirty.txt"), "let in again")
    assert heard(node, "fault") == []


def test_a_request_is_heard_shown_whole_and_answered(node: Driven, daemon: Daemon) -> None:
    daemon.write("vs-gone.txt", "one\n")
    agent = daemon.client()
    agent.call("session.open", client="claude")
    call = agent.start("remove_file", {"path": "vs-gone.txt"})
    asked = wait_for(lambda: heard(node, "approval.requested"), "a request")[0]
    pending = "(await client.call('approvals.list')).pending"
    shown = node.run(f"return text.described({pending}.find((each) => each.id === '{asked['id']}'))")
    assert "Remove(vs-gone.txt)" in shown and "client     claude  (claimed)" in shown
    answer = {"id": asked["id"], "digest": asked["digest"], "answer": "once"}
    node.run(f"await client.call('approvals.answer', {json.dumps(answer)})")
    assert "result" in agent.answer(call)
    assert not (daemon.root / "vs-gone.txt").exists()


def test_a_history_row_is_one_line(node: Driven, daemon: Daemon) -> None:
    agent = daemon.client()
    agent.call("session.open", client="claude")
    agent.call("task.begin", objective="say it")
    agent.call("write_file", path="vs-rows.txt", content="one\n")
    row = node.run(
        "return text.versionLine((await client.call('file_history', {path: 'vs-rows.txt'})).data.versions[0])"
    )
    assert re.fullmatch(r"v\d+  \S+ \S+  create  by claude \(write_file\): say it", row)


def test_names_are_shown_as_the_daemon_shows_them(node: Driven) -> None:
    assert node.run(f"return {json.dumps(STRANGE)}.map(text.shown)") == [
        display.name(each.encode()) for each in STRANGE
    ]


def test_a_text_keeps_its_lines_and_tabs(node: Driven) -> None:
    assert node.run(r"return text.shownText('a\tb\n\x1b[2J\u202ec\\')") == "a\tb\n\\x1b[2J\\u202ec\\"


def test_a94_a_killed_daemon_is_found_again_when_it_is_back(scratch: Path) -> None:
    (scratch / "d").mkdir()
    with Daemon(scratch / "d") as daemon, Driven(command(), daemon.env, scratch, daemon.root) as node:
        path = json.dumps(os.path.realpath(daemon.write("a.txt", "one\n")))
        wait_for(lambda: is_open(node), "connected")
        node.run(f"client.mark({path}, true)")
        agent = daemon.client()
        wait_for(lambda: is_refused(agent, "a.txt"), "kept away")
        daemon.stop(signal.SIGKILL)
        assert wait_for(lambda: heard(node, "lost"), "lost") == ["the daemon ended the connection"]
        with pytest.raises(AssertionError, match="CallError"):
            node.run("await client.call('ping')")
        daemon.start()
        wait_for(lambda: is_open(node), "connected again")
        again = daemon.client()
        wait_for(lambda: is_refused(again, "a.txt"), "kept away again")


@pytest.fixture
def lonely(scratch: Path) -> dict[str, str]:
    """An environment in which no daemon is found but at `sock`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PICOCLAW")}
    here = {"XDG_RUNTIME_DIR": str(scratch), "XDG_STATE_HOME": str(scratch), "HOME": str(scratch)}
    return {**kept, **here}


def test_without_a_daemon_the_reason_is_what_to_type(scratch: Path, lonely: dict[str, str]) -> None:
    with Driven(command(), lonely, scratch, scratch) as node:
        with pytest.raises(AssertionError, match=r"no daemon serves .*\. Start one with: picoclawd serve --workspace "):
            node.run("await client.call('ping')")


def test_an_older_daemon_is_named_as_the_reason(scratch: Path, lonely: dict[str, str]) -> None:
    def refuse(_: object) -> object:
        raise Refusal(-32601, "there is no method events.subscribe", error="method_not_found")

    handlers: dict[str, Callable[[Any], Any]] = {
        "session.open": lambda _: {"session_id": "s-1", "workspace": str(scratch)},
        "events.subscribe": refuse,
    }
    env = {**lonely, "PICOCLAWD_OPERATOR_SOCKET": str(scratch / "sock")}
    with FakeDaemon(str(scratch / "sock"), handlers), Driven(command(), env, scratch, scratch) as node:
        why = wait_for(lambda: "refused" in (said := node.run("return client.why")) and said, "refused")
        assert why == "the daemon refused the connection: there is no method events.subscribe"


@pytest.mark.parametrize("name", ["client.js", "extension.js", "text.js"])
def test_the_syntax_is_sound(name: str) -> None:
    checked = subprocess.run([needs("node"), "--check", EXTENSION / name], capture_output=True, text=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_manifest_names_what_is_registered() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    registered = re.search(r"Object\.entries\(\{ (.*?) \}\)", (EXTENSION / "extension.js").read_text())
    assert registered is not None
    named = [each["command"] for each in manifest["contributes"]["commands"]]
    assert named == [f"picoclawd.{each}" for each in registered[1].split(", ")]
    assert (EXTENSION / manifest["main"]).exists() and "dependencies" not in manifest


ESLINT = ("eslint@9", "@eslint/js@9")
ESLINT_CONFIG = """
const js = require('@eslint/js');
const globals = ['require', 'module', 'process', 'Buffer', 'setTimeout', 'clearTimeout', 'setImmediate', 'console'];
const known = Object.fromEntries(globals.map((name) => [name, 'readonly']));
module.exports = [js.configs.recommended, { languageOptions: { sourceType: 'commonjs', globals: known } }];
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_eslint_finds_nothing(tmp_path: Path) -> None:
    """It comes from npm's registry, so its absence is no failure."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm")
    try:
        command = [npm, "install", "--no-audit", "--no-fund", "--silent", *ESLINT]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=240)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        pytest.skip(f"npm could not install eslint: {failure}")
    (tmp_path / "eslint.config.js").write_text(ESLINT_CONFIG)
    for path in EXTENSION.glob("*.js"):
        shutil.copy(path, tmp_path / path.name)
    names = [path.name for path in EXTENSION.glob("*.js")]
    linted = subprocess.run(
        [tmp_path / "node_modules/.bin/eslint", "--max-warnings", "0", *names],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (linted.returncode, linted.stdout) == (0, "")
