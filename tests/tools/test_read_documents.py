"""read_files on documents, with real workers: what a person would expect of each, hostile ones included."""

import base64
import time
import zlib
from typing import Any

import pytest
import trio

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.text.redact import MARK
from tests.conftest import require
from tests.documents import made
from tests.house import House

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"


async def read(house: House, *files: dict[str, Any], session: Any = None) -> tuple[str, list[dict[str, Any]]]:
    with trio.fail_after(60):
        answer = await house.call("read_files", session=session, files=list(files))
    return answer["content"], answer["data"]["files"]


async def test_one_page_of_a_pdf_says_how_to_go_on(house: House) -> None:
    house.write("a.pdf", made.pdf_pages(["first page words", "second page words", "third page words"]))
    content, (file,) = await read(house, {"path": "a.pdf", "offset": 2, "limit": 1})
    assert content == "[page 2 of 3]\nsecond page words\n[pages 2-2 of 3; call again with offset=3 for more]"
    expected = {"format": "pdf", "start": 2, "end": 2, "total": 3, "next_offset": 3, "eof": False, "error": None}
    assert file.items() >= expected.items()


async def test_around_shows_the_pages_beside(house: House) -> None:
    house.write("a.pdf", made.pdf_pages([f"page {number}" for number in range(1, 10)]))
    content, (file,) = await read(house, {"path": "a.pdf", "around": [5], "context": 1})
    assert [line for line in content.split("\n") if line.startswith("page")] == ["page 4", "page 5", "page 6"]
    assert (file["start"], file["end"], file["next_offset"]) == (4, 6, None)


async def test_a_table_is_read_by_record_and_around_shows_lines(house: House) -> None:
    house.write("t.csv", 'a,b\n1,"two\nlines"\n3,4\n')
    content, (file,) = await read(house, {"path": "t.csv", "offset": 2, "limit": 2})
    assert content == '2\t1,"two\nlines"\n3\t3,4'
    assert (file["format"], file["total"], file["encoding"]) == ("csv", 3, "utf-8")
    content, (file,) = await read(house, {"path": "t.csv", "around": [3], "context": 0})
    assert content == '3\tlines"'
    assert (file["format"], file["total"]) == ("text", 4)


async def test_an_answer_is_cut_to_its_room_and_pages_join(house: House) -> None:
    house.write("d.docx", made.docx(lambda document: [document.add_paragraph(f"{n} " * 90) for n in range(300)]))
    rows: list[str] = []
    offset: int | None = 1
    while offset is not None:
        content, (file,) = await read(house, {"path": "d.docx", "offset": offset})
        assert len(content) <= 16 * limits.KIB
        rows += [line for line in content.split("\n") if "\t" in line]
        offset = file["next_offset"]
    assert [row.split("\t")[0] for row in rows] == [str(number) for number in range(1, 301)]


async def test_a_picture_is_data_and_a_line(house: House) -> None:
    house.write("p.png", made.png(300, 200))
    content, (file,) = await read(house, {"path": "p.png"})
    assert content == "1\t[PNG image, 300 × 200 pixels; shown as image/png, 300 × 200]"
    image = file["image"]
    assert (image["mime"], image["width"], image["height"]) == ("image/png", 300, 200)
    assert base64.b64decode(image["base64"]).startswith(b"\x89PNG")


async def test_pictures_do_not_push_files_out_of_the_data(house: House) -> None:
    require("PIL")
    from PIL import Image

    names = [f"{number}.png" for number in range(3)]
    for name in names:
        Image.effect_noise((500, 400), 90).save(house.root / name)
    _, files = await read(house, *({"path": name} for name in names))
    assert sum(len(file["image"]["base64"]) for file in files) > limits.DATA_MAX_BYTES_AGENT


async def test_a_picture_too_many_is_left_out_and_the_file_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("a.png", made.png(300, 200))
    house.write("b.png", made.png(30, 20))
    _, (a, b) = await read(house, {"path": "a.png"}, {"path": "b.png"})
    monkeypatch.setattr("picoclawd.tools.read_files._IMAGES_MAX_BYTES", len(a["image"]["base64"]) + 10)
    content, files = await read(house, {"path": "a.png"}, {"path": "b.png"})
    assert [file["image"] is None for file in files] == [False, True]
    assert content.endswith("[its picture is left out, there are too many: read it alone]")
    assert b["image"] is not None


async def test_secrets_in_documents_are_masked_for_agents_only(house: House) -> None:
    house.write("d.docx", made.docx(lambda document: document.add_paragraph(f"token={SECRET}")))
    assert (await read(house, {"path": "d.docx"}))[0] == f"1\ttoken={MARK}"
    assert SECRET in (await read(house, {"path": "d.docx"}, session=house.operator))[0]


async def test_a_document_that_was_read_is_known_and_one_that_failed_is_not(house: House) -> None:
    house.write("t.csv", "a,b\n1,2\n")
    house.write("bad.pdf", made.pdf_encrypted())
    await read(house, {"path": "t.csv"}, {"path": "bad.pdf"})
    target = [{"old_string": "1,2", "new_string": "3,4"}]
    await house.call("edit_file", path="t.csv", targets=target)
    assert (house.root / "t.csv").read_text() == "a,b\n3,4\n"
    with pytest.raises(Fault) as caught:
        await house.call("edit_file", path="bad.pdf", targets=target)
    assert caught.value.slug is Slug.NOT_FRESH


async def test_readable_renders_and_text_keeps_the_rows(house: House) -> None:
    house.write("p.html", "<html><body><h1>Title</h1><p>words</p></body></html>\n")
    content, (file,) = await read(house, {"path": "p.html", "as": "readable"})
    assert content == "1\t# Title\n2\twords"
    assert (file["format"], file["total"]) == ("html", 2)
    content, (file,) = await read(house, {"path": "p.html"})
    assert content.startswith("1\t<html>")


async def test_text_in_an_old_encoding_is_told_by_its_words(house: House) -> None:
    require("chardet")
    house.write("r.txt", "Привет, мир. Как дела сегодня?\n".encode("cp1251"))
    content, (file,) = await read(house, {"path": "r.txt"})
    assert content == "1\tПривет, мир. Как дела сегодня?\n[decoded from cp1251]"
    assert file["encoding"] == "cp1251"


async def test_a28_the_content_decides_whatever_the_name_says(house: House) -> None:
    house.write("data.dat", "plain text\n")
    house.write("report.txt", made.pdf_pages(["pages"]))
    house.write("notes.pdf", "no document\n")
    content, files = await read(house, {"path": "data.dat"}, {"path": "report.txt"}, {"path": "notes.pdf"})
    assert [file["format"] for file in files] == ["text", "pdf", "text"]
    assert "1\tplain text" in content
    assert "1\tno document" in content


async def test_a29_a_table_in_utf16_is_decoded_and_named(house: House) -> None:
    house.write("u.csv", "a,b\nä,ö\n".encode("utf-16"))
    content, (file,) = await read(house, {"path": "u.csv"})
    assert content == "1\ta,b\n2\tä,ö\n[decoded from utf-16-le]"
    assert file["encoding"] == "utf-16-le"


async def test_a103_a_docx_that_unpacks_to_200_mb_is_one_entrys_error(house: House) -> None:
    huge = b"<w:document>" + b"A" * 200_000_000
    house.write("bomb.docx", made.rezipped(made.docx(), {"word/document.xml": huge}))
    house.write("ok.txt", "fine\n")
    started = time.monotonic()
    content, files = await read(house, {"path": "bomb.docx"}, {"path": "ok.txt"})
    assert time.monotonic() - started < 5  # what the report asks for; it takes a tenth of a second
    assert files[0]["error"]["error"] == "too_large"
    assert "unpacks to 190 MiB" in files[0]["error"]["message"]
    assert "1\tfine" in content


async def test_a104_text_named_png_is_text_and_a_jpeg_named_png_is_a_jpeg(house: House) -> None:
    house.write("json.png", b'{"json": true}\n')
    house.write("svg.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>\n")
    house.write("photo.png", made.picture("RGB", (40, 30), "JPEG"))
    _, files = await read(house, *({"path": name} for name in ("json.png", "svg.png", "photo.png")))
    assert [file["format"] for file in files] == ["text", "text", "jpeg"]
    assert [file["image"] and file["image"]["mime"] for file in files] == [None, None, "image/jpeg"]


async def test_a105_results_come_in_order_and_each_error_names_the_true_cause(house: House) -> None:
    house.write("ok.txt", "fine\n")
    house.write("encrypted.pdf", made.pdf_encrypted())
    house.write("huge.png", b"\x89PNG\r\n\x1a\n" + b"\0" * (12 * limits.MIB))
    names = ("ok.txt", "missing", "encrypted.pdf", "huge.png")
    content, files = await read(house, *({"path": name} for name in names))
    assert [file["path"] for file in files] == list(names)
    errors = [file["error"] and file["error"]["error"] for file in files]
    assert errors == [None, "not_found", "unsupported_format", "too_large"]
    assert "password" in files[2]["error"]["message"]
    assert "12.0 MiB" in files[3]["error"]["message"]
    assert len(content) < 16 * limits.KIB


async def test_a_mixed_call_comes_in_order_and_starts_fewer_workers_than_it_reads(house: House) -> None:
    """More documents than workers, of four formats by turns."""
    for number in range(4):
        house.write(f"{number}.pdf", made.pdf_pages([f"pdf {number}"]))
        house.write(f"{number}.csv", f"table,{number}\n")
        house.write(f"{number}.png", made.png(300 + number, 200))
        house.write(f"{number}.docx", made.docx(lambda document, n=number: document.add_paragraph(f"docx {n}")))
    names = [f"{number}.{kind}" for number in range(4) for kind in ("pdf", "csv", "png", "docx")]
    content, files = await read(house, *({"path": name} for name in names))
    assert [file["path"] for file in files] == names
    assert [file["error"] for file in files] == [None] * 16
    assert [file["format"] for file in files] == ["pdf", "csv", "png", "docx"] * 4
    for number in range(4):
        block = content.split(f"== {number}.pdf ==")[1].split(f"== {number + 1}.pdf ==")[0]
        for words in (f"pdf {number}", f"table,{number}", f"{300 + number} × 200", f"docx {number}"):
            assert words in block
    held = house.workspace.documents.statistics()
    assert 4 <= held.started < len(names)
    assert held.resting == 0


async def test_a106_what_is_no_regular_file_is_refused_at_once(house: House) -> None:
    import os

    os.mkfifo(house.root / "pipe.pdf")
    os.mkdir(house.root / "directory.pdf")
    _, files = await read(house, {"path": "pipe.pdf"}, {"path": "directory.pdf"})
    assert [file["error"]["error"] for file in files] == ["not_a_file", "not_a_file"]


ENTITIES = b"".join(b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 10))
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">%s]><x>&e9;</x>' % ENTITIES
EXTERNAL = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


def hostile() -> dict[str, tuple[bytes, str, str]]:
    """Name: content, slug, and what the message must say."""
    word, slides = made.docx(), made.pptx([("a", "b", "c")])
    stream = zlib.compress(b"BT (aaaaaaaaaaaaaa) Tj ET\n" * 17_700_000, 9)
    big = b"<x>" + b"a" * 30_000_000 + b"</x>"
    return {
        "media.docx": (made.rezipped(word, {"word/media/x.png": b"\0" * 300_000_000}), "too_large", "unpacks"),
        "many.pptx": (made.rezipped(slides, {f"ppt/x{n}": b"" for n in range(20_000)}), "too_large", "parts"),
        "lying.docx": (
            made.with_lying_size(made.rezipped(word, {"word/document.xml": big}), b"word/document.xml", 100),
            "unsupported_format",
            "does not hold what it declares",
        ),
        "laughs.docx": (made.rezipped(word, {"word/document.xml": LAUGHS}), "unsupported_format", "DOCTYPE"),
        "external.pptx": (made.rezipped(slides, {"docProps/app.xml": EXTERNAL}), "unsupported_format", "DOCTYPE"),
        "stream.pdf": (made.pdf_of_stream(stream), "too_large", "352 MiB"),
        "loop.pdf": (made.pdf_page_loop(), "unsupported_format", "page tree"),
        "pixels.png": (made.png(30_000, 30_000, rows=1), "too_large", "900 megapixels"),
        "cut.docx": (word[: len(word) // 2], "unsupported_format", "damaged or cut off"),
        "cut.png": (made.png(300, 200)[:60], "unsupported_format", "damaged or cut off"),
        "locked.pdf": (made.pdf_encrypted(), "unsupported_format", "password"),
    }


async def test_hostile_files_cost_their_own_entry_only(house: House) -> None:
    files = hostile()
    for name, (data, _, _) in files.items():
        house.write(name, data)
    house.write("ok.txt", "fine\n")
    house.write("ok.pdf", made.pdf_pages(["good words"]))
    content, found = await read(house, {"path": "ok.txt"}, *({"path": name} for name in files), {"path": "ok.pdf"})
    assert "1\tfine" in content
    assert "good words" in content
    for file, (name, (_, slug, words)) in zip(found[1:-1], files.items(), strict=True):
        assert file["error"]["error"] == slug, (name, file)
        assert words in file["error"]["message"], (name, file)
        assert file["path"] == name


async def test_the_loop_turns_while_a_worker_reads(house: House) -> None:
    house.write("q.csv", 'a,"b"\n' * 400_000)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await trio.sleep(0.005)
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(turn)
        await read(house, {"path": "q.csv", "offset": 399_999})
        nursery.cancel_scope.cancel()
    assert turns > 5
