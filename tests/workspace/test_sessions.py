"""Sessions: tokens resume once, only their own role, only for ten minutes, and never a live one."""

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.workspace.actors import Kind, Role
from picoclawd.workspace.sessions import Sessions


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(slug: Slug, sessions: Sessions, token: str, role: Role = Role.AGENT, kind: Kind | None = None) -> None:
    current = sessions.connect(role, 1)
    with pytest.raises(Fault) as caught:
        sessions.resume(current, token, kind)
    assert caught.value.slug is slug
    sessions.disconnect(current)


def test_a_token_resumes_its_session_once_and_is_rotated() -> None:
    sessions = Sessions(Clock())
    first = sessions.connect(Role.AGENT, 10)
    token = sessions.open(first, "ada", Kind.AGENT)
    sessions.disconnect(first)
    resumed, next_token = sessions.resume(sessions.connect(Role.AGENT, 11), token)
    assert (resumed.session_id, resumed.actor.client, resumed.actor.peer_pid) == (first.session_id, "ada", 11)
    sessions.disconnect(resumed)
    refused(Slug.UNKNOWN_SESSION, sessions, token)
    assert sessions.resume(sessions.connect(Role.AGENT, 12), next_token)[0] is resumed


def test_a_live_session_is_in_use() -> None:
    sessions = Sessions(Clock())
    token = sessions.open(sessions.connect(Role.AGENT, 1), "ada", Kind.AGENT)
    refused(Slug.SESSION_IN_USE, sessions, token)


def test_a_token_of_the_other_role_is_unknown() -> None:
    sessions = Sessions(Clock())
    mine = sessions.connect(Role.OPERATOR, 1)
    token = sessions.open(mine, "shell", Kind.AGENT)
    sessions.disconnect(mine)
    refused(Slug.UNKNOWN_SESSION, sessions, token, Role.AGENT)


def test_a_token_expires_ten_minutes_after_the_connection_ended() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    mine = sessions.connect(Role.AGENT, 1)
    token = sessions.open(mine, "ada", Kind.AGENT)
    sessions.disconnect(mine)
    clock.now += limits.RESUME_VALID_S + 1
    refused(Slug.UNKNOWN_SESSION, sessions, token)


def test_a_subagent_does_not_come_back_as_an_agent() -> None:
    sessions = Sessions(Clock())
    mine = sessions.connect(Role.AGENT, 1)
    token = sessions.open(mine, "leg", Kind.SUBAGENT)
    sessions.disconnect(mine)
    refused(Slug.DISABLED_FOR_ROLE, sessions, token, kind=Kind.AGENT)


def test_a_closed_session_cannot_be_resumed() -> None:
    sessions = Sessions(Clock())
    mine = sessions.connect(Role.AGENT, 1)
    token = sessions.open(mine, "ada", Kind.AGENT)
    sessions.close(mine)
    sessions.disconnect(mine)
    refused(Slug.UNKNOWN_SESSION, sessions, token)


def test_an_implicit_session_leaves_nothing_behind() -> None:
    sessions = Sessions(Clock())
    for pid in range(limits.SESSIONS_MAX + 10):
        sessions.disconnect(sessions.connect(Role.AGENT, pid))
    assert sessions.live() == []


def test_more_than_512_sessions_are_overloaded() -> None:
    sessions = Sessions(Clock())
    for pid in range(limits.SESSIONS_MAX):
        sessions.connect(Role.AGENT, pid)
    with pytest.raises(Fault) as caught:
        sessions.connect(Role.AGENT, 0)
    assert caught.value.slug is Slug.OVERLOADED


@pytest.mark.parametrize("client", ["x" * 201, "a\nb", "a\x1b[31m"])
def test_a_client_name_is_short_and_prints(client: str) -> None:
    sessions = Sessions(Clock())
    with pytest.raises(Fault) as caught:
        sessions.open(sessions.connect(Role.AGENT, 1), client, Kind.AGENT)
    assert caught.value.slug is Slug.INVALID_PARAMS
