"""What a call said after one of its system calls had failed, held against what is on disk."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from tests.proof.cases import Case, Files, Spot


class Answered(msgspec.Struct, frozen=True):
    """`slug` None: a result. `told` is what outcome.get says, `found` the files after the call, `next` what came of
    the calls after it, `leaked` the descriptors that stayed open."""

    slug: str | None
    outcome: str
    message: str
    data: str
    told: str
    found: Files
    next: str
    leaked: list[str]

    @staticmethod
    def read(path: Path) -> "Answered":
        """From what the child wrote."""
        raw: dict[str, Any] = json.loads(path.read_text())
        found = {name: None if text is None else text.encode("latin-1") for name, text in raw.pop("found").items()}
        return Answered(**raw, found=found)


def faults_of(spot: Spot, answered: Answered, call: str, code: int) -> list[str]:
    """P1, a true outcome, a telling slug, no descriptor and no temporary file left, and the daemon goes on."""
    case = spot.case
    wrong = _outcome_wrong(case, answered)
    wrong += _told_wrong(case, answered)
    wrong += _slug_wrong(answered, call, code)
    if answered.next != "ok" and call != "close":  # the new file is then still open for writing
        wrong.append(f"it does not go on: {answered.next}")
    if answered.leaked and call != "close":  # a close that was not made leaves its descriptor open
        wrong.append(f"left open: {answered.leaked}")
    # What may not be removed stays, and so does what came out of an exchange and could not be looked at.
    if not (call.startswith(("unlink", "rename")) or answered.outcome == "unknown"):
        wrong += _left_over(spot)
    return wrong


def _state(case: Case, found: Files) -> str:
    if found == case.before:
        return "old"
    if found == case.after:
        return "new"
    mixed = all(now in (case.before[name], case.after[name]) for name, now in found.items())
    return "mixed" if mixed and len(found) > 1 else "torn"


def _outcome_wrong(case: Case, answered: Answered) -> list[str]:
    state = _state(case, answered.found)
    allowed = {"applied": {"new"}, "not_applied": {"old"}, "unknown": {"old", "new"}}[answered.outcome]
    if case.task:
        allowed |= {"mixed", "old"}  # each file tells for itself
    if case.in_place and answered.outcome == "unknown":
        allowed |= {"torn"}  # a part that could not be taken back
    if state in allowed:
        return []
    return [f"the file is {state}, and it said {answered.outcome}: {answered.slug}: {answered.message}"]


def _told_wrong(case: Case, answered: Answered) -> list[str]:
    state = _state(case, answered.found)
    if case.task or answered.told in ("unknown", "history_unavailable"):
        return []
    if (answered.told == "applied") == (state == "new"):
        return []
    return [f"the file is {state}, and outcome.get says {answered.told} (the call: {answered.slug})"]


def _slug_wrong(answered: Answered, call: str, code: int) -> list[str]:
    if answered.slug is None:
        return []
    if answered.slug == "internal_error":
        return [f"a bug: {answered.message}"]
    # readlink is of /proc/self/fd, and nothing that is wrong there is wrong with the caller's path.
    if call == "readlink" and answered.slug not in ("io_error", "history_unavailable"):
        return [f"it says {answered.slug}: {answered.message}"]
    if code == errno.EIO and answered.slug == "io_error" and "EIO" not in answered.data:
        return [f"the errno is not told: {answered.message} {answered.data}"]
    return []


def _left_over(spot: Spot) -> list[str]:
    return [
        f"left over: {os.path.relpath(os.path.join(directory, name), spot.ws.parent)}"
        for place in (spot.ws, spot.state)
        for directory, _, names in os.walk(place)
        for name in names
        if name.startswith(".picoclawd.")
    ]
