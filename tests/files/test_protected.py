"""Which names hold credentials: whole components, in any letter case."""

import pytest

from picoclawd.files import temps
from picoclawd.files.protected import fold, is_protected, is_system_secret, is_temp

PROTECTED = """
.ssh .ssh/config a/.ssh/known_hosts .gnupg/x .aws/credentials .azure .gcloud .kube/config .password-store/a
.config/gh/hosts.yml authorized_keys .netrc .git-credentials .pgpass .npmrc .pypirc .security.yml
.docker/config.json id_rsa id_dsa id_ecdsa id_ed25519 id_rsa_work id_rsa.bak .env .env.local .env.production
a.pem a.key A.P12 x.pfx x.jks .pem .SSH/x .Env ID_RSA a/b/c/.ENV.Local a.pem/x
"""
OPEN = """
ssh .sshx x.ssh a.ssh/b .config/ghx .config config.json .docker .docker/config.jsonx id_rsa.pub
id_ed25519_work.pub .env.example .env.sample .env.template .ENV.EXAMPLE env .envrc xid_rsa a.pemx pem key
a.key.txt notes.md
"""


@pytest.mark.parametrize("path", PROTECTED.split())
def test_a_name_that_holds_credentials_is_protected(path: str) -> None:
    assert is_protected(fold(path.encode()))
    assert is_protected(fold(b"/ws/" + path.encode()))


@pytest.mark.parametrize("path", OPEN.split())
def test_a_name_that_only_looks_like_one_is_not(path: str) -> None:
    assert not is_protected(fold(path.encode()))
    assert not is_protected(fold(b"/ws/" + path.encode()))


def test_bytes_that_are_no_text_are_no_letters() -> None:
    assert fold(b"\xff") != fold(b"\xfe")
    assert is_protected(fold(b"\xff/.ssh/\xfe"))


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/etc/shadow", True),
        ("/etc/gshadow-", True),
        ("/etc/sudoers", True),
        ("/etc/sudoers.d/x", True),
        ("/proc", True),
        ("/proc/1/environ", True),
        ("/etc/passwd", False),
        ("/etc/shadowy", False),
        ("/procs", False),
        ("/ws/etc/shadow", False),
    ],
)
def test_files_of_the_system_that_no_tool_touches(path: str, secret: bool) -> None:
    assert is_system_secret(path) is secret


def test_the_names_that_we_give_are_hidden_and_names_of_others_are_not() -> None:
    for _ in range(50):
        assert is_temp(temps.new_name())
    for name in (b".picoclawd.tmp", b".picoclawd.x.0123456789abcdef.tmp", b"a.picoclawd.1.0123456789abcdef.tmp"):
        assert not is_temp(name)
