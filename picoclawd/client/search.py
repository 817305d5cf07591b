"""The commands `search` and `find`: lines and names, with the exit codes and the look of rg."""

from picoclawd.client import arguments, discover, files, paging
from picoclawd.client.failures import UsageFault
from picoclawd.client.paging import Request
from picoclawd.client.rows import Printer, style_of

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any


def search(args: "argparse.Namespace") -> int:
    """`picoclawctl search PATTERN [PATH]`: search_files in contents."""
    path = _one_path(args.arguments)
    if args.null and not args.files_with_matches:
        raise UsageFault("search: --null is for names: use it with -l")
    params = {"pattern": arguments.check_text("the pattern", args.pattern), **_search_options(args)}
    return _run(args, "search_files", params, path)


def find(args: "argparse.Namespace") -> int:
    """`picoclawctl find [PATTERN] [PATH]`: search_files by name, or find_files where a mode is named."""
    if args.mode is None:
        if args.glob is not None or args.multiline:
            raise UsageFault("find: -g and -U belong to --search")
        pattern, path = _pattern_and_path(args.arguments)
        params = {"pattern": pattern, "target": "files", **_order(args), **_consistency(args)}
        return _run(args, "search_files", params, path)
    if args.newest:
        raise UsageFault("find: --newest belongs to the search by name; --glob is newest first by itself")
    if args.mode == "list":
        return _run_queries(args, "list", {}, _one_path(args.arguments))
    if not args.arguments:
        raise UsageFault(f"find --{args.mode} needs a PATTERN")
    pattern, path = _pattern_and_path(args.arguments)
    query = {"pattern": pattern}
    if args.mode == "search":
        query["file_pattern"] = "**/*" if args.glob is None else args.glob
    return _run_queries(args, args.mode, query, path)


def _search_options(args: "argparse.Namespace") -> "dict[str, Any]":
    options: dict[str, Any] = {**_order(args), **_consistency(args)}
    if args.glob is not None:
        options["file_glob"] = args.glob
    if args.count or args.files_with_matches:
        options["output_mode"] = "count" if args.count else "files_only"
    elif args.context:
        options["context"] = args.context
    return options


def _order(args: "argparse.Namespace") -> dict[str, str]:
    return {"order": "modified"} if args.newest else {}


def _consistency(args: "argparse.Namespace") -> dict[str, str]:
    return {"consistency": "watched"} if args.watched else {}


def _run(args: "argparse.Namespace", method: str, params: "dict[str, Any]", path: str) -> int:
    connection, endpoint = discover.connect("operator" if args.operator else "agent")
    here = discover.start_directory(None)
    place = files.workspace_path(path, endpoint.workspace, here)
    with connection:
        request = _request(args, method, {**params, **(arguments.path_params(place) if place else {})})
        printer = None if args.json else Printer(style_of(args), endpoint.workspace, here)
        return paging.run(connection, request, printer)


def _run_queries(args: "argparse.Namespace", mode: str, query: "dict[str, Any]", path: str) -> int:
    connection, endpoint = discover.connect("operator" if args.operator else "agent")
    here = discover.start_directory(None)
    place = arguments.check_text("the path", files.workspace_path(path, endpoint.workspace, here))
    wanted = {**query, **({"dir": place} if place else {}), **({"recursive": True} if args.recursive else {})}
    params: dict[str, Any] = {"queries": [wanted], "mode": mode, **_consistency(args)}
    if args.multiline:
        params["multiline"] = True
    with connection:
        printer = None if args.json else Printer(style_of(args), endpoint.workspace, here)
        return paging.run(connection, _request(args, "find_files", params), printer)


def _request(args: "argparse.Namespace", method: str, params: "dict[str, Any]") -> Request:
    wanted = None if args.all else args.limit or paging.DEFAULT_RESULTS
    return Request(method, params, offset=args.offset, wanted=wanted, timeout_s=args.timeout)


def _pattern_and_path(words: list[str]) -> tuple[str, str]:
    return arguments.check_text("the pattern", words[0]) if words else "", _one_path(words[1:])


def _one_path(words: list[str]) -> str:
    if len(words) > 1:
        raise UsageFault(f"one path at a time, not {len(words)}: name the directory that holds them all")
    return words[0] if words else ""
