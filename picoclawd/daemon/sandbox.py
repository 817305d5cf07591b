"""What confines this process, as the kernel has it: a unit file may ask for more than a user's systemd can give."""

import os

import msgspec

_SYSTEM = "/usr"  # what ProtectSystem= makes read-only in each of its forms
_WHOLE_RANGE = ["0", "0", "4294967295"]  # user_namespaces(7): the map of the first namespace


class Sandbox(msgspec.Struct, frozen=True):
    """The parts that hold: no more privileges by exec, a filter of system calls, a user namespace of its own, and a
    system that cannot be written."""

    no_new_privileges: bool
    seccomp: bool
    user_namespace: bool
    read_only_system: bool

    @property
    def words(self) -> str:
        """`on`, `off`, or `partly` with what holds and what does not."""
        parts = {name.replace("_", " "): bool(getattr(self, name)) for name in self.__struct_fields__}
        held = [name for name, holds in parts.items() if holds]
        if not held:
            return "off"
        missing = [name for name, holds in parts.items() if not holds]
        return f"partly: {', '.join(held)}; not: {', '.join(missing)}" if missing else "on"


def look(proc: str = "/proc/self") -> Sandbox:
    """Look at a process. What cannot be read does not hold. Blocking, under a millisecond."""
    status = dict(line.split(":", 1) for line in _lines(proc, "status") if ":" in line)
    return Sandbox(
        no_new_privileges=status.get("NoNewPrivs", "").strip() == "1",
        seccomp=status.get("Seccomp", "").strip() == "2",
        user_namespace=any(line.split() != _WHOLE_RANGE for line in _lines(proc, "uid_map")),
        read_only_system=_is_read_only(_lines(proc, "mountinfo")),
    )


def _is_read_only(mounts: list[str]) -> bool:
    """Whether the mount that holds the system's files is read-only: the last of the deepest, as the later one covers
    the earlier. Fields: proc_pid_mountinfo(5)."""
    deepest, read_only = "", False
    for line in mounts:
        fields = line.split()
        if len(fields) < 6:
            continue
        point = fields[4]
        if point in ("/", _SYSTEM) and len(point) >= len(deepest):
            deepest, read_only = point, "ro" in fields[5].split(",")
    return read_only


def _lines(proc: str, name: str) -> list[str]:
    try:
        with open(os.path.join(proc, name), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
