"""edit_file: both forms, what is shown, what is refused, and that bytes which were not edited stay."""

import os
import stat
from collections.abc import Callable

import pytest

from picoclawd.errors import Slug
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"


async def test_one_exact_text_is_replaced_and_the_diff_shown(house: House) -> None:
    house.write("e.txt", "".join(f"line {number}\n" for number in range(1, 21)))
    result = await house.call("edit_file", path="e.txt", old_text="line 10\n", new_text="LINE TEN\n")
    content = result["content"]
    assert content.splitlines()[:4] == ["File edited: e.txt", "--- a/e.txt", "+++ b/e.txt", "@@ -7,7 +7,7 @@"]
    assert "-line 10\n+LINE TEN\n" in content
    assert " line 7\n" in content
    assert " line 6\n" not in content
    assert result["display"] == content
    assert (result["data"]["action"], result["data"]["form"]) == ("modified", "old_text")


async def test_faults_keep_their_wording_and_help(house: House) -> None:
    path = house.write("e.txt", "alpha\nbeta line\nalpha\n")
    fault = await house.fault(Slug.NO_MATCH, "edit_file", path="e.txt", old_text="beta  line", new_text="x")
    assert fault.message.startswith("old_text not found in file. Make sure it matches exactly")
    assert "whitespace" in fault.message + fault.excerpt
    fault = await house.fault(Slug.AMBIGUOUS_MATCH, "edit_file", path="e.txt", old_text="alpha", new_text="x")
    assert fault.message.startswith("old_text appears 2 times. Please provide more context to make it unique")
    fault = await house.fault(Slug.NOT_FOUND, "edit_file", path="none.txt", old_text="a", new_text="b")
    assert fault.next_call is not None
    assert fault.next_call.method == "write_file"
    assert path.read_text() == "alpha\nbeta line\nalpha\n"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"old_text": "a"},
        {"new_text": "a"},
        {"old_text": "a", "new_text": "b", "patch": "@@\n-a\n+b\n"},
        {"old_text": "", "new_text": "b"},
        {"old_text": 1, "new_text": "b"},
    ],
)
async def test_exactly_one_form_is_taken(house: House, params: dict[str, object]) -> None:
    path = house.write("e.txt", "a\n")
    await house.fault(Slug.INVALID_PARAMS, "edit_file", path="e.txt", **params)
    assert path.read_text() == "a\n"


async def test_equal_texts_write_nothing(house: House) -> None:
    path = house.write("e.txt", "a\n")
    before = path.stat().st_mtime_ns
    result = await house.call("edit_file", path="e.txt", old_text="a", new_text="a")
    assert (result["data"]["action"], result["data"]["bytes_written"]) == ("unchanged", 0)
    assert path.stat().st_mtime_ns == before


async def test_a_patch_is_applied(house: House) -> None:
    path = house.write("p.txt", "a\nb\nc\n")
    patch = "*** Begin Patch\n*** Update File: p.txt\n@@\n a\n-b\n+B\n c\n*** End Patch\n"
    result = await house.call("edit_file", path="p.txt", patch=patch)
    assert (path.read_text(), result["data"]["form"]) == ("a\nB\nc\n", "patch")


async def test_a_patch_for_another_file_is_rejected(house: House) -> None:
    house.write("p.txt", "a\n")
    patch = "*** Update File: q.txt\n@@\n-a\n+b\n"
    await house.fault(Slug.PATCH_REJECTED, "edit_file", path="p.txt", patch=patch)
    await house.call("edit_file", path="p.txt", patch=f"*** Update File: {house.root}/./p.txt\n@@\n-a\n+b\n")
    assert (house.root / "p.txt").read_text() == "b\n"


async def test_a45_the_same_patch_twice_is_told_apart(house: House) -> None:
    path = house.write("p.txt", "a\nb\nc\n")
    await house.call("edit_file", path="p.txt", patch="@@\n a\n-b\n+B\n c\n")
    fault = await house.fault(Slug.PATCH_REJECTED, "edit_file", path="p.txt", patch="@@\n a\n-b\n+B\n c\n")
    assert "already" in fault.message
    assert path.read_text() == "a\nB\nc\n"


async def test_a17_bytes_that_are_not_utf8_stay(house: House) -> None:
    path = house.write("g.txt", b"const x = 1\n# \xd6\xd0\xce\xc4\n")
    await house.call("edit_file", path="g.txt", old_text="const x = 1", new_text="const y = 1")
    assert path.read_bytes() == b"const y = 1\n# \xd6\xd0\xce\xc4\n"


async def test_a16_one_byte_order_mark_stays_one(house: House) -> None:
    path = house.write("f.json", b"\xef\xbb\xbf{}\n")
    for old, new in (("{}", "{ }"), ("{ }", "{}"), ("{}", "{ }")):
        await house.call("edit_file", path="f.json", old_text=old, new_text=new)
    assert path.read_bytes() == b"\xef\xbb\xbf{ }\n"


async def test_a29_utf16_is_refused(house: House) -> None:
    path = house.write("u.txt", "test\n".encode("utf-16"))
    before = path.read_bytes()
    await house.fault(Slug.UNSUPPORTED_FORMAT, "edit_file", path="u.txt", old_text="t", new_text="x")
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", [0o755, 0o2755, 0o1644, 0o400])
async def test_a47_modes_are_kept(house: House, mode: int) -> None:
    path = house.write("s.sh", "echo a\n", mode)
    await house.call("edit_file", path="s.sh", old_text="a", new_text="b")
    assert stat.S_IMODE(path.stat().st_mode) == mode


async def test_context_lines_are_masked_and_own_lines_are_not(house: House) -> None:
    house.write("e.txt", f"token={SECRET}\nport=1\n")
    result = await house.call("edit_file", path="e.txt", old_text="port=1", new_text="port=2")
    assert SECRET not in result["content"]
    assert " token=[FILTERED]" in result["content"]
    assert SECRET in result["display"]
    fresh = SECRET[:-1] + "5"
    result = await house.call("edit_file", path="e.txt", old_text="port=2", new_text=f"key={fresh}")
    assert f"+key={fresh}" in result["content"]


async def test_strict_redaction_masks_lines_that_the_call_did_not_supply(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(redaction="strict"))
    house.write("e.txt", f"token={SECRET} port=1\n")
    result = await house.call("edit_file", path="e.txt", old_text="port=1", new_text="port=2")
    assert SECRET not in result["content"]
    assert SECRET not in result["display"]
    fresh = SECRET[:-1] + "5"
    result = await house.call("edit_file", path="e.txt", old_text="port=2", new_text=f"key={fresh}")
    assert f"key={fresh}" in result["content"]
    assert SECRET not in result["content"]


async def test_file_text_in_faults_is_masked_for_agents(house: House) -> None:
    house.write("e.txt", f"token={SECRET}\n")
    fault = await house.fault(Slug.NO_MATCH, "edit_file", path="e.txt", old_text=f"tokn={SECRET}", new_text="x")
    assert SECRET not in fault.message + fault.excerpt
    fault = await house.fault(
        Slug.NO_MATCH, "edit_file", session=house.operator, path="e.txt", old_text=f"tokn={SECRET}", new_text="x"
    )
    assert SECRET in fault.excerpt


async def test_a_large_file_gets_a_summary_and_a_large_diff_a_window(house: House) -> None:
    house.write("big.txt", b"k\n" * 40_000 + b"unique\n")
    result = await house.call("edit_file", path="big.txt", old_text="unique", new_text="u2")
    assert "@@" not in result["content"]
    assert "read_file" in result["content"]
    assert result["data"]["diff_truncated"]
    house.write("mid.txt", "".join(f"{number} {'x' * 30}\n" for number in range(1500)))
    old = (house.root / "mid.txt").read_text()
    result = await house.call("edit_file", path="mid.txt", old_text=old, new_text=old.replace("x", "y"))
    assert len(result["content"]) <= 12_288 + 40
    assert result["data"]["diff_truncated"]
    assert "omitted" in result["content"]


async def test_a37_other_lines_stay_byte_for_byte(house: House) -> None:
    lines = [f"line {number}\n" for number in range(2500)]
    lines[2000] = "z" * 5000 + "\n"
    path = house.write("e.txt", "".join(lines))
    await house.call("edit_file", path="e.txt", patch="@@\n-line 3\n+LINE 3\n")
    lines[3] = "LINE 3\n"
    assert path.read_text() == "".join(lines)
    await house.fault(Slug.PATCH_REJECTED, "edit_file", path="e.txt", patch="@@\n-line 4\n+LINE 4\n@@\n-nowhere\n+x\n")
    assert path.read_text() == "".join(lines)


async def test_a38_a_failed_edit_does_not_touch_the_file(house: House) -> None:
    path = house.write("e.txt", "a  b\n")
    before = path.stat()
    await house.fault(Slug.NO_MATCH, "edit_file", path="e.txt", old_text="a b", new_text="x")
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


async def test_a10_a_move_is_rejected(house: House) -> None:
    path = house.write("f.txt", "a\n")
    patch = "*** Update File: f.txt\n*** Move to: f.txt\n@@\n-a\n+b\n"
    await house.fault(Slug.PATCH_REJECTED, "edit_file", path="f.txt", patch=patch)
    assert path.read_text() == "a\n"


async def test_a52_a_directory_that_takes_no_file_is_named(house: House) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere; tests/files covers this as another user")
    path = house.write("d/f.txt", "a\n", 0o644)
    path.parent.chmod(0o555)
    fault = await house.fault(Slug.ACCESS_DENIED, "edit_file", path="d/f.txt", old_text="a", new_text="b")
    path.parent.chmod(0o755)
    assert "directory" in fault.message
    assert path.read_text() == "a\n"
