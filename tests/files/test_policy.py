"""The verdicts: what is allowed, refused with which slug, or asked for; no disk is involved."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.policy import Access, Allow, Ask, PathRules, Policy, Refuse, Verdict, is_temp, strictest

WS = b"/home/me/ws"
OUT = Slug.OUTSIDE_WORKSPACE
GUARDED = Slug.PROTECTED_PATH
EVERY_ACCESS = list(Access)


def inside(relative: str) -> bytes:
    return WS + b"/" + relative.encode("utf-8", "surrogateescape") if relative else WS


def policy(
    *,
    restrict: bool = True,
    allow_read_outside: bool = False,
    allow_read: tuple[str, ...] = (),
    allow_write: tuple[str, ...] = (),
    unprotect: tuple[str, ...] = (),
    confirm: tuple[str, ...] = (),
    own: tuple[bytes, ...] = (),
) -> Policy:
    return Policy(PathRules(WS, restrict, allow_read_outside, allow_read, allow_write, unprotect, confirm, own))


def word(verdict: Verdict) -> str | Slug:
    match verdict:
        case Allow():
            return "allow"
        case Ask():
            return "ask"
        case Refuse(slug):
            return slug


PROTECTED = [
    ".ssh", ".ssh/config", "a/.ssh/b", ".gnupg/x", ".aws/credentials", ".azure/x", ".gcloud/x", ".kube/config",
    ".password-store/x", ".config/gh", ".config/gh/hosts.yml", "a/.config/gh/x", "id_rsa", "id_rsa2", "id_rsa.bak",
    "id_dsa", "id_ecdsa_sk", "id_ed25519", "authorized_keys", ".netrc", ".git-credentials", ".pgpass", ".npmrc",
    ".pypirc", ".docker/config.json", "a/.docker/config.json", ".security.yml", ".env", ".env.local",
    ".env.production.bak", ".env.example.local", "server.pem", "a.key", ".key", "x.p12", "x.pfx", "x.jks",
    "a.key/inner", ".env/bin/python", ".SSH/x", ".EnV", "ID_RSA", "Server.PEM", ".Config/GH/x", ".Docker/Config.JSON",
    ".\u017fsh/x", "id_rsa.pub.bak", [".env\u200b", "..", ".env"][-1], "id_rsa\udcff",
]  # fmt: skip

ORDINARY = [
    "", "a", "ssh", ".sshx", "x.ssh", "id_rs", "xid_rsa", "id_rsa.pub", "id_ed25519-cert.pub", "authorized_keys2x",
    ".environment", ".env.example", ".env.sample", ".env.template", ".env.local.example", "env", "a.env", ".config/ghx",
    ".config", ".config/x/gh", ".docker", ".docker/config", "docker/config.json", "a.pem.txt", "pem", "monkey",
    "key.txt", "a.keys", ".npmrc2", ".git", ".github/x", "net.netrc", "caf\udce9", ".config\n/gh",
]  # fmt: skip


@pytest.mark.parametrize("name", PROTECTED)
def test_a06_a_protected_name_is_refused_asked_for_hidden_and_never_written(name: str) -> None:
    rules = policy()
    words = {access: word(rules.decide(access, inside(name), None)) for access in Access}
    assert words == {
        Access.READ: GUARDED,
        Access.READ_OR_ASK: "ask",
        Access.LIST: GUARDED,
        Access.WRITE: GUARDED,
    }
    assert rules.hidden(inside(name))


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_name_is_read_listed_and_shown(name: str) -> None:
    rules = policy()
    for access in (Access.READ, Access.READ_OR_ASK, Access.LIST):
        assert word(rules.decide(access, inside(name), None)) == "allow"
    assert not rules.hidden(inside(name))


@pytest.mark.parametrize(
    "name",
    ["sessions", "sessions/x", "Sessions/x", ".picoclaw", ".picoclaw/artifacts/x", ".PicoClaw/x", ".git", "a/.git",
     ".git/hooks/pre-commit", "a/b/.GIT/config"],
)  # fmt: skip
def test_what_runs_or_records_things_is_read_but_not_written(name: str) -> None:
    rules = policy(unprotect=(".*",), allow_write=(".*",))
    assert word(rules.decide(Access.WRITE, inside(name), None)) == GUARDED
    assert word(rules.decide(Access.READ, inside(name), None)) == "allow"


@pytest.mark.parametrize("name", ["a/sessions/x", "sessions2", "a/.picoclaw/x", ".gitignore", "git/x", ".github"])
def test_names_beside_the_refused_set_are_written(name: str) -> None:
    assert word(policy().decide(Access.WRITE, inside(name), None)) == "allow"


@pytest.mark.parametrize("access", EVERY_ACCESS)
@pytest.mark.parametrize(
    "path",
    [b"/", b"/etc/passwd", b"/etc/shadow", b"/home/me", b"/home/me/w", b"/home/me/ws-evil/x", b"/home/me/WS/x",
     b"/home/me/.ssh/x", b"/proc/1/mem"],
)  # fmt: skip
def test_a02_everything_else_is_outside(access: Access, path: bytes) -> None:
    verdict = policy().decide(access, path, None)
    assert isinstance(verdict, Refuse)
    assert verdict.slug is OUT
    assert verdict.reason.startswith("access denied: path is outside the workspace")
    assert WS.decode() in verdict.reason
    setting = "allow_write_paths" if access is Access.WRITE else "allow_read_paths"
    assert f"tools.{setting}" in verdict.reason


@pytest.mark.parametrize("access", EVERY_ACCESS)
@pytest.mark.parametrize(
    "path",
    [b"/etc/shadow", b"/etc/Shadow", b"/etc/shadow-", b"/etc/gshadow", b"/etc/sudoers", b"/etc/sudoers.d/x", b"/proc",
     b"/proc/cpuinfo", b"/home/me/.picoclaw/config.json", b"/home/me/state/x/y", b"/home/me/STATE"],
)  # fmt: skip
def test_the_systems_secrets_and_our_own_files_are_refused_to_every_access_and_setting(
    access: Access, path: bytes
) -> None:
    rules = policy(
        restrict=False,
        allow_read_outside=True,
        allow_read=(".*",),
        allow_write=(".*",),
        unprotect=(".*",),
        own=(b"/home/me/.picoclaw/config.json", b"/home/me/state"),
    )
    assert word(rules.decide(access, path, None)) == GUARDED
    assert rules.hidden(path)


def test_our_own_file_in_the_workspace_is_never_freed() -> None:
    rules = policy(unprotect=(".*",), own=(inside("conf.json"),))
    assert word(rules.decide(Access.READ_OR_ASK, inside("conf.json"), None)) == GUARDED
    assert word(rules.decide(Access.READ, inside("conf.json2"), None)) == "allow"


@pytest.mark.parametrize(
    ("settings", "access", "expected"),
    [
        (policy(restrict=False), Access.READ, "allow"),
        (policy(restrict=False), Access.WRITE, "allow"),
        (policy(restrict=False), Access.LIST, "allow"),
        (policy(allow_read_outside=True), Access.READ, "allow"),
        (policy(allow_read_outside=True), Access.READ_OR_ASK, "allow"),
        (policy(allow_read_outside=True), Access.LIST, "allow"),
        (policy(allow_read_outside=True), Access.WRITE, OUT),
        (policy(allow_read=("^/srv/",)), Access.READ, "allow"),
        (policy(allow_read=("^/srv/",)), Access.WRITE, OUT),
        (policy(allow_read=("srv",)), Access.READ, "allow"),
        (policy(allow_read=("^/srv$",)), Access.READ, OUT),
        (policy(allow_write=("^/srv/",)), Access.WRITE, "allow"),
        (policy(allow_write=("^/srv/",)), Access.READ, OUT),
        (policy(allow_write=("^/srv/",)), Access.READ_OR_ASK, OUT),
        (policy(allow_write=("^/srv/",)), Access.LIST, OUT),
    ],
)
def test_a08_each_setting_opens_its_own_accesses(settings: Policy, access: Access, expected: str | Slug) -> None:
    assert word(settings.decide(access, b"/srv/file", None)) == expected


def test_a_directory_matches_an_allow_list_with_its_slash_too() -> None:
    rules = policy(allow_read=("^/srv/",))
    assert word(rules.decide(Access.LIST, b"/srv", None, is_directory=True)) == "allow"
    assert word(rules.decide(Access.LIST, b"/srv", None)) == OUT
    assert word(rules.decide(Access.LIST, b"/srv2", None, is_directory=True)) == OUT


def test_a_stray_byte_hides_no_path_from_a_pattern() -> None:
    assert word(policy(allow_read=("^/srv/.$",)).decide(Access.READ, b"/srv/\xff", None)) == "allow"
    assert word(policy(confirm=(".claude/*",)).decide(Access.WRITE, WS + b"/.claude/\xff", None)) == "ask"


def test_protected_names_count_outside_too_and_unprotect_does_not_free_them() -> None:
    rules = policy(restrict=False, unprotect=(".*",))
    for access, expected in ((Access.READ, GUARDED), (Access.READ_OR_ASK, "ask"), (Access.WRITE, GUARDED)):
        assert word(rules.decide(access, b"/home/me/.ssh/x", None)) == expected
    assert word(rules.decide(Access.WRITE, b"/home/me/x/.git/config", None)) == GUARDED
    assert word(rules.decide(Access.WRITE, b"/home/me/sessions/x", None)) == "allow"


def test_a_protected_name_above_the_workspace_does_not_count() -> None:
    rules = Policy(PathRules(b"/home/me/.aws/ws"))
    assert word(rules.decide(Access.WRITE, b"/home/me/.aws/ws/a", None)) == "allow"


def test_unprotect_frees_names_of_the_workspace() -> None:
    rules = policy(unprotect=(r"^\.env$", "^certs/", r"^\.aws/"))
    for name in (".env", "certs/a.pem"):
        assert word(rules.decide(Access.WRITE, inside(name), None)) == "allow"
        assert not rules.hidden(inside(name))
    for name in ("sub/.env", ".env.local", "a.pem", ".aws"):
        assert word(rules.decide(Access.READ, inside(name), None)) == GUARDED
    assert not rules.hidden(inside(".aws"), is_directory=True)


def test_confirm_globs_ask_for_writes_only() -> None:
    rules = policy(confirm=(".envrc", ".vscode/tasks.json", ".claude/**"), restrict=False)
    for path in (".envrc", "a/.envrc", ".vscode/tasks.json", "a/.vscode/tasks.json", ".claude/a", ".claude/a/b"):
        assert word(rules.decide(Access.WRITE, inside(path), None)) == "ask"
        assert word(rules.decide(Access.READ, inside(path), None)) == "allow"
    for path in ("envrc", ".vscode/tasks.txt", "claude/a", "a/.claude/b"):
        assert word(rules.decide(Access.WRITE, inside(path), None)) == "allow"
    assert word(rules.decide(Access.WRITE, b"/srv/.envrc", None)) == "ask"


@pytest.mark.parametrize("name", [b".picoclawd.12.0a1b.tmp", b".picoclawd.1.x_-Y.tmp"])
def test_our_temporary_files_are_hidden_and_refused_with_the_reason(name: bytes) -> None:
    assert is_temp(name)
    rules = policy(unprotect=(".*",))
    assert rules.hidden(WS + b"/a/" + name)
    for access in Access:
        verdict = rules.decide(access, WS + b"/" + name, None)
        assert isinstance(verdict, Refuse)
        assert (verdict.slug, "unfinished write" in verdict.reason) == (GUARDED, True)


@pytest.mark.parametrize("name", [b".picoclawd.tmp", b".picoclawd.x.y.tmp", b".picoclawd.1.y", b"x.picoclawd.1.y.tmp"])
def test_names_like_our_temporary_files_are_ordinary(name: bytes) -> None:
    assert not is_temp(name)
    assert not policy().hidden(WS + b"/" + name)


def test_the_stricter_of_given_and_real_counts() -> None:
    rules = policy(confirm=("ask.me",))
    ordinary, ask, refused = inside("a"), inside("ask.me"), inside(".env")
    for given, real, expected in [
        (ordinary, None, "allow"),
        (ordinary, ordinary, "allow"),
        (ordinary, ask, "ask"),
        (ask, ordinary, "ask"),
        (ordinary, refused, GUARDED),
        (refused, ordinary, GUARDED),
        (ask, refused, GUARDED),
        (ordinary, b"/etc/x", OUT),
    ]:
        assert word(rules.decide(Access.WRITE, given, real)) == expected


def test_of_two_alike_the_first_verdict_is_kept() -> None:
    assert strictest(Ask("one"), Ask("two")) == Ask("one")
    assert strictest(Allow(), Ask("two")) == Ask("two")
    assert strictest(Refuse(OUT, "one"), Ask("two")) == Refuse(OUT, "one")


@pytest.mark.parametrize("setting", ["allow_read", "allow_write", "unprotect"])
def test_a_bad_pattern_names_its_setting(setting: str) -> None:
    bad = ("(",)
    rules = {
        "allow_read": PathRules(WS, allow_read=bad),
        "allow_write": PathRules(WS, allow_write=bad),
        "unprotect": PathRules(WS, unprotect=bad),
    }[setting]
    with pytest.raises(Fault, match=f"^tools.{setting}.*missing"):
        Policy(rules)
