"""One call of one tool: decode, run, redact, spill, encode. The only place that redacts an answer."""

from collections.abc import Callable, Mapping, Set
from typing import Any

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.waits import Waits
from picoclawd.text import redact
from picoclawd.tools._decode import decode
from picoclawd.tools._render import Renderer, View
from picoclawd.tools._spec import AnyTool, Call, Deferred, Result, Settings
from picoclawd.workspace.cache import CachedFile
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.workspace import Workspace

# Members of `data` that hold names, ids, hashes and pictures: never redacted, or they would say nothing any more.
NAMES = frozenset(
    {
        "path",
        "resolved_path",
        "path_bytes",
        "name",
        "target",
        "moved_to",
        "artifact",
        "image",
        "next",
        "sha256",
        "sha256_before",
        "sha256_after",
        "session_id",
        "task_id",
        "id",
    }
)
_NOTICE_ROOM_CHARS = 400  # the spill notice with the longest artifact path


class Toolbox(msgspec.Struct, frozen=True):
    """The tools that are switched on, with their settings."""

    entries: Mapping[str, tuple[AnyTool, Settings]]

    @property
    def names(self) -> Set[str]:
        """Their names."""
        return self.entries.keys()


class Asked(msgspec.Struct, frozen=True):
    """How a call came in: by whom, how it is stopped, what it reports to, and what `_meta` said (`dry_run`, `op`)."""

    session: Session
    cancelled: Callable[[], bool]
    progress: Callable[[int, int | None, str], None]
    dry_run: bool = False
    op: str | None = None
    waits: Waits = msgspec.field(default_factory=Waits)


class _Running:
    """A call whose parameters are decoded: everything before and after the tool's own work.

    Raises: as the tool's check and `decode` do, in the words for the call's reader.
    """

    __slots__ = ("call", "params", "renderer", "tool")

    def __init__(
        self, toolbox: Toolbox, workspace: Workspace, name: str, params: dict[str, Any] | list[Any], asked: Asked
    ) -> None:
        self.tool, settings = toolbox.entries[name]
        raw = named(self.tool, settings, params)
        view = view_of(asked.session, workspace)
        self.renderer = Renderer(view, self.tool.omit_base64, _supplied(raw) if view is View.STRICT else "")
        self.call: Call[Any] = Call(
            tool=name,
            given=raw,
            session=asked.session,
            workspace=workspace,
            settings=settings,
            enabled=toolbox.names,
            inline_chars=workspace.options.inline_chars,
            cancelled=asked.cancelled,
            progress=asked.progress,
            dry_run=asked.dry_run,
            op=asked.op,
            waits=asked.waits,
        )
        try:
            self.tool.check(settings, raw)
            self.params = decode(name, self.tool.params, raw)
        except Fault as fault:
            raise _for_reader(fault, self.renderer) from fault

    @property
    def answer_key(self) -> object:
        """What two calls on one state of a file have in common if their answers are the same."""
        call, renderer = self.call, self.renderer
        return renderer.view, renderer.supplied, self.params, call.workspace.options, call.settings

    def note_read(self, file: CachedFile) -> None:
        """Note that the session saw some of the file."""
        self.call.session.ledger.note_read(file.real, file.stamp, file.sha256, file.data)

    def answer(self, result: Result) -> tuple[dict[str, Any], "_Overlong | None"]:
        """The answer, and what of it is too long to be sent as it is."""
        data: dict[str, Any] = msgspec.to_builtins(result.data)
        operator = self.renderer.view is View.VERBATIM
        if not operator:
            data = _redacted(data)
        _fit(data, self.tool.rows_field, limits.DATA_MAX_BYTES_OPERATOR if operator else limits.DATA_MAX_BYTES_AGENT)
        body = self.renderer.render(result.body)
        content = result.head + body + result.foot or msgspec.json.encode(data).decode()
        answer = {"content": content, "display": _display(result, self.renderer), "data": data}
        room = self.call.inline_chars
        if operator or result.keep_inline or len(content) <= room:
            return answer, None
        return answer, _Overlong(result, body, room)


class _Overlong(msgspec.Struct, frozen=True):
    """A result whose content does not fit into `room` characters."""

    result: Result
    body: str
    room: int


async def call_tool(
    toolbox: Toolbox, workspace: Workspace, name: str, params: dict[str, Any] | list[Any], asked: Asked
) -> dict[str, Any]:
    """Run the tool and return `{"content", "display", "data"}` as its reader may see it.

    Raises: invalid_params and whatever the tool raises; file text in a Fault is already redacted.
    """
    running = _Running(toolbox, workspace, name, params, asked)
    try:
        found = await running.tool.run(running.call, running.params)
        result = found.make(running.renderer) if isinstance(found, Deferred) else found
    except Fault as fault:
        raise _for_reader(fault, running.renderer) from fault
    answer, overlong = running.answer(result)
    if overlong is not None:
        artifact = await workspace.artifacts.spill(asked.session, name, answer["content"])
        answer["content"] = _preview(overlong, artifact)
        answer["data"] |= {"spilled": True, "artifact": artifact}
    return answer


def call_at_once(
    toolbox: Toolbox, workspace: Workspace, name: str, params: dict[str, Any] | list[Any], asked: Asked
) -> msgspec.Raw | None:
    """What `call_tool` would return, as JSON, where that needs no waiting; None, with nothing done, where it does.

    An answer made of a file that is still the same is not made again.

    Raises: as `call_tool` does.
    """
    running = _Running(toolbox, workspace, name, params, asked)
    try:
        at_hand = None if running.tool.at_hand is None else running.tool.at_hand(running.call, running.params)
        if at_hand is None:
            return None
        key = running.answer_key
        kept = at_hand.file.answers.get(key)
        if kept is not None:
            running.note_read(at_hand.file)
            return kept
        result = at_hand.make()
    except Fault as fault:
        raise _for_reader(fault, running.renderer) from fault
    answer, overlong = running.answer(result)
    if overlong is not None:
        return None
    encoded = msgspec.Raw(msgspec.json.encode(answer))
    at_hand.file.keep_answer(key, encoded)
    running.note_read(at_hand.file)
    return encoded


def named(tool: AnyTool, settings: Settings, params: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """Parameters by name. Positional ones follow the tool's documented order.

    Raises: invalid_params for more of them than the tool has.
    """
    if isinstance(params, dict):
        return params
    order = tool.positional(settings)
    if len(params) > len(order):
        raise Fault(
            Slug.INVALID_PARAMS,
            f"{tool.name} takes at most {len(order)} positional parameters, in this order: {', '.join(order)}.",
            path=f"$[{len(order)}]",
        )
    return dict(zip(order, params, strict=False))


def view_of(session: Session, workspace: Workspace) -> View:
    """How much of a file's text the session may see."""
    if session.actor.is_operator:
        return View.VERBATIM
    return View.STRICT if workspace.options.redaction == "strict" else View.ACCIDENT


def _supplied(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, dict):
        return "\n".join(_supplied(value) for value in raw.values())
    return "\n".join(_supplied(value) for value in raw) if isinstance(raw, list) else ""


def _for_reader(fault: Fault, renderer: Renderer) -> Fault:
    if renderer.view is View.VERBATIM:
        return fault
    cleaned = Fault(
        fault.slug,
        fault.message,
        excerpt=renderer.clean(fault.excerpt),
        outcome=fault.outcome,
        retryable=fault.retryable,
        next_call=fault.next_call,
    )
    cleaned.data = _redacted(fault.data)
    return cleaned


def _redacted(data: dict[str, Any]) -> dict[str, Any]:
    cleaned = redact.redact_values(data, NAMES)
    assert isinstance(cleaned, dict)
    return cleaned


def _display(result: Result, renderer: Renderer) -> str | None:
    if result.display is None:
        return None
    if renderer.view is not View.STRICT:
        return Renderer(View.DISPLAY).render(result.display)
    return redact.redact(Renderer(View.DISPLAY).render(result.display))


def _preview(overlong: _Overlong, artifact: str | None) -> str:
    """Head, the body's beginning and end, foot, and in the middle where the whole is: within the room."""
    result, body, room = overlong.result, overlong.body, overlong.room
    shown = max(0, room - len(result.head) - len(result.foot) - _NOTICE_ROOM_CHARS)
    first, last = shown * 2 // 3, shown - shown * 2 // 3
    omitted = len(body) - first - last
    if artifact is None:
        where = "they could not be stored: ask for a smaller page"
    else:
        where = f'the whole result is in {artifact}: call read_file with {{"path": "{artifact}"}}'
    notice = f"\n\n[... {omitted} characters omitted; {where} ...]\n\n"
    return (result.head + body[:first] + notice + body[len(body) - last :] + result.foot)[:room]


def _fit(data: dict[str, Any], rows_field: str | None, max_bytes: int) -> None:
    """Leave out rows at the end until `data` fits; say how many in `rows_cut`, and go on with them.

    Pictures do not count: they have a bound of their own.
    """
    if rows_field not in data:
        return
    rows: list[Any] = data[rows_field]
    bare = [_bare(row) for row in rows]
    if len(msgspec.json.encode({**data, rows_field: bare})) <= max_bytes:
        return
    room = max_bytes - len(msgspec.json.encode({**data, rows_field: []})) - 64
    kept = 0
    for row in bare:
        room -= len(msgspec.json.encode(row)) + 1
        if room < 0:
            break
        kept += 1
    data[rows_field], data["rows_cut"] = rows[:kept], len(rows) - kept
    if "next_offset" in data:
        data["next_offset"] = data.get("offset", 0) + kept


def _bare(row: Any) -> Any:
    return {**row, "image": None} if isinstance(row, dict) and row.get("image") else row
