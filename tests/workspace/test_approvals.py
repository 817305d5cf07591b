"""What would have to be confirmed goes on for the person, and is refused to agents while nobody can be asked."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.policy import Allow, Ask
from picoclawd.workspace.actors import Actor, Kind, Role
from picoclawd.workspace.approvals import settle
from tests.house import House


def actor(role: Role) -> Actor:
    return Actor("s1", role, Kind.AGENT, "test", 1)


def test_what_is_allowed_goes_on_for_everyone_and_what_must_be_asked_for_the_person(house: House) -> None:
    path = house.workspace.parse("a.txt")
    for role in Role:
        settle(actor(role), Allow(), path)
    settle(actor(Role.OPERATOR), Ask("it is a build file"), path)


def test_an_agent_is_told_the_reason_and_who_can_make_the_change(house: House) -> None:
    with pytest.raises(Fault) as caught:
        settle(actor(Role.AGENT), Ask("it is a build file"), house.workspace.parse("a.txt"))
    assert caught.value.slug is Slug.CONFIRMATION_UNAVAILABLE
    assert caught.value.message.startswith("a.txt: it is a build file, and nobody can be asked")
    assert "operator's socket" in caught.value.message
