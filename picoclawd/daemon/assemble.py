"""Make the parts of the daemon from a configuration: policy, options, tools, wire settings."""

import os
from typing import assert_never

from picoclawd.daemon.config import CommandSpeech, Config, DaemonConfig, OpenAISpeech, PocketsphinxSpeech
from picoclawd.daemon.instance import Instance
from picoclawd.files.policy import PathRules, Policy
from picoclawd.rpc.connection import WireSettings
from picoclawd.service import Service
from picoclawd.speech.engine import Command, Draft, Engine
from picoclawd.tools import _registry
from picoclawd.tools._call import Toolbox
from picoclawd.tools._spec import Settings
from picoclawd.workspace import questions
from picoclawd.workspace.workspace import Options


def policy_of(config: Config, instance: Instance, config_path: str | None) -> Policy:
    """What may be read and written where; the daemon's own files are nobody's.

    Raises: invalid_params for a pattern that RE2 refuses.
    """
    own = [instance.state_dir, instance.runtime_dir, instance.agent_socket, instance.operator_socket, config_path]
    defaults, tools = config.agents.defaults, config.tools
    return Policy(
        PathRules(
            workspace=os.fsencode(instance.workspace),
            restrict=defaults.restrict_to_workspace,
            allow_read_outside=defaults.allow_read_outside_workspace,
            allow_read=tools.allow_read_paths,
            allow_write=tools.allow_write_paths,
            unprotect=tools.unprotect,
            confirm_write_globs=tools.confirm_write_globs,
            own=tuple({os.fsencode(os.path.realpath(path)) for path in own if path}),
        )
    )


def options_of(config: Config) -> Options:
    """What the workspace needs to know of the configuration."""
    return Options(
        restrict=config.agents.defaults.restrict_to_workspace,
        redaction=config.daemon.redaction,
        inline_chars=config.tools.max_inline_result_chars,
        new_file_mode=None if config.daemon.new_file_mode == "umask" else 0o600,
        text_cache_bytes=config.daemon.text_cache_bytes,
        verify_files_max=config.daemon.verify_files_max,
        output_dir=config.daemon.output_dir,
        approvals=questions.Settings(
            mode=config.daemon.approvals.mode,
            timeout_s=config.daemon.approvals.timeout_s,
            same_ancestor=config.daemon.approvals.same_ancestor,
            reachable=config.daemon.operator_socket != "",
        ),
        speech=_speech_of(config.daemon),
        decision_model=_decision_model_of(config.daemon),
    )


def _speech_of(daemon: DaemonConfig) -> Engine | None:
    match daemon.speech_to_text:
        case None:
            return None
        case OpenAISpeech(base_url, model, api_key_env):
            return Service(base_url, model, api_key_env)
        case CommandSpeech(argv):
            return Command(argv)
        case PocketsphinxSpeech():
            return Draft()
        case unknown:
            assert_never(unknown)


def _decision_model_of(daemon: DaemonConfig) -> Service | None:
    model = daemon.decision_model
    return None if model is None else Service(model.base_url, model.model, model.api_key_env)


def toolbox_of(config: Config) -> Toolbox:
    """The tools that are switched on, with their settings."""
    entries = {}
    for name, tool in _registry.discover().items():
        settings = config.tools.section(name)
        assert isinstance(settings, Settings)
        if settings.enabled:
            entries[name] = (tool, settings)
    return Toolbox(entries)


def wire_settings_of(config: Config) -> WireSettings:
    """The bounds of each connection."""
    daemon = config.daemon
    return WireSettings(daemon.max_request_bytes, daemon.max_in_flight, daemon.max_connections)


def slow_s_of(config: Config) -> float:
    """Seconds after which a call is told as slow; 0: never."""
    return config.daemon.slow_call_ms / 1000


def limits_of(config: Config) -> dict[str, int]:
    """The numbers that session.open tells a client to respect."""
    return {
        "max_request_bytes": config.daemon.max_request_bytes,
        "max_in_flight": config.daemon.max_in_flight,
        "max_inline_result_chars": config.tools.max_inline_result_chars,
    }
