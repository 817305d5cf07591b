"""search_files: lines that match a regular expression, or files by name."""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.index.contents import Allowance
from picoclawd.index.pattern import SearchPattern
from picoclawd.text.window import ROW_MAX_BYTES
from picoclawd.tools._rows import Row, row_of, shown_lines, shown_name
from picoclawd.tools._sieve import sieve_maker
from picoclawd.tools._skipped import Skipped, skipped_of, skipped_words, trust_words
from picoclawd.tools._spec import READS, Call, Cleaner, Deferred, PathBytesParam, Plain, Result, Settings, tool
from picoclawd.tools._stop import Stop
from picoclawd.workspace.scope import Candidates, Place
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


class _Page(msgspec.Struct, frozen=True):
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
    stop = Stop(call.cancelled, DEADLINE_S)
    pattern = None if params.target == "files" else call.workspace.patterns.compile(params.pattern)
    place = await call.workspace.finder.place(path)
    wanted = None if params.consistency is UNSET else params.consistency
    form = params.pattern if pattern is None else params.file_glob
    # The names of links are shown to nobody before they are judged; a search for contents opens what it gets to.
    judge = pattern is None
    candidates = await call.workspace.finder.find(place, form, wanted, stop.poll, judge_links=judge)
    if params.order == "modified":
        candidates = await call.workspace.finder.newest_first(candidates, stop.poll)
    if pattern is None:
        return _names(call, page, candidates)
    return await _search(call, page, pattern, candidates, stop)


async def _search(
    call: Call[SearchFilesSettings], page: _Page, pattern: SearchPattern, candidates: Candidates, stop: Stop
) -> Deferred:
    files, before = call.session.pages.get(page.key, (0, 0)) if page.offset else (0, 0)
    make_sieve = sieve_maker(call)
    query = Query(
        pattern=pattern,
        shape=_shape(page),
        offset=page.offset,
        limit=page.limit,
        stop_early=page.params.order == "discovery",
        context=page.context,
        sieve=None if make_sieve is None else make_sieve((pattern,)),
        compare_at=files,
    )
    outcome = await call.workspace.searcher.search(query, candidates, _allowance(call.settings), stop)
    stop.check()
    call.session.note_page(page.key, outcome.seen)
    went_so_far = outcome.total is not None or outcome.passed is not None  # else it is an earlier page than the last
    changed = files > 0 and outcome.complete and went_so_far and outcome.passed != before
    return Deferred(lambda cleaner: _contents(page, candidates, outcome, cleaner, changed))


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


def _names(call: Call[SearchFilesSettings], page: _Page, candidates: Candidates) -> Result:
    files = candidates.files
    shown = files[page.offset : page.offset + page.limit]
    seen = (len(files), candidates.identity)
    changed = page.offset > 0 and call.session.pages.get(page.key, seen) != seen
    call.session.note_page(page.key, seen)
    found = _Found(
        rows=[row_of(candidates.place, path) for path in shown],
        lines=[shown_name(candidates.place, path) for path in shown],
        total=len(files) if candidates.complete else None,
        more=len(files) > page.offset + page.limit,
        complete=candidates.complete,
        missed=Missed(vanished=candidates.vanished),
        changed=changed,
    )
    return _result(page, candidates, found)


def _contents(page: _Page, candidates: Candidates, outcome: Outcome, cleaner: Cleaner, changed: bool) -> Result:
    rows: list[Row] = []
    lines: list[str] = []
    shown = iter(shown_lines([line for hit in outcome.hits for line in hit.lines], cleaner, ROW_MAX_BYTES))
    for index, hit in enumerate(outcome.hits):
        row, texts = _shown(page, candidates.place, hit, shown)
        rows.append(row)
        if index and hit.lines and page.context:
            lines.append("--")
        lines += texts
    found = _Found(
        rows=rows,
        lines=lines,
        total=outcome.total,
        more=outcome.complete if outcome.total is None else outcome.total > page.offset + len(rows) > page.offset,
        complete=outcome.complete,
        missed=outcome.missed,
        changed=changed,
    )
    return _result(page, candidates, found)


def _shown(page: _Page, place: Place, hit: Hit, shown: Iterator[str]) -> tuple[Row, list[str]]:
    """One result as a row of data and as lines of text; the texts of its own lines come first in `shown`."""
    name = shown_name(place, hit.path)
    mode = page.params.output_mode
    if mode == "files_only":
        return row_of(place, hit.path), [name]
    if mode == "count":
        return row_of(place, hit.path, count=hit.count), [f"{name}:{hit.count}"]
    texts = [(line.line_no, next(shown), line.match is not None) for line in hit.lines]
    if not page.context:
        line_no, text, _ = texts[0]
        return row_of(place, hit.path, line=line_no, text=text), [f"{name}:{line_no}:{text}"]
    lines = [f"{name}{':' if match else '-'}{line_no}{':' if match else '-'}{text}" for line_no, text, match in texts]
    return row_of(place, hit.path, block=texts), lines


class _Found(msgspec.Struct, frozen=True):
    """What is on the page, and what is said of it."""

    rows: list[Row]
    lines: list[str]
    total: int | None
    more: bool
    complete: bool
    missed: Missed
    changed: bool


def _result(page: _Page, candidates: Candidates, found: _Found) -> Result:
    skipped = skipped_of(candidates.skipped, found.missed)
    data = Data(
        results=found.rows,
        total=found.total,
        offset=page.offset,
        next_offset=page.offset + len(found.rows) if found.more else None,
        complete=found.complete,
        consistency=candidates.consistency,
        skipped=skipped,
    )
    parts = [_which(page, found)]
    if not found.complete:
        parts.append(f"the search ended after {DEADLINE_S:.0f} s and is not complete: narrow `path` or `file_glob`")
    if found.changed:
        parts.append("the scope changed since the page before: begin again with offset=0")
    parts += skipped_words(skipped) + trust_words(candidates.consistency, candidates.degraded)
    foot = ("\n" if found.lines else "") + f"[{'; '.join(parts)}]"
    return Result(data, body=(Plain("\n".join(found.lines)),), foot=foot)


def _which(page: _Page, found: _Found) -> str:
    """Which results these are, and whether there are more."""
    if found.rows:
        end = page.offset + len(found.rows)
        span = f"results {page.offset + 1}-{end}" + ("" if found.total is None else f" of {found.total}")
        return f"{span}; more: call again with offset={end}" if found.more else span
    if found.total is None:
        return f"no result from offset {page.offset} on was found in time"
    if page.offset and found.total:
        return f"no result at offset {page.offset}: there are {found.total} in all"
    return "no match"
