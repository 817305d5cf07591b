"""The configuration as frozen values: every key, its type, its bounds and its default. Defaults live only here."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct, field

from picoclawd import limits
from picoclawd.tools import _registry

Sections = Mapping[str, type[Struct]]

DEFAULT_WORKSPACE = "~/.picoclaw/workspace"

# One request must fit a typical edit; more than this in one line belongs into a file.
REQUEST_BYTES_MIN = 64 * limits.KIB
REQUEST_BYTES_MAX = 256 * limits.MIB
# Head, tail, footer and the notice of a spilled result must fit inline.
INLINE_CHARS_MIN = 1024

Count = Annotated[int, Meta(ge=1)]
Bytes = Annotated[int, Meta(ge=0)]


class Defaults(Struct, frozen=True):
    """`agents.defaults`: where the agents work. PicoClaw's other keys here are not ours and are ignored."""

    workspace: Annotated[
        str,
        Meta(min_length=1, description="The agents' directory; `~`, `$VAR` and `${VAR}` expand."),
    ] = DEFAULT_WORKSPACE
    restrict_to_workspace: Annotated[
        bool,
        Meta(description="Keep reads and writes inside the workspace."),
    ] = True
    allow_read_outside_workspace: Annotated[
        bool,
        Meta(description="Let reading tools leave the workspace; writes stay restricted."),
    ] = False


class Agents(Struct, frozen=True):
    """`agents`: only `defaults` is ours."""

    defaults: Defaults = field(default_factory=Defaults)


class ToolsConfig(Struct, frozen=True, kw_only=True):
    """`tools`: what holds for every tool. `config_type` adds one section a tool of this build."""

    allow_read_paths: Annotated[
        tuple[str, ...],
        Meta(description="RE2, unanchored, on absolute paths: outside paths that may be read."),
    ] = ()
    allow_write_paths: Annotated[
        tuple[str, ...],
        Meta(description="RE2, unanchored, on absolute paths: outside paths that may be written."),
    ] = ()
    max_inline_result_chars: Annotated[
        int,
        Meta(ge=INLINE_CHARS_MIN, description="Longer results go to a workspace file, with a preview inline."),
    ] = 16_384
    confirm_write_globs: Annotated[
        tuple[str, ...],
        Meta(description='Workspace paths whose writes ask first, e.g. [".envrc", ".claude/**"].'),
    ] = ()
    unprotect: Annotated[
        tuple[str, ...],
        Meta(description="RE2 on workspace-relative paths: protected names that are free here."),
    ] = ()

    def section(self, tool: str) -> Struct:
        """The settings of one tool of this build; KeyError for any other name."""
        if tool not in self.tool_names():
            raise KeyError(tool)
        settings = getattr(self, tool)
        assert isinstance(settings, Struct)
        return settings

    def tool_names(self) -> tuple[str, ...]:
        """The tools that have a section here, in alphabetical order."""
        own = set(ToolsConfig.__struct_fields__)
        return tuple(sorted(name for name in self.__struct_fields__ if name not in own))

    def enabled(self) -> frozenset[str]:
        """The tools whose switch is on."""
        return frozenset(name for name in self.tool_names() if getattr(getattr(self, name), "enabled", True))


class Approvals(Struct, frozen=True, forbid_unknown_fields=True):
    """`daemon.approvals`: who answers when a call needs a person."""

    mode: Annotated[
        Literal["ask", "allow", "deny"],
        Meta(description="Ask a person, allow all but sensitive reads and URLs, or deny all."),
    ] = "ask"
    timeout_s: Annotated[
        float,
        Meta(gt=0, le=86_400, description="Seconds that a call waits for an answer."),
    ] = 120
    same_ancestor: Annotated[
        Literal["warn", "refuse"],
        Meta(description="What an answer gets that comes from a relative process of a connected agent."),
    ] = "warn"


class History(Struct, frozen=True, forbid_unknown_fields=True):
    """`daemon.history`: how long and how much is kept to undo with."""

    max_age_days: Annotated[int, Meta(ge=0, description="Days that a version is kept.")] = 30
    max_bytes: Annotated[int, Meta(ge=0, description="Bytes of kept contents in all; 0: no history.")] = (
        1024 * limits.MIB
    )


class OpenAISpeech(Struct, frozen=True, forbid_unknown_fields=True, tag_field="engine", tag="openai"):
    """An OpenAI-compatible transcription service. The key is read from the environment, never from this file."""

    base_url: Annotated[str, Meta(min_length=1)]
    model: Annotated[str, Meta(min_length=1)]
    api_key_env: Annotated[str, Meta(min_length=1, description="Name of the variable that holds the key.")]


class CommandSpeech(Struct, frozen=True, forbid_unknown_fields=True, tag_field="engine", tag="command"):
    """A program that turns a recording into text."""

    argv: Annotated[
        tuple[str, ...],
        Meta(min_length=1, description="Program and arguments; no shell. `{audio}`: a name of what is on its stdin."),
    ]


class PocketsphinxSpeech(Struct, frozen=True, forbid_unknown_fields=True, tag_field="engine", tag="pocketsphinx"):
    """The offline recogniser of the extra [stt]: drafts only."""


class DecisionModel(Struct, frozen=True, forbid_unknown_fields=True):
    """An OpenAI-compatible model that judges whether a long file matters to the task."""

    base_url: Annotated[str, Meta(min_length=1)]
    model: Annotated[str, Meta(min_length=1)]
    api_key_env: Annotated[str, Meta(min_length=1, description="Name of the variable that holds the key.")]


class DaemonConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`daemon`: what PicoClaw has no key for."""

    instance: Annotated[
        str | None,
        Meta(description="Name of this daemon in socket and state paths: letters, digits, `.`, `_`, `-`."),
    ] = None
    socket: Annotated[str | None, Meta(description="The agents' socket; null derives it.")] = None
    operator_socket: Annotated[
        str | None,
        Meta(description='The person\'s socket; null derives it, "" turns it off.'),
    ] = None
    state_dir: Annotated[str | None, Meta(description="The daemon's own files; never in the workspace.")] = None
    redaction: Annotated[
        Literal["accident", "strict"],
        Meta(description="Mask secrets against accidents, or also in diffs and search matches."),
    ] = "accident"
    approvals: Approvals = field(default_factory=Approvals)
    max_request_bytes: Annotated[
        int,
        Meta(ge=REQUEST_BYTES_MIN, le=REQUEST_BYTES_MAX, description="The longest request line."),
    ] = 8 * limits.MIB
    max_in_flight: Annotated[
        Count,
        Meta(description="Requests of one connection at a time; beyond it the daemon stops reading from it."),
    ] = 64
    max_connections: Annotated[Count, Meta(description="Connections at a time, of both sockets.")] = 256
    max_buffered_bytes: Annotated[
        int,
        Meta(ge=REQUEST_BYTES_MIN, description="All requests and answers held in memory together."),
    ] = 128 * limits.MIB
    slow_call_ms: Annotated[
        int,
        Meta(ge=0, description="A call that takes longer, but for a person's time, is told in the log; 0: none."),
    ] = 2_000
    text_cache_bytes: Annotated[Bytes, Meta(description="File text kept in memory for searches.")] = 256 * limits.MIB
    verify_files_max: Annotated[
        int,
        Meta(ge=0, description="Up to so many files, a search verifies each against the disk by default."),
    ] = 100_000
    new_file_mode: Annotated[
        Literal["0600", "umask"],
        Meta(description="Mode of files that a tool creates: private, or 0666 less the daemon's umask."),
    ] = "0600"
    output_dir: Annotated[
        str | None,
        Meta(description="Where agents are told to put files for the person when no place was asked for."),
    ] = None
    history: History = field(default_factory=History)
    speech_to_text: Annotated[
        OpenAISpeech | CommandSpeech | PocketsphinxSpeech | None,
        Meta(description="What turns audio into text; null: nothing."),
    ] = None
    decision_model: Annotated[
        DecisionModel | None,
        Meta(description="What judges whether a long file is related to the task; null: nothing."),
    ] = None


class Config(Struct, frozen=True, kw_only=True):
    """The configuration of picoclawd. `agents` and `tools` are PicoClaw's keys, `daemon` is ours."""

    agents: Agents = field(default_factory=Agents)
    tools: ToolsConfig = field(default_factory=ToolsConfig)
    daemon: DaemonConfig = field(default_factory=DaemonConfig)


def tool_sections() -> dict[str, type[Struct]]:
    """The settings Struct of every tool of this build, by the tool's name."""
    return {name: tool.settings for name, tool in _registry.discover().items()}


def config_type(sections: Sections) -> type[Config]:
    """`Config` with one section under `tools` for each of `sections`.

    Each call makes a type of its own, and values of two types are never equal.
    """
    tools = msgspec.defstruct(
        "Tools",
        [(name, settings, field(default_factory=settings)) for name, settings in sections.items()],
        bases=(ToolsConfig,),
        frozen=True,
        kw_only=True,
        namespace={"__doc__": ToolsConfig.__doc__},
    )
    whole = msgspec.defstruct(
        "Configuration",
        [("tools", tools, field(default_factory=tools))],
        bases=(Config,),
        frozen=True,
        kw_only=True,
        namespace={"__doc__": Config.__doc__},
    )
    return cast(type[Config], whole)


def schema(sections: Sections | None = None) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the configuration file, made from the Structs; discovers tools if not given.

    Keys of other programs are allowed where the loader ignores them.
    """
    kind = config_type(tool_sections() if sections is None else sections)
    (main,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    own = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    whole = {**own, **main, "title": "picoclawd configuration", "$defs": components}
    # Defaults in it are Python values, such as tuples; JSON has lists.
    return cast(dict[str, Any], msgspec.json.decode(msgspec.json.encode(whole)))
