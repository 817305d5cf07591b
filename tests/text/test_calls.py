"""The line that a call is known by."""

from typing import Any

import pytest

from picoclawd.text.calls import call_line


@pytest.mark.parametrize(
    ("method", "params", "target", "line"),
    [
        ("remove_file", {"path": "a.txt"}, b"/w/a.txt", "Remove(a.txt)"),
        ("remove_file", {"path_bytes": "caf%E9"}, b"/w/caf\xe9", "Remove(caf\\xe9)"),
        ("remove_file", {"path": "a\n\u202eb"}, b"/w/x", "Remove(a\\n\\u202eb)"),
        ("restore_file", {"version": 12, "task_id": "t", "path": "a.txt"}, b"/w/a.txt", "Restore(version 12)"),
        ("restore_file", {"task_id": "t-1", "path": "a.txt"}, b"task t-1", "Restore(a.txt)"),
        ("restore_file", {"task_id": "current"}, b"task t-1", "Restore(task t-1)"),
        ("edit_file", {"path": "a.txt", "old_text": "x"}, b"/w/a.txt", "edit_file(a.txt)"),
        ("open_file", {"url": "https://example.org/"}, b"https://example.org/", "open_file(https://example.org/)"),
        ("read_files", {"files": [{"path": ".env"}]}, b"/w/.env", "read_files(/w/.env)"),
    ],
)
def test_a_call_is_one_line(method: str, params: dict[str, Any], target: bytes, line: str) -> None:
    assert call_line(method, params, target) == line


@pytest.mark.parametrize("params", [{"path_bytes": "%zz\n"}, {"path": "\ud800"}, {"path": 7}, {"version": "1\n2"}])
def test_what_cannot_be_a_path_is_still_one_printable_line(params: dict[str, Any]) -> None:
    for method in ("remove_file", "restore_file"):
        assert call_line(method, params, b"/w/\nx").isprintable()
