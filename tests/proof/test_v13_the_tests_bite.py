"""V13: the tests bite. Of small wrong changes to the resolver, the commit, the locks, the tree and the intents at least
nine in ten are noticed by the tests of their modules; `survivors.md` says of others why no test needs to notice.

It has no short form in the claim: what runs each time are the tests of the machine itself.
"""

import ast
import os
import random
from pathlib import Path
from types import ModuleType

import pytest

from tests.proof import figures, mutation, swapping
from tests.proof.conftest import Tell
from tests.proof.figures import Span
from tests.proof.mutants import mutants_of, mutated

_STARTS_S = 3600  # all tests that may be needed are run once before, to see what they reach
_REACH = "PICOCLAW_PROOF_REACH"  # a file that keeps this between runs
_TEXT = '''"""A module."""

import functools
import os

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@functools.cache
def least(one: int, other: int = 3) -> int:
    """The least."""
    return one if one < other else other


class Kept:
    @property
    def last(self) -> bool:
        assert self is not None
        try:
            raise KeyError("a sentence is left alone")
        except KeyError:
            return not least(1)
'''


def test_each_mutant_is_another_module_and_has_a_name_of_its_own() -> None:
    made = mutants_of("m.py", _TEXT)
    assert len({ast.unparse(mutated(_TEXT, mutant.number)) for mutant in made}) == len(made)
    assert len({mutant.name for mutant in made}) == len(made)
    assert ast.unparse(ast.parse(_TEXT)) not in {ast.unparse(mutated(_TEXT, mutant.number)) for mutant in made}


def test_what_is_changed_is_the_code_and_not_what_people_read() -> None:
    told = [mutant.name for mutant in mutants_of("m.py", _TEXT)]
    assert told == [
        "m.py `module`: `os.O_RDONLY | os.O_NOFOLLOW` becomes `os.O_RDONLY`",
        "m.py `least`: `3` becomes `4`",
        "m.py `least`: `return one if one < other else other` becomes `return None`",
        "m.py `least`: `one < other` becomes `one >= other`",
        "m.py `least`: `one < other` becomes `one <= other`",
        "m.py `Kept.last`: `except KeyError` becomes `nothing`",
        "m.py `Kept.last`: `raise KeyError('a sentence is left alone')` becomes `pass`",
        "m.py `Kept.last`: `return not least(1)` becomes `return None`",
        "m.py `Kept.last`: `not least(1)` becomes `least(1)`",
        "m.py `Kept.last`: `1` becomes `2`",
    ]


@pytest.mark.parametrize(
    ("change", "seen"),
    [("`3` becomes `4`", 4), ("one < other` becomes `one >=", 7), ("return None", None), ("O_NOFOLLOW` becomes", 3)],
)
def test_a_change_is_swapped_into_what_others_hold_already(change: str, seen: int | None) -> None:
    module = ModuleType("tests.proof.swapped_for_a_test")
    exec(compile(_TEXT, "m.py", "exec"), module.__dict__)
    module.__file__ = "m.py"
    held = module.least
    assert (held(7), held(1)) == (3, 1)
    number = next(mutant.number for mutant in mutants_of("m.py", _TEXT) if change in mutant.name)
    swapping.swap_in(module, mutated(_TEXT, number))
    assert held is module.least and held(7) == seen
    assert module._FLAGS != 0 or "O_NOFOLLOW" in change


def test_every_survivor_that_is_listed_is_a_mutant_and_has_its_reason() -> None:
    names = {mutant.name for _, mutant in mutation.every_mutant(list(mutation.GROUPS.values()))}
    listed = mutation.survivors(mutation.SURVIVORS.read_text())
    assert sorted(set(listed) - names) == []
    assert [name for name, reason in listed.items() if len(reason) < 20] == []


@pytest.mark.slow
@pytest.mark.timeout(figures.SECONDS * 3 + _STARTS_S)
def test_nine_in_ten_wrong_changes_are_noticed(tell: Tell) -> None:
    wanted = figures.length()
    groups = list(mutation.GROUPS.values())
    chosen = mutation.every_mutant(groups)
    random.Random(wanted.seed).shuffle(chosen)
    results = []
    reach = os.environ.get(_REACH)
    with mutation.biter(groups, Path(reach) if reach else None) as biting:
        span = Span(wanted.seconds)
        for result in mutation.run(biting, chosen):
            results.append(result)
            if span.over:
                break
    survived = [result.line() for result in results if not result.told.killed and result.reason is None]
    share = mutation.share_killed(results)
    figure = f"{len(results)} of {len(chosen)} mutants, {share:.1%} of those not listed killed"
    tell("\n".join([wanted.told("V13", figure), *survived, mutation.table(results)]))
    assert share >= 0.9, "\n".join(survived)
