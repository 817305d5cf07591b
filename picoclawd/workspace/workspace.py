"""The workspace: wires reading, changing, sessions and artifacts together, and holds nothing of its own."""

from typing import Literal

import msgspec

from picoclawd import limits
from picoclawd.files import paths
from picoclawd.files.locks import LockTable
from picoclawd.files.paths import Roots, WsPath
from picoclawd.files.policy import Policy
from picoclawd.files.probes import Probes
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Threads
from picoclawd.index.matcher import PatternCache
from picoclawd.index.watcher import COMMAND
from picoclawd.text import display
from picoclawd.workspace.artifacts import Artifacts
from picoclawd.workspace.candidates import Finder
from picoclawd.workspace.census import Counter
from picoclawd.workspace.change import Changer
from picoclawd.workspace.index import Index
from picoclawd.workspace.read import Reader
from picoclawd.workspace.search import Searcher
from picoclawd.workspace.sessions import Sessions


class Options(msgspec.Struct, frozen=True):
    """What the configuration says of the workspace and of every answer; replaced whole at a reload."""

    restrict: bool = True
    redaction: Literal["accident", "strict"] = "accident"
    inline_chars: int = 16 * limits.KIB
    new_file_mode: int | None = 0o600
    text_cache_bytes: int = 256 * limits.MIB
    verify_files_max: int = 100_000


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
        watcher_command: tuple[str, ...] | None = COMMAND,
    ) -> None:
        self.rooted = rooted
        self.roots = roots
        self.probes = probes
        self.options = options
        self.threads = threads or Threads()
        self.locks = LockTable()
        self.sessions = Sessions()
        self.reader = Reader(rooted, self.threads, probes.timestamp_tick_ns)
        self.artifacts = Artifacts(rooted, self.threads)
        self.index = Index(
            rooted, self.threads, probes.timestamp_tick_ns, options.text_cache_bytes, watcher_command=watcher_command
        )
        self.changer = Changer(rooted, self.locks, self.threads, options.new_file_mode, self.index.noted)
        self.finder = Finder(rooted, self.index, self.threads, options.verify_files_max)
        self.patterns = PatternCache()
        self.searcher = Searcher(rooted, self.index.contents, self.threads)
        self.counter = Counter(self.searcher, self.index.contents, self.threads)
        self.leftovers: tuple[str, ...] = ()

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
        self.changer.new_file_mode = options.new_file_mode
        self.finder.verify_files_max = options.verify_files_max
