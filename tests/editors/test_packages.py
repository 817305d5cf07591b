"""The editors' packages by themselves: they load, compile, and carry nothing of this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.editors import emacs, neovim

PLUGIN = neovim.PLUGIN / "plugin/picoclawd.lua"


def test_the_emacs_package_compiles_without_a_warning(tmp_path: Path) -> None:
    setup = f'(setq byte-compile-error-on-warn t byte-compile-dest-file-function (lambda (_) "{tmp_path}/out.elc"))'
    command = [needs("emacs"), "--batch", "-Q", "--eval", setup, "-f", "batch-byte-compile"]
    done = subprocess.run(
        [*command, str(emacs.PACKAGE / "picoclawd.el")], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.elc").exists()


@pytest.mark.parametrize(
    "load",
    [
        ["--cmd", f"set runtimepath+={neovim.PLUGIN}"],
        ["-c", f"luafile {PLUGIN}"],
        ["--cmd", f"set runtimepath+={neovim.PLUGIN}", "-c", f"luafile {PLUGIN}"],
    ],
    ids=["runtimepath", "luafile", "both"],
)
def test_the_neovim_plugin_loads_each_way(tmp_path: Path, load: list[str]) -> None:
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    env.pop("PICOCLAWD_OPERATOR_SOCKET", None)
    command = [needs("nvim"), "--headless", "--clean", *load, "-c", "PicoclawStatus", "-c", "qall"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path)
    assert done.returncode == 0
    assert "picoclawd: no daemon serves" in done.stderr and "stack traceback" not in done.stderr
