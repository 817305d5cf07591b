"""remove_file: one file goes to the trash, with a person's word, and nothing else ever goes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.workspace import questions
from picoclawd.workspace.actors import Kind, Role
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.tools.past import Asking, with_history


@pytest.fixture
def past(make_house: Callable[..., House], tmp_path: Path) -> House:
    return with_history(make_house, tmp_path)


def content_of(path: str) -> bytes:
    return Path(path).read_bytes()


async def test_the_file_is_in_the_trash_and_the_answer_says_where(past: House) -> None:
    path = past.write("d/x.txt", b"x\n")
    answer = await past.call("remove_file", path="d/x.txt")
    data = answer["data"]
    assert not path.exists()
    assert content_of(data["moved_to"]) == b"x\n"
    assert data["path"] == "d/x.txt"
    assert data["resolved_path"] == str(path)
    assert data["restorable"]
    assert answer["content"].splitlines()[0] == "Remove(d/x.txt)"
    assert answer["display"] == answer["content"]
    assert f"version={data['version']}" in answer["content"]
    await past.call("restore_file", version=data["version"])
    assert path.read_bytes() == b"x\n"


async def test_a_name_that_is_not_utf8_is_removed_by_its_bytes(past: House) -> None:
    past.write_bytes_name(b"caf\xe9", b"x")
    answer = await past.call("remove_file", path_bytes="caf%E9")
    assert answer["data"]["path_bytes"] == "caf%E9"
    assert answer["content"].splitlines()[0] == "Remove(caf\\xe9)"
    assert os.listdir(os.fsencode(past.root)) == []


async def test_a_dry_run_asks_nobody_and_removes_nothing(make_house: Callable[..., House], tmp_path: Path) -> None:
    house = with_history(make_house, tmp_path, options=Options(approvals=questions.Settings(reachable=False)))
    path = house.write("x.txt", b"x")
    data = (await house.dry("remove_file", path="x.txt"))["data"]
    assert (data["dry_run"], data["moved_to"], data["version"]) == (True, None, None)
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("given", "slug"),
    [
        ("none.txt", Slug.NOT_FOUND),
        ("no/such/dir.txt", Slug.NOT_FOUND),
        ("d", Slug.NOT_A_FILE),
        (".", Slug.NOT_A_FILE),
        ("link", Slug.NOT_A_FILE),
        ("dangling", Slug.NOT_A_FILE),
        ("away", Slug.NOT_A_FILE),
        ("fifo", Slug.NOT_A_FILE),
        (".env", Slug.PROTECTED_PATH),
        (".git/config", Slug.PROTECTED_PATH),
        ("../out/o.txt", Slug.OUTSIDE_WORKSPACE),
        ("  ", Slug.INVALID_PATH),
    ],
)
async def test_what_is_refused_stays(past: House, tmp_path: Path, given: str, slug: Slug) -> None:
    for name in ("d/x.txt", "a.txt", ".env", ".git/config"):
        past.write(name, b"keep\n")
    outside = tmp_path / "out" / "o.txt"
    outside.write_bytes(b"keep\n")
    (past.root / "link").symlink_to("a.txt")
    (past.root / "dangling").symlink_to("nothing")
    (past.root / "away").symlink_to(outside)
    os.mkfifo(past.root / "fifo")
    before = sorted(str(path) for path in past.root.rglob("*"))
    await past.fault(slug, "remove_file", path=given)
    assert sorted(str(path) for path in past.root.rglob("*")) == before
    assert outside.read_bytes() == b"keep\n"


async def test_of_a_link_neither_the_link_nor_its_target_goes_and_the_error_names_both(past: House) -> None:
    target = past.write("a.txt", b"a")
    (past.root / "link").symlink_to("a.txt")
    fault = await past.fault(Slug.NOT_A_FILE, "remove_file", path="link")
    assert "link is a symbolic link to a.txt" in fault.message
    assert fault.data["target"] == "a.txt"
    assert target.exists()
    assert (past.root / "link").is_symlink()


async def test_the_wrong_hash_and_unsaved_text_keep_the_file(past: House) -> None:
    path = past.write("x.txt", b"x")
    await past.fault(Slug.CONFLICT, "remove_file", path="x.txt", if_match="0" * 64)
    past.workspace.editors.dirty(past.operator.actor, past, os.fsencode(path))
    await past.fault(Slug.OPEN_IN_EDITOR, "remove_file", path="x.txt")
    assert path.read_bytes() == b"x"


async def test_a_subagent_removes_nothing(past: House) -> None:
    path = past.write("x.txt", b"x")
    leg = past.workspace.sessions.connect(Role.AGENT, os.getpid())
    past.workspace.sessions.open(leg, "leg", Kind.SUBAGENT)
    await past.fault(Slug.DISABLED_FOR_ROLE, "remove_file", session=leg, path="x.txt")
    assert path.exists()


async def test_without_a_history_nothing_is_removed_and_nobody_is_asked(house: House) -> None:
    path = house.write("x.txt", b"x")
    await house.fault(Slug.HISTORY_UNAVAILABLE, "remove_file", path="x.txt")
    assert path.exists()


async def test_nobody_to_ask_or_a_configuration_that_denies_keep_the_file(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path, options=Options(approvals=questions.Settings(reachable=False)))
    path = house.write("x.txt", b"x")
    await house.fault(Slug.CONFIRMATION_UNAVAILABLE, "remove_file", path="x.txt")
    house.workspace.confirmations.settings = questions.Settings(mode="deny")
    await house.fault(Slug.CONFIRMATION_DENIED, "remove_file", path="x.txt")
    assert path.exists()
    await house.call("remove_file", session=house.operator, path="x.txt")
    assert not path.exists()


async def test_a_person_sees_the_call_and_its_yes_removes(make_house: Callable[..., House], tmp_path: Path) -> None:
    house = with_history(make_house, tmp_path, options=Options())
    path = house.write("x.txt", b"x\n")
    async with trio.open_nursery() as nursery:
        asking = Asking(house, nursery)
        await asking.start("remove_file", path="x.txt")
        (row,) = asking.rows
        assert (row["call"], row["params"]) == ("Remove(x.txt)", {"path": "x.txt"})
        assert "-x" in row["diff"]
        assert path.exists()
        asking.answer("once")
    assert not path.exists()
    assert asking.outcomes[0]["data"]["restorable"]


async def test_a_file_that_becomes_another_while_a_person_is_asked_stays(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path, options=Options())
    path = house.write("x.txt", b"x\n")
    async with trio.open_nursery() as nursery:
        asking = Asking(house, nursery)
        await asking.start("remove_file", path="x.txt")
        path.write_bytes(b"precious\n")
        asking.answer("once")
    assert asking.outcomes[0].slug is Slug.CONFLICT
    assert path.read_bytes() == b"precious\n"


async def test_a_link_that_comes_while_a_person_is_asked_removes_nothing(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path, options=Options())
    path, other = house.write("x.txt", b"x\n"), house.write("y.txt", b"x\n")
    async with trio.open_nursery() as nursery:
        asking = Asking(house, nursery)
        await asking.start("remove_file", path="x.txt")
        path.unlink()
        path.symlink_to("y.txt")
        asking.answer("once")
    assert asking.outcomes[0].slug is Slug.NOT_A_FILE
    assert other.read_bytes() == b"x\n"
