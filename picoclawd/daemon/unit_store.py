"""The user's directory of unit files: write ours, recognise them again, and remove nothing else.

The first line of a file that is written here holds the hash of all that follows. A file without it, or whose text has
another hash, is the person's.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum

from picoclawd.daemon.config_file import home_directory
from picoclawd.errors import Fault, Slug
from picoclawd.files.oserrors import as_fault

_MARK = "# Written by `picoclawd install-service`, which replaces and removes it while it is unchanged: "


class Held(StrEnum):
    """What is at the place of a unit file."""

    NOTHING = "nothing"
    OURS = "ours"
    FOREIGN = "foreign"


def user_units(environ: Mapping[str, str]) -> str:
    """`$XDG_CONFIG_HOME/systemd/user`, the first place where systemd.unit(5) looks for a user's units."""
    home = environ.get("XDG_CONFIG_HOME", "")
    base = home if home.startswith("/") else os.path.join(home_directory(environ), ".config")
    return os.path.join(base, "systemd", "user")


def marked(text: str) -> str:
    """The text with the line by which it is known again."""
    return f"{_MARK}{_hash(text)}\n{text}"


class UnitStore:
    """The files below one directory, named relative to it. Blocking."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def path(self, name: str) -> str:
        """Where the file is."""
        return os.path.join(self.directory, name)

    def held(self, name: str) -> Held:
        """Whether a file is ours. A link is never."""
        path = self.path(name)
        if not os.path.lexists(path):
            return Held.NOTHING
        if os.path.islink(path) or not os.path.isfile(path):
            return Held.FOREIGN
        with open(path, encoding="utf-8", errors="replace") as file:
            head, _, text = file.read().partition("\n")
        return Held.OURS if head == f"{_MARK}{_hash(text)}" else Held.FOREIGN

    def check(self, name: str) -> None:
        """Make sure that a file may be written. Raises: file_exists for one that is not ours."""
        if self.held(name) is Held.FOREIGN:
            path = self.path(name)
            message = (
                f"{path} was not written by `picoclawd install-service`, or was changed since: it stays, and nothing "
                f"was written. To have it replaced:  mv {path} {path}.old"
            )
            raise Fault(Slug.FILE_EXISTS, message)

    def write(self, name: str, text: str) -> None:
        """Write a file, marked, in one step; what is ours there is replaced. Raises: as `check`, and as the system."""
        self.check(name)
        path = self.path(name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(path), delete=False) as file:
                file.write(marked(text))
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except OSError as exc:
            raise as_fault(exc, "write", path) from exc

    def remove(self, name: str) -> Held:
        """Remove a file that is ours, and its directory where that is then empty; tells what was there."""
        held = self.held(name)
        if held is Held.OURS:
            try:
                os.unlink(self.path(name))
            except OSError as exc:
                raise as_fault(exc, "remove", self.path(name)) from exc
            if os.path.dirname(name):
                with suppress(OSError):  # somebody else's files are in it
                    os.rmdir(os.path.dirname(self.path(name)))
        return held

    def instances(self) -> list[str]:
        """The instances that have a drop-in directory, in order."""
        try:
            names = os.listdir(self.directory)
        except OSError:
            return []
        heads = (name.removesuffix(".service.d") for name in names if name.endswith(".service.d"))
        return sorted(head.removeprefix("picoclawd@") for head in heads if head.startswith("picoclawd@") and head[10:])

    def unlink_enabled(self, units: tuple[str, ...]) -> None:
        """Remove the links by which `systemctl enable` has these units started: they would lead nowhere."""
        for target in ("default.target.wants", "sockets.target.wants"):
            for unit in units:
                link = self.path(os.path.join(target, unit))
                if os.path.islink(link):
                    os.unlink(link)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
