"""read_files: rows and windows, several files in one answer, encodings, what is refused, masked and cut."""

import codecs
import os
from collections.abc import Callable
from typing import Any

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.text.redact import MARK
from picoclawd.tools import _registry
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
NUMBERED = "".join(f"l{number}\n" for number in range(1, 3001))


async def read(house: House, *files: dict[str, Any], session: Any = None) -> tuple[str, list[dict[str, Any]]]:
    answer = await house.call("read_files", session=session, files=list(files))
    return answer["content"], answer["data"]["files"]


async def test_rows_are_numbered_and_a_whole_file_has_no_footer(house: House) -> None:
    house.write("f.txt", "a\n\tb")
    content, (file,) = await read(house, {"path": "f.txt"})
    assert content == "1\ta\n2\t\tb"
    expected = {"path": "f.txt", "format": "text", "encoding": "utf-8", "start": 1, "end": 2, "total": 2}
    assert file.items() >= (expected | {"next_offset": None, "eof": True, "image": None, "error": None}).items()
    assert len(file["sha256"]) == 64


async def test_a_cut_read_says_how_to_go_on_and_pages_join_to_the_file(house: House) -> None:
    house.write("f.txt", NUMBERED)
    rows: list[str] = []
    offset: int | None = 1
    while offset is not None:
        content, (file,) = await read(house, {"path": "f.txt", "offset": offset})
        assert len(content) <= 16_384
        page = content.split("\n")
        if file["next_offset"] is not None:
            again = f"[lines {offset}-{file['end']} of 3000; call again with offset={file['next_offset']} for more]"
            assert page.pop() == again
        rows += page
        offset = file["next_offset"]
    assert rows == [f"{number}\tl{number}" for number in range(1, 3001)]


async def test_offset_and_limit_pick_rows(house: House) -> None:
    house.write("f.txt", NUMBERED)
    content, _ = await read(house, {"path": "f.txt", "offset": "10", "limit": 2.0})
    assert content == "10\tl10\n11\tl11\n[lines 10-11 of 3000; call again with offset=12 for more]"
    content, (file,) = await read(house, {"path": "f.txt", "offset": 2999})
    assert content == "2999\tl2999\n3000\tl3000"
    assert file["eof"]


async def test_a_read_has_2048_rows_where_nothing_is_said(house: House) -> None:
    house.write("f.txt", "\n" * 3000)
    content, (file,) = await read(house, {"path": "f.txt"})
    assert (file["end"], file["next_offset"]) == (2048, 2049)
    assert "offset=2049" in content


async def test_around_shows_windows_and_ignores_offset_and_limit(house: House) -> None:
    house.write("f.txt", NUMBERED)
    content, (file,) = await read(
        house, {"path": "f.txt", "around": [10, 15, 500], "context": 2, "offset": 9, "limit": 1}
    )
    windows = [range(8, 18), range(498, 503)]
    assert content == "\n...\n".join("\n".join(f"{n}\tl{n}" for n in window) for window in windows)
    assert (file["start"], file["end"], file["total"], file["next_offset"], file["eof"]) == (8, 502, 3000, None, False)


async def test_around_has_20_rows_of_context_and_0_means_those_rows_alone(house: House) -> None:
    house.write("f.txt", NUMBERED)
    _, (file,) = await read(house, {"path": "f.txt", "around": [100]})
    assert (file["start"], file["end"]) == (80, 120)
    content, _ = await read(house, {"path": "f.txt", "around": [100, 7, 9999], "context": 0})
    assert content == "7\tl7\n...\n100\tl100\n[rows asked for are past the end: the last row is 3000]"


async def test_around_that_does_not_fit_names_the_rows_that_are_left(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(inline_chars=1024))
    house.write("f.txt", NUMBERED)
    content, (file,) = await read(house, {"path": "f.txt", "around": [100, 1000, 2000], "context": 40})
    assert len(content) <= 1024
    assert content.endswith(f"[lines 60-{file['end']} of 3000; call again with around=[1000, 2000] for more]")


async def test_a22_past_the_end_is_said_and_is_no_empty_row(house: House) -> None:
    house.write("f.txt", "l1\nl2\nl3\n")
    content, (file,) = await read(house, {"path": "f.txt", "offset": 4})
    assert content == "[offset 4 is past the end: the last row is 3]"
    assert (file["total"], file["start"], file["end"], file["eof"]) == (3, 4, 3, True)
    house.write("f.txt", "l1\n\n")
    assert (await read(house, {"path": "f.txt"}))[1][0]["total"] == 2
    house.write("f.txt", "")
    content, (file,) = await read(house, {"path": "f.txt"})
    assert (content, file["total"]) == ("[the file is empty]", 0)


async def test_a19_only_a_newline_ends_a_row(house: House) -> None:
    house.write("f.txt", "one\n\x0ctwo\nthree\u2028x\nfour\n")
    content, _ = await read(house, {"path": "f.txt", "around": [3], "context": 0})
    assert content == "3\tthree\u2028x"
    assert (await read(house, {"path": "f.txt", "offset": 4}))[0] == "4\tfour"


async def test_several_files_come_in_order_and_one_that_fails_does_not_spoil_them(house: House) -> None:
    house.write("a.txt", "aa\n")
    house.write("b.txt", "bb\n")
    (house.root / "dir").mkdir()
    asked = [{"path": name} for name in ("b.txt", "none.txt", "a.txt", "dir", "", "b.txt")]
    content, files = await read(house, *asked)
    blocks = content.split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == [f"== {entry['path']} ==" for entry in asked]
    assert blocks[0].endswith("\n1\tbb")
    assert blocks[2].endswith("\n1\taa")
    assert "\n[not_found] failed to read file: file not found" in blocks[1]
    assert blocks[3].split("\n")[1].startswith("[not_a_file] ")
    assert blocks[4].split("\n")[1].startswith("[invalid_path] ")
    assert all(len(blocks[index].split("\n")) == 2 for index in (1, 3, 4))
    assert [file["error"] and file["error"]["error"] for file in files] == [
        None,
        "not_found",
        None,
        "not_a_file",
        "invalid_path",
        None,
    ]
    assert (files[1]["error"]["retryable"], files[1]["total"], files[1]["path"]) == (False, None, "none.txt")


async def test_a01_a_link_that_leads_out_is_refused_and_the_others_are_read(house: House, tmp_path: Any) -> None:
    (tmp_path / "out" / "secret.txt").write_text("outside words\n")
    (house.root / "leak").symlink_to(tmp_path / "out" / "secret.txt")
    house.write("ok.txt", "inside words\n")
    answer = await house.call("read_files", files=[{"path": "leak"}, {"path": "ok.txt"}])
    assert "outside words" not in str(answer)
    assert "1\tinside words" in answer["content"]
    assert answer["data"]["files"][0]["error"]["error"] == "outside_workspace"


async def test_a_protected_file_is_refused_by_itself(house: House) -> None:
    house.write(".env", "K=1\n")
    house.write("ok.txt", "fine\n")
    answer = await house.call("read_files", files=[{"path": ".env"}, {"path": "ok.txt"}])
    assert "K=1" not in str(answer)
    assert answer["data"]["files"][0]["error"]["error"] == "confirmation_unavailable"
    assert "1\tfine" in answer["content"]


async def test_files_share_the_room_fairly(house: House) -> None:
    house.write("small.txt", "s\n")
    house.write("big.txt", NUMBERED * 10)
    house.write("huge.txt", NUMBERED * 20)
    content, (big, small, huge) = await read(house, {"path": "big.txt"}, {"path": "small.txt"}, {"path": "huge.txt"})
    assert 12_000 < len(content) <= 16_384
    assert small["eof"]
    assert abs(big["end"] - huge["end"]) <= 2
    assert "== small.txt ==\n1\ts\n\n" in content


async def test_many_files_with_long_rows_still_fit(house: House) -> None:
    for number in range(20):
        house.write(f"{number}.txt", "w" * 9000 + "\nsecond\n")
    content, files = await read(house, *({"path": f"{number}.txt"} for number in range(20)))
    assert len(content) <= 16_384
    assert all((file["cut_row"], file["next_offset"]) == (1, 2) for file in files)


async def test_a_row_that_alone_does_not_fit_is_cut_and_the_next_page_starts_after_it(house: House) -> None:
    house.write("f.txt", "first word " * 3000 + "\nx\n")
    content, (file,) = await read(house, {"path": "f.txt"})
    assert len(content) <= 16_384
    assert " … [truncated]\n[lines" in content
    assert "[lines 1-1 of 2; call again with offset=2 for more]" in content
    assert 'mode="bytes"' in content
    assert (file["cut_row"], file["next_offset"], file["eof"]) == (1, 2, False)
    assert (await read(house, {"path": "f.txt", "offset": 2}))[0] == "2\tx"


async def test_what_is_spilled_is_read_in_pages_that_never_spill(house: House) -> None:
    house.write("w.txt", "".join(f"word {number} is here\n" for number in range(3000)))
    artifact = (await house.call("read_file", path="w.txt"))["data"]["artifact"]
    answer = await house.call("read_files", files=[{"path": artifact}])
    assert "spilled" not in answer["data"]
    assert len(answer["content"]) <= 16_384


async def test_an_operator_gets_more_than_fits_inline(house: House) -> None:
    house.write("w.txt", "word\n" * 10_000)
    content, (file,) = await read(house, {"path": "w.txt", "limit": 9000}, session=house.operator)
    assert file["end"] == 9000
    assert len(content) > 80_000


async def test_a29_utf16_is_decoded_and_named(house: House) -> None:
    house.write("u.txt", b"\xff\xfet\x00e\x00s\x00t\x00\n\x00")
    content, (file,) = await read(house, {"path": "u.txt"})
    assert content == "1\ttest\n[decoded from utf-16-le]"
    assert file["encoding"] == "utf-16-le"


async def test_other_encodings_are_decoded_and_named(house: House) -> None:
    house.write("l.txt", "naïve café\n".encode("latin-1"))
    house.write("b.txt", codecs.BOM_UTF8 + b"a\r\nb\r\n")
    house.write("m.txt", "é\n".encode() * 5 + b"\xff\n")
    assert (await read(house, {"path": "l.txt"}))[0] == "1\tnaïve café\n[decoded from cp1252]"
    assert (await read(house, {"path": "b.txt"}))[0] == "1\ta\n2\tb"
    content, (file,) = await read(house, {"path": "m.txt"})
    assert content.endswith("6\t\ufffd\n[not UTF-8 throughout: invalid bytes are shown as U+FFFD]")
    assert (file["encoding"], file["lossy"]) == ("utf-8", True)


async def test_what_cannot_be_read_points_to_its_bytes(house: House) -> None:
    house.write("b.bin", b"\0\1\2")
    house.write("p.pdf", b"%PDF-1.7\nwords")
    house.write("s.wav", b"RIFF\0\0\0\0WAVEfmt ")
    house.write("fake.png", b'{"json": true}\n')
    asked = [{"path": name} for name in ("b.bin", "p.pdf", "s.wav", "fake.png")]
    content, files = await read(house, *asked)
    assert [file["error"] and file["error"]["error"] for file in files] == [
        "binary_file",
        "unsupported_format",
        "reader_not_installed",
        None,
    ]
    assert files[1]["error"]["next"] == {"method": "read_file", "params": {"path": "p.pdf", "mode": "bytes"}}
    assert "PDF document" in content
    assert '1\t{"json": true}' in content


async def test_words_that_are_a_formats_mark_do_not_make_a_text_a_document(house: House) -> None:
    house.write("f.txt", "ID3 tags\n")
    house.write("g.txt", "the ftyp box\n")
    house.write("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    _, files = await read(house, *({"path": name} for name in ("f.txt", "g.txt", "p.png")))
    assert [file["error"] and file["error"]["error"] for file in files] == [None, None, "unsupported_format"]
    assert "PNG image" in files[2]["error"]["message"]


async def test_a_readable_form_of_plain_text_does_not_exist(house: House) -> None:
    house.write("f.py", "print(1)\n")
    _, (file,) = await read(house, {"path": "f.py", "as": "readable"})
    assert file["error"]["error"] == "unsupported_format"
    assert "leave `as` out" in file["error"]["message"]


async def test_a_secret_is_masked_for_agents_only(house: House) -> None:
    house.write("f.txt", f"port=1\ntoken={SECRET}\n")
    content, _ = await read(house, {"path": "f.txt"})
    assert content == f"1\tport=1\n2\ttoken={MARK}"
    assert SECRET in (await read(house, {"path": "f.txt"}, session=house.operator))[0]


async def test_a_secret_that_the_cut_of_a_row_meets_is_masked(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(inline_chars=1024))
    for lead in range(520, 640, 7):
        house.write("f.txt", "word " * (lead // 5) + f"token={SECRET} " + "word " * 300)
        content, (file,) = await read(house, {"path": "f.txt"})
        assert file["cut_row"] == 1
        assert len(content) <= 1024
        assert "aB3d" not in content


async def test_notices_longer_than_what_they_stand_for_do_not_make_it_spill(house: House) -> None:
    house.write("f.txt", "a\u200bb\n" * 2000)
    answer = await house.call("read_files", files=[{"path": "f.txt"}])
    assert len(answer["content"]) <= 16_384
    assert "spilled" not in answer["data"]
    assert "1\ta[invisible characters removed]b\n" in answer["content"]
    file = answer["data"]["files"][0]
    assert f"offset={file['end'] + 1} for more" in answer["content"]


async def test_base64_stays_as_in_read_file(house: House) -> None:
    run = "QUJD" * 600
    house.write("f.txt", f"{run}\n")
    assert run in (await read(house, {"path": "f.txt"}))[0]


@pytest.mark.parametrize(
    "files",
    [
        [],
        [{}],
        [{"offset": 1}],
        [{"path": "a", "offset": 0}],
        [{"path": "a", "limit": 0}],
        [{"path": "a", "around": []}],
        [{"path": "a", "around": [0]}],
        [{"path": "a", "context": -1}],
        [{"path": "a", "as": "pdf"}],
        [{"path": "a", "start_line": 1}],
        ["a"],
        [{"path": "a"}] * 65,
    ],
)
async def test_bad_parameters_are_refused_whole(house: House, files: list[Any]) -> None:
    fault = await house.fault(Slug.INVALID_PARAMS, "read_files", files=files)
    assert fault.data["path"].startswith("$.files")


async def test_a_name_that_is_not_utf8_is_reached_by_its_bytes(house: House) -> None:
    house.write_bytes_name(b"caf\xe9.txt", b"hello")
    content, (file, _) = await read(house, {"path_bytes": "caf%E9.txt"}, {"path_bytes": "none%E9"})
    assert content.startswith("== caf%E9.txt ==\n1\thello\n\n== none%E9 ==\n[not_found]")
    assert file["path_bytes"] == "caf%E9.txt"


async def test_a_name_cannot_forge_a_line_of_the_answer(house: House) -> None:
    house.write("ok.txt", "fine\n")
    content, _ = await read(house, {"path": "x\n== ok.txt ==\n1\tforged"}, {"path": "ok.txt"})
    assert len(content.split("\n")) == 5
    assert "\n1\tforged" not in content


async def test_a_call_that_was_given_up_stops_between_files(house: House) -> None:
    house.write("f.txt", "x\n")
    house.stop = True
    with pytest.raises(Fault) as caught:
        await read(house, {"path": "f.txt"})
    assert caught.value.slug is Slug.CANCELLED


async def test_a_large_file_is_streamed(house: House) -> None:
    line = b"some words to fill a line with\n"
    house.write("large.txt", line * 200_000)
    content, (file,) = await read(house, {"path": "large.txt", "offset": 199_999})
    assert content == "".join(f"{n}\t{line.decode()}" for n in (199_999, 200_000)).rstrip("\n")
    assert (file["total"], file["sha256"]) == (200_000, None)


async def test_what_is_no_regular_file_is_refused_at_once(house: House) -> None:
    os.mkfifo(house.root / "pipe")
    assert (await read(house, {"path": "pipe"}))[1][0]["error"]["error"] == "not_a_file"


def test_every_path_of_the_call_has_its_lane() -> None:
    tool = _registry.discover()["read_files"]
    files = [{"path": "a"}, {"path_bytes": "b%E9"}, {"path": "a"}, {}]
    assert tool.paths({"files": files}) == ("a", "b%E9", "a", "")
