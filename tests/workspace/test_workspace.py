"""A workspace applies a new configuration whole, and parses what callers name."""

import msgspec
import pytest
from msgspec.structs import replace

from picoclawd.errors import Fault, Slug
from picoclawd.files.policy import Policy
from tests.house import House


def test_a_reload_reaches_every_part(house: House) -> None:
    workspace = house.workspace
    rules = replace(workspace.rooted.policy.rules, unprotect=("x.pem",))
    options = msgspec.structs.replace(workspace.options, redaction="strict", new_file_mode=None, verify_files_max=7)
    policy = Policy(rules)
    workspace.reconfigure(policy, options)
    assert workspace.rooted.policy is policy
    assert workspace.options.redaction == "strict"
    assert workspace.changer.new_file_mode is None
    assert workspace.finder.verify_files_max == 7


async def test_only_new_rules_have_the_names_judged_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[None] = []
    workspace = house.workspace
    monkeypatch.setattr(workspace.index, "judge_again", lambda: judged.append(None))
    rules = workspace.rooted.policy.rules
    workspace.reconfigure(Policy(rules), workspace.options)
    assert judged == []
    workspace.reconfigure(Policy(replace(rules, unprotect=("x.pem",))), workspace.options)
    assert judged == [None]


def test_a_path_comes_as_text_or_percent_encoded(house: House) -> None:
    workspace = house.workspace
    assert workspace.parse("a/../b").relative == b"b"
    assert workspace.parse("ignored", "caf%E9").relative == b"caf\xe9"
    with pytest.raises(Fault) as caught:
        workspace.parse("a\0b")
    assert caught.value.slug is Slug.INVALID_PATH


def test_all_spellings_of_a_path_share_a_lane(house: House) -> None:
    workspace = house.workspace
    assert workspace.lane_key("a/b") == workspace.lane_key("./a//b") == workspace.lane_key(str(house.root / "a/b"))
    assert workspace.lane_key("a/b") != workspace.lane_key("a/c")
    assert workspace.lane_key(7) is None
