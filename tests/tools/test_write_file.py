"""write_file: what the content is decides the action; nothing is lost that nobody asked to lose."""

import json
import os
import stat
from collections.abc import Callable

import pytest

from picoclawd.errors import Slug
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"


async def test_a_new_file_is_created_private_with_its_directories(house: House) -> None:
    result = await house.call("write_file", path="a/b/f.txt", content="one\n")
    data = result["data"]
    path = house.root / "a/b/f.txt"
    assert (data["action"], data["bytes_written"], data["verified"], data["success"]) == ("created", 4, True, True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755 & ~_umask()
    assert json.loads(result["content"]) == data
    assert result["display"] is None


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


async def test_a46_new_files_may_follow_the_umask(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(new_file_mode=None))
    await house.call("write_file", path="f.txt", content="x")
    assert stat.S_IMODE((house.root / "f.txt").stat().st_mode) == 0o666 & ~_umask()


async def test_the_same_content_writes_nothing(house: House) -> None:
    path = house.write("f.txt", "one\n")
    before = path.stat()
    data = (await house.call("write_file", path="f.txt", content="one\n"))["data"]
    assert (data["action"], data["bytes_written"], data["verified"]) == ("unchanged", 0, True)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


async def test_content_that_only_adds_is_appended_in_place(house: House) -> None:
    path = house.write("f.txt", "one\n")
    inode = path.stat().st_ino
    data = (await house.call("write_file", path="f.txt", content="one\ntwo\n"))["data"]
    assert (data["action"], data["bytes_written"], path.read_text()) == ("appended", 4, "one\ntwo\n")
    assert path.stat().st_ino == inode


async def test_an_empty_file_is_appended_to(house: House) -> None:
    house.write("f.txt", "")
    assert (await house.call("write_file", path="f.txt", content="x"))["data"]["action"] == "appended"


async def test_a_file_with_other_names_is_replaced_and_not_appended_to(house: House) -> None:
    path = house.write("f.txt", "one\n")
    os.link(path, house.root / "other.txt")
    data = (await house.call("write_file", path="f.txt", content="one\ntwo\n"))["data"]
    assert (data["action"], data["hardlinks"]) == ("overwritten", 2)
    assert (house.root / "other.txt").read_text() == "one\n"


async def test_anything_else_over_a_file_needs_overwrite(house: House) -> None:
    path = house.write("f.txt", "old\n")
    fault = await house.fault(Slug.FILE_EXISTS, "write_file", path="f.txt", content="new")
    assert fault.message.splitlines()[0] == "file already exists"
    assert "discards" in fault.message
    assert fault.data == {
        "path": "f.txt",
        "resolved_path": str(path),
        "recommended_action": "edit_file",
        "available_actions": ["edit_file", "append_file", "overwrite"],
        "existing_bytes": 4,
        "new_bytes": 3,
        "overwrite_required": True,
    }
    assert path.read_text() == "old\n"


@pytest.mark.parametrize(
    ("off", "recommended"),
    [({"edit_file"}, "append_file"), ({"edit_file", "append_file"}, "overwrite")],
)
async def test_only_enabled_tools_are_recommended(
    make_house: Callable[..., House], off: set[str], recommended: str
) -> None:
    house = make_house(off=frozenset(off))
    house.write("f.txt", "old\n")
    fault = await house.fault(Slug.FILE_EXISTS, "write_file", path="f.txt", content="new")
    assert fault.data["recommended_action"] == recommended
    assert not off & set(fault.data["available_actions"])


async def test_a47_overwriting_keeps_the_mode(house: House) -> None:
    path = house.write("s.sh", "old", 0o755)
    data = (await house.call("write_file", path="s.sh", content="new", overwrite="true"))["data"]
    assert (data["action"], path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("overwritten", "new", 0o755)
    assert sorted(os.listdir(house.root)) == ["s.sh"]


async def test_a07_creating_over_a_link_reports_the_target(house: House) -> None:
    house.write("real.cfg", "keep\n")
    (house.root / ".cfg").symlink_to("real.cfg")
    fault = await house.fault(Slug.FILE_EXISTS, "write_file", path=".cfg", content="x")
    assert fault.data["resolved_path"] == str(house.root / "real.cfg")
    assert (house.root / "real.cfg").read_text() == "keep\n"


async def test_a48_a_final_link_is_followed_and_kept(house: House) -> None:
    house.write("real/cfg", "old")
    (house.root / "cfg").symlink_to(house.root / "real/cfg")
    data = (await house.call("write_file", path="cfg", content="new", overwrite=True))["data"]
    assert (house.root / "cfg").is_symlink()
    assert (house.root / "real/cfg").read_text() == "new"
    assert data["resolved_path"] == str(house.root / "real/cfg")


async def test_a03_nothing_is_made_below_a_link_that_leaves(house: House) -> None:
    outside = house.root.parent / "out"
    (house.root / "d").symlink_to(outside)
    for tool in ("write_file", "append_file"):
        for path in ("d/new.txt", "d/sub/new.txt"):
            await house.fault(Slug.OUTSIDE_WORKSPACE, tool, path=path, content="x")
    assert list(outside.iterdir()) == []


async def test_a05_a_hard_link_to_an_outside_file_does_not_change_it(house: House) -> None:
    outside = house.root.parent / "out/o.txt"
    outside.write_text("o\n")
    os.link(outside, house.root / "alias")
    await house.fault(Slug.HARDLINK_REFUSED, "append_file", path="alias", content="x")
    await house.call("write_file", path="alias", content="new", overwrite=True)
    assert outside.read_text() == "o\n"
    (house.root / "alias").unlink()
    os.link(outside, house.root / "alias")
    result = await house.call("edit_file", path="alias", old_text="o", new_text="p")
    assert result["data"]["hardlinks"] == 2
    assert outside.read_text() == "o\n"


@pytest.mark.parametrize(
    "path", ["sessions/x", ".git/config", "sub/.git/hooks/pre-commit", ".picoclaw/x", ".env", "k.pem", ".SSH/id_rsa"]
)
async def test_the_refused_set_holds_for_every_tool_and_role(house: House, path: str) -> None:
    for session in (house.agent, house.operator):
        await house.fault(Slug.PROTECTED_PATH, "write_file", session=session, path=path, content="x")
        await house.fault(Slug.PROTECTED_PATH, "append_file", session=session, path=path, content="x")
        await house.fault(Slug.PROTECTED_PATH, "edit_file", session=session, path=path, old_text="a", new_text="b")
    assert os.listdir(house.root) == []


async def test_what_a_person_must_confirm_is_refused_for_agents(make_house: Callable[..., House]) -> None:
    house = make_house(confirm_write_globs=(".envrc", "sub/**"))
    await house.fault(Slug.CONFIRMATION_UNAVAILABLE, "write_file", path=".envrc", content="x")
    await house.fault(Slug.CONFIRMATION_UNAVAILABLE, "write_file", path="sub/deep/f", content="x")
    assert os.listdir(house.root) == []
    await house.call("write_file", session=house.operator, path=".envrc", content="x")
    assert (house.root / ".envrc").read_text() == "x"


async def test_a102_a_mask_is_not_written_over_a_secret(house: House) -> None:
    path = house.write("f.txt", f"token={SECRET}\nport=1\n")
    await house.fault(
        Slug.MASKED_TEXT, "write_file", path="f.txt", content="token=[FILTERED]\nport=2\n", overwrite=True
    )
    await house.fault(
        Slug.MASKED_TEXT, "edit_file", path="f.txt", old_text=f"token={SECRET}", new_text="token=[FILTERED]"
    )
    assert SECRET in path.read_text()
    await house.call("edit_file", path="f.txt", old_text="port=1", new_text="port=2")
    assert path.read_text() == f"token={SECRET}\nport=2\n"
    await house.call("write_file", path="new.txt", content="a doc about [FILTERED]\n")


async def test_if_match_guards_every_write(house: House) -> None:
    path = house.write("f.txt", "one\n")
    digest = (await house.call("read_file", path="f.txt"))["data"]["sha256"]
    path.write_text("two\n")
    for tool, more in (
        ("write_file", {"content": "x", "overwrite": True}),
        ("append_file", {"content": "x"}),
        ("edit_file", {"old_text": "two", "new_text": "x"}),
    ):
        fault = await house.fault(Slug.CONFLICT, tool, path="f.txt", if_match=digest, **more)
        assert fault.data["sha256"] in fault.message
        await house.fault(Slug.CONFLICT, tool, path="f.txt", if_match="", **more)
    assert path.read_text() == "two\n"
    await house.call("write_file", path="new.txt", content="x", if_match="")
    fault = await house.fault(Slug.CONFLICT, "write_file", path="absent.txt", content="x", if_match=digest)
    assert "does not exist" in fault.message


async def test_a_dry_run_checks_everything_and_writes_nothing(house: House) -> None:
    house.write("f.txt", "one\n")
    data = (await house.dry("write_file", path="a/new.txt", content="x"))["data"]
    assert (data["dry_run"], data["action"], data["bytes_written"]) == (True, "created", 1)
    assert (await house.dry("write_file", path="f.txt", content="one\ntwo"))["data"]["action"] == "appended"
    edited = await house.dry("edit_file", path="f.txt", old_text="one", new_text="two")
    assert edited["content"].startswith("Would edit file: f.txt")
    assert "+two" in edited["content"]
    assert (await house.dry("append_file", path="f.txt", content="x"))["content"] == "Would append to f.txt"
    assert os.listdir(house.root) == ["f.txt"]
    assert (house.root / "f.txt").read_text() == "one\n"


async def test_a_cancelled_write_changes_nothing(house: House) -> None:
    path = house.write("f.txt", "one\n")
    house.stop = True
    await house.fault(Slug.CANCELLED, "write_file", path="f.txt", content="x", overwrite=True)
    await house.fault(Slug.CANCELLED, "write_file", path="a/b.txt", content="x")
    assert path.read_text() == "one\n"
    assert os.listdir(house.root) == ["f.txt"]


async def test_no_new_write_begins_while_the_daemon_stops(house: House) -> None:
    house.workspace.changer.closing = True
    await house.fault(Slug.SHUTTING_DOWN, "write_file", path="f.txt", content="x")


async def test_syntax_is_advice(house: House) -> None:
    bad = (await house.call("write_file", path="a.json", content='{"a":}'))["data"]
    assert bad["success"]
    assert "syntax_error" in bad
    assert "syntax" not in bad
    assert (await house.call("write_file", path="b.json", content='{"a": [1]}'))["data"]["syntax"] == "ok"
    other = (await house.call("write_file", path="a.rs", content="fn main() {"))["data"]
    assert "syntax" not in other
    assert "syntax_error" not in other
    house.write("c.json", "[1")
    appended = (await house.call("write_file", path="c.json", content="[1]"))["data"]
    assert (appended["action"], appended["syntax"]) == ("appended", "ok")


async def test_a16_overwriting_without_the_byte_order_mark_says_so(house: House) -> None:
    path = house.write("f.txt", b"\xef\xbb\xbf{}\n")
    data = (await house.call("write_file", path="f.txt", content="[]\n", overwrite=True))["data"]
    assert path.read_bytes() == b"[]\n"
    assert "byte order mark" in data["note"]


async def test_a11_dots_are_resolved_as_text(house: House) -> None:
    (house.root.parent / "out/deep").mkdir()
    (house.root / "link").symlink_to(house.root.parent / "out/deep")
    await house.call("write_file", path="link/../x.txt", content="x")
    assert (house.root / "x.txt").read_text() == "x"
    assert not (house.root.parent / "out/x.txt").exists()


async def test_a53_parents_that_vanish_never_give_a_false_success(house: House) -> None:
    house.write("d/f.txt", "old")
    (house.root / "d/f.txt").unlink()
    (house.root / "d").rmdir()
    data = (await house.call("write_file", path="d/f.txt", content="x"))["data"]
    assert (house.root / "d/f.txt").read_text() == "x"
    assert data["verified"]
