"""What an execution waits for: in the engine's words while it is queued, in the tool's own once its body runs."""

from __future__ import annotations

from typing import cast

from ._events import WaitBegan, WaitEnded
from ._execution import Record
from ._lifecycle import FINAL, Wait, WaitKind


def begin_wait(record: Record, kind: WaitKind, reason: str) -> Wait:
    """The tool only waits from here on. The answer is what to end: others may wait for the same."""
    wait = _opened(record, kind, reason)
    record.apply("wait")
    if wait.told:
        _tell_begun(record, wait)
    return wait


def end_wait(record: Record, wait: Wait) -> None:
    """*wait* of the tool's is over; dropped when it was over before, or the state is final."""
    waits = record.open_waits or []
    place = next((number for number, each in enumerate(waits) if each is wait), None)
    if place is None:
        return
    del waits[place]
    if record.state not in FINAL:
        record.apply("resume-last" if record.waits == 1 else "resume")
        _tell_ended(record, wait)


def stand_in_line(record: Record, waits_for: str | None) -> None:
    """A queued execution waits from here on, as its snapshot says. Only called while somebody reads events."""
    if waits_for is not None:
        kind, _, subject = waits_for.partition(":")
        _tell_begun(record, _opened(record, cast("WaitKind", kind), subject or None))


def leave_line(record: Record) -> None:
    """A queued execution of which was told that it waits does so no more. One that is over has told that already."""
    over = None if record.open_waits is None else record.open_waits.pop()
    if over is not None and record.state not in FINAL:
        _tell_ended(record, over)


def wait_for_else(record: Record, waits_for: str) -> None:
    """A queued execution that waits does so for something else now."""
    record.waits_for = waits_for
    if record.open_waits:
        leave_line(record)
        stand_in_line(record, waits_for)


def tell_waits_over(record: Record) -> None:
    """The state of *record* is final, so none of its waits goes on. Only called while somebody reads events."""
    for wait in record.open_waits or ():
        _tell_ended(record, wait)


def _opened(record: Record, kind: WaitKind, subject: str | None) -> Wait:
    if record.open_waits is None:
        record.open_waits = []
    wait = Wait(kind, subject, record.core.now(), told=bool(record.core.feed.readers))
    record.open_waits.append(wait)
    return wait


def _tell_begun(record: Record, wait: Wait) -> None:
    record.tell(WaitBegan, kind=wait.kind, subject=wait.subject)


def _tell_ended(record: Record, wait: Wait) -> None:
    if wait.told and record.core.feed.readers:
        record.tell(WaitEnded, kind=wait.kind, subject=wait.subject, seconds=record.core.now() - wait.since)
