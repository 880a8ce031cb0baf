"""What a live view and its host say to each other: lines of JSON, each one message with its kind in ``is``."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeVar, cast

import msgspec
from msgspec import Meta

from ..definitions._declared import Declared
from ..engine import AbortAnswer
from ..errors import ArmoryError

PROTOCOL: Final = 1
"""The version of these messages. Both sides say theirs before anything else."""

LONGEST_REQUEST: Final = 64 * 1024
"""Bytes of a line that a viewer sends; the longest query there is takes a little less, all of it escaped."""

LONGEST_ANSWER: Final = 16 * 1024 * 1024
"""Bytes of a line that a host sends: more than a full page of executions whose every text is as long as may be."""

MOST_ROWS: Final = 200
"""Executions of one page; more than any screen has lines."""

_Word = Annotated[str, Meta(max_length=200)]
_Words = Annotated[tuple[_Word, ...], Meta(max_length=16)]

SortKey = Literal[
    "attention", "state", "tool", "owner", "age", "in-state", "waits-for", "progress", "chunks", "attempts"
]
"""What a page is sorted by. ``attention`` shows first who is stuck, then who is slow, who runs, who waits, who ended."""

Mark = Literal["stuck", "slow"]
"""``stuck``: it was asked to stop and has not, or nobody knows what it did, or its cleanup failed. ``slow``: it has been
in its state for longer than was asked for."""


class LiveViewError(ArmoryError):
    """A live view cannot be served or looked at. The text says what is wrong, and what would be right."""

    __module__ = "armory_trio.observability.live"


class LiveViewGone(LiveViewError):
    """The host went away, or let go of this viewer."""

    __module__ = "armory_trio.observability.live"


class Query(Declared, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which executions are shown, and in which order. What stands in one field are alternatives.

    Args:
        states: Names of states, or ``live``, ``ended``, ``stuck``, ``slow``, ``all``. None of them means those that are
            live, and those with an unknown effect.
        tools: Names of tools; ``*`` stands for any characters.
        owners: Ids of owners, likewise.
        text: What the id, the tool or the owner contains, whatever its case.
        sort: What they are sorted by.
        descending: The other way round.
        offset: How many of them to leave out from the start.
        limit: How many to show, at most 200.
        slow_after: Seconds in one state after which one that is live counts as slow.
        detail: The id of an execution to tell everything about.
    """

    states: _Words = ()
    tools: _Words = ()
    owners: _Words = ()
    text: _Word = ""
    sort: SortKey = "attention"
    descending: bool = False
    offset: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Meta(ge=0, le=MOST_ROWS)] = 50
    slow_after: Annotated[float, Meta(ge=0, le=1e9)] = 30.0
    detail: _Word | None = None


class LiveProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The last report of a tool."""

    percent: float | None = None
    message: str | None = None


class LiveAbort(msgspec.Struct, frozen=True, kw_only=True):
    """A request to stop; never its reason, which may repeat anything.

    Args:
        source: Who asked.
        ago: Seconds since then.
        honoured: Whether it ended because of that; None while nobody knows.
    """

    source: str | None = None
    ago: float | None = None
    honoured: bool | None = None


class LiveExecution(msgspec.Struct, frozen=True, kw_only=True):
    """One execution, as its operator may see it. Durations are seconds.

    Fields that have a counterpart in a snapshot mean the same as there. What is unknown, or hidden, is None.

    Args:
        age: From its admission until now, or until its end.
        in_state: How long it has been in its state.
        waited: From its admission to its first line.
        ran: From its first line until now, or until its end.
        idle: Since its last sign of life; None once it ended.
        deadline_in: Until its deadline; below 0 when that is over. None once it ended.
        mark: Whether it needs somebody's eye.
    """

    execution_id: str
    state: str
    call_id: str | None = None
    tool_name: str | None = None
    tool_id: str | None = None
    owner_id: str | None = None
    parent_id: str | None = None
    started_by: str | None = None
    batch_id: str | None = None
    batch_index: int | None = None
    revision: int | None = None
    waits_for: str | None = None
    queue_position: int | None = None
    declared_wait: str | None = None
    capacity: tuple[str, ...] = ()
    progress: LiveProgress | None = None
    chunks: int = 0
    attempts: int = 0
    outcome: str | None = None
    error_category: str | None = None
    error_code: str | None = None
    effect: str | None = None
    abort: LiveAbort | None = None
    cleanup: str | None = None
    placement: str | None = None
    age: float | None = None
    in_state: float | None = None
    waited: float | None = None
    ran: float | None = None
    idle: float | None = None
    deadline_in: float | None = None
    mark: Mark | None = None


class LiveLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit: slots in use, slots in all, and how many wait for one."""

    name: str
    used: int
    size: int
    waiting: int


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an execution, ``ago`` seconds before the frame was made."""

    ago: float
    kind: str
    words: str


class LiveDetail(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one execution.

    Args:
        execution: The execution.
        ancestors: Who called it, the nearest first.
        children: Whom it called, as far as they are live or ended lately; at most 50.
        children_left_out: How many more there are.
        limits: The limits that it holds a slot of or waits for.
        events: What happened since somebody looks at it, the oldest first; at most 50.
        events_missed: Whether some of them may have been missed, since too much happened in the host.
    """

    execution: LiveExecution
    ancestors: tuple[LiveExecution, ...] = ()
    children: tuple[LiveExecution, ...] = ()
    children_left_out: int = 0
    limits: tuple[LiveLimit, ...] = ()
    events: tuple[LiveEvent, ...] = ()
    events_missed: bool = False


class LiveTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of executions.

    Args:
        live: How many are not over.
        states: How many are in each state; ``terminal`` are those that ended lately.
        started: Bodies that were entered since somebody looks.
        ended: How many ended since then.
        failed: How many of these with an error.
        unseen: How many ended since then too fast for anybody to see how; they are among ``ended``.
    """

    live: int
    states: dict[str, int]
    started: int
    ended: int
    failed: int
    unseen: int


class LiveRates(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers per second, over the last ``over`` seconds; those of ``unseen`` ended in a way that nobody saw."""

    started: float
    ended: float
    failed: float
    unseen: float
    over: float


class LiveHost(msgspec.Struct, frozen=True, kw_only=True):
    """Who is looked at.

    Args:
        name: What the host calls itself.
        machine: The name of its machine.
        pid: Its process.
        uptime: Seconds since the view is served.
        admission: ``open``, ``closed``, or ``ended`` once there is a report.
        viewers: How many look.
        allow_abort: Whether viewers may ask executions to stop.
    """

    name: str
    machine: str
    pid: int
    uptime: float
    admission: Literal["open", "closed", "ended"]
    viewers: int
    allow_abort: bool


# ── From the viewer ──────────────────────────────────────────────────────────────────────────────────────────────────


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", forbid_unknown_fields=True):
    id: Annotated[int, Meta(ge=0, le=2**53)]


class Hello(_Request, frozen=True, kw_only=True, tag="hello"):
    """The first message."""

    protocol: int


class Look(_Request, frozen=True, kw_only=True, tag="look"):
    """Asks for one frame."""

    query: Query


class Subscribe(_Request, frozen=True, kw_only=True, tag="subscribe"):
    """Asks for a frame now and every so many seconds, instead of what was asked for before."""

    query: Query
    interval: Annotated[float, Meta(ge=0.1, le=3600)]


class Unsubscribe(_Request, frozen=True, kw_only=True, tag="unsubscribe"):
    """Asks for no more frames."""


class AbortOne(_Request, frozen=True, kw_only=True, tag="abort"):
    """Asks an execution to stop."""

    execution_id: _Word
    reason: Annotated[str, Meta(max_length=500)]


Request = Hello | Look | Subscribe | Unsubscribe | AbortOne

# ── From the host ────────────────────────────────────────────────────────────────────────────────────────────────────


class _Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    re: int
    """The request that it answers."""


class Welcome(_Answer, frozen=True, kw_only=True, tag="welcome"):
    """Goes on after `Hello`."""

    protocol: int
    host: LiveHost


class Refused(_Answer, frozen=True, kw_only=True, tag="refused"):
    """What was asked for is not given; the host closes the connection after it."""

    message: str


class Frame(_Answer, frozen=True, kw_only=True, tag="frame"):
    """What there is to see at one moment.

    Args:
        version: The version of this form. Fields may be added to it; what is there keeps its meaning.
        at: Seconds since 1970.
        host: Who is looked at.
        totals: Numbers of executions.
        rates: Numbers per second; None until somebody has looked for a moment.
        limits: The limits in use, the busiest first; at most 50.
        limits_left_out: How many more are in use.
        matched: How many executions fit the query.
        offset: How many of them come before those that are shown.
        executions: Those that are shown.
        detail: The execution that was asked for; None when it is not known, or none was.
    """

    version: int = 1
    at: float
    host: LiveHost
    totals: LiveTotals
    rates: LiveRates | None
    limits: tuple[LiveLimit, ...]
    limits_left_out: int
    matched: int
    offset: int
    executions: tuple[LiveExecution, ...]
    detail: LiveDetail | None


LiveAbortAnswer = AbortAnswer | Literal["unknown", "not-allowed"]
"""What an abort did; ``unknown`` when nobody knows the execution (any more), ``not-allowed`` when viewers may not."""


class Aborted(_Answer, frozen=True, kw_only=True, tag="aborted"):
    """What asking for a stop did."""

    answer: LiveAbortAnswer


Answer = Welcome | Refused | Frame | Aborted

M = TypeVar("M")
_requests: Final = msgspec.json.Decoder(Request)
_answers: Final = msgspec.json.Decoder(Answer)


def request_of(line: bytes) -> Request:
    """The request that *line* holds.

    Raises:
        ValueError: It holds none. The text says what is wrong.
    """
    return _decoded(_requests, line)


def answer_of(line: bytes) -> Answer:
    """The answer that *line* holds; fields that are not known are left out.

    Raises:
        ValueError: It holds none.
    """
    return _decoded(_answers, line)


def _decoded(decoder: msgspec.json.Decoder[M], line: bytes) -> M:
    try:
        return decoder.decode(line)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def line_of(message: Request | Answer) -> bytes:
    """*message* as a line. Lone surrogates, which JSON in UTF-8 has not, become escapes that can be read."""
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(message))) + b"\n"


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return {str(_without_surrogates(key)): _without_surrogates(each) for key, each in pairs}
    if isinstance(value, list | tuple):
        return [_without_surrogates(each) for each in cast("list[object]", value)]
    return value
