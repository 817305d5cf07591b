"""What becomes of a verdict that says *ask*."""

from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Allow, Ask
from picoclawd.workspace.actors import Actor


def settle(actor: Actor, verdict: Allow | Ask, path: WsPath) -> None:
    """Let a call go on, or refuse it where a person would have to confirm it first.

    Operators are never asked: they are the person. For agents this daemon cannot ask anyone yet, so it refuses.

    Raises: confirmation_unavailable.
    """
    if isinstance(verdict, Allow) or actor.is_operator:
        return
    raise Fault(
        Slug.CONFIRMATION_UNAVAILABLE,
        f"{path.given}: {verdict.reason}, and nobody can be asked on this connection. "
        "Let the person make this change, through the operator's socket or their editor.",
    )
