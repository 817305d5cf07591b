"""The wheel holds what the package's folder does not: the configuration's schema, made at build time, and the units."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from picoclawd.daemon.config import schema

ROOT = Path(__file__).parents[1]


def test_the_wheel_ships_the_schema_of_the_configuration_and_the_units(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert json.loads(archive.read("picoclawd/config.schema.json")) == schema()
        assert not [name for name in archive.namelist() if name.startswith("tests/")]
        shipped = {name: archive.read(name) for name in archive.namelist() if name.startswith("picoclawd/systemd/")}
        page = ROOT / "picoclawd" / "client" / "web" / "page.html"
        assert archive.read("picoclawd/client/web/page.html") == page.read_bytes()
    units = [path for path in (ROOT / "systemd").rglob("*") if path.is_file()]
    assert shipped == {f"picoclawd/{path.relative_to(ROOT)}": path.read_bytes() for path in units}
    assert len(units) == 4


def test_no_generated_schema_is_committed() -> None:
    assert not (ROOT / "picoclawd" / "config.schema.json").exists()
