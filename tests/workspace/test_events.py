"""The change feed: in order, with who did it, to those who asked and may see it, and never in silence."""

from typing import Any

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.workspace import events
from picoclawd.workspace.actors import Actor, Kind, Role
from picoclawd.workspace.events import Action, Author, By, Change, Feed

AGENT = Actor("s-1", Role.AGENT, Kind.AGENT, "bot", 1)
PERSON = Actor("s-9", Role.OPERATOR, Kind.AGENT, "shell", 2)
BY = Author("s-2", "writer-b", "write_file")


class Peer:
    """One connection: what it was told, and a queue that may be full."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, Any]]] = []
        self.full = False

    def notify(self, method: str, params: object) -> bool:
        assert isinstance(params, dict)
        if not self.full:
            self.got.append((method, params))
        return not self.full

    @property
    def paths(self) -> list[str]:
        return [params["path"] for method, params in self.got if method == "file.changed"]


def change(path: bytes, by: By = BY, action: Action = "modify", **more: Any) -> Change:
    return Change(path, action, by, **more)


def refused(slug: Slug, feed: Feed, who: Actor, **wanted: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        feed.subscribe(object(), who, Peer().notify, **wanted)
    assert caught.value.slug is slug
    return caught.value


def test_a_change_says_what_who_and_in_which_order() -> None:
    feed, peer = Feed(), Peer()
    name, _ = feed.subscribe(peer, AGENT, peer.notify)
    feed.changed(change(b"a.txt", action="create", version=7))
    feed.changed(change(b"b.txt", by="outside", action="delete"))
    assert peer.got == [
        (
            "file.changed",
            {
                "subscription": name,
                "seq": 1,
                "path": "a.txt",
                "action": "create",
                "version": 7,
                "by": {"session_id": "s-2", "client": "writer-b", "tool": "write_file"},
            },
        ),
        (
            "file.changed",
            {"subscription": name, "seq": 2, "path": "b.txt", "action": "delete", "version": None, "by": "outside"},
        ),
    ]


def test_a_name_that_is_no_text_comes_with_its_bytes() -> None:
    feed, peer = Feed(), Peer()
    feed.subscribe(peer, AGENT, peer.notify)
    feed.changed(change(b"caf\xe9"))
    assert (peer.got[0][1]["path"], peer.got[0][1]["path_bytes"]) == ("caf�", "caf%E9")


@pytest.mark.parametrize(
    ("form", "hit", "missed"),
    [
        ("*.py", b"src/deep/a.py", b"a.txt"),
        ("src/*.py", b"src/a.py", b"src/deep/a.py"),
        ("src/**", b"src/deep/a.py", b"other/a.py"),
        ("conf", b"etc/conf.d/x", b"etc/x"),
        ("", b"anything", None),
        ("caf?", b"caf\xe9", b"cafes"),
    ],
)
def test_paths_narrow_the_changes(form: str, hit: bytes, missed: bytes | None) -> None:
    feed, peer = Feed(), Peer()
    feed.subscribe(peer, AGENT, peer.notify, paths=[form])
    feed.changed(change(hit))
    if missed is not None:
        feed.changed(change(missed))
    assert len(peer.got) == 1


def test_one_of_several_patterns_is_enough() -> None:
    feed, peer = Feed(), Peer()
    feed.subscribe(peer, AGENT, peer.notify, paths=["*.py", "*.md"])
    for path in (b"a.py", b"b.md", b"c.txt"):
        feed.changed(change(path))
    assert peer.paths == ["a.py", "b.md"]


@pytest.mark.parametrize("directory", [b".git", b"sub/.git"])
def test_below_git_only_own_changes_are_told(directory: bytes) -> None:
    feed, peer = Feed(), Peer()
    feed.subscribe(peer, PERSON, peer.notify)
    feed.changed(change(directory + b"/index", by="outside"))
    feed.changed(change(directory + b"/HEAD"))
    feed.changed(change(b"x.git/index", by="outside"))
    assert peer.paths == [f"{directory.decode()}/HEAD", "x.git/index"]


def test_below_ignored_directories_only_own_changes_are_told() -> None:
    feed, peer = Feed(), Peer()
    feed.subscribe(peer, AGENT, peer.notify)
    feed.changed(change(b"build/a", by="outside", ignored=True))
    feed.changed(change(b"build/b", ignored=True))
    assert peer.paths == ["build/b"]


def test_protected_paths_are_told_to_operators_only() -> None:
    feed, agent, person = Feed(), Peer(), Peer()
    _, cursor = feed.subscribe(agent, AGENT, agent.notify)
    feed.subscribe(person, PERSON, person.notify)
    feed.changed(change(b".env", protected=True))
    assert (agent.got, person.paths) == ([], [".env"])
    assert feed.since(AGENT, cursor).changes == ()
    assert [row["path"] for row in feed.since(PERSON, cursor).changes] == [".env"]


def test_approvals_and_sessions_are_told_to_operators_only() -> None:
    feed, agent, person = Feed(), Peer(), Peer()
    feed.subscribe(agent, AGENT, agent.notify)
    name, _ = feed.subscribe(person, PERSON, person.notify)
    feed.tell("approval.requested", {"id": "a-1"})
    assert agent.got == []
    assert person.got == [("approval.requested", {"subscription": name, "seq": 1, "id": "a-1"})]


@pytest.mark.parametrize("kind", ["approval.requested", "approval.*", "session.opened", "session.*"])
def test_an_agent_that_asks_for_the_operators_events_is_refused(kind: str) -> None:
    refused(Slug.OPERATOR_ONLY, Feed(), AGENT, kinds=["file.changed", kind])


@pytest.mark.parametrize("kind", ["file.created", "file", "*", ".*", "", "approval."])
def test_an_unknown_kind_is_refused_with_those_that_exist(kind: str) -> None:
    fault = refused(Slug.INVALID_PARAMS, Feed(), AGENT, kinds=[kind])
    assert fault.data["path"] == "$.kinds[0]"
    assert "file.changed" in fault.message


def test_kinds_narrow_the_events() -> None:
    feed, peer = Feed(), Peer()
    feed.subscribe(peer, PERSON, peer.notify, kinds=["approval.*"])
    feed.changed(change(b"a"))
    feed.tell("approval.requested", {})
    feed.tell("approval.answered", {})
    feed.tell("session.opened", {})
    assert [method for method, _ in peer.got] == ["approval.requested", "approval.answered"]


def test_agents_get_a_clients_name_redacted() -> None:
    feed, agent, person = Feed(), Peer(), Peer()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    feed.subscribe(agent, AGENT, agent.notify)
    feed.subscribe(person, PERSON, person.notify)
    feed.changed(change(b"a", by=Author("s-3", secret, "write_file")))
    assert secret not in str(agent.got)
    assert person.got[0][1]["by"]["client"] == secret


def test_a_full_queue_is_counted_and_the_others_are_told() -> None:
    feed, slow, quick = Feed(), Peer(), Peer()
    _, cursor = feed.subscribe(slow, AGENT, slow.notify)
    feed.subscribe(quick, AGENT, quick.notify)
    slow.full = True
    feed.changed(change(b"a"))
    slow.full = False
    feed.changed(change(b"b"))
    assert (slow.paths, quick.paths) == (["b"], ["a", "b"])
    assert feed.statistics().refused == 1
    assert [row["path"] for row in feed.since(AGENT, cursor).changes] == ["a", "b"]


def test_a_peer_that_goes_while_it_is_told_disturbs_nobody() -> None:
    feed, other = Feed(), Peer()
    holder = object()

    def gone(method: str, params: object) -> bool:
        feed.disconnect(holder)
        return False

    feed.subscribe(holder, AGENT, gone)
    feed.subscribe(holder, AGENT, gone)
    feed.subscribe(other, AGENT, other.notify)
    feed.changed(change(b"a"))
    assert other.paths == ["a"]
    assert feed.statistics().subscriptions == 1


def test_an_unsubscribed_peer_hears_no_more() -> None:
    feed, peer = Feed(), Peer()
    name, _ = feed.subscribe(peer, AGENT, peer.notify)
    with pytest.raises(Fault) as caught:
        feed.unsubscribe(Peer(), name)
    assert caught.value.slug is Slug.NOT_FOUND
    feed.unsubscribe(peer, name)
    feed.changed(change(b"a"))
    assert peer.got == []
    with pytest.raises(Fault, match="no subscription"):
        feed.unsubscribe(peer, name)


def test_a_connection_holds_64_subscriptions() -> None:
    feed, peer = Feed(), Peer()
    for _ in range(64):
        feed.subscribe(peer, AGENT, peer.notify)
    with pytest.raises(Fault) as caught:
        feed.subscribe(peer, AGENT, peer.notify)
    assert caught.value.slug is Slug.OVERLOADED
    feed.subscribe(Peer(), AGENT, peer.notify)
    feed.disconnect(peer)
    assert feed.statistics().subscriptions == 1


def test_too_many_or_too_complex_patterns_are_refused() -> None:
    refused(Slug.INVALID_PARAMS, Feed(), AGENT, paths=["*.py"] * 65)
    refused(Slug.PATTERN_TOO_COMPLEX, Feed(), AGENT, paths=["{a,b}" * 9])


def test_the_cursor_gives_what_came_after_it_and_the_next_one() -> None:
    feed = Feed()
    feed.changed(change(b"before"))
    cursor = feed.cursor
    assert feed.since(AGENT, cursor).changes == ()
    feed.changed(change(b"a"))
    feed.tell("session.opened", {})
    feed.changed(change(b"b", by="outside"))
    page = feed.since(AGENT, cursor)
    assert [(row["seq"], row["path"]) for row in page.changes] == [(2, "a"), (4, "b")]
    assert (page.fresh_instance, page.more) == (False, False)
    assert feed.since(AGENT, page.cursor).changes == ()


def test_many_changes_come_in_pages_each_once() -> None:
    feed = Feed()
    cursor = feed.cursor
    for number in range(2 * events.PAGE_MAX):
        feed.changed(change(b"%d" % number, protected=number % 5 == 0))
    found: list[str] = []
    more = True
    while more:
        page = feed.since(AGENT, cursor)
        assert len(page.changes) <= events.PAGE_MAX
        found += [row["path"] for row in page.changes]
        cursor, more = page.cursor, page.more
    assert found == [str(number) for number in range(2 * events.PAGE_MAX) if number % 5]


def test_a_cursor_of_another_run_means_look_at_everything() -> None:
    feed = Feed()
    feed.changed(change(b"a"))
    page = feed.since(AGENT, Feed().cursor)
    assert (page.changes, page.cursor, page.fresh_instance) == ((), feed.cursor, True)


def test_a_cursor_older_than_what_is_kept_means_look_at_everything() -> None:
    feed = Feed(kept=3)
    cursors = [feed.cursor]
    for number in range(5):
        feed.changed(change(b"%d" % number))
        cursors.append(feed.cursor)
    assert [feed.since(AGENT, cursor).fresh_instance for cursor in cursors] == [True, True, False, False, False, False]
    assert [row["path"] for row in feed.since(AGENT, cursors[2]).changes] == ["2", "3", "4"]


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "0", "abc.1", "{0}", "{0}.", "{0}.-1", "{0}.01", "{0}.1\n", "{0}.٣", "{0}.99", "{0}." + "9" * 400],
)
def test_a_malformed_cursor_is_refused(cursor: str) -> None:
    feed = Feed()
    feed.changed(change(b"a"))
    with pytest.raises(Fault) as caught:
        feed.since(AGENT, cursor.format(feed.cursor.partition(".")[0]))
    assert caught.value.slug is Slug.BAD_CURSOR


def test_a81_lost_changes_are_told_in_one_resync_and_no_cursor_hides_them() -> None:
    feed, agent, person = Feed(), Peer(), Peer()
    feed.subscribe(agent, AGENT, agent.notify, paths=["*.py"])
    feed.subscribe(person, PERSON, person.notify, kinds=["approval.*"])
    feed.changed(change(b"a.py"))
    cursor = feed.cursor
    feed.lost()
    assert [method for method, _ in agent.got] == ["file.changed", "resync"]
    assert person.got == []
    assert feed.since(AGENT, cursor).fresh_instance
    assert not feed.since(AGENT, feed.cursor).fresh_instance
