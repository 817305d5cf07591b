"""Tests of the file name forms: a table, a naive matcher as oracle, wcmatch as a second one, and the caps."""

import re

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from wcmatch import glob as wcglob

from picoclawd.errors import Fault, Slug
from picoclawd.text.glob import ALTERNATIVES_MAX, Kind, compile_form, is_all_wildcard, to_re2, to_re2_lines

TABLE = """
# form               matches                                       misses
(empty)              a src/b.c .hidden                             -
docker-compose       docker-compose.yml deploy/docker-compose.yml  docker.yml
src/                 src/a lib/src/b                               srcs/a
a\\b                 a\\b x/a\\bc                                  ab
./docs               docs/a x/docs                                 doc
*.py                 a.py src/b.py .py                             a.pyi a.py/x
*.{js,ts}            a.js b/c.ts                                   a.jsx a.{js,ts}
src/**/*.ts          src/main.ts src/a/b/main.ts                   lib/src/main.ts src/main.tsx
**/test_*.py         test_a.py a/b/test_b.py                       a/xtest_b.py
src/**               src/a src/a/b                                 src xsrc/a
**/node_modules/**   node_modules/a a/node_modules/b/c             node_modules
**                   a a/b                                         -
**/*                 a a/b/c                                       -
foo**bar             foobar fooXbar x/fooXbar                      foo/bar
a/b**/c              a/b/c a/bx/c                                  a/b/x/c
a/**b                a/b a/xb                                      a/x/b
a/**/**/b            a/b a/x/b a/x/y/b                             ab
/*.md                a.md                                          b/a.md
./*.md               a.md                                          b/a.md
*/a                  x/a                                           a x/y/a
?.c                  a.c x/b.c é.c                                 ab.c .c
a?b                  a.b                                           a/b ab
[a-c].c              a.c b.c                                       d.c A.c
[!a-c].c             d.c x/-.c                                     a.c
[^a-c].c             d.c                                           b.c
[]x].c               ].c x.c                                       a.c
[!]x].c              a.c                                           ].c x.c
[a\\]].c             a.c ].c                                       \\.c
[a-].c               a.c -.c                                       b.c
[\\-z]*              -a za                                         aa
a[\\!b]              a! ab                                         ac
[z-a]*               -                                             z a b
x[+-9]y              x.y x0y                                       x/y
a[/]b                -                                             a/b ab
x/a[!b]c             x/adc                                         x/a/c x/abc
[é-ü].c              ö.c                                           a.c
{a,b/c}              a b/c                                         b x/a
{a,{b,c}d}e?         ae1 bde2 cde3                                 de1
{src,lib}/**/*.{c,h} src/a.c lib/x/y.h                             src/a.o a.c
{a/**,b}/x           a/x a/y/x b/x                                 b/y/x
{**/a,b}/x           a/x z/a/x b/x                                 z/b/x
x{,.bak}*            x x.bak x1                                    y
{abc}?               abcd                                          abc
{a,b*                {a,bc                                         a
a,b}*                a,b}                                          a
{a,{b,c}             {a,b {a,c                                     a
[abc                 [abc x/[abc                                   a
\\*x                 *x                                            ax
\\{a,b\\}?           {a,b}c                                        a
a\\/*                a/b                                           a
a?\\                 ab\\                                          ab
[{]a                 {a                                            a
{[,],b}x             ,x bx                                         ax
(+).^$|?             (+).^$|a                                      +a
"""


def _rows() -> list[tuple[str, list[str], list[str]]]:
    rows: list[tuple[str, list[str], list[str]]] = []
    for line in TABLE.strip().splitlines()[1:]:
        form, hits, misses = re.split(r"\s{2,}|(?<=h}) ", line.replace("\\\\", "\\"), maxsplit=2)
        rows.append(("" if form == "(empty)" else form, _words(hits), _words(misses)))
    return rows


def _words(cell: str) -> list[str]:
    return [] if cell.strip() == "-" else cell.split()


def matches(form: str, path: str) -> bool:
    """What a caller does: search the UTF-8 of the path."""
    return re2.search(to_re2(form).encode(), path.encode()) is not None


@pytest.mark.parametrize(("form", "hits", "misses"), _rows(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_form_matches_what_the_table_says(form: str, hits: list[str], misses: list[str]) -> None:
    assert [path for path in hits if not matches(form, path)] == []
    assert [path for path in misses if matches(form, path)] == []


@pytest.mark.parametrize(("form", "hits", "misses"), _rows(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_blob_of_lines_gives_the_same_rows(form: str, hits: list[str], misses: list[str]) -> None:
    blob = "\n".join([*misses, *hits, *misses]).encode()
    found = [match.group().decode() for match in re2.finditer(to_re2_lines(form).encode(), blob)]
    assert found == hits


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("", Kind.ALL),
        ("./", Kind.ALL),
        ("a/b", Kind.SUBSTRING),
        ("a*", Kind.NAME),
        ("a/*", Kind.PATH),
        ("./a*", Kind.PATH),
    ],
)
def test_the_kind_follows_from_the_characters(form: str, kind: Kind) -> None:
    assert compile_form(form).kind is kind


def test_a_newline_in_a_name_is_an_ordinary_character() -> None:
    assert matches("a*b", "a\nb") and matches("a?b", "x/a\nb") and matches("a[!x]b", "a\nb") and matches("b", "a\nb/c")


def test_a_bad_byte_shown_as_replacement_character_is_one_character() -> None:
    assert matches("caf?.txt", b"caf\xe9.txt".decode("utf-8", "replace"))


def test_a_lone_surrogate_matches_nothing_and_compiles() -> None:
    assert not matches("a\ud800*", "a\ufffdb") and not matches("\ud800", "\ufffd")


@pytest.mark.parametrize("form", ["", "*", "**", "**/*", "*.*", "?", "*/*", "?*", "[!a]", "**/*.*", "{*,a}", "*/?*"])
def test_a_form_without_a_literal_is_all_wildcard(form: str) -> None:
    assert is_all_wildcard(form)


@pytest.mark.parametrize(
    "form", ["a", "*.py", ".*", "**/.*", "[a-z]*", "src/**", "*a*", "{a,b}*", ".", "\\**", "*.*.c"]
)
def test_a_form_with_a_literal_is_not_all_wildcard(form: str) -> None:
    assert not is_all_wildcard(form)


@pytest.mark.parametrize(
    "form",
    ["a" * 5000, "*" + "{a,b}" * 9, "{" * 40 + "a*" + "}" * 40, "{" + "a," * 300 + "b}", "{" * 2000 + "*" + "}" * 2000],
    ids=["long", "many", "deep", "wide", "very-deep"],
)
def test_a_form_over_a_cap_is_refused(form: str) -> None:
    with pytest.raises(Fault) as caught:
        compile_form(form)
    assert caught.value.slug is Slug.PATTERN_TOO_COMPLEX


def test_a_form_at_the_cap_still_compiles() -> None:
    assert len(compile_form("*" + "{a,b}" * 8).branches) == ALTERNATIVES_MAX


@pytest.mark.parametrize("form", ["[" * 4000, "{" * 4000 + "*", "[\\]" * 1300, "{a," * 1000 + "*", "*{" + "}" * 4000])
def test_hostile_brackets_are_ordinary_characters(form: str) -> None:
    re2.compile(to_re2(form))
    assert compile_form(form).kind is Kind.NAME


# --- oracle: expand braces on the string, then match one character at a time ---


def _oracle(form: str, path: str) -> bool:
    if not form:
        return True
    if not set(form) & set("*?[{"):
        return form in path
    if "/" in form:
        return any(_glob(flat, path, True) for flat in _flats(form.removeprefix("/")))
    return any(_glob(flat, path.rsplit("/", 1)[-1], True) for flat in _flats(form))


def _flats(form: str) -> list[str]:
    """Brace expansion for forms whose braces are balanced and that hold no class and no escape."""
    found = re.search(r"\{([^{}]*)\}", form)
    if found is None:
        return [form]
    return [flat for part in found[1].split(",") for flat in _flats(form[: found.start()] + part + form[found.end() :])]


def _glob(form: str, path: str, fresh: bool) -> bool:
    if not form:
        return not path
    if fresh and form.startswith("**/"):
        rest = form[3:]
        ends = [index + 1 for index, char in enumerate(path) if char == "/"]
        return any(_glob(rest, path[end:], True) for end in [0, *ends])
    if fresh and form == "**":
        return bool(path)
    if form[0] == "*":
        return _glob(form[1:], path, False) or (path[:1] not in ("", "/") and _glob(form, path[1:], False))
    if not path or (form[0] == "?" and path[0] == "/") or (form[0] not in ("?", path[0])):
        return False
    return _glob(form[1:], path[1:], form[0] == "/")


_PIECES = ["a", "b", ".", "/", "*", "?", "**/", "/**", "/**/", "{a,b}", "{a/,b*}", "{,b}", "{a,{b,?}}", "\n"]
_PATHS = st.lists(st.text("ab.\n", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@given(st.lists(st.sampled_from(_PIECES), max_size=5).map("".join), _PATHS)
def test_forms_agree_with_the_naive_matcher(form: str, path: str) -> None:
    if form.startswith("./") or "***" in form:
        return
    if form == "**":  # without a slash: any base name
        assert matches(form, path)
        return
    assert matches(form, path) == _oracle(form, path)


@given(st.lists(st.sampled_from([*_PIECES, "[a-b]", "[!a]"]), min_size=1, max_size=5).map("".join), _PATHS)
def test_globs_agree_with_wcmatch(form: str, path: str) -> None:
    component_stars = all(part == "**" or "**" not in part for part in form.split("/"))
    if not set(form) & set("*?[{") or not component_stars or "//" in form or form[0] in "./" or form[-1] == "/":
        return
    if "\n" in path + form or any(part in (".", "..") for part in path.split("/")) or "{" in form:
        return
    flags = wcglob.GLOBSTAR | wcglob.DOTGLOB | wcglob.BRACE
    subject = path if "/" in form else path.rsplit("/", 1)[-1]
    assert matches(form, path) == wcglob.globmatch(subject, form, flags=flags)


@given(st.text("ab/*?[]{},!^-\\.\u00e9\n", max_size=24), _PATHS)
def test_any_text_compiles_and_both_renderings_agree(form: str, path: str) -> None:
    alone = re2.search(to_re2(form).encode(), path.encode()) is not None
    if "\n" not in path + form:
        found = [match.group() for match in re2.finditer(to_re2_lines(form).encode(), path.encode())]
        assert (found == [path.encode()]) == alone
