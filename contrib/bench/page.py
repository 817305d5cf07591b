"""The operator's page: `python contrib/bench/page.py`. Needs Chromium (`apt install chromium`) and the extra [dev].

Prints when the page with 10,000 recorded changes first paints, and when their newest stand in it, beside the same page
of the same server with nothing in it (opened without its key), in turn.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from harness import Bars, scratch_daemon
from playwright.sync_api import Browser, sync_playwright

from picoclawd.history.records import Author, Intent, Outcome
from picoclawd.history.store import History

VERSIONS = 10_000
ROUNDS = 9
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]

# When the rows are there, by the page's own clock, which starts with the navigation.
NOTE_ROWS = """new MutationObserver(() => {
  if (window.rowsAt === undefined && document.querySelector('#rows[data-ready]')) window.rowsAt = performance.now();
}).observe(document, {subtree: true, attributes: true});"""
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def record(directory: pathlib.Path) -> None:
    """Make the versions, as a task does that changes a thousand files ten times."""
    history = History(str(directory))
    before: dict[int, bytes] = {}
    author = Author("s-bench", "bench", "edit_file", "t-bench", "to make many versions")
    for number in range(VERSIONS):
        path, after = number % 1000, f"content {number}\n".encode()
        intent = Intent(b"dir/file%d.txt" % path, "modify", before.get(path), after, author)
        history.finish(history.begin(intent).version, Outcome("applied"))
        before[path] = after
    history.close()


@contextmanager
def served(socket: str) -> Iterator[str]:
    """The page's address."""
    command = [sys.executable, "-P", "-m", "picoclawd.client", "web"]
    env = {**os.environ, "PICOCLAWD_OPERATOR_SOCKET": socket}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def painted(browser: Browser, url: str, waits_for: str) -> tuple[float, float]:
    """Milliseconds to the first paint, and to the rows (0 where there are none), in a new profile."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(NOTE_ROWS)
    page.goto(url)
    page.wait_for_selector(waits_for)
    page.wait_for_function(FIRST_PAINT)
    first, rows = page.evaluate(f"[{FIRST_PAINT}, window.rowsAt || 0]")
    context.close()
    return float(first), float(rows)


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is missing.\nInstall it with:  apt install chromium")
    with tempfile.TemporaryDirectory(prefix="picoclawd-bench-", dir=os.environ.get("BENCH_DIR")) as name:
        state, socket = pathlib.Path(name) / "state", f"{name}/o/sock"
        state.mkdir(mode=0o700)
        record(state / "history")
        config = {"daemon.state_dir": str(state), "daemon.operator_socket": socket}
        with scratch_daemon(config), served(socket) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=BROWSER)
            empty, full = [], []
            for _ in range(ROUNDS):
                empty.append(painted(browser, url.partition("#")[0], "#alarm:not(:empty)"))
                full.append(painted(browser, url, "#rows[data-ready] .row"))
            browser.close()
    paint, rows, bare = (statistics.median(each) for each in (*zip(*full, strict=True), [first for first, _ in empty]))
    print(f"     first paint {paint:.0f} ms, newest rows {rows:.0f} ms, first paint of the empty page {bare:.0f} ms")
    bars.at_most(f"first paint with {VERSIONS} versions", paint, must=1000, unit="ms")
    bars.at_most(f"the newest of {VERSIONS} versions are shown", rows, must=1000, unit="ms")
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
