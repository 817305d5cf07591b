"""The life of the daemon: take what is its own, serve, reload, stop in order.

The nesting is the order of shutdown: the server ends before the services, the services before the sockets are
removed, and those before the locks are given back.
"""

import gc
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import msgspec
import trio

from picoclawd.daemon import log as daemon_log
from picoclawd.daemon import sandbox, systemd
from picoclawd.daemon.assemble import limits_of, options_of, policy_of, slow_s_of, toolbox_of, wire_settings_of
from picoclawd.daemon.config_load import Loaded, load
from picoclawd.daemon.config_reload import reloadable_diff
from picoclawd.daemon.doors import Doors, bound_paths, open_doors
from picoclawd.daemon.findings import ConfigFaults
from picoclawd.daemon.instance import Instance, derive
from picoclawd.daemon.owning import own_workspace
from picoclawd.daemon.records import opened_records, settle_intents
from picoclawd.daemon.supervisor import Supervisor, supervisor_of
from picoclawd.daemon.version import version
from picoclawd.errors import Fault
from picoclawd.files import linux
from picoclawd.files.probes import Probes, probe
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane
from picoclawd.history.records import HistoryError
from picoclawd.rpc import dispatch
from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.host import WorkspaceHost
from picoclawd.rpc.meter import Meter
from picoclawd.rpc.rows import Facts
from picoclawd.rpc.server import Server
from picoclawd.text.display import log_line
from picoclawd.workspace import leftovers
from picoclawd.workspace.workspace import Records, Workspace

EXIT_FAILED = 1
EXIT_CONFIG = 2
_PRUNE_INTERVAL_S = 3600.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Request(msgspec.Struct, frozen=True):
    """What the command line asks for; None where an option was not given."""

    config: str | None
    instance: str | None
    workspace: str | None
    socket: str | None
    log_level: str


def serve(request: Request) -> int:
    """Run the daemon in the foreground until it is told to stop; returns the exit status."""
    log = daemon_log.set_up(request.log_level)
    supervisor = supervisor_of(os.environ, os.getpid(), log)
    try:
        inherited = systemd.listen_fds(os.environ, os.getpid())
        loaded = _load(request)
        instance = derive(
            loaded.config,
            path=loaded.path,
            instance=request.instance,
            socket=request.socket,
            environ=os.environ,
            bound=bound_paths(inherited),
        )
        for warning in (*loaded.warnings, *instance.warnings):
            log.warning("%s", warning)
        linux.ignore_lease_signal()
        _raise_descriptor_limit()
        # From the bind on others can see us; a signal then waits until there is somebody to heed it. What takes long
        # comes before: who finds a socket does not want to wait for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        supervisor.status("opening the history")
        with own_workspace(instance, os.environ), opened_records(loaded.config, instance, log) as records:
            dispatch.preload()
            with open_doors(instance, inherited, log) as doors:
                trio.run(_Daemon(request, loaded, instance, doors, records, supervisor, log).run)
    except ConfigFaults as found:
        print("\n".join(log_line(str(fault)) for fault in found.faults), file=sys.stderr)
        print("Nothing was started. `picoclawd check-config` checks again.", file=sys.stderr)
        return EXIT_CONFIG
    except Fault as fault:
        print(f"picoclawd: {log_line(fault.message)}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def _calm_collector() -> None:
    """Leave what start-up made out of every later garbage collection, and collect less often: a collection stops all
    threads, and hardly anything here is part of a cycle."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _raise_descriptor_limit() -> None:
    """Take as many descriptors as we may: the usual soft limit of 1,024 is for programs that use select(2)."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _load(request: Request) -> Loaded:
    return load(config=request.config, instance=request.instance, workspace=request.workspace, environ=os.environ)


class _Daemon:
    """One running daemon. Everything that it needs to exist was taken before."""

    def __init__(
        self,
        request: Request,
        loaded: Loaded,
        instance: Instance,
        doors: Doors,
        records: Records,
        supervisor: Supervisor,
        log: logging.Logger,
    ) -> None:
        self._request = request
        self._config = loaded.config
        self._config_path = loaded.path
        self._instance = instance
        self._doors = doors
        self._records = records
        self._supervisor = supervisor
        self._log = log

    async def run(self) -> None:
        config = self._config
        root = os.fsencode(self._instance.workspace)
        aliases = tuple({os.fsencode(config.agents.defaults.workspace)} - {root})
        policy = policy_of(config, self._instance, self._config_path)
        with Rooted(root, policy, aliases=aliases) as rooted:
            records = self._records
            self._supervisor.status("finding out what a crash left open")
            await trio.to_thread.run_sync(settle_intents, rooted, (root, *aliases), records, self._log)
            probes = self._look_around(rooted.root_fd)
            self._workspace = Workspace(rooted, (root, *aliases), probes, options_of(config), records=records)
            facts = Facts(version(), trio.current_time(), limits_of(config))
            self._host = WorkspaceHost(self._workspace, toolbox_of(config), facts, self._log, Meter(slow_s_of(config)))
            self._server = Server(self._host, wire_settings_of(config), ByteBudget(config.daemon.max_buffered_bytes))
            await self._live()

    async def _live(self) -> None:
        with trio.open_signal_receiver(*_SIGNALS) as signals:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            async with trio.open_nursery() as services:
                await services.start(self._workspace.index.run)
                services.start_soon(self._prune_artifacts)
                services.start_soon(self._prune_history)
                services.start_soon(self._find_leftovers)
                services.start_soon(self._supervisor.feed, self._workspace.threads, self._workspace.locks)
                async with trio.open_nursery() as clients:
                    await clients.start(self._server.run, self._doors.listening)
                    _calm_collector()
                    with _announced(self._instance, self._doors):
                        self._say_ready()
                        services.start_soon(self._supervisor.follow, self._workspace.index.state, self._count_sessions)
                        await self._heed(signals)
                        self._supervisor.stopping(f"finishing {self._server.statistics().in_flight} requests")
                        self._workspace.changer.closing = True
                        self._server.stop()
                services.cancel_scope.cancel()
        self._log.info("stopped")

    async def _heed(self, signals: AsyncIterator[int]) -> None:
        """Reload at SIGHUP; return at anything that means stop."""
        async for number in signals:
            if number != signal.SIGHUP:
                self._log.info("%s: finishing what runs, then stopping", signal.Signals(number).name)
                return
            self._supervisor.reloading()
            self._supervisor.ready(self._reload())

    def _reload(self) -> str:
        """Take over what may change while running; a file with any fault changes nothing. Says which it was."""
        try:
            loaded = _load(self._request)
            config, waiting = reloadable_diff(self._config, loaded.config)
            policy = policy_of(config, self._instance, self._config_path)
        except (ConfigFaults, Fault) as error:
            self._log.error("reload: the running configuration stays: %s", error)
            return "reload refused: the running configuration stays, see the log"
        self._config = config
        self._workspace.reconfigure(policy, options_of(config))
        self._host.equip(toolbox_of(config))
        self._host.meter.slow_s = slow_s_of(config)
        self._server.settings = wire_settings_of(config)
        for warning in loaded.warnings:
            self._log.warning("%s", warning)
        for path in waiting:
            self._log.warning("reload: %s takes effect at the next restart", path)
        self._log.info("reloaded %s", loaded.path or "the defaults")
        return f"reloaded {loaded.path or 'the defaults'}"

    def _say_ready(self) -> None:
        instance = self._instance
        self._log.info("serving %s as instance %s", instance.workspace, instance.name)
        self._log.info("agents: %s", instance.agent_socket)
        self._log.info("operator: %s", instance.operator_socket or "off")
        self._log.info("try: PICOCLAWD_SOCKET=%s picoclawctl ls", instance.agent_socket)
        self._supervisor.ready(f"serving {instance.workspace}")

    def _count_sessions(self) -> int:
        return len(self._workspace.sessions.live())

    def _look_around(self, root_fd: int) -> Probes:
        """Find out what works here and what confines us, and say so where it is less than was meant."""
        around = sandbox.look()
        probes = msgspec.structs.replace(probe(root_fd), sandbox=around.words)
        half = around.words.startswith("partly") and "INVOCATION_ID" in os.environ  # systemd.exec(5): a unit of systemd
        self._log.log(logging.WARNING if half else logging.INFO, "sandbox: %s", around.words)
        if not probes.openat2:
            self._log.warning(
                "openat2 is not available, so paths are resolved step by step, which is slower and just as safe: "
                "the kernel is older than 5.6, or a filter such as RestrictSUIDSGID= in the unit refuses it"
            )
        return probes

    async def _prune_artifacts(self) -> None:
        while True:
            await self._workspace.artifacts.prune()
            await trio.sleep(_PRUNE_INTERVAL_S)

    async def _prune_history(self) -> None:
        """Apply retention: at start, which also counts what a crash left uncounted, and every hour."""
        workspace = self._workspace
        while workspace.journal.history is not None:
            try:
                await workspace.threads.run(Lane.HISTORY, workspace.journal.history.prune)
            except (HistoryError, Fault) as exc:
                self._log.warning("the history could not be pruned: %s", log_line(str(exc)))
            await trio.sleep(_PRUNE_INTERVAL_S)

    async def _find_leftovers(self) -> None:
        workspace = self._workspace
        workspace.leftovers = await workspace.threads.run(Lane.SCAN, leftovers.sweep, workspace.rooted.root_fd)
        for name in workspace.leftovers:
            self._log.warning("left over from a crash, kept because it may hold someone's save: %s", name)


@contextmanager
def _announced(instance: Instance, doors: Doors) -> Iterator[None]:
    """Have `info.json` tell clients of this daemon, for as long as it serves.

    Where systemd goes on listening it stays: who finds a socket by it, and connects, starts the daemon again.
    """
    path = os.path.join(instance.runtime_dir, "info.json")
    content = json.dumps(instance.info(os.getpid(), version()))
    temporary = f"{path}.{os.getpid()}"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(content)
    os.replace(temporary, path)
    try:
        yield
    finally:
        if not doors.inherited:
            with suppress(FileNotFoundError):
                os.unlink(path)
