"""The one table of errors: every slug a caller can meet, its JSON-RPC code, and `Fault`, which carries one."""

from enum import StrEnum
from typing import Any, Literal, NamedTuple

Outcome = Literal["not_applied", "applied", "unknown"]


class Slug(StrEnum):
    """What went wrong, as the stable word in `error.data.error`."""

    INVALID_PARAMS = "invalid_params"
    WRONG_MODE_ARGUMENT = "wrong_mode_argument"
    INVALID_PATH = "invalid_path"
    SYMLINK_LOOP = "symlink_loop"
    PATTERN_TOO_COMPLEX = "pattern_too_complex"
    MASKED_TEXT = "masked_text"
    BAD_CURSOR = "bad_cursor"
    ACCESS_DENIED = "access_denied"
    OUTSIDE_WORKSPACE = "outside_workspace"
    PROTECTED_PATH = "protected_path"
    HARDLINK_REFUSED = "hardlink_refused"
    NOT_FOUND = "not_found"
    UNKNOWN_VERSION = "unknown_version"
    UNKNOWN_TASK = "unknown_task"
    UNKNOWN_SESSION = "unknown_session"
    UNKNOWN_APPROVAL = "unknown_approval"
    FILE_EXISTS = "file_exists"
    NOT_FRESH = "not_fresh"
    CONFLICT = "conflict"
    EXTERNAL_CHANGE_KEPT = "external_change_kept"
    OPEN_IN_EDITOR = "open_in_editor"
    SESSION_IN_USE = "session_in_use"
    NO_MATCH = "no_match"
    AMBIGUOUS_MATCH = "ambiguous_match"
    PATCH_REJECTED = "patch_rejected"
    TARGET_OVERLAP = "target_overlap"
    TARGET_IN_EARLIER = "target_in_earlier"
    WOULD_EMPTY = "would_empty"
    CONFIRMATION_PENDING = "confirmation_pending"
    CONFIRMATION_DENIED = "confirmation_denied"
    CONFIRMATION_UNAVAILABLE = "confirmation_unavailable"
    READ_BACK_FAILED = "read_back_failed"
    READ_BACK_MISMATCH = "read_back_mismatch"
    TOO_LARGE = "too_large"
    BINARY_FILE = "binary_file"
    NOT_A_FILE = "not_a_file"
    NOT_A_DIRECTORY = "not_a_directory"
    UNSUPPORTED_FORMAT = "unsupported_format"
    READER_NOT_INSTALLED = "reader_not_installed"
    DISABLED_FOR_ROLE = "disabled_for_role"
    OPERATOR_ONLY = "operator_only"
    TIMEOUT = "timeout"
    PATH_BUSY = "path_busy"
    OVERLOADED = "overloaded"
    SHUTTING_DOWN = "shutting_down"
    SLOW_CLIENT = "slow_client"
    IO_ERROR = "io_error"
    ROOT_GONE = "root_gone"
    HISTORY_UNAVAILABLE = "history_unavailable"
    CANCELLED = "cancelled"
    METHOD_NOT_FOUND = "method_not_found"
    REQUEST_TOO_LARGE = "request_too_large"
    INVALID_REQUEST = "invalid_request"
    PARSE_ERROR = "parse_error"
    INTERNAL_ERROR = "internal_error"


_BY_CODE: dict[int, str] = {
    -32700: "parse_error",
    -32600: "invalid_request request_too_large",
    -32601: "method_not_found",
    -32602: "invalid_params wrong_mode_argument invalid_path symlink_loop pattern_too_complex masked_text bad_cursor",
    -32603: "internal_error",
    -32001: "access_denied outside_workspace protected_path hardlink_refused",
    -32002: "not_found unknown_version unknown_task unknown_session unknown_approval",
    -32003: "file_exists",
    -32004: "not_fresh conflict external_change_kept open_in_editor session_in_use",
    -32005: "no_match ambiguous_match patch_rejected target_overlap target_in_earlier would_empty",
    -32006: "confirmation_pending confirmation_denied confirmation_unavailable",
    -32007: "read_back_failed read_back_mismatch",
    -32008: "too_large",
    -32009: "binary_file not_a_file not_a_directory unsupported_format reader_not_installed",
    -32010: "disabled_for_role operator_only",
    -32011: "timeout path_busy overloaded shutting_down slow_client",
    -32012: "io_error root_gone history_unavailable",
    -32800: "cancelled",
}

CODES: dict[Slug, int] = {Slug(word): code for code, words in _BY_CODE.items() for word in words.split()}

# The same call, unchanged, may succeed later.
RETRYABLE = frozenset(
    {
        Slug.TIMEOUT,
        Slug.PATH_BUSY,
        Slug.OVERLOADED,
        Slug.SHUTTING_DOWN,
        Slug.SLOW_CLIENT,
        Slug.OPEN_IN_EDITOR,
        Slug.SESSION_IN_USE,
        Slug.CONFIRMATION_PENDING,
        Slug.EXTERNAL_CHANGE_KEPT,
        Slug.CANCELLED,
    }
)


class NextCall(NamedTuple):  # a worker's start is measured: no dataclasses
    """The literal call that would help: put into `error.data.next`."""

    method: str
    params: dict[str, Any]


class Fault(Exception):
    """A failure that a caller could cause, or must know of. Anything else that is raised is a bug.

    `message` says what happened, in the caller's words, and what to do next; it holds no file text, for it is
    never redacted. File text that helps (nearest lines) goes into `excerpt`: it is redacted for agents and then
    shown below the message. `data` holds further facts for `error.data`; `outcome` is set only where it is not
    `not_applied`. `retryable` overrides the table for this one fault.
    """

    def __init__(
        self,
        slug: Slug,
        message: str,
        /,
        *,
        excerpt: str = "",
        outcome: Outcome | None = None,
        retryable: bool | None = None,
        next_call: NextCall | None = None,
        **data: Any,
    ) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.excerpt = excerpt
        self.outcome = outcome
        self.retryable = slug in RETRYABLE if retryable is None else retryable
        self.next_call = next_call
        self.data: dict[str, Any] = data

    @property
    def code(self) -> int:
        """The JSON-RPC error code of this fault's slug."""
        return CODES[self.slug]

    def __repr__(self) -> str:
        return f"Fault({self.slug.value!r}, {self.message!r})"
