"""A daemon that all tests of the editors share, and an editor for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.e2e.daemon import Daemon
from tests.editors import emacs, neovim
from tests.editors.driven import Driven, Editor
from tests.editors.emacs import Emacs
from tests.editors.neovim import Neovim

EDITORS: dict[str, tuple[Callable[[str], list[str]], Callable[[Driven], Editor]]] = {
    "nvim": (neovim.command, Neovim),
    "emacs": (emacs.command, Emacs),
}


@pytest.fixture(scope="package")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A running daemon: each test uses files of its own."""
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def scratch(short_path: Path) -> Path:
    """A directory whose path is short enough for sockets."""
    return short_path


@pytest.fixture(params=sorted(EDITORS))
def editor(request: pytest.FixtureRequest, daemon: Daemon, scratch: Path) -> Iterator[Editor]:
    """Each editor in turn; it finds the shared daemon by the environment."""
    command, kind = EDITORS[request.param]
    env = {**daemon.env, "PICOCLAWD_OPERATOR_SOCKET": str(daemon.operator_socket)}
    with Driven(command(needs(request.param)), env, scratch, daemon.root) as driven:
        yield kind(driven)
