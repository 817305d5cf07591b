"""Places name files for people and for the system, and candidates tell whether they are what they were."""

from picoclawd.index.listing import NONE_SKIPPED
from picoclawd.workspace.scope import Candidates, Place

WORKSPACE = Place(b"/ws", b"sub", inside=True)
OUTSIDE = Place(b"/out/dir", b"", inside=False)


def test_a_place_shows_what_is_inside_relative_to_the_workspace_and_what_is_outside_absolute() -> None:
    assert (WORKSPACE.shown(b"sub/a"), WORKSPACE.absolute(b"sub/a")) == (b"sub/a", b"/ws/sub/a")
    assert (OUTSIDE.shown(b"a"), OUTSIDE.absolute(b"a")) == (b"/out/dir/a", b"/out/dir/a")
    assert Place(b"/", b"", inside=False).absolute(b"etc/x") == b"/etc/x"


def test_equal_names_have_equal_identities() -> None:
    one = Candidates(WORKSPACE, [b"a", b"b"], "verified")
    assert one.identity == Candidates(WORKSPACE, [b"a", b"b"], "watched").identity
    for other in ([b"b", b"a"], [b"a"], [b"a", b"b", b"c"], [b"ab"], []):
        assert one.identity != Candidates(WORKSPACE, other, "verified").identity, other


def test_candidates_are_complete_and_nothing_is_left_out_unless_it_is_said() -> None:
    plain = Candidates(WORKSPACE, [], "verified")
    assert (plain.complete, plain.vanished, plain.degraded, plain.skipped) == (True, 0, None, NONE_SKIPPED)
