"""Ending a supervisor: draining, aborting, and telling honestly what became of everything."""

from __future__ import annotations

import logging
from typing import Final, Literal

import msgspec
import trio

from ..definitions._plurals import counted
from ._abort import abort_each, cut, request_abort
from ._events import AdmissionWasClosed
from ._execution import Core, Record
from ._lifecycle import FINAL, UNKNOWN_EFFECT, Snapshot
from ._permits import NOBODY_ASKED

Mode = Literal["drain", "abort"]

EXIT_CLEAN: Final = 0
"""Everything ended, and nothing about it is uncertain."""

EXIT_UNCERTAIN: Final = 3
"""Everything ended, but some effect is unknown or some cleanup failed."""

EXIT_UNFINISHED: Final = 4
"""Something was left running: a thread that cannot be stopped, or a body that did not end."""

TORN: Final = "trio's own run broke off; what was at work was not ended, and nobody knows what it did"
"""What is said of a supervisor that was left by nobody."""

_NAMED_EVERY: Final = 10.0
"""Seconds between two reminders of what still holds the exit."""

_NAMED_AT_MOST: Final = 20
"""Executions that one reminder names."""

_TOLD_AT_MOST: Final = 20
"""Lines of a report that `print` shows: what fits on a screen."""

_log: Final = logging.getLogger("armory_trio.engine")


class Report(msgspec.Struct, frozen=True):
    """What became of the work of a supervisor.

    Args:
        mode: How it was ended: ``drain``, or ``abort`` (also when a drain took too long).
        ended: How many executions ended in all.
        terminal: Those still kept that ended with a known effect.
        unknown_effects: Those of which nobody knows what they did; somebody has to look.
        cleanup_failures: Those whose cleaning up after an abort failed or was not finished.
        abandoned_threads: Those whose thread could not be stopped and runs on.
        unfinished: Those whose body has not ended.
        bugs: Failures of the engine itself; please report them.
        uncertain: How many ended with an unknown effect or a failed cleanup, kept or not.
        unwritten: How many publications could not be written into the journal.
        torn: Whether trio's own run broke off, as by a bug of trio, in a host that is not trio's: then nothing was ended,
            and what was at work is counted as unfinished, although nothing of it but threads goes on.
    """

    mode: Mode
    ended: int
    terminal: tuple[Snapshot, ...]
    unknown_effects: tuple[Snapshot, ...]
    cleanup_failures: tuple[Snapshot, ...]
    abandoned_threads: tuple[Snapshot, ...]
    unfinished: tuple[Snapshot, ...]
    bugs: tuple[str, ...]
    uncertain: int
    unwritten: int = 0
    torn: bool = False

    @property
    def exit_code(self) -> int:
        """0 when all is well, 3 when something is uncertain, 4 when something was left running."""
        if self.unfinished or self.abandoned_threads:
            return EXIT_UNFINISHED
        if self.uncertain or self.bugs or self.torn:
            return EXIT_UNCERTAIN
        return EXIT_CLEAN

    def __str__(self) -> str:
        told = self.lines()
        cut = [f"and {len(told) - _TOLD_AT_MOST} lines more; exit code {self.exit_code}"]
        return "\n".join(told if len(told) <= _TOLD_AT_MOST else [*told[:_TOLD_AT_MOST], *cut])

    def lines(self) -> list[str]:
        """The report in words, one fact a line; what needs somebody's eyes comes first."""
        told = [f"{self.mode}: {self.ended} ended, {len(self.unfinished)} unfinished"]
        if self.torn:
            told.insert(0, f"torn: {TORN}")
        for title, members in (
            ("unfinished", self.unfinished),
            ("thread left running", self.abandoned_threads),
            ("effect unknown", self.unknown_effects),
            ("cleanup not completed", self.cleanup_failures),
        ):
            told += [f"{title}: {member.execution_id} {member.tool_name} ({member.state})" for member in members]
        shown = {member.execution_id for member in (*self.unknown_effects, *self.cleanup_failures)}
        if self.uncertain > len(shown):
            told.append(f"and {self.uncertain - len(shown)} uncertain ones that are no longer kept")
        if self.unwritten:
            told.append(f"not in the journal: {counted(self.unwritten, 'publication')}")
        return told + [f"engine bug: {bug}" for bug in self.bugs]


def make_report(core: Core, mode: Mode, *, torn: bool = False) -> Report:
    """Tell what became of everything, as it stands now."""
    kept = [record.snapshot() for record in core.kept]
    live = list(core.live.values())
    left = [record.snapshot() for record in live]
    threads = tuple(record.snapshot() for record in live if record.given_up)
    unknown = [shot for shot in (*kept, *left) if shot.state == UNKNOWN_EFFECT]
    return Report(
        mode=mode,
        ended=core.admitted - len(live),
        terminal=tuple(shot for shot in kept if shot.state != UNKNOWN_EFFECT),
        unknown_effects=tuple(unknown),
        cleanup_failures=tuple(shot for shot in (*kept, *left) if shot.cleanup in ("failed", "unresolved")),
        abandoned_threads=threads,
        unfinished=tuple(left),
        bugs=tuple(core.bugs),
        uncertain=core.uncertain,
        unwritten=0 if core.journal is None else core.journal.told.unwritten,
        torn=torn,
    )


def tear(core: Core) -> Report:
    """Trio's run broke off, and nothing of it runs any more: close, and tell what became of everything."""
    core.closed, core.closed_because = True, TORN
    return make_report(core, "abort", torn=True)


def close_admission(core: Core, reason: str) -> None:
    """Take no new work from here on. What was admitted goes on, and so does what it calls."""
    if core.closed:
        return
    core.closed = True
    core.closed_because = reason
    if core.feed.readers:
        core.feed.send(AdmissionWasClosed(sequence=core.feed.next(), at=core.now(), reason=reason))
    for record in tuple(core.live.values()):
        if record.permit is not None and record.permit.asking:
            request_abort(record, "shutdown", NOBODY_ASKED)
        for question in record.questions or ():
            question.cancel("the supervisor takes no new work; nobody will answer")
        if record.feeder is not None:
            record.feeder.limit_wait()
    for tell in core.hooks.closing:
        tell()


def abort_everything(core: Core, reason: str, *, source: Literal["shutdown", "supervisor"] = "shutdown") -> None:
    """Ask everything to stop at once; what was given grace before loses it."""
    close_admission(core, reason)
    live = tuple(core.live.values())
    asked_before = [record for record in live if record.abort is not None]
    abort_each(core, ((record, reason) for record in live if record.parent is None), source)
    for record in asked_before:
        cut(record)


async def wait_idle(core: Core) -> None:
    """Return when no execution is live. Always a checkpoint."""
    await trio.lowlevel.checkpoint()  # first: during a last one somebody could start something
    while core.live:
        await core.stirred()


async def wait_all_settled(core: Core) -> None:
    """Return when the state of every execution is final, and no worker process is still dying. Always a checkpoint."""
    while any(record.state not in FINAL or _is_dying(core, record) for record in core.live.values()):
        await core.stirred()
    await trio.lowlevel.checkpoint()


def _is_dying(core: Core, record: Record) -> bool:
    # Given up or not: from the closing on, the process of a body whose state is final is being killed.
    in_process = record.plan is not None and record.plan.placement == "process"
    return core.closed and in_process and not record.in_thread


async def wait_for_bodies(core: Core) -> None:
    """Return when no body is left but in threads that nobody can stop; name every ten seconds what is waited for.

    And when a journal has what happened, or could not be written for `RECORD_TIMEOUT`.
    """
    named_at = core.now() + _NAMED_EVERY
    while any(not record.given_up for record in core.live.values()):
        with trio.CancelScope(deadline=named_at) as scope:
            await core.stirred()
        if scope.cancelled_caught:
            named_at += _NAMED_EVERY
            held = [record for record in core.live.values() if not record.given_up]
            names = ", ".join(f"{record.id} ({record.name}: {record.state})" for record in held[:_NAMED_AT_MOST])
            more = f" and {len(held) - _NAMED_AT_MOST} more" if len(held) > _NAMED_AT_MOST else ""
            _log.warning("the supervisor cannot be left before these end: %s%s", names, more)
    if core.journal is not None:
        await core.journal.finish()
