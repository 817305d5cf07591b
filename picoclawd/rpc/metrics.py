"""The daemon's counters and gauges in the Prometheus text format (version 0.0.4)."""

import os
import resource
import time
from collections.abc import Iterator
from itertools import accumulate

import trio

from picoclawd.history.store import HistoryStatistics
from picoclawd.rpc.meter import BOUNDS_S, Meter, Served
from picoclawd.rpc.rows import Facts
from picoclawd.workspace.workspace import Workspace

# The labels of one sample, its value, and what is added to the family's name (`_bucket`, `_sum`, `_count`).
Sample = tuple[dict[str, str], float, str]
Family = tuple[str, str, str, list[Sample]]


def text(workspace: Workspace, facts: Facts, meter: Meter, history: HistoryStatistics | None) -> str:
    """All metrics, each with its help and type."""
    families = (
        *_process(facts),
        *_requests(meter),
        *_server(meter),
        *_shared(workspace, meter),
        *_index(workspace),
        *_history(history),
    )
    return "".join(_lines(*family) for family in families)


def _lines(name: str, kind: str, help_text: str, samples: list[Sample]) -> str:
    lines = [f"# HELP picoclawd_{name} {help_text}", f"# TYPE picoclawd_{name} {kind}"]
    for labels, value, suffix in samples:
        inside = ",".join(f'{key}="{_escaped(each)}"' for key, each in labels.items())
        lines.append(f"picoclawd_{name}{suffix}{'{' + inside + '}' if inside else ''} {_number(value)}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    """Every digit that counts: a counter of bytes needs more than six."""
    return str(int(value)) if value == int(value) else repr(round(value, 9))


def _one(value: float) -> list[Sample]:
    return [({}, value, "")]


def _process(facts: Facts) -> Iterator[Family]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    uptime_s = trio.current_time() - facts.started_at
    yield "info", "gauge", "The version that runs.", [({"version": facts.version}, 1, "")]
    yield "uptime_seconds", "gauge", "Time since the start.", _one(round(uptime_s, 3))
    yield "start_time_seconds", "gauge", "The start, in seconds of the epoch.", _one(round(time.time() - uptime_s))
    yield "cpu_seconds_total", "counter", "Processor time of the daemon itself.", _one(usage.ru_utime + usage.ru_stime)
    yield "resident_bytes", "gauge", "Memory that is resident.", _one(_resident_bytes())
    yield "resident_bytes_max", "gauge", "The most memory that was ever resident.", _one(usage.ru_maxrss * 1024)
    yield "open_fds", "gauge", "Open file descriptors.", _one(len(os.listdir("/proc/self/fd")))


def _resident_bytes() -> int:
    """The second number of proc_pid_statm(5), in pages."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _requests(meter: Meter) -> Iterator[Family]:
    served = list(meter.served())
    outcomes: list[Sample] = [
        ({"method": method, "outcome": outcome}, count, "")
        for method, each in served
        for outcome, count in sorted(each.outcomes.items())
    ]
    yield "requests_total", "counter", "Requests that ended, by method and outcome: ok, or an error's word.", outcomes
    seconds = [sample for method, each in served if any(each.buckets) for sample in _histogram(method, each)]
    yield "request_seconds", "histogram", "Time from reading a request to its answer.", seconds
    yield "slow_calls_total", "counter", "Calls over daemon.slow_call_ms.", _one(meter.slow_calls)
    waited: list[Sample] = [
        ({"for": "turn"}, meter.waited.turn_s, ""),
        ({"for": "locks"}, meter.waited.locks_s, ""),
        ({"for": "person"}, meter.waited.person_s, ""),
    ]
    yield "waited_seconds_total", "counter", "Time that calls waited for what is not their own work.", waited


def _histogram(method: str, served: Served) -> Iterator[Sample]:
    counts = list(accumulate(served.buckets))
    for bound, count in zip((*map(_number, BOUNDS_S), "+Inf"), counts, strict=True):
        yield {"method": method, "le": bound}, count, "_bucket"
    yield {"method": method}, served.seconds, "_sum"
    yield {"method": method}, counts[-1], "_count"


def _server(meter: Meter) -> Iterator[Family]:
    yield "received_bytes_total", "counter", "Bytes read from clients.", _one(meter.received_bytes)
    yield "sent_bytes_total", "counter", "Bytes of answers and events.", _one(meter.sent_bytes)
    if meter.server is None:
        return
    server = meter.server()
    budget = server.budget
    yield "connections", "gauge", "Open connections.", _one(server.connections)
    yield "requests_in_flight", "gauge", "Requests that are read and not yet answered.", _one(server.in_flight)
    yield "connections_refused_total", "counter", "Peers that may not come in, or found no room.", _one(server.refused)
    yield "buffered_bytes", "gauge", "Bytes that requests and answers hold.", _one(budget.held_bytes)
    yield "buffered_bytes_max", "gauge", "The most that they may hold.", _one(budget.max_bytes)
    yield "buffer_refusals_total", "counter", "Times that there was no room for more of them.", _one(budget.refused)


def _shared(workspace: Workspace, meter: Meter) -> Iterator[Family]:
    feed, threads, asked = workspace.feed.statistics(), workspace.threads.statistics(), workspace.confirmations
    yield "sessions", "gauge", "Sessions that hold a connection.", _one(len(workspace.sessions.live()))
    locks = list(workspace.locks.statistics())
    yield "locks_held", "gauge", "Paths that a change is being made to.", _one(len(locks))
    yield "lock_waiters", "gauge", "Changes that wait for a path.", _one(sum(lock.waiters for lock in locks))
    busy: list[Sample] = [({"lane": lane.value}, counts.busy, "") for lane, counts in threads.items()]
    yield "threads_busy", "gauge", "Threads at work.", busy
    waiting: list[Sample] = [({"lane": lane.value}, counts.waiting, "") for lane, counts in threads.items()]
    yield "threads_waiting", "gauge", "Calls that wait for a thread.", waiting
    yield "approvals_pending", "gauge", "Calls that wait for a person's answer.", _one(asked.unanswered)
    answers: list[Sample] = [({"answer": answer}, count, "") for answer, count in sorted(asked.answers.items())]
    yield "approvals_total", "counter", "Answers of a person.", answers
    yield "events_total", "counter", "Events since the start.", _one(feed.events)
    yield "events_refused_total", "counter", "Events that found a subscriber's queue full.", _one(feed.refused)
    yield "subscriptions", "gauge", "Subscriptions to events.", _one(feed.subscriptions)


def _index(workspace: Workspace) -> Iterator[Family]:
    index, watcher = workspace.index.state(), workspace.index.watcher.statistics()
    yield "index_ready", "gauge", "1 once the names are known.", _one(index.state == "ready")
    yield (
        "index_trigrams_ready",
        "gauge",
        "1 once all trigrams are known.",
        _one(index.trigrams == "ready"),
    )
    yield "index_files", "gauge", "Files that searches look at.", _one(index.files)
    yield "index_directories", "gauge", "Directories that the index holds.", _one(index.directories)
    yield "index_text_bytes", "gauge", "Text kept in memory.", _one(index.text_bytes)
    yield "index_texts_done", "gauge", "Files whose text was looked at in this round.", _one(index.done)
    yield "index_texts_wanted", "gauge", "Files of this round.", _one(index.total)
    heard = workspace.index.watcher_state().state == "ok"
    yield "watcher_ok", "gauge", "1 while changes by others are heard of.", _one(heard)
    yield "watcher_directories", "gauge", "Directories that are watched.", _one(watcher.directories)
    yield "watcher_unwatched", "gauge", "Directories that are not, or not yet.", _one(watcher.unwatched)
    yield (
        "watcher_starts_total",
        "counter",
        "Starts of the watching process: more than one means it died.",
        _one(watcher.starts),
    )


def _history(history: HistoryStatistics | None) -> Iterator[Family]:
    yield "history_ok", "gauge", "1 where changes are recorded.", _one(history is not None)
    if history is None:
        return
    writer = history.writer
    yield "history_commits_total", "counter", "Durable commits of the history, each an fsync.", _one(writer.commits)
    yield "history_jobs_total", "counter", "Changes and outcomes that were recorded.", _one(writer.jobs)
    yield "history_failures_total", "counter", "Commits that failed.", _one(writer.failures)
    yield "history_waiting", "gauge", "Changes and outcomes that wait to be recorded.", _one(writer.waiting)
    yield "history_bytes", "gauge", "What the store holds, without the trash.", _one(history.used_bytes)
    yield "history_bytes_max", "gauge", "daemon.history.max_bytes.", _one(history.max_bytes)
    yield "trash_bytes", "gauge", "What removed files hold.", _one(history.trash_bytes)
