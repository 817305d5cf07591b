"""Trees to search: one that was given, an even sample of it, or one made of C-like files. Kept for the next run."""

import hashlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

TAIL_WORDS = 20_000  # the vocabulary's long tail
POOL_LINES = 40_000  # files share lines, as real ones do
FILES_A_DIRECTORY = 15  # of the Linux source
SKIPPED = {".git", ".picoclaw"}
BINARY_SNIFF_BYTES = 8192

# fmt: off
COMMON = (
    "struct", "int", "if", "static", "void", "dev", "err", "ret", "const", "u32", "unsigned", "char",
    "device", "data", "len", "size", "flags", "name", "goto", "out", "list", "lock", "reg", "val", "state",
    "mode", "ops", "priv", "info", "node", "page", "index", "count", "offset", "buf", "ctx", "type", "next",
    "head",
)
TOPS = (
    "drivers", "fs", "net", "arch", "sound", "include", "kernel", "lib",
)
SUBS = (
    "usb", "core", "scsi", "pci", "media", "gpio", "video", "power", "mm", "sched", "block", "crypto", "hub",
    "input", "clock", "thermal",
)
SYLLABLES = (
    "ab", "ac", "bus", "cfg", "dma", "en", "fr", "gen", "hw", "id", "key", "lim", "map", "net", "oct", "phy",
    "qu", "reg", "scan", "tx", "un", "vec", "wr", "xfer", "yld",
)
# fmt: on
# Lines by how many of a hundred have this shape; one in 25 returns, as in the Linux source.
SHAPES = (
    (20, "\t{0}->{1} = {2}({3});"),
    (12, "\tif ({0} < {1}->{2})"),
    (4, "\treturn {0};"),
    (4, "static int {0}_{1}(struct {2} *{3})"),
    (14, "#define {0}_{1}\t0x{4:04x}"),
    (14, "/* {0} {1} of the {2} {3} */"),
    (18, "\t{0}({1}, {2});"),
    (6, "}}"),
    (8, ""),
)
# What is rarer than any word of the pool, and in how many files of a thousand.
RARE = (
    (300, "EXPORT_SYMBOL_GPL({0}_{1});"),
    (150, "static int {0}_probe(struct platform_device *{1})"),
    (80, "\t/* TODO: {0} before {1} */"),
    (60, "\t{0} = kmalloc(sizeof(*{1}), GFP_KERNEL);"),
    (60, "\tschedule_work(&{0}->{1});"),
    (15, "\tret = usb_submit_urb({0}, GFP_ATOMIC);"),
    (8, '\t{{ .name = "{0}_{4:04d}x" }},'),
    (3, "/* see USB_Submit_URB for {0} */"),
)


@dataclass(frozen=True)
class Tree:
    """A tree to search."""

    root: Path
    files: int
    size_bytes: int


def taken(root: Path) -> Tree:
    """A tree that is there."""
    sizes = [path.lstat().st_size for path in files_of(root)]
    if not sizes:
        raise SystemExit(f"{root} holds no files")
    return Tree(root.resolve(), len(sizes), sum(sizes))


def made(count: int) -> Tree:
    """A tree of so many C-like files: always the same."""
    return _kept(f"made-{count}", lambda root: _make(root, count))


def sampled(tree: Tree, count: int) -> Tree:
    """An even sample of a tree's files, copied; the tree itself where it has no more than that."""
    if tree.files <= count:
        return tree
    source = hashlib.sha256(os.fsencode(tree.root)).hexdigest()[:8]
    return _kept(f"sample-{source}-{count}", lambda root: _sample(tree, root, count))


def files_of(root: Path) -> Iterator[Path]:
    """The regular files of a tree, by name, without what version control and the daemon keep in it."""
    for directory, names, files in os.walk(root):
        names[:] = sorted(set(names) - SKIPPED)
        for name in sorted(files):
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def file_of_about(tree: Tree, size_bytes: int) -> str:
    """A text file of the tree, relative to it, whose size is nearest to `size_bytes`."""
    by_distance = sorted((abs(path.lstat().st_size - size_bytes), path) for path in files_of(tree.root))
    texts = (path for _distance, path in by_distance if b"\0" not in path.read_bytes()[:BINARY_SNIFF_BYTES])
    return str(next(texts).relative_to(tree.root))


def cache_directory() -> Path:
    """Where trees are kept from one run to the next."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "picoclawd-bench"


def _kept(name: str, make: Callable[[Path], None]) -> Tree:
    root = cache_directory() / name
    done = root.with_name(f"{name}.done")  # one that was begun only is made again
    if not done.exists():
        print(f"     making {root}", flush=True)
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        make(root)
        done.touch()
    return taken(root)


def _sample(tree: Tree, root: Path, count: int) -> None:
    paths = list(files_of(tree.root))
    for index in range(count):
        path = paths[index * len(paths) // count]
        copy = root / path.relative_to(tree.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _make(root: Path, count: int) -> None:
    rng = random.Random(1)
    words = _Words(rng)
    pool = [words.line(shape) for share, shape in SHAPES for _ in range(POOL_LINES * share // 100)]
    for number in range(count):
        directory = root / _directory(number // FILES_A_DIRECTORY)
        directory.mkdir(parents=True, exist_ok=True)
        lines = rng.choices(pool, k=int(rng.lognormvariate(4.8, 0.9)) + 3)
        for per_mille, shape in RARE:
            if rng.random() * 1000 < per_mille:
                lines.insert(rng.randrange(len(lines)), words.line(shape))
        stem = "probe" if number % 211 == 0 else words.tail()
        (directory / f"{stem}_{number}.{'h' if number % 4 == 0 else 'c'}").write_text("\n".join(lines) + "\n")


def _directory(number: int) -> str:
    rest, sub = divmod(number, len(SUBS))
    rest, top = divmod(rest, len(TOPS))
    # The first of each is nested in no further one: usb/core is a directory of every tree with 30 files.
    inner = SUBS[(sub + 1) % len(SUBS)] if sub % 3 == 0 else f"{SUBS[sub]}-{rest}"
    return f"{TOPS[top]}/{SUBS[sub]}/{inner}" + (f"/part{rest}" if rest else "")


class _Words:
    """Words by rank: the n-th most frequent is 1/n as frequent as the first."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        tail = ("_".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) + str(n % 100) for n in range(TAIL_WORDS))
        self._all = [*COMMON, *tail]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._all) + 1)))

    def line(self, shape: str) -> str:
        """A line of this shape: up to four words and a number."""
        return shape.format(*self._rng.choices(self._all, cum_weights=self._weights, k=4), self._rng.randrange(10_000))

    def tail(self) -> str:
        """One of the rare words."""
        return self._rng.choice(self._all[len(COMMON) :])
