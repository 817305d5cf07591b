"""Ask the policy which names the tree must not show, quickly: it is asked of every entry, and few are ever hidden."""

from collections.abc import Callable

from picoclawd.files import paths, protected
from picoclawd.files.policy import Policy

_SYSTEM = (b"/etc", b"/proc")  # what `protected.is_system_secret` names lies in one of these


class WorkspaceHiding:
    """The hidden entries of a workspace under the policy of the moment (see `listing.Hiding`).

    Protected names are one component or two in a row. So to look at all names of a directory in one go tells whether
    any may be hidden, unless the workspace holds files of the system or of the daemon itself: then each is asked for.
    """

    def __init__(self, workspace: bytes, policy: Callable[[], Policy]) -> None:
        self._workspace = workspace
        self._policy = policy

    def hides(self, path: bytes, is_directory: bool) -> bool:
        """See `Hiding.hides`."""
        return self._policy().hidden(paths.join(self._workspace, path), is_directory=is_directory)

    def may_hide(self, directory: bytes, names: tuple[bytes, ...]) -> bool:
        """See `Hiding.may_hide`. Unfinished writes of ours are no part of the tree, so they are not looked for."""
        between = b"/" + paths.split(directory)[1] + b"/"
        row = between + between.join(names)
        return protected.is_protected(protected.fold(row)) or self._holds_more()

    def _holds_more(self) -> bool:
        """Whether there is more to hide in the workspace than protected names."""
        ground = protected.fold(self._workspace)
        if any(protected.fold(own).startswith(ground) for own in self._policy().rules.own):
            return True
        return any(place.startswith(self._workspace) or self._workspace.startswith(place) for place in _SYSTEM)
