"""Ignore rules: which entries of the tree do not belong to searches. gitignore(5), with ripgrep's `.ignore` beside it.

Pure: the tree reads the rule files and asks here. It walks from the top, makes each directory's `Scope` from its
parent's with `enter`, and asks `verdict` for each entry. **It must not enter a directory whose verdict is True**:
nothing below one is re-included, and no verdict looks upwards. The exception is a directory that a caller named:
enter it and its ancestors all the same, for no rule is applied to them; the rules they hold apply below.
"""

from enum import StrEnum

import msgspec

from picoclawd.index.ignore_rules import Rules, Table


class Kind(StrEnum):
    """Where a verdict comes from: a kind of rule file by its name, or the rule of the house that skips `.git`."""

    IGNORE = ".ignore"
    GITIGNORE = ".gitignore"
    ALWAYS = "always"


class Explanation(msgspec.Struct, frozen=True):
    """The rule that decided: the rule file's directory (relative to the root, `b""` for it), line and text.

    For `Kind.ALWAYS` there is no file: `line_no` is 0.
    """

    ignored: bool
    kind: Kind
    directory: bytes
    line_no: int
    pattern: bytes


class _View(msgspec.Struct, frozen=True):
    """What one rule file says of the entries of one directory at or below its own."""

    kind: Kind
    directory: bytes  # the rule file's
    rules: Rules
    table: Table
    prefix: bytes  # from the rule file's directory to this one: b"" or b"a/b/"
    paths: dict[bytes, int] | None  # the table's; None where none can match here
    path_globs_last: int  # the table's; -1 where none can match here

    def enter(self, name: bytes) -> "_View | None":
        """The same file's view of a directory in this one; None where no rule of it can match there."""
        table, paths, last = self.table, self.paths, self.path_globs_last
        if not self.prefix:
            paths = paths if name in table.path_heads else None
            last = last if table.glob_heads is None or name in table.glob_heads else -1
        if paths is None and last < 0 and not table.has_base_rules:
            return None
        return _View(self.kind, self.directory, self.rules, table, self.prefix + name + b"/", paths, last)

    def last(self, name: bytes) -> int:
        """The index of the last rule that matches an entry of this directory; -1 for none."""
        best = self.table.last_for_name(name)
        if self.paths:
            best = max(best, self.paths.get(self.prefix + name, -1))
        if self.path_globs_last > best:
            return max(best, self.table.path_globs.last(self.prefix + name))
        return best


_Views = tuple[_View, ...]


class Scope(msgspec.Struct, frozen=True):
    """All rules that apply to the entries of one directory. Begin with `ROOT.enter(b"", ...)` for the root's own files.

    Immutable, safe to share between threads; a directory without rule files shares the compiled rules of its parent.
    The views are in the order of their weight: `.ignore` before `.gitignore`, within one kind the deeper first.
    """

    directory: bytes
    for_files: _Views
    for_directories: _Views

    def enter(self, name: bytes, gitignore: Rules | None, ignore: Rules | None) -> "Scope":
        """The scope of a directory in this one, given its own rule files, if any. `b""` stays in this directory.

        Cheap: it costs about a microsecond for each rule file above. The name's own characters mean nothing.
        """
        directory = b"/".join(part for part in (self.directory, name) if part)
        own = [(kind, rules) for kind, rules in ((Kind.IGNORE, ignore), (Kind.GITIGNORE, gitignore)) if rules]
        files = [_view(kind, directory, rules, rules.files) for kind, rules in own]
        directories = [_view(kind, directory, rules, rules.directories) for kind, rules in own]
        return Scope(
            directory,
            _stack(files, _entered(self.for_files, name)),
            _stack(directories, _entered(self.for_directories, name)),
        )

    def verdict(self, name: bytes, is_directory: bool) -> bool:
        """Tell whether an entry of this directory is ignored. A symbolic link is no directory, wherever it points."""
        if name == b".git":
            return True
        for view in self.for_directories if is_directory else self.for_files:
            index = view.last(name)
            if index >= 0:
                return not view.rules.lines[index].negated
        return False


ROOT = Scope(b"", (), ())


def explain(scope: Scope, name: bytes, is_directory: bool) -> Explanation | None:
    """Say which line of which rule file decided `scope.verdict(name, is_directory)`; None where no rule matched."""
    if name == b".git":
        return Explanation(True, Kind.ALWAYS, b"", 0, name)
    for view in scope.for_directories if is_directory else scope.for_files:
        index = view.last(name)
        if index >= 0:
            line = view.rules.lines[index]
            return Explanation(not line.negated, view.kind, view.directory, line.line_no, line.text)
    return None


def _view(kind: Kind, directory: bytes, rules: Rules, table: Table) -> _View:
    return _View(kind, directory, rules, table, b"", table.paths, table.path_globs_last)


def _entered(views: _Views, name: bytes) -> list[_View]:
    if not name:
        return list(views)
    return [entered for view in views if (entered := view.enter(name)) is not None]


def _stack(own: list[_View], above: list[_View]) -> _Views:
    """Order by kind; the sort is stable, so what is deeper stays first within one."""
    return tuple(sorted(own + above, key=lambda view: view.kind is Kind.GITIGNORE)) if own else tuple(above)
