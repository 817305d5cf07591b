"""Turn a result's segments into text: stripped and redacted for agents, verbatim for operators."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import assert_never

import msgspec

from picoclawd.text import redact
from picoclawd.text.strip import strip
from picoclawd.tools._spec import FileRows, FileText, OwnText, Plain, Segment


class View(Enum):
    """How much of a file's text the reader may see."""

    VERBATIM = "verbatim"  # operators
    ACCIDENT = "accident"  # agents: secrets masked, but for the lines that their own edit adds and removes
    STRICT = "strict"  # agents: those too, but for tokens that the call itself supplied
    DISPLAY = "display"  # a person's chat: stripped of nothing, masked in nothing


class Renderer(msgspec.Struct, frozen=True):
    """Renders segments for one reader. `supplied` is all text that the call's own parameters held."""

    view: View
    omit_base64: bool = True
    supplied: str = ""

    def render(self, segments: Iterable[Segment]) -> str:
        """The segments' text, joined without anything between them."""
        return "".join(self._segment(segment) for segment in segments)

    def clean(self, text: str) -> str:
        """One piece of file text as this reader may see it."""
        return self._window("", text, "")

    def leaves(self, texts: Sequence[str]) -> bool:
        """Whether `clean` would give each of these as it is: one look at all of them costs a tenth of one at each."""
        if not self._masks:
            return True
        # No secret spans a NUL or hides behind one. What is invisible is so at the start of a line as of a text.
        rows = "\n".join(texts)
        return not redact.holds_secret("\0".join(texts)) and strip(rows, omit_base64=self.omit_base64) == rows

    def clean_line(self, text: str, start: int, end: int) -> tuple[str, int, int]:
        """A line as this reader may see it, and where the part between two characters is afterwards."""
        cleaned = self.clean(text)
        if cleaned == text:
            return text, start, end
        last = len(cleaned)
        return cleaned, min(len(self.clean(text[:start])), last), min(len(self.clean(text[:end])), last)

    def _segment(self, segment: Segment) -> str:
        match segment:
            case Plain(text):
                return text
            case FileText(text, before, after):
                return self._window(before, text, after)
            case FileRows(rows):
                return self._rows(rows)
            case OwnText(text):
                return self._own(text)
            case _:
                assert_never(segment)

    @property
    def _masks(self) -> bool:
        return self.view in (View.ACCIDENT, View.STRICT)

    def _window(self, before: str, text: str, after: str) -> str:
        if not self._masks:
            return text
        return redact.redact_window(before, strip(text, omit_base64=self.omit_base64), after)

    def _rows(self, rows: tuple[tuple[str, str, str, str], ...]) -> str:
        if not self._masks:
            return "\n".join(prefix + text + suffix for prefix, text, _rest, suffix in rows)
        # One look at all rows together: most pages hold nothing to mask, and a row by row search costs 10 x that.
        if not redact.holds_secret("\n".join(text + rest for _prefix, text, rest, _suffix in rows)):
            stripped = strip("\n".join(text for _prefix, text, _rest, _suffix in rows), omit_base64=self.omit_base64)
            lines = stripped.split("\n") if rows else []
            return "\n".join(row[0] + line + row[3] for row, line in zip(rows, lines, strict=True))
        return "\n".join(prefix + self._window("", text, rest) + suffix for prefix, text, rest, suffix in rows)

    def _own(self, text: str) -> str:
        if self.view is not View.STRICT:
            return text
        parts: list[str] = []
        end = 0
        for start, stop in redact.spans(text):
            token = text[start:stop]
            parts += [text[end:start], token if token in self.supplied else redact.MARK]
            end = stop
        return "".join([*parts, text[end:]])
