"""What the writing tools share: a marker that stands for a secret is never written over it."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.text import redact
from picoclawd.tools._write import refuse_mask

SECRET = b"ghp_" + b"aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
MARK = redact.MARK.encode()


@pytest.mark.parametrize(
    "after",
    [b"key = " + SECRET + b"\nmore\n", b"nothing\n", b"key = " + SECRET + b"\n" + MARK + b" is how secrets look\n"],
)
def test_what_keeps_or_removes_the_secret_is_written(after: bytes) -> None:
    refuse_mask("a.txt", b"key = " + SECRET + b"\n", after)


def test_a_marker_in_the_secrets_place_is_refused_with_the_call_that_helps() -> None:
    with pytest.raises(Fault) as caught:
        refuse_mask("a.txt", b"key = " + SECRET + b"\n", b"key = " + MARK + b"\nmore\n")
    assert caught.value.slug is Slug.MASKED_TEXT
    assert caught.value.next_call is not None
    assert (caught.value.next_call.method, caught.value.next_call.params) == ("edit_file", {"path": "a.txt"})
    assert SECRET.decode() not in caught.value.message
