"""Tests of the walk from JSON values to Structs."""

import pytest

from tests.daemon.sample import ReadFile, faults, walked


def test_an_empty_object_is_the_defaults() -> None:
    config, findings = walked({})
    assert config.tools.section("read_file") == ReadFile()
    assert (findings.faults, findings.warnings) == ([], [])


def test_values_arrive() -> None:
    config, findings = walked(
        {
            "agents": {"defaults": {"workspace": "/w", "restrict_to_workspace": False}},
            "tools": {"allow_read_paths": ["^/a", "^/b"], "read_file": {"mode": "lines", "max_lines": 5}},
            "daemon": {"approvals": {"timeout_s": 1.5}, "speech_to_text": {"engine": "command", "argv": ["hear"]}},
        }
    )
    assert findings.faults == []
    assert config.agents.defaults.workspace == "/w"
    assert config.tools.allow_read_paths == ("^/a", "^/b")
    assert config.tools.section("read_file") == ReadFile(mode="lines", max_lines=5)
    assert config.daemon.approvals.timeout_s == 1.5
    assert getattr(config.daemon.speech_to_text, "argv", None) == ("hear",)


def test_every_fault_is_found_in_one_go() -> None:
    found = faults(
        {
            "agents": {"defaults": {"workspace": 7}},
            "tools": {"allow_read_paths": [1, "ok", 2], "read_file": {"mode": "pages", "max_line": 1}},
            "daemon": {"max_in_flight": "64", "sokcet": "/x"},
        }
    )
    assert found == [
        "agents.defaults.workspace: must be a string; it is an integer",
        "tools.allow_read_paths[0]: must be a string; it is an integer",
        "tools.allow_read_paths[2]: must be a string; it is an integer",
        "tools.read_file.max_line: unknown key; the nearest valid key is tools.read_file.max_lines",
        'tools.read_file.mode: must be one of "bytes", "lines"; it is "pages"',
        "daemon.sokcet: unknown key; the nearest valid key is daemon.socket",
        "daemon.max_in_flight: must be an integer; it is a string: write it without quotes",
    ]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            {"tools": {"edit_file": {"enabled": "true"}}},
            "must be true or false; it is a string: write it without quotes",
        ),
        ({"tools": {"edit_file": {"enabled": 1}}}, "must be true or false; it is an integer"),
        ({"tools": {"edit_file": True}}, "must be an object, not true or false"),
        ({"tools": {"read_file": {"max_lines": 0}}}, "must be an integer >= 1; it is 0"),
        ({"tools": {"read_file": {"max_lines": 2.5}}}, "must be an integer; it is a number"),
        ({"tools": {"read_file": {"mode": 3}}}, 'must be one of "bytes", "lines"; it is 3'),
        ({"tools": {"allow_read_paths": "^/a"}}, "must be a list; it is a string"),
        ({"tools": {"read_file": {"max_lines": []}}}, "must be an integer; it is a list"),
        ({"tools": []}, "must be an object, not a list"),
        ({"daemon": {"max_request_bytes": 1}}, "must be an integer >= 65536; it is 1"),
        ({"daemon": {"socket": 4}}, "must be a string; it is an integer"),
        ({"daemon": {"decision_model": {"base_url": "u", "model": "m"}}}, "missing"),
        ({"daemon": {"speech_to_text": {"engine": "ears"}}}, "must be one of"),
        ({"daemon": {"speech_to_text": {}}}, "must be one of"),
        ({"daemon": {"speech_to_text": "openai"}}, "must be an object, not a string"),
        ({"daemon": {"speech_to_text": {"engine": "command", "argv": []}}}, "must be a list of length >= 1; it is []"),
        ({"daemon": {"new_file_mode": "x" * 500}}, "…"),
        ([], "must be an object, not a list"),
        (None, "must be an object, not null"),
        (1.5, "must be an object, not a number"),
    ],
)
def test_a_wrong_value_says_what_is_allowed(raw: object, said: str) -> None:
    (found,) = faults(raw)
    assert said in found
    assert len(found) < 250


def test_a_section_with_an_engine_has_that_engines_keys_only() -> None:
    (found,) = faults({"daemon": {"speech_to_text": {"engine": "pocketsphinx", "model": "m"}}})
    assert found == "daemon.speech_to_text.model: unknown key; no key is valid here"


def test_null_means_not_set() -> None:
    config, findings = walked({"tools": {"allow_read_paths": None, "read_file": None}, "daemon": {"socket": None}})
    assert findings.faults == []
    assert config == walked({})[0]


def test_keys_of_other_programs_are_passed_over() -> None:
    _, findings = walked(
        {
            "$schema": "x",
            "channels": {"telegram": {}},
            "agents": {"defaults": {"max_tokens": 1}, "list": []},
            "tools": {"web": {"x": 1}, "exec": {}},
        }
    )
    assert (findings.faults, findings.warnings) == ([], [])


def test_a_foreign_key_that_is_nearly_ours_gets_a_warning() -> None:
    _, findings = walked(
        {"tool": {}, "agents": {"defaults": {"workspce": "/w"}}, "tools": {"reed_file": {}, "allow_read_path": []}}
    )
    assert findings.faults == []
    assert findings.warnings == [
        "tool: ignored; did you mean tools?",
        "agents.defaults.workspce: ignored; did you mean agents.defaults.workspace?",
        "tools.reed_file: ignored; did you mean tools.read_file?",
        "tools.allow_read_path: ignored; did you mean tools.allow_read_paths?",
    ]


def test_a_schema_key_is_for_the_top_only() -> None:
    assert faults({"daemon": {"$schema": "x"}}) != []
