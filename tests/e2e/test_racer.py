"""P3 over the socket: another process swaps directories and links, and 5,000 calls of every tool escape nowhere."""

import os
from collections import Counter
from pathlib import Path

from tests.e2e.daemon import Daemon
from tests.files.sandbox import racing

SECRET = "top secret, outside\n"
SWAP = "linux.rename_exchange(fd, b'p', fd, b'q')\nlinux.rename_exchange(fd, b'f', fd, b'g')"
CALLS = 5_000


def test_a04_no_call_over_the_socket_reads_or_writes_outside(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        for name in ("f.txt", "g.txt"):
            (daemon.outside / name).write_text(SECRET)
        daemon.write("p/f.txt", "inside\n")
        daemon.write("f", "inside\n")
        (daemon.root / "q").symlink_to("../out")
        (daemon.root / "g").symlink_to(daemon.outside / "f.txt")
        before = snapshot(daemon.outside)
        calls = [
            ("read_file", {"path": "p/f.txt"}),
            ("read_file", {"path": "f"}),
            ("list_dir", {"path": "p"}),
            ("write_file", {"path": "p/f.txt", "content": "inside\n", "overwrite": True}),
            ("write_file", {"path": "p/sub/new.txt", "content": "new"}),
            ("append_file", {"path": "p/n.txt", "content": "x"}),
            ("edit_file", {"path": "p/f.txt", "old_text": "inside", "new_text": "inside"}),
            ("append_file", {"path": "f", "content": "x"}),
        ]
        seen: Counter[str] = Counter()
        with racing(SWAP, str(daemon.root)):
            for number in range(CALLS):
                method, params = calls[number % len(calls)]
                answer = client.answer(client.start(method, params))
                assert SECRET.strip() not in str(answer), (method, params)
                seen[answer["error"]["data"]["error"] if "error" in answer else "done"] += 1
        assert snapshot(daemon.outside) == before
        assert seen["done"] > CALLS // 20, seen
        assert seen["outside_workspace"] > CALLS // 50, seen
        assert client.call("ping")


def snapshot(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in sorted(os.listdir(directory))}
