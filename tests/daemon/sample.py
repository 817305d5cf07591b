"""Tool sections for the configuration tests, shaped as the tools' own."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from picoclawd.daemon.config import Config, config_type
from picoclawd.daemon.config_walk import read_struct
from picoclawd.daemon.findings import Findings


class ReadFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`tools.read_file`."""

    enabled: bool = True
    mode: Literal["bytes", "lines"] = "bytes"
    max_read_file_size: Annotated[int, Meta(ge=1)] = 65_536
    max_lines: Annotated[int, Meta(ge=1)] = 2_000


class Plain(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool with a switch only."""

    enabled: bool = True


SECTIONS: dict[str, type[Struct]] = {"read_file": ReadFile, "edit_file": Plain, "list_dir": Plain}
KIND = config_type(SECTIONS)


def walked(raw: object) -> tuple[Config, Findings]:
    """The configuration that plain JSON values describe, with what was found."""
    findings = Findings()
    config = read_struct(KIND, raw, "", findings)
    return (config if isinstance(config, Config) else KIND()), findings


def faults(raw: object) -> list[str]:
    """Every fault, as a person reads it."""
    return [str(fault) for fault in walked(raw)[1].faults]


def daemon(**keys: object) -> Config:
    """A configuration with these `daemon` keys."""
    config = KIND()
    return msgspec.structs.replace(config, daemon=msgspec.structs.replace(config.daemon, **keys))
