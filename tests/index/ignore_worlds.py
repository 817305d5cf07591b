"""Trees with rule files, made at random or by hand, and what `git check-ignore` and the package say of their paths."""

import os
import random
import re
import subprocess
from dataclasses import dataclass, field
from functools import cached_property

from picoclawd.index.ignore import ROOT, Explanation, Scope, explain
from picoclawd.index.ignore_rules import Rules, parse_rules

# The deciding line: rule file, line number. None: no rule matched.
Decision = tuple[bytes, int] | None

_WORDS = "foo bar build a b ab foobar x.o y.o t.py t.pyc .env tar.gz a~ #n !b - -- ] ^ {a,b} + ( ) | $ . é 日本 \\ Z 7"
_NAMES = [name.encode() for name in [*_WORDS.split(), "sp ace", "end ", "new\nline", "\t", "\r", "\x0b"]] + [
    b"\xe9",
    b"\xff\xfe",
    b"\x7f",
    b"\x01",
]
_WILD = [
    *(
        b"*",
        b"*",
        b"*",
        b"**",
        b"**",
        b"***",
        b"?",
        b"?",
        b"[ab]",
        b"[!a]",
        b"[^a]",
        b"[a-c]",
        b"[!a-c]",
        b"[[:alpha:]]",
    ),
    *(b"[[:digit:]x]", b"[![:space:]]", b"[[:punct:]]", b"[[:nope:]]", b"[[:alpha:]", b"[[:]", b"[[::]]", b"[[.a.]]"),
    *(
        b"[]",
        b"[]a]",
        b"[!]a]",
        b"[a",
        b"[",
        b"[z-a]",
        b"[\\]]",
        b"[a\\-z]",
        b"[--0]",
        b"[/]",
        b"[a/]",
        b"[a-]",
        b"[-a]",
    ),
    *(b"[\\\\]", b"[a-\\z]", b"[!]", b"[]-a]", b"[\xc3\xa9]", b"[\xe9]", b"[^", b"[a-c-e]", b"[[a]", b"[\\"),
    *(b"\\*", b"\\?", b"\\[", b"\\a", b"\\\\", b"\\", b"\\/", b"\\ ", b"\\#", b"\\!"),
]
_ENDS = [b""] * 12 + [b" ", b"  ", b"\t", b"\\ ", b" \\ ", b"\\  ", b"\\\\ ", b"\r", b"\r\r", b"\0x", b" \t", b"\\"]
_PLAIN = [
    b"*.o",
    b"*.py",
    b"!*.py",
    b"build/",
    b"/foo",
    b"foo/",
    b"foo/**",
    b"**/bar",
    b"a/**/b",
    b"!foo",
    b"*",
    b"!*/",
    b"/*",
]


@dataclass(frozen=True)
class World:
    """A tree: the rule files by their path, the directories, and the paths to ask for. Files need not exist."""

    rule_files: dict[bytes, bytes] = field(default_factory=dict)
    directories: set[bytes] = field(default_factory=set)
    paths: set[bytes] = field(default_factory=set)

    def add(self, path: bytes, is_directory: bool) -> None:
        """Ask for a path; its ancestors are directories."""
        self.paths.add(path)
        for above in ancestors(path):
            self.directories.add(above)
        if is_directory:
            self.directories.add(path)

    @cached_property
    def rules(self) -> dict[bytes, Rules]:
        return {path: parse_rules(data) for path, data in self.rule_files.items()}

    @cached_property
    def scopes(self) -> dict[bytes, Scope]:
        """The scope of every directory, ignored or not: only `ours` prunes."""
        made = {b"": ROOT.enter(b"", self.rules.get(b".gitignore"), self.rules.get(b".ignore"))}
        for path in sorted(self.directories):
            above, _, name = path.rpartition(b"/")
            own = [self.rules.get(path + b"/" + kind) for kind in (b".gitignore", b".ignore")]
            made[path] = made[above].enter(name, *own)
        return made

    def write(self, root: bytes) -> None:
        """Put directories and rule files on disk, below `root`."""
        for path in sorted(self.directories):
            os.makedirs(os.path.join(root, path), exist_ok=True)
        for path, data in self.rule_files.items():
            with open(os.path.join(root, path), "wb") as file:
                file.write(data)


def ancestors(path: bytes) -> list[bytes]:
    """The directories above a path, top-down, without the root."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def ours(world: World, path: bytes) -> Explanation | None:
    """What the package decides for a path, walked top-down with pruning; it checks `verdict` against `explain`."""
    found = None
    for step in [*ancestors(path), path]:
        above, _, name = step.rpartition(b"/")
        is_directory = step in world.directories
        found = explain(world.scopes[above], name, is_directory)
        ignored = found is not None and found.ignored
        assert world.scopes[above].verdict(name, is_directory) is ignored
        if ignored:
            return found
    return found


def decision_of(found: Explanation | None) -> Decision:
    """The rule file's path and the line number."""
    if found is None:
        return None
    return b"/".join(part for part in (found.directory, found.kind.value.encode()) if part), found.line_no


def gits(git: str, world: World, root: bytes) -> dict[bytes, Decision]:
    """What git decides for all paths of a world: written to `root`, which becomes a repository."""
    world.write(root)
    # No configuration but git's own: no global excludes, no template.
    env = {"HOME": os.fsdecode(root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}
    subprocess.run([git, "init", "-q", "--template="], cwd=root, env=env, check=True)
    asked = b"".join(path + b"\0" for path in sorted(world.paths))
    command = [git, "check-ignore", "--no-index", "-z", "--stdin", "-v", "-n"]
    ran = subprocess.run(command, cwd=root, env=env, input=asked, capture_output=True, timeout=300, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    fields = ran.stdout.split(b"\0")[:-1]
    rows = zip(fields[::4], fields[1::4], fields[3::4], strict=True)
    return {path: (source, int(line)) if source else None for source, line, path in rows}


def random_world(seed: int, corners: int, paths_each: int) -> World:
    """Independent trees side by side, each with rule files of its own on one to three levels."""
    rnd = random.Random(seed)
    world = World()
    for number in range(corners):
        _fill(rnd, world, b"r%d" % number, paths_each)
    return world


def _fill(rnd: random.Random, world: World, corner: bytes, paths_each: int) -> None:
    plain = rnd.random() < 0.3
    globs = [rnd.choice(_PLAIN) if plain else _glob(rnd) for _ in range(rnd.randint(1, 12))]
    tree = World()
    for _ in range(paths_each * 4):
        path = _path(rnd, globs)
        if path and len(tree.paths) < paths_each:
            tree.add(corner + b"/" + path, rnd.random() < 0.2)
    world.paths.update(tree.paths)
    world.directories.update(tree.directories, {corner})
    homes = sorted(tree.directories - {corner})
    for home in [corner, *rnd.sample(homes, min(len(homes), rnd.randint(0, 4)))]:
        chosen = [rnd.choice(globs) for _ in range(rnd.randint(1, 6))]
        world.rule_files[home + b"/.gitignore"] = _rule_file(rnd, chosen)


def _glob(rnd: random.Random) -> bytes:
    parts = [_component(rnd) for _ in range(rnd.choice((1, 1, 1, 2, 2, 3)))]
    glob = rnd.choice((b"/",) * 9 + (b"//", b"\\/")).join(parts)
    lead = rnd.choice((b"",) * 8 + (b"!", b"!", b"/", b"/", b"!/", b"**/", b"**/", b"!!", b" ", b"//", b"/**/", b"#"))
    return lead + glob + rnd.choice((b"",) * 6 + (b"/", b"/", b"/", b"/**", b"/*", b"//", b"**"))


def _component(rnd: random.Random) -> bytes:
    if rnd.random() < 0.1:
        return rnd.choice((b"**", b"*", b"***"))
    return b"".join(rnd.choice(_NAMES if rnd.random() < 0.6 else _WILD) for _ in range(rnd.choice((1, 1, 2, 2, 3))))


def _rule_file(rnd: random.Random, globs: list[bytes]) -> bytes:
    ending = rnd.choice((b"\n", b"\n", b"\n", b"\r\n"))
    lines = [(b"!" if rnd.random() < 0.2 else b"") + glob + rnd.choice(_ENDS) for glob in globs]
    if rnd.random() < 0.2:
        lines.insert(rnd.randrange(len(lines) + 1), rnd.choice((b"", b"# comment", b"   ", b"!", b"/", b"\t", b"!/")))
    bom = b"\xef\xbb\xbf" if rnd.random() < 0.1 else b""
    return bom + ending.join(lines) + (ending if rnd.random() < 0.8 else b"")


_TOKEN = re.compile(rb"\\(.)|(\*\*+)|(\*)|(\?)|\[([!^]?)\]?([^\]]*)\]|(.)", re.DOTALL)


def _path(rnd: random.Random, globs: list[bytes]) -> bytes:
    """A path that a glob may match, below or above names at random."""
    path = _TOKEN.sub(lambda token: _example(rnd, token), rnd.choice(globs).lstrip(b"!"))
    if rnd.random() < 0.3:
        path = rnd.choice(_NAMES) + b"/" + path
    if rnd.random() < 0.3:
        path += b"/" + rnd.choice(_NAMES)
    if rnd.random() < 0.15:
        path = b"/".join(rnd.choice(_NAMES) for _ in range(rnd.randint(1, 4)))
    parts = [part for part in path.replace(b"\0", b"").split(b"/") if part not in (b"", b".", b"..")]
    taken = any(part in (b".git", b".gitignore") or len(part) > 100 for part in parts)
    return b"" if taken else b"/".join(parts)


def _example(rnd: random.Random, token: re.Match[bytes]) -> bytes:
    escaped, stars, star, any_one, negation, members, other = token.groups()
    if stars:
        return rnd.choice((b"", b"a", b"a/b", b"foo/bar/b", b"a/"))
    if star or any_one:
        return rnd.choice((b"", b"a", b"b", b"foo", b"7", b" ", b"\xc3\xa9", b"/"))
    if members is not None:
        inside = members[(at := rnd.randrange(len(members))) : at + 1] if members else b"]"
        return rnd.choice((inside, inside, b"a", b"b", b"-", b"\\", b"]", b"^", b"d")) if negation != b"?" else inside
    return escaped or other or b""
