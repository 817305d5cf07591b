"""The wheel holds what the repository must not: the configuration's schema, made at build time."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from picoclawd.daemon.config import schema

ROOT = Path(__file__).parents[1]


def test_the_wheel_ships_the_schema_of_the_configuration(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert json.loads(archive.read("picoclawd/config.schema.json")) == schema()
        assert not [name for name in archive.namelist() if name.startswith("tests/")]
        page = ROOT / "picoclawd" / "client" / "web" / "page.html"
        assert archive.read("picoclawd/client/web/page.html") == page.read_bytes()


def test_no_generated_schema_is_committed() -> None:
    assert not (ROOT / "picoclawd" / "config.schema.json").exists()
