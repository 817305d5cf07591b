"""find_files by names: the entries of directories, and files whose name fits a glob."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import UNSET

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.index.listing import NONE_SKIPPED
from picoclawd.index.listing import Skipped as SkippedNames
from picoclawd.index.pathblob import order_key
from picoclawd.text import display, glob
from picoclawd.tools._find import Data, Found, Mode, Params, Query
from picoclawd.tools._rows import row_of, shown_name
from picoclawd.tools._skipped import skipped_of, skipped_words, trust_words
from picoclawd.tools._spec import Call, Plain, Result, Settings
from picoclawd.tools._stop import Stop
from picoclawd.workspace.listing import Listed, list_below
from picoclawd.workspace.scope import Candidates, Consistency, Place
from picoclawd.workspace.search import Missed

NAMES_MAX_BYTES = 128 * limits.KIB  # of all rows together: more names than that are no answer


@dataclass(slots=True)
class Scope:
    """What several queries together looked at: as sure as the least sure of them."""

    skipped: SkippedNames = NONE_SKIPPED
    consistency: Consistency = "verified"
    degraded: str | None = None
    complete: bool = True
    vanished: int = 0

    def add(self, candidates: Candidates) -> None:
        """Take in one query's part."""
        self.skipped = self.skipped.plus(candidates.skipped)
        self.consistency = "watched" if candidates.consistency == "watched" else self.consistency
        self.degraded = self.degraded or candidates.degraded
        self.complete = self.complete and candidates.complete


@dataclass(slots=True)
class _Named:
    """Rows and their lines of content, by what they are sorted by; and rows for the queries that failed."""

    scope: Scope = field(default_factory=Scope)
    rows: list[tuple[Found, str]] = field(default_factory=list)


async def place_of(call: Call[Settings], directory: str) -> Place:
    """Where a query looks. Raises: as `Finder.place`."""
    return await call.workspace.finder.place(call.workspace.parse(directory if directory.strip() else "."))


async def candidates_of(call: Call[Settings], query: Query, form: str, params: Params, stop: Stop) -> Candidates:
    """The files that a query selects by a name form."""
    place = await place_of(call, query.dir)
    wanted = None if params.consistency is UNSET else params.consistency
    candidates = await call.workspace.finder.find(place, form, wanted, stop.poll)
    if query.recursive is False:
        depth = place.directory.count(b"/") + 1 if place.directory else 0
        candidates.files = [path for path in candidates.files if path.count(b"/") == depth]
    return candidates


async def list_entries(call: Call[Settings], params: Params, stop: Stop) -> Result:
    """List directories: all entries, each once, by name; a directory that cannot be listed is a row of its own."""
    named = _Named()
    rows: dict[bytes, tuple[Found, str]] = {}
    failed: list[tuple[Found, str]] = []
    for query in params.queries:
        try:
            rows |= await _list(call, query, stop, named.scope)
        except Fault as fault:
            if fault.slug is Slug.CANCELLED:
                raise
            failed.append(_failed(query, fault))
    named.rows = [rows[key] for key in sorted(rows)] + failed
    return _result(params, "list", named)


async def _list(call: Call[Settings], query: Query, stop: Stop, scope: Scope) -> dict[bytes, tuple[Found, str]]:
    place = await place_of(call, query.dir)
    if place.file is not None:
        raise Fault(Slug.NOT_A_DIRECTORY, f"failed to list: {query.dir} is a file. read_file reads it.")
    finder, threads = call.workspace.finder, call.workspace.threads
    listing = await list_below(finder, threads, place, recursive=query.recursive is True, poll=stop.poll)
    scope.skipped = scope.skipped.plus(listing.skipped)
    scope.complete = scope.complete and listing.complete
    return {order_key(place.absolute(listed.path)): _listed(place, listed) for listed in listing.entries}


def _listed(place: Place, listed: Listed) -> tuple[Found, str]:
    row = row_of(place, listed.path)
    found = Found(path=row.path, path_bytes=row.path_bytes, kind=listed.kind, ignored=listed.ignored)
    mark = "/" if listed.kind == "dir" else ""
    return found, shown_name(place, listed.path) + mark + (" (ignored)" if listed.ignored else "")


def _failed(query: Query, fault: Fault) -> tuple[Found, str]:
    name = display.name(query.dir.encode("utf-8", "surrogateescape"))
    return Found(path=query.dir, error=fault.slug.value), f"{name}: [{fault.slug}] {fault.message.splitlines()[0]}"


async def find_names(call: Call[Settings], params: Params, stop: Stop) -> Result:
    """Find files by name, each once, those modified last coming first."""
    named = _Named()
    dated: dict[bytes, tuple[int, Place, bytes]] = {}
    for index, query in enumerate(params.queries):
        pattern = "" if query.pattern is UNSET else query.pattern
        if glob.is_all_wildcard(pattern):
            raise _selects_everything(index, query, pattern)
        candidates = await candidates_of(call, query, pattern, params, stop)
        found, complete = await call.workspace.finder.dated(candidates, stop.poll)
        named.scope.add(candidates)
        named.scope.complete = named.scope.complete and complete
        named.scope.vanished += len(candidates.files) - len(found) if complete else 0
        for mtime_ns, path in found:
            dated[candidates.place.absolute(path)] = (mtime_ns, candidates.place, path)
    newest = sorted(dated.items(), key=lambda item: (-item[1][0], order_key(item[0])))
    named.rows = [_name(place, path) for _absolute, (_mtime_ns, place, path) in newest]
    return _result(params, "glob", named)


def _name(place: Place, path: bytes) -> tuple[Found, str]:
    row = row_of(place, path)
    return Found(path=row.path, path_bytes=row.path_bytes), shown_name(place, path)


def _selects_everything(index: int, query: Query, pattern: str) -> Fault:
    return Fault(
        Slug.INVALID_PARAMS,
        f"find_files: the glob `{pattern[:100]}` selects everything. Give it a literal part, or use mode=list for the "
        "entries of a directory, or mode=search with a `file_pattern` to look into files.",
        path=f"$.queries[{index}].pattern",
        next_call=NextCall("find_files", {"queries": [{"dir": query.dir}], "mode": "list"}),
    )


def _result(params: Params, mode: Mode, named: _Named) -> Result:
    """At most 128 KiB of rows, from `offset` on; the tail says how many were dropped."""
    scope, rows = named.scope, named.rows[params.offset :]
    kept = _fitting(line for _found, line in rows)
    dropped = len(rows) - kept
    lines = [line for _found, line in rows[:kept]]
    skipped = skipped_of(scope.skipped, Missed(vanished=scope.vanished))
    tail = [_count(mode, len(named.rows), params.offset, kept)]
    if dropped:
        tail.append(f"{dropped} dropped: narrow the query, or go on with offset={params.offset + kept}")
    if not scope.complete:
        tail.append("the time was over before everything was seen: narrow the query")
    tail += skipped_words(skipped) + trust_words(scope.consistency, scope.degraded)
    data = Data(
        mode=mode,
        results=[found for found, _line in rows[:kept]],
        total=len(named.rows) if scope.complete else None,
        offset=params.offset,
        next_offset=params.offset + kept if dropped else None,
        complete=scope.complete,
        consistency=scope.consistency,
        dropped=dropped,
        skipped=skipped,
    )
    return Result(data, body=(Plain("\n".join(lines)),), foot=("\n" if lines else "") + f"[{'; '.join(tail)}]")


def _fitting(lines: Iterable[str]) -> int:
    kept = 0
    room = NAMES_MAX_BYTES
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept += 1
    return kept


def _count(mode: Mode, total: int, offset: int, kept: int) -> str:
    unit = "entries" if mode == "list" else "files"
    if not total:
        return "nothing found"
    if not kept:
        return f"no result at offset {offset}: there are {total} {unit}"
    return f"{unit} {offset + 1}-{offset + kept} of {total}" if offset else f"{total} {unit}"
