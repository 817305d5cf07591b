"""The quick question misses no name that the policy hides."""

import itertools

import pytest

from picoclawd.files.policy import PathRules, Policy
from picoclawd.index.hiding import WorkspaceHiding

_NAMES = (
    b".ssh .env .env.example key.pem id_rsa id_rsa.pub a gh .config config.json .docker x .NETRC .git-credentials"
).split(b" ")


def hiding(workspace: bytes = b"/ws", **rules: tuple[bytes, ...]) -> WorkspaceHiding:
    policy = Policy(PathRules(workspace=workspace, own=rules.get("own", ())))
    return WorkspaceHiding(workspace, lambda: policy)


@pytest.mark.parametrize("directory", [b"", b"a", b".config", b"deep/er/.config", b".docker", b"x/.docker"])
def test_no_hidden_entry_is_missed(directory: bytes) -> None:
    asked = hiding()
    for names in itertools.permutations(_NAMES, 2):
        paths = [directory + b"/" + name if directory else name for name in names]
        if any(asked.hides(path, False) for path in paths):
            assert asked.may_hide(directory, names), (directory, names)


def test_a_directory_of_ordinary_names_is_not_asked_about_one_by_one() -> None:
    assert not hiding().may_hide(b"src", (b"a.c", b"b.c", b"README", b".gitignore"))
    assert not hiding().may_hide(b"", ())


@pytest.mark.parametrize(
    ("workspace", "own", "path"),
    [
        (b"/ws", (b"/ws/state/picoclawd.db",), b"state/picoclawd.db"),
        (b"/etc", (), b"shadow"),
        (b"/", (), b"etc/shadow"),
    ],
)
def test_what_is_the_systems_or_the_daemons_own_is_always_asked_about(
    workspace: bytes, own: tuple[bytes, ...], path: bytes
) -> None:
    asked = hiding(workspace, own=own)
    directory, _, name = path.rpartition(b"/")
    assert asked.hides(path, False)
    assert asked.may_hide(directory, (name,))


def test_the_policy_of_the_moment_is_asked() -> None:
    policies = [Policy(PathRules(workspace=b"/ws"))]
    asked = WorkspaceHiding(b"/ws", lambda: policies[-1])
    assert asked.hides(b"key.pem", False)
    policies.append(Policy(PathRules(workspace=b"/ws", unprotect=(r"\.pem$",))))
    assert not asked.hides(b"key.pem", False)
