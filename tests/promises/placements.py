"""Tasks, threads and processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "placement.values": Requirement(
        "design 5, 11", "In every place arguments come as their Python types, and the value as the annotation says."
    ),
    "placement.validation": Requirement("design 3", "In every place arguments are validated before a body begins."),
    "placement.exceptions": Requirement(
        "design 7, 11", "In every place what a body raises is told by type and text, and is its own failure."
    ),
    "placement.chunks": Requirement(
        "design 10, 11", "In every place chunks come in order, collected, reduced or live, and survive an error."
    ),
    "placement.chunks-held": Requirement(
        "design 10, 11",
        "What a middleware keeps back of a live stream holds its tool up nowhere, however small the buffer is.",
    ),
    "placement.backpressure": Requirement(
        "design 10, 11", "In every place a body is never more than its buffer, and the chunk in its hand, ahead."
    ),
    "placement.leaving": Requirement("design 10, 11", "In every place a reader that leaves early stops the tool."),
    "placement.context": Requirement(
        "design 11, 17, armorer-core 1K, armorer-core 10",
        "In every place the context says who runs, for whom, and whether it should stop.",
    ),
    "placement.telling": Requirement(
        "design 11, 17, armorer-core 1K",
        "In every place progress, log lines and events arrive in order; misuse raises in the body.",
    ),
    "placement.windows": Requirement(
        "design 7, 11", "In every place effect windows decide what the world may have seen."
    ),
    "placement.stopped-before": Requirement("design 7, 8", "In every place a call stopped while queued never begins."),
    "placement.stopped-inside": Requirement(
        "design 8, 11", "In every place an abort releases the caller, and the state is final once the body is gone."
    ),
    "placement.honoured": Requirement(
        "design 8; field case 15", "An abort is never shown as honoured before the body has ended."
    ),
    "placement.time-limits": Requirement("design 8, 11", "In every place timeout, deadline and idle timeout hold."),
    "placement.grace": Requirement("design 8, 11", "In every place a body may finish within its grace."),
    "placement.capacity": Requirement(
        "design 9, 11; field case 14", "In every place a slot comes back when the body is gone; its holder is named."
    ),
    "placement.middleware-after": Requirement(
        "design 7, 11",
        "In every place what a body came to belongs to its middleware; it is no late end, and no failed cleanup, of a call "
        "that is stopped afterwards.",
    ),
    "placement.late-abort": Requirement(
        "field case 8", "In every place aborts that meet the end of a body cost no capacity."
    ),
    "processes.declared": Requirement(
        "design 11", "What a worker process could not find or run is refused at definition, with the reason."
    ),
    "processes.surroundings": Requirement(
        "design 11", "A worker has a session and group of its own, and its host's path, directory and environment."
    ),
    "processes.context": Requirement(
        "design 11", "Named values, identifiers and the request context cross; context variables only by name."
    ),
    "processes.stays": Requirement("design 11", "What stays with the host raises a clear error in a worker process."),
    "processes.found": Requirement(
        "design 11", "A tool is found by module and qualified name; one that takes other arguments there is refused."
    ),
    "processes.not-entered": Requirement(
        "design 7, 11", "Until the function is entered nothing has happened: a failed import says so, with traceback."
    ),
    "processes.results": Requirement(
        "design 11", "Values are read by their annotation where they fit; what cannot be written is OUTPUT_INVALID."
    ),
    "processes.sizes": Requirement(
        "design 11", "Every message has a bound, by default 64 MiB; more is refused in words."
    ),
    "processes.unreadable": Requirement(
        "design 11", "A value that could be written but not be read again fails as that value, and loses no worker."
    ),
    "processes.output": Requirement("design 11", "What a body prints goes to its host's standard error."),
    "processes.telling": Requirement("design 11", "Any thread of a body may tell, and very much."),
    "processes.words": Requirement(
        "design 11", "What a body tells in words may be any object, as in a thread; too much of it is refused in words."
    ),
    "processes.thrown": Requirement(
        "design 7, 11",
        "Whatever a body in a worker raises is its own call's failure, never a lost worker; the worker is used again.",
    ),
    "processes.reuse": Requirement(
        "design 11", "A process is used again unless it is fresh, was killed, or a call left something running in it."
    ),
    "processes.limit": Requirement(
        "design 9", "`Limits(processes=...)` bounds bodies in processes, and idle processes."
    ),
    "processes.direct": Requirement("design 5, 11", "Host code calls a tool in a process as any other."),
    "processes.unkillable": Requirement(
        "design 8, 11", "A group that cannot be killed is cleanup-pending, then unknown, and is named in the log."
    ),
    "processes.lost": Requirement(
        "design 7, 11", "A worker that dies, breaks off or breaks the rules is that call's own WORKER_LOST, in words."
    ),
    "processes.lost-effect": Requirement(
        "design 7", "A lost worker leaves the effect unknown, unless windows say more or the body was not entered."
    ),
    "processes.replaced": Requirement("design 11", "A worker that dies while it is idle is replaced silently."),
    "processes.not-ready": Requirement(
        "design 11", "A used worker that cannot make a tool ready is replaced silently by a fresh one, once."
    ),
    "processes.interrupt": Requirement(
        "design 11", "A KeyboardInterrupt that a body in a worker process raises is that call's own failure."
    ),
    "processes.group-killed": Requirement(
        "design 11", "An abort kills the whole process group, and the state is final only when nothing of it runs."
    ),
    "processes.no-zombies": Requirement("design 8, 11", "No dead child of the host is left unreaped."),
    "processes.leaving": Requirement(
        "design 8, 11", "Workers end with their supervisor, whichever way its block is left."
    ),
    "processes.host-dies": Requirement(
        "design 11", "When the host itself is killed, its workers and their groups end."
    ),
    "processes.host-forks": Requirement(
        "design 11", "A child that the host forked keeps no worker alive when the host is killed."
    ),
    "processes.never-cancelled": Requirement(
        "design 5, 8", "A tool that must never be cancelled is killed only when its supervisor is left."
    ),
}
