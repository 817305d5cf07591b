"""What must hold after a process died in a call: looked at as the next start does it, with nobody else about."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from picoclawd.files import linux
from picoclawd.files.policy import PathRules, Policy
from picoclawd.files.rooted import Rooted
from picoclawd.history.query import Filter
from picoclawd.history.records import Version
from picoclawd.history.store import History
from picoclawd.workspace import settling
from tests.proof.cases import OP, Case, Files, Spot


def torn(case: Case, found: Files) -> list[str]:
    """P1, before anybody has looked: each file is old or new; an append may have stopped half-way."""
    return [
        f"{name} is neither old nor new: {_shown(now)}"
        for name, now in found.items()
        if not _whole(case, case.before[name], now, case.after[name])
    ]


def _whole(case: Case, before: bytes | None, now: bytes | None, after: bytes | None) -> bool:
    if now in (before, after):
        return True
    if not case.in_place or now is None or before is None or after is None:
        return False
    return now.startswith(before) and after.startswith(now)


@contextmanager
def opened(spot: Spot) -> Iterator[tuple[Rooted, History]]:
    """The history and the workspace, as a start has them."""
    real = os.fsencode(os.path.realpath(spot.ws))
    history = History(str(spot.state))
    try:
        with Rooted(real, Policy(PathRules(workspace=real))) as rooted:
            yield rooted, history
    finally:
        history.close()


def settle(spot: Spot) -> None:
    """What a start does about what was left open."""
    linux.ignore_lease_signal()
    with opened(spot) as (rooted, history):
        settling.settle(rooted, (rooted.workspace,), history)


def faults(spot: Spot, left: Files, *, acknowledged: bool) -> list[str]:
    """Start anew and look: P1, P2, P7, and that nothing is left over. `left` is what the death left."""
    case = spot.case
    with opened(spot) as (rooted, history):
        if history.notice is not None:
            return [history.notice]
        settling.settle(rooted, (rooted.workspace,), history)
        wrong = _files_wrong(case, left, spot.found(), acknowledged)
        if history.open_intents():
            wrong.append("an intent is still open")
        history.prune()
        wrong += _outcome_wrong(case, history, spot.found())
        wrong += _versions_wrong(case, history, spot.found())
    return wrong + _left_over(spot)


def _files_wrong(case: Case, left: Files, now: Files, acknowledged: bool) -> list[str]:
    wrong = []
    for name, found in now.items():
        before, after = case.before[name], case.after[name]
        if found not in (before, after):
            wrong.append(f"{name} is torn after the start: {_shown(found)}")
        if left[name] != before and found != after:
            wrong.append(f"{name} had been changed, and is old after the start")
        if acknowledged and found != after:
            wrong.append(f"{name} was acknowledged, and is not new: {_shown(found)}")
    return wrong


def _outcome_wrong(case: Case, history: History, now: Files) -> list[str]:
    changed = [name for name, found in now.items() if found != case.before[name]]
    if changed and len(changed) < sum(case.before[name] != case.after[name] for name in now):
        return []  # a call on several files: half of it was made, and each file tells for itself
    told = history.outcome(OP)
    true = "applied" if changed else "not_applied"
    return [] if told == true else [f"the outcome is {true}, and outcome.get says {told}"]


def _versions_wrong(case: Case, history: History, now: Files) -> list[str]:
    wrong = []
    for name, found in now.items():
        made = _of_the_call(history, name)
        done = found != case.before[name]
        if [each.state for each in made if each.state != "not_applied"] != (["done"] if done else []):
            wrong.append(f"{name}: the versions of the call are {[each.state for each in made]}, done is {done}")
        for each in made:
            if each.state == "done":
                wrong += _contents_wrong(case, history, name, each)
    return wrong


def _contents_wrong(case: Case, history: History, name: str, made: Version) -> list[str]:
    before, after = history.content_before(made.version), history.content_after(made.version)
    wrong = []
    if before != case.before[name]:
        wrong.append(f"{name}: what was before is not kept: {_shown(before)}")
    # Of a deletion, what brings back: the file that it removed.
    if after != (case.before[name] if made.action == "delete" else case.after[name]):
        wrong.append(f"{name}: what was made is not kept: {_shown(after)}")
    return wrong


def _of_the_call(history: History, name: str) -> list[Version]:
    return [each for each in history.versions(Filter(paths=[name.encode()]), 20) if each.op == OP]


def _left_over(spot: Spot) -> list[str]:
    found = [
        os.path.join(directory, name)
        for place in (spot.ws, spot.state)
        for directory, _, names in os.walk(place)
        for name in names
        if name.startswith(".picoclawd.")
    ]
    return [f"left over: {Path(path).name}" for path in found]


def _shown(data: bytes | None) -> str:
    return "no file" if data is None else f"{len(data)} bytes, {data[:20]!r}...{data[-20:]!r}"
