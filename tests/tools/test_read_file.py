"""read_file: pages, headers, refusals, what is masked, and that a cached answer is never stale."""

import base64
import os
from collections.abc import Callable

import pytest

from picoclawd.errors import Slug
from picoclawd.tools.read_file import ReadFileSettings
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"


async def test_byte_pages_say_how_to_go_on(house: House) -> None:
    house.write("f.txt", b"x" * 100_000)
    first = await house.call("read_file", path="f.txt", length=1000)
    assert first["content"].startswith(
        "f.txt: 100000 bytes, range 0-999 [truncated: call again with offset=1000]\n\nxxx"
    )
    assert (first["data"]["next"], first["data"]["eof"], first["display"]) == (1000, False, None)
    last = await house.call("read_file", path="f.txt", offset=99_990)
    assert "range 99990-99999 [end of file]" in last["content"]
    assert (last["data"]["next"], last["data"]["eof"]) == (None, True)
    past = await house.call("read_file", path="f.txt", offset=1_000_000)
    assert "offset 1000000 is past the end [end of file]" in past["content"]


async def test_a_page_is_clamped_to_the_configured_size(make_house: Callable[..., House]) -> None:
    house = make_house(settings={"read_file": ReadFileSettings(max_read_file_size=50)})
    house.write("f.txt", b"x" * 100)
    assert (await house.call("read_file", path="f.txt", length=90))["data"]["length"] == 50


async def test_line_mode_numbers_lines(house: House) -> None:
    house.write("f.txt", "a\nb")
    result = await house.call("read_file", path="f.txt", mode="lines")
    assert result["content"] == "f.txt, lines 1-2, file_bytes 3, output_bytes 7 [end of file]\n\n1|a\n2|b"


async def test_line_mode_cuts_long_lines_and_goes_on(house: House) -> None:
    house.write("f.txt", "y" * 5000 + "\nx\n")
    content = (await house.call("read_file", path="f.txt", mode="lines"))["content"]
    assert "1|" + "y" * 2000 + " … [truncated]\n2|x" in content


async def test_a_line_over_the_budget_is_cut_and_said(make_house: Callable[..., House]) -> None:
    house = make_house(settings={"read_file": ReadFileSettings(mode="lines", max_read_file_size=10)})
    house.write("f.txt", "abcdefghijklmnop\nx\n")
    result = await house.call("read_file", path="f.txt")
    assert (result["data"]["cut_line"], result["data"]["next"]) == (1, 2)
    assert "was cut" in result["content"]


@pytest.mark.parametrize(
    ("mode", "wrong", "right"),
    [
        ("bytes", "start_line", "offset"),
        ("bytes", "max_lines", "length"),
        ("bytes", "limit", "length"),
        ("lines", "offset", "start_line"),
        ("lines", "length", "max_lines"),
        ("lines", "limit", "max_lines"),
    ],
)
async def test_arguments_of_the_other_mode_name_the_right_one(house: House, mode: str, wrong: str, right: str) -> None:
    house.write("f.txt", "a")
    fault = await house.fault(Slug.WRONG_MODE_ARGUMENT, "read_file", path="f.txt", mode=mode, **{wrong: 1})
    assert f"`{right}`" in fault.message
    assert fault.data["use"] == right


async def test_positional_parameters_follow_the_configured_mode(make_house: Callable[..., House]) -> None:
    house = make_house(settings={"read_file": ReadFileSettings(mode="lines")})
    house.write("f.txt", "a\nb\nc\n")
    assert "2|b" in (await house.call("read_file", "f.txt", 2, 1))["content"]


@pytest.mark.parametrize("bad", [{"offset": -1}, {"length": 0}, {"offset": "1e3"}, {"offset": True}, {"lenght": 3}])
async def test_bad_numbers_and_unknown_names_are_refused(house: House, bad: dict[str, object]) -> None:
    house.write("f.txt", "a")
    await house.fault(Slug.INVALID_PARAMS, "read_file", path="f.txt", **bad)


async def test_numbers_may_be_integral_floats_and_decimal_strings(house: House) -> None:
    house.write("f.txt", "abcdef")
    result = await house.call("read_file", path="f.txt", offset="2", length=3.0)
    assert result["content"].endswith("\n\ncde")


async def test_missing_files_keep_the_wording(house: House) -> None:
    fault = await house.fault(Slug.NOT_FOUND, "read_file", path="none.txt")
    assert fault.message.startswith("failed to read file: file not found")


async def test_a_secret_is_masked_for_agents_only(house: House) -> None:
    house.write("f.txt", f"token={SECRET}\nport=1\n")
    for mode in ("bytes", "lines"):
        agents = (await house.call("read_file", path="f.txt", mode=mode))["content"]
        assert SECRET not in agents
        assert "[FILTERED]" in agents
        assert "port=1" in agents
        operators = await house.call("read_file", session=house.operator, path="f.txt", mode=mode)
        assert SECRET in operators["content"]


async def test_a_secret_cut_by_a_page_edge_is_masked_on_both_pages(house: House) -> None:
    house.write("f.txt", f"token={SECRET}\n")
    for cut in range(8, 44):
        first = (await house.call("read_file", path="f.txt", length=cut))["content"]
        second = (await house.call("read_file", path="f.txt", offset=cut))["content"]
        assert SECRET[: cut - 6] not in first.split("\n\n", 1)[1].removeprefix("token=") or cut <= 6
        assert SECRET[cut - 6 :] not in second
        assert "[FILTERED]" in first
        assert "[FILTERED]" in second


async def test_a_secret_cut_by_the_line_length_is_masked(make_house: Callable[..., House]) -> None:
    house = make_house(settings={"read_file": ReadFileSettings(max_line_length=20)})
    house.write("f.txt", f"token={SECRET}\n")
    content = (await house.call("read_file", path="f.txt", mode="lines"))["content"]
    assert "1|token=[FILTERED] … [truncated]" in content


async def test_invisible_text_and_data_urls_are_stripped_but_base64_stays(house: House) -> None:
    run = base64.b64encode(os.urandom(1500)).decode()
    house.write("f.txt", f"a\u200bb data:image/png;base64,{'QUJD' * 50} {run}")
    content = (await house.call("read_file", path="f.txt"))["content"]
    assert "\u200b" not in content
    assert "QUJDQUJD" not in content
    assert run in content


async def test_binary_and_utf16_files_are_flagged(house: House) -> None:
    house.write("b.bin", b"\0\1\2")
    house.write("u.txt", "test\n".encode("utf-16"))
    assert "[binary" in (await house.call("read_file", path="b.bin"))["content"]
    assert "[UTF-16 text" in (await house.call("read_file", path="u.txt"))["content"]
    for name in ("b.bin", "u.txt"):
        fault = await house.fault(Slug.BINARY_FILE, "read_file", path=name, mode="lines")
        assert fault.next_call is not None
        assert fault.next_call.params["mode"] == "bytes"


async def test_a28_the_content_decides_and_not_the_name(house: House) -> None:
    house.write("data.dat", "plain text\n")
    assert "1|plain text" in (await house.call("read_file", path="data.dat", mode="lines"))["content"]


async def test_a09_a_name_that_looks_like_an_option_is_a_name(house: House) -> None:
    for name in ("-rf.txt", "--pre=x.md", "--help"):
        house.write(name, "text\n")
        assert (await house.call("read_file", path=name))["content"].endswith("text\n")


async def test_a106_what_is_no_regular_file_is_refused_at_once(house: House) -> None:
    os.mkfifo(house.root / "pipe")
    for name in ("pipe", "."):
        await house.fault(Slug.NOT_A_FILE, "read_file", path=name)


async def test_a106_a_file_that_reports_no_size_is_read_to_its_end(make_house: Callable[..., House]) -> None:
    name = "/sys/kernel/uevent_seqnum"
    house = make_house(allow_read=("^/sys/",))
    result = await house.call("read_file", path=name)
    assert result["data"]["eof"]
    assert result["data"]["sha256"]


async def test_a_cached_file_is_never_stale(house: House) -> None:
    path = house.write("f.txt", "0000")
    for round_no in range(200):
        assert (await house.call("read_file", path="f.txt"))["content"].endswith(f"{round_no:04}")
        path.write_text(f"{round_no + 1:04}")


async def test_base64_is_for_operators(house: House) -> None:
    house.write("f.bin", b"\xff\x00")
    result = await house.call("read_file", session=house.operator, path="f.bin", encoding="base64")
    assert base64.b64decode(result["data"]["base64"]) == b"\xff\x00"
    await house.fault(Slug.OPERATOR_ONLY, "read_file", path="f.bin", encoding="base64")


async def test_a_name_that_is_not_utf8_is_reached_by_its_bytes(house: House) -> None:
    house.write_bytes_name(b"caf\xe9.txt", b"hello")
    result = await house.call("read_file", path_bytes="caf%E9.txt")
    assert result["content"].startswith("caf\\xe9.txt: 5 bytes")
    assert result["data"]["path"] == "caf\ufffd.txt"
    assert result["data"]["path_bytes"] == "caf%E9.txt"


async def test_a_large_answer_spills_and_its_artifact_never_does(house: House) -> None:
    house.write("w.txt", "".join(f"word {number} is here\n" for number in range(3000)))
    result = await house.call("read_file", path="w.txt")
    assert len(result["content"]) <= 16_384
    assert "word 0 " in result["content"]
    assert "word 2999" in result["content"]
    artifact = result["data"]["artifact"]
    assert result["data"]["spilled"]
    assert artifact in result["content"]
    page = await house.call("read_file", path=artifact)
    assert "spilled" not in page["data"]
    assert len(page["content"]) <= 16_384
    assert (house.root / artifact).stat().st_mode & 0o777 == 0o600
    assert (house.root / ".picoclaw/.gitignore").read_text() == "*\n"


async def test_an_operator_gets_everything_inline(house: House) -> None:
    house.write("w.txt", "word\n" * 10_000)
    result = await house.call("read_file", session=house.operator, path="w.txt")
    assert "spilled" not in result["data"]
    assert len(result["content"]) > 49_000


async def test_a_dot_picoclaw_that_is_a_link_means_no_spill(house: House) -> None:
    elsewhere = house.root.parent / "out"
    (house.root / ".picoclaw").symlink_to(elsewhere)
    house.write("w.txt", "word\n" * 10_000)
    result = await house.call("read_file", path="w.txt")
    assert (result["data"]["spilled"], result["data"]["artifact"]) == (True, None)
    assert list(elsewhere.iterdir()) == []
    assert len(result["content"]) <= 16_384


async def test_a_small_inline_bound_is_kept(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(inline_chars=1024))
    house.write("w.txt", "word\n" * 10_000)
    result = await house.call("read_file", path="w.txt", mode="lines")
    assert len(result["content"]) <= 1024
    page = await house.call("read_file", path=result["data"]["artifact"])
    assert "spilled" not in page["data"]


async def test_base64_is_for_byte_mode(house: House) -> None:
    house.write("f.txt", "a\n")
    fault = await house.fault(
        Slug.WRONG_MODE_ARGUMENT,
        "read_file",
        session=house.operator,
        path="f.txt",
        mode="lines",
        encoding="base64",
    )
    assert fault.data["path"] == "$.encoding"
