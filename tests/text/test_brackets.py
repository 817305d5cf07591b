"""Tests of the bracket scanner: what it reports, what it must not report, and where it gives up."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.limits import BRACKET_STACK_MAX
from picoclawd.text.brackets import Dialect, Problem, Skipped, check_brackets

FINE: list[tuple[Dialect, str]] = [
    (Dialect.C, "int main(void) { return a[0]; }\n"),
    (Dialect.C, "int x = 1'000'000; char c = '{'; char *s = \"}\\\"{\";\n"),
    (Dialect.C, "int x = 0xFF'FF; auto y = 1'0.5'0e3; switch (c) { case'a': case '\\'': break; }\n"),
    (Dialect.C, "wchar_t w = L'('; auto t = u8'['; auto u = u8\"(\";\n"),
    (Dialect.C, "// don't { \\\n still a comment {\nint a;\n"),
    (Dialect.C, "/* it's { * / ** */ int a = b / c;\n"),
    (Dialect.C, 'auto r = R"(a " ( { \')"; auto q = u8R"xy( )" )x" [ )xy"; int z[1];\n'),
    (Dialect.C, 'char *s = "one \\\n two {"; char *t = "\\\n[";\n'),
    (Dialect.C, "#error don't do {this\n#pragma omp (\n#include <it's.h>\nint a;\n"),
    (Dialect.C, "#define OPEN {\n#define CLOSE }\n#define BOTH \\\n  ( \\\n  [\nint a;\n"),
    (Dialect.C, '#define GLOB "*/*.c" /* a\n { comment */ "(" \'(\'\n#define URL "http://x" // {\nint a;\n'),
    (Dialect.GO, "func f() { s := `raw \" ' {\n`; r := '\\''; t := '{'; _ = \"\\\"(\" }\n"),
    (Dialect.GO, "// don't {\n/* it's { */ package a\n"),
    (Dialect.PYTHON, "x = {'a': [1, (2)]}  # don't {\n"),
    (Dialect.PYTHON, "s = \"\"\"it's \" \"\" ( {\n\"\"\"\nt = '''\"{ \\''' '''\n"),
    (Dialect.PYTHON, "s = '\\'('; t = \"a \\\n (\"; u = r'\\'; v = rb\"[\"; w = ''\n".replace("r'\\'", "r'\\\\'")),
    (Dialect.PYTHON, 'f"{x["a"]}" f"{", ".join([f"{y}"])}" f"{{" f"{d[\'k\']}" rf"{z}"\n'),
    (Dialect.TOML, "[a]\nb = ['it', \"don't\"] # {\nc = '\\'\nd = { x = 1 }\n[[e]]\n"),
    (
        Dialect.TOML,
        'a = """x "" [ \\""" """\nb = \'\'\'[ \' \'\'\'\'\'\nc = """"quoted""""\nd = ""\ne = "\\\\"\nf = \'\'\n',
    ),
]

FAULTY: list[tuple[Dialect, str, int, str]] = [
    (Dialect.C, "int main() {\n  f(;\n}\n", 3, "'}' stands where the '(' of line 2 should be closed"),
    (Dialect.C, "int a[3;\n", 1, "'[' is never closed"),
    (Dialect.C, "}\n", 1, "'}' closes nothing"),
    (Dialect.C, "a\n/* b\n", 2, "comment is not closed"),
    (Dialect.C, 'char *s = "a;\n', 1, "string is not closed"),
    (
        Dialect.C,
        '#ifndef A_H\n#define A_H\n#ifdef __cplusplus\nextern "C" {\n#endif\n#endif\n',
        4,
        "'{' is never closed",
    ),
    (Dialect.GO, "package a\n\nfunc f() {\n", 3, "'{' is never closed"),
    (Dialect.GO, "x := `a\n\n", 1, "string is not closed"),
    (Dialect.GO, 'x := "a\n', 1, "string is not closed"),
    (Dialect.GO, "/*", 1, "comment is not closed"),
    (Dialect.PYTHON, "def f(:\n    pass\n", 1, "'(' is never closed"),
    (Dialect.PYTHON, 'x = 1\ns = """a\n\n', 2, "string is not closed"),
    (Dialect.PYTHON, "s = 'it's'\n", 1, "string is not closed"),
    (Dialect.PYTHON, 'x = f"{a}"\ny = [1, 2)\n', 2, "')' stands where the '[' of line 2 should be closed"),
    (Dialect.TOML, "a = [1\n", 1, "'[' is never closed"),
    (Dialect.TOML, "a = 1\nb = '''x\n", 2, "string is not closed"),
    (Dialect.TOML, 'a = "x\n', 1, "string is not closed"),
]

UNSURE: list[tuple[Dialect, str]] = [
    (Dialect.C, "#ifdef A\nif (x) {\n#else\nif (y) {\n#endif\n}\n"),
    (Dialect.C, "#if 0\nit's not code {\n#endif\n"),
    (Dialect.C, "#define BEGIN {\nint f() BEGIN return 1; }\n"),
    (Dialect.PYTHON, 'x = f"{d["it\'s"]}"\n'),
    (Dialect.PYTHON, 'x = f"{\n  a\n}"\n'),
    (Dialect.GO, "(" * (BRACKET_STACK_MAX + 1)),
]


@pytest.mark.parametrize(("dialect", "text"), FINE)
def test_what_pairs_is_not_reported(dialect: Dialect, text: str) -> None:
    assert check_brackets(text, dialect) is None
    assert check_brackets(text.replace("\n", "\r\n"), dialect) is None


@pytest.mark.parametrize(("dialect", "text", "line_no", "what"), FAULTY)
def test_the_first_fault_is_named_with_its_line(dialect: Dialect, text: str, line_no: int, what: str) -> None:
    assert check_brackets(text, dialect) == Problem(f"line {line_no}: {what}", line_no)


@pytest.mark.parametrize(("dialect", "text"), UNSURE)
def test_what_the_scanner_may_misread_is_skipped(dialect: Dialect, text: str) -> None:
    assert isinstance(check_brackets(text, dialect), Skipped)


@pytest.mark.parametrize("dialect", Dialect)
def test_the_stack_holds_as_much_as_it_says(dialect: Dialect) -> None:
    assert check_brackets("[" * BRACKET_STACK_MAX + "]" * BRACKET_STACK_MAX, dialect) is None
    assert isinstance(check_brackets("[" * (BRACKET_STACK_MAX + 1) + "]", dialect), Skipped)


@pytest.mark.parametrize("dialect", Dialect)
@given(text=st.text("()[]{}\"'`\\/*#\n\rfRu8 1a'") | st.text())
def test_any_text_gets_a_verdict_with_a_line_of_the_text(dialect: Dialect, text: str) -> None:
    result = check_brackets(text, dialect)
    if isinstance(result, Problem):
        assert 1 <= result.line_no <= text.count("\n") + 1
        assert result.message.startswith(f"line {result.line_no}: ")


HOSTILE = [
    '"',
    "'",
    "/*",
    '"""',
    "\\",
    'R"(',
    "`",
    "f'",
    '#define a "',
    "#define /",
    "/* *",
    "0'",
    "()",
    '"\\\n',
    'f"{',
    "'''\\",
]


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_repetition_takes_linear_time(dialect: Dialect, unit: str) -> None:
    text = unit * (300_000 // len(unit))
    started = time.process_time()
    check_brackets(text, dialect)
    assert time.process_time() - started < 2.0  # measured: under 0.1 s; quadratic would be minutes
