"""What viewers see of snapshots: what an operator may, in plain and bounded texts, with ages for points in time. Pure."""

from __future__ import annotations

from typing import Final, cast

import msgspec

from ..engine import Snapshot, project_snapshot
from ._socket_messages import LiveAbort, LiveExecution, Mark
from ._vocabulary import clipped

FINAL: Final = frozenset(("terminal", "unknown-effect"))
_STOPPING: Final = frozenset(("abort-requested", "cleanup-pending", "unknown-effect"))
_UNCLEAN: Final = frozenset(("failed", "unresolved"))
_TIMES: Final = (
    "admitted_at",
    "started_at",
    "last_activity_at",
    "ended_at",
    "settled_at",
    "deadline",
    "abort",
)
"""What is a point on a clock that only the host has, or holds one."""


class Seen(msgspec.Struct, gc=False):
    """An execution as the host saw it last, and since when it is in its state, in seconds on trio's clock."""

    shot: Snapshot
    since: float

    @property
    def settled(self) -> bool:
        """Whether its state is final."""
        return self.shot.state in FINAL

    def mark(self, now: float, slow_after: float) -> Mark | None:
        """Whether it needs somebody's eye."""
        shot = self.shot
        if shot.state in _STOPPING or shot.cleanup in _UNCLEAN:
            return "stuck"
        return "slow" if shot.state not in FINAL and now - self.since >= slow_after else None


def since_of(shot: Snapshot, now: float) -> float:
    """Since when *shot*, of which nothing was seen before, is in its state; *now* where it doesn't say."""
    match shot.state:
        case "queued":
            return shot.admitted_at
        case "active":
            return shot.started_at if shot.started_at is not None else now
        case "abort-requested" | "cleanup-pending":
            return shot.abort.requested_at if shot.abort is not None else now
        case "terminal" | "unknown-effect":
            return shot.settled_at if shot.settled_at is not None else now
        case _:
            return now


def row_of(seen: Seen, now: float, slow_after: float) -> LiveExecution:
    """What an operator may see of *seen*."""
    data = project_snapshot(seen.shot, audience="operator").data
    times = {name: data.pop(name, None) for name in _TIMES}
    shown = msgspec.convert(_bounded(data), LiveExecution)
    ended = _number(times["ended_at"])
    until = now if ended is None else ended
    started = _number(times["started_at"])
    return msgspec.structs.replace(
        shown,
        abort=_abort(times["abort"], now),
        age=_between(_number(times["admitted_at"]), until),
        in_state=now - seen.since,
        waited=_between(_number(times["admitted_at"]), until if started is None else started),
        ran=_between(started, until),
        idle=None if ended is not None else _between(_number(times["last_activity_at"]), now),
        deadline_in=None if ended is not None else _between(now, _number(times["deadline"])),
        mark=seen.mark(now, slow_after),
    )


def _number(value: object) -> float | None:
    return value if isinstance(value, float | int) else None


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _abort(value: object, now: float) -> LiveAbort | None:
    if not isinstance(value, dict):
        return None
    told = cast("dict[str, object]", value)
    return msgspec.structs.replace(
        msgspec.convert(told, LiveAbort), ago=_between(_number(told.get("requested_at")), now)
    )


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return clipped(value)
    if isinstance(value, dict):
        return {name: _bounded(each) for name, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_bounded(each) for each in cast("list[object]", value)]
    return value
