"""search_files: lines that match a regular expression, or files by name."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.index.contents import Allowance
from picoclawd.index.matcher import compile_search
from picoclawd.text import display, redact
from picoclawd.text.window import ROW_MAX_BYTES
from picoclawd.tools._rows import Row, row_of, shown_line
from picoclawd.tools._skipped import Skipped, skipped_words
from picoclawd.tools._spec import READS, Call, Cleaner, Deferred, PathBytesParam, Plain, Result, Settings, tool
from picoclawd.workspace.scope import Candidates
from picoclawd.workspace.search import Hit, Missed, Outcome, Query, Shape

Target = Literal["content", "files"]
Order = Literal["discovery", "modified"]
Mode = Literal["content", "files_only", "count"]
Consistency = Literal["verified", "watched"]

LIMIT_MAX = 200
CONTEXT_MAX = 20
DEADLINE_S = 10.0
INDEXED_FILES_MAX = 100_000
INDEXED_BYTES_MAX = 1024 * limits.MIB


class SearchFilesSettings(Settings, frozen=True, kw_only=True):
    """tools.search_files.*"""

    scan_max_files: Annotated[
        int | None, msgspec.Meta(description="Files that one search may read from disk; null: 100000.")
    ] = None
    scan_max_bytes: Annotated[
        int | None, msgspec.Meta(description="Bytes that one search may read from disk; null: 1 GiB.")
    ] = None


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of search_files."""

    pattern: Annotated[
        str,
        msgspec.Meta(description="RE2 regular expression for contents, or a file name pattern for target files."),
    ]
    target: Annotated[Target, msgspec.Meta(description='"content" (default) or "files".')] = "content"
    path: Annotated[str, msgspec.Meta(description="File or directory to search. Default: the workspace.")] = "."
    path_bytes: PathBytesParam | UnsetType = UNSET
    file_glob: Annotated[str, msgspec.Meta(description="Only files whose name matches, for content searches.")] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, description="Results at most; 200 is the most.")] = 50
    offset: Annotated[int, msgspec.Meta(ge=0, description="Results to skip.")] = 0
    order: Annotated[Order, msgspec.Meta(description='"modified": newest first.')] = "discovery"
    output_mode: Annotated[Mode, msgspec.Meta(description='"content", "files_only" or "count".')] = "content"
    context: Annotated[int, msgspec.Meta(ge=0, description="Lines around each match; 20 is the most.")] = 0
    consistency: (
        Annotated[Consistency, msgspec.Meta(description='"watched" is faster on large trees, and may lag.')] | UnsetType
    ) = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The page. `total` is null where the search stopped before it knew."""

    results: list[Row]
    total: int | None
    offset: int
    next_offset: int | None
    complete: bool
    consistency: Consistency
    skipped: Skipped


@dataclass(frozen=True, slots=True)
class _Page:
    """What was asked for, with limits clamped."""

    params: Params
    limit: int
    context: int

    @property
    def offset(self) -> int:
        return self.params.offset

    @property
    def key(self) -> object:
        """What two pages of one search have in common."""
        return msgspec.structs.replace(self.params, offset=0, limit=1)


@tool(
    title="Search files",
    hints=READS,
    params=Params,
    data=Data,
    settings=SearchFilesSettings,
    rows_field="results",
    omit_base64=False,  # a row shows at most 240 bytes of a line, whatever that is
)
async def search_files(call: Call[SearchFilesSettings], params: Params) -> Result | Deferred:
    """Search file contents with a regular expression, or find files by name. Use it instead of grep, rg, find and ls.

    Contents: `pattern` is RE2 (no look-around, no back references), matched line by line; rows are `path:line:text`.
    `output_mode` gives only the files, or counts; `context` shows lines around each match; `file_glob` narrows by
    name. Names: `target: "files"`, with a substring (`docker-compose`) or a glob (`src/**/*.ts`, `*.{js,ts}`; without
    `/` it is compared with the base name); an empty pattern lists every file. Rules of .gitignore and .ignore hold
    unless `path` names an ignored place. The footer says what was left out and the next `offset`.
    """
    page = _Page(params, min(params.limit, LIMIT_MAX), min(params.context, CONTEXT_MAX))
    given = params.path if params.path.strip() or params.path_bytes is not UNSET else "."
    path = call.workspace.parse(given, None if params.path_bytes is UNSET else params.path_bytes)
    stop = _Stop(call.cancelled)
    by_name = params.target == "files"
    pattern = None if by_name else compile_search(params.pattern)
    place = await call.workspace.finder.place(call.actor, path)
    wanted = None if params.consistency is UNSET else params.consistency
    form = params.pattern if by_name else params.file_glob
    candidates = await call.workspace.finder.find(place, form, wanted, stop.poll)
    if params.order == "modified":
        candidates = await call.workspace.finder.newest_first(candidates, stop.poll)
    if pattern is None:
        return _names(call, page, candidates)
    accepts = _masked_too(params.pattern) if _is_strict(call) else None
    seen = call.session.pages.get(page.key, (0, 0)) if page.offset else (0, 0)
    query = Query(
        pattern=pattern,
        shape=_shape(page),
        offset=page.offset,
        limit=page.limit,
        stop_early=params.order == "discovery",
        context=page.context,
        accepts=accepts,
        compare_at=seen[0],
    )
    outcome = await call.workspace.searcher.search(query, candidates, _allowance(call.settings), stop)
    if call.cancelled():
        raise Fault(Slug.CANCELLED, "cancelled: the search stopped.")
    call.session.note_page(page.key, outcome.seen)
    changed = seen[0] > 0 and outcome.passed != seen[1]
    return Deferred(lambda cleaner: _contents(page, candidates, outcome, cleaner, changed))


class _Stop:
    """Says when to stop: at the deadline, or when the caller gave up."""

    def __init__(self, cancelled: Callable[[], bool]) -> None:
        self._cancelled = cancelled
        self._end = time.monotonic() + DEADLINE_S

    def __call__(self) -> bool:
        return self._cancelled() or time.monotonic() > self._end

    def poll(self, looked: int) -> None:
        """Called while names are gathered: nothing useful comes of half of them."""
        if self._cancelled():
            raise Fault(Slug.CANCELLED, "cancelled: the search stopped.")
        if time.monotonic() > self._end:
            raise Fault(Slug.TIMEOUT, f"the names alone took {DEADLINE_S:.0f} s. Name a smaller `path`.")


def _shape(page: _Page) -> Shape:
    match page.params.output_mode:
        case "files_only":
            return Shape.FILES
        case "count":
            return Shape.COUNTS
        case _:
            return Shape.BLOCKS if page.context else Shape.LINES


def _allowance(settings: SearchFilesSettings) -> Allowance:
    files = INDEXED_FILES_MAX if settings.scan_max_files is None else settings.scan_max_files
    size = INDEXED_BYTES_MAX if settings.scan_max_bytes is None else settings.scan_max_bytes
    return Allowance(files, size)


def _is_strict(call: Call[Any]) -> bool:
    return call.workspace.options.redaction == "strict" and not call.actor.is_operator


def _masked_too(source: str) -> Callable[[bytes], bool]:
    """Accept a line only if what is shown of it matches as well: else searching would be a way to guess a secret."""
    pattern = compile_search(source)

    def accepts(line: bytes) -> bool:
        text = line.decode("utf-8", "replace")
        masked = redact.redact(text)
        return (
            masked == text or next(pattern.hits(masked.encode() or b"\n", len(masked.encode()) or 1), None) is not None
        )

    return accepts


def _names(call: Call[SearchFilesSettings], page: _Page, candidates: Candidates) -> Result:
    files = candidates.files
    shown = files[page.offset : page.offset + page.limit]
    key = ("names", page.key)
    changed = page.offset > 0 and call.session.pages.get(key, (0, candidates.generation)) != (0, candidates.generation)
    call.session.note_page(key, (0, candidates.generation))
    rows = [row_of(candidates.place, path) for path in shown]
    more = len(files) > page.offset + page.limit
    lines = [display.name(path) for path in shown]
    skipped = _skipped(candidates, Missed())
    foot = _footer(page, len(shown), len(files), more, True, skipped, candidates, changed)
    data = Data(
        results=rows,
        total=len(files),
        offset=page.offset,
        next_offset=page.offset + len(shown) if more else None,
        complete=True,
        consistency=candidates.consistency,
        skipped=skipped,
    )
    return Result(data, body=(Plain("\n".join(lines)),), foot=("\n" if lines else "") + foot)


def _contents(page: _Page, candidates: Candidates, outcome: Outcome, cleaner: Cleaner, changed: bool) -> Result:
    rows: list[Row] = []
    lines: list[str] = []
    for index, hit in enumerate(outcome.hits):
        row, texts = _shown(page, candidates, hit, cleaner)
        rows.append(row)
        if page.context and index:
            lines.append("--")
        lines += texts
    found = len(outcome.hits)
    more = outcome.total is None if outcome.complete else False
    if outcome.total is not None:
        more = outcome.total > page.offset + found
    skipped = _skipped(candidates, outcome.missed)
    foot = _footer(page, found, outcome.total, more, outcome.complete, skipped, candidates, changed)
    data = Data(
        results=rows,
        total=outcome.total,
        offset=page.offset,
        next_offset=page.offset + found if more else None,
        complete=outcome.complete,
        consistency=candidates.consistency,
        skipped=skipped,
    )
    return Result(data, body=(Plain("\n".join(lines)),), foot=("\n" if lines else "") + foot)


def _shown(page: _Page, candidates: Candidates, hit: Hit, cleaner: Cleaner) -> tuple[Row, list[str]]:
    """One result as a row of data and as lines of text."""
    name = display.name(hit.path)
    mode = page.params.output_mode
    if mode == "files_only":
        return row_of(candidates.place, hit.path), [name]
    if mode == "count":
        return row_of(candidates.place, hit.path, count=hit.count), [f"{name}:{hit.count}"]
    texts = [(line.line_no, shown_line(line, cleaner, ROW_MAX_BYTES), line.match is not None) for line in hit.lines]
    if not page.context:
        line_no, text, _ = texts[0]
        return row_of(candidates.place, hit.path, line=line_no, text=text), [f"{name}:{line_no}:{text}"]
    lines = [f"{name}{':' if match else '-'}{line_no}{':' if match else '-'}{text}" for line_no, text, match in texts]
    return row_of(candidates.place, hit.path, block=texts), lines


def _skipped(candidates: Candidates, missed: Missed) -> Skipped:
    names = candidates.skipped
    found = asdict(missed)
    found["special"] += names.special
    found["unreadable"] += names.unreadable
    return Skipped(ignored=names.ignored, protected=names.protected, too_deep=names.too_deep, **found)


def _footer(
    page: _Page,
    found: int,
    total: int | None,
    more: bool,
    complete: bool,
    skipped: Skipped,
    candidates: Candidates,
    changed: bool,
) -> str:
    """Which results these are, whether there are more, what was left out and how sure that is."""
    parts = [_which(page, found, total, more)]
    if not complete:
        parts.append(f"the search ended after {DEADLINE_S:.0f} s and is not complete: narrow `path` or `file_glob`")
    if changed:
        parts.append("files of the scope changed since the page before: begin again with offset=0")
    parts += skipped_words(skipped)
    if candidates.consistency == "watched":
        parts.append("watched: changes by other programs may lag")
    if candidates.degraded:
        parts.append(f"the watcher is degraded ({candidates.degraded}), so everything was verified")
    return f"[{'; '.join(parts)}]"


def _which(page: _Page, found: int, total: int | None, more: bool) -> str:
    if not found:
        if page.offset and total:
            return f"no result at offset {page.offset}: there are {total} in all"
        return "no match"
    span = f"results {page.offset + 1}-{page.offset + found}"
    if total is not None:
        span += f" of {total}"
    return f"{span}; more: call again with offset={page.offset + found}" if more else span
