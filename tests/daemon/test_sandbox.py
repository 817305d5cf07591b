"""Tests of the look at what confines the daemon."""

import subprocess
import sys
from pathlib import Path

import pytest

from picoclawd.daemon.sandbox import Sandbox, look
from tests.conftest import needs

FREE = {
    "status": "Name:\tpicoclawd\nNoNewPrivs:\t0\nSeccomp:\t0\n",
    "uid_map": "         0          0 4294967295\n",
    "mountinfo": "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n",
}
# What a user's systemd makes of hardening.conf.
CONFINED = {
    "status": "Name:\tpicoclawd\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n",
    "uid_map": "      1000       1000          1\n",
    "mountinfo": "22 1 8:1 / / ro,relatime shared:1 - ext4 /dev/sda1 rw\n23 22 8:1 /h /home rw - ext4 /dev/sda1 rw\n",
}


def process(tmp_path: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return str(tmp_path)


@pytest.mark.parametrize(("files", "words"), [(FREE, "off"), (CONFINED, "on"), ({}, "off")])
def test_all_or_nothing_is_one_word(tmp_path: Path, files: dict[str, str], words: str) -> None:
    assert look(process(tmp_path, files)).words == words


def test_half_a_sandbox_says_which_half(tmp_path: Path) -> None:
    files = {**FREE, "status": CONFINED["status"]}
    words = "partly: no new privileges, seccomp; not: user namespace, read only system"
    assert look(process(tmp_path, files)).words == words


@pytest.mark.parametrize(
    ("mounts", "read_only"),
    [
        ("1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /usr ro - ext4 b ro\n", True),
        ("1 0 8:1 / / ro - ext4 a rw\n2 1 8:2 / /usr rw - ext4 b rw\n", False),
        ("1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 / / ro - ext4 a rw\n", True),
        ("1 0 8:1 / / ro - ext4 a rw\n2 1 8:1 /x /usr/local rw - ext4 a rw\n", True),
        ("1 0 8:1 / / errors=remount-ro,rw - ext4 a rw\n", False),
        ("torn line\n", False),
    ],
)
def test_the_mount_that_holds_the_system_counts(tmp_path: Path, mounts: str, read_only: bool) -> None:
    assert look(process(tmp_path, {"mountinfo": mounts})).read_only_system is read_only


def test_a_real_namespace_is_seen() -> None:
    unshare = needs("unshare")
    script = "from picoclawd.daemon.sandbox import look; import msgspec; print(msgspec.json.encode(look()).decode())"
    inner = f'mount --rbind /usr /usr && mount -o remount,bind,ro /usr && exec "{sys.executable}" -c "{script}"'
    command = [needs("setpriv"), "--no-new-privs", unshare, "--user", "--map-root-user", "--mount", "sh", "-c", inner]
    if subprocess.run([unshare, "--user", "--map-root-user", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("user namespaces are not allowed here")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"no_new_privileges":true' in done.stdout
    assert '"user_namespace":true,"read_only_system":true' in done.stdout


def test_looking_at_this_very_process_works() -> None:
    assert isinstance(look(), Sandbox)
