"""Tests of the advisory syntax check: dispatch, strict JSON, and no false alarm over real code."""

import ast
import sysconfig
import warnings
from pathlib import Path

import pytest

from picoclawd.text.brackets import Problem
from picoclawd.text.syntax import Verdict, check


@pytest.mark.parametrize(
    "path", ["a.go", "d/a.c", "a.h", "a.cc", "a.cpp", "a.cxx", "a.hpp", "a.hh", "a.py", "a.pyi", "A.PY"]
)
def test_a_known_extension_is_scanned(path: str) -> None:
    assert check(path, b"f(1)\n") is Verdict.OK
    assert check(path, b"\xef\xbb\xbff(1)\n") is Verdict.OK
    assert check(path, b"x = 1\nf(1\n") == Problem("line 2: '(' is never closed", 2)
    assert check(path, b"f(\xff") is Verdict.UNCHECKED


def test_toml_is_scanned_without_round_brackets() -> None:
    assert check("pyproject.toml", b"a = [1\n") == Problem("line 1: '[' is never closed", 1)


@pytest.mark.parametrize(
    "path", ["a.js", "a.rs", "a.java", "a.yaml", "Makefile", "py", "a.json5", "a.jsonc", "d.py/x", ""]
)
def test_other_files_are_left_unchecked(path: str) -> None:
    assert check(path, b"((({{{") is Verdict.UNCHECKED


@pytest.mark.parametrize(
    "path",
    [
        "tsconfig.json",
        "a/tsconfig.build.json",
        "jsconfig.json",
        "x/devcontainer.json",
        ".vscode/a.json",
        "p/.VSCode/s.JSON",
    ],
)
def test_json_that_may_hold_comments_is_left_unchecked(path: str) -> None:
    assert check(path, b"// no JSON\n{") is Verdict.UNCHECKED


@pytest.mark.parametrize(
    "path", ["a.json", "A.JSON", "vscode/a.json", ".vscode/deep/a.json", ".json", "mytsconfig.json"]
)
def test_other_json_is_checked(path: str) -> None:
    assert isinstance(check(path, b"{"), Problem)


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b" [1, -0.5e+3, true, null]\r\n",
        b'"\\ud800"',
        b'{"a": 1, "a": 2}',
        b"9" * 5000,
        '"é NaN"'.encode(),
        b"1e999",
    ],
)
def test_json_of_any_kind_passes(content: bytes) -> None:
    assert check("a.json", content) is Verdict.OK


@pytest.mark.parametrize(
    ("content", "line_no"),
    [
        (b"", 1),
        (b" \n\n", 1),
        (b"\xef\xbb\xbf{}", 1),
        (b'{\n"a": 1,\n}', 3),
        (b"[1,]", 1),
        (b"{'a': 1}", 1),
        (b"// c\n{}", 1),
        (b'{"a": "NaN",\n"b": NaN}', 2),
        (b"[\n-Infinity]", 2),
        (b"[Infinity]", 1),
        (b'["\xff"]', 1),
        (b'[\n"a\tb"]', 2),
        (b'"\\x"', 1),
        (b"{} {}", 1),
        (b"01", 1),
        (b"[1.]", 1),
        (b"undefined", 1),
    ],
)
def test_what_is_no_json_is_reported_with_its_line(content: bytes, line_no: int) -> None:
    result = check("a.json", content)
    # Where a trailing comma is noticed, at the comma or behind it, differs between versions of Python.
    allowed = {line_no, line_no - 1} if content.endswith(b",\n}") else {line_no}
    assert isinstance(result, Problem) and result.line_no in allowed
    assert result.message.startswith(f"line {result.line_no}: ")


def test_json_nested_too_deep_for_the_decoder_is_left_unchecked() -> None:
    assert check("a.json", b"[" * 200_000 + b"]" * 200_000) is Verdict.UNCHECKED


def test_code_nested_too_deep_for_the_scanner_is_left_unchecked() -> None:
    assert check("a.go", b"(" * 300 + b")" * 300) is Verdict.UNCHECKED


def _is_python(content: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content.decode())
        except (SyntaxError, ValueError):
            return False
    return True


def _false_alarms(paths: list[Path]) -> list[tuple[Path, Problem]]:
    alarms: list[tuple[Path, Problem]] = []
    for path in paths:
        content = path.read_bytes()
        result = check(path.name, content)
        if isinstance(result, Problem) and (path.suffix != ".py" or _is_python(content)):
            alarms.append((path, result))
    return alarms


def _standard_library() -> list[Path]:
    stdlib = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in stdlib.rglob("*.py") if "site-packages" not in path.parts)


def _headers() -> list[Path]:
    return sorted(path for path in Path("/usr/include").rglob("*.h") if path.is_file())


def test_a_sample_of_real_python_and_c_raises_no_false_alarm() -> None:
    sample = [*_standard_library()[::8], *_headers()[::80]]
    assert len(sample) > 100
    assert _false_alarms(sample) == []


@pytest.mark.slow
def test_the_standard_library_and_the_system_headers_raise_no_false_alarm() -> None:
    assert _false_alarms([*_standard_library(), *_headers()]) == []


def test_real_python_with_a_bracket_taken_out_is_noticed() -> None:
    noticed = missed = 0
    for path in _standard_library()[::60]:
        content = path.read_bytes()
        place = content.rfind(b")")
        if place < 0 or not _is_python(content) or _is_python(content[:place] + content[place + 1 :]):
            continue
        result = check("a.py", content[:place] + content[place + 1 :])
        noticed += isinstance(result, Problem)
        missed += not isinstance(result, Problem)
    assert noticed > 5 * missed
