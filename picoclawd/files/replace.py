"""Replace a file atomically: the old bytes or the new ones, durable, and nobody else's save under the wheels."""

import os

from picoclawd.files import exchange, leases, metadata, temps
from picoclawd.files.pinned import check_unchanged, opened
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Committed, Keep, StillThere, Target, always, check_still_there, reported


def replace(
    target: Target,
    new: bytes,
    expected: Stamp,
    *,
    old: bytes | None = None,
    still_there: StillThere = always,
    keep: Keep | None = None,
) -> Committed:
    """Replace the file's `expected` version, which the change was computed from, by `new`. Blocking.

    Owner, extended attributes, access list and mode are kept. `old`, the bytes of the expected version, closes the
    gap of coarse clocks (`pinned.check_unchanged`). Before the exchange every failure leaves the old file as it was
    and no temporary file.

    Raises: conflict, external_change_kept, path_busy, access_denied, not_a_file, io_error; after the exchange with
    outcome unknown.
    """
    with reported("write", target.given), opened(target, expected, os.O_RDONLY) as old_fd:
        with temps.beside(target) as temp:
            ours = _fill(temp, new, old_fd)
            with leases.hold(old_fd, target.given) as lease:
                check_unchanged(target, old_fd, expected, old)
                check_still_there(target, still_there)
                displaced = exchange.swap_in(target, temp, ours, expected, lease, keep)
        stamp = temps.settle(target, ours, still_there)
    return Committed(
        stamp=stamp,
        bytes_written=len(new),
        hardlinks=displaced.stamp.nlink - 1,
        exchanged=displaced.exchanged,
        leased=lease.granted,
    )


def _fill(temp: temps.Temp, new: bytes, old_fd: int) -> Stamp:
    temps.write_all(temp.fd, new)
    metadata.copy(old_fd, temp.fd)
    return temp.seal()
