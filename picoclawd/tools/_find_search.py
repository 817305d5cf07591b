"""find_files by contents: count every matching line once, then show that one result in pages."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.index.pathblob import order_key
from picoclawd.index.pattern import SearchPattern
from picoclawd.text.window import MATCH_ROW_MAX_BYTES
from picoclawd.tools._find import Data, Found, Params
from picoclawd.tools._find_names import Scope, candidates_of
from picoclawd.tools._rows import row_of, shown_lines, shown_name
from picoclawd.tools._sieve import sieve_maker
from picoclawd.tools._skipped import skipped_of, skipped_words, trust_words
from picoclawd.tools._spec import Call, Cleaner, Deferred, Plain, Result, Settings
from picoclawd.tools._stop import Stop
from picoclawd.workspace.census import Census, Entry, FileLines, Job
from picoclawd.workspace.scope import Candidates

DEADLINE_S = 30.0
LIMIT_MAX = 1000
CONTEXT_MAX = 20
_DATA_ROOM_BYTES = 2 * limits.KIB  # of `data`, for all but the rows


class _Page(msgspec.Struct, frozen=True):
    """Which part of a search is to be shown. `anew`: the pages before belong to another search."""

    params: Params
    census: Census
    anew: bool
    data_max_bytes: int

    @property
    def limit(self) -> int:
        return min(self.params.limit, LIMIT_MAX)

    @property
    def total(self) -> int:
        return self.census.files if self.params.output == "files" else self.census.lines

    @property
    def end(self) -> int:
        """The offset of the next page."""
        return max(self.params.offset, min(self.params.offset + self.limit, self.total))


class _Shown(msgspec.Struct, frozen=True):
    """The rows of a page and their lines of content."""

    rows: list[Found]
    lines: list[str]
    changed: bool


async def search_lines(call: Call[Settings], params: Params, stop: Stop) -> Deferred:
    """Search, or come back for another page of a search that is kept."""
    key = msgspec.json.encode(msgspec.structs.replace(params, offset=0, limit=1, mode="search", consistency=UNSET))
    kept = call.session.kept.get(key) if params.offset else None
    census = kept
    if census is None:
        census = await _count(call, params, stop)
        stop.check()
        call.session.kept.put(key, census)
    room = limits.DATA_MAX_BYTES_OPERATOR if call.actor.is_operator else limits.DATA_MAX_BYTES_AGENT
    page = _Page(params, census, params.offset > 0 and kept is None, room)
    if params.output == "files":
        entries = await call.workspace.counter.filled(census.entries[params.offset : page.end], stop)
        changed = kept is not None and await call.workspace.counter.has_changed(entries, stop)
        stop.check()
        return Deferred(lambda cleaner: _result(page, _files(entries, changed)))
    context = min(params.context, CONTEXT_MAX)
    lines = await call.workspace.counter.lines(census, params.offset, page.limit, context, stop)
    stop.check()
    return Deferred(lambda cleaner: _result(page, _content(lines, cleaner)))


async def _count(call: Call[Settings], params: Params, stop: Stop) -> Census:
    scope = Scope()
    make_sieve = sieve_maker(call)
    jobs: dict[bytes, Job] = {}
    for index, query in enumerate(params.queries):
        if query.pattern is UNSET:
            raise Fault(
                Slug.INVALID_PARAMS,
                "find_files: a search needs `pattern`, a regular expression, in every query.",
                path=f"$.queries[{index}].pattern",
            )
        pattern = call.workspace.patterns.compile(query.pattern, multiline=params.multiline)
        form = "" if query.file_pattern is UNSET else query.file_pattern
        candidates = await candidates_of(call, query, form, params, stop)
        scope.add(candidates)
        place = candidates.place
        if _is_one_pass(params, candidates, pattern) and make_sieve is None:
            census = await call.workspace.counter.count_all(candidates, pattern, stop)
            return _described(census, scope)
        for path in candidates.files:
            key = path if place.inside else place.absolute(path)
            known = jobs.get(key)
            if known is None:
                jobs[key] = Job(place, path, (pattern,))
            elif pattern not in known.patterns:
                jobs[key] = Job(place, path, (*known.patterns, pattern))
    ordered = list(jobs.values())
    if len(params.queries) > 1:
        ordered.sort(key=lambda job: (not job.place.inside, order_key(job.place.shown(job.path))))
    return _described(await call.workspace.counter.count(ordered, stop, make_sieve), scope)


def _is_one_pass(params: Params, candidates: Candidates, pattern: SearchPattern) -> bool:
    """Whether joined texts can be searched: of one pattern that looks at lines, in files of the workspace."""
    place = candidates.place
    return len(params.queries) == 1 and place.inside and place.file is None and pattern.suits_bundles


def _described(census: Census, scope: Scope) -> Census:
    census.skipped, census.consistency, census.degraded = scope.skipped, scope.consistency, scope.degraded
    census.complete = census.complete and scope.complete
    return census


def _files(entries: Sequence[Entry], changed: bool) -> _Shown:
    rows: list[Found] = []
    lines: list[str] = []
    for entry in entries:
        place, path = entry.job.place, entry.job.path
        row = row_of(place, path)
        first = list(entry.first_rows or ())
        rows.append(Found(path=row.path, path_bytes=row.path_bytes, count=entry.count, lines=first))
        lines.append(f"{shown_name(place, path)}: {entry.count} ({', '.join(map(str, first))})")
    return _Shown(rows, lines, changed)


def _content(page: Sequence[FileLines], cleaner: Cleaner) -> _Shown:
    rows: list[Found] = []
    texts: list[str] = []
    shown = iter(shown_lines([line for file in page for line in file.lines], cleaner, MATCH_ROW_MAX_BYTES))
    for file in page:
        row = row_of(file.job.place, file.job.path)
        name = shown_name(file.job.place, file.job.path)
        has_context = any(line.match is None for line in file.lines)
        last = 0
        for line in file.lines:
            if has_context and last and line.line_no > last + 1:
                texts.append("--")
            last = line.line_no
            text = next(shown)
            context = UNSET if line.match is not None else True
            mark = ":" if context is UNSET else "-"
            texts.append(f"{name}{mark}{line.line_no}{mark}{text}")
            rows.append(Found(path=row.path, path_bytes=row.path_bytes, line=line.line_no, text=text, context=context))
    return _Shown(rows, texts, any(file.changed for file in page))


def _result(page: _Page, shown: _Shown) -> Result:
    census, params = page.census, page.params
    skipped = skipped_of(census.skipped, census.missed)
    rows, next_offset = _fitting(page, shown.rows)
    data = Data(
        mode="search",
        results=rows,
        total=page.total if census.complete else None,
        offset=params.offset,
        next_offset=next_offset,
        complete=census.complete,
        consistency=census.consistency,
        dropped=0,
        skipped=skipped,
        rows_cut=len(shown.rows) - len(rows) or UNSET,
    )
    parts = _which(page)
    if not census.complete:
        parts.append(f"the search ended after {DEADLINE_S:.0f} s and is not complete: narrow `dir` or `file_pattern`")
    if page.anew:
        parts.append("this is a new search: pages belong together only if nothing but offset and limit changes")
    if shown.changed:
        parts.append("a file of this page changed since it was counted: begin again with offset=0")
    parts += skipped_words(skipped) + trust_words(census.consistency, census.degraded)
    foot = ("\n" if shown.lines else "") + f"[{'; '.join(parts)}]"
    return Result(data, body=(Plain("\n".join(shown.lines)),), foot=foot)


def _fitting(page: _Page, rows: list[Found]) -> tuple[list[Found], int | None]:
    """The rows that `data` has room for, and the offset after them: context rows do not count for that."""
    room = page.data_max_bytes - _DATA_ROOM_BYTES
    offset = page.params.offset
    for index, row in enumerate(rows):
        room -= len(msgspec.json.encode(row)) + 1
        if room < 0 and index:
            return rows[:index], offset
        offset += row.context is UNSET
    return rows, page.end if page.params.offset < page.end < page.total else None


def _which(page: _Page) -> list[str]:
    offset = page.params.offset
    unit = "files" if page.params.output == "files" else "lines"
    total = f"{page.total}" if page.census.complete else f"{page.total}+"
    if page.end > offset:
        more = page.end < page.total
        return [f"{unit} {offset + 1}-{page.end} of {total}", f"next offset={page.end}" if more else "last page"]
    if offset and page.total:
        return [f"no result at offset {offset}: there are {total} {unit}", "last page"]
    if not page.census.complete:
        return ["no match was found in time", "last page"]
    return ["no match", "last page"]
