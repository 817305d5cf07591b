"""find_files: several queries at once, each a listing, a glob or a search."""

from typing import assert_never

from msgspec import UNSET

from picoclawd.tools._find import Data, Mode, Params
from picoclawd.tools._find_names import find_names, list_entries
from picoclawd.tools._find_search import DEADLINE_S, search_lines
from picoclawd.tools._spec import READS, Call, Deferred, Result, Settings, tool
from picoclawd.tools._stop import Stop


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
    stop = Stop(call.cancelled, DEADLINE_S)
    match mode:
        case "list":
            return await list_entries(call, params, stop)
        case "glob":
            return await find_names(call, params, stop)
        case "search":
            return await search_lines(call, params, stop)
        case _:
            assert_never(mode)


def _mode(params: Params) -> Mode:
    if params.mode is not UNSET:
        return params.mode
    if any(query.pattern is not UNSET and query.file_pattern is not UNSET for query in params.queries):
        return "search"
    return "glob" if any(query.pattern is not UNSET for query in params.queries) else "list"
