"""Hand a file or a URL to the desktop's default handler, in the session of the person at the screen.

Between the look at a file and the moment that its handler opens it by name, the file may change: what a person must
confirm is decided by what was there last.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping

import msgspec
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.handles import OpenDirectory, OpenFile
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.workspace.questions import Target
from picoclawd.workspace.read import target_of

CAP_S = 10.0  # for the opener to hand the thing over: it only sends a message, or starts a program

_REAP_S = 5.0  # for the kernel to end a process that was killed
_OPENERS = (("xdg-open",), ("gio", "open"))
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
# What a desktop program needs of our environment. Sockets and keys that only we were given stay with us.
_PASSED = frozenset(
    {
        "BROWSER",
        "DBUS_SESSION_BUS_ADDRESS",
        "DESKTOP_SESSION",
        "DISPLAY",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TZ",
        "USER",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
    }
)
_PASSED_PREFIXES = ("GNOME_", "GTK_", "KDE_", "LC_", "QT_", "XDG_")
# Handlers start these whatever their mode is.
_STARTED = (b".desktop", b".exe", b".jar", b".msi", b".bat", b".cmd", b".appimage")
_MAGIC = ((b"#!", "a script"), (b"\x7fELF", "a program"), (b"MZ", "a program"))


class Found(msgspec.Struct, frozen=True):
    """What a path leads to. `reason` says why a person must agree to open it, None where nobody must."""

    target: Target
    reason: str | None


class Handed(msgspec.Struct, frozen=True):
    """What came of it: which program took it; not `finished` where that still ran after CAP_S."""

    opener: str
    finished: bool


class Opener:
    """Opens things on the desktop that `environ` describes."""

    def __init__(self, rooted: Rooted, threads: Threads, environ: Mapping[str, str]) -> None:
        self._rooted = rooted
        self._threads = threads
        self._environ = environ

    async def examine(self, path: WsPath) -> Found:
        """Look at the file or directory, by the policy's leave.

        Raises: not_found, not_a_file, outside_workspace, protected_path, access_denied, io_error and such.
        """
        return await self._threads.run(Lane.READ, self._examine, path)

    async def ready(self) -> tuple[str, ...]:
        """The program that opens things, with its arguments. Raises: io_error where there is none, or no screen."""
        return await self._threads.run(Lane.READ, self._ready)

    async def open(self, what: bytes) -> Handed:
        """Hand over a real path or a URL; wait for the opener at most CAP_S.

        Raises: io_error.
        """
        command = await self.ready()
        process = await self._start([*command, os.fsdecode(what)], command[0])
        try:
            with trio.move_on_after(CAP_S):
                await process.wait()
        finally:
            finished = process.returncode is not None
            if not finished:  # the opener alone: what it started goes on
                process.kill()
                with trio.CancelScope(deadline=trio.current_time() + _REAP_S, shield=True):
                    await process.wait()
        if finished and process.returncode != 0:
            raise _failed(command[0], process.returncode)
        return Handed(command[0], finished)

    async def _start(self, argv: list[str], opener: str) -> trio.Process:
        try:
            return await trio.lowlevel.open_process(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(self._environ),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise as_fault(error, "start", opener, thing="program") from error

    def _examine(self, path: WsPath) -> Found:
        with self._opened(path) as opened:
            if isinstance(opened, OpenDirectory):
                return Found(Target(opened.real), None)
            reason = _reason(opened, path)
            if reason is None:  # nobody is asked, so no hash is needed: it may be a long film
                return Found(Target(opened.real), None)
            return Found(target_of(opened, path), reason)

    def _opened(self, path: WsPath) -> OpenFile | OpenDirectory:
        try:
            return self._rooted.open_file(path, Access.READ)
        except Fault as fault:
            if fault.slug is Slug.NOT_A_FILE and fault.data.get("kind") == "directory":
                return self._rooted.open_directory(path, Access.READ)
            raise

    def _ready(self) -> tuple[str, ...]:
        if not any(self._environ.get(name) for name in _SCREENS):
            raise Fault(
                Slug.IO_ERROR,
                "there is no screen to open it on: the daemon has neither DISPLAY nor WAYLAND_DISPLAY. Nothing was "
                "opened. Tell the person where the file is. (Started by systemd, the daemon gets them after "
                "`systemctl --user import-environment DISPLAY WAYLAND_DISPLAY` and a restart.)",
                missing="display",
            )
        for command in _OPENERS:
            program = shutil.which(command[0], path=self._environ.get("PATH", os.defpath))
            if program is not None:
                return (program, *command[1:])
        raise Fault(
            Slug.IO_ERROR,
            "no program to open it with: neither xdg-open (of xdg-utils) nor gio is installed. Nothing was opened. "
            "Tell the person where the file is.",
            missing="opener",
        )


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in environ.items() if name in _PASSED or name.startswith(_PASSED_PREFIXES)}


def _reason(opened: OpenFile, path: WsPath) -> str | None:
    """Why opening the file may start a program of somebody's making."""
    names = (paths.split(opened.real)[1].lower(), paths.split(path.absolute)[1].lower())
    if any(name.endswith(_STARTED) for name in names):
        return "it is a file that desktops start as a program"
    if opened.stat.st_mode & 0o111:
        return "it is executable"
    head = os.pread(opened.fd, 4, 0)
    return next((f"it is {what}" for magic, what in _MAGIC if head.startswith(magic)), None)


def _failed(opener: str, status: int | None) -> Fault:
    known = {2: "the file does not exist", 3: "a tool that it needs is missing", 4: "the handler failed"}
    why = known.get(status or 0, "no handler took it") if status and status > 0 else "it was killed"
    return Fault(
        Slug.IO_ERROR,
        f"{os.path.basename(opener)} failed with status {status}: {why}. Perhaps nothing on this desktop opens such a "
        "thing. Tell the person where it is.",
        outcome="unknown",
        status=status,
    )
