"""The workspace: wires reading, changing, sessions and artifacts together, and holds nothing of its own."""

import os
from collections.abc import Mapping
from typing import Literal

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault
from picoclawd.files import paths
from picoclawd.files.locks import LockTable
from picoclawd.files.paths import Roots, WsPath
from picoclawd.files.policy import Policy
from picoclawd.files.probes import Probes
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.history.query import Filter
from picoclawd.history.records import HistoryError
from picoclawd.history.store import History
from picoclawd.index.matcher import PatternCache
from picoclawd.index.watcher import COMMAND
from picoclawd.service import Service
from picoclawd.speech.engine import Engine
from picoclawd.text import display
from picoclawd.workspace import questions
from picoclawd.workspace.actors import Role
from picoclawd.workspace.announcer import Announcer
from picoclawd.workspace.artifacts import Artifacts
from picoclawd.workspace.audit import Approval, Audit
from picoclawd.workspace.candidates import Finder
from picoclawd.workspace.census import Counter
from picoclawd.workspace.change import Changer
from picoclawd.workspace.confirm import Confirmations
from picoclawd.workspace.documents import Documents
from picoclawd.workspace.editors import Editors
from picoclawd.workspace.events import Feed
from picoclawd.workspace.index import Index
from picoclawd.workspace.journal import NO_HISTORY, Journal
from picoclawd.workspace.opener import Opener
from picoclawd.workspace.read import Reader
from picoclawd.workspace.relevance import Relevance
from picoclawd.workspace.restoring import Restorer
from picoclawd.workspace.search import Searcher
from picoclawd.workspace.sessions import Session, Sessions
from picoclawd.workspace.tasks import Tasks
from picoclawd.workspace.transcripts import Transcripts


class Options(msgspec.Struct, frozen=True):
    """What the configuration says of the workspace and of every answer; replaced whole at a reload."""

    restrict: bool = True
    redaction: Literal["accident", "strict"] = "accident"
    inline_chars: int = 16 * limits.KIB
    new_file_mode: int | None = 0o600
    text_cache_bytes: int = 256 * limits.MIB
    verify_files_max: int = 100_000
    output_dir: str | None = None
    approvals: questions.Settings = msgspec.field(default_factory=questions.Settings)
    speech: Engine | None = None
    decision_model: Service | None = None


class Records(msgspec.Struct, frozen=True):
    """What outlives the daemon, in its state directory. `no_history` says why there is none."""

    history: History | None = None
    audit: Audit | None = None
    no_history: str = NO_HISTORY


class Workspace:
    """One directory, and everything that serves it. Made once at start, on the loop."""

    def __init__(
        self,
        rooted: Rooted,
        roots: Roots,
        probes: Probes,
        options: Options,
        threads: Threads | None = None,
        *,
        records: Records | None = None,
        watcher_command: tuple[str, ...] | None = COMMAND,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.rooted = rooted
        self.roots = roots
        self.probes = probes
        self.options = options
        self.threads = threads or Threads()
        self.locks = LockTable()
        self._make_journal(records or Records())
        self.reader = Reader(rooted, self.threads, probes.timestamp_tick_ns)
        self.documents = Documents(rooted, self.threads, probes.timestamp_tick_ns)
        self.artifacts = Artifacts(rooted, self.threads)
        self._make_changer(watcher_command)
        self.finder = Finder(rooted, self.index, self.threads, options.verify_files_max)
        self.patterns = PatternCache()
        self.searcher = Searcher(rooted, self.index.contents, self.threads)
        self.opener = Opener(rooted, self.threads, environ)
        self.transcripts = Transcripts(rooted, self.threads, probes.timestamp_tick_ns, options.speech, environ)
        self.relevance = Relevance(rooted, self.threads, options.decision_model, environ)
        self.counter = Counter(self.searcher, self.index.contents, self.threads)
        self.leftovers: tuple[str, ...] = ()

    def _make_journal(self, records: Records) -> None:
        """Sessions and what they share: tasks, the feed, approvals, and the record of every change."""
        self._records = records
        self.sessions = Sessions(ended=self._session_ended)
        self.feed = Feed()
        self.editors = Editors()
        self.tasks = Tasks(self._recorded_owner)
        self._owners: dict[str, str | None] = {}
        self.confirmations = Confirmations(
            self.options.approvals, self.feed, self._audit_approval, agent_pids=self._agent_pids
        )
        self.announcer = Announcer(self.rooted, self.threads, self.feed)
        self.journal = Journal(
            self.rooted.workspace,
            lambda real: self.rooted.policy.hidden(real),
            self._records.history,
            self._records.audit,
            self._records.no_history,
        )

    def _make_changer(self, watcher_command: tuple[str, ...] | None) -> None:
        """The index, and the one way to change what it holds."""
        self.index = Index(
            self.rooted,
            self.threads,
            self.probes.timestamp_tick_ns,
            self.options.text_cache_bytes,
            self.announcer,
            watcher_command=watcher_command,
        )
        self.changer = Changer(
            self.rooted,
            self.locks,
            self.threads,
            self.options.new_file_mode,
            self.index.noted,
            self.journal,
            self.confirmations,
            self.announcer,
            self.editors,
        )
        self.restorer = Restorer(
            self.rooted, self.roots, self.threads, self.journal, self.changer, self.confirmations, self.tasks
        )

    @property
    def root(self) -> bytes:
        """The real path of the workspace."""
        return self.rooted.workspace

    def parse(self, given: str, path_bytes: str | None = None) -> WsPath:
        """The path that a caller named, as text or percent-encoded.

        Raises: invalid_path.
        """
        return paths.parse(given if path_bytes is None else display.from_path_bytes(path_bytes), self.roots)

    def lane_key(self, given: object) -> bytes | None:
        """Which lane keeps calls on this path in order; None for what is no path."""
        return paths.lane_key(given, self.roots)

    def reconfigure(self, policy: Policy, options: Options) -> None:
        """Apply a reloaded configuration: calls that run already end under the old one."""
        protection_changed = self.rooted.policy.rules != policy.rules
        self.rooted.policy = policy
        if protection_changed:
            self.index.judge_again()
        self.options = options
        self.confirmations.settings = options.approvals
        self.changer.new_file_mode = options.new_file_mode
        self.finder.verify_files_max = options.verify_files_max

    async def know_owner(self, task_id: str) -> None:
        """Look up who began a task, before `tasks.begin` asks for it on the loop."""
        self._owners = {task_id: await self.threads.run(Lane.READ, self._owner_in_history, task_id)}

    def disconnect(self, session: Session, holder: object) -> None:
        """Let go of what a connection held: its subscriptions, its editor's marks, and its session."""
        self.feed.disconnect(holder)
        self.editors.disconnect(holder)
        self.sessions.disconnect(session)

    def _session_ended(self, session: Session) -> None:
        self.tasks.end_session(session.session_id)
        self.confirmations.end_session(session.session_id)
        self.feed.tell("session.closed", {"session_id": session.session_id, "client": session.actor.client})

    def _recorded_owner(self, task_id: str) -> str | None:
        return self._owners.get(task_id)

    def _owner_in_history(self, task_id: str) -> str | None:
        history = self.journal.history
        if history is None:
            return None
        try:
            made = history.versions(Filter(task_id=task_id), 1)
        except (HistoryError, Fault):
            return None
        return made[0].session_id if made else None

    def _audit_approval(self, entry: Approval) -> None:
        if self._records.audit is not None:
            self._records.audit.write(entry)

    def _agent_pids(self) -> list[int]:
        return [each.actor.peer_pid for each in self.sessions.live() if each.actor.role is Role.AGENT]
