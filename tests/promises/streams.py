"""Chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "streams.never-read": Requirement(
        "design 8, armorer-core 4B, armorer-core 10",
        "A stream of a reader that is cancelled already is recorded as not started, like any other call.",
    ),
    "streams.collected": Requirement(
        "design 10; field case 30, armorer-core 3A, armorer-core 11",
        "Without a reader the chunks are collected; the list of them is the value.",
    ),
    "streams.reducer": Requirement(
        "design 10",
        "A declared reducer makes the value of the chunks; one that fails is an error after a completed effect.",
    ),
    "streams.checkpoints": Requirement(
        "design 10", "Neither a driver nor a reader handles more than 64 chunks without letting others run."
    ),
    "streams.live": Requirement(
        "design 10, armorer-core 3A, armorer-core 11",
        "A live stream hands each chunk over in order as it comes, then says how the call ended.",
    ),
    "streams.result-early": Requirement(
        "design 10", "The result of a stream that is not over is an error that says what to do."
    ),
    "streams.not-begun": Requirement(
        "design 10", "What is read before it was entered, a stream or a view, says that it has to be entered."
    ),
    "streams.live-uncollected": Requirement("design 10", "With `collect=False` chunks are read and not kept."),
    "streams.backpressure": Requirement(
        "design 10",
        "A tool is never more than its buffer ahead of its reader; a stalled reader stalls only its own tool.",
    ),
    "streams.outcome-without-reader": Requirement(
        "design 10", "The outcome of a stream is recorded whatever its reader does."
    ),
    "streams.leaving-early": Requirement(
        "design 10, armorer-core 4B, armorer-core 10",
        "Leaving a stream early cancels the tool, with the caller as the source; one that is over is left as it is.",
    ),
    "streams.error-keeps-chunks": Requirement(
        "design 10; field case 30, armorer-core 11", "An error after chunks is an error with the chunks kept."
    ),
    "streams.deadline-on-silence": Requirement(
        "design 10, armorer-core 10, armorer-core 11",
        "Time limits hold on silent and on stalled streams; chunks are signs of life.",
    ),
    "streams.cancel-at-yield": Requirement(
        "design 10, armorer-core 11",
        "A cancellation while a chunk waits for room is thrown into the generator at its yield, once; then it is closed.",
    ),
    "streams.never-truncated": Requirement(
        "design 10, armorer-core 10", "A stream that ends for any other reason than exhaustion is never a success."
    ),
    "streams.own-scopes": Requirement(
        "design 10; field case 91",
        "A generator may yield inside its own timeouts and nurseries; they work, and harm nobody else.",
    ),
    "streams.never-cancelled-tool": Requirement(
        "design 5", "A stream whose tool does not support cancellation goes on to its end."
    ),
    "streams.grace": Requirement("design 8", "Within its grace a stream that was asked to stop may still finish."),
    "streams.drain": Requirement(
        "design 8", "A drain aborts a stream of which nothing was read for 5 s, and no other."
    ),
    "streams.events": Requirement(
        "design 6, armorer-core 4B, armorer-core 11",
        "A stream tells its opening and its close; its chunks go only to readers who ask for payloads.",
    ),
    "streams.nested": Requirement("design 6", "A stream that a tool opens is a child of that tool's execution."),
    "streams.cancelled-read": Requirement("design 10", "A cancelled read loses no chunk; a second reader is told so."),
    "streams.inline": Requirement(
        "design 5", "A def generator placed in the task streams, and is cancelled, like an async one."
    ),
    "threads.placement": Requirement(
        "design 5, 11", "A def tool runs in a worker thread; an awaitable that it returns is awaited on trio's thread."
    ),
    "threads.context-variables": Requirement(
        "design 5", "A thread sees a copy of its caller's context variables, and changes none of them."
    ),
    "threads.inline": Requirement(
        "design 5", "A def tool placed in the task runs on trio's thread, where blocking members are refused in words."
    ),
    "threads.nested-policy": Requirement(
        "field case 6", "A thread below a caller that was stopped is aborted with it and stays in sight until it ends."
    ),
    "threads.limit": Requirement("design 9", "Threads are bounded by the supervisor's own limit, not by trio's."),
    "threads.abandoned": Requirement(
        "design 8", "A thread never holds its caller up: stopped, it is left behind, visibly, as cleanup-pending."
    ),
    "threads.slot-held": Requirement("design 8", "A thread that runs on holds its slot until it really ends."),
    "threads.late-promise": Requirement(
        "design 7",
        "A coroutine or generator that a thread gives when nobody waits any more is no value: it never runs, and what "
        "the call did is unknown unless its tool is read-only.",
    ),
    "threads.never-began": Requirement(
        "design 7, 8",
        "A thread that never began, because its call was stopped first or the system has no more, has done nothing, "
        "and is not waited for.",
    ),
    "threads.late-end": Requirement("design 6, 8", "The late end of a thread that was given up is recorded."),
    "threads.check": Requirement(
        "design 5, 8",
        "`ctx.check()` and trio's own check raise in a thread once it was stopped; what it does then is told.",
    ),
    "threads.grace": Requirement("design 8", "A thread has its grace, and may finish within it."),
    "threads.never-cancelled": Requirement(
        "design 5", "A thread whose tool does not support cancellation is never told to stop; its caller is released."
    ),
    "threads.exit": Requirement(
        "design 8", "Leaving the supervisor abandons threads that do not end, and the report names them."
    ),
    "threads.blocking-members": Requirement(
        "design 5", "The awaiting members of the context block the thread; what it tells arrives in order."
    ),
    "threads.after-the-outcome": Requirement(
        "design 7",
        "Once the outcome is decided a thread starts nothing new; once the state is final it has only its identifiers.",
    ),
    "threads.exceptions": Requirement("design 7", "Whatever a thread raises is that call's own failure."),
    "threads.generators": Requirement(
        "design 10; field case 30", "A def generator streams from a thread, and is stopped at its yield."
    ),
    "threads.backpressure": Requirement(
        "design 10", "A thread is never more than its buffer, and the chunk in its hand, ahead of its reader."
    ),
}
