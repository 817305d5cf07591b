"""HTML, SVG and notebooks, rendered."""

import json

import pytest

from picoclawd.documents.units import Unreadable
from tests.documents.reading import read

PAGE = """<!doctype html><html><head><title>The title</title><style>p { color: red }</style></head><body>
<h2>A heading</h2><p>Some <b>bold</b>   text with a <a href="https://example.org/x">link</a>.</p>
<script>var hidden = "<p>no</p>";</script><ul><li>one</li><li>two &amp; three</li></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<pre>  kept
    as it is</pre><img alt="a cat" src="cat.png"></body></html>"""


def test_a_page_is_its_blocks_of_text() -> None:
    found = read("readable", PAGE.encode(), name="p.html")
    assert [text for _, text in found.units] == [
        "The title",
        "## A heading",
        "Some bold text with a link (https://example.org/x).",
        "- one",
        "- two & three",
        "a | b",
        "1 | 2",
        "  kept\n    as it is",
        "[image: a cat]",
    ]
    assert (found.format, found.unit, found.total) == ("html", "block", 9)


def test_a_drawing_is_its_words() -> None:
    drawing = b'<svg xmlns="x"><title>Plan</title><defs><text>no</text></defs><text x="1">a word</text></svg>'
    found = read("readable", drawing, name="d.svg")
    assert found.format == "svg"
    assert [text for _, text in found.units] == ["Plan", "a word"]


def test_a_notebook_is_its_cells_with_what_they_gave() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {
            "cell_type": "code",
            "source": "1 + 1",
            "outputs": [
                {"output_type": "stream", "text": ["printed\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["2"], "image/png": "aaaa"}},
                {"output_type": "display_data", "data": {"image/png": "aaaa"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "bad"},
            ],
        },
    ]
    found = read("readable", json.dumps({"nbformat": 4, "cells": cells}).encode(), name="n.ipynb")
    assert (found.format, found.unit, found.total) == ("notebook", "cell", 2)
    assert found.units[0][1] == "[markdown]\n# Title\nwords"
    assert found.units[1][1] == (
        "[code]\n1 + 1\n[output]\nprinted\n[output]\n2\n[output]\n[image/png]\n[output]\nValueError: bad"
    )


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"print(1)\n", "x.py", "leave `as` out"),
        (b'{"cells": [', "x.ipynb", "damaged or cut off"),
        (b'{"nbformat": 3}', "x.ipynb", "no list of cells"),
    ],
)
def test_what_cannot_be_rendered_says_why(data: bytes, name: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        read("readable", data, name=name)
