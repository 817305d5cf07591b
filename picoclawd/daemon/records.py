"""Open what outlives the daemon: history and audit log, in the state directory. Neither stops it from starting."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from picoclawd.daemon.config import Config
from picoclawd.daemon.instance import Instance
from picoclawd.errors import Fault
from picoclawd.files import paths
from picoclawd.files.rooted import Rooted
from picoclawd.history.records import HistoryError
from picoclawd.history.store import History
from picoclawd.text import display
from picoclawd.workspace import settling
from picoclawd.workspace.audit import Audit
from picoclawd.workspace.workspace import Records

_HISTORY = "history"


@contextmanager
def opened_records(config: Config, instance: Instance, log: logging.Logger) -> Iterator[Records]:
    """Both, for the body; what is still to be written is written at its end. Blocking."""
    records = _open(config, instance, log)
    try:
        yield records
    finally:
        if records.history is not None:
            records.history.close()
        if records.audit is not None:
            records.audit.close()


def _open(config: Config, instance: Instance, log: logging.Logger) -> Records:
    """Open both; what cannot be opened is told in the log, and in every answer that it would have been used for."""
    audit = _open_audit(instance, log)
    kept = config.daemon.history
    if not kept.max_bytes:
        return Records(None, audit, "the daemon keeps no history: daemon.history.max_bytes is 0")
    try:
        history = History(
            os.path.join(instance.state_dir, _HISTORY), max_bytes=kept.max_bytes, max_age_days=kept.max_age_days
        )
    except (HistoryError, Fault) as exc:
        reason = exc.reason if isinstance(exc, HistoryError) else exc.message
        log.error("no history is kept, so no change can be undone: %s", display.log_line(reason))
        return Records(None, audit, f"the daemon keeps no history: {reason}")
    if history.notice is not None:
        log.error("%s", display.log_line(history.notice))
    return Records(history, audit)


def settle_intents(rooted: Rooted, roots: paths.Roots, records: Records, log: logging.Logger) -> None:
    """Find out what became of changes that a crash left half-way. Blocking; nothing may be served yet."""
    if records.history is None:
        return
    try:
        settled = settling.settle(rooted, roots, records.history)
    except (HistoryError, Fault) as exc:
        log.error("what a crash left half-way could not be settled: %s", display.log_line(str(exc)))
        return
    for each in settled:
        log.warning("a crash interrupted version %d of %s: %s", each.version, display.name(each.path), each.outcome)
        for name in each.removed:
            log.info("removed %s, which held nothing that is not kept", display.name(name))


def _open_audit(instance: Instance, log: logging.Logger) -> Audit | None:
    try:
        return Audit(instance.state_dir)
    except Fault as fault:
        log.error("no audit log is written: %s", display.log_line(fault.message))
        return None
