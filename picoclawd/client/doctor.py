"""`picoclawctl doctor`: check the installation and the running daemon, each fault with the command that mends it."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from picoclawd.client import checks, discover, output, versions
from picoclawd.client.checks import Check
from picoclawd.client.failures import CALL_FAILED, NO_DAEMON, OK, Failure, NoDaemon

if TYPE_CHECKING:
    import argparse

_ANSWER_TIMEOUT_S = 10.0  # a daemon that needs longer for its status is itself a finding

_WATCHES_WANTED = 65_536  # one a directory; big trees need more than old defaults of 8,192
_MARK_WIDTH = len("wrong ")


def run(args: "argparse.Namespace") -> int:
    """Print every check; exit 0 without faults, 1 with some, 3 where no daemon answers."""
    found = list(_all_checks())
    if args.json:
        output.show_json([{"check": c.name, "state": c.state, "text": c.text, "mend": c.mend or None} for c in found])
    else:
        output.show_text("\n".join(_lines(found)))
    return exit_code(found)


def exit_code(found: list[Check]) -> int:
    """3 where the daemon does not answer, else 1 for any fault, else 0."""
    wrong = {check.name for check in found if check.state == "wrong"}
    if "daemon" in wrong:
        return NO_DAEMON
    return CALL_FAILED if wrong else OK


def _all_checks() -> Iterator[Check]:
    yield from checks.machine()
    yield checks.configuration()
    yield from _daemon()
    yield from checks.extras()
    yield from checks.programs()


def _daemon() -> Iterator[Check]:
    try:
        connection, endpoint = discover.connect("agent")
        with connection:
            data = connection.call("workspace.status", timeout_s=_ANSWER_TIMEOUT_S)["data"]
    except NoDaemon as failure:
        yield Check("daemon", "wrong", *_split_advice(failure))
        return
    except Failure as failure:
        yield Check("daemon", "wrong", str(failure), "restart the daemon")
        return
    serves = f", serving {endpoint.workspace}" if endpoint.workspace else ""
    yield Check("daemon", "ok", f"answers at {endpoint.path}{serves}")
    yield from checks.socket_file("agent", endpoint.path)
    yield from _operator()
    yield from status_checks(data)


def _operator() -> Iterator[Check]:
    try:
        connection, endpoint = discover.connect("operator")
        with connection:
            connection.call("ping", timeout_s=_ANSWER_TIMEOUT_S)
    except Failure as failure:
        text, mend = _split_advice(failure)
        yield Check("operator socket", "note", text, mend)
        return
    yield from checks.socket_file("operator", endpoint.path)


def status_checks(data: dict[str, Any]) -> Iterator[Check]:
    """What the daemon's own `workspace.status` shows: version, probes, watcher, leftovers of killed writes."""
    mine, theirs = versions.client_version(), str(data.get("version"))
    if mine == theirs:
        yield Check("version", "ok", mine)
    else:
        yield Check("version", "wrong", f"the daemon is {theirs}, this client {mine}", "restart the daemon")
    for name, value in (data.get("probes") or {}).items():
        yield _probe(str(name), value)
    for text in data.get("weaker") or ():
        yield Check("promises", "note", str(text))
    if watcher := data.get("watcher"):
        yield _watcher(watcher)
    for name in data.get("leftovers") or ():
        text = f"{name} is left of a write that was killed; it may hold someone's save"
        yield Check("leftover", "note", text, f"look at it, then: rm {shlex.quote(str(name))}")


def _probe(name: str, value: Any) -> Check:
    if name == "watch_limit" and isinstance(value, int):
        return _watch_limit(value)
    if name == "sandbox" and str(value).startswith("partly"):
        return Check("probe sandbox", "note", f"does not hold whole: {value}", "systemctl --user cat 'picoclawd@*'")
    if value is False:
        return Check(f"probe {name}", "note", "does not work on this file system")
    return Check(f"probe {name}", "ok", "works" if value is True else "unknown" if value is None else str(value))


def _watch_limit(limit: int) -> Check:
    text = f"{limit} directories can be watched"
    if limit < _WATCHES_WANTED:
        text += ": a larger tree is swept instead"
        return Check("probe watch_limit", "note", text, "sudo sysctl fs.inotify.max_user_watches=524288")
    return Check("probe watch_limit", "ok", text)


def _watcher(watcher: dict[str, Any]) -> Check:
    if watcher["state"] == "ok":
        return Check("watcher", "ok", "ok")
    reason = f": {watcher['reason']}" if watcher.get("reason") else ""
    return Check("watcher", "note", f"{watcher['state']}{reason}; answers stay right, only slower")


def _split_advice(failure: Failure) -> tuple[str, str]:
    """A failure's first line, and the command that its next line offers."""
    first, _, rest = str(failure).partition("\n")
    return first, rest.partition("\n")[0].partition(":")[2].strip()


def _lines(found: list[Check]) -> Iterator[str]:
    width = max(len(check.name) for check in found)
    indent = " " * (_MARK_WIDTH + width + 2)
    for check in found:
        mark = "WRONG" if check.state == "wrong" else check.state
        yield f"{mark:<{_MARK_WIDTH}}{check.name:<{width}}  {check.text}".replace("\n", "\n" + indent)
        if check.mend:
            yield f"{indent}mend: {check.mend}"
    wrong = sum(check.state == "wrong" for check in found)
    notes = sum(check.state == "note" for check in found)
    yield f"{len(found)} checks: {wrong} wrong, {notes} notes"
