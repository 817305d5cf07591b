"""What the commands of the person share: the operator's connection, paths as the shell means them, and y or N."""

import sys

from picoclawd.client import arguments, discover, files, output
from picoclawd.client.failures import CONFIRMATION, Failure
from picoclawd.client.rows import path_here

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from types import TracebackType
    from typing import Any, Self

    from picoclawd.client.wire import Connection

    Params = dict[str, Any]


class Declined(Failure):
    """The person said no, or could not be asked: nothing was done."""

    slug = "declined"
    exit_code = CONFIRMATION


class Desk:
    """`with Desk(args) as desk:` one connection to the operator's socket of the daemon that serves this directory."""

    def __init__(self, args: "argparse.Namespace") -> None:
        self._args = args
        self._here = discover.start_directory(None)
        self.connection: Connection
        self.connection, self._endpoint = discover.connect("operator")

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", exc: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.connection.close()

    def call(self, method: str, params: "Params | None" = None, *, dry_run: bool = False) -> "Any":
        """Make one call; with `dry_run` one that writes nothing."""
        given = dict(params or {})
        if dry_run:
            given["_meta"] = {"dry_run": True}
        return self.connection.call(method, given, self._args.timeout)

    def introduce(self) -> None:
        """Name this command to the daemon: what it changes is recorded with that name, and `sessions` shows it."""
        self.call("session.open", {"client": f"picoclawctl {self._args.command}"})

    def path(self, path: str) -> str:
        """A path as typed here, as the daemon takes it.

        Raises:
            UsageFault: it is not UTF-8.
        """
        return arguments.check_text("the path", self._place(path))

    def path_params(self, path: str) -> "Params":
        """The same as params: also of a name that is not UTF-8."""
        return {**arguments.path_params(self._place(path))}

    def shown(self, path: str) -> str:
        """A path of the daemon's as the shell here takes it."""
        return path_here(path, self._endpoint.workspace, self._here)

    def workspace(self) -> str:
        """The workspace's directory."""
        return self._endpoint.workspace or str(self.call("session.info")["workspace"])

    def confirm(self, preview: str, question: str) -> None:
        """Show what is about to happen, and go on only if the person wants that; `--yes` is a yes.

        `preview` is escaped already, and may have colours of ours.

        Raises:
            Declined: anything but y was answered, or there is no terminal to ask at.
        """
        stream = sys.stderr if self._args.json else sys.stdout
        stream.write(preview.rstrip("\n") + "\n")
        stream.flush()
        if self._args.yes:
            return
        if not sys.stdin.isatty():
            raise Declined(f"{question}: there is no terminal to ask at, so nothing was done.\nAdd --yes to do it.")
        sys.stderr.write(f"{output.one_line(question)}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Declined("declined: nothing was done")

    def _place(self, path: str) -> str:
        return files.workspace_path(path, self._endpoint.workspace, self._here) or "."


def patch(text: str) -> str:
    """A diff for a person: escaped, indented so that no line of it passes for one of ours, coloured on a terminal."""
    colour = output.wants_colour()
    rows = [_painted(output.escape(row), colour) for row in text.rstrip("\n").split("\n")]
    return "\n".join(f"  {row}" for row in rows)


def _painted(row: str, colour: bool) -> str:
    code = {"+": "32", "-": "31", "@": "36"}.get(row[:1])
    return row if code is None or not colour else f"\x1b[{code}m{row}\x1b[0m"
