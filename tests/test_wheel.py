"""The wheel holds what the repository must not (schemas, definitions and stubs, made at build time), and the units."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from picoclawd.daemon.config import schema
from picoclawd.rpc.catalogue import describe_all

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built once, and unpacked."""
    directory = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (made,) = directory.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        archive.extractall(directory / "site")
    return directory / "site"


def test_the_wheel_ships_the_schema_of_the_configuration(wheel: Path) -> None:
    assert json.loads((wheel / "picoclawd/config.schema.json").read_text()) == schema()
    assert not (wheel / "tests").exists()


def test_the_wheel_ships_the_units_and_the_operators_page(wheel: Path) -> None:
    units = [path for path in (ROOT / "systemd").rglob("*") if path.is_file()]
    shipped = [path for path in (wheel / "picoclawd/systemd").rglob("*") if path.is_file()]
    assert len(shipped) == len(units) == 4
    for unit in units:
        assert (wheel / "picoclawd" / unit.relative_to(ROOT)).read_bytes() == unit.read_bytes()
    page = "picoclawd/client/web/page.html"
    assert (wheel / page).read_bytes() == (ROOT / page).read_bytes()


def test_the_wheel_ships_the_definitions_of_all_methods(wheel: Path) -> None:
    assert json.loads((wheel / "picoclawd/client/methods.json").read_text()) == json.loads(json.dumps(describe_all()))


def test_an_installed_library_helps_without_a_daemon_and_without_trio(wheel: Path) -> None:
    """Nothing but the wheel and the standard library: -I -S leave every other package out."""
    code = """
import inspect, sys
sys.path.insert(0, sys.argv[1])
from picoclawd.client import Client
assert Client.read_file.__doc__.startswith("Read one page of a text file.")
assert "path" in inspect.signature(Client.read_file).parameters
assert "task_begin" in dir(Client)
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(wheel)], check=True, timeout=60)


def test_the_stub_tells_a_type_checker_of_every_method(wheel: Path, tmp_path: Path) -> None:
    uses = tmp_path / "uses.py"
    uses.write_text(
        "from picoclawd.client import Client, NotFound, TrioClient\n"
        "client = Client()\n"
        "try:\n"
        "    reveal_type(client.read_file(path='x', offset=3, timeout_s=1.5))\n"
        "except NotFound as error:\n"
        "    print(error.slug)\n"
        "client.read_file(offset=3)\n"
        "client.read_file(path=3)\n"
        "client.file_history(from_='2026-01-01')\n"
        "async def f() -> None:\n"
        "    async with TrioClient() as other:\n"
        "        reveal_type(await other.read_file(path='x'))\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path / "c"),
        "uses.py",
    ]
    env = {**os.environ, "MYPYPATH": str(wheel)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=110)
    assert done.stdout.count("picoclawd.client.answers.Result") == 2, done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in errors] == ["7", "8"], done.stdout


def test_nothing_generated_is_committed() -> None:
    for name in ("config.schema.json", "client/methods.json", "client/methods.pyi"):
        assert not (ROOT / "picoclawd" / name).exists()
