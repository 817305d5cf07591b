"""read_files on documents over the socket, beside the bare libraries: `python contrib/bench/documents.py`.

Each file is new to the daemon at each read, so nothing comes from its cache. The bare library runs in a process of its
own too, from its start to its end. Memory is a worker's peak, as the kernel counts it.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Bars, Scratch, scratch_daemon, timed

ROUNDS = 5
PAGES = 300
ROWS = 200_000

BARE = {
    "page": "import pypdfium2; pypdfium2.PdfDocument({path!r})[149].get_textpage().get_text_bounded()",
    "row": "import csv, itertools; next(itertools.islice(csv.reader(open({path!r}, newline='')), 199_999, None))",
    "photo": "from PIL import Image; i = Image.open({path!r}); i.thumbnail((1568, 1568)); i.save('/dev/null', 'JPEG')",
}
# Starts a worker from a small process: a child's peak begins with that of who started it.
LAUNCHER = """
import os, resource, socket, subprocess, sys
path, kind, request = sys.argv[1:]
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
worker = subprocess.Popen([sys.executable, "-I", "-m", "picoclawd.documents.worker", kind], stdin=its, stdout=-3)
socket.send_fds(ours, [request.encode()], [os.open(path, os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)])
status = ours.recv(16)
ours.close()
its.close()
worker.wait()
print(status.decode(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def pdf() -> bytes:
    """A PDF document of PAGES pages of text."""
    line = b"(The quick brown fox jumps over the lazy dog, again and again.) Tj 0 -14 Td "
    drawn = b"BT /F1 11 Tf 40 760 Td " + line * 50 + b"ET"
    kids = b" ".join(b"%d 0 R" % (4 + 2 * index) for index in range(PAGES))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, PAGES)]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for index in range(PAGES):
        box = b"/MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >>" % (5 + 2 * index)
        objects.append(b"<< /Type /Page /Parent 2 0 R %s >>" % box)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
    out, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def table() -> bytes:
    """A CSV table of ROWS rows, some of whose cells hold quotes and newlines."""
    cell = '"words, ""quoted"", and\na second line"'
    rows = (f"item{number},{number},{cell if number % 10 == 0 else 'plain words'}\n" for number in range(ROWS - 1))
    return ("name,quantity,remark\n" + "".join(rows)).encode()


def photo(path: pathlib.Path) -> bytes:
    """A JPEG image of 24 megapixels, with structure at every scale."""
    from PIL import Image

    small = Image.effect_noise((750, 500), 80).convert("RGB")
    small.resize((6000, 4000), Image.Resampling.BICUBIC).save(path, "JPEG", quality=92)
    data = path.read_bytes()
    path.unlink()
    return data


def read_s(daemon: Scratch, name: str, data: bytes, **options: Any) -> float:
    """The median seconds of a read of the file, which is new each time."""
    client = daemon.client()
    times = []
    for _ in range(ROUNDS):
        (daemon.root / name).write_bytes(data)
        call = partial(client.call, "read_files", files=[{"path": name, **options}])
        times.append(timed(partial(succeed, call)))
    client.close()
    return statistics.median(times)


def succeed(call: Callable[[], dict[str, Any]]) -> None:
    """Call, and end the benchmark where a file was not read."""
    for file in call()["data"]["files"]:
        if file["error"]:
            raise SystemExit(file["error"]["message"])


def bare_s(code: str, path: pathlib.Path) -> float:
    """The median seconds of the library alone, in a process of its own."""
    command = [sys.executable, "-I", "-c", code.format(path=str(path))]
    return statistics.median(timed(partial(subprocess.run, command, check=True)) for _ in range(ROUNDS))


def peak_mb(kind: str, path: pathlib.Path, first: int) -> float:
    """The peak memory of a worker and its process that reads one unit: of the larger one."""
    request = json.dumps({"kind": kind, "windows": [[first, first + 1]], "max_chars": 16384, "name": path.name})
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, str(path), kind, request], capture_output=True, check=True
    )
    status, peak_kb = map(int, done.stdout.split())
    if status:
        raise SystemExit(f"the process that reads {path.name} ended with status {status}")
    return peak_kb / 1024


def one_file(bars: Bars, daemon: Scratch) -> None:
    """One unit of each kind of document: seconds, the ratio to the bare library, and memory."""
    cases: tuple[tuple[str, str, str, bytes, dict[str, int], float, tuple[str, float] | None], ...] = (
        ("page", "one page of a 300-page PDF", "a.pdf", pdf(), {"offset": 150, "limit": 1}, 0.4, ("pdf", 60)),
        ("row", "one row of a 200,000-row CSV", "t.csv", table(), {"offset": ROWS, "limit": 1}, 0.5, None),
        ("photo", "a 24-megapixel JPEG", "p.jpg", photo(daemon.root / "made.jpg"), {}, 0.8, ("image", 120)),
    )
    for key, words, name, data, options, must_s, memory in cases:
        pairs = [(read_s(daemon, name, data, **options), bare_s(BARE[key], daemon.root / name)) for _ in range(3)]
        bars.at_most(words, statistics.median(ours for ours, _ in pairs), must=must_s, unit="s")
        bars.at_most(f"{words} / the bare library", statistics.median(a / b for a, b in pairs), must=4)
        if memory is not None:
            kind, must_mb = memory
            bars.at_most(f"{words}, memory", peak_mb(kind, daemon.root / name, 1), must=must_mb, unit="MB")


def eight_at_once(bars: Bars, daemon: Scratch) -> None:
    """Eight documents in one call, against one document eight times; and what another client waits meanwhile."""
    data = pdf()
    names = [f"{number}.pdf" for number in range(8)]
    client, other = daemon.client(), daemon.client()
    (daemon.root / "one.txt").write_text("one line\n")
    ratios: list[float] = []
    waits: list[float] = []
    for _ in range(3):
        for name in names:
            (daemon.root / name).write_bytes(data)
        single = sum(timed(partial(client.call, "read_files", files=[{"path": name, "offset": 2}])) for name in names)
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(other, done, waits))
        watcher.start()
        call = partial(client.call, "read_files", files=[{"path": name, "offset": 3} for name in names])
        ours = timed(partial(succeed, call)) / single
        done.set()
        watcher.join()
        bare = two_by_two(daemon.root / names[0])
        print(f"     eight at once / one after the other: ours {ours:.2f}, bare processes {bare:.2f}")
        ratios.append(ours * 2)
    bars.at_most("eight documents in one call / four, one by one", statistics.median(ratios), must=1)
    waits.sort()
    bars.at_most("a one-line read_file meanwhile, p99", waits[len(waits) * 99 // 100] * 1e3, must=20, unit="ms")


def two_by_two(path: pathlib.Path) -> float:
    """Eight bare processes two at a time, against one after the other: what this machine's cores are worth now."""
    command = [sys.executable, "-I", "-c", BARE["page"].format(path=str(path))]

    def four() -> None:
        for _ in range(4):
            subprocess.run(command, check=True)

    def both() -> None:
        beside = threading.Thread(target=four)
        beside.start()
        four()
        beside.join()

    def after() -> None:
        four()
        four()

    return timed(both) / timed(after)


def _watch(client: Any, done: threading.Event, waits: list[float]) -> None:
    while not done.is_set():
        waits.append(timed(partial(client.call, "read_file", path="one.txt")))
        time.sleep(0.002)


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    with scratch_daemon() as daemon:
        one_file(bars, daemon)
        eight_at_once(bars, daemon)
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
