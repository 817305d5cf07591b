"""Part a rule file (`.gitignore`, `.ignore`) into rules, byte for byte as git does. gitignore(5)."""

import msgspec

from picoclawd.limits import KIB, MIB
from picoclawd.text.lines import split_bom

RULE_FILE_MAX_BYTES = MIB  # the largest rule files in use have some ten KiB; what is beyond is not read
RULES_MAX = 10_000  # in one file: each costs time for every name below it
RULE_MAX_BYTES = 8 * KIB  # twice the longest path: longer rules exist only to be slow to read

_COMMENT, _NEGATION = b"#", b"!"


class RuleLine(msgspec.Struct, frozen=True):
    """One rule. `text` is the line without its ending and its trailing spaces, as people want it shown.

    `glob` is what is left without `!`, a leading and one trailing slash; `line_no` is 1-based. A rule that is
    `anchored` is compared with the path below the rule file's directory, others with the base name alone.
    """

    line_no: int
    text: bytes
    glob: bytes
    negated: bool
    directories_only: bool
    anchored: bool


def read_rules(data: bytes) -> tuple[list[RuleLine], bool]:
    """The rules in their order, and whether any were left out.

    That is what lies beyond 1 MiB, a line cut there included, or beyond 10,000 rules, and rules over 8 KiB.
    """
    cut = len(data) > RULE_FILE_MAX_BYTES
    if cut:
        data = data[: data.rfind(b"\n", 0, RULE_FILE_MAX_BYTES) + 1]
    rules: list[RuleLine] = []
    for line_no, line in enumerate(split_bom(data)[1].split(b"\n"), 1):
        text = _rule_text(line)
        if not text:
            continue
        if len(rules) == RULES_MAX:
            return rules, True
        if len(text) > RULE_MAX_BYTES:
            cut = True
            continue
        rules.append(_parse(line_no, text))
    return rules, cut


def _rule_text(line: bytes) -> bytes:
    """What counts of a line: nothing of a comment, nothing from a NUL on, not its one CR, not its trailing spaces."""
    if line.startswith(_COMMENT):
        return b""
    return _without_trailing_spaces(line.removesuffix(b"\r").partition(b"\0")[0])


def _without_trailing_spaces(text: bytes) -> bytes:
    """Cut spaces, and only spaces: tabs stay, and so does a space behind a backslash that is itself not escaped."""
    kept = text.rstrip(b" ")
    if len(kept) == len(text):
        return text
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return text[: len(kept) + backslashes % 2]


def _parse(line_no: int, text: bytes) -> RuleLine:
    negated = text.startswith(_NEGATION)
    glob = text[1:] if negated else text
    directories_only = glob.endswith(b"/")
    if directories_only:
        glob = glob[:-1]
    anchored = b"/" in glob
    return RuleLine(line_no, text, glob.removeprefix(b"/"), negated, directories_only, anchored)
