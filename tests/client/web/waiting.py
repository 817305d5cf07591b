"""Wait for what another task or thread does; the caller's deadline is around it."""

from collections.abc import Callable

import trio


async def until(true: Callable[[], object]) -> None:
    """Look again and again until something is so."""
    while True:
        if true():
            return
        await trio.sleep(0.005)
