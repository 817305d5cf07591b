"""file_history, mode=list: the recorded changes that were asked for, and that the caller may know of."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access, Allow
from picoclawd.files.threads import Lane
from picoclawd.history.query import Filter
from picoclawd.history.records import Version
from picoclawd.text import display
from picoclawd.tools._history_params import Data, Params, VersionData
from picoclawd.tools._spec import Call, FileRows, Plain, Result, Settings
from picoclawd.tools._times import local_time, parse_time
from picoclawd.workspace import recorded
from picoclawd.workspace.journal import name_of
from picoclawd.workspace.tasks import unknown_task

_REFUSED = (Slug.PROTECTED_PATH, Slug.OUTSIDE_WORKSPACE)

AGENT_LIMIT = 24
OPERATOR_LIMIT = 1000


class _Page(msgspec.Struct, frozen=True):
    """Versions, newest first, and whether there are older ones."""

    rows: list[Version]
    more: bool


async def listed(call: Call[Settings], params: Params, given: Sequence[WsPath] | None) -> Result:
    """The page that was asked for, of the given files; None for all.

    Raises: invalid_params, unknown_task, history_unavailable, and what the policy says to a path.
    """
    wanted = _filter(call, params)
    most = OPERATOR_LIMIT if call.actor.is_operator else AGENT_LIMIT
    limit = most if params.limit is UNSET else min(params.limit, most)
    known = wanted.task_id is None or call.workspace.tasks.knows(wanted.task_id)
    page = await call.workspace.threads.run(Lane.READ, _page, call, wanted, given, limit, known)
    return _result(call, page)


def _filter(call: Call[Settings], params: Params) -> Filter:
    from_ns = None if params.from_ is UNSET else parse_time("from", params.from_)
    to_ns = None if params.to is UNSET else parse_time("to", params.to)
    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise Fault(
            Slug.INVALID_PARAMS,
            "`from` must be before `to` (which is not included): nothing lies between them.",
            path="$.from",
        )
    task_id = UNSET if params.task_id is UNSET else params.task_id
    return Filter(
        task_id=None if task_id is UNSET else call.workspace.tasks.named(call.session.session_id, task_id),
        from_ns=from_ns,
        to_ns=to_ns,
        before_version=None if params.before is UNSET else params.before,
    )


def _page(call: Call[Settings], wanted: Filter, given: Sequence[WsPath] | None, limit: int, known: bool) -> _Page:
    history = call.workspace.journal.required("file_history")
    if given is not None:
        wanted = replace(wanted, paths=[_name(call, path) for path in given])
    if wanted.task_id is not None and not known and not history.versions(Filter(task_id=wanted.task_id), 1):
        raise unknown_task(wanted.task_id)
    found: list[Version] = []
    size = limit + 1
    while len(found) <= limit:
        rows = history.versions(wanted, size)
        found += [row for row in rows if _may_know(call, row)]
        if len(rows) < size:
            break
        if call.cancelled():
            raise Fault(Slug.CANCELLED, "cancelled: the history was not read to the end.")
        wanted, size = replace(wanted, before_version=rows[-1].version), OPERATOR_LIMIT
    return _Page(found[:limit], len(found) > limit)


def _name(call: Call[Settings], path: WsPath) -> bytes:
    """What history calls the file. Raises: what the policy says to the path, but to operators, who see all rows."""
    try:
        return recorded.name_at(call.workspace.rooted, path)
    except Fault as fault:
        if not call.actor.is_operator or fault.slug not in _REFUSED:
            raise
        return name_of(call.workspace.root, path.absolute)


def _may_know(call: Call[Settings], version: Version) -> bool:
    """Whether the caller may learn that the file exists: by the policy of today."""
    if call.actor.is_operator:
        return True
    policy, real = call.workspace.rooted.policy, recorded.real_of(call.workspace.rooted, version.path)
    return not policy.hidden(real) and isinstance(policy.decide(Access.READ, real, None), Allow)


def _result(call: Call[Settings], page: _Page) -> Result:
    data = Data(
        mode="list",
        versions=[version_data(row) for row in page.rows],
        next_before=page.rows[-1].version if page.more else None,
    )
    if not page.rows:
        return Result(data, body=(Plain("No recorded change matches. Only what tools changed is recorded."),))
    head = f"{'version':>8}  {'changed at':<29}  {'action':<8}  {'size':>10}  file\n"
    foot = f"\n[older ones: before={data.next_before}]" if page.more else ""
    return Result(data, head=head, body=(FileRows(tuple(map(_row, page.rows))),), foot=foot)


def _row(row: Version) -> tuple[str, str, str, str]:
    """A row of the table: what clients say of themselves is masked like file text."""
    size = "-" if row.size_bytes is None else str(row.size_bytes)
    when = local_time(row.changed_at_ns)
    prefix = f"{row.version:>8}  {when:<29}  {row.action:<8}  {size:>10}  {display.name(row.path)}  "
    suffix = "" if row.restorable else f"  (not restorable: {row.reason})"
    return prefix, who_of(row), "", suffix


def who_of(row: Version) -> str:
    """By whom, with what, for which task: one line."""
    if row.action == "external":
        return "by a program outside picoclawd"
    client = f" ({display.log_line(row.client)})" if row.client else ""
    task = f", task {display.log_line(row.task_id)}" if row.task_id else ""
    objective = f": {display.log_line(row.objective)}" if row.objective else ""
    return f"{row.tool} by {row.session_id}{client}{task}{objective}"


def version_data(row: Version) -> VersionData:
    """The row as data."""
    name, path_bytes = display.data_name(row.path)
    return VersionData(
        version=row.version,
        path=name,
        path_bytes=UNSET if path_bytes is None else path_bytes,
        action=row.action,
        size=row.size_bytes,
        sha256_before=row.sha256_before,
        sha256_after=row.sha256_after,
        tool=row.tool,
        session_id=row.session_id,
        client=row.client,
        task_id=row.task_id,
        objective=row.objective,
        changed_at=local_time(row.changed_at_ns),
        restorable=row.restorable,
        reason=row.reason,
    )
