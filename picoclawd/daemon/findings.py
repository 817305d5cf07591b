"""What reading a configuration found: every fault and every warning, with its JSON path."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from picoclawd.daemon.suggest import CLOSE, LOOSE, nearest


class ConfigFault(msgspec.Struct, frozen=True):
    """One thing wrong. `path` is its JSON path (`tools.read_file.mode`), a variable's or the file's name;
    `nearest` is the JSON path of the valid key that was probably meant."""

    path: str
    message: str
    nearest: str | None = None

    def __str__(self) -> str:
        hint = "" if self.nearest is None else f"; the nearest valid key is {self.nearest}"
        return f"{self.path}: {self.message}{hint}"


class ConfigFaults(Exception):
    """The configuration cannot be used. Holds every fault, in the order of the file, and the warnings beside them."""

    def __init__(self, faults: Iterable[ConfigFault], warnings: Iterable[str] = (), path: str | None = None) -> None:
        self.faults = tuple(faults)
        self.warnings = tuple(warnings)
        self.path = path
        super().__init__("\n".join(map(str, self.faults)))


@dataclass(slots=True)
class Findings:
    """Collects faults and warnings while a configuration is read."""

    faults: list[ConfigFault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fault(self, path: str, message: str) -> None:
        """Note something that keeps the configuration from being used."""
        self.faults.append(ConfigFault(path, message))

    def warn(self, path: str, message: str) -> None:
        """Note something that is ignored but that the person should know."""
        self.warnings.append(f"{path}: {message}")

    def unknown(self, parent: str, name: str, valid: Iterable[str]) -> None:
        """Note a key that a section of ours does not have."""
        keys = sorted(valid)
        likely = nearest(name, keys, LOOSE)
        if likely is not None:
            self.faults.append(ConfigFault(join(parent, name), "unknown key", join(parent, likely)))
        elif keys:
            self.fault(join(parent, name), f"unknown key; the valid keys are {', '.join(keys)}")
        else:
            self.fault(join(parent, name), "unknown key; no key is valid here")

    def foreign(self, parent: str, name: str, valid: Iterable[str]) -> None:
        """Pass over another program's key, with a warning where it is nearly one of ours."""
        likely = nearest(name, valid, CLOSE)
        if likely is not None:
            self.warn(join(parent, name), f"ignored; did you mean {join(parent, likely)}?")


def join(parent: str, name: str) -> str:
    """The JSON path of a key below `parent`; "" is the top."""
    return f"{parent}.{name}" if parent else name
