"""The checks of `picoclawctl doctor` that need no daemon: the machine, the extras, the sockets, the configuration."""

import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "wrong"]

PYTHON_MIN = (3, 11)
KERNEL_MIN = (5, 6)  # openat2 with RESOLVE_BENEATH; below it the slower walking resolver is used
_CHECK_CONFIG_TIMEOUT_S = 20.0

EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "fast": (("hyperscan",), "faster ignore rules"),
    "docs": (("pypdfium2", "docx", "pptx", "PIL", "chardet"), "PDF, DOCX, PPTX and images in read_files"),
    "stt": (("pocketsphinx", "miniaudio", "httpx2"), "transcripts of audio and video"),
    "mcp": (("mcp",), "picoclawctl mcp"),
    "web": (("h11",), "picoclawctl web"),
}
PROGRAMS = {"git": "applies patches from history", "rg": "a second opinion on searches; the daemon does not need it"}


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `ok`, a `note` (works, but something is missing) or `wrong`; `mend` is the command for it."""

    name: str
    state: State
    text: str
    mend: str = ""


def machine() -> Iterator[Check]:
    """Python and the kernel."""
    version = platform.python_version()
    if sys.version_info >= PYTHON_MIN:
        yield Check("python", "ok", version)
    else:
        yield Check("python", "wrong", f"{version} is too old", "install Python 3.11 or newer")
    release = platform.release()
    if kernel_version(release) >= KERNEL_MIN:
        yield Check("kernel", "ok", release)
    else:
        yield Check(
            "kernel", "note", f"{release}: no openat2, paths are resolved more slowly", "boot Linux 5.6 or newer"
        )


def kernel_version(release: str) -> tuple[int, ...]:
    """The leading numbers of a kernel release: `6.1.0-18-amd64` is (6, 1)."""
    numbers = []
    for part in release.split(".")[:2]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits or 0))
    return tuple(numbers)


def extras() -> Iterator[Check]:
    """The optional packages, by extra."""
    for extra, (modules, gives) in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            text = f"not installed ({', '.join(missing)}): no {gives}"
            yield Check(f"extra [{extra}]", "note", text, f"pip install 'picoclawd[{extra}]'")
        else:
            yield Check(f"extra [{extra}]", "ok", gives)


def programs() -> Iterator[Check]:
    """Programs on PATH that a person will want beside the daemon."""
    packages = {"rg": "ripgrep"}
    for program, use in PROGRAMS.items():
        if found := shutil.which(program):
            yield Check(program, "ok", found)
        else:
            yield Check(program, "note", f"not on PATH: {use}", f"apt install {packages.get(program, program)}")


def socket_file(role: str, path: str) -> Iterator[Check]:
    """One socket and the directory that holds it: ours, and closed to others.

    A socket that the configuration names may share a directory: that is a note, a derived one's directory is a fault.
    """
    name = f"{role} socket"
    try:
        found, parent = os.lstat(path), os.stat(os.path.dirname(path))
    except OSError as exc:
        yield Check(name, "wrong", f"{path}: {exc.strerror}", "restart the daemon")
        return
    if not stat.S_ISSOCK(found.st_mode):
        yield Check(name, "wrong", f"{path} is no socket", f"mv {path} {path}.old, then restart the daemon")
        return
    yield _owned(name, path, found, 0o600, "wrong")
    derived = path.endswith(f"/{role}/sock")
    yield _owned(f"{name} directory", os.path.dirname(path), parent, 0o700, "wrong" if derived else "note")


def _owned(name: str, path: str, found: os.stat_result, mode: int, otherwise: State) -> Check:
    if found.st_uid != os.geteuid():
        return Check(name, otherwise, f"{path} belongs to uid {found.st_uid}, not to you", f"ls -ld {path}")
    if stat.S_IMODE(found.st_mode) & ~mode:
        text = f"{path} has mode {stat.S_IMODE(found.st_mode):04o}: others may reach it"
        return Check(name, otherwise, text, f"chmod {mode:04o} {path}")
    return Check(name, "ok", path)


def configuration() -> Check:
    """What `picoclawd check-config` says, in a process of its own."""
    command = [sys.executable, "-P", "-m", "picoclawd", "check-config"]
    shown = "picoclawd check-config"
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_CHECK_CONFIG_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return Check("configuration", "wrong", f"cannot be checked: {exc}", shown)
    said = (done.stdout + done.stderr).strip()
    if done.returncode == 0:
        return Check("configuration", "ok", said.splitlines()[0] if said else "no faults")
    return Check("configuration", "wrong", said or f"exit code {done.returncode}", shown)
