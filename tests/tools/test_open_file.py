"""open_file: what is handed to the desktop, what a person is asked for first, and what is never opened."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.workspace import opener, questions
from picoclawd.workspace.opener import Opener
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.tools.past import Asking

ASK = Options(approvals=questions.Settings(reachable=False))  # who would be asked is told so, and does not wait


class Desktop:
    """A house whose desktop is a script that notes what it was asked to open."""

    def __init__(self, house: House, tmp_path: Path) -> None:
        self.house = house
        self.bin = tmp_path / "bin"
        self.bin.mkdir()
        self.log = tmp_path / "opened.log"
        self.environ = {"PATH": f"{self.bin}:/usr/bin:/bin", "DISPLAY": ":7", "HOME": str(tmp_path)}
        self.install("xdg-open", f'printf "%s\\n" "$@" >> {self.log}; env > {self.log}.env')
        house.workspace.opener = Opener(house.rooted, house.workspace.threads, self.environ)

    def install(self, name: str, body: str) -> None:
        script = self.bin / name
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)

    def uninstall(self) -> None:
        (self.bin / "xdg-open").unlink()
        self.environ["PATH"] = str(self.bin)

    @property
    def opened(self) -> list[str]:
        return os.fsdecode(self.log.read_bytes()).splitlines() if self.log.exists() else []

    @property
    def environment(self) -> str:
        return Path(f"{self.log}.env").read_text()


@pytest.fixture
def make_desktop(make_house: Callable[..., House], tmp_path: Path) -> Callable[..., Desktop]:
    return lambda **keys: Desktop(make_house(**{"options": ASK} | keys), tmp_path)


@pytest.fixture
def desktop(make_desktop: Callable[..., Desktop]) -> Desktop:
    return make_desktop()


async def test_a_file_and_a_directory_are_opened_by_their_real_paths(desktop: Desktop) -> None:
    house = desktop.house
    film = house.write("films/a film.mp4", b"....ftyp")
    (house.root / "link").symlink_to("films")
    answer = await house.call("open_file", path="link/a film.mp4")
    assert answer["content"] == f"Opened {film}."
    assert answer["data"] == {
        "path": "link/a film.mp4",
        "resolved_path": str(film),
        "opener": "xdg-open",
        "finished": True,
    }
    await house.call("open_file", path="films")
    assert desktop.opened == [str(film), str(house.root / "films")]


async def test_names_that_look_like_options_or_shell_are_names(desktop: Desktop) -> None:
    names = ["--help", "$(touch x)", "a;b", "a'b\"c"]
    for name in names:
        desktop.house.write(name, b"text")
        await desktop.house.call("open_file", path=name)
    desktop.house.write_bytes_name(b"caf\xe9", b"text")
    await desktop.house.call("open_file", path_bytes="caf%E9")
    assert desktop.opened == [f"{desktop.house.root}/{name}" for name in [*names, os.fsdecode(b"caf\xe9")]]
    assert not (desktop.house.root / "x").exists()


async def test_a_file_url_is_its_path(desktop: Desktop) -> None:
    file = desktop.house.write("a b.txt", b"text")
    answer = await desktop.house.call("open_file", url=f"file://{desktop.house.root}/a%20b.txt")
    assert answer["data"]["path"] == "a b.txt"
    assert desktop.opened == [str(file)]
    await desktop.house.fault(Slug.OUTSIDE_WORKSPACE, "open_file", url="file:///etc/passwd")
    await desktop.house.fault(Slug.OUTSIDE_WORKSPACE, "open_file", url="FILE://localhost/etc/passwd")
    assert len(desktop.opened) == 1


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"path": "a.txt", "url": "https://example.org/"},
        {"url": ""},
        {"url": "https:"},
        {"url": "example.org"},
        {"url": "-h"},
        {"url": "https://example.org/a b"},
        {"url": "https://example.org/\n"},
        {"url": "https://example.org/\u202egpj.exe"},
        {"url": "https://example.org/" + "x" * 9000},
        {"url": "file://other.host/etc/passwd"},
        {"url": "file:a.txt"},
        {"url": "file:///a.txt?x"},
        {"url": "file://[/a.txt"},
        {"url": "https://\ud800/"},
    ],
)
async def test_what_names_nothing_that_can_be_opened_is_refused(desktop: Desktop, params: dict[str, Any]) -> None:
    await desktop.house.fault(Slug.INVALID_PARAMS, "open_file", **params)
    assert desktop.opened == []


@pytest.mark.parametrize(
    ("given", "slug"),
    [
        ("none.txt", Slug.NOT_FOUND),
        ("fifo", Slug.NOT_A_FILE),
        (".env", Slug.PROTECTED_PATH),
        ("../out/o.txt", Slug.OUTSIDE_WORKSPACE),
        ("away", Slug.OUTSIDE_WORKSPACE),
    ],
)
async def test_the_policy_counts(desktop: Desktop, tmp_path: Path, given: str, slug: Slug) -> None:
    (tmp_path / "out" / "o.txt").write_bytes(b"x")
    desktop.house.write(".env", b"x")
    os.mkfifo(desktop.house.root / "fifo")
    (desktop.house.root / "away").symlink_to(tmp_path / "out" / "o.txt")
    await desktop.house.fault(slug, "open_file", path=given)
    assert desktop.opened == []


ASKS: list[dict[str, Any]] = [
    {"url": "https://example.org/"},
    {"url": "mailto:somebody@example.org"},
    {"url": "vscode://file/x"},
    {"path": "run"},
    {"path": "script.txt"},
    {"path": "App.DESKTOP"},
    {"path": "setup.exe"},
    {"path": "elf"},
    {"path": "harmless.txt"},
]


def put_programs(house: House) -> None:
    house.write("run", b"text", mode=0o755)
    house.write("script.txt", b"#!/bin/sh\n")
    house.write("App.DESKTOP", b"[Desktop Entry]\n")
    house.write("setup.exe", b"")
    house.write("elf", b"\x7fELF\x02")
    (house.root / "harmless.txt").symlink_to("App.DESKTOP")


@pytest.mark.parametrize("params", ASKS)
@pytest.mark.parametrize("mode", ["ask", "allow"])
async def test_a_person_is_asked_for_urls_and_programs_whatever_the_mode(
    make_desktop: Callable[..., Desktop], params: dict[str, Any], mode: questions.Mode
) -> None:
    desktop = make_desktop(options=Options(approvals=questions.Settings(mode=mode, reachable=False)))
    put_programs(desktop.house)
    await desktop.house.fault(Slug.CONFIRMATION_UNAVAILABLE, "open_file", **params)
    assert desktop.opened == []
    await desktop.house.call("open_file", session=desktop.house.operator, **params)
    assert len(desktop.opened) == 1


async def test_a_yes_opens_once_and_shows_what_was_asked(make_desktop: Callable[..., Desktop]) -> None:
    desktop = make_desktop(options=Options())
    async with trio.open_nursery() as nursery:
        asking = Asking(desktop.house, nursery)
        await asking.start("open_file", url="https://example.org/?q=1")
        (row,) = asking.rows
        assert row["call"] == "open_file(https://example.org/?q=1)"
        assert row["answers"] == ["once", "deny"]
        asking.answer("once")
    assert desktop.opened == ["https://example.org/?q=1"]


async def test_a_program_that_is_exchanged_while_a_person_is_asked_is_not_opened(
    make_desktop: Callable[..., Desktop],
) -> None:
    desktop = make_desktop(options=Options())
    script = desktop.house.write("s", b"#!/bin/sh\n")
    async with trio.open_nursery() as nursery:
        asking = Asking(desktop.house, nursery)
        await asking.start("open_file", path="s")
        script.write_bytes(b"#!/bin/sh\nrm -rf ~\n")
        asking.answer("once")
    assert asking.outcomes[0].slug is Slug.CONFLICT
    assert desktop.opened == []


async def test_without_a_screen_or_an_opener_it_says_so_and_asks_nobody(desktop: Desktop) -> None:
    desktop.house.write("a.txt", b"text")
    desktop.uninstall()
    fault = await desktop.house.fault(Slug.IO_ERROR, "open_file", path="a.txt")
    assert "xdg-open" in fault.message
    del desktop.environ["DISPLAY"]
    for params in ({"path": "a.txt"}, {"url": "https://example.org/"}):
        fault = await desktop.house.fault(Slug.IO_ERROR, "open_file", **params)
        assert "DISPLAY" in fault.message
    assert desktop.opened == []


async def test_gio_opens_where_xdg_open_is_missing(desktop: Desktop) -> None:
    file = desktop.house.write("a.txt", b"text")
    desktop.uninstall()
    desktop.install("gio", f'printf "%s\\n" "$@" >> {desktop.log}')
    assert (await desktop.house.call("open_file", path="a.txt"))["data"]["opener"] == "gio"
    assert desktop.opened == ["open", str(file)]


async def test_the_opener_gets_the_screen_and_none_of_our_sockets_or_keys(desktop: Desktop) -> None:
    desktop.house.write("a.txt", b"text")
    desktop.environ |= {"LISTEN_FDS": "2", "NOTIFY_SOCKET": "/run/x", "OPENAI_API_KEY": "k", "XDG_RUNTIME_DIR": "/r"}
    await desktop.house.call("open_file", path="a.txt")
    names = {line.partition("=")[0] for line in desktop.environment.splitlines()}
    assert {"DISPLAY", "HOME", "PATH", "XDG_RUNTIME_DIR"} <= names
    assert not names & {"LISTEN_FDS", "NOTIFY_SOCKET", "OPENAI_API_KEY"}


async def test_an_opener_that_fails_is_told_of(desktop: Desktop) -> None:
    desktop.house.write("a.txt", b"text")
    desktop.install("xdg-open", "exit 3")
    fault = await desktop.house.fault(Slug.IO_ERROR, "open_file", path="a.txt")
    assert "status 3" in fault.message
    assert fault.outcome == "unknown"
    (desktop.bin / "xdg-open").write_bytes(b"\0")
    await desktop.house.fault(Slug.IO_ERROR, "open_file", path="a.txt")


async def test_an_opener_that_does_not_return_is_ended_and_what_it_started_goes_on(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.house.write("a.txt", b"text")
    pids = desktop.bin / "pids"
    desktop.install("xdg-open", f"sleep 60 & echo $$ $! > {pids}; wait")
    monkeypatch.setattr(opener, "CAP_S", 1.0)
    answer = await desktop.house.call("open_file", path="a.txt")
    assert answer["data"]["finished"] is False
    own, viewer = map(int, pids.read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(own, 0)
    os.kill(viewer, 9)  # which is there


async def test_a_dry_run_opens_nothing_and_asks_nobody(desktop: Desktop) -> None:
    desktop.house.write("a.txt", b"text")
    put_programs(desktop.house)
    for params in [{"path": "a.txt"}, *ASKS]:
        answer = await desktop.house.dry("open_file", **params)
        assert answer["data"]["dry_run"] is True
        assert answer["content"].startswith("Would open ")
    assert desktop.opened == []


async def test_no_answer_in_time_opens_nothing(make_desktop: Callable[..., Desktop]) -> None:
    desktop = make_desktop(options=Options(approvals=questions.Settings(timeout_s=0.01)))
    await desktop.house.fault(Slug.CONFIRMATION_PENDING, "open_file", url="https://example.org/")
    assert desktop.opened == []
