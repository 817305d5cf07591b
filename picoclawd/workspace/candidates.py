"""Which files a search looks at: those of the tree, or of a fresh walk where the tree holds nothing, by name forms.

Order is discovery order everywhere: depth-first by name.
"""

import stat as stat_bits
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access, Allow, Policy
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.ground import OWN, Ground
from picoclawd.index.hiding import WorkspaceHiding
from picoclawd.index.listing import Hiding, Kind
from picoclawd.index.matcher import Pattern, compile_lines, compile_pattern
from picoclawd.index.node import Names
from picoclawd.index.pathblob import PathBlob, order_key, shown
from picoclawd.index.walk import Walk
from picoclawd.text import glob
from picoclawd.workspace.index import Index
from picoclawd.workspace.scope import Candidates, Consistency, OutOfTimeError, Place, Poll

LATELY_MAX = 8  # selections, two for a search where there are links; each is as large as the tree has files
POLL_FILES = 500  # names between two looks at the clock: some 10 ms of a walk


_EVERY_FILE = frozenset({"*", "**", "**/*"})  # forms that select whatever has a name


class Finder:
    """Finds candidates. One for a workspace."""

    def __init__(self, rooted: Rooted, index: Index, threads: Threads, verify_files_max: int) -> None:
        self._rooted = rooted
        self._index = index
        self._threads = threads
        self.verify_files_max = verify_files_max
        self._lately: dict[object, list[bytes]] = {}  # what was selected, by scope, form and the names' generation

    async def place(self, path: WsPath) -> Place:
        """Where a search of this path begins.

        Raises: outside_workspace, protected_path (also for our own directory), not_found, access_denied, ...
        """
        return await self._threads.run(Lane.READ, self._place, path)

    async def find(
        self, place: Place, form: str, wanted: Consistency | None, poll: Poll, *, judge_links: bool = True
    ) -> Candidates:
        """The files below `place` that a name form selects; the file that was named, whatever its name is.

        Without `judge_links` every link of the workspace is among them, for who opens them as he gets there.
        `wanted` None is `verified` in a scope of at most verify_files_max files, else `watched`. A poll that raises
        OutOfTimeError leaves what was found so far.

        Raises: pattern_too_complex for the form; root_gone, io_error; what else `poll` raises.
        """
        if place.file is not None:
            return Candidates(place, [place.file], "verified")
        chosen = _Chosen(form)
        if place.inside:
            try:
                known = await self._index.known(place.directory, wanted, self.verify_files_max, poll)
            except OutOfTimeError:
                return Candidates(place, [], "verified", complete=False)
            if known is not None:
                files, key = await self._select(place, chosen, form, known.names, judge_links)
                return Candidates(place, files, known.consistency, known.names.skipped, known.degraded, key=key)
        return await self._threads.run(Lane.SCAN, self._walked, place, chosen, poll)

    async def newest_first(self, candidates: Candidates, poll: Poll) -> Candidates:
        """The same, the file that was modified last coming first. Those that vanished are counted."""
        dated, complete = await self.dated(candidates, poll)
        dated.sort(key=lambda item: (-item[0], order_key(item[1])))
        found = replace(candidates, files=[path for _mtime_ns, path in dated])
        found.complete = candidates.complete and complete
        found.vanished = len(candidates.files) - len(dated) if complete else 0
        return found

    async def dated(self, candidates: Candidates, poll: Poll) -> tuple[list[tuple[int, bytes]], bool]:
        """When each candidate was last modified (ns), and its path; and whether the time was enough for all. Those
        that vanished are left out."""
        return await self._threads.run(Lane.SCAN, self._dated, candidates, poll)

    def _dated(self, candidates: Candidates, poll: Poll) -> tuple[list[tuple[int, bytes]], bool]:
        dated: list[tuple[int, bytes]] = []
        if candidates.place.file is not None:
            return [(0, path) for path in candidates.files], True  # the only one of its scope: first in any order
        with self.ground(candidates.place) as ground:
            for count, path in enumerate(candidates.files):
                if count % POLL_FILES == 0:
                    try:
                        poll(count)
                    except OutOfTimeError:
                        return dated, False
                with suppress(OSError):
                    dated.append((ground.stat(path).st_mtime_ns, path))
        return dated, True

    def _place(self, path: WsPath) -> Place:
        try:
            with self._rooted.open_directory(path, Access.LIST) as opened:
                real = opened.real
        except Fault as fault:
            if fault.slug is not Slug.NOT_A_DIRECTORY:
                raise
            return self._file_place(path)
        relative = paths.below(real, self._rooted.workspace)
        if relative is None:
            return Place(real, b"", inside=False)
        _refuse_own(path, relative)
        return Place(self._rooted.workspace, relative, inside=True)

    def _file_place(self, path: WsPath) -> Place:
        with self._rooted.open_file(path, Access.READ) as opened:
            real = opened.real
        relative = paths.below(real, self._rooted.workspace)
        if relative is not None:
            _refuse_own(path, relative)
            return Place(self._rooted.workspace, paths.split(relative)[0], inside=True, file=relative)
        directory, name = paths.split(real)
        return Place(directory, b"", inside=False, file=name)

    async def _select(
        self, place: Place, chosen: "_Chosen", form: str, names: Names, judge_links: bool
    ) -> tuple[list[bytes], object]:
        """The files that the form selects, and the links, of which those that may be read; and a key for both."""
        key: object = (place.directory, form, names.generation)
        if judge_links:
            return await self._threads.run(Lane.INDEX, self._judged, place, chosen, names, key)
        with_links = (key, "and every link")
        files = self._lately.get(with_links)  # most often it is at hand, and others may be busy in the lane
        if files is None:
            files = await self._threads.run(Lane.INDEX, self._unjudged, place, chosen, names, key, with_links)
        return files, with_links

    def _judged(self, place: Place, chosen: "_Chosen", names: Names, key: object) -> tuple[list[bytes], object]:
        files = self._once(key, lambda: chosen.of(names.files, place.directory))
        if not names.links.count:
            return files, key
        links = tuple(link for link in chosen.of(names.links, place.directory) if self.may_follow(place, link))
        return self._once((key, links), lambda: _with_links(files, links)), (key, links)

    def _unjudged(self, place: Place, chosen: "_Chosen", names: Names, key: object, with_links: object) -> list[bytes]:
        files = self._once(key, lambda: chosen.of(names.files, place.directory))
        return self._once(with_links, lambda: _with_links(files, chosen.of(names.links, place.directory)))

    def _once(self, key: object, select: Callable[[], list[bytes]]) -> list[bytes]:
        """What was selected lately by this key; it is not to be changed."""
        found = self._lately.get(key)
        if found is None:
            found = self._lately[key] = select()
            if len(self._lately) > LATELY_MAX:
                self._lately.pop(next(iter(self._lately)), None)
        return found

    def _walked(self, place: Place, chosen: "_Chosen", poll: Poll) -> Candidates:
        candidates = Candidates(place, [], "verified")
        with self.ground(place) as ground:
            walk = Walk(ground, place.directory, self.hiding(place))
            try:
                for count, found in enumerate(walk):
                    if count % POLL_FILES == 0:
                        poll(count)
                    if not chosen.takes(found.path, place.directory):
                        continue
                    if found.kind is Kind.FILE or self.may_follow(place, found.path):
                        candidates.files.append(found.path)
            except OutOfTimeError:
                candidates.complete = False
        candidates.skipped = walk.skipped
        return candidates

    @contextmanager
    def ground(self, place: Place) -> Iterator[Ground]:
        """The ground that a fresh walk of a place stands on. Blocking.

        Raises: as `place` does: what lies outside may have been exchanged since.
        """
        if place.inside:
            yield Ground(self._rooted.root_fd)
            return
        path = paths.parse(place.base, (self._rooted.workspace,))
        with self._rooted.open_directory(path, Access.LIST) as opened:
            if opened.real != place.base:
                raise Fault(Slug.PATH_BUSY, f"{path.given}: a directory on the way was exchanged. Try again.")
            yield Ground(opened.fd)

    def hiding(self, place: Place) -> Hiding:
        """Protected names; outside also what has no match of its own."""
        if place.inside:
            return WorkspaceHiding(self._rooted.workspace, lambda: self._rooted.policy)
        return _OutsideHiding(place, self._rooted.policy)

    def may_follow(self, place: Place, relative: bytes) -> bool:
        """Whether a link leads to a regular file that may be read."""
        try:
            path = paths.parse(place.absolute(relative), (self._rooted.workspace,))
            with self._rooted.open_file(path, Access.READ) as opened:
                return stat_bits.S_ISREG(opened.stat.st_mode)
        except (Fault, OSError):
            return False


def _refuse_own(path: WsPath, relative: bytes) -> None:
    if relative.split(b"/", 1)[0] == OWN:
        raise Fault(
            Slug.PROTECTED_PATH,
            f"{path.given} is in the directory of picoclawd's own files, which is not searched. "
            "read_file reads an artifact that an answer named.",
        )


class _OutsideHiding(msgspec.Struct, frozen=True):
    """Outside the workspace each entry needs a match of its own."""

    place: Place
    policy: Policy

    def hides(self, path: bytes, is_directory: bool) -> bool:
        absolute = self.place.absolute(path)
        return not isinstance(self.policy.decide(Access.LIST, absolute, None, is_directory=is_directory), Allow)

    def may_hide(self, directory: bytes, names: tuple[bytes, ...]) -> bool:
        return True


def _with_links(files: list[bytes], links: Sequence[bytes]) -> list[bytes]:
    """Files and links in discovery order; links are few."""
    if not links:
        return files
    merged = list(files)
    for link in links:
        insort(merged, link, key=order_key)
    return merged


class _Chosen:
    """A name form, ready for many paths at once and for one."""

    def __init__(self, form: str) -> None:
        self._form = glob.compile_form("" if form in _EVERY_FILE else form)
        self._source = form
        self._lines = compile_lines(glob.to_re2_lines(form))
        self._one: Pattern | None = None

    def of(self, blob: PathBlob, directory: bytes) -> list[bytes]:
        """The paths of a blob that the form selects, compared relative to `directory`."""
        if self._form.kind is glob.Kind.ALL:
            return blob.lines()
        relative = blob.relative(directory)
        literal = self._form.literal
        if self._form.kind is glob.Kind.SUBSTRING and "\n" not in literal:
            found = relative.find(literal.encode())
        else:
            found = relative.select(self._lines)
        return [paths.join(directory, path) for path in found] if directory else found

    def takes(self, path: bytes, directory: bytes) -> bool:
        """Whether the form selects one path."""
        if self._form.kind is glob.Kind.ALL:
            return True
        relative = path[len(directory) + 1 :] if directory else path
        if self._one is None:
            self._one = compile_pattern(glob.to_re2(self._source))
        return self._one.search(shown(relative))
