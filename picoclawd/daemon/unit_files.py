"""The unit files that the package ships, and what they become for one installation and one instance.

Rules of quoting: systemd.service(5), "Command lines", and systemd.unit(5), "Specifiers".
"""

import os
import sys
from collections.abc import Sequence

import picoclawd
from picoclawd.errors import Fault, Slug

TEMPLATES = ("picoclawd@.service", "picoclawd@.socket", "picoclawd-operator@.socket")
HARDENING = "picoclawd@.service.d/hardening.conf"

# What the shipped service starts, for those who copy it by hand; replaced by the path of this installation.
_BY_PATH = "ExecStart=/usr/bin/env picoclawd "
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-=:@+,")


def units_of(instance: str) -> tuple[str, str, str]:
    """The names of one instance's service, agents' socket and operator's socket."""
    return f"picoclawd@{instance}.service", f"picoclawd@{instance}.socket", f"picoclawd-operator@{instance}.socket"


def drop_in_directory(instance: str) -> str:
    """The directory, beside the units, of what holds for this instance only."""
    return f"picoclawd@{instance}.service.d"


def shipped(name: str) -> str:
    """The text of a file of `systemd/`: of the installed package, or of the source tree that runs.

    Raises: not_found, where the package was taken apart.
    """
    package = os.path.dirname(os.path.abspath(picoclawd.__file__ or ""))
    places = [os.path.join(package, "systemd", name), os.path.join(os.path.dirname(package), "systemd", name)]
    for place in places:
        if os.path.isfile(place):
            with open(place, encoding="utf-8") as file:
                return file.read()
    message = f"the unit file {name} is not part of this installation: install picoclawd again, with pip"
    raise Fault(Slug.NOT_FOUND, message)


def program() -> tuple[str, ...]:
    """The words that start this very installation: its script, or its interpreter where there is no script."""
    script = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "picoclawd")
    if os.path.isfile(script) and os.access(script, os.X_OK):
        return (script,)
    return os.path.abspath(sys.executable), "-P", "-m", "picoclawd"


def service(command: Sequence[str]) -> str:
    """The template service, starting `command`, the words before `serve`."""
    return shipped(TEMPLATES[0]).replace(_BY_PATH, f"ExecStart={command_line(command)} ")


def instance_settings(command: Sequence[str]) -> str:
    """The drop-in that has one instance started by `command`, the whole of it."""
    return f"[Service]\nExecStart=\nExecStart={command_line(command)}\n"


def writable_settings(paths: Sequence[str]) -> str:
    """The drop-in that leaves these directories writable in the sandbox."""
    words = " ".join(_path_word(path) for path in paths)
    return f"[Service]\nReadWritePaths={words}\n"


def command_line(command: Sequence[str]) -> str:
    """Words as systemd reads them back. No variable is expanded in the first one, so `$` stands for itself there."""
    program, *arguments = command
    return " ".join([_word(program, "$"), *(_word(argument, "$$") for argument in arguments)])


def _word(text: str, dollar: str) -> str:
    if text and _PLAIN.issuperset(text):
        return text
    _check_text(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + escaped.replace("%", "%%").replace("$", dollar) + '"'


def _path_word(path: str) -> str:
    """A path for a list of paths, in which a backslash stands for itself; missing ones are passed over."""
    _check_text(path)
    quote = "'" if '"' in path else '"'
    if quote in path or "\n" in path:
        raise Fault(Slug.INVALID_PATH, f"{path!r} cannot be written into a unit file: give the directory another name")
    return f"{quote}-{path.replace('%', '%%')}{quote}"


def _check_text(text: str) -> None:
    """Unit files are UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{text!r} is not UTF-8, which a unit file must be: give it another name, or link to it"
        raise Fault(Slug.INVALID_PATH, message) from None
