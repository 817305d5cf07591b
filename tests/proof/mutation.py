"""V13: change the code that everything rests on, a little and wrongly, and see whether a test notices.

    python -m tests.proof.mutation commit locks              # these groups whole; `all` for every one
    python -m tests.proof.mutation --module picoclawd/files/paths.py --reach /tmp/reach.json

An own runner, in three modules: `mutants` changes the text, `biting` runs the tests, `swapping` loads a change into it.
Looked at first: mutmut 3.8 (BSD) leaves out every decorated function and every value at the level of a module, here
all context managers, LockTable.hold and the flags of each open(2); cosmic-ray starts the whole test command for each
mutant, where ours forks and runs what reaches the changed line.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.proof.biting import Asked, Told
from tests.proof.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
SURVIVORS = Path(__file__).with_name("survivors.md")
SPEND_S = 8.0  # the module's own tests, and the quickest of those of others


class Group(msgspec.Struct, frozen=True):
    """What is mutated together. `tests` are folders and files; `apart` those files of them whose tests run the code
    in processes of their own, where nobody sees which lines they reach."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    apart: tuple[str, ...] = ()


def _files(*names: str) -> tuple[str, ...]:
    return tuple(f"picoclawd/{name}.py" for name in names)


_CALLS = ("tests/workspace", "tests/tools")
GROUPS = {
    "intents": Group(
        (
            *_files("history/recording", "history/settle", "history/writer", "history/store"),
            *_files("workspace/settling", "workspace/journal"),
        ),
        ("tests/history", *_CALLS),
        ("tests/history/test_crash.py",),
    ),
    "commit": Group(
        (
            *_files("files/replace", "files/create", "files/append", "files/exchange", "files/pinned"),
            *_files("files/readback", "files/target", "files/temps", "files/metadata", "files/stamps"),
        ),
        ("tests/files", *_CALLS),
        ("tests/files/test_commit.py", "tests/files/test_outside_savers.py"),
    ),
    "locks": Group(_files("files/locks", "files/leases"), ("tests/files", *_CALLS)),
    "resolver": Group(
        _files("files/rooted", "files/resolve", "files/placing", "files/paths", "files/handles"),
        ("tests/files", *_CALLS),
    ),
    "tree": Group(_files("index/tree", "index/trust", "index/changes"), ("tests/index", *_CALLS)),
}


class Result(msgspec.Struct, frozen=True):
    """One mutant and what became of it. `reason` is that of `survivors.md`, where it is listed."""

    mutant: Mutant
    told: Told
    reason: str | None

    def line(self) -> str:
        """The result for a log."""
        word = self.told.how if self.told.killed else "listed" if self.reason else "SURVIVED"
        by = f" by {self.told.by}" if self.told.killed else ""
        return f"{word:9} {self.told.seconds:6.1f} s {self.told.tests:4} tests  {self.mutant.name}{by}"


class Biter:
    """The warm process, and the copy of the tree that it works in."""

    def __init__(self, copy: Path, groups: list[Group], reach: Path, spend_s: float) -> None:
        self.copy = copy
        heard, said = os.pipe()
        plan = {
            "modules": sorted({module for group in GROUPS.values() for module in group.modules}),
            "tests": sorted({test for group in groups for test in group.tests}),
            "reach": str(reach.absolute()),
            "spend_s": spend_s,
            "answers": said,
        }
        environment = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.biting", json.dumps(plan)],
            cwd=copy,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[said],
            text=True,
        )
        os.close(said)
        self._answers = os.fdopen(heard)
        assert self._answers.readline() == "{}\n", "the tests could not be collected"

    def bite(self, asked: Asked) -> Told:
        """Try one mutant. Blocking, as long as the tests take."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(asked).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._answers.readline(), type=Told)

    def end(self) -> None:
        """End the process, which is waiting for the next mutant, or in one."""
        self._process.kill()
        self._process.communicate()
        self._answers.close()


@contextmanager
def biter(groups: list[Group], reach: Path | None = None, spend_s: float = SPEND_S) -> Iterator[Biter]:
    """Copy the tree and make its tests ready, which takes minutes where `reach` is not there yet."""
    with tempfile.TemporaryDirectory(prefix="picoclawd-mutation-") as scratch:
        copy = Path(scratch, "tree")
        copy.mkdir()
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        for name in filter(None, os.fsdecode(listed).split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        made = Biter(copy, groups, reach or Path(scratch, "reach.json"), spend_s)
        try:
            yield made
        finally:
            made.end()


def survivors(text: str) -> dict[str, str]:
    """What `survivors.md` lists: the name of a mutant, and why no test needs to see it."""
    found: dict[str, str] = {}
    module = ""
    for line in text.splitlines():
        if line.startswith("## "):
            module = line[3:].strip()
        elif line.startswith("- "):
            name, _, reason = line[2:].partition(" :: ")
            found[f"{module} {name}"] = reason.strip()
    return found


def run(biting: Biter, chosen: list[tuple[Group, Mutant]]) -> Iterator[Result]:
    """Try mutants in this order."""
    listed = survivors(SURVIVORS.read_text())
    for group, mutant in chosen:
        told = biting.bite(Asked(mutant, group.apart))
        yield Result(mutant, told, listed.get(mutant.name))


def every_mutant(groups: list[Group], module: str | None = None) -> list[tuple[Group, Mutant]]:
    """All mutants of the groups, or of one module of them."""
    return [
        (group, mutant)
        for group in groups
        for path in group.modules
        if module in (None, path)
        for mutant in mutants_of(path, (ROOT / path).read_text())
    ]


def table(results: list[Result]) -> str:
    """A line a module: mutants, killed, listed, survived."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        word = "killed" if result.told.killed else "listed" if result.reason else "survived"
        counts.setdefault(result.mutant.module, Counter())[word] += 1
    lines = [f"{'module':34} mutants killed listed survived"]
    for module, count in counts.items():
        total = sum(count.values())
        lines.append(f"{module:34} {total:7} {count['killed']:6} {count['listed']:6} {count['survived']:8}")
    return "\n".join(lines)


def share_killed(results: list[Result]) -> float:
    """How many of those that are not listed were killed."""
    counted = [result.told.killed for result in results if result.told.killed or result.reason is None]
    return sum(counted) / max(1, len(counted))


def _named(log: Path, word: str = "") -> set[str]:
    """The mutants that a log has a line of, or a line that begins with this word."""
    lines = [line.partition(" tests  ")[2] for line in log.read_text().splitlines() if line.startswith(word)]
    return {re.sub(r" by (tests/.*|load)$", "", name) for name in lines if name}


def main() -> None:
    """Run groups from the command line and print each mutant, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("groups", nargs="*", help=f"all, or of {', '.join(GROUPS)}")
    parser.add_argument("--module", help="only this module")
    parser.add_argument("--name", default="", help="only mutants whose name holds this")
    parser.add_argument(
        "--again", type=Path, help="only those that survived an earlier run, by its lines, and are not listed"
    )
    parser.add_argument("--go-on", type=Path, help="only those that an earlier run, which was ended, had not come to")
    parser.add_argument("--sample", type=int, help="only so many, chosen by --seed")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--reach", type=Path, help="keep here what the tests reach, and take it from here")
    parser.add_argument("--spend", type=float, default=SPEND_S, help="seconds of tests that one mutant must stand")
    said = parser.parse_args()
    names = list(GROUPS) if said.groups in ([], ["all"]) else said.groups
    groups = [GROUPS[name] for name in names if said.module is None or said.module in GROUPS[name].modules]
    chosen = [pair for pair in every_mutant(groups, said.module) if said.name in pair[1].name]
    if said.again is not None:
        names_again = _named(said.again, "SURVIVED") - survivors(SURVIVORS.read_text()).keys()
        chosen = [pair for pair in chosen if pair[1].name in names_again]
    if said.go_on is not None:
        known = _named(said.go_on)
        chosen = [pair for pair in chosen if pair[1].name not in known]
    if said.sample is not None:
        chosen = random.Random(said.seed).sample(chosen, min(said.sample, len(chosen)))
    results = []
    with biter(groups, said.reach, said.spend) as biting:
        for result in run(biting, chosen):
            print(result.line(), flush=True)
            results.append(result)
    print(table(results))
    print(f"{share_killed(results):.1%} of those not listed were killed; seed {said.seed}")


if __name__ == "__main__":
    main()
