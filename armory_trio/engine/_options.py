"""What a host may say about one call, and about the whole supervisor."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, cast, get_args

import msgspec

from ..definitions import RequestContext
from ..definitions._checks import near, shown
from ..definitions._declared import Declared
from ..errors import DefinitionError
from ._authority import Authority

if TYPE_CHECKING:
    from ..authority import LoopDetection
    from ..ledger import Receipt
    from ..toolbox import Resolution
    from ._keywords import CallOptions, Elicitor, ErrorDetail

ERROR_DETAILS: Final = ("message", "declared")


class Options(msgspec.Struct, frozen=True):
    """`CallOptions`, checked and frozen at the door."""

    owner_id: str | None = None
    timeout: float | None = None
    deadline: float | None = None
    idle_timeout: float | None = None
    human_timeout: float | None = None
    request_context: RequestContext | None = None
    elicit: Elicitor | None = None
    metadata: object = None
    idempotency_key: str | None = None
    resolution_receipt: Receipt | None = None
    asks_ledger: bool = False
    """Whether one of the last two is given."""
    trace: object = None
    error_detail: ErrorDetail | None = None


NO_OPTIONS: Final = Options()
_NAMES: Final = tuple(name for name in Options.__struct_fields__ if name != "asks_ledger")
DIRECTLY: Final = Options()
"""Those of a call that a host makes of its own function: nobody is asked whether it may."""


def freeze_options(given: CallOptions) -> Options:
    """Check *given* and freeze it.

    Raises:
        TypeError: There is no such option, or its value is of the wrong kind.
        ValueError: A duration is not a positive number of seconds, or the deadline is not a number.
    """
    if not given:
        return NO_OPTIONS
    _require_known(given)
    options = Options(**given)
    for name, seconds in (
        ("timeout", options.timeout),
        ("idle_timeout", options.idle_timeout),
        ("human_timeout", options.human_timeout),
    ):
        if seconds is not None and not (_is_number(seconds) and seconds > 0):
            raise ValueError(f"{name}={shown(seconds)}: give a positive number of seconds, or None for no limit")
    deadline = options.deadline
    if deadline is not None and (not _is_number(deadline) or math.isnan(deadline)):
        raise ValueError(f"deadline={shown(deadline)}: give a point on trio's clock, such as trio.current_time() + 10")
    _check_kind("owner_id", options.owner_id, str, "a string")
    _check_kind("idempotency_key", options.idempotency_key, str, "a string")
    if options.idempotency_key is not None or options.resolution_receipt is not None:
        options = msgspec.structs.replace(options, asks_ledger=True)
    if options.idempotency_key is not None and not options.idempotency_key.strip():
        raise ValueError("idempotency_key is blank; give a key, or None for none")
    if options.resolution_receipt is not None:
        _check_receipt(options.resolution_receipt)
    _check_kind("request_context", options.request_context, RequestContext, "a RequestContext")
    if options.error_detail not in (None, *ERROR_DETAILS):
        raise ValueError(
            f"error_detail={options.error_detail!r}: give message or declared, or None for the supervisor's"
        )
    if options.elicit is not None and not callable(options.elicit):
        raise TypeError(f"elicit={options.elicit!r}: give an async function that answers an ElicitRequest")
    return options


def _require_known(given: Iterable[str]) -> None:
    for name in given:
        if name not in _NAMES:
            hint = near(name, _NAMES, 1)
            meant = f"did you mean {hint[0]!r}?" if hint else f"there are {', '.join(_NAMES)}"
            raise TypeError(f"a call has no option {name!r}; {meant}")


def _is_number(value: object) -> bool:
    """Whether *value* is a number that a clock can be compared with: a whole one may be too large for that."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def under(options: Options, context: RequestContext, key: str | None) -> Options:
    """*options* on behalf of *context*, with that idempotency key."""
    asks = options.asks_ledger or key is not None
    return msgspec.structs.replace(options, request_context=context, idempotency_key=key, asks_ledger=asks)


def _check_receipt(receipt: object) -> None:
    from ..ledger import Receipt  # noqa: PLC0415  # only who has a receipt pays for it

    if not isinstance(receipt, get_args(Receipt)):
        raise TypeError(
            f"resolution_receipt={receipt!r}: give a receipt, such as receipt_from_json makes of its JSON form"
        )


def _check_kind(name: str, value: object, kind: type, wanted: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name}={value!r}: give {wanted}, or None")


def check_seconds(subject: str, name: str, seconds: float) -> float:
    """Answer *seconds*, unless it is no length of time.

    Raises:
        DefinitionError: It is negative, or not a number.
    """
    if not (_is_number(seconds) and seconds >= 0):
        raise DefinitionError(subject, name, f"is {shown(seconds)}; give seconds, 0 or more")
    return seconds


def check_buffer(size: object) -> None:
    """Refuse a buffer that can hold nothing.

    Raises:
        ValueError: It can't.
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(f"buffer={size!r}: give a whole number, at least 1")


def _check_whole(subject: str, name: str, size: object, *, least: int, unbounded: bool = False) -> None:
    """Refuse what is no whole number from *least* on; None passes if the field may be *unbounded*."""
    if size is None and unbounded:
        return
    if not isinstance(size, int) or isinstance(size, bool) or size < least:
        otherwise = ", or None for no bound" if unbounded else ""
        raise DefinitionError(subject, name, f"is {size!r}; give a whole number, {least} or more{otherwise}")


def _check_duration(subject: str, name: str, seconds: float | None) -> None:
    if seconds is not None and not (_is_number(seconds) and seconds >= 0):
        raise DefinitionError(subject, name, f"is {shown(seconds)}; give seconds, 0 or more, or None for no bound")


def _cores() -> int:
    return os.cpu_count() or 1


class Limits(Declared, frozen=True):
    """How much may run at once. None means no bound.

    Args:
        concurrent: Bodies in the whole supervisor.
        per_owner: Bodies of one owner.
        groups: Bodies of all tools that name a group.
        threads: Bodies in worker threads.
        processes: Bodies in worker processes, and idle processes that are kept for the next body; by default one for
            each core.
        queued: Calls that may wait for their turn; more are answered ``OVERLOADED``.
    """

    concurrent: int | None = None
    per_owner: int | None = None
    groups: Mapping[str, int] = {}
    threads: int = 40
    queued: int | None = None
    processes: int = msgspec.field(default_factory=_cores)

    def __post_init__(self) -> None:
        for name, size in (("concurrent", self.concurrent), ("per_owner", self.per_owner)):
            _check_whole("Limits", name, size, least=1, unbounded=True)
        for name, size in (("threads", self.threads), ("processes", self.processes)):
            _check_whole("Limits", name, size, least=1)
        _check_whole("Limits", "queued", self.queued, least=0, unbounded=True)
        _check_groups(self.groups)


def _check_groups(groups: object) -> None:
    if not isinstance(groups, Mapping):
        raise DefinitionError(
            "Limits", "groups", f"is {groups!r}; give a mapping from the name of a group to its size, as {{'db': 4}}"
        )
    for name, size in cast("Mapping[object, object]", groups).items():
        if not isinstance(name, str):
            raise DefinitionError("Limits", "groups", f"names the group {name!r}; give its name as a string")
        _check_whole("Limits", f"groups[{name!r}]", size, least=1)


class Budget(Declared, frozen=True):
    """What a supervisor may spend in its life. None means no bound.

    Args:
        max_calls: Bodies started, nested ones included.
        max_duration: Seconds from the opening during which calls are admitted.
    """

    max_calls: int | None = None
    max_duration: float | None = None

    def __post_init__(self) -> None:
        _check_whole("Budget", "max_calls", self.max_calls, least=0, unbounded=True)
        _check_duration("Budget", "max_duration", self.max_duration)


class Retention(Declared, frozen=True):
    """How long ended executions stay visible: whichever bound comes first.

    Args:
        count: At most so many.
        seconds: At most so long after their end; None for no bound.
    """

    count: int = 1000
    seconds: float | None = None

    def __post_init__(self) -> None:
        _check_whole("Retention", "count", self.count, least=0)
        _check_duration("Retention", "seconds", self.seconds)


class Settings(msgspec.Struct, frozen=True):
    """What a host said about the whole supervisor, checked."""

    limits: Limits
    budget: Budget | None
    retention: Retention
    error_detail: str
    cleanup_timeout: float
    drain_for: float
    default_request_context: RequestContext | None
    resolution: Resolution | None
    loops: LoopDetection | None
    authority: Authority
