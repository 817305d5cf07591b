"""A daemon that all tests of the editors share, and an editor for each test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.e2e.daemon import Daemon
from tests.editors import emacs, neovim
from tests.editors.driven import Driven, Editor
from tests.editors.emacs import Emacs
from tests.editors.neovim import Neovim


@pytest.fixture(scope="package")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A running daemon: each test uses files of its own."""
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="pcd-") as directory:
        yield Path(directory)


def run_editor(name: str, daemon: Daemon, scratch: Path) -> Iterator[Editor]:
    """The editor of this name beside a daemon, in its workspace."""
    env = {**daemon.env, "PICOCLAWD_OPERATOR_SOCKET": str(daemon.operator_socket)}
    kinds = {"nvim": (neovim.command, Neovim), "emacs": (emacs.command, Emacs)}
    command, kind = kinds[name]
    with Driven(command(needs(name)), env, scratch, daemon.root) as driven:
        yield kind(driven)


@pytest.fixture(params=["nvim", "emacs"])
def editor(request: pytest.FixtureRequest, daemon: Daemon, scratch: Path) -> Iterator[Editor]:
    """Each editor in turn, found its daemon by the environment."""
    yield from run_editor(request.param, daemon, scratch)
