"""Tests of the collected faults and warnings."""

from picoclawd.daemon.findings import ConfigFault, ConfigFaults, Findings, join


def test_a_fault_says_where_what_and_the_nearest_valid_key() -> None:
    assert str(ConfigFault("tools.x", "unknown key")) == "tools.x: unknown key"
    fault = ConfigFault("daemon.sokcet", "unknown key", "daemon.socket")
    assert str(fault) == "daemon.sokcet: unknown key; the nearest valid key is daemon.socket"


def test_an_unknown_key_like_none_lists_the_valid_ones() -> None:
    findings = Findings()
    findings.unknown("daemon.history", "zzz", ["max_bytes", "max_age_days"])
    findings.unknown("daemon.speech_to_text", "zzz", [])
    assert [str(fault) for fault in findings.faults] == [
        "daemon.history.zzz: unknown key; the valid keys are max_age_days, max_bytes",
        "daemon.speech_to_text.zzz: unknown key; no key is valid here",
    ]


def test_a_foreign_key_warns_only_where_it_is_nearly_ours() -> None:
    findings = Findings()
    findings.foreign("tools", "web", ["read_file"])
    findings.foreign("tools", "readfile", ["read_file"])
    assert findings.warnings == ["tools.readfile: ignored; did you mean tools.read_file?"]
    assert findings.faults == []


def test_the_exception_says_every_fault() -> None:
    raised = ConfigFaults([ConfigFault("a", "bad"), ConfigFault("b", "worse")], ["a warning"], "/c.json")
    assert str(raised) == "a: bad\nb: worse"
    assert raised.warnings == ("a warning",)


def test_paths_join_with_dots() -> None:
    assert join("", "tools") == "tools"
    assert join("tools", "read_file") == "tools.read_file"
