"""The end of an execution that holds an attempt in the ledger: it is written down before anybody is told."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ...definitions import ToolResult
from .._execution import Record
from .._plan import Plan
from .._settlement import let_caller_go
from ._retelling import with_chunks


async def written_down(record: Record, conclude: Callable[[], None], *, gave_a_value: bool) -> None:
    """Let *conclude* decide how a body ended, write that into the ledger, and only then tell anybody.

    Args:
        record: The execution.
        conclude: Decides, at once.
        gave_a_value: Whether the body, with what stands around it, came to its end with a value. That its tool did is
            not enough: a middleware that was stopped afterwards has not said what the value is.

    Cancelled: never halfway. Bounded, whatever the ledger does.
    """
    entry, released = record.entry, record.verdict is not None
    assert entry is not None
    entry.holding, entry.withholding = True, not released
    try:
        conclude()
        if record.result is not None and record.plan is not None:
            result = msgspec.structs.replace(record.result, effect=record.effect)
            journal = record.journal
            went_on = entry.goes_on and journal is not None and journal.is_unused
            if entry.pause is None and result.outcome == "error" and went_on:
                entry.pause = "waits-again"  # nobody used what a person agreed to
            if record.chunks:
                result = with_chunks(result, record.collected, live=record.feeder is not None)
            elif released and gave_a_value and not _dropped_chunks(record):
                result = _with_late_value(record, record.plan, result)
            await entry.end(result, record.plan.tool.output_contract, attempts=record.attempts)
            record.result = entry.told(record.result, result)
    finally:
        entry.holding = entry.withholding = False
        if not released and record.verdict is not None:
            let_caller_go(record, record.effect)
        ending, entry.ending = entry.ending, None
        if ending is not None:
            ending()


def _dropped_chunks(record: Record) -> bool:
    """Whether chunks may be missing in its value, since those that come after the outcome was decided are dropped."""
    return record.collected is not None or not record.collects


def _with_late_value(record: Record, plan: Plan, result: ToolResult[object]) -> ToolResult[object]:
    """*result* for those who ask again: the value that came after the caller had been let go, if one did."""
    if not record.returned or result.outcome != "error" or result.effect == "unknown":
        return result
    value = record.late
    try:
        if plan.bare and plan.check_output is not None:
            value = plan.check_output(value)
        content = record.core.encode(value)
    except Exception:  # code of the value's own, or of a contract's: what its caller was told is what is known
        return result
    return msgspec.structs.replace(result, outcome="success", value=value, content=content, error=None)
