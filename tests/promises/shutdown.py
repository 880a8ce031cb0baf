"""Stopping, draining and reporting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "shutdown.services-last": Requirement(
        "design 6, 8; field case 13",
        "Timers, time limits and readers of events serve the work of a drain until its last call is settled.",
    ),
    "shutdown.admission-closed": Requirement(
        "design 8, armorer-core 2M, armorer-core 4E",
        "Once admission is closed, every door for new work raises AdmissionClosed, and an event tells it once.",
    ),
    "shutdown.drain": Requirement(
        "design 8", "A drain lets queued calls, batches and nested calls that were admitted run to their end."
    ),
    "shutdown.drain-for": Requirement(
        "design 8, armorer-core 10", "What is left after `drain_for` is aborted, and the report says so."
    ),
    "shutdown.human-waits": Requirement("design 8", "A drain withdraws questions to people, and asks no new ones."),
    "shutdown.abort": Requirement(
        "design 8; field case 25, armorer-core 10, armorer-core 11",
        "An abort stops everything at once, nested calls included.",
    ),
    "shutdown.escalate": Requirement(
        "design 8, armorer-core 10",
        "A drain can be turned into an abort, never the reverse; a second abort ends all grace.",
    ),
    "shutdown.wrong-options": Requirement("design 8", "A shutdown that makes no sense is refused and changes nothing."),
    "shutdown.cancelled": Requirement(
        "design 8", "A cancelled shutdown leaves admission closed; a drain's work runs on, an abort goes on."
    ),
    "shutdown.checkpoints": Requirement("design 8", "A shutdown is a checkpoint, and may be repeated."),
    "shutdown.leaving": Requirement(
        "design 8; field cases 1, 3, armorer-core 2M",
        "Left normally a supervisor drains; by an exception or a cancellation it aborts. Nothing runs on, and its "
        "report is set.",
    ),
    "shutdown.bare-exception": Requirement(
        "design 8", "The exception of the block leaves as it is, never in a group and with nothing added."
    ),
    "shutdown.keyboard-interrupt": Requirement(
        "design 7", "A KeyboardInterrupt in a tool leaves the supervisor bare and aborts everything."
    ),
    "shutdown.holds-exit": Requirement(
        "design 8", "A tool that shields itself holds the exit, and the log names it every 10 s."
    ),
    "shutdown.report": Requirement(
        "design 8",
        "A report tells what became of everything, in words and as an exit code; printed, it fits on a screen.",
    ),
    "shutdown.cancel-and-wait": Requirement(
        "field case 9", "One can cancel an execution and wait; how it ended is told apart from a failure."
    ),
    "shutdown.signals": Requirement(
        "design 8", "The first signal drains and says so, the second aborts; cancelled, the signals are given back."
    ),
    "shutdown.signals-at-once": Requirement(
        "design 8", "Nothing that was started before serving runs before the signals are caught."
    ),
    "shutdown.signals-to-a-process": Requirement(
        "design 8; field case 10",
        "A service finishes its work on the first signal, aborts on the second, and exits with a list on the third.",
    ),
    "shutdown.signals-counted": Requirement(
        "design 8",
        "Every delivery of a signal counts, also before the one before it was heeded or while a tool blocks.",
    ),
    "shutdown.signals-restored": Requirement(
        "design 8",
        "Whoever handled the signals before does so after every way out, and gets those that nobody heeded when serving "
        "was cancelled.",
    ),
    "shutdown.signals-hangup": Requirement(
        "design 8", "SIGHUP drains a service like SIGTERM unless its host handles or ignores it."
    ),
    "shutdown.signals-main-thread": Requirement(
        "design 8", "Serving outside of the main thread is refused with what to do instead."
    ),
    "shutdown.served": Requirement(
        "design 8", "Serving, and waiting for the end, return the report when anybody has shut the supervisor down."
    ),
    "shutdown.report-forgets-nothing": Requirement(
        "design 8", "The report counts every unknown effect and failed cleanup, kept or not."
    ),
    "shutdown.given-up": Requirement("design 8", "A body that was given up holds up no drain."),
    "shutdown.closed-says-why": Requirement("design 8", "A closed supervisor refuses every door, and says why."),
    "shutdown.from-inside": Requirement(
        "design 8", "A tool that would wait for its own supervisor to end gets an error instead of a deadlock."
    ),
}
