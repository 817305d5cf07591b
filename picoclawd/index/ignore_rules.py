"""Compile one rule file so that asking which of its rules comes last for a name costs about the same for 1 or 200.

Names and paths without wildcards are looked up; all others together are one `PatternSet`.
Everything here answers with the index of a rule in its file, -1 for none; the highest index is the rule that counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from picoclawd.index.ignore_globs import base_glob_of, literal_of, source_of
from picoclawd.index.ignore_lines import RuleLine, read_rules
from picoclawd.index.matcher import PatternSet, compile_set


class GlobSet(msgspec.Struct, frozen=True):
    """Globs with wildcards: the matcher, and for each of its patterns the index of its rule, ascending."""

    patterns: PatternSet
    indexes: tuple[int, ...]

    @property
    def highest(self) -> int:
        return self.indexes[-1] if self.indexes else -1

    def last(self, data: bytes) -> int:
        found = self.patterns.last(data)
        return self.indexes[found] if found >= 0 else -1


class Table(msgspec.Struct, frozen=True):
    """The rules of one file that apply to files, or those that apply to directories. Never changed once built."""

    everything: int
    names: dict[bytes, int]
    globs: GlobSet
    globs_last: int
    paths: dict[bytes, int]
    path_globs: GlobSet
    path_globs_last: int
    path_heads: frozenset[bytes]  # the first components of `paths` that name something deeper
    glob_heads: frozenset[bytes] | None  # the same of `path_globs`; None where one may begin with anything

    def last_for_name(self, name: bytes) -> int:
        """The last rule on base names that matches."""
        best = self.names.get(name, self.everything)
        if self.globs_last > best:
            return max(best, self.globs.last(name))
        return best

    @property
    def has_base_rules(self) -> bool:
        """Whether any rule looks at base names, and so applies however deep."""
        return bool(self.names) or max(self.everything, self.globs_last) >= 0


class Rules(msgspec.Struct, frozen=True):
    """One rule file, compiled; made by `parse_rules`. Holds no path: the same rules may serve many directories.

    `truncated` says that not all of the file applies: it is over 1 MiB or 10,000 rules, or holds a rule over 8 KiB
    or one that is too large to compile.
    """

    lines: tuple[RuleLine, ...]
    files: Table
    directories: Table
    truncated: bool


def parse_rules(data: bytes) -> Rules:
    """Compile the bytes of a `.gitignore` or an `.ignore`; any bytes are a rule file. gitignore(5).

    Takes about 2 ms for 150 rules. What follows `RULE_FILE_MAX_BYTES` and one byte more is not looked at.
    """
    lines, cut = read_rules(data)
    directories = _table(enumerate(lines))
    files = directories
    if any(line.directories_only for line in lines):
        files = _table((index, line) for index, line in enumerate(lines) if not line.directories_only)
    refused = directories.globs.patterns.left_out or directories.path_globs.patterns.left_out
    return Rules(tuple(lines), files, directories, cut or bool(refused))


def _table(rules: Iterable[tuple[int, RuleLine]]) -> Table:
    draft = _Draft()
    for index, rule in rules:
        base_glob = base_glob_of(rule.glob) if rule.anchored else rule.glob
        if base_glob is not None:
            draft.add_base(index, base_glob)
        else:
            draft.add_path(index, rule.glob)
    return draft.table()


@dataclass(slots=True)
class _Draft:
    """A table being filled, by ascending index: a later rule replaces an earlier one of the same text."""

    everything: int = -1
    names: dict[bytes, int] = field(default_factory=dict)
    globs: dict[bytes, int] = field(default_factory=dict)
    paths: dict[bytes, int] = field(default_factory=dict)
    path_globs: dict[bytes, int] = field(default_factory=dict)

    def add_base(self, index: int, glob: bytes) -> None:
        literal = literal_of(glob)
        if literal is not None:
            self.names[literal] = index
        elif not glob.strip(b"*"):
            self.everything = index
        else:
            self.globs[glob] = index

    def add_path(self, index: int, glob: bytes) -> None:
        literal = literal_of(glob)
        if literal is None:
            self.path_globs[glob] = index
        else:
            self.paths[literal] = index

    def table(self) -> Table:
        globs, path_globs = _glob_set(self.globs), _glob_set(self.path_globs)
        return Table(
            everything=self.everything,
            names={name: max(index, self.everything) for name, index in self.names.items()},
            globs=globs,
            globs_last=globs.highest,
            paths=self.paths,
            path_globs=path_globs,
            path_globs_last=path_globs.highest,
            path_heads=frozenset(path.partition(b"/")[0] for path in self.paths if b"/" in path),
            glob_heads=_glob_heads(self.path_globs),
        )


def _glob_set(globs: dict[bytes, int]) -> GlobSet:
    rules = sorted((index, source) for glob, index in globs.items() if (source := source_of(glob)) is not None)
    return GlobSet(compile_set([source for _, source in rules]), tuple(index for index, _ in rules))


def _glob_heads(globs: Iterable[bytes]) -> frozenset[bytes] | None:
    """The first components of the globs that can match something deeper, where all of them are literal."""
    deep = [glob for glob in globs if b"/" in glob or b"**" in glob]
    heads = [literal_of(glob.partition(b"/")[0]) for glob in deep]
    literal = frozenset(head for head in heads if head is not None)
    return None if None in heads else literal
