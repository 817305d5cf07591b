"""events.* and changes.since: the change feed on the wire."""

from typing import Annotated

import msgspec

from picoclawd.rpc.rows import Answer, Caller, House, Row


class SubscribeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of events.subscribe."""

    kinds: Annotated[
        tuple[str, ...], msgspec.Meta(description="Event names, or `approval.*`; none: all that you may see.")
    ] = ()
    paths: Annotated[
        tuple[str, ...], msgspec.Meta(description="File name patterns that narrow file.changed; none: every file.")
    ] = ()


class UnsubscribeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of events.unsubscribe."""

    subscription: str


class SinceParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of changes.since."""

    cursor: Annotated[str, msgspec.Meta(description="What events.subscribe or changes.since gave, unchanged.")]


def _subscribe(house: House, caller: Caller, params: SubscribeParams) -> Answer:
    subscription, cursor = house.workspace.feed.subscribe(
        caller.guest, caller.actor, caller.notifier.notify, params.kinds, params.paths
    )
    return {"subscription": subscription, "cursor": cursor}


def _unsubscribe(house: House, caller: Caller, params: UnsubscribeParams) -> Answer:
    house.workspace.feed.unsubscribe(caller.guest, params.subscription)
    return {"unsubscribed": params.subscription}


def _since(house: House, caller: Caller, params: SinceParams) -> Answer:
    page = house.workspace.feed.since(caller.actor, params.cursor)
    return {
        "changes": list(page.changes),
        "cursor": page.cursor,
        "fresh_instance": page.fresh_instance,
        "more": page.more,
    }


ROWS = (
    Row("events.subscribe", "Be told of changes, as notifications.", SubscribeParams, _subscribe),
    Row("events.unsubscribe", "End a subscription.", UnsubscribeParams, _unsubscribe),
    Row("changes.since", "The changes after a cursor.", SinceParams, _since),
)
