"""`picoclawd install-service`: have systemd run an instance for this user, say what comes next, and take it back."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from picoclawd.daemon import unit_files
from picoclawd.daemon.config_file import config_home, home_directory
from picoclawd.daemon.config_load import Loaded, load
from picoclawd.daemon.findings import ConfigFaults
from picoclawd.daemon.instance import NAME_RULE, is_name, name_of, workspace_of
from picoclawd.daemon.unit_store import Held, UnitStore, user_units
from picoclawd.errors import Fault, Slug
from picoclawd.text.display import log_line

EXIT_FAILED = 1
EXIT_USAGE = 2
_SYSTEMCTL_TIMEOUT_S = 30.0
_INSTANCE = "instance.conf"
_WORKSPACE = "workspace.conf"


class Wish(msgspec.Struct, frozen=True):
    """What the command line asks for; None where an option was not given."""

    config: str | None
    instance: str | None
    workspace: str | None
    sandbox: bool = True
    dry_run: bool = False


class Plan(msgspec.Struct, frozen=True):
    """The files to write, by name, for one instance."""

    instance: str
    files: dict[str, str]


def install(wish: Wish, environ: Mapping[str, str]) -> int:
    """Write the units, or print them, and print what to type next; returns the exit status. Blocking."""
    try:
        plan = plan_of(wish, environ)
        store = UnitStore(user_units(environ))
        if wish.dry_run:
            return _show(plan, store)
        for name in plan.files:
            store.check(name)  # before anything is written
        for name, text in plan.files.items():
            store.write(name, text)
            print(f"wrote {log_line(store.path(name))}")
        if not wish.sandbox and store.remove(unit_files.HARDENING) is Held.OURS:
            print(f"removed {log_line(store.path(unit_files.HARDENING))}")
    except ConfigFaults as found:
        print("\n".join(log_line(str(fault)) for fault in found.faults), file=sys.stderr)
        print("Nothing was installed. `picoclawd check-config` checks again.", file=sys.stderr)
        return EXIT_USAGE
    except Fault as fault:
        return _refused(fault)
    print("\n".join(_next_words(plan.instance, reloaded=_systemctl(environ, "daemon-reload"))))
    return 0


def uninstall(wish: Wish, environ: Mapping[str, str]) -> int:
    """Stop and remove what `install` wrote, of one instance or of all; returns the exit status. Blocking."""
    store = UnitStore(user_units(environ))
    try:
        if wish.instance is not None and not is_name(wish.instance):
            raise Fault(Slug.INVALID_PARAMS, f"--instance {NAME_RULE}")
        present = store.instances()
        instances = present if wish.instance is None else [wish.instance]
        names = [
            f"{unit_files.drop_in_directory(each)}/{name}" for each in instances for name in (_INSTANCE, _WORKSPACE)
        ]
        if not set(present) - set(instances):
            names += [*unit_files.TEMPLATES, unit_files.HARDENING]
        there = [name for name in names if store.held(name) is Held.OURS]
        kept = [name for name in names if store.held(name) is Held.FOREIGN]
        if wish.dry_run:
            print("\n".join(f"would remove {log_line(store.path(name))}" for name in there) or "nothing to remove")
            return 0
        _take_back(store, instances, there, environ)
    except Fault as fault:
        return _refused(fault)
    for name in kept:
        path = log_line(store.path(name))
        print(f"kept {path}: it was changed, or is not of install-service. To remove it:  rm {path}")
    if not there:
        print(f"nothing to remove: install-service has written nothing in {log_line(store.directory)}")
    return 0


def _take_back(store: UnitStore, instances: list[str], names: list[str], environ: Mapping[str, str]) -> None:
    for instance in instances:
        units = unit_files.units_of(instance)
        if names:
            _systemctl(environ, "disable", "--now", *units)
            store.unlink_enabled(units)
            _forget_announcement(instance, environ)
    for name in names:
        if store.remove(name) is Held.OURS:
            print(f"removed {log_line(store.path(name))}")
    if names and not _systemctl(environ, "daemon-reload"):
        print("No user manager of systemd was reachable; where one runs:  systemctl --user daemon-reload")


def _forget_announcement(instance: str, environ: Mapping[str, str]) -> None:
    """Remove the `info.json` that a daemon leaves to sockets of systemd, where these are gone."""
    place = os.path.join(environ.get("XDG_RUNTIME_DIR", ""), "picoclawd", instance)
    if os.path.isabs(place) and not os.path.lexists(os.path.join(place, "agent", "sock")):
        with suppress(OSError):
            os.unlink(os.path.join(place, "info.json"))


def plan_of(wish: Wish, environ: Mapping[str, str]) -> Plan:
    """Work out the instance, by the rules of `serve`, and its files. Writes nothing.

    Raises: ConfigFaults; not_found for the workspace; invalid_path where a path has no place in a unit file.
    """
    loaded = load(config=wish.config, instance=wish.instance, workspace=wish.workspace, environ=environ)
    name = name_of(loaded.config, path=loaded.path, instance=wish.instance, environ=environ)
    program = unit_files.program()
    own = unit_files.drop_in_directory(name)
    files = {unit: unit_files.shipped(unit) for unit in unit_files.TEMPLATES}
    files[unit_files.TEMPLATES[0]] = unit_files.service(program)
    command = (*program, "serve", "--instance", name, *_options(wish, loaded, name, environ))
    files[f"{own}/{_INSTANCE}"] = unit_files.instance_settings(command)
    if wish.sandbox:
        files[unit_files.HARDENING] = unit_files.shipped(unit_files.HARDENING)
        outside = _outside_home(loaded, environ)
        if outside:
            files[f"{own}/{_WORKSPACE}"] = unit_files.writable_settings(outside)
    return Plan(name, files)


def _options(wish: Wish, loaded: Loaded, name: str, environ: Mapping[str, str]) -> list[str]:
    """What `serve` must be told, as a service has neither this shell's environment nor its directory."""
    options = []
    usual = os.path.join(config_home(environ), f"{name}.json")
    if loaded.path is not None and (wish.workspace is not None or loaded.path != usual):
        options += ["--config", loaded.path]
    if wish.workspace is not None:
        options += ["--workspace", os.path.abspath(wish.workspace)]
    return options


def _outside_home(loaded: Loaded, environ: Mapping[str, str]) -> list[str]:
    """What the daemon writes that the shared sandbox, which leaves the home directory writable, would not let it."""
    home = os.path.realpath(home_directory(environ))
    wanted = [workspace_of(loaded.config), loaded.config.daemon.state_dir]
    real = [os.path.realpath(path) for path in wanted if path]
    return [path for path in real if os.path.commonpath([path, home]) != home]


def _show(plan: Plan, store: UnitStore) -> int:
    for name, text in plan.files.items():
        print(f"would write {log_line(store.path(name))}:")
        print("".join(f"    {line}\n" for line in text.splitlines()))
    print("\n".join(_next_words(plan.instance, reloaded=False)))
    return 0


def _next_words(instance: str, *, reloaded: bool) -> list[str]:
    unit = f"picoclawd@{instance}"
    reload = [] if reloaded else ["  systemctl --user daemon-reload"]
    return [
        "To start it now, and at every login:",
        *reload,
        f"  systemctl --user enable --now {unit}.service",
        "To see how it is, and its log:",
        f"  systemctl --user status {unit}.service",
        f"  journalctl --user -u {unit}.service -f",
    ]


def _systemctl(environ: Mapping[str, str], *words: str) -> bool:
    """Tell the user manager, where one is reachable; whether it did as told."""
    found = shutil.which("systemctl", path=environ.get("PATH"))
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if found is None or not os.path.lexists(os.path.join(runtime, "systemd", "private")):
        return False
    command = [found, "--user", *words]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SYSTEMCTL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _refused(fault: Fault) -> int:
    print(f"picoclawd: {log_line(fault.message)}", file=sys.stderr)
    return EXIT_FAILED
