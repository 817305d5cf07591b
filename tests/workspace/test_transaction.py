"""The write transaction on disk: what is computed is written under the lock or not at all; the answer says which."""

import hashlib
import os

import pytest
import trio
from msgspec.structs import replace

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.handles import Place
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access
from picoclawd.workspace.change import Changed, Request
from picoclawd.workspace.plans import Append, Compute, Keep, Old, Plan, Replace
from tests.house import House


def request(house: House, path: str = "a.txt") -> Request:
    return Request(house.agent, house.workspace.parse(path), "write", "write_file", {"path": path}, lambda: False)


def to(plan: Plan) -> Compute:
    return lambda old: plan


def unrecorded(changed: Changed) -> Changed:
    """Without what history says of it."""
    return replace(changed, version=None, restorable=False, reason=None)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def change(house: House, plan: Plan, **keys: object) -> Changed:
    return await house.workspace.changer.change(replace(request(house), **keys), to(plan))


CASES: list[tuple[bytes | None, Plan, str, bytes | None]] = [
    (None, Replace(b"new"), "created", b"new"),
    (b"old", Replace(b"new one"), "replaced", b"new one"),
    (None, Append(b"new"), "created", b"new"),
    (b"old", Append(b"new"), "appended", b"oldnew"),
    (b"old", Keep(), "unchanged", b"old"),
    (None, Keep(), "unchanged", None),
]


@pytest.mark.parametrize(("before", "plan", "action", "after"), CASES)
@pytest.mark.parametrize("path", ["a.txt", "d/e/a.txt"])
async def test_a_plan_comes_to_what_its_dry_run_said(
    house: House, before: bytes | None, plan: Plan, action: str, after: bytes | None, path: str
) -> None:
    if before is not None:
        house.write(path, before)
    wanted = request(house, path)
    foreseen = await house.workspace.changer.change(replace(wanted, dry_run=True), to(plan))
    file = house.root / path
    assert (file.read_bytes() if file.exists() else None) == before
    assert file.parent.exists() == (before is not None or path == "a.txt")
    changed = await house.workspace.changer.change(wanted, to(plan))
    assert unrecorded(changed) == foreseen
    assert (file.read_bytes() if file.exists() else None) == after
    assert changed.action == action
    assert changed.sha256 == sha256(after or b"")
    assert changed.size == len(after or b"")
    assert changed.real == house.workspace.root + b"/" + path.encode()


async def test_an_append_to_a_file_too_large_to_hash_tells_its_size_and_no_hash(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SHA256_MAX_BYTES", 10)
    house.write("a.txt", b"x" * 9)
    foreseen = await change(house, Append(b"yy"), dry_run=True)
    assert (foreseen.size, foreseen.sha256) == (11, None)
    assert unrecorded(await change(house, Append(b"yy"))) == foreseen


async def test_the_plan_is_computed_from_the_file_under_the_lock(house: House) -> None:
    house.write("n", b"0")
    changer = house.workspace.changer

    def next_number(old: Old) -> Plan:
        return Replace(b"%d" % (int(old.data) + 1))

    async with trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(changer.change, request(house, "n"), next_number)
    assert (house.root / "n").read_bytes() == b"30"


async def test_all_names_of_a_new_directory_are_made_once(house: House) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(
                house.workspace.changer.change, request(house, f"d/e/f/{number % 4}"), to(Append(b"%d\n" % number))
            )
    left = [(house.root / f"d/e/f/{number}").read_bytes().split() for number in range(4)]
    assert [sorted(map(int, lines)) for lines in left] == [list(range(start, 20, 4)) for start in range(4)]


async def test_a_computation_that_fails_writes_nothing(house: House) -> None:
    def fail(old: Old) -> Plan:
        raise Fault(Slug.NO_MATCH, f"nothing in {old.size} bytes")

    house.write("a.txt", b"old")
    with pytest.raises(Fault, match="nothing in 3 bytes"):
        await house.workspace.changer.change(request(house), fail)
    assert sorted(os.listdir(house.root)) == ["a.txt"]
    assert (house.root / "a.txt").read_bytes() == b"old"


@pytest.mark.parametrize("before", [None, b"old"])
async def test_if_match_lets_through_the_one_state_it_names(house: House, before: bytes | None) -> None:
    if before is not None:
        house.write("a.txt", before)
    right = "" if before is None else sha256(before)
    for wrong in {"", sha256(b"old"), sha256(b"other")} - {right}:
        with pytest.raises(Fault) as caught:
            await change(house, Replace(b"new"), if_match=wrong)
        assert caught.value.slug is Slug.CONFLICT
        assert caught.value.data["sha256"] == right
    await change(house, Replace(b"new"), if_match=right)
    assert (house.root / "a.txt").read_bytes() == b"new"


async def test_a_cancelled_call_writes_nothing_and_makes_no_directory(house: House) -> None:
    for path in ("a.txt", "d/a.txt"):
        given_up = replace(request(house, path), cancelled=lambda: True)
        with pytest.raises(Fault) as caught:
            await house.workspace.changer.change(given_up, to(Replace(b"x")))
        assert caught.value.slug is Slug.CANCELLED
    assert os.listdir(house.root) == []


async def test_while_the_daemon_stops_no_change_begins(house: House) -> None:
    house.workspace.changer.closing = True
    with pytest.raises(Fault) as caught:
        await change(house, Replace(b"x"))
    assert caught.value.slug is Slug.SHUTTING_DOWN


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("d", Slug.NOT_A_FILE),
        ("../x", Slug.OUTSIDE_WORKSPACE),
        (".env", Slug.PROTECTED_PATH),
        ("fifo", Slug.NOT_A_FILE),
    ],
)
async def test_what_may_not_be_written_is_refused_before_anything_is_computed(
    house: House, path: str, slug: Slug
) -> None:
    (house.root / "d").mkdir()
    os.mkfifo(house.root / "fifo")

    def computed(old: Old) -> Plan:
        raise AssertionError("computed")

    with pytest.raises(Fault) as caught:
        await house.workspace.changer.change(request(house, path), computed)
    assert caught.value.slug is slug


async def test_a_path_that_is_pointed_elsewhere_all_the_time_is_busy(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round finds the link changed since the lock was taken."""
    for name in ("one", "two"):
        (house.root / name).mkdir()
    link = house.root / "link"
    link.symlink_to("one")
    turn = 0
    place = house.rooted.place

    def exchanging(path: WsPath, access: Access, *, make_parents: bool = False) -> Place:
        nonlocal turn
        turn += 1
        link.unlink()
        link.symlink_to(("one", "two")[turn % 2])
        return place(path, access, make_parents=make_parents)

    monkeypatch.setattr(house.rooted, "place", exchanging)
    with pytest.raises(Fault) as caught:
        await house.workspace.changer.change(request(house, "link/a.txt"), to(Replace(b"x")))
    assert caught.value.slug is Slug.PATH_BUSY
    assert not (house.root / "one/a.txt").exists() and not (house.root / "two/a.txt").exists()


@pytest.mark.parametrize("size", [0, 10, limits.SHA256_MAX_BYTES + 1])
async def test_a_file_of_any_size_is_hashed_whole(house: House, size: int) -> None:
    data = os.urandom(1024) * (size // 1024 + 1)
    house.write("a.txt", data[:size])
    seen: list[str] = []

    def look(old: Old) -> Plan:
        seen.append(old.sha256())
        return Append(b"") if size > limits.SHA256_MAX_BYTES else Keep()

    await house.workspace.changer.change(request(house), look)
    assert seen == [sha256(data[:size])]


async def test_a_file_too_large_to_be_edited_is_refused_when_its_bytes_are_asked_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EDIT_MAX_BYTES", 5)
    house.write("a.txt", b"123456")
    with pytest.raises(Fault) as caught:
        await house.workspace.changer.change(request(house), lambda old: Replace(old.data))
    assert caught.value.slug is Slug.TOO_LARGE
    await change(house, Replace(b"short"))
    assert (house.root / "a.txt").read_bytes() == b"short"
