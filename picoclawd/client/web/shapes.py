"""What the daemon says as the page shows it: every text escaped, every amount bounded.

The page sets texts, never markup; what steers or reorders text is escaped here all the same, with the one function that
terminals and logs have, so that a name cannot pass for another. Beside a name stands the `key` that calls take.
"""

import json
from typing import Any

from picoclawd.client.approvals import call_line
from picoclawd.client.web.post import Event
from picoclawd.text import display

PATCH_ROWS_MAX = 2000  # more is read in an editor
PATCH_ROW_MAX_CHARS = 2000
PARAM_MAX_CHARS = 40_000  # the daemon itself cuts a text at 32 KiB
_NOISE = ("session.opened", "session.closed", "session.resumed")


def approval(row: dict[str, Any]) -> dict[str, Any]:
    """One request that waits. What the agent says of itself is in `claims`, and nowhere else."""
    return {
        "id": str(row["id"]),
        "digest": str(row["digest"]),
        "answers": row.get("answers", ["once", "deny"]),
        "call": one_line(call_line(row)),
        "reason": one_line(row["reason"]),
        "method": one_line(row["method"]),
        "path": path_text(row),
        "session": one_line(row["session_id"]),
        "claims": {"client": one_line(row.get("client") or ""), "objective": one_line(row.get("objective") or "")},
        "params": [[one_line(name), _param(value)] for name, value in dict(row.get("params") or {}).items()],
        "patch": patch(str(row.get("diff") or "")),
        "requested_at": row["requested_at"],
        "expires_at": row["expires_at"],
    }


def version(row: dict[str, Any]) -> dict[str, Any]:
    """One recorded change."""
    return {
        "version": row["version"],
        "path": path_text(row),
        "key": key_of(row),
        "action": one_line(row["action"]),
        "size": row.get("size"),
        "tool": one_line(row.get("tool") or ""),
        "outside": row["action"] == "external",
        "client": one_line(row.get("client") or ""),
        "session": one_line(row.get("session_id") or ""),
        "objective": one_line(row.get("objective") or ""),
        "task": one_line(row.get("task_id") or ""),
        "task_key": row.get("task_id"),
        "changed_at": row["changed_at"],
        "restorable": bool(row.get("restorable", True)),
        "reason": one_line(row.get("reason") or ""),
    }


def event(happened: Event) -> dict[str, Any] | None:
    """One event as a line of the feed; None for what nobody wants to read."""
    params, kind = happened.params, happened.kind
    if kind in _NOISE and not params.get("client"):
        return None  # every single call of a shell has a session
    line: dict[str, Any] = {"number": happened.number, "at": happened.at, "kind": kind}
    if kind == "file.changed":
        return line | _change(params)
    if kind == "approval.requested":
        return line | {"text": one_line(call_line(params)), "by": one_line(params.get("client") or "")}
    if kind.startswith("approval."):
        return line | {"text": one_line(params.get("answer") or params.get("reason") or ""), "by": ""}
    return line | {"text": one_line(params.get("client") or ""), "by": ""}


def undone(result: dict[str, Any]) -> dict[str, Any]:
    """What became of files that were to be restored, or would become of them."""
    files = [
        {
            "path": path_text(row),
            "action": one_line(row["action"]),
            "version": row.get("version"),
            "error": one_line((row.get("error") or {}).get("message") or ""),
            "slug": one_line((row.get("error") or {}).get("error") or ""),
        }
        for row in result["data"]["files"]
    ]
    return {"files": files, "patch": patch(str(result["content"]))}


def patch(text: str) -> dict[str, Any]:
    """A diff, or text with diffs in it: rows of a kind ("+", "-", "@", "head", "") and a text, and how many more
    there are. Only between a hunk's head and the next file's is a sign a sign: a removed `-- x` is no head."""
    rows: list[list[str]] = []
    within = False
    lines = text.rstrip("\n").split("\n") if text else []
    for line in lines[:PATCH_ROWS_MAX]:
        if line.startswith("@@"):
            within = True
        elif line[:1] not in ("+", "-", " ", "\\", ""):
            within = False
        rows.append([_kind(line, within), _cut(display.terminal(line), PATCH_ROW_MAX_CHARS)])
    return {"rows": rows, "more": max(0, len(lines) - PATCH_ROWS_MAX)}


def path_text(row: dict[str, Any]) -> str:
    """A row's path, escaped: one name, one text."""
    if row.get("path_bytes"):
        return display.name(display.from_path_bytes(str(row["path_bytes"])))
    return display.name(str(row.get("path") or "").encode("utf-8", "surrogatepass"))


def key_of(row: dict[str, Any]) -> dict[str, str]:
    """A row's path as calls take it."""
    return {name: str(row[name]) for name in ("path_bytes", "path") if row.get(name)}


def one_line(value: Any) -> str:
    """A text that must stay on its line."""
    return display.log_line(str(value))


def several_lines(value: Any) -> str:
    """A text that may have lines: what went wrong, and what to type next."""
    return display.terminal(str(value))


def _change(params: dict[str, Any]) -> dict[str, Any]:
    by = params.get("by")
    author = by if isinstance(by, dict) else {}
    return {
        "text": path_text(params),
        "key": key_of(params),
        "action": one_line(params.get("action") or ""),
        "version": params.get("version"),
        "by": one_line(author.get("client") or author.get("session_id") or ""),
        "tool": one_line(author.get("tool") or ""),
    }


def _kind(line: str, within: bool) -> str:
    if line.startswith("@@"):
        return "@"
    if not within:
        return "head"
    return line[0] if line[:1] in ("+", "-") else ""


def _param(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return _cut(display.terminal(text), PARAM_MAX_CHARS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"
