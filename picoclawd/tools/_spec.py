"""What a tool is, what it gets (`Call`) and what it gives (`Result`)."""

from collections.abc import Awaitable, Callable, Sequence, Set
from typing import Annotated, Any, Generic, Protocol, TypeVar

import msgspec

from picoclawd.files.waits import Waits
from picoclawd.text import display
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.cache import CachedFile
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.tasks import Task
from picoclawd.workspace.workspace import Workspace

P = TypeVar("P", bound=msgspec.Struct)
S = TypeVar("S", bound="Settings")

PathParam = Annotated[str, msgspec.Meta(description="Absolute, or relative to the workspace.")]
PathBytesParam = Annotated[
    str,
    msgspec.Meta(description="The path percent-encoded, in place of `path`, for a name that is not valid UTF-8."),
]
IfMatchParam = Annotated[
    str,
    msgspec.Meta(
        description='The sha256 that the file must have now, else nothing is written. "" means: it must not exist.'
    ),
]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool's section of the configuration, `tools.<name>.*`."""

    enabled: Annotated[bool, msgspec.Meta(description="Whether the tool exists at all.")] = True


class Hints(msgspec.Struct, frozen=True):
    """What a host may assume of a tool; MCP's tool annotations, same meanings."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False

    def as_json(self) -> dict[str, bool]:
        """The names that MCP gives them."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }


READS = Hints(read_only=True, idempotent=True)
WRITES = Hints(read_only=False, destructive=True)
ADDS = Hints(read_only=False, destructive=False)


class Plain(msgspec.Struct, frozen=True):
    """Text of ours: never redacted."""

    text: str


class FileText(msgspec.Struct, frozen=True):
    """Text out of a file: redacted for agents. `before` and `after` are what the file holds around it,
    not shown, so that a secret cut by the edge is recognised."""

    text: str
    before: str = ""
    after: str = ""


class FileRows(msgspec.Struct, frozen=True):
    """Rows out of a file, each redacted on its own: a prefix of ours, the text shown, the rest of its line that
    is not shown, a suffix of ours. Rows are joined by newlines."""

    rows: tuple[tuple[str, str, str, str], ...]


class OwnText(msgspec.Struct, frozen=True):
    """A line that the call itself adds or removes: verbatim, but in the strict mode."""

    text: str


Segment = Plain | FileText | FileRows | OwnText


class Result(msgspec.Struct, frozen=True):
    """What a tool found or did. `content` is head, body, foot in this order; head and foot survive a spill.

    With no segment at all, `content` is `data` as compact JSON. `display` is what a chat shows a person, in
    segments too (only the strict mode redacts them), None where the result is silent. `keep_inline` marks a
    page that was cut to fit and is never spilled.
    """

    data: msgspec.Struct
    head: str = ""
    body: tuple[Segment, ...] = ()
    foot: str = ""
    display: tuple[Segment, ...] | None = None
    keep_inline: bool = False


class Cleaner(Protocol):
    """Makes file text what this call's reader may see: stripped and masked for agents, as it is for operators."""

    def clean(self, text: str) -> str:
        """One piece of file text."""
        ...

    def clean_line(self, text: str, start: int, end: int) -> tuple[str, int, int]:
        """A line, and where the part of it between two characters is afterwards."""
        ...

    def leaves(self, texts: Sequence[str]) -> bool:
        """Whether `clean` would give each of these as it is."""
        ...


class Deferred(msgspec.Struct, frozen=True):
    """A result that is made when it is known who reads it: for rows that are cut after they are masked."""

    make: Callable[[Cleaner], Result]


class AtHand(msgspec.Struct, frozen=True):
    """A result that needs no waiting: `make` makes it. `file` is what it is made of, and keeps what was made of it."""

    file: CachedFile
    make: Callable[[], Result]


class Call(msgspec.Struct, Generic[S], frozen=True):
    """One call of one tool: who asks, on what, under which settings, and how to stop or report.

    `given` are its parameters as they came, by name; `op` is the client's own name for it.
    `waits` is told what it waits for.
    """

    tool: str
    given: dict[str, Any]
    session: Session
    workspace: Workspace
    settings: S
    enabled: Set[str]
    inline_chars: int
    cancelled: Callable[[], bool]
    progress: Callable[[int, int | None, str], None]
    dry_run: bool = False
    op: str | None = None
    waits: Waits = msgspec.field(default_factory=Waits)

    @property
    def actor(self) -> Actor:
        """Who asks."""
        return self.session.actor

    @property
    def task(self) -> Task | None:
        """What the session is working on."""
        return self.workspace.tasks.current(self.session.session_id)


class Tool(msgspec.Struct, Generic[P, S], frozen=True):
    """A tool's one definition: RPC method, schemas, MCP tool, help and configuration section come from it."""

    name: str
    title: str
    description: str
    params: type[P]
    data: type[msgspec.Struct]
    settings: type[S]
    hints: Hints
    run: Callable[[Call[S], P], Awaitable[Result | Deferred]]
    positional: Callable[[S], tuple[str, ...]]
    paths: Callable[[dict[str, Any]], tuple[object, ...]]
    check: Callable[[S, dict[str, Any]], None]
    at_hand: Callable[[Call[S], P], AtHand | None] | None
    rows_field: str | None = None
    omit_base64: bool = True


AnyTool = Tool[Any, Any]


def path_of(params: dict[str, Any]) -> object:
    """The path that unchecked parameters name, by either spelling, for its lane."""
    encoded = params.get("path_bytes")
    if isinstance(encoded, str) and encoded:
        return display.from_path_bytes(encoded)
    return params.get("path") or ""


def _one_path(params: dict[str, Any]) -> tuple[object, ...]:
    return (path_of(params),)


def _anything_goes(settings: Settings, params: dict[str, Any]) -> None:
    return None


def tool(
    *,
    title: str,
    hints: Hints,
    params: type[P],
    data: type[msgspec.Struct],
    settings: type[S],
    positional: Callable[[S], tuple[str, ...]] | None = None,
    paths: Callable[[dict[str, Any]], tuple[object, ...]] = _one_path,
    check: Callable[[S, dict[str, Any]], None] = _anything_goes,
    at_hand: Callable[[Call[S], P], AtHand | None] | None = None,
    rows_field: str | None = None,
    omit_base64: bool = True,
) -> Callable[[Callable[[Call[S], P], Awaitable[Result | Deferred]]], Tool[P, S]]:
    """Make the decorated function the tool of its name; its docstring is what a model reads.

    `positional` gives the order of positional parameters (default: the order of the fields). `paths` picks, from
    undecoded parameters, what the call names, so that the connection can keep calls on one path in order. `check`
    sees the undecoded parameters first, to refuse with better words than "unknown parameter".
    `at_hand` gives the same result without waiting, or None having done nothing.
    `rows_field` names the list in `data` that is cut where the answer would be too large.
    """

    def define(function: Callable[[Call[S], P], Awaitable[Result | Deferred]]) -> Tool[P, S]:
        names = tuple(params.__struct_encode_fields__)
        return Tool(
            name=function.__name__,
            title=title,
            description=_unindent(function.__doc__ or ""),
            params=params,
            data=data,
            settings=settings,
            hints=hints,
            run=function,
            positional=positional or (lambda _settings: names),
            paths=paths,
            check=check,
            at_hand=at_hand,
            rows_field=rows_field,
            omit_base64=omit_base64,
        )

    return define


def _unindent(doc: str) -> str:
    lines = [line.strip() for line in doc.strip().splitlines()]
    return "\n".join(lines)
