"""Methods of the door that wait for threads: `workspace.why`, as it goes over the wire."""

from pathlib import Path
from typing import Any

import pytest

from picoclawd.client.failures import RpcError
from picoclawd.client.scratch import Scratch

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3  # the shape of a token, not a token


def test_a_path_is_explained_with_its_rule_redacted_for_agents() -> None:
    with Scratch() as scratch:
        (Path(scratch.workspace) / ".ignore").write_text(f"{TOKEN}.txt\n")
        (Path(scratch.workspace) / f"{TOKEN}.txt").write_text("x")
        answers: dict[str, Any] = {}
        for role in ("agent", "operator"):
            with scratch.connect(role) as connection:
                answers[role] = connection.call("workspace.why", [f"{TOKEN}.txt"])
        with scratch.connect() as connection, pytest.raises(RpcError) as caught:
            connection.call("workspace.why", {"path": "a\0b"})
    assert answers["operator"]["rule"] == {"file": ".ignore", "line": 1, "pattern": f"{TOKEN}.txt"}
    assert TOKEN not in answers["agent"]["rule"]["pattern"]
    assert answers["agent"]["reason"] == "ignored"
    assert caught.value.slug == "invalid_path"
