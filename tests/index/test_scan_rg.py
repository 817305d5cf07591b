"""A scan finds the lines that ripgrep finds, over real files and made ones."""

import random
import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from picoclawd.index.matcher import compile_search
from picoclawd.index.pattern import Encoding, encoding_of
from picoclawd.index.scan import scan_file
from tests.index.rg import lines_of, ripgrep

# What RE2 means by its classes and boundaries, in ripgrep's words: there they are of all of Unicode.
_IN_RIPGREP = {
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\d": "[0-9]",
    r"\s": r"[\t\n\f\r ]",
    r"\b": r"(?-u:\b)",
}
FOLDERS = ("json", "email", "test/cjkencodings", "test/tokenizedata", "wsgiref", "encodings")
Tree = dict[str, bytes]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tree]:
    """Some of Python's own library, and files that are peculiar."""
    top = tmp_path_factory.mktemp("tree")
    library = Path(sysconfig.get_path("stdlib"))
    for folder in FOLDERS:
        if (library / folder).is_dir():
            shutil.copytree(library / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    source = (library / "textwrap.py").read_bytes()
    made = {
        "crlf.py": source.replace(b"\n", b"\r\n"),
        "mixed.py": source.replace(b"def", b"def\r\n"),
        "bom.py": b"\xef\xbb\xbf" + source,
        "latin.txt": "déjà vu\nnaïve return\ncafé self\nplain return\n".encode("latin-1") * 3,
        "unicode.txt": "déjà vu\nnaïve return\n日本語 self\nplain İıſK return\n".encode(),
        "long.txt": b"return " * 100_000 + b"\nself\n",
        "no-newline.txt": b"self\nreturn",
        "empty.txt": b"",
        "blank.txt": b"\n\n\r\n\n",
    }
    for name, data in made.items():
        (top / name).write_bytes(data)
    files = {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}
    return top, files


def ours(source: str, files: Tree, *, multiline: bool = False) -> set[tuple[str, int]]:
    pattern = compile_search(source, multiline=multiline)
    return {(path, row.line_no) for path, data in files.items() for row in scan_file(pattern, data).rows}


def in_ripgrep(source: str) -> str:
    for ours_, theirs in _IN_RIPGREP.items():
        source = source.replace(ours_, theirs)
    return source


def strange_lines(files: Tree) -> set[tuple[str, int]]:
    """The lines that are not UTF-8: they match as Latin-1 too, which ripgrep does not offer."""
    return {
        (path, line_no)
        for path, data in files.items()
        for line_no, line in enumerate(data.split(b"\n"), 1)
        if encoding_of(line) is Encoding.OTHER
    }


def generated(seed: int, words: list[str]) -> str:
    """A pattern as people write them, around words that are in the files."""
    rnd = random.Random(seed)
    word = rnd.choice(words)
    other = rnd.choice(words)
    forms: list[Callable[[], str]] = [
        lambda: word,
        lambda: word[: rnd.randint(1, len(word))],
        lambda: f"(?i){word.swapcase()}",
        lambda: rf"\b{word}\b",
        lambda: rf"{word}\w*\(",
        lambda: f"{word}|{other}",
        lambda: f"{word[:2]}.*{other[-2:]}",
        lambda: rf"^\s*{word}",
        lambda: rf"{word}.?$",
        lambda: rf"\d{{{rnd.randint(1, 3)},}}",
        lambda: f"[{word[:3]}][^{other[:2]} ]+ ",
        lambda: rf"^\W*{word[:1]}.{{{rnd.randint(0, 9)}}}{rnd.choice('aeiou')}",
        lambda: rf"({word[:2]}|{other[:2]})\w+?\s",
        lambda: rf"[{word[:1]}-{chr(ord(word[0]) + 3)}]{{2}}\b",
        lambda: "".join(rnd.choices([r"\w", ".", "e", r"\s", "a?", "r+", "(s|t)*"], k=rnd.randint(1, 5))),
        lambda: rnd.choice(["é", "ï", "本", "é|self", "İ", "(?i)k return", r"\t", "$", "^$", "^", r'"""', "", " $"]),
    ]
    return rnd.choice(forms)()


SEEDS = [
    pytest.param(range(start, start + 25), marks=[pytest.mark.slow] if start >= 50 else [], id=f"from-{start}")
    for start in range(0, 1000, 25)
]


@pytest.mark.parametrize("seeds", SEEDS)
def test_generated_patterns_find_the_lines_that_ripgrep_finds(tree: tuple[Path, Tree], seeds: range) -> None:
    top, files = tree
    program = ripgrep()
    strange = strange_lines(files)
    words = sorted({w for n in ("crlf.py", "json/decoder.py") for w in files[n].decode().split() if w.isidentifier()})
    for seed in seeds:
        source = generated(seed, words)
        theirs = lines_of(program, in_ripgrep(source), top)
        found = ours(source, files)
        assert theirs <= found, (source, sorted(theirs - found)[:3])
        assert found - theirs <= strange, (source, sorted(found - theirs - strange)[:3])


@pytest.mark.parametrize("source", [r"self\.", "return", "é", "naïve", "(?i)SELF", "caf", r"return$", r"^plain"])
def test_lines_that_are_not_utf8_match_as_in_ripgrep_where_nothing_crosses_a_stray_byte(
    tree: tuple[Path, Tree], source: str
) -> None:
    top, files = tree
    assert ours(source, files) == lines_of(ripgrep(), source, top)


@pytest.mark.parametrize(
    "source",
    [r"\n\n", "return.*?self", r"def\n", r"\)\n\s+return", "(?s)class.{0,200}pass", r"self[^a]+?\n", r"^\n", "x$"],
)
def test_multiline_patterns_find_the_lines_that_ripgrep_finds(tree: tuple[Path, Tree], source: str) -> None:
    top, files = tree
    plain = {
        path: data for path, data in files.items() if b"\r" not in data and encoding_of(data) is not Encoding.OTHER
    }
    theirs = lines_of(ripgrep(), in_ripgrep(source), top, "--multiline", "--multiline-dotall")
    assert ours(source, plain, multiline=True) == {(path, line_no) for path, line_no in theirs if path in plain}
