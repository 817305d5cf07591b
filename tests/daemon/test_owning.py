"""A workspace has one daemon, whatever name it is called by."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from picoclawd.daemon.instance import Instance
from picoclawd.daemon.owning import own_workspace
from picoclawd.errors import Fault, Slug


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}


def instance(base: Path, workspace: str = "ws", state: str = "one") -> Instance:
    (base / "ws").mkdir(exist_ok=True)
    (base / "other").mkdir(exist_ok=True)
    run = str(base / "run")
    return Instance(
        workspace=str(base / workspace),
        name="n",
        state_dir=str(base / "states" / state),
        runtime_dir=run,
        agent_socket=f"{run}/a",
        operator_socket=f"{run}/o",
        agent_socket_configured=False,
        operator_socket_configured=False,
        warnings=(),
    )


def test_a_second_daemon_is_refused_and_told_whose_it_is(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "link").symlink_to("ws")
    with own_workspace(instance(tmp_path), environ):
        for other in (
            instance(tmp_path),
            instance(tmp_path, state="two"),
            instance(tmp_path, "link", "two"),
            instance(tmp_path, "ws/../ws/.", "two"),
            instance(tmp_path, "other"),
        ):
            with pytest.raises(Fault) as caught, own_workspace(other, environ):
                pass
            assert caught.value.slug is Slug.PATH_BUSY
            assert f"pid {os.getpid()}" in caught.value.message


def test_another_workspace_is_free_and_so_is_this_one_afterwards(tmp_path: Path, environ: dict[str, str]) -> None:
    with own_workspace(instance(tmp_path), environ), own_workspace(instance(tmp_path, "other", "two"), environ):
        pass
    with own_workspace(replace(instance(tmp_path), name="m"), environ):
        pass


def test_one_that_was_refused_holds_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with own_workspace(instance(tmp_path), environ):
        with pytest.raises(Fault), own_workspace(instance(tmp_path, "other"), environ):
            pass
        with own_workspace(instance(tmp_path, "other", "two"), environ):
            pass
    assert len(os.listdir("/proc/self/fd")) == before
