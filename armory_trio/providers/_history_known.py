"""What the host knows of calls whose results are missing, held against the calls that a history has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ..definitions import ToolResult
from ..definitions._checks import shown
from ..errors import ArmoryError
from ._doors import require_results, words
from ._history_parts import CallAt, Fault, legal_id
from ._history_plan import Plan

__all__ = ("HistoryError", "Known", "known_of")

_SHOWN: Final = 5
_LISTED: Final = 20
_SUBJECT: Final = "repair_history"


class HistoryError(ArmoryError):
    """A history is not one that its provider takes, or not the one that the host speaks of.

    Args:
        faults: What is wrong with it; nothing when it is legal, and what was said of it is wrong.
        reason: What was said wrongly, and what would be right.
    """

    __module__ = "armory_trio.providers"

    def __init__(self, faults: Sequence[Fault], reason: str | None = None) -> None:
        told = "; ".join(f"{fault.path}: {fault.words}" for fault in faults[:_SHOWN])
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        super().__init__(reason or f"{told}{more}; repair it with repair_history(...)")
        self.faults: tuple[Fault, ...] = tuple(faults)


class Known(msgspec.Struct, frozen=True):
    """What is known of calls without a result, by their ids in the history."""

    results: dict[str, ToolResult[object]]
    not_run: frozenset[str]

    def result_of(self, call: CallAt) -> ToolResult[object] | None:
        return None if call.wire_id is None else self.results.get(call.wire_id)

    def has_not_run(self, call: CallAt) -> bool:
        return call.wire_id in self.not_run


def known_of(plan: Plan | None, results: Iterable[ToolResult[object]], not_run: Iterable[str]) -> Known:
    """*results* and *not_run* by the ids of the history of *plan*; a history without calls has none.

    Whoever says something of a call has to be understood: otherwise the model would read that nobody knows, or worse.

    Raises:
        DefinitionError: One of them is no list, or an entry has the wrong type.
        HistoryError: An id is no call's, or several calls' that wait for a result, or two things are said of one call.
    """
    given = require_results(_SUBJECT, results)
    ids = words(_SUBJECT, "not_run", not_run, "ids of calls")
    if not given and not ids:
        return Known({}, ids)
    repeated = [call_id for call_id, count in Counter(result.call_id for result in given).items() if count > 1]
    if repeated:
        raise HistoryError((), f"results: several results for the call {repeated[0]!r}; give one")
    here = {} if plan is None else _here(plan)
    by_id = {_one_of(plan, here, "results", result.call_id): result for result in given}
    named = frozenset(_one_of(plan, here, "not_run", call_id) for call_id in ids)
    for call_id in sorted(named & by_id.keys()):
        if by_id[call_id].outcome == "success":
            raise HistoryError((), f"not_run: the call {call_id!r} did run: results has its success")
    return Known(by_id, named)


def _here(plan: Plan) -> dict[str, int]:
    """The ids of all calls, and how many calls that have the id wait for a result."""
    found = {call.wire_id: 0 for ask in plan.asks for call in ask.calls if call.wire_id is not None}
    found |= {fault.call_id: 0 for fault in plan.faults if fault.kind == "role" and fault.call_id is not None}
    for ask, at in plan.wanted:
        call_id = ask.calls[at].wire_id
        if call_id is not None:
            found[call_id] += 1
    return found


def _one_of(plan: Plan | None, here: dict[str, int], field: str, call_id: str) -> str:
    """*call_id* as it is called in the history; one that was made legal by an earlier repair has another form there."""
    if call_id not in here and plan is not None:
        legal = legal_id(call_id, plan.layout.id_limit)
        call_id = legal if legal in here else call_id
    if call_id not in here:
        raise HistoryError((), f"{field}: {shown(call_id)} is no call of this history{_those(plan, here)}")
    if here[call_id] > 1:
        reason = f"{here[call_id]} calls that have no result are called {shown(call_id)}; give them ids of their own"
        raise HistoryError((), f"{field}: {reason}")
    return call_id


def _those(plan: Plan | None, here: dict[str, int]) -> str:
    if here:
        listed = ", ".join(map(shown, list(here)[-_LISTED:]))
        return f"; its calls are {listed}" if len(here) <= _LISTED else f"; its last {_LISTED} calls are {listed}"
    has_calls = plan is not None and bool(plan.asks)
    return ", whose calls have no ids" if has_calls else ", which has no calls"
