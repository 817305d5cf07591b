"""Tests of what tells a machine-made string from the rest; the corpora are in test_redact."""

import base64
import random
import string

import pytest

from picoclawd.text.entropy import is_wordy, machine_made

TOKEN = "q7Hn2WvKx9RbZ4tLm8PyC3sJd6GfT1aE5uXo"


def test_a_random_string_is_machine_made_from_the_asked_length_on() -> None:
    assert machine_made(TOKEN, shortest=32)
    assert not machine_made(TOKEN[:31], shortest=32)
    assert machine_made(TOKEN[:20], shortest=20)


def test_two_classes_suffice_only_where_asked() -> None:
    assert machine_made(TOKEN.lower(), shortest=20, classes=2)
    assert not machine_made(TOKEN.lower(), shortest=20)


@pytest.mark.parametrize("length", [32, 40, 64, 100])
def test_few_random_strings_are_missed(length: int) -> None:
    source = random.Random(length)
    alphabet = string.ascii_letters + string.digits + "-_"
    missed = sum(not machine_made("".join(source.choices(alphabet, k=length)), shortest=32) for _ in range(2000))
    assert missed <= {32: 60, 40: 20, 64: 6, 100: 2}[length]


@pytest.mark.parametrize("prefix", ["iVBOR", "_ZN4", "AAAA", "MII", "__ZN5"])
def test_known_formats_and_mangled_names_are_not_machine_made(prefix: str) -> None:
    assert not machine_made(prefix + TOKEN, shortest=32)


def test_base64_of_text_is_not_machine_made_in_either_alphabet() -> None:
    text = "Grüße aus Köln? >>> ÿ~ÿ~".encode() * 3
    assert not machine_made(base64.b64encode(text).decode(), shortest=32)
    assert not machine_made(base64.urlsafe_b64encode(text).decode().rstrip("="), shortest=32)


def test_words_hex_and_numbers_around_it_do_not_hide_a_short_random_part() -> None:
    assert not machine_made("Projects-my-app-production-0123456789abcdef-q7Hn2WvK", shortest=32)


@pytest.mark.parametrize("text", ["your-token-here", "accessTokenProvider", "TOKEN", "", "authentication.middleware"])
def test_words_are_wordy(text: str) -> None:
    assert is_wordy(text)


@pytest.mark.parametrize("text", ["abc1", "abcdefghijklmnop", "x" * 30])
def test_digits_and_long_stretches_are_not_wordy(text: str) -> None:
    assert not is_wordy(text)
