"""What goes wrong around a commit is told in the caller's words, with what became of the change."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.target import Target, always, changed_meanwhile, check_still_there, directory_gone, reported

TARGET = Target(-1, b"notes.txt", "d/notes.txt")


@pytest.mark.parametrize("outcome", [None, "unknown", "applied"])
def test_a_system_error_is_reported_with_the_path_as_it_was_given(outcome: object) -> None:
    with pytest.raises(Fault) as caught, reported("write", "d/notes.txt", outcome):  # type: ignore[arg-type]
        raise OSError(28, "No space left on device")
    assert caught.value.slug is Slug.IO_ERROR
    assert "d/notes.txt" in caught.value.message
    assert caught.value.outcome == outcome


def test_what_is_no_system_error_passes() -> None:
    with pytest.raises(ZeroDivisionError), reported("write", "x"):
        raise ZeroDivisionError
    with reported("write", "x"):
        pass


def test_a_directory_that_is_there_is_no_fault_and_one_that_is_gone_is_a_conflict() -> None:
    check_still_there(TARGET, always)
    with pytest.raises(Fault) as caught:
        check_still_there(TARGET, lambda: False)
    assert caught.value.slug is Slug.CONFLICT
    assert "nothing was written" in caught.value.message
    with pytest.raises(Fault) as caught:
        check_still_there(TARGET, lambda: False, "applied")
    assert "the new content went with it" in caught.value.message
    assert caught.value.outcome == "applied"


def test_conflicts_say_what_to_do_next() -> None:
    assert "Read it again" in changed_meanwhile(TARGET, "was removed").message
    assert changed_meanwhile(TARGET, "was removed").message.startswith("d/notes.txt was removed while")
    assert "List the directory above it" in directory_gone(TARGET, "nothing was written").message
