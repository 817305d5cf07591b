"""list_dir: what is there, in order, without what is protected, one name a row."""

import os
import socket
from collections.abc import Callable

from picoclawd.errors import Slug
from tests.house import House


async def test_entries_are_labelled_and_sorted(house: House) -> None:
    house.write("b.txt", "x")
    house.write("a/inner.txt", "x")
    os.mkfifo(house.root / "pipe")
    (house.root / "link").symlink_to("a")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(house.root / "s"))
    result = await house.call("list_dir", path=".")
    assert result["content"] == "DIR:  a\nFILE: b.txt\nFILE: link\nOTHER: pipe\nOTHER: s"
    kinds = {entry["name"]: entry["kind"] for entry in result["data"]["entries"]}
    assert kinds == {"a": "dir", "b.txt": "file", "link": "symlink", "pipe": "fifo", "s": "socket"}
    assert [entry["target"] for entry in result["data"]["entries"] if entry["name"] == "link"] == ["a"]


async def test_the_workspace_is_the_default(house: House) -> None:
    house.write("b.txt", "x")
    for params in ({}, {"path": ""}, {"path": "  "}):
        assert (await house.call("list_dir", **params))["content"] == "FILE: b.txt"


async def test_a06_protected_entries_are_hidden_in_any_case(house: House) -> None:
    for name in (".ssh/id_rsa", ".ENV", ".env.local", "k.PEM", "Id_Rsa", ".picoclawd.1.abc.tmp", "ok.txt"):
        house.write(name, "x")
    result = await house.call("list_dir")
    assert result["content"].splitlines()[0] == "FILE: ok.txt"
    assert result["data"]["hidden"] >= 5


async def test_what_is_left_out_is_said(house: House) -> None:
    for number in range(7):
        house.write(f"f{number}", "")
    result = await house.call("list_dir", limit=3, offset=2)
    assert result["content"] == "FILE: f2\nFILE: f3\nFILE: f4\n[entries 3-5 of 7; call again with offset=5 for more]"
    assert result["data"]["next_offset"] == 5
    assert (await house.call("list_dir", limit=3, offset=5))["data"]["next_offset"] is None
    assert "no entry at offset 9" in (await house.call("list_dir", offset=9))["content"]


async def test_one_name_is_one_row(house: House) -> None:
    house.write("a\nFILE: b.txt", "")
    house.write_bytes_name(b"caf\xe9", b"")
    result = await house.call("list_dir")
    assert result["content"].splitlines() == ["FILE: a\\nFILE: b.txt", "FILE: caf\\xe9"]
    assert result["data"]["entries"][1]["path_bytes"] == "caf%E9"


async def test_a01_a_link_is_listed_and_not_followed(house: House) -> None:
    outside = house.root.parent / "out"
    (outside / "secret.txt").write_text("S")
    (house.root / "leak").symlink_to(outside / "secret.txt")
    (house.root / "dir").symlink_to(outside)
    assert (await house.call("list_dir"))["content"] == "FILE: dir\nFILE: leak"
    await house.fault(Slug.OUTSIDE_WORKSPACE, "list_dir", path="dir")
    await house.fault(Slug.OUTSIDE_WORKSPACE, "read_file", path="leak")


async def test_a_file_is_no_directory(house: House) -> None:
    house.write("f", "")
    await house.fault(Slug.NOT_A_DIRECTORY, "list_dir", path="f")
    await house.fault(Slug.NOT_FOUND, "list_dir", path="none")


async def test_rows_that_do_not_fit_are_counted(house: House) -> None:
    for number in range(1000):
        house.write(f"{'n' * 100}{number:04}", "")
    result = await house.call("list_dir")
    data = result["data"]
    assert data["rows_cut"] == 1000 - len(data["entries"])
    assert data["rows_cut"] > 0
    assert data["next_offset"] == len(data["entries"])
    whole = await house.call("list_dir", session=house.operator)
    assert len(whole["data"]["entries"]) == 1000


async def test_an_outside_directory_needs_a_match_for_itself_and_each_entry(make_house: Callable[..., House]) -> None:
    house = make_house(allow_read=(r"/out/$", r"/out/.*\.txt$"))
    outside = house.root.parent / "out"
    (outside / "a.txt").write_text("a")
    (outside / "b.bin").write_text("b")
    assert (await house.call("list_dir", path=str(outside)))["content"] == "FILE: a.txt"


async def test_what_rules_ignore_is_told_and_outside_nothing_is(make_house: Callable[..., House]) -> None:
    house = make_house(allow_read_outside=True)
    house.write(".gitignore", "*.log\nout/\n")
    for name in ("a.log", "b.txt", "out/c.txt", ".git/config"):
        house.write(name, "")
    entries = (await house.call("list_dir"))["data"]["entries"]
    assert {entry["name"]: entry["ignored"] for entry in entries} == {
        ".git": None,
        ".gitignore": False,
        "a.log": True,
        "b.txt": False,
        "out": True,
    }
    outside = house.root.parent / "out"
    (outside / "a.log").write_text("")
    entries = (await house.call("list_dir", path=str(outside)))["data"]["entries"]
    assert [entry["ignored"] for entry in entries] == [None]
