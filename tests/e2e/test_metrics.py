"""Metrics and the slow-call log of a real daemon, read by the Prometheus client's own parser."""

import math
import time
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.daemon import Daemon
from tests.e2e.test_serve import wait_for

Families = dict[str, Metric]


def parsed(text: str) -> Families:
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(families) == text.count("# TYPE "), "a family comes twice"
    return families


def value(families: Families, name: str, suffix: str = "", **labels: str) -> float:
    family = families[f"picoclawd_{name}"]
    (found,) = (s.value for s in family.samples if s.name.endswith(suffix) and labels.items() <= s.labels.items())
    return float(found)


def test_metrics_tell_what_happened(tmp_path: Path) -> None:
    config = {"tools.confirm_write_globs": ["*.cfg"], "daemon.approvals": {"mode": "ask", "timeout_s": 60}}
    with Daemon(tmp_path, config) as daemon, daemon.client() as client, daemon.operator() as person:
        daemon.write("a.txt", "a\n")
        for _ in range(3):
            client.call("ping")
        client.call("append_file", path="a.txt", content="b\n")
        client.error("read_file", path="none.txt")
        client.error('evil\n"\\} 1')
        client.send(b"{\n")
        client.line()
        waiting = client.start("write_file", {"path": "b.cfg", "content": "x"})
        wait_for("the question", lambda: person.call("approvals.list")["pending"])
        (row,) = person.call("approvals.list")["pending"]
        before = parsed(person.call("metrics")["content"])
        assert value(before, "approvals_pending") == 1
        person.call("approvals.answer", id=row["id"], digest=row["digest"], answer="deny")
        client.answer(waiting)
        wait_for("the index", lambda: client.call("workspace.status")["data"]["index"]["trigrams"] == "ready")
        wait_for("the file", lambda: client.call("workspace.status")["data"]["index"]["files"] == 1)
        families = parsed(client.call("metrics")["content"])

    def ended(method: str, outcome: str) -> float:
        return value(families, "requests", "_total", method=method, outcome=outcome)

    assert ended("ping", "ok") == 3
    assert ended("append_file", "ok") == 1
    assert ended("read_file", "not_found") == 1
    assert ended("unknown", "method_not_found") == 1
    assert ended("invalid", "parse_error") == 1
    assert ended("write_file", "confirmation_denied") == 1
    assert value(families, "approvals", "_total", answer="deny") == 1
    assert value(families, "approvals_pending") == 0
    assert value(families, "waited_seconds", "_total", **{"for": "person"}) > 0
    assert value(families, "sessions") == 2
    assert value(families, "connections") == 2
    assert value(families, "index_ready") == value(families, "history_ok") == 1
    assert value(families, "index_files") >= 1
    assert value(families, "history_commits", "_total") >= 1
    assert 0 < value(families, "history_bytes") < value(families, "history_bytes_max") == 1 << 30
    assert value(families, "buffered_bytes_max") == 134_217_728
    assert value(families, "received_bytes", "_total") > 500
    assert value(families, "sent_bytes", "_total") > 500
    assert value(families, "resident_bytes") > 10_000_000
    assert abs(value(families, "start_time_seconds") - time.time()) < 3600


def test_latencies_are_a_histogram(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        for _ in range(20):
            client.call("ping")
        families = parsed(client.call("metrics")["content"])
    samples = [s for s in families["picoclawd_request_seconds"].samples if s.labels["method"] == "ping"]
    buckets = [(float(s.labels["le"]), s.value) for s in samples if s.name.endswith("_bucket")]
    assert [bound for bound, _ in buckets] == sorted(bound for bound, _ in buckets)
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    last, total = buckets[-1]
    assert math.isinf(last)
    assert total == 20
    assert value(families, "request_seconds", "_count", method="ping") == 20
    assert 0 < value(families, "request_seconds", "_sum", method="ping") < 20


def test_picoclawctl_metrics_prints_what_the_parser_reads(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        for options in ((), ("--operator",)):
            done = daemon.control("metrics", *options)
            assert (done.returncode, done.stderr) == (0, "")
            assert parsed(done.stdout)["picoclawd_info"].samples[0].labels.keys() == {"version"}


def test_without_a_history_its_families_are_left_out(tmp_path: Path) -> None:
    with Daemon(tmp_path, {"daemon.history": {"max_bytes": 0}}) as daemon, daemon.client() as client:
        families = parsed(client.call("metrics")["content"])
    assert value(families, "history_ok") == 0
    assert "picoclawd_history_bytes" not in families


def test_a_slow_call_is_told_in_the_log_and_a_persons_time_is_not(tmp_path: Path) -> None:
    config = {
        "daemon.slow_call_ms": 2000,
        "tools.confirm_write_globs": ["*.cfg"],
        "daemon.approvals": {"mode": "ask", "timeout_s": 3},
    }
    with Daemon(tmp_path, config) as daemon, daemon.client() as client:
        assert client.error("write_file", path="a.cfg", content="x").slug == "confirmation_pending"
        waited = value(parsed(client.call("metrics")["content"]), "waited_seconds", "_total", **{"for": "person"})
        assert waited > 2.5
        assert "write_file(a.cfg)" not in daemon.log()
    daemon.configure({**config, "daemon.slow_call_ms": 1})
    daemon.write("big.txt", "".join(f"line {number} of many\n" for number in range(100_000)))
    with daemon, daemon.client() as client:
        client.call("session.open", client="ada")
        client.call("search_files", pattern="9+ of ma.*y", path="big.txt")
        wait_for("the log", lambda: "slow call: search_files(big.txt) took" in daemon.log())
        assert "client ada" in daemon.log()
        assert value(parsed(client.call("metrics")["content"]), "slow_calls", "_total") >= 1
