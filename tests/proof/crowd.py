"""Clients that nobody wants, in a process of their own: `SOCKET SECONDS COUNT SEED`.

A quarter each is silent, sends a line without an end, reads slowly what it asked for, and floods: half of those with
requests whose answers they never read, half with requests as fast as they are answered. Who is thrown out comes again.
Prints JSON when it is over: {"sent": bytes, "received": bytes, "thrown_out": n}; a line "ready" when all are there.
"""

import json
import random
import selectors
import socket
import sys
import time
from dataclasses import dataclass

LONG_HALF_LINE = b'{"jsonrpc":"2.0","id":1,"method":"write_file","params":{"path":"x","content":"' + b"x" * 1_000_000
BIG_READ = b'{"jsonrpc":"2.0","id":%d,"method":"read_file","params":{"path":"big.txt"}}\n'
WORK = (
    b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":%d,"method":"list_dir"}\n',
    b'{"jsonrpc":"2.0","id":%d,"method":"search_files","params":{"pattern":"z(a|b)+z"}}\n',
    b'{"jsonrpc":"2.0","id":%d,"method":"read_file","params":{"path":"small.txt"}}\n',
    b"garbage %d\n",
)
KINDS = ("silent", "half-line", "slow", "deaf", "busy")
SLOW_READ_BYTES, SLOW_PAUSE_S = 1024, 0.05


@dataclass
class Guest:
    """One connection and what is still to be sent on it."""

    sock: socket.socket
    kind: str
    unsent: bytes = b""
    count: int = 0
    wakes_at: float = 0.0


class Crowd:
    """All of them, on one selector."""

    def __init__(self, path: str, seed: int) -> None:
        self._path = path
        self._dice = random.Random(seed)
        self._selector = selectors.DefaultSelector()
        self.sent = self.received = self.thrown_out = 0

    def invite(self, kind: str) -> None:
        """Connect one more."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(self._path)
        except OSError:
            sock.close()
            return
        sock.setblocking(False)
        guest = Guest(sock, kind, LONG_HALF_LINE if kind == "half-line" else b"")
        self._selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE, guest)

    def turn(self) -> None:
        """Let everybody do what can be done now."""
        for key, events in self._selector.select(0.01):
            guest: Guest = key.data
            try:
                if events & selectors.EVENT_WRITE:
                    self._send(guest)
                if events & selectors.EVENT_READ:
                    self._receive(guest)
            except BlockingIOError:
                pass
            except OSError:
                self._again(guest)
        time.sleep(0.002)  # the sockets that nobody fills are ready all the time

    def _send(self, guest: Guest) -> None:
        now = time.monotonic()
        if guest.kind == "silent" or guest.wakes_at > now:
            return
        if not guest.unsent:
            guest.count += 1
            if guest.kind == "half-line":
                guest.unsent, guest.wakes_at = b"x", now + SLOW_PAUSE_S
            elif guest.kind == "busy":
                guest.unsent = b"".join(self._dice.choice(WORK) % (guest.count * 8 + each) for each in range(8))
            else:
                guest.unsent = BIG_READ % guest.count
        done = guest.sock.send(guest.unsent)
        self.sent += done
        guest.unsent = guest.unsent[done:]

    def _receive(self, guest: Guest) -> None:
        now = time.monotonic()
        if guest.kind == "deaf" or (guest.kind == "slow" and guest.wakes_at > now):
            return
        data = guest.sock.recv(SLOW_READ_BYTES if guest.kind == "slow" else 1 << 18)
        if not data:
            raise ConnectionResetError
        self.received += len(data)
        if guest.kind == "slow":
            guest.wakes_at = now + SLOW_PAUSE_S

    def _again(self, guest: Guest) -> None:
        self._selector.unregister(guest.sock)
        guest.sock.close()
        self.thrown_out += 1
        self.invite(guest.kind)


def kind_of(number: int) -> str:
    """A quarter each, and the floods once more in halves."""
    return KINDS[number % 4] if number % 4 < 3 else KINDS[3 + number // 4 % 2]


def main(path: str, seconds: float, count: int, seed: int) -> None:
    """Crowd the daemon until the time is over."""
    crowd = Crowd(path, seed)
    for number in range(count):
        crowd.invite(kind_of(number))
    print("ready", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        crowd.turn()
    print(json.dumps({"sent": crowd.sent, "received": crowd.received, "thrown_out": crowd.thrown_out}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
