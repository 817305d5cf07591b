"""Tests of what is ours in the person's directory of units."""

from pathlib import Path

import pytest

from picoclawd.daemon.unit_store import Held, UnitStore, user_units
from picoclawd.errors import Fault, Slug


def test_what_was_written_is_known_again_replaced_and_removed(tmp_path: Path) -> None:
    store = UnitStore(str(tmp_path / "units"))
    assert store.held("x.d/a.conf") is Held.NOTHING
    store.write("x.d/a.conf", "[Service]\nA=1\n")
    store.write("x.d/a.conf", "[Service]\nA=2\n")
    path = tmp_path / "units/x.d/a.conf"
    assert path.read_text().endswith("\n[Service]\nA=2\n")
    assert path.stat().st_mode & 0o777 == 0o644
    assert store.remove("x.d/a.conf") is Held.OURS
    assert not path.parent.exists()
    assert store.remove("x.d/a.conf") is Held.NOTHING


@pytest.mark.parametrize("how", ["written by hand", "edited", "link", "directory"])
def test_what_is_the_persons_stays(tmp_path: Path, how: str) -> None:
    store, path = UnitStore(str(tmp_path)), tmp_path / "a.service"
    if how == "written by hand":
        path.write_text("[Service]\n")
    elif how == "edited":
        store.write("a.service", "[Service]\n")
        path.write_text(path.read_text() + "Nice=5\n")
    elif how == "link":
        store.write("b.service", "[Service]\n")
        path.symlink_to("b.service")
    else:
        path.mkdir()
    with pytest.raises(Fault, match=r"mv .*a\.service .*a\.service\.old") as caught:
        store.write("a.service", "new")
    assert caught.value.slug is Slug.FILE_EXISTS
    assert store.remove("a.service") is Held.FOREIGN
    assert path.exists()


def test_a_directory_with_other_files_stays(tmp_path: Path) -> None:
    store = UnitStore(str(tmp_path))
    store.write("x.d/a.conf", "a")
    (tmp_path / "x.d/mine.conf").write_text("b")
    store.remove("x.d/a.conf")
    assert [path.name for path in (tmp_path / "x.d").iterdir()] == ["mine.conf"]


def test_instances_are_those_with_a_drop_in_of_their_own(tmp_path: Path) -> None:
    store = UnitStore(str(tmp_path))
    assert UnitStore(str(tmp_path / "none")).instances() == []
    for name in ("picoclawd@b.service.d/x", "picoclawd@a-1.service.d/x", "picoclawd@.service.d/x", "y@z.service.d/x"):
        store.write(name, "")
    assert store.instances() == ["a-1", "b"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/h"}, "/h/.config/systemd/user"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, "/c/systemd/user"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "/h/.config/systemd/user"),
    ],
)
def test_the_directory_is_the_one_that_systemd_reads(environ: dict[str, str], expected: str) -> None:
    assert user_units(environ) == expected
