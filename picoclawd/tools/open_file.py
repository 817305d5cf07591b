"""open_file: show a file or a URL to the person, with the desktop's default program."""

import os
import re
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.text import display
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import Call, Hints, PathBytesParam, Plain, Result, Settings, tool
from picoclawd.workspace.opener import CAP_S, Handed
from picoclawd.workspace.questions import Question, Target

_URL_MAX_CHARS = 8192  # what browsers and servers agree on, roughly
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=.)")  # RFC 3986, 3.1, with something behind it

_URL_REASON = "opening a URL is confirmed by a person"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of open_file."""

    path: (
        Annotated[str, msgspec.Meta(description="A file or directory: absolute, or relative to the workspace.")]
        | UnsetType
    ) = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET
    url: (
        Annotated[
            str,
            msgspec.Meta(
                max_length=_URL_MAX_CHARS, description="In place of `path`: https:, mailto: or another URL, whole."
            ),
        ]
        | UnsetType
    ) = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What was handed over, and to which program. `finished`: that returned in time, so a handler has it."""

    path: str | UnsetType = UNSET
    path_bytes: str | UnsetType = UNSET
    resolved_path: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    opener: str | None
    finished: bool
    dry_run: bool | UnsetType = UNSET


def _check(settings: Settings, params: dict[str, Any]) -> None:
    """Refuse a call that names nothing, or two things."""
    named = [name for name in ("path", "path_bytes", "url") if name in params]
    if not named or ("url" in named and len(named) > 1):
        raise Fault(Slug.INVALID_PARAMS, "open_file takes a `path` or a `url`: give exactly one.", path="$")


@tool(
    title="Open for the person",
    hints=Hints(read_only=False, open_world=True),
    params=Params,
    data=Data,
    settings=Settings,
    check=_check,
)
async def open_file(call: Call[Settings], params: Params) -> Result:
    """Open a file, a directory or a URL on the person's screen, with the program that the desktop has for it.

    To play a video, to view an image or a PDF, to show a page. You do not see what is shown: to read a file use
    read_files. A URL, a program, a script and a `.desktop` file are confirmed by the person first. An answer
    `confirmation_pending` means to repeat the very same call later.
    """
    if params.url is not UNSET:
        path = _file_of(call, params.url)
        if path is None:
            return await _open_url(call, params.url)
    elif params.path_bytes is not UNSET:
        path = call.workspace.parse("", params.path_bytes)
    else:
        assert params.path is not UNSET  # `_check` saw to it
        path = call.workspace.parse(params.path)
    return await _open_path(call, path)


def _file_of(call: Call[Settings], url: str) -> WsPath | None:
    """The path that a `file:` URL (RFC 8089) stands for; None for any other URL.

    Raises: invalid_params, invalid_path.
    """
    if _SCHEME.match(url) is None or display.name(url.encode("utf-8", "replace")) != url or " " in url:
        raise _bad_url("it begins with a scheme such as https:, and has no blanks, control or invisible characters")
    if not url.lower().startswith("file:"):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _bad_url("its host is malformed") from None
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment or not parts.path.startswith("/"):
        raise _bad_url("a file: URL names an absolute path on this machine, as file:///home/me/x.pdf")
    return call.workspace.parse("", display.to_path_bytes(unquote_to_bytes(parts.path)))


def _bad_url(what: str) -> Fault:
    return Fault(Slug.INVALID_PARAMS, f"open_file: `url` is no URL that can be opened: {what}.", path="$.url")


async def _open_url(call: Call[Settings], url: str) -> Result:
    opener = call.workspace.opener
    await opener.ready()
    target = Target(url.encode())
    handed = None
    if not call.dry_run:
        granted = await call.workspace.confirmations.wait(_question(call, target, _URL_REASON))
        granted.check_again(_question(call, target, _URL_REASON))
        handed = await opener.open(target.path)
    return _result(call, target.path, {"url": url}, handed)


async def _open_path(call: Call[Settings], path: WsPath) -> Result:
    opener = call.workspace.opener
    found = await opener.examine(path)
    await opener.ready()
    handed = None
    if not call.dry_run:
        if found.reason is not None:
            granted = await call.workspace.confirmations.wait(_question(call, found.target, found.reason))
            found = await opener.examine(path)
            granted.check_again(_question(call, found.target, found.reason or ""))
        handed = await opener.open(found.target.path)
    return _result(call, found.target.path, names_of(path, found.target.path), handed)


def _question(call: Call[Settings], target: Target, reason: str) -> Question:
    return Question(
        actor=call.actor,
        method=call.tool,
        params=call.given,
        target=target,
        reason=reason,
        task=call.task,
        always=True,
        waits=call.waits,
    )


def _result(call: Call[Settings], what: bytes, named: dict[str, Any], handed: Handed | None) -> Result:
    shown = display.name(what)
    if handed is None:
        text = f"Would open {shown}."
    elif handed.finished:
        text = f"Opened {shown}."
    else:
        text = f"Handed over {shown}; {os.path.basename(handed.opener)} did not return within {CAP_S:.0f} s, which is "
        text += "usual where it waits for the program that it started."
    data = Data(
        **named,
        opener=None if handed is None else os.path.basename(handed.opener),
        finished=handed is not None and handed.finished,
        dry_run=call.dry_run or UNSET,
    )
    return Result(data, body=(Plain(text),), display=(Plain(text),))
