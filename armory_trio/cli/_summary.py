"""What a run came to, counted while it goes on and told in a few lines at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import attrs

from ..definitions import ToolResult
from ..definitions._plurals import counted
from ..engine import Report, Snapshot
from ..providers import Turn

_NAMED: Final = 20
"""Executions that are named one by one; the rest is counted. What is wrong with more than a screenful is one thing."""


@attrs.define(eq=False)
class Tally:
    """The results and final states so far."""

    succeeded: int = 0
    failed: int = 0
    paused: int = 0
    unapproved: int = 0
    codes: Counter[str] = attrs.Factory(Counter[str])
    others: Counter[str] = attrs.Factory(Counter[str])
    uncertain: int = 0
    named: list[str] = attrs.Factory(list[str])

    def met(self, turn: Turn) -> None:
        """A turn was read; its calls of other types are not ours to run."""
        for other in turn.others:
            self.others[other.type] += 1

    def decided(self, result: ToolResult[object]) -> None:
        """The outcome of a call is known."""
        if result.outcome == "success":
            self.succeeded += 1
        elif result.outcome == "action_required":
            self.paused += 1
            self.unapproved += result.pending_approval is not None
        else:
            self.failed += 1
            code = result.error.code if result.error is not None else "INTERNAL_ERROR"
            self.codes[code] += 1
            self.unapproved += code == "APPROVAL_UNAVAILABLE"

    def settled(self, shot: Snapshot) -> None:
        """The state of an execution is final."""
        reasons = [
            *(["effect unknown"] if shot.state == "unknown-effect" else []),
            *([f"cleanup {shot.cleanup}"] if shot.cleanup in ("failed", "unresolved") else []),
        ]
        if reasons:
            self.uncertain += 1
            self._name(f"{' and '.join(reasons)}: {shot.tool_name} ({shot.call_id}, {shot.execution_id})")

    def _name(self, line: str) -> None:
        if len(self.named) < _NAMED:
            self.named.append(line)

    @property
    def calls(self) -> int:
        """How many outcomes are known."""
        return self.succeeded + self.failed + self.paused

    @property
    def all_succeeded(self) -> bool:
        return not self.failed and not self.paused


def headline(tally: Tally) -> str:
    """All calls in one line."""
    parts = [f"{tally.succeeded} succeeded"]
    if tally.failed:
        codes = ", ".join(f"{code} {count}" for code, count in tally.codes.most_common())
        parts.append(f"{tally.failed} failed ({codes})")
    if tally.paused:
        parts.append(f"{tally.paused} {'needs' if tally.paused == 1 else 'need'} somebody to act")
    if tally.others:
        kinds = ", ".join(f"{kind} {count}" for kind, count in tally.others.most_common())
        parts.append(f"{tally.others.total()} of other types left alone ({kinds})")
    return f"{counted(tally.calls, 'call')}: {', '.join(parts)}"


def uncertain_lines(tally: Tally, report: Report | None) -> Iterator[str]:
    """What somebody has to look at, one fact a line."""
    yield from tally.named
    if tally.uncertain > len(tally.named):
        yield f"and {tally.uncertain - len(tally.named)} more like these"
    if report is None:
        return
    for shot in report.unfinished[:_NAMED]:
        kind = "its thread cannot be stopped" if shot in report.abandoned_threads else shot.state
        yield f"still running: {shot.tool_name} ({shot.call_id}, {shot.execution_id}): {kind}"
    if len(report.unfinished) > _NAMED:
        yield f"and {len(report.unfinished) - _NAMED} more still running"
    for bug in report.bugs[:_NAMED]:
        yield f"a bug of armory-trio, please report it: {bug}"
