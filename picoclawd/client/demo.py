"""`picoclawctl demo`: a temporary workspace, a daemon of its own, two scripted agents. Also an end-to-end test."""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from picoclawd.client import output
from picoclawd.client.demo_steps import STEPS, Agent, BrokenPromise, Stage
from picoclawd.client.failures import CALL_FAILED, OK, Failure
from picoclawd.client.scratch import Scratch

if TYPE_CHECKING:
    import argparse

PAUSE_S = 0.8  # a step: with ten of them the demo takes about 10 s
_COLOURS = {"title": "1", "ada": "36", "bob": "35", "person": "34", "refused": "33", "failed": "31", "summary": "32"}
_WIDTH = 9


def run(args: "argparse.Namespace") -> int:
    """Play all steps; exit 0 only if each kept its promises."""
    began = time.monotonic()
    with ExitStack() as stack:
        scratch = stack.enter_context(Scratch(keep=args.keep))
        ada, bob = (Agent(name, stack.enter_context(scratch.connect())) for name in ("ada", "bob"))
        for agent in (ada, bob):
            agent.call("session.open", {"client": f"demo:{agent.name}"})
        say("title", f"A daemon works on {scratch.workspace}; two agents, ada and bob, are connected.")
        stage = Stage(scratch, ada, bob, say)
        broken = play(stage, 0.0 if args.fast or not sys.stdout.isatty() else PAUSE_S)
    held = f"{len(STEPS) - broken} of {len(STEPS)} steps held ({stage.checks} checks)"
    say("failed" if broken else "summary", f"\n{held} in {time.monotonic() - began:.1f} s.")
    if args.keep:
        say("title", f"Kept: {scratch.directory}")
    return CALL_FAILED if broken else OK


def play(stage: Stage, pause_s: float, steps: tuple[Callable[[Stage], None], ...] = STEPS) -> int:
    """Play the steps with a pause after each; returns how many broke a promise. One that breaks does not end it."""
    broken = 0
    for number, step in enumerate(steps, 1):
        say("title", f"\n{number}. {step.__doc__}")
        try:
            step(stage)
        except (BrokenPromise, Failure, OSError) as exc:
            broken += 1
            say("failed", f"This did not hold: {exc}")
        sys.stdout.flush()
        time.sleep(pause_s)
    return broken


def say(who: str, text: str) -> None:
    """Show a line of the play, in colour on a terminal: a title, an agent's call, or what it was answered."""
    label = f"{who:<{_WIDTH}}" if who in ("ada", "bob", "person", "refused", "") else ""
    line = label + output.escape(text).rstrip("\n").replace("\n", "\n" + " " * len(label))
    if who in _COLOURS and sys.stdout.isatty():
        line = f"\x1b[{_COLOURS[who]}m{line}\x1b[0m"
    sys.stdout.write(line + "\n")
