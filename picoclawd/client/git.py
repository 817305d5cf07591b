"""Make a commit in the workspace's git work tree: of some paths, and of nothing else that is staged."""

import os
import subprocess

from picoclawd.client.failures import Failure

_TIMEOUT_S = 120.0  # the person's own hooks run in a commit
_REDIRECTIONS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")  # inside a hook they mean another tree


class Found:
    """The paths of a patch, relative to the workspace: what a commit takes, and what git ignores."""

    __slots__ = ("ignored", "taken")

    def __init__(self, taken: list[str], ignored: list[str]) -> None:
        self.taken = taken
        self.ignored = ignored


class WorkTree:
    """The git work tree that the workspace is, or lies in.

    Raises:
        Failure: it is in none, or there is no git.
    """

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        kept = {name: value for name, value in os.environ.items() if name not in _REDIRECTIONS}
        self._environment = kept
        try:
            asked = self._run("rev-parse", "--is-inside-work-tree", "--show-prefix")
        except FileNotFoundError:
            raise Failure("there is no git on PATH, so nothing can be committed") from None
        answers = asked.stdout.decode("utf-8", "replace").splitlines()
        if asked.returncode or answers[:1] != ["true"]:
            raise Failure(f"{workspace} is no git work tree, so nothing can be committed.\nMake it one with:  git init")
        self._prefix = answers[1] if len(answers) > 1 else ""

    def paths_of(self, patch: str) -> Found:
        """The files that a patch changes. One that neither is there nor is known to git has nothing to commit."""
        if not patch:
            return Found([], [])
        numbers = self._output("apply", "--numstat", "-z", *self._below(), given=_encoded(patch))
        prefix = os.fsencode(self._prefix)
        named = [row.split(b"\t", 2)[2].removeprefix(prefix) for row in numbers.split(b"\0") if row]
        known = set(self._output("ls-files", "-z").split(b"\0"))
        root = os.fsencode(self._workspace)
        there = [name for name in named if name in known or os.path.lexists(os.path.join(root, name))]
        ignored = set(self._ignored([name for name in there if name not in known]))
        return Found(
            [os.fsdecode(name) for name in there if name not in ignored],
            [os.fsdecode(name) for name in there if name in ignored],
        )

    def is_undone_by(self, patch: str) -> bool:
        """Whether the patch, backwards, fits the disk: then the disk holds just these changes of it."""
        return self._run("apply", "--check", "--reverse", *self._below(), given=_encoded(patch)).returncode == 0

    def commit(self, paths: list[str], message: str) -> str:
        """Commit these paths as they are on disk; what else is staged stays staged. Gives the commit's short name.

        Raises:
            Failure: git, or a hook of the person's, refused; its own words say why.
        """
        named = b"\0".join(os.fsencode(path) for path in paths)
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._output("--literal-pathspecs", "add", "--all", *listed, given=named)
        self._output("--literal-pathspecs", "commit", "--quiet", f"--message={message}", "--only", *listed, given=named)
        return self._output("rev-parse", "--short", "HEAD").decode().strip()

    def _below(self) -> list[str]:
        """A patch of git's own form names files from the top of the tree, ours from the workspace."""
        return [f"--directory={self._prefix}"] if self._prefix else []

    def _ignored(self, names: list[bytes]) -> list[bytes]:
        if not names:
            return []
        # check-ignore refuses GIT_LITERAL_PATHSPECS; behind ./ no name looks like pathspec magic either.
        asked = self._run("check-ignore", "-z", "--stdin", given=b"\0".join(b"./" + name for name in names))
        return [name.removeprefix(b"./") for name in asked.stdout.split(b"\0") if name]

    def _output(self, *arguments: str, given: bytes = b"") -> bytes:
        done = self._run(*arguments, given=given)
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise Failure(f"{_called(arguments)} failed: {said or f'exit code {done.returncode}'}")
        return done.stdout

    def _run(self, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(
                ["git", *arguments],
                cwd=self._workspace,
                env=self._environment,
                input=given,
                capture_output=True,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise Failure(f"{_called(arguments)} did not end within {_TIMEOUT_S:g} s") from None


def _called(arguments: tuple[str, ...]) -> str:
    return "git " + next(word for word in arguments if not word.startswith("-"))


def _encoded(patch: str) -> bytes:
    return patch.encode("utf-8", "surrogateescape")
