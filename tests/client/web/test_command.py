import importlib.util
import signal
import socket
from pathlib import Path

import pytest

from picoclawd.client.main import main
from tests.client.fake import FakeDaemon
from tests.e2e.daemon import Daemon
from tests.e2e.page import PageServer, wait_until


def test_without_the_extra_it_says_what_to_install(
    operated: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["web"]) == 2
    assert "pip install 'picoclawd[web]'" in capsys.readouterr().err


def test_without_a_daemon_it_says_so_at_once(lonely: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web"]) == 3
    assert "picoclawd serve --workspace" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none(operated: FakeDaemon, capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert main(["web", "--port", port]) == 2
    assert "no port" in capsys.readouterr().err


def test_a_port_that_is_taken(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["web", "--port", str(taken.getsockname()[1])]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "in use" in captured.err and "picoclawctl web" in captured.err


def test_it_prints_the_address_serves_at_the_port_asked_for_and_ends_on_a_signal(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        with PageServer(daemon) as first:
            port = first.port
            assert first.stop(signal.SIGINT) == 130
        with PageServer(daemon, "--port", str(port)) as second:
            assert second.port == port and second.key != first.key
            wait_until(lambda: second.ask("/api/approvals").status == 200)
            assert second.stop(signal.SIGTERM) == 0
        log = (tmp_path / "web.log").read_text()
    assert "Traceback" not in log and second.key not in log


def test_it_listens_where_no_other_machine_reaches_it(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, PageServer(daemon) as page:
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
        ours = [row[1] for row in rows if row[1].endswith(f":{page.port:04X}") and row[3] == "0A"]
    assert ours == [f"0100007F:{page.port:04X}"]
