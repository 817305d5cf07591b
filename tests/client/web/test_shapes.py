import json
from typing import Any

import pytest

from picoclawd.client.web import shapes
from picoclawd.client.web.post import Event

NASTY = "a\u202eb\x1b[2J\nc"
REQUEST: dict[str, Any] = {
    "id": "a-1",
    "digest": "d" * 64,
    "answers": ["once", "task", "deny"],
    "call": f"Remove({NASTY})",
    "reason": NASTY,
    "method": "remove_file",
    "path": NASTY,
    "params": {"path": NASTY, "n": 3},
    "diff": f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{NASTY}\n+y\n",
    "session_id": "s-1",
    "client": NASTY,
    "objective": NASTY,
    "requested_at": 1.0,
    "expires_at": 601.0,
}
VERSION: dict[str, Any] = {
    "version": 7,
    "path": NASTY,
    "action": "modify",
    "size": 3,
    "tool": "edit_file",
    "session_id": "s-1",
    "client": NASTY,
    "task_id": NASTY,
    "objective": NASTY,
    "changed_at": "2026-03-31T14:05:00.000+02:00",
    "restorable": False,
    "reason": NASTY,
}


def shown_texts(value: Any, name: str = "") -> list[str]:
    """Every text in a shape but those that only calls take."""
    if name in ("key", "task_key"):
        return []
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in shown_texts(each, key)]
    if isinstance(value, list):
        return [text for each in value for text in shown_texts(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "shape",
    [
        shapes.approval(REQUEST),
        shapes.version(VERSION),
        shapes.event(Event(1, 2.0, "file.changed", {"path": NASTY, "action": "modify", "by": {"client": NASTY}})),
        shapes.event(Event(1, 2.0, "approval.requested", REQUEST)),
        shapes.event(Event(1, 2.0, "session.opened", {"client": NASTY})),
        shapes.undone(
            {
                "content": NASTY,
                "data": {"files": [{"path": NASTY, "action": "failed", "error": {"message": NASTY, "error": "x"}}]},
            }
        ),
    ],
)
def test_no_control_or_bidi_character_reaches_the_page(shape: dict[str, Any]) -> None:
    texts = shown_texts(shape)
    assert any("\\u202e" in text for text in texts)
    assert not [text for text in texts if "\u202e" in text or "\x1b" in text]


def test_names_and_claims_stay_on_one_line() -> None:
    shape = shapes.approval(REQUEST)
    assert not [text for text in (shape["call"], shape["path"], *shape["claims"].values()) if "\n" in text]


def test_claims_stand_apart_from_facts() -> None:
    shape = shapes.approval({**REQUEST, "client": "claimed name", "objective": "claimed aim"})
    facts = json.dumps({name: value for name, value in shape.items() if name != "claims"})
    assert shape["claims"] == {"client": "claimed name", "objective": "claimed aim"}
    assert "claimed" not in facts


def test_a_name_that_is_no_text_is_shown_by_its_bytes_and_asked_for_by_them() -> None:
    shape = shapes.version({**VERSION, "path": "caf\ufffd", "path_bytes": "caf%E9"})
    assert (shape["path"], shape["key"]["path_bytes"]) == ("caf\\xe9", "caf%E9")


def test_the_key_of_a_name_is_the_name_itself() -> None:
    assert shapes.version(VERSION)["key"] == {"path": NASTY}


def test_a_removed_line_of_dashes_is_a_removed_line_and_the_next_file_has_its_own_head() -> None:
    one = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- two\n+++ two\n"
    text = f"{one}diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-x"
    assert [kind for kind, _ in shapes.patch(text)["rows"]] == [
        *("head", "head", "@", "", "-", "+"),
        *("head", "head", "head", "@", "-"),
    ]


def test_a_diff_is_bounded_and_says_by_how_much() -> None:
    shape = shapes.patch("@@\n" + "+x\n" * (shapes.PATCH_ROWS_MAX + 9))
    assert (len(shape["rows"]), shape["more"]) == (shapes.PATCH_ROWS_MAX, 10)
    (row,) = shapes.patch("y" * 100_000)["rows"]
    assert len(row[1]) < shapes.PATCH_ROW_MAX_CHARS + 50
    assert shapes.patch("") == {"rows": [], "more": 0}


@pytest.mark.parametrize("kind", ["session.opened", "session.closed"])
def test_sessions_without_a_name_are_noise(kind: str) -> None:
    assert shapes.event(Event(1, 2.0, kind, {"session_id": "s-1", "client": ""})) is None
