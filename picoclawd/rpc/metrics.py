"""The daemon's counters and gauges in the Prometheus text format (version 0.0.4)."""

import resource
from collections.abc import Iterator

import trio

from picoclawd.rpc.rows import Facts
from picoclawd.workspace.workspace import Workspace

Sample = tuple[dict[str, str], float]


def text(workspace: Workspace, facts: Facts) -> str:
    """All metrics, each with its help and type."""
    return "".join(_family(*family) for family in _families(workspace, facts))


def _family(name: str, kind: str, help_text: str, samples: list[Sample]) -> str:
    lines = [f"# HELP picoclawd_{name} {help_text}", f"# TYPE picoclawd_{name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(each)}"' for key, each in labels.items())
        lines.append(f"picoclawd_{name}{'{' + inside + '}' if inside else ''} {value:g}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _families(workspace: Workspace, facts: Facts) -> Iterator[tuple[str, str, str, list[Sample]]]:
    def one(value: float) -> list[Sample]:
        return [({}, value)]

    index, watcher = workspace.index.state(), workspace.index.watcher_state()
    feed, threads = workspace.feed.statistics(), workspace.threads.statistics()
    yield "info", "gauge", "The version that runs.", [({"version": facts.version}, 1)]
    yield "uptime_seconds", "gauge", "Time since the start.", one(round(trio.current_time() - facts.started_at, 3))
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield "resident_bytes_max", "gauge", "The most memory that was ever resident.", one(peak_kib * 1024)
    yield "sessions", "gauge", "Sessions that hold a connection.", one(len(workspace.sessions.live()))
    locks = list(workspace.locks.statistics())
    yield "locks_held", "gauge", "Paths that a change is being made to.", one(len(locks))
    yield "lock_waiters", "gauge", "Changes that wait for a path.", one(sum(lock.waiters for lock in locks))
    busy: list[Sample] = [({"lane": lane.value}, counts.busy) for lane, counts in threads.items()]
    yield "threads_busy", "gauge", "Threads at work.", busy
    waiting: list[Sample] = [({"lane": lane.value}, counts.waiting) for lane, counts in threads.items()]
    yield "threads_waiting", "gauge", "Calls that wait for a thread.", waiting
    yield "index_ready", "gauge", "1 once the names are known.", one(index.state == "ready")
    yield "index_files", "gauge", "Files that searches look at.", one(index.files)
    yield "index_directories", "gauge", "Directories that the index holds.", one(index.directories)
    yield "index_text_bytes", "gauge", "Text kept in memory.", one(index.text_bytes)
    yield "watcher_ok", "gauge", "1 while changes by others are heard of.", one(watcher.state == "ok")
    yield "events_total", "counter", "Events since the start.", one(feed.events)
    yield "events_refused_total", "counter", "Events that found a subscriber's queue full.", one(feed.refused)
    yield "subscriptions", "gauge", "Subscriptions to events.", one(feed.subscriptions)
    history = workspace.journal.history
    if history is not None:
        writes = history.writes()
        yield "history_commits_total", "counter", "Durable commits of the history, each an fsync.", one(writes.commits)
        yield "history_jobs_total", "counter", "Changes and outcomes that were recorded.", one(writes.jobs)
    yield "history_ok", "gauge", "1 where changes are recorded.", one(workspace.journal.history is not None)
