"""A directory of files and a corpus on it, with bundles and columns of a few files each, for tests of searching."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from picoclawd.index.contents import Allowance, Contents, Text, Trouble
from picoclawd.index.corpus import Corpus, Selection
from picoclawd.index.literals import requirement
from picoclawd.index.matcher import compile_search
from picoclawd.index.requirements import Query, trigram_query
from picoclawd.index.scan import COUNT, never, scan_file
from picoclawd.index.sifting import sift
from picoclawd.index.tally import Tally
from picoclawd.index.trigrams import TrigramMatrix
from picoclawd.index.trust import Trust

PLENTY = 1 << 40


def nothing() -> None:
    return


class Watched(TrigramMatrix):
    """A matrix that lets a test do something at the moments when a corpus is halfway."""

    def __init__(self) -> None:
        super().__init__()
        self.on_add: Callable[[], None] = nothing
        self.on_look: Callable[[], None] = nothing

    def add(self, column: int, data: bytes) -> None:
        done, self.on_add = self.on_add, nothing
        done()
        super().add(column, data)

    def candidates(self, query: Query) -> list[int]:
        done, self.on_look = self.on_look, nothing
        done()
        return super().candidates(query)


class TextTree:
    """The directory and the corpus; a text is kept where `max_bytes` have room for it."""

    def __init__(self, root: Path, max_bytes: int = PLENTY, group_bytes: int = 120, trust: Trust | None = None) -> None:
        self.root = root
        self.fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
        self.matrix = Watched()
        trust = trust or Trust(1)
        self.contents = Contents(self.fd, max_bytes, trust)
        self.corpus = Corpus(self.fd, self.contents, trust, lambda: self.matrix, group_bytes, 1, group_bytes)

    def write(self, name: str, data: bytes) -> bytes:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return name.encode()

    def read(self, path: bytes) -> Text | Trouble:
        found = self.corpus.text(path, Allowance(1000, PLENTY))
        assert isinstance(found, Text | Trouble)
        return found

    def names(self) -> list[bytes]:
        return sorted(os.fsencode(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())

    def load(self) -> None:
        """Read everything, join it, and index it; the files look old, so that stats prove them."""
        for path in self.names():
            self.read(path)
        self.corpus.join()
        self.corpus.index_trigrams(never)

    def note(self) -> None:
        """Note the trigrams of what is not joined."""
        self.corpus.start_noting(self.names())
        while self.corpus.note():
            pass

    def selected(self, source: str, *, verified: bool = True) -> Selection:
        query = trigram_query(requirement(source))
        return self.corpus.select(self.names(), query, verified=verified, stop=never)

    def unsettled(self) -> list[bytes]:
        """The files that are in no group."""
        return self.selected("", verified=False).alone

    def looked_at(self, source: str, *, verified: bool = False) -> list[bytes]:
        """The files that a search for a pattern has to look at."""
        selection = self.selected(source, verified=verified)
        return sorted(
            selection.alone + [part.group.paths[index] for part in selection.parts for index in part.indexes()]
        )

    def counts(self, source: str, *, verified: bool = True) -> dict[bytes, int]:
        """Matching lines by file, as a search counts them."""
        pattern = compile_search(source)
        selection = self.selected(source, verified=verified)
        tally = Tally(self.corpus, pattern, selection.parts, never)
        tally.prepare()
        share = tally.run()
        found = {path: count for path, count, _facts in share.found}
        assert len(found) == len(share.found)
        for path in selection.alone + share.alone:
            assert path not in found
            text = self.read(path)
            if isinstance(text, Text) and (count := scan_file(pattern, text.data, COUNT, encoding=text.encoding).count):
                found[path] = count
        sifted = list(sift(self.corpus, self.names(), pattern, verified=verified, stop=never, unfiltered=1))
        assert sifted == sorted(set(sifted))
        assert found.keys() <= set(sifted)
        return found

    def true_counts(self, source: str) -> dict[bytes, int]:
        pattern = compile_search(source)
        counts = {}
        for path in self.names():
            data = (self.root / os.fsdecode(path)).read_bytes()
            if count := scan_file(pattern, data, COUNT).count:
                counts[path] = count
        return counts


@contextmanager
def text_tree(root: Path, max_bytes: int = PLENTY, trust: Trust | None = None) -> Iterator[TextTree]:
    """A tree on a directory."""
    made = TextTree(root, max_bytes, trust=trust)
    try:
        yield made
    finally:
        os.close(made.fd)


def settle() -> None:
    """Wait out the racy window: then a stat proves what was read."""
    time.sleep(0.03)
