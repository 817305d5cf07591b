"""`picoclawctl web`: serve the operator's page on loopback until Ctrl-C."""

import importlib.util
import signal
import sys
from typing import TYPE_CHECKING

from picoclawd.client import discover, output
from picoclawd.client.failures import INTERRUPTED, OK, Failure, UsageFault

if TYPE_CHECKING:
    import argparse

PORT_MAX = 65535


def run(args: "argparse.Namespace") -> int:
    """Serve. The URL is printed and nothing is opened: on a browser's command line every user of this machine could
    read the key.

    Raises:
        UsageFault: the extra [web] is not installed, or the port is none.
        NoDaemon: no daemon answers at the start; one that goes away later is looked for again.
        Failure: the port is taken.
    """
    if importlib.util.find_spec("h11") is None:
        raise UsageFault("picoclawctl web needs the package h11.\nInstall it with:  pip install 'picoclawd[web]'")
    if not 0 <= args.port <= PORT_MAX:
        raise UsageFault(f"--port {args.port} is no port: give one from 1 to {PORT_MAX}, or leave it out")
    connection, _ = discover.connect("operator", args.workspace)
    connection.close()
    import trio  # only this command pays for it

    return trio.run(_serve, args.port, args.workspace)


async def _serve(port: int, start: str | None) -> int:
    import trio

    from picoclawd.client.web import guard, page, server
    from picoclawd.client.web.post import Post
    from picoclawd.client.web.routes import Routes

    try:
        listeners = await server.listen(port)
    except OSError as exc:
        raise Failure(
            f"cannot listen on {server.HOST}:{port}: {exc.strerror or exc}.\n"
            "Take another port, or leave --port out:  picoclawctl web"
        ) from None
    door = guard.Door(server.port_of(listeners), guard.new_key())
    post = Post(start)
    routes = Routes(door, post, page.load())
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(post.run)
            nursery.start_soon(server.Server(routes.respond).serve, listeners)
            _announce(door.url)
            number = await anext(aiter(signals))
            nursery.cancel_scope.cancel()
    return INTERRUPTED if number == signal.SIGINT else OK


def _announce(url: str) -> None:
    output.show_text(url)
    sys.stdout.flush()
    output.complain("Open this address in a browser on this machine. Whoever has it decides for you: keep it.")
    output.complain("It is served until Ctrl-C.")
