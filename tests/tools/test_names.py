"""Results name a file as the tools take it, and say where that led."""

from picoclawd.tools._names import names_of
from tests.house import House


def test_a_path_is_relative_inside_and_absolute_outside(house: House) -> None:
    parse = house.workspace.parse
    assert names_of(parse("a/./b"), b"/real/b") == {"path": "a/b", "resolved_path": "/real/b"}
    assert names_of(parse("."), b"/real")["path"] == "."
    assert names_of(parse("/etc/hosts"), b"/etc/hosts")["path"] == "/etc/hosts"


def test_a_name_that_is_no_utf8_is_given_in_bytes_too(house: House) -> None:
    names = names_of(house.workspace.parse("", "caf%E9"), b"/real/caf\xe9")
    assert names["path_bytes"] == "caf%E9"
    assert house.workspace.parse("", names["path_bytes"]).relative == b"caf\xe9"
