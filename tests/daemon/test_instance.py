"""Tests of the daemon's name and places."""

import os
import stat
from pathlib import Path

import msgspec
import pytest

from picoclawd.daemon.config import DEFAULT_WORKSPACE, Config, Defaults
from picoclawd.daemon.config_environment import expand_paths
from picoclawd.daemon.findings import Findings
from picoclawd.daemon.instance import Instance, derive, is_name
from picoclawd.errors import Fault, Slug
from tests.daemon.sample import daemon

# Nothing is created in these two; a socket's path below `tmp_path` may be too long.
RUNTIME = "/tmp"
STATE = "/tmp/state"


class Place:
    """A home with a workspace, and how to derive an instance in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "ws"
        self.workspace.mkdir()
        self.environ = {
            "HOME": str(root),
            "XDG_RUNTIME_DIR": RUNTIME,
            "XDG_STATE_HOME": STATE,
            "XDG_CONFIG_HOME": str(root / "config"),
        }

    def derive(
        self,
        workspace: str | None = None,
        *,
        path: str | None = None,
        instance: str | None = None,
        socket: str | None = None,
        **keys: object,
    ) -> Instance:
        config = self.config(workspace or str(self.workspace), **keys)
        return derive(config, path=path, instance=instance, socket=socket, environ=self.environ)

    def config(self, workspace: str, **keys: object) -> Config:
        config = daemon(**keys)
        agents = msgspec.structs.replace(config.agents, defaults=Defaults(workspace=workspace))
        config = msgspec.structs.replace(config, agents=agents)
        return expand_paths(config, str(self.root), self.environ, Findings())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refused(place: Place, workspace: str | None = None, **keys: object) -> Fault:
    with pytest.raises(Fault) as raised:
        place.derive(workspace, **keys)  # type: ignore[arg-type]
    return raised.value


def test_everything_is_derived_from_the_workspace_and_xdg(place: Place) -> None:
    made = place.derive()
    base, _, digits = made.name.rpartition("-")
    assert base == "ws"
    assert len(digits) == 8
    assert set(digits) <= set("0123456789abcdef")
    assert made.workspace == str(place.workspace)
    assert made.state_dir == f"{STATE}/picoclawd/{made.name}"
    assert made.agent_socket == f"{RUNTIME}/picoclawd/{made.name}/agent/sock"
    assert made.operator_socket == f"{RUNTIME}/picoclawd/{made.name}/operator/sock"
    assert not made.agent_socket_configured
    assert made.warnings == ()


def test_two_workspaces_of_one_name_are_two_instances(place: Place) -> None:
    (place.root / "b" / "ws").mkdir(parents=True)
    assert place.derive().name != place.derive(f"{place.root}/b/ws").name
    assert place.derive().name == place.derive(f"{place.root}/b/../ws").name


def test_a_link_to_the_workspace_is_the_workspace(place: Place) -> None:
    (place.root / "link").symlink_to(place.workspace)
    assert place.derive(f"{place.root}/link") == place.derive()


def test_the_option_beats_the_key_beats_the_files_name(place: Place) -> None:
    path = f"{place.root}/config/picoclawd/work.json"
    assert place.derive(path=path).name == "work"
    assert place.derive(path=path, instance="opt").name == "opt"
    made = place.derive(path=path, instance=None)
    assert made.agent_socket == f"{RUNTIME}/picoclawd/work/agent/sock"
    config = place.config(str(place.workspace))
    keyed = daemon(instance="key")
    both = msgspec.structs.replace(config, daemon=keyed.daemon)
    assert derive(both, path=path, instance=None, socket=None, environ=place.environ).name == "key"
    assert derive(both, path=path, instance="opt", socket=None, environ=place.environ).name == "opt"


def test_a_file_elsewhere_gives_no_name(place: Place) -> None:
    assert place.derive(path=f"{place.root}/work.json").name.startswith("ws-")


def test_a_workspace_name_that_cannot_be_an_instance_name_is_rewritten(place: Place) -> None:
    (place.root / "my ü ws").mkdir()
    assert place.derive(f"{place.root}/my ü ws").name.startswith("my___ws-")
    long = place.root / ("x" * 200)
    long.mkdir()
    assert is_name(place.derive(str(long)).name)


@pytest.mark.parametrize("bad", ["", ".", "..", "a/b", "a b", "é", "x" * 65, "a\n"])
def test_what_cannot_be_a_path_component_is_no_name(bad: str) -> None:
    assert not is_name(bad)
    assert is_name("Work.2_b-c")


def test_without_a_runtime_directory_sockets_live_in_the_state_directory(place: Place) -> None:
    del place.environ["XDG_RUNTIME_DIR"]
    made = place.derive()
    assert made.runtime_dir == f"{made.state_dir}/run"
    assert made.agent_socket == f"{made.state_dir}/run/agent/sock"


def test_without_xdg_state_lies_in_the_home_directory(place: Place) -> None:
    del place.environ["XDG_STATE_HOME"]
    assert place.derive(instance="i").state_dir == f"{place.root}/.local/state/picoclawd/i"


def test_a_runtime_directory_that_is_missing_is_refused_by_name(place: Place) -> None:
    place.environ["XDG_RUNTIME_DIR"] = f"{place.root}/gone"
    fault = refused(place)
    assert fault.slug is Slug.INVALID_PATH
    assert "XDG_RUNTIME_DIR" in fault.message


def test_a_state_directory_inside_the_workspace_is_refused(place: Place) -> None:
    for inside in (f"{place.workspace}", f"{place.workspace}/.state", f"{place.root}/ws/../ws/x"):
        fault = refused(place, state_dir=inside)
        assert fault.slug is Slug.INVALID_PATH
        assert "daemon.state_dir" in fault.message
    (place.root / "link").symlink_to(place.workspace)
    assert "inside the workspace" in refused(place, state_dir=f"{place.root}/link/state").message
    assert place.derive(state_dir=f"{place.root}/ws-state").state_dir == f"{place.root}/ws-state"


def test_a_workspace_inside_the_state_directory_is_refused(place: Place) -> None:
    assert "inside the state directory" in refused(place, state_dir=str(place.root)).message


def test_the_default_workspace_is_made_private(place: Place) -> None:
    made = place.derive(DEFAULT_WORKSPACE)
    assert made.workspace == f"{place.root}/.picoclaw/workspace"
    for directory in (place.root / ".picoclaw", place.root / ".picoclaw/workspace"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_any_other_workspace_must_exist(place: Place) -> None:
    assert refused(place, f"{place.root}/none").slug is Slug.NOT_FOUND
    (place.root / "file").touch()
    assert refused(place, f"{place.root}/file").slug is Slug.NOT_A_DIRECTORY
    assert not (place.root / "none").exists()


def test_a_default_workspace_that_cannot_be_made_says_why(place: Place) -> None:
    (place.root / ".picoclaw").touch()
    fault = refused(place, DEFAULT_WORKSPACE)
    assert fault.slug is Slug.IO_ERROR
    assert "cannot create the default workspace" in fault.message


def test_configured_sockets_are_taken_and_said_to_be_configured(place: Place) -> None:
    made = place.derive(socket=f"{place.root}/opt.sock", operator_socket="~/op/sock")
    assert made.agent_socket == f"{place.root}/opt.sock"
    assert made.operator_socket == f"{place.root}/op/sock"
    assert made.agent_socket_configured
    assert made.operator_socket_configured
    assert place.derive(operator_socket="").operator_socket is None


def test_sockets_that_share_a_directory_or_lie_in_the_workspace_get_a_warning(place: Place) -> None:
    shared = place.derive(socket=f"{place.root}/r/a", operator_socket=f"{place.root}/r/o")
    assert len(shared.warnings) == 1
    inside = place.derive(socket=f"{place.workspace}/s")
    assert inside.warnings == (f"the socket {place.workspace}/s lies inside the workspace",)


def test_a95_a_socket_path_that_is_too_long_is_refused_with_the_limit_named(place: Place) -> None:
    long = "/" + "r" * 119
    fault = refused(place, socket=long)
    assert fault.slug is Slug.INVALID_PATH
    assert "107" in fault.message
    assert "120 bytes" in fault.message
    assert "daemon.operator_socket" in refused(place, operator_socket=long).message


def test_the_info_file_names_pid_workspace_sockets_and_version(place: Place) -> None:
    made = place.derive(instance="i", operator_socket="")
    assert made.info(os.getpid(), "1.2") == {
        "pid": os.getpid(),
        "workspace": str(place.workspace),
        "sockets": {"agent": made.agent_socket, "operator": None},
        "version": "1.2",
    }


def test_where_systemd_listens_is_where_it_is(place: Place) -> None:
    place.environ["XDG_RUNTIME_DIR"] = str(place.root)  # with this name the derived paths would be too long
    config = place.config(str(place.workspace), socket="/configured")
    bound = {"agent": "/run/a", "operator": "/run/o"}
    made = derive(config, path=None, instance="x" * 64, socket=None, environ=place.environ, bound=bound)
    assert (made.agent_socket, made.operator_socket) == ("/run/a", "/run/o")
