"""Tests of the shipped units, and of the words that are put into them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from picoclawd.daemon import unit_files
from picoclawd.errors import Fault
from tests.conftest import needs


@pytest.fixture
def tmp_path(short_path: Path) -> Path:
    """Sockets are made below it."""
    return short_path


UNITS = Path(__file__).parents[2] / "systemd"


def verified(paths: list[str], runtime: Path, search: Path | None = None) -> str:
    """What `systemd-analyze --user verify` complains of; its exit status must agree."""
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    if search is not None:
        env["SYSTEMD_UNIT_PATH"] = f"{search}:"
    command = [needs("systemd-analyze"), "--user", "verify", *paths]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


@pytest.mark.parametrize("hardened", [True, False])
def test_a97_systemd_has_nothing_to_say_about_the_units(tmp_path: Path, hardened: bool) -> None:
    for name in (*unit_files.TEMPLATES, *([unit_files.HARDENING] if hardened else [])):
        path = tmp_path / "units" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(unit_files.shipped(name))
    instances = [*unit_files.units_of("one"), *unit_files.units_of("my-project.2")]
    assert verified(instances, tmp_path, tmp_path / "units") == ""
    assert verified([str(UNITS / name) for name in unit_files.TEMPLATES], tmp_path) == ""


def test_systemd_would_say_it(tmp_path: Path) -> None:
    broken = tmp_path / "broken.service"
    broken.write_text("[Service]\nType=notifi\nExecStart=/no/such/program\n")
    assert "notifi" in verified([str(broken)], tmp_path)


def test_a97_the_unit_itself_rests_on_no_sandbox_and_the_drop_in_spares_openat2() -> None:
    unit = unit_files.shipped(unit_files.TEMPLATES[0])
    assert "Type=notify\n" in unit
    assert not [word for word in ("Protect", "ReadOnlyPaths", "ReadWritePaths", "PrivateUsers") if word in unit]
    settings = [line for line in unit_files.shipped(unit_files.HARDENING).splitlines() if not line.startswith("#")]
    assert "PrivateUsers=yes" in settings
    assert not [line for line in settings if line.startswith("RestrictSUIDSGID")]


def test_there_is_one_source_of_the_units() -> None:
    on_disk = {str(path.relative_to(UNITS)) for path in UNITS.rglob("*") if path.is_file()}
    assert on_disk == {*unit_files.TEMPLATES, unit_files.HARDENING}
    assert all(unit_files.shipped(name) == (UNITS / name).read_text() for name in on_disk)


def test_a_missing_unit_says_how_to_get_it_back() -> None:
    with pytest.raises(Fault, match="install picoclawd again"):
        unit_files.shipped("other.service")


def test_the_service_starts_this_installation() -> None:
    text = unit_files.service(("/opt/py env/bin/picoclawd",))
    assert 'ExecStart="/opt/py env/bin/picoclawd" serve --instance %i\n' in text
    assert "/usr/bin/env" not in text


def test_the_program_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [*unit_files.program(), "--version"], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.stdout.startswith("picoclawd ")


def test_without_a_script_the_interpreter_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert unit_files.program() == (str(tmp_path / "python"), "-P", "-m", "picoclawd")


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("/usr/bin/x", "/usr/bin/x"),
        ("a b", '"a b"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        ('say "x"', '"say \\"x\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("two\nlines", '"two\\nlines"'),
        ("", '""'),
        ("é", '"é"'),
    ],
)
def test_words_are_quoted_as_systemd_reads_them(word: str, written: str) -> None:
    assert unit_files.command_line(("/p", word)) == f"/p {written}"


def test_no_variable_is_expanded_in_the_program() -> None:
    assert unit_files.command_line(("/a$b/c",)) == '"/a$b/c"'


@pytest.mark.parametrize(
    ("path", "word"),
    [("/srv/p", '"-/srv/p"'), ("/srv/50% \\", '"-/srv/50%% \\"'), ('/srv/"', "'-/srv/\"'")],
)
def test_directories_are_quoted_with_their_backslashes(path: str, word: str) -> None:
    assert unit_files.writable_settings([path]) == f"[Service]\nReadWritePaths={word}\n"


@pytest.mark.parametrize("path", ["/srv/\"'", "/a\nb", "/caf\udce9"])
def test_what_a_unit_file_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(Fault, match="another name"):
        unit_files.writable_settings([path])
