import inspect
import subprocess
import sys

import pytest

from picoclawd.client import Client, TrioClient, definitions, naming
from picoclawd.rpc.catalogue import describe_all


def test_every_method_of_the_daemon_is_shown_on_both_classes() -> None:
    wanted = {naming.python_name(row["name"]) for row in describe_all()} - {
        naming.python_name(name) for name in definitions.OWN
    }
    for made in (Client, TrioClient):
        assert wanted <= set(dir(made))
        assert all(inspect.getdoc(getattr(made, name)) for name in wanted)


def test_the_names_go_there_and_back() -> None:
    names = [row["name"] for row in describe_all()]
    assert [naming.wire_name(naming.python_name(name)) for name in names] == names


def test_no_parameter_is_hidden_by_an_option_of_ours() -> None:
    for row in describe_all():
        assert not set(row["params"].get("properties", {})) & set(naming.OPTIONS), row["name"]


def test_help_tells_signature_and_parameters() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from picoclawd.client import Client; help(Client.file_history)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "from_: str" in done.stdout and "-> Result" in done.stdout
    assert "trio" not in done.stderr


def test_the_signature_has_what_is_required_first() -> None:
    parameters = inspect.signature(Client.edit_file).parameters
    assert list(parameters)[:2] == ["self", "path"]
    assert parameters["path"].default is inspect.Parameter.empty
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for name, each in parameters.items() if name != "self")


def test_a_name_that_is_none_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="dir\\(Client\\) lists them"):
        _ = Client.no_such_method
    assert not hasattr(Client, "__no_such__") and not hasattr(Client(), "_no_such")


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "string"}, "str"),
        ({"enum": ["a", "b"]}, "Literal['a', 'b']"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"$ref": "#/$defs/Row"}, "dict[str, Any]"),
        ({}, "Any"),
    ],
)
def test_a_schema_is_shown_as_python_writes_types(part: dict[str, object], shown: str) -> None:
    assert definitions.annotation_of(part, {"$defs": {"Row": {"type": "object"}}}) == shown
