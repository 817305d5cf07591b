"""Tell machine-made strings (keys, tokens) from what people and compilers write: names, words, paths, hashes, art.

No single number separates them. Together these do: all of upper case, lower case and digits, spread over many distinct
characters, changing class often, few digits, and few of the letter pairs that words are made of. Measured on 258 MB of
Python, C headers, Perl, Rust and documentation: all of the 29 strings found there were keys, tokens or base64. Of
random strings of 32, 40 and 64 letters and digits 1.3 %, 0.6 % and 0.05 % are missed.
"""

import re
from binascii import a2b_base64
from itertools import pairwise

# The letter pairs that make up four fifths of those inside the long identifiers of that corpus.
_PAIRS = (
    "ac ad ag al am an ap ar as at bi bl bu ca ce ch ck cl cm co cr cs ct da de di ea ec ed ee ef el em en ep er es et "
    "ex fi fo fr fu ge gl ha he ib ic id ie if ig il im in io ip is it ke la le li ll lo ma me mi mp na nc nd ne nf ng "
    "ni no ns nt nu oc od oi ol om on op or os ou pa pe pk pl po pr pt ra re ri rm ro rr rs rt ry sa sc se sh si sk sl "
    "sn so sp ss st su ta te th ti to tr tt tx ty ue ul un up ur us ut va ve xt yp"
)
_COMMON_PAIRS = frozenset(_PAIRS.split())
_COMMON_PAIRS_MAX = 0.3  # share of all neighbours; random: 0.09, identifiers: 0.5
_COMMON_OF_LETTERS_MAX = 0.5  # share of the neighbours within a word; random: 0.2, words between many numbers: 0.6
_BREAKS_MIN = 0.2  # share of neighbours where a letter meets a digit or lower case meets upper; random: 0.45
_DIGITS_MAX = 0.45  # share of digits; random: 0.16. SVG paths and part numbers lie above
_DISTINCT_MIN = 0.62  # distinct characters, as a share of the length or of 30; random: 0.8
_CORE_MIN = 0.75  # of the shortest length: what must be left once words, numbers and hex are taken out

# One alternative each, without nesting: linear.
_PLAIN_SEGMENT = re.compile(r"(?:0x)?[0-9a-fA-F]{4,}|[0-9]+|[a-z]+|[A-Z]+|[A-Z][a-z]+", re.ASCII)
_SEPARATORS = re.compile(r"[-_+/=]+")
# What base64 of well-known formats begins with: images, fonts, PDF, zip, gzip, DER, XML, SSH keys, zero bytes.
_MAGIC = (
    "iVBOR",
    "R0lGOD",
    "/9j/",
    "UklGR",
    "d09G",
    "JVBER",
    "UEsD",
    "H4sI",
    "MII",
    "PD94",
    "PHN2Z",
    "AAAA",
    "AAEAAAA",
)
# Compilers' names for functions: the Itanium C++ ABI, and Rust's v0 scheme.
_MANGLED = re.compile(r"_{1,2}(?:Z[NSKTLG0-9]|R[NCMXYI])[A-Za-z0-9_]*\Z")
_TEXT_SHARE = 0.9  # of the characters that base64 decodes to
_SAMPLE_CHARS = 256  # as sure as more would be, and no run costs much


def machine_made(run: str, *, shortest: int, classes: int = 3) -> bool:
    """Tell whether a run of letters, digits and `-_+/=` looks like the output of a random generator.

    Runs under `shortest` characters never do; `classes` of upper case, lower case and digits must be there. The first
    256 characters decide for a longer run. Hex in any case, UUIDs, mangled names, base64 of text and of known file
    formats do not count as machine-made.
    """
    run = run[:_SAMPLE_CHARS]
    if len(run) < shortest or _count_classes(run) < classes or is_known_format(run) or _MANGLED.match(run):
        return False
    core = "".join(part for part in _SEPARATORS.split(run) if not _PLAIN_SEGMENT.fullmatch(part))
    return len(core) >= shortest * _CORE_MIN and _looks_random(core) and not _is_text_in_base64(run)


def is_known_format(run: str) -> bool:
    """Tell whether a run begins as base64 of a well-known file format or key container does."""
    return run.startswith(_MAGIC)


def is_wordy(text: str) -> bool:
    """Tell whether a string reads like words: no digit, and no unbroken stretch of 16 letters or more.

    `your-token-here` and `accessTokenProvider` do; what is asked is a string behind a prefix that promises a secret.
    """
    if any(char.isdigit() for char in text):
        return False
    return all(len(word) < 16 for word in re.findall(r"[A-Z]*[a-z]*", text))


def _count_classes(run: str) -> int:
    return (run.upper() != run) + (run.lower() != run) + any(char.isdigit() for char in run)


def _looks_random(core: str) -> bool:
    neighbours = len(core) - 1
    common = breaks = letters = 0
    for left, right in pairwise(core):
        if left.isalpha() != right.isalpha() or (left.islower() and right.isupper()):
            breaks += 1
        elif left.isalpha():
            letters += 1
            common += (left + right).lower() in _COMMON_PAIRS
    return (
        common < _COMMON_PAIRS_MAX * neighbours
        and common <= _COMMON_OF_LETTERS_MAX * letters
        and breaks >= _BREAKS_MIN * neighbours
        and sum(char.isdigit() for char in core) <= _DIGITS_MAX * len(core)
        and len(set(core)) >= _DISTINCT_MIN * min(len(core), 30)
    )


def _is_text_in_base64(run: str) -> bool:
    """Tell whether a run is base64 (either alphabet, padded or not) of something that a person can read."""
    whole = run.replace("=", "").replace("-", "+").replace("_", "/")
    decoded = a2b_base64(whole[: len(whole) // 4 * 4])  # whole groups of its alphabet: always decodable
    text = decoded.decode("utf-8", "replace")
    readable = sum((char.isprintable() and char != "\ufffd") or char in "\t\r\n" for char in text)
    return readable >= _TEXT_SHARE * len(text)
