"""find_files: several queries at once, each a listing, a glob or a search."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.index.listing import NONE_SKIPPED
from picoclawd.index.listing import Skipped as NamesSkipped
from picoclawd.index.matcher import compile_search
from picoclawd.index.pathblob import order_key
from picoclawd.text import display, glob
from picoclawd.text.window import MATCH_ROW_MAX_BYTES
from picoclawd.tools._rows import row_of, shown_line
from picoclawd.tools._skipped import Skipped, skipped_words
from picoclawd.tools._spec import READS, Call, Cleaner, Deferred, Plain, Result, Settings, tool
from picoclawd.workspace.census import Census, FileLines, Job
from picoclawd.workspace.listing import Listed, list_below
from picoclawd.workspace.scope import Candidates, Consistency, Place
from picoclawd.workspace.search import Missed

Mode = Literal["list", "glob", "search"]
Output = Literal["files", "content"]

DEADLINE_S = 30.0
LIMIT_MAX = 1000
CONTEXT_MAX = 20
NAMES_MAX_BYTES = 128 * limits.KIB


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One place to look at, and what to look for there."""

    dir: Annotated[str, msgspec.Meta(description="The directory. Default: the workspace.")] = "."
    pattern: (
        Annotated[str, msgspec.Meta(description="glob: file name pattern; search: RE2 regular expression.")] | UnsetType
    ) = UNSET
    file_pattern: Annotated[str, msgspec.Meta(description="search: only files whose name matches.")] | UnsetType = UNSET
    recursive: (
        Annotated[bool, msgspec.Meta(description="Also below. Default: false for list, true otherwise.")] | UnsetType
    ) = UNSET


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of find_files."""

    queries: Annotated[list[Query], msgspec.Meta(min_length=1, max_length=100, description="What to look for.")]
    mode: Annotated[Mode, msgspec.Meta(description="Inferred from the queries where it is left out.")] | UnsetType = (
        UNSET
    )
    output: Annotated[Output, msgspec.Meta(description='search: "files" (default) or "content".')] = "files"
    multiline: Annotated[bool, msgspec.Meta(description="search: match whole files, `.` crosses newlines.")] = False
    offset: Annotated[int, msgspec.Meta(ge=0, description="Results to skip.")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, description="Results at most; 1000 is the most.")] = 256
    context: Annotated[int, msgspec.Meta(ge=0, description="search: lines around each match; 20 is the most.")] = 0
    consistency: (
        Annotated[Consistency, msgspec.Meta(description='"watched" is faster on large trees, and may lag.')] | UnsetType
    ) = UNSET


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One result: an entry, a file, a file with its count and first row numbers, or a line."""

    path: str
    path_bytes: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    ignored: bool | UnsetType = UNSET
    count: int | UnsetType = UNSET
    lines: list[int] | UnsetType = UNSET
    line: int | UnsetType = UNSET
    text: str | UnsetType = UNSET
    context: bool | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The page. `total` is null where the search ended before it knew."""

    mode: Mode
    results: list[Found]
    total: int | None
    offset: int
    next_offset: int | None
    complete: bool
    consistency: Consistency
    dropped: int
    skipped: Skipped


def _paths(params: dict[str, object]) -> tuple[object, ...]:
    """A search of several places has no order to keep with writes on any one path."""
    return ()


@tool(
    title="Find files",
    hints=READS,
    params=Params,
    data=Data,
    settings=Settings,
    paths=_paths,
    rows_field="results",
    omit_base64=False,
)
async def find_files(call: Call[Settings], params: Params) -> Result | Deferred:
    """Locate files, by several queries in one call.

    A query with only `dir` lists that directory; with `pattern` it finds files by name, newest first (substring or
    glob such as `src/**/*.ts`; it must hold a literal); with `pattern` and `file_pattern` it searches contents for the
    RE2 regular expression `pattern` in files whose name matches `file_pattern` (`**/*` for all). `mode` says it
    outright. A search counts everything and is shown in pages: `output: "files"` gives `path: count (first rows)`,
    ready for read_files `around`; `output: "content"` gives the lines. Repeat the call with the next `offset` and
    nothing else changed.
    """
    mode = _mode(params)
    stop = _Stop(call.cancelled)
    match mode:
        case "list":
            return await _list(call, params, stop)
        case "glob":
            return await _glob(call, params, stop)
        case "search":
            return await _search(call, params, stop)


class _Stop:
    """Says when to stop: at the deadline, or when the caller gave up."""

    def __init__(self, cancelled: Callable[[], bool]) -> None:
        self._cancelled = cancelled
        self._end = time.monotonic() + DEADLINE_S

    def __call__(self) -> bool:
        return self._cancelled() or time.monotonic() > self._end

    def poll(self, looked: int) -> None:
        self.check()
        if time.monotonic() > self._end:
            raise Fault(Slug.TIMEOUT, f"the names alone took {DEADLINE_S:.0f} s. Name a smaller `dir`.")

    def check(self) -> None:
        if self._cancelled():
            raise Fault(Slug.CANCELLED, "cancelled: the search stopped.")


def _mode(params: Params) -> Mode:
    if params.mode is not UNSET:
        return params.mode
    if any(query.pattern is not UNSET and query.file_pattern is not UNSET for query in params.queries):
        return "search"
    return "glob" if any(query.pattern is not UNSET for query in params.queries) else "list"


async def _place(call: Call[Settings], directory: str) -> Place:
    return await call.workspace.finder.place(call.actor, call.workspace.parse(directory if directory.strip() else "."))


# list


async def _list(call: Call[Settings], params: Params, stop: _Stop) -> Result:
    rows: dict[bytes, Found] = {}
    lines: dict[bytes, str] = {}
    for index, query in enumerate(params.queries):
        try:
            place = await _place(call, query.dir)
            recursive = query.recursive is True
            for listed in await list_below(
                call.workspace.finder, call.workspace.threads, place, recursive=recursive, poll=stop.poll
            ):
                key = order_key(place.absolute(listed.path))
                rows[key], lines[key] = _listed(place, listed)
        except Fault as fault:
            if fault.slug is Slug.CANCELLED:
                raise
            name = display.name(query.dir.encode("utf-8", "surrogateescape"))
            key = b"%d\xff" % index
            rows[key] = Found(path=query.dir, error=fault.slug.value)
            lines[key] = f"{name}: [{fault.slug.value}] {fault.message.splitlines()[0]}"
    keys = sorted(rows)
    return _named(params, "list", [rows[key] for key in keys], [lines[key] for key in keys], NONE_SKIPPED, "verified")


def _listed(place: Place, listed: Listed) -> tuple[Found, str]:
    row = row_of(place, listed.path)
    found = Found(path=row.path, path_bytes=row.path_bytes, kind=listed.kind, ignored=listed.ignored)
    mark = "/" if listed.kind == "dir" else ""
    return found, display.name(listed.path) + mark + (" (ignored)" if listed.ignored else "")


# glob


async def _glob(call: Call[Settings], params: Params, stop: _Stop) -> Result:
    dated: dict[bytes, tuple[int, Place, bytes]] = {}
    skipped = NONE_SKIPPED
    consistency: Consistency = "watched"
    for index, query in enumerate(params.queries):
        pattern = "" if query.pattern is UNSET else query.pattern
        if glob.is_all_wildcard(pattern):
            raise Fault(
                Slug.INVALID_PARAMS,
                f"find_files: the glob `{pattern[:100]}` selects everything. Give it a literal part, or use "
                'mode="list" for the entries of a directory, or mode="search" with a `file_pattern` to look into files.',
                path=f"$.queries[{index}].pattern",
                next_call=NextCall("find_files", {"queries": [{"dir": query.dir}], "mode": "list"}),
            )
        candidates = await _candidates(call, query, pattern, params, stop)
        skipped = skipped.plus(candidates.skipped)
        consistency = "verified" if candidates.consistency == "verified" else consistency
        for mtime_ns, path in await call.workspace.finder.dated(candidates, stop.poll):
            dated[candidates.place.absolute(path)] = (mtime_ns, candidates.place, path)
    newest = sorted(dated.values(), key=lambda item: (-item[0], order_key(item[2])))
    rows = [row_of(place, path) for _mtime, place, path in newest]
    found = [Found(path=row.path, path_bytes=row.path_bytes) for row in rows]
    lines = [display.name(path) for _mtime, _place, path in newest]
    return _named(params, "glob", found, lines, skipped, consistency)


async def _candidates(call: Call[Settings], query: Query, form: str, params: Params, stop: _Stop) -> Candidates:
    place = await _place(call, query.dir)
    wanted = None if params.consistency is UNSET else params.consistency
    candidates = await call.workspace.finder.find(place, form, wanted, stop.poll)
    if query.recursive is False:
        depth = place.directory.count(b"/") + 1 if place.directory else 0
        candidates.files = [path for path in candidates.files if path.count(b"/") == depth]
    return candidates


def _named(
    params: Params, mode: Mode, rows: list[Found], lines: list[str], skipped: NamesSkipped, consistency: Consistency
) -> Result:
    """Names, at most 128 KiB of them; the tail says how many were dropped."""
    kept = 0
    room = NAMES_MAX_BYTES
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept += 1
    dropped = len(lines) - kept
    left_out = _skipped(skipped, Missed())
    tail = [f"{len(lines)} {'entries' if mode == 'list' else 'files'}"] if lines else ["nothing found"]
    if dropped:
        tail.append(f"{dropped} dropped: at most 128 KiB are shown, so narrow the query")
    tail += skipped_words(left_out)
    data = Data(
        mode=mode,
        results=rows[:kept],
        total=len(rows),
        offset=0,
        next_offset=None,
        complete=True,
        consistency=consistency,
        dropped=dropped,
        skipped=left_out,
    )
    foot = ("\n" if kept else "") + f"[{'; '.join(tail)}]"
    return Result(data, body=(Plain("\n".join(lines[:kept])),), foot=foot)


def _skipped(names: NamesSkipped, missed: Missed) -> Skipped:
    found = asdict(missed)
    found["special"] += names.special
    found["unreadable"] += names.unreadable
    return Skipped(ignored=names.ignored, protected=names.protected, too_deep=names.too_deep, **found)


# search


@dataclass(frozen=True, slots=True)
class _Shown:
    """A page of a search as it is worded."""

    rows: list[Found]
    lines: list[str]
    count: int
    total: int
    changed: bool = False


async def _search(call: Call[Settings], params: Params, stop: _Stop) -> Result | Deferred:
    key = msgspec.json.encode(msgspec.structs.replace(params, offset=0, limit=1))
    census = call.session.kept.get(key) if params.offset else None
    anew = params.offset > 0 and census is None
    if census is None:
        census = await _count(call, params, stop)
        stop.check()
        call.session.kept.put(key, census)
    limit = min(params.limit, LIMIT_MAX)
    found = census
    if params.output == "files":
        entries = census.entries[params.offset : params.offset + limit]
        lines: list[FileLines] = []
    else:
        entries = []
        context = min(params.context, CONTEXT_MAX)
        lines = await call.workspace.counter.lines(census, params.offset, limit, context, stop)
        stop.check()

    def make(cleaner: Cleaner) -> Result:
        if params.output == "files":
            rows = [row_of(entry.job.place, entry.job.path) for entry in entries]
            results = [
                Found(path=row.path, path_bytes=row.path_bytes, count=entry.count, lines=list(entry.first_rows))
                for row, entry in zip(rows, entries, strict=True)
            ]
            texts = [
                f"{display.name(entry.job.path)}: {entry.count} ({', '.join(map(str, entry.first_rows))})"
                for entry in entries
            ]
            shown = _Shown(results, texts, len(entries), found.files)
        else:
            shown = _content(lines, found, cleaner)
        return _page(params, found, shown, anew)

    return Deferred(make)


async def _count(call: Call[Settings], params: Params, stop: _Stop) -> Census:
    jobs: dict[bytes, Job] = {}
    skipped = NONE_SKIPPED
    consistency: Consistency = "watched"
    for index, query in enumerate(params.queries):
        if query.pattern is UNSET:
            raise Fault(
                Slug.INVALID_PARAMS,
                "find_files: a search needs `pattern`, a regular expression, in every query.",
                path=f"$.queries[{index}].pattern",
            )
        pattern = compile_search(query.pattern, multiline=params.multiline)
        form = "" if query.file_pattern is UNSET else query.file_pattern
        candidates = await _candidates(call, query, form, params, stop)
        skipped = skipped.plus(candidates.skipped)
        consistency = "verified" if candidates.consistency == "verified" else consistency
        for path in candidates.files:
            absolute = path if candidates.place.inside else candidates.place.absolute(path)
            known = jobs.get(absolute)
            patterns = (pattern,) if known is None else (*known.patterns, pattern)
            jobs[absolute] = Job(candidates.place, path, patterns)
    ordered = list(jobs.values())
    if len(params.queries) > 1:
        ordered.sort(key=lambda job: (not job.place.inside, order_key(job.place.absolute(job.path))))
    census = await call.workspace.counter.count(ordered, stop)
    census.skipped = skipped
    census.consistency = consistency
    return census


def _content(page: list[FileLines], census: Census, cleaner: Cleaner) -> _Shown:
    rows: list[Found] = []
    texts: list[str] = []
    count = 0
    for file in page:
        row = row_of(file.job.place, file.job.path)
        name = display.name(file.job.path)
        last = 0
        for line in file.lines:
            if last and line.line_no > last + 1 and any(other.match is None for other in file.lines):
                texts.append("--")
            last = line.line_no
            text = shown_line(line, cleaner, MATCH_ROW_MAX_BYTES)
            is_match = line.match is not None
            mark = ":" if is_match else "-"
            texts.append(f"{name}{mark}{line.line_no}{mark}{text}")
            rows.append(
                Found(
                    path=row.path,
                    path_bytes=row.path_bytes,
                    line=line.line_no,
                    text=text,
                    context=UNSET if is_match else True,
                )
            )
            count += is_match
    return _Shown(rows, texts, count, census.lines, any(file.changed for file in page))


def _page(params: Params, census: Census, shown: _Shown, anew: bool) -> Result:
    unit = "files" if params.output == "files" else "lines"
    total = f"{shown.total}" if census.complete else f"{shown.total}+"
    end = params.offset + shown.count
    more = end < shown.total and shown.count > 0
    if shown.count:
        parts = [f"{unit} {params.offset + 1}-{end} of {total}", f"next offset={end}" if more else "last page"]
    elif params.offset and shown.total:
        parts = [f"no result at offset {params.offset}: there are {total} {unit}", "last page"]
    else:
        parts = ["no match", "last page"]
    if not census.complete:
        parts.append(f"the search ended after {DEADLINE_S:.0f} s and is not complete: narrow `dir` or `file_pattern`")
    if anew:
        parts.append("this is a new search: pages belong together only if nothing but offset and limit changes")
    if shown.changed:
        parts.append("a file of this page changed since it was counted: begin again with offset=0")
    skipped = _skipped(census.skipped, census.missed)
    parts += skipped_words(skipped)
    data = Data(
        mode="search",
        results=shown.rows,
        total=shown.total if census.complete else None,
        offset=params.offset,
        next_offset=end if more else None,
        complete=census.complete,
        consistency="watched" if census.consistency == "watched" else "verified",
        dropped=0,
        skipped=skipped,
    )
    foot = ("\n" if shown.lines else "") + f"[{'; '.join(parts)}]"
    return Result(data, body=(Plain("\n".join(shown.lines)),), foot=foot)
