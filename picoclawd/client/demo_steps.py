"""The steps of `picoclawctl demo`: two scripted agents at work, each step checking what it promises.

To extend the demo, write a function like those below and add it to `STEPS`. A step says what happens, lets the
agents act through `Stage`, and calls `stage.check` for each promise.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from picoclawd.client.failures import RpcError
from picoclawd.client.scratch import Scratch
from picoclawd.client.wire import Connection

CALL_TIMEOUT_S = 20.0  # nothing here takes a tenth of a second


class BrokenPromise(Exception):
    """A step's check that did not hold."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One scripted agent: its name and its own connection."""

    name: str
    connection: Connection

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """Call one method as this agent."""
        return self.connection.call(method, params, CALL_TIMEOUT_S)


@dataclass(slots=True)
class Stage:
    """Where the steps play: the daemon, the agents, and `say(who, text)`, which shows what happens."""

    scratch: Scratch
    ada: Agent
    bob: Agent
    say: Callable[[str, str], None]
    checks: int = field(default=0)

    def does(self, agent: Agent, method: str, **params: Any) -> Any:
        """Show a call, make it, show its content, and return the result."""
        self.say(agent.name, call_line(method, params))
        result = agent.call(method, params)
        self.say("", str(result["content"]))
        return result

    def is_refused(self, agent: Agent, slug: str, method: str, **params: Any) -> None:
        """Show a call that must fail with `slug`."""
        self.say(agent.name, call_line(method, params))
        try:
            agent.call(method, params)
        except RpcError as error:
            self.say("refused", f"[{error.slug}] {error.message}")
            self.check(error.slug == slug, f"refused as {slug}, not {error.slug}")
        else:
            self.check(False, f"refused as {slug}; it was allowed")

    def check(self, holds: bool, promise: str) -> None:
        """Count a promise that held.

        Raises:
            BrokenPromise: it did not.
        """
        if not holds:
            raise BrokenPromise(promise)
        self.checks += 1

    def write(self, name: str, text: str) -> None:
        """Put a file into the workspace as a person would, past the daemon."""
        with open(os.path.join(self.scratch.workspace, name), "w", encoding="utf-8") as file:
            file.write(text)

    def text(self, name: str) -> str:
        """What a file of the workspace holds on disk."""
        with open(os.path.join(self.scratch.workspace, name), encoding="utf-8") as file:
            return file.read()


def call_line(method: str, params: dict[str, Any]) -> str:
    """A call on one line, long values cut."""
    shown = (f"{key}={str(value)[:40]!r}" for key, value in params.items())
    return f"{method}({', '.join(shown)})"


def edit_with_diff(stage: Stage) -> None:
    """An edit answers with its diff"""
    stage.write("server.py", "HOST = 'localhost'\nPORT = 8000\nDEBUG = True\n")
    result = stage.does(stage.ada, "edit_file", path="server.py", old_text="PORT = 8000", new_text="PORT = 8443")
    stage.check("-PORT = 8000" in result["content"], "the diff shows the removed line")
    stage.check("+PORT = 8443" in result["content"], "the diff shows the added line")
    stage.check(stage.text("server.py") == "HOST = 'localhost'\nPORT = 8443\nDEBUG = True\n", "the file is edited")


def stale_edit(stage: Stage) -> None:
    """Bob edits what he read before Ada changed it: refused, nothing lost"""
    read = stage.does(stage.bob, "read_file", path="server.py")
    stage.does(stage.ada, "edit_file", path="server.py", old_text="DEBUG = True", new_text="DEBUG = False")
    before = stage.text("server.py")
    edit = {"path": "server.py", "old_text": "DEBUG = True", "new_text": "DEBUG = None"}
    stage.is_refused(stage.bob, "conflict", "edit_file", **edit, if_match=read["data"]["sha256"])
    stage.is_refused(stage.bob, "no_match", "edit_file", **edit)
    stage.check(stage.text("server.py") == before, "Ada's edit is untouched")


def overwrite_asked_for(stage: Stage) -> None:
    """A file is not overwritten unless that is asked for"""
    before = stage.text("server.py")
    stage.is_refused(stage.bob, "file_exists", "write_file", path="server.py", content="print('hello')\n")
    stage.check(stage.text("server.py") == before, "the file is untouched")


def escape(stage: Stage) -> None:
    """A link out of the workspace leads nowhere"""
    outside = stage.scratch.outside
    with open(os.path.join(outside, "diary.txt"), "w", encoding="utf-8") as file:
        file.write("dear diary\n")
    os.symlink(outside, os.path.join(stage.scratch.workspace, "shortcut"))
    stage.is_refused(stage.bob, "outside_workspace", "read_file", path="shortcut/diary.txt")
    stage.is_refused(stage.bob, "outside_workspace", "write_file", path="shortcut/new.txt", content="hello")
    stage.is_refused(stage.bob, "outside_workspace", "append_file", path="../outside/diary.txt", content="hello")
    stage.check(os.listdir(outside) == ["diary.txt"], "nothing was created outside")


def masked_secret(stage: Stage) -> None:
    """A secret in a file is masked for agents, not for the person"""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3  # the shape of a token, not a token
    stage.write("deploy.cfg", f"token = {secret}\nregion = north\n")
    seen = stage.does(stage.ada, "read_file", path="deploy.cfg")
    stage.check(secret not in seen["content"] and "[FILTERED]" in seen["content"], "the agent sees no secret")
    stage.check("region = north" in seen["content"], "the agent sees the rest")
    with stage.scratch.connect("operator") as person:
        verbatim = person.call("read_file", {"path": "deploy.cfg"}, CALL_TIMEOUT_S)
    stage.check(secret in verbatim["content"], "the person's socket shows the file as it is")
    stage.does(stage.ada, "edit_file", path="deploy.cfg", old_text="region = north", new_text="region = south")
    stage.check(stage.text("deploy.cfg") == f"token = {secret}\nregion = south\n", "an edit keeps the secret")


def shared_log(stage: Stage) -> None:
    """Both append to one file: every line is there, once"""
    for agent in (stage.ada, stage.bob):
        stage.does(agent, "append_file", path="log.txt", content=f"{agent.name} was here\n")
    stage.check(stage.text("log.txt") == "ada was here\nbob was here\n", "both lines are there")


def fresh_search(stage: Stage) -> None:
    """Bob's search finds what Ada wrote a moment ago, and what a person saved past the daemon"""
    stage.does(stage.ada, "write_file", path="notes/plan.md", content="first\nthe harbour at noon\n")
    found = stage.does(stage.bob, "search_files", pattern="harbour")
    row = {"path": "notes/plan.md", "line": 2, "text": "the harbour at noon"}
    stage.check(found["data"]["results"] == [row], "Bob finds the line")
    named = stage.does(stage.bob, "search_files", pattern="plan", target="files")
    stage.check(named["data"]["results"] == [{"path": "notes/plan.md"}], "and the file by its name")
    stage.does(stage.ada, "edit_file", path="notes/plan.md", old_text="harbour", new_text="station")
    gone = stage.does(stage.bob, "search_files", pattern="harbour")
    stage.check(gone["data"]["results"] == [], "once Ada edited it, it is found no more")
    stage.write("letter.txt", "see you at the harbour\n")
    again = stage.does(stage.bob, "search_files", pattern="harbour", output_mode="files_only")
    stage.check(again["data"]["results"] == [{"path": "letter.txt"}], "what a person saved is found at once")


STEPS: tuple[Callable[[Stage], None], ...] = (
    edit_with_diff,
    stale_edit,
    overwrite_asked_for,
    escape,
    masked_secret,
    shared_log,
    fresh_search,
)
