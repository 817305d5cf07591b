"""What the tree must say, found out naively, and a world that changes in every way that has ever fooled one.

Only the meaning of ignore rules is shared with the code under test: they have an oracle of their own.
"""

import os
import random
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from picoclawd import limits
from picoclawd.files.stamps import of, settled
from picoclawd.index.changes import Found
from picoclawd.index.ground import Ground
from picoclawd.index.ignore import ROOT, Scope
from picoclawd.index.ignore_rules import Rules, parse_rules
from picoclawd.index.listing import Kind, Skipped
from picoclawd.index.tree import Tree
from picoclawd.index.trust import Facts, Trust

TICK_NS = 4_000_000


@dataclass
class Truth:
    """What is there: visible files and links in discovery order, every visible entry, and what is left out."""

    files: list[bytes] = field(default_factory=list)
    links: list[bytes] = field(default_factory=list)
    visible: set[Found] = field(default_factory=set)
    skipped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Skipped.__struct_fields__, 0))


class PlainHiding:
    """Hides keys and `.ssh`, as a policy does."""

    def hides(self, path: bytes, is_directory: bool) -> bool:
        name = path.rpartition(b"/")[2]
        return name == b".ssh" or name.endswith(b".pem")

    def may_hide(self, directory: bytes, names: tuple[bytes, ...]) -> bool:
        return any(self.hides(name, False) for name in names)


def truth_of(root: bytes, directory: bytes = b"") -> Truth:
    """Walk a directory by path, the rules of all above it known."""
    truth = Truth()
    scope = ROOT
    above = directory.split(b"/")[:-1]
    for depth, name in enumerate([b"", *above] if directory else []):
        scope = _scope_of(os.path.join(root, *above[:depth]), scope, name)
    _walk(root, directory, scope, truth)
    return truth


def _walk(root: bytes, relative: bytes, above: Scope, truth: Truth) -> None:
    path = os.path.join(root, relative) if relative else root
    try:
        names = sorted(os.listdir(path))
    except PermissionError:
        truth.skipped["unreadable"] += 1
        return
    scope = _scope_of(path, above, relative.rpartition(b"/")[2])
    for name in names:
        if name == b".git" or (name == b".picoclaw" and not relative) or name.endswith(b".tmp"):
            continue
        below = relative + b"/" + name if relative else name
        mode = os.lstat(os.path.join(path, name)).st_mode
        is_directory = stat.S_ISDIR(mode)
        if PlainHiding().hides(below, is_directory):
            truth.skipped["protected"] += 1
        elif scope.verdict(name, is_directory):
            truth.skipped["ignored"] += 1
        elif is_directory and below.count(b"/") + 1 >= limits.PATH_DEPTH_MAX:
            truth.skipped["too_deep"] += 1
        elif is_directory:
            truth.visible.add(Found(below, Kind.DIRECTORY))
            _walk(root, below, scope, truth)
        else:
            _count(below, mode, truth)


def _count(path: bytes, mode: int, truth: Truth) -> None:
    if stat.S_ISREG(mode):
        truth.files.append(path)
        truth.visible.add(Found(path, Kind.FILE))
    elif stat.S_ISLNK(mode):
        truth.links.append(path)
        truth.visible.add(Found(path, Kind.SYMLINK))
    else:
        truth.skipped["special"] += 1
        truth.visible.add(Found(path, Kind.SPECIAL))


def _scope_of(path: bytes, above: Scope, name: bytes) -> Scope:
    return above.enter(name, _rules(path + b"/.gitignore"), _rules(path + b"/.ignore"))


def _rules(path: bytes) -> Rules | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return parse_rules(file.read())
    except OSError:
        return None


def make_tree(root: bytes, trust: Trust | None = None) -> tuple[Tree, int]:
    """A built tree, and the descriptor of its root, which the caller closes."""
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    tree = Tree(Ground(fd), PlainHiding(), trust or Trust(TICK_NS), lambda: None)
    tree.build()
    return tree, fd


def difference(tree: Tree, root: bytes, scope: bytes = b"", truth: Truth | None = None) -> str | None:
    """What the tree says wrongly of a scope, None where it is right."""
    truth = truth or truth_of(root, scope)
    names = tree.names(scope)
    if names is None:
        return f"{scope!r} is not held"
    if names.files.lines() != truth.files:
        return f"files of {scope!r}: {set(names.files.lines()) ^ set(truth.files)} or their order"
    if names.links.lines() != truth.links:
        return f"links of {scope!r}: {set(names.links.lines()) ^ set(truth.links)} or their order"
    counts = {name: getattr(names.skipped, name) for name in truth.skipped}
    return None if counts == truth.skipped else f"counts of {scope!r}: {counts}, not {truth.skipped}"


class WithoutCtime(Trust):
    """A tree that believes mtime, which any program can set back."""

    def facts(self, stat: os.stat_result) -> Facts:
        return super().facts(stat)[1:]


class Coarse(Trust):
    """What is seen on a file system that keeps times in steps of 10 ms, as many kernels do."""

    STEP_NS = 10_000_000

    def facts(self, stat: os.stat_result) -> Facts:
        ctime_ns, mtime_ns, *others = super().facts(stat)
        return (self._floor(ctime_ns), self._floor(mtime_ns), *others)

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        stamp = of(stat)
        coarse = msgspec.structs.replace(
            stamp, ctime_ns=self._floor(stamp.ctime_ns), mtime_ns=self._floor(stamp.mtime_ns)
        )
        return settled(coarse, taken_ns, self.STEP_NS)

    def _floor(self, time_ns: int) -> int:
        return time_ns - time_ns % self.STEP_NS


class CoarseWithoutRacyRule(Coarse):
    """The same for a tree that believes each stat, however young."""

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        return True


_NAMES = (
    b"a b c d main.c hub.c x.log y.log keep.txt foo.tmp~ .env key.pem .ssh build only out caf\xc3\xa9 caf\xe9 li\nne"
).split(b" ")
_RULES = b"*.log\n|build/\n|/a\n|!keep.txt\n|only/\n|**/out\n|c/*\n|!c/d\n|*.c\n|\\#x\n".split(b"|")


class World:
    """A root that changes at random, an outside to move things from and to, and the means to hide what was done."""

    def __init__(self, base: bytes, seed: int) -> None:
        self.random = random.Random(seed)
        self.root = base + b"/root"
        self.outside = base + b"/outside"
        self.log: list[str] = []
        self._hot = self.root
        self._known: list[bytes] = []
        self._serial = 0
        os.mkdir(self.root)
        os.mkdir(self.outside)
        self._grow()

    def _grow(self) -> None:
        for _ in range(40):
            self.look()
            with suppress(OSError):
                self._make_directory()
                self._write()
                self._write_rules()

    def look(self) -> None:
        """See which directories there are."""
        self._known = [path for path, _, _ in os.walk(self.root)]

    def step(self) -> None:
        """Change something, and half the time set the directories' mtimes back to what they were."""
        acts: list[Callable[[], None]] = [
            self._write,
            self._write,
            self._remove,
            self._make_directory,
            self._move,
            self._move,
            self._move_in,
            self._move_out,
            self._swap_names,
            self._swap_names,
            self._swap_link,
            self._write_rules,
            self._rewrite_rules,
            self._rewrite_rules,
            self._replace_kind,
            self._make_special,
            self._change_mode,
        ]
        self.log.clear()
        self.look()
        before = {path: os.lstat(path) for path in self.directories()}
        for _ in range(self.random.choice((1, 1, 2, 3))):
            act = self.random.choice(acts)
            self.log.append(act.__name__)
            with suppress(OSError, shutil.Error):
                act()
        if self.random.random() < 0.5:
            self._set_back(before)
        if self.random.random() < 0.015:  # else it would end as one directory that is ignored
            self.log.append("all anew")
            for name in os.listdir(self.root):
                os.rename(self.root + b"/" + name, b"%b/%d-%b" % (self.outside, self.random.getrandbits(60), name))
            self._grow()

    def directories(self) -> list[bytes]:
        """Those that were there when the step began: a change that meets a gap in them does nothing."""
        return self._known or [self.root]

    def own_write(self) -> bytes:
        """Create or remove one file, and give its path: nothing else has changed."""
        self.look()
        directory = self._directory()
        path = os.path.join(directory, self._name())
        if os.path.lexists(path) and not os.path.isdir(path):
            os.unlink(path)
        elif not os.path.lexists(path):
            with open(path, "wb", opener=_opener) as file:
                file.write(b"*.log\n")
        return os.path.relpath(path, self.root)

    def a_scope(self) -> bytes:
        path = self._directory()
        return b"" if path == self.root else os.path.relpath(path, self.root)

    def _set_back(self, before: dict[bytes, os.stat_result]) -> None:
        for path, old in before.items():
            with suppress(OSError):
                os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns), follow_symlinks=False)

    def _directory(self) -> bytes:
        """Often the same as before: two changes within one tick are the hard ones."""
        if self.random.random() < 0.5 and os.path.isdir(self._hot) and not os.path.islink(self._hot):
            return self._hot
        self._hot = self.random.choice(self.directories())
        return self._hot

    def _name(self) -> bytes:
        self._serial += 1
        fresh = b"n%d" % (self._serial % 50)
        return self.random.choice((*_NAMES, b".gitignore", b".ignore", fresh, fresh, fresh))

    def _entry(self, directory: bytes) -> bytes:
        return os.path.join(directory, self.random.choice(sorted(os.listdir(directory)) or [b"none"]))

    def _write(self) -> None:
        with open(os.path.join(self._directory(), self._name()), "wb", opener=_opener) as file:
            file.write(self.random.choice(_RULES))

    def _remove(self) -> None:
        path = self._entry(self._directory())
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def _make_directory(self) -> None:
        directory = self._directory()
        if len(self.directories()) < 60 and directory.count(b"/") - self.root.count(b"/") < 6:
            path = os.path.join(directory, self._name())
            os.mkdir(path)
            for name in self.random.sample(_NAMES, 2):
                with open(os.path.join(path, name), "wb", opener=_opener):
                    pass

    def _move(self) -> None:
        os.rename(self._entry(self._directory()), os.path.join(self._directory(), self._name()))

    def _move_out(self) -> None:
        self._serial += 1
        os.rename(self._entry(self._directory()), self.outside + b"/%d" % self._serial)

    def _move_in(self) -> None:
        os.rename(self._entry(self.outside), os.path.join(self._directory(), self._name()))

    def _swap_names(self) -> None:
        """Take a name away and make another of the same length: neither size nor count of the directory tells."""
        path = self._entry(self._directory())
        self._serial += 1
        os.rename(path, path[:-1] + b"%d" % (self._serial % 10))

    def _swap_link(self) -> None:
        """A directory becomes a link to another one, or back."""
        path = self._entry(self._directory())
        if os.path.islink(path):
            os.unlink(path)
            os.mkdir(path)
        else:
            os.rename(path, self.outside + b"/linked%d" % self._serial)
            os.symlink(self.random.choice((self.outside, self._directory(), b"..", b"nowhere")), path)

    def _write_rules(self) -> None:
        path = os.path.join(self._directory(), self.random.choice((b".gitignore", b".ignore")))
        rules = b"".join(self.random.sample(_RULES, self.random.randrange(3)))
        if self.random.random() < 0.5:
            with open(path, "wb", opener=_opener) as file:
                file.write(rules)
        else:
            with open(path + b"~", "wb", opener=_opener) as file:
                file.write(rules)
            os.rename(path + b"~", path)

    def _rewrite_rules(self) -> None:
        """Change a rule file in place, to as many bytes, and set its mtime back."""
        names = (b"/.gitignore", b"/.ignore")
        found = [path + name for path in self.directories() for name in names if os.path.isfile(path + name)]
        path = self.random.choice(found or [b"none"])
        old = os.lstat(path)
        with open(path, "r+b", opener=_opener) as file:
            file.write(self.random.choice((b"*.log\n", b"*.txt\n", b"n1*/  ", b"# note", b"build\n"))[: old.st_size])
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    def _replace_kind(self) -> None:
        """A file becomes a directory with a file in it, or the other way round."""
        path = self._entry(self._directory())
        if os.path.isdir(path):
            shutil.rmtree(path)
            with open(path, "wb", opener=_opener):
                pass
        else:
            os.unlink(path)
            os.mkdir(path)
            with open(path + b"/g", "wb", opener=_opener):
                pass

    def _make_special(self) -> None:
        os.mkfifo(os.path.join(self._directory(), self._name()))

    def _change_mode(self) -> None:
        path = self.random.choice(self.directories())
        if os.geteuid() == 0:  # else it might lock the test itself out
            os.chmod(path, self.random.choice((0o755, 0o700, 0o000)))


def run(world: World, trust: Trust, steps: int) -> tuple[int, str] | None:
    """Change, verify and compare; give the first step at which the tree is wrong, and what is, None if it never is."""
    tree, fd = make_tree(world.root, trust)
    model = set(truth_of(world.root).visible)
    try:
        for number in range(steps):
            wrong = _compare_once(world, tree, model)
            if wrong is not None:
                return number, f"{wrong} after {world.log}"
    finally:
        os.close(fd)
    return None


def _compare_once(world: World, tree: Tree, model: set[Found]) -> str | None:
    world.step()
    if world.random.random() < 0.3:
        scope = world.a_scope()
        tree.verify(scope)
        if tree.names(scope) is not None and (wrong := difference(tree, world.root, scope)):
            return wrong
    tree.verify(b"")
    truth = truth_of(world.root)
    wrong = difference(tree, world.root, truth=truth)
    if wrong is None and world.random.random() < 0.3:
        world.log.append("own_write")
        path = world.own_write()
        absolute = os.path.join(world.root, path)
        is_file = os.path.isfile(absolute) and not os.path.islink(absolute)
        tree.noted(path, is_file=is_file and world.random.random() < 0.5)
        truth = truth_of(world.root)
        wrong = difference(tree, world.root, truth=truth)
    return wrong or _told_wrongly(tree, model, truth)


def _told_wrongly(tree: Tree, model: set[Found], truth: Truth) -> str | None:
    """Whether what came and went, applied one after the other, is not what is there."""
    taken = tree.take()
    model -= set(taken.removed)
    model |= set(taken.created)
    wrong = model ^ truth.visible
    return f"difference told wrongly: {wrong}" if wrong else None


def _opener(path: str, flags: int) -> int:
    """A FIFO must not hang the test."""
    return os.open(path, flags | os.O_NONBLOCK, 0o644)
