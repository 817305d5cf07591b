"""file_history, mode=read: what a version held, or how the disk differs from it by now."""

import hashlib
from collections.abc import Sequence
from typing import BinaryIO

import msgspec
from msgspec import UNSET

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access
from picoclawd.files.threads import Lane
from picoclawd.text import diff, display, encodings
from picoclawd.tools._diffs import shown_diff
from picoclawd.tools._failure import failure_of
from picoclawd.tools._history_list import who_of
from picoclawd.tools._history_params import ComparedData, Data, Params
from picoclawd.tools._spec import Call, Cleaner, Deferred, Plain, Result, Settings
from picoclawd.tools._times import local_time
from picoclawd.workspace import aims, recorded
from picoclawd.workspace.aims import Aim

_CONTENT_MAX_BYTES = limits.MIB  # of what is shown of a version: more is nothing to look at


_CHUNK_BYTES = limits.MIB  # hashed at a time


class _Then(msgspec.Struct, frozen=True):
    """A version, and the bytes that it stands for, None where there was no file, or they are not kept."""

    aim: Aim
    path: WsPath
    data: bytes | None


class _Now(msgspec.Struct, frozen=True):
    """The file on disk; `data` only of one that is small."""

    size_bytes: int
    sha256: str
    data: bytes | None


class _Compared(msgspec.Struct, frozen=True):
    then: _Then
    now: _Now | None


class _Failed(msgspec.Struct, frozen=True):
    path: WsPath
    fault: Fault


async def compared(call: Call[Settings], params: Params, given: Sequence[WsPath]) -> Deferred:
    """Each file's version against the disk, without a path that of `version`. A file that fails is told of, the others
    are still compared.

    Raises: of a call for a single file, what speaks against that; history_unavailable.
    """
    parts: list[_Compared | _Failed] = []
    if not given:
        parts.append(await _compare(call, params, None))
    for path in given:
        if call.cancelled():
            raise Fault(Slug.CANCELLED, "cancelled: the remaining files were not compared.")
        try:
            parts.append(await _compare(call, params, path))
        except Fault as fault:
            if len(given) < 2 or fault.slug is Slug.CANCELLED:
                raise
            parts.append(_Failed(path, fault))
    return Deferred(lambda cleaner: _result(parts, cleaner, content=params.content))


async def _compare(call: Call[Settings], params: Params, path: WsPath | None) -> _Compared:
    number = None if params.version is UNSET else params.version
    then = await call.workspace.threads.run(Lane.READ, _then, call, path, number)
    try:
        reading = await call.workspace.reader.read(then.path, _extract)
    except Fault as fault:
        if fault.slug is Slug.NOT_FOUND:
            return _Compared(then, None)
        raise
    return _Compared(then, _Now(reading.size, reading.found, reading.data))


def _extract(source: BinaryIO, size: int) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _then(call: Call[Settings], path: WsPath | None, number: int | None) -> _Then:
    workspace = call.workspace
    history = workspace.journal.required("file_history")
    name = b"" if path is None else recorded.name_at(workspace.rooted, path)
    made = history.last_by_tool(name) if number is None else history.version(number)
    if made is None:
        raise Fault(
            Slug.NOT_FOUND,
            f"{display.name(name)}: no tool has changed this file, so there is no version of it to compare with.",
        )
    if name and made.path != name:
        raise Fault(
            Slug.INVALID_PARAMS,
            f"version {number} is not a version of {display.name(name)}: leave `path` out, or take one that "
            'mode="list" gives for this path.',
            path="$.version",
        )
    recorded.check(workspace.rooted, made, Access.READ)
    aim = Aim(made, "before" if made.action == "delete" else "after")
    data = aims.content_of(aim, history) if aim.exists and aim.restorable else None
    return _Then(aim, recorded.path_of(workspace.rooted, workspace.roots, made.path), data)


def _result(parts: list[_Compared | _Failed], cleaner: Cleaner, *, content: bool) -> Result:
    blocks: list[str] = []
    files: list[ComparedData] = []
    for part in parts:
        if isinstance(part, _Failed):
            message = " ".join(part.fault.message.splitlines())
            named = part.path.absolute if part.path.relative is None else part.path.relative
            blocks.append(f"== {display.name(named)} ==\n[{part.fault.slug.value}] {message}")
            name, path_bytes = display.data_name(named)
            failure = failure_of(part.fault)
            encoded = UNSET if path_bytes is None else path_bytes
            files.append(ComparedData(path=name, path_bytes=encoded, error=failure))
        else:
            shown = _content(part, cleaner) if content else _difference(part, cleaner)
            blocks.append(f"{_title(part, cleaner)}\n{shown}")
            files.append(_data(part))
    return Result(Data(mode="read", files=files), body=(Plain("\n\n".join(blocks)),))


def _title(part: _Compared, cleaner: Cleaner) -> str:
    made = part.then.aim.version
    who = cleaner.clean(who_of(made))
    when = local_time(made.changed_at_ns)
    return f"== {display.name(made.path)}: version {made.version}, {made.action}, {when}, {who} =="


def _drifted(part: _Compared) -> bool:
    """Whether the disk is not what the version left there."""
    made, now = part.then.aim.version, part.now
    if made.size_bytes is None or now is None:
        return (made.size_bytes is None) != (now is None)
    return now.size_bytes != made.size_bytes or made.sha256_after not in (None, now.sha256)


def _difference(part: _Compared, cleaner: Cleaner) -> str:
    then, now = part.then, part.now
    if not _drifted(part):
        gone = f" To bring the file back: restore_file with version={then.aim.version.version}." if now is None else ""
        return f"The disk is as this version left it.{gone}"
    if now is None:
        return "The file is gone from the disk; something else removed it since."
    drift = "The disk differs: something else changed the file since."
    if not then.aim.exists:
        return f"{drift} There was none after this version, now there is one of {now.size_bytes} bytes."
    if then.data is None:
        return f"{drift} What this version held is not kept ({then.aim.version.reason})."
    if now.data is None or not (diff.small_enough(then.data) and diff.small_enough(now.data)):
        return f"{drift} Too large for a diff: {len(then.data)} bytes then, {now.size_bytes} now."
    if encodings.is_binary(then.data) or encodings.is_binary(now.data):
        return f"{drift} No text: {len(then.data)} bytes then, {now.size_bytes} now."
    name = display.name(then.aim.path)
    return f"{drift} From the version (-) to the disk (+):\n" + shown_diff(cleaner, name, then.data, now.data)


def _content(part: _Compared, cleaner: Cleaner) -> str:
    then = part.then
    if not then.aim.exists:
        return "There was no file after this version."
    if then.data is None:
        return f"What this version held is not kept ({then.aim.version.reason})."
    if len(then.data) > _CONTENT_MAX_BYTES or encodings.is_binary(then.data):
        why = "too large to be shown" if len(then.data) > _CONTENT_MAX_BYTES else "no text"
        return f"{len(then.data)} bytes, {why}: restore_file brings them back."
    return cleaner.clean(then.data.decode("utf-8", "replace")) or "The file was empty."


def _data(part: _Compared) -> ComparedData:
    aim = part.then.aim
    name, path_bytes = display.data_name(aim.path)
    return ComparedData(
        path=name,
        path_bytes=UNSET if path_bytes is None else path_bytes,
        version=aim.version.version,
        action=aim.version.action,
        changed_at=local_time(aim.version.changed_at_ns),
        size=aim.size_bytes,
        exists=part.now is not None,
        drifted=_drifted(part),
        restorable=aim.restorable,
        reason=UNSET if aim.restorable else aim.version.reason or UNSET,
    )
