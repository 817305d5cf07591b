"""Measure when an editor has an agent's change: `python contrib/bench/editors.py [--rounds N]`.

One daemon, and beside it a bare subscriber and each editor that is installed, all waiting for the same change. The
clock starts before the change is sent (or written to the disk by this program, as any other would), and stops for the
subscriber at its notification, for an editor when the buffer holds the new text. Prints medians and 99th percentiles
of one run, and exits 1 if an editor's 99th percentile misses its must.
"""

import argparse
import json
import os
import pathlib
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from harness import Bars, Client, Scratch, scratch_daemon

CONTRIB = pathlib.Path(__file__).parents[1]
MUST_MS = 100.0
PAUSE_S = 0.03  # between two changes: what an agent needs at least, and long enough for the watcher to settle
DEADLINE_S = 20.0

NVIM = """lua
local pipe = vim.loop.new_pipe(false)
pipe:connect(vim.env.BENCH_SOCKET, function()
  vim.schedule(function()
    vim.api.nvim_create_autocmd("FileChangedShellPost", { callback = function() pipe:write("+") end })
    vim.cmd("edit " .. vim.env.BENCH_FILE)
  end)
end)
"""

EMACS = """
(progn
  (require 'picoclawd)
  (picoclawd-mode)
  (let ((process (make-network-process :name "bench" :family 'local :service (getenv "BENCH_SOCKET"))))
    (add-hook 'after-revert-hook (lambda () (process-send-string process "+")))
    (find-file-noselect (getenv "BENCH_FILE"))
    (while (process-live-p process)
      (accept-process-output nil 1))))
"""


def commands() -> dict[str, list[str]]:
    """How each installed editor is started without a screen."""
    known = {
        "nvim": [
            "--headless",
            "--clean",
            "--cmd",
            f"set runtimepath+={CONTRIB / 'nvim'}",
            "-c",
            NVIM.replace("\n", " "),
        ],
        "emacs": ["--batch", "-Q", "-L", str(CONTRIB / "emacs"), "--eval", EMACS],
    }
    return {name: [found, *words] for name, words in known.items() if (found := shutil.which(name))}


@contextmanager
def editor(command: list[str], env: Mapping[str, str], directory: str, name: str) -> Iterator[socket.socket]:
    """An editor that has the file open; yields the socket on which it sends a byte for each reload."""
    path = f"{directory}/{name}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(DEADLINE_S)
        with subprocess.Popen(
            command, env={**env, "BENCH_SOCKET": path}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                peer, _ = listener.accept()
                with peer:
                    yield peer
            finally:
                process.kill()


@contextmanager
def subscriber(path: str) -> Iterator[socket.socket]:
    """A connection that does nothing but listen for changes."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(DEADLINE_S)
        sock.connect(path)
        request = {"jsonrpc": "2.0", "id": 1, "method": "events.subscribe", "params": {"kinds": ["file.changed"]}}
        sock.sendall(json.dumps(request).encode() + b"\n")
        sock.recv(1 << 16)
        yield sock


def delays_ms(sockets: Mapping[str, socket.socket], change: Callable[[], object]) -> dict[str, float]:
    """Make a change; milliseconds until each socket has said something."""
    left = dict(sockets)
    found: dict[str, float] = {}
    started = time.perf_counter()
    change()
    while left:
        ready, _, _ = select.select(list(left.values()), [], [], DEADLINE_S)
        now = time.perf_counter()
        if not ready:
            raise SystemExit(f"not heard in {DEADLINE_S:g} s: {', '.join(left)}")
        for name in [name for name, sock in left.items() if sock in ready]:
            if not left.pop(name).recv(1 << 16):
                raise SystemExit(f"{name} is gone")
            found[name] = (now - started) * 1e3
    return found


def warm_up(sockets: Mapping[str, socket.socket], file: pathlib.Path) -> None:
    """Change the file until each has heard of it: until each has connected and opened it."""
    end = time.monotonic() + DEADLINE_S
    left = dict(sockets)
    while left:
        if time.monotonic() > end:
            raise SystemExit(f"not ready in {DEADLINE_S:g} s: {', '.join(left)}")
        file.write_text(f"warm-up {time.monotonic()}\n")
        ready, _, _ = select.select(list(left.values()), [], [], 0.2)
        left = {name: sock for name, sock in left.items() if sock not in ready}
        time.sleep(0.2)
        drain(sockets)


def drain(sockets: Mapping[str, socket.socket]) -> None:
    """Forget what a change made anybody say twice."""
    for sock in sockets.values():
        while select.select([sock], [], [], 0)[0]:
            if not sock.recv(1 << 16):
                raise SystemExit("an editor is gone")


def operator_socket(daemon: Scratch) -> str:
    """Where the daemon's info.json says that the person's programs connect."""
    runtime = pathlib.Path(daemon.socket).parents[1]
    [info] = runtime.glob("picoclawd/*/info.json")
    return str(json.loads(info.read_text())["sockets"]["operator"])


def run(daemon: Scratch, rounds: int, bars: Bars) -> None:
    """Measure both ways in which a file changes."""
    file = daemon.root / "app.py"
    file.write_text("0\n")
    with ExitStack() as opened:
        directory = opened.enter_context(tempfile.TemporaryDirectory(prefix="pcd-"))
        path = operator_socket(daemon)
        env = {**os.environ, "HOME": directory, "PICOCLAWD_OPERATOR_SOCKET": path, "BENCH_FILE": str(file)}
        sockets = {"subscriber": opened.enter_context(subscriber(path))}
        for name, command in commands().items():
            sockets[name] = opened.enter_context(editor(command, env, directory, name))
        warm_up(sockets, file)
        agent = opened.enter_context(_closing(daemon.client()))
        numbers = iter(range(1, 1 << 30))

        def edit() -> None:
            params = {"path": "app.py", "content": f"{next(numbers)}\n", "overwrite": True}
            request = {"jsonrpc": "2.0", "id": 1, "method": "write_file", "params": params}
            agent.send(json.dumps(request).encode() + b"\n")

        ways: dict[str, Callable[[], object]] = {
            "an agent's edit": edit,
            "an outside write": lambda: file.write_text(f"{next(numbers)}\n"),
        }
        for way, change in ways.items():
            samples: dict[str, list[float]] = {name: [] for name in sockets}
            for _ in range(rounds):
                for name, delay in delays_ms(sockets, change).items():
                    samples[name].append(delay)
                if way == "an agent's edit":
                    agent.raw_line()
                time.sleep(PAUSE_S)
                drain(sockets)
            report(way, samples, bars)


def report(way: str, samples: Mapping[str, list[float]], bars: Bars) -> None:
    """Print one way's bars; the subscriber is what an editor is compared with."""
    bare = samples["subscriber"]
    print(f"{way}: subscriber median {statistics.median(bare):.2f} ms, p99 {p99(bare):.2f} ms", flush=True)
    for name in [name for name in samples if name != "subscriber"]:
        more = statistics.median(a - b for a, b in zip(samples[name], bare, strict=True))
        print(f"{way}: {name} median {statistics.median(samples[name]):.2f} ms, {more:.2f} ms after the subscriber")
        bars.at_most(f"{way}: {name} has the text, p99", p99(samples[name]), MUST_MS, unit="ms")


def p99(samples: list[float]) -> float:
    """The 99th percentile."""
    return statistics.quantiles(samples, n=100)[98]


@contextmanager
def _closing(client: Client) -> Iterator[Client]:
    try:
        yield client
    finally:
        client.close()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="changes of each kind")
    args = parser.parse_args()
    bars = Bars()
    if not commands():
        print("neither nvim nor emacs is installed: only the subscriber is measured", file=sys.stderr)
    with scratch_daemon() as daemon:
        run(daemon, args.rounds, bars)
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
