"""Who works when the power goes: writers in a house, who say on standard output what they try and what was done.

    ? <op> <name> <sha256 afterwards, or "-" for no file>      before the call
    ! <op>                                                     once it was answered

Arguments: the directory that holds `ws` and `state`, a seed, and `careful`, or what is left out: `no-fsync`,
`no-sqlite-sync`.
"""

import hashlib
import os
import random
import sys
from pathlib import Path

import trio

from picoclawd.history.store import History
from picoclawd.history.writer import Writer
from picoclawd.workspace.workspace import Records
from tests.house import House

_WRITERS = 4
_NAMES = 3  # to each writer, so that what a name holds is known to who writes it


class Writing:
    """One writer: it knows what its files hold, for nobody else touches them."""

    def __init__(self, house: House, number: int, seed: int) -> None:
        self._house = house
        self._dice = random.Random(seed * 1000 + number)
        self._number = number
        self._files: dict[str, bytes] = {}
        self._count = 0

    async def run(self) -> None:
        """Work until killed."""
        while True:
            name = f"{self._number}/d{self._dice.randrange(_NAMES)}/f"
            old = self._files.get(name)
            match self._dice.choice(("put", "put", "append", "edit", "remove")):
                case "append" if old is not None and len(old) < 20_000:
                    more = self._text()
                    await self._do("append_file", name, old + more, content=more.decode())
                case "edit" if old is not None and old.count(b"seed") == 1:
                    word = f"seen{self._count}"
                    await self._do(
                        "edit_file", name, old.replace(b"seed", word.encode()), old_text="seed", new_text=word
                    )
                case "remove" if old is not None:
                    await self._do("remove_file", name, None)
                case _:
                    new = self._text() + b"seed\n"
                    await self._do("write_file", name, new, content=new.decode(), overwrite=True)

    async def _do(self, tool: str, name: str, after: bytes | None, **params: object) -> None:
        self._count += 1
        op = f"{self._number}-{self._count}"
        sha = "-" if after is None else hashlib.sha256(after).hexdigest()
        _say(f"? {op} {name} {sha}")
        await self._house.call(tool, session=self._house.operator, op=op, path=name, **params)
        _say(f"! {op}")
        if after is None:
            del self._files[name]
        else:
            self._files[name] = after

    def _text(self) -> bytes:
        line = b"%d of writer %d " % (self._count, self._number)
        return line * self._dice.randrange(1, 200) + b"\n"


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def _leave_out(what: str) -> None:
    if what == "no-fsync":
        os.fsync = lambda fd: None
    elif what == "no-sqlite-sync":
        set_synchronous = Writer._set_synchronous
        Writer._set_synchronous = lambda self, db, level: set_synchronous(self, db, "OFF")  # type: ignore[method-assign]


async def _work(house: House, seed: int) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(_WRITERS):
            nursery.start_soon(Writing(house, number, seed).run)


def main() -> None:
    """Open the house and work."""
    place, seed, what = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    _leave_out(what)
    house = House(place / "ws", records=Records(History(str(place / "state"))))
    trio.run(_work, house, seed)


if __name__ == "__main__":
    main()
