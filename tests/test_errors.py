"""The one table of errors is whole, and a fault carries what the table says."""

import pytest

from picoclawd.errors import CODES, RETRYABLE, Fault, Slug


def test_every_slug_has_one_code() -> None:
    assert set(CODES) == set(Slug)
    assert all(code <= -32000 for code in CODES.values())


@pytest.mark.parametrize(
    ("slug", "code"),
    [
        (Slug.PARSE_ERROR, -32700),
        (Slug.INVALID_REQUEST, -32600),
        (Slug.METHOD_NOT_FOUND, -32601),
        (Slug.INVALID_PARAMS, -32602),
        (Slug.INTERNAL_ERROR, -32603),
    ],
)
def test_the_codes_of_json_rpc_are_its_own(slug: Slug, code: int) -> None:
    """JSON-RPC 2.0, section 5.1."""
    assert Fault(slug, "x").code == code


@pytest.mark.parametrize("slug", list(Slug))
def test_a_fault_is_retryable_as_the_table_says_unless_it_says_otherwise(slug: Slug) -> None:
    assert Fault(slug, "x").retryable == (slug in RETRYABLE)
    assert Fault(slug, "x", retryable=True).retryable
    assert not Fault(slug, "x", retryable=False).retryable


def test_a_fault_keeps_file_text_out_of_its_message() -> None:
    fault = Fault(Slug.NO_MATCH, "not found", excerpt="secret line", path="a.txt")
    assert str(fault) == fault.message == "not found"
    assert fault.data == {"path": "a.txt"}
    assert "secret" not in repr(fault)
    assert fault.outcome is None
