"""`picoclawd check-config`: everything that is wrong with the configuration, in lines for a person."""

import os
from collections.abc import Iterable, Mapping

from picoclawd.daemon.config import Sections
from picoclawd.daemon.config_load import load
from picoclawd.daemon.findings import ConfigFaults
from picoclawd.text.display import log_line

EXIT_VALID = 0
EXIT_FAULTS = 2


def check(
    *, config: str | None, instance: str | None, environ: Mapping[str, str], sections: Sections | None = None
) -> tuple[list[str], int]:
    """Load the configuration as `serve` would and tell what was found: lines safe to print, and the exit status.

    One line a fault with its JSON path and the nearest valid key, one a warning; then the verdict.
    """
    try:
        loaded = load(config=config, instance=instance, workspace=None, environ=environ, sections=sections)
    except ConfigFaults as found:
        count = len(found.faults)
        verdict = f"{count} {'fault' if count == 1 else 'faults'}: the configuration cannot be used"
        return _lines(found.path, [str(fault) for fault in found.faults], found.warnings, verdict), EXIT_FAULTS
    return _lines(loaded.path, [], loaded.warnings, "configuration is valid"), EXIT_VALID


def _lines(path: str | None, faults: Iterable[str], warnings: Iterable[str], verdict: str) -> list[str]:
    read = "no configuration file: the built-in defaults" if path is None else f"read {os.path.abspath(path)}"
    rows = [read, *faults, *(f"warning: {warning}" for warning in warnings), verdict]
    return [log_line(row) for row in rows]
