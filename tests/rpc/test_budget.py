"""The byte budget."""

from picoclawd import limits
from picoclawd.rpc.budget import Account, ByteBudget

LARGE = 100 * limits.KIB


def test_a_large_line_that_does_not_fit_is_refused_and_not_counted() -> None:
    budget = ByteBudget(150 * limits.KIB)
    account = Account(budget)
    assert account.take(LARGE)
    assert not account.take(LARGE)
    assert (budget.statistics().held_bytes, budget.statistics().refused) == (LARGE, 1)


def test_a_small_line_always_passes_and_is_counted() -> None:
    budget = ByteBudget(10)
    account = Account(budget)
    assert account.take(64 * limits.KIB)
    assert budget.statistics().held_bytes == 64 * limits.KIB


def test_a_line_is_small_only_as_a_whole() -> None:
    account = Account(ByteBudget(10))
    assert not account.take(1000, beside_bytes=64 * limits.KIB)


def test_an_account_gives_back_all_it_holds_and_only_that() -> None:
    budget = ByteBudget(LARGE)
    mine, other = Account(budget), Account(budget)
    mine.force(3 * LARGE)
    other.force(7)
    mine.give(LARGE)
    mine.close()
    mine.close()
    assert budget.statistics().held_bytes == 7
