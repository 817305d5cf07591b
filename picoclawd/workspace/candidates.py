"""Which files a search looks at: those of the tree, or of a fresh walk where the tree holds nothing, by name forms.

Order is discovery order everywhere: depth-first by name.
"""

import heapq
import os
import stat as stat_bits
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access, Allow, Policy
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.ground import Ground
from picoclawd.index.hiding import WorkspaceHiding
from picoclawd.index.listing import Hiding, Kind
from picoclawd.index.matcher import Pattern, compile_lines, compile_pattern
from picoclawd.index.pathblob import PathBlob, order_key, shown
from picoclawd.index.walk import Walk
from picoclawd.text import glob
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.approvals import settle
from picoclawd.workspace.index import Index
from picoclawd.workspace.scope import Candidates, Consistency, Place, Poll


class Finder:
    """Finds candidates. One for a workspace."""

    def __init__(self, rooted: Rooted, index: Index, threads: Threads, verify_files_max: int) -> None:
        self._rooted = rooted
        self._index = index
        self._threads = threads
        self.verify_files_max = verify_files_max

    async def place(self, actor: Actor, path: WsPath) -> Place:
        """Where a search of this path begins.

        Raises: outside_workspace, protected_path, not_found, access_denied, not_a_file, ...
        """
        return await self._threads.run(Lane.READ, self._place, actor, path)

    async def find(self, place: Place, form: str, wanted: Consistency | None, poll: Poll) -> Candidates:
        """The files below `place` that a name form selects.

        `wanted` None is `verified` in a scope of at most verify_files_max files, else `watched`.

        Raises: pattern_too_complex for the form; root_gone, io_error; what `poll` raises.
        """
        if place.file is not None:
            return Candidates(place, [place.file], "verified")
        chosen = _Chosen(form)
        if place.inside:
            known = await self._index.known(place.directory, wanted or self._default(place), poll)
            if known is not None:
                names = known.names
                files = await self._threads.run(Lane.INDEX, self._selected, place, chosen, names.files, names.links)
                watcher = self._index.watcher_state()
                degraded = watcher.reason if watcher.state == "degraded" and wanted == "watched" else None
                return Candidates(place, files, known.consistency, names.skipped, names.generation, degraded)
        return await self._threads.run(Lane.SCAN, self._walked, place, chosen, poll)

    async def newest_first(self, candidates: Candidates, poll: Poll) -> Candidates:
        """The same, the file that was modified last coming first. Those that vanished are left out."""
        dated = await self.dated(candidates, poll)
        dated.sort(key=lambda item: (-item[0], order_key(item[1])))
        return replace(candidates, files=[path for _mtime_ns, path in dated])

    async def dated(self, candidates: Candidates, poll: Poll) -> list[tuple[int, bytes]]:
        """When each candidate was last modified (ns), and its path. Those that vanished are left out."""
        return await self._threads.run(Lane.SCAN, self._dated, candidates, poll)

    def _dated(self, candidates: Candidates, poll: Poll) -> list[tuple[int, bytes]]:
        dated: list[tuple[int, bytes]] = []
        for count, path in enumerate(candidates.files):
            if count % 500 == 0:
                poll(count)
            with suppress(OSError):
                dated.append((self._modified(candidates.place, path), path))
        return dated

    def _modified(self, place: Place, path: bytes) -> int:
        if place.inside:
            return os.stat(path, dir_fd=self._rooted.root_fd, follow_symlinks=False).st_mtime_ns
        return os.stat(place.absolute(path), follow_symlinks=False).st_mtime_ns

    def _default(self, place: Place) -> Consistency:
        names = self._index.tree.names(place.directory)
        small = names is None or names.files.count <= self.verify_files_max
        return "verified" if small or self._index.watcher_state().state != "ok" else "watched"

    def _place(self, actor: Actor, path: WsPath) -> Place:
        try:
            with self._rooted.open_directory(path, Access.LIST) as opened:
                settle(actor, opened.verdict, path)
                real = opened.real
        except Fault as fault:
            if fault.slug is not Slug.NOT_A_DIRECTORY:
                raise
            return self._file_place(actor, path)
        relative = paths.below(real, self._rooted.workspace)
        if relative is None:
            return Place(real, b"", inside=False)
        return Place(self._rooted.workspace, relative, inside=True)

    def _file_place(self, actor: Actor, path: WsPath) -> Place:
        with self._rooted.open_file(path, Access.READ) as opened:
            settle(actor, opened.verdict, path)
            real = opened.real
        relative = paths.below(real, self._rooted.workspace)
        if relative is not None:
            return Place(self._rooted.workspace, paths.split(relative)[0], inside=True, file=relative)
        directory, name = paths.split(real)
        return Place(directory, b"", inside=False, file=name)

    def _selected(self, place: Place, chosen: "_Chosen", files: PathBlob, links: PathBlob) -> list[bytes]:
        found = chosen.of(files, place.directory)
        readable = [link for link in chosen.of(links, place.directory) if self.may_follow(place, link)]
        return list(heapq.merge(found, readable, key=order_key)) if readable else found

    def _walked(self, place: Place, chosen: "_Chosen", poll: Poll) -> Candidates:
        files: list[bytes] = []
        with self.ground(place) as ground:
            walk = Walk(ground, place.directory, self.hiding(place))
            for count, found in enumerate(walk):
                if count % 500 == 0:
                    poll(count)
                if not chosen.takes(found.path, place.directory):
                    continue
                if found.kind is Kind.FILE or self.may_follow(place, found.path):
                    files.append(found.path)
        return Candidates(place, files, "verified", walk.skipped)

    @contextmanager
    def ground(self, place: Place) -> Iterator[Ground]:
        """The ground that a fresh walk of a place stands on."""
        if place.inside:
            yield Ground(self._rooted.root_fd)
            return
        fd = os.open(place.base, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield Ground(fd)
        finally:
            os.close(fd)

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


@dataclass(frozen=True, slots=True)
class _OutsideHiding:
    """Outside the workspace each entry needs a match of its own."""

    place: Place
    policy: Policy

    def hides(self, path: bytes, is_directory: bool) -> bool:
        absolute = self.place.absolute(path)
        return not isinstance(self.policy.decide(Access.LIST, absolute, None, is_directory=is_directory), Allow)

    def may_hide(self, directory: bytes, names: tuple[bytes, ...]) -> bool:
        return True


class _Chosen:
    """A name form, ready for many paths at once and for one."""

    def __init__(self, form: str) -> None:
        self._form = glob.compile_form(form)
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
