"""Tests of what a reload changes."""

import msgspec

from picoclawd.daemon.config import Approvals, Defaults, History
from picoclawd.daemon.config_reload import reloadable_diff
from tests.daemon.sample import ReadFile, daemon


def test_tools_limits_and_approvals_apply_at_once() -> None:
    old = daemon()
    new = daemon(max_in_flight=1, max_request_bytes=1 << 20, slow_call_ms=5, approvals=Approvals(mode="deny"))
    new = msgspec.structs.replace(new, tools=msgspec.structs.replace(new.tools, read_file=ReadFile(mode="lines")))
    assert reloadable_diff(old, new) == (new, [])


def test_other_changes_keep_the_running_value_and_are_named() -> None:
    old = daemon(socket="/a")
    new = daemon(socket="/b", history=History(max_age_days=1), max_in_flight=1)
    new = msgspec.structs.replace(
        new, agents=msgspec.structs.replace(new.agents, defaults=Defaults(workspace="/elsewhere"))
    )
    effective, waiting = reloadable_diff(old, new)
    assert waiting == ["agents.defaults.workspace", "daemon.socket", "daemon.history.max_age_days"]
    assert effective == daemon(socket="/a", max_in_flight=1)


def test_nothing_changed_is_nothing_to_do() -> None:
    assert reloadable_diff(daemon(), daemon()) == (daemon(), [])
