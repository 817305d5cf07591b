"""The audit log: whole lines of bounded length in private files, whatever happens around it."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.audit import LINE_MAX_BYTES, NAME, Approval, Audit, Mutation, line_of


def mutation(path: str = "a.txt", **more: Any) -> Mutation:
    return Mutation(
        tool="write_file", path=path, action="create", outcome="applied", session_id="s-1", role="agent", pid=7, **more
    )


APPROVAL = Approval(id="a-1", digest="d", method="remove_file", path="x", answer="once", session_id="s-1", pid=9)


def rows(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    assert not data or data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def test_each_entry_is_one_line(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path / "log"), clock=lambda: 12.5)
    assert audit.write(mutation(version=3))
    assert audit.write(APPROVAL)
    audit.close()
    first, second = rows(tmp_path / "log" / NAME)
    assert first == {
        "at": 12.5,
        "kind": "mutation",
        "tool": "write_file",
        "path": "a.txt",
        "action": "create",
        "outcome": "applied",
        "version": 3,
        "session_id": "s-1",
        "role": "agent",
        "pid": 7,
    }
    assert (second["kind"], second["answer"], second["pid"]) == ("approval", "once", 9)


def test_files_and_directory_are_private(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path / "log"), file_max_bytes=200)
    for _ in range(5):
        audit.write(mutation())
    audit.close()
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "log").iterdir()} == {0o600}


def test_a_later_run_appends(tmp_path: Path) -> None:
    for number in range(3):
        audit = Audit(str(tmp_path / "log"))
        audit.write(mutation(str(number)))
        audit.close()
    assert [row["path"] for row in rows(tmp_path / "log" / NAME)] == ["0", "1", "2"]


@pytest.mark.parametrize("text", ["x" * 100_000, "\n" * 50_000, "\x00é€" * 20_000])
def test_a_line_has_at_most_8_kib_and_says_that_it_was_cut(text: str) -> None:
    for entry in (
        mutation(text, error=text, client=text, op=text, path_bytes=text),
        Approval(
            id=text, digest=text, method=text, path=text, answer=text, session_id=text, pid=1, ancestors=(1,) * 9_999
        ),
    ):
        line = line_of(entry, 1.0)
        assert len(line) <= LINE_MAX_BYTES
        assert line.count(b"\n") == 1
        assert json.loads(line)["cut"] is True


def test_a_line_that_fits_is_whole() -> None:
    assert json.loads(line_of(mutation("x" * 4_000), 1.0))["path"] == "x" * 4_000


def test_it_rotates_at_its_size_and_keeps_four_older_files(tmp_path: Path) -> None:
    size = len(line_of(mutation("00"), 1.0))
    audit = Audit(str(tmp_path), file_max_bytes=2 * size, clock=lambda: 1.0)
    for number in range(20):
        audit.write(mutation(f"{number:02}"))
    audit.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == [NAME, *(f"{NAME}.{number}" for number in range(1, 5))]
    kept = [row["path"] for number in (4, 3, 2, 1) for row in rows(tmp_path / f"{NAME}.{number}")]
    assert kept + [row["path"] for row in rows(tmp_path / NAME)] == [str(number) for number in range(10, 20)]


def test_a_line_that_a_crash_cut_off_spoils_no_other(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path))
    audit.write(mutation("whole"))
    audit.close()
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"kind":"mut')
    audit = Audit(str(tmp_path))
    audit.write(mutation("next"))
    audit.close()
    lines = (tmp_path / NAME).read_bytes().splitlines()
    assert [json.loads(lines[index])["path"] for index in (0, 2)] == ["whole", "next"]
    assert lines[1] == b'{"kind":"mut'


def test_a_log_that_somebody_removed_begins_anew(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path))
    audit.write(mutation("lost"))
    (tmp_path / NAME).unlink()
    audit.write(mutation("kept"))
    audit.close()
    assert [row["path"] for row in rows(tmp_path / NAME)] == ["kept"]


def test_a_line_that_cannot_be_written_is_told_once_and_not_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = Audit(str(tmp_path))
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    assert [audit.write(mutation()) for _ in range(2)] == [False, False]
    assert "link" in str(audit.trouble)
    assert len([row for row in caplog.records if "audit" in row.message]) == 1
    assert not (tmp_path / "elsewhere").exists()
    audit.close()


def test_after_trouble_it_goes_on(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path))
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    assert not audit.write(mutation("lost"))
    (tmp_path / NAME).rmdir()
    assert audit.write(mutation("again"))
    assert audit.trouble is None
    audit.close()
    assert [row["path"] for row in rows(tmp_path / NAME)] == ["again"]


def test_a_full_disk_costs_the_line_and_nothing_else(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path))
    log = str(tmp_path / NAME)
    links = {int(fd): os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}
    fd = next(fd for fd, path in links.items() if path == log)
    full, whole = os.open("/dev/full", os.O_WRONLY), os.dup(fd)
    os.dup2(full, fd)
    assert not audit.write(mutation("no room"))
    assert "space" in str(audit.trouble)
    os.dup2(whole, fd)
    os.close(full)
    os.close(whole)
    assert audit.write(mutation("room"))
    audit.close()
    written = [line for line in (tmp_path / NAME).read_bytes().splitlines() if line]
    assert [json.loads(line)["path"] for line in written] == ["room"]


def test_a_closed_log_takes_nothing_and_closes_again(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path))
    audit.close()
    audit.close()
    assert not audit.write(mutation())


def link(path: Path) -> None:
    path.symlink_to("target")


def fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def open_to_others(path: Path) -> None:
    path.touch()
    path.chmod(0o644)


@pytest.mark.parametrize("put", [link, Path.mkdir, fifo, open_to_others])
def test_what_is_not_ours_alone_is_refused(tmp_path: Path, put: Callable[[Path], object]) -> None:
    put(tmp_path / NAME)
    with pytest.raises(Fault) as caught:
        Audit(str(tmp_path))
    assert caught.value.slug is Slug.ACCESS_DENIED
    assert not (tmp_path / "target").exists()


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path), file_max_bytes=4_000)

    def work(name: str) -> None:
        for number in range(50):
            audit.write(mutation(f"{name}{number}"))

    threads = [threading.Thread(target=work, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    audit.close()
    for file in tmp_path.iterdir():
        assert all(row["kind"] == "mutation" for row in rows(file))
