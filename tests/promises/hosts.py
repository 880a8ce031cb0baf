"""Hosts that do not run on trio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "asyncio.native": Requirement(
        "design 13",
        "What a supervisor offers is awaited natively in an asyncio program, under the standard loop and uvloop.",
    ),
    "asyncio.own-work": Requirement(
        "design 13", "A program makes 1,000 calls at once while the loop goes on with the program's own work."
    ),
    "asyncio.order": Requirement("design 9", "Calls that are made one after the other are admitted in that order."),
    "asyncio.abort-answers": Requirement(
        "design 8", "An execution that is aborted answers its asyncio caller a result."
    ),
    "asyncio.cancel": Requirement(
        "design 8",
        "A cancelled asyncio task aborts its execution, source `caller`, and ends only when the body is gone or was "
        "left behind.",
    ),
    "asyncio.cancel-everywhere": Requirement(
        "design 15",
        "Cancelled at any round of the loop, a coroutine of the host leaves nothing running, pending or lost.",
    ),
    "asyncio.cancel-repeated": Requirement(
        "design 8",
        "A task that is cancelled in every round of the loop, as anyio and the web frameworks on it do, leaves its stream, "
        "its subscription and its call as one that is cancelled once.",
    ),
    "asyncio.timeouts": Requirement(
        "design 8", "`asyncio.timeout` and `wait_for` round calls work, nested ones and late ones, too."
    ),
    "asyncio.leave": Requirement(
        "design 8",
        "Leaving the block normally drains; leaving it by an exception or a cancellation aborts; the exception leaves "
        "as it is, and the report is set.",
    ),
    "asyncio.nothing-pending": Requirement(
        "design 13", "A host that was left leaves no task, no pending future and no busy thread behind."
    ),
    "asyncio.context": Requirement(
        "field case 93",
        "Context variables of the calling asyncio task reach the tool, and what a tool sets reaches nobody.",
    ),
    "asyncio.not-nested": Requirement(
        "design 6", "A call that asyncio code makes is never nested; one that a tool makes through the host is."
    ),
    "asyncio.raises": Requirement(
        "design 7", "Whatever a tool raises harms neither the loop nor another call, asyncio's own exceptions included."
    ),
    "asyncio.fall": Requirement(
        "design 7", "When the supervisor falls, the block is cancelled, and what made it fall is raised in its place."
    ),
    "asyncio.read": Requirement(
        "design 13",
        "Streams, snapshots and events are read with `async for`; a cancelled step loses nothing, leaving a stream "
        "stops its tool, and a reader that stalls holds nobody up.",
    ),
    "asyncio.read-end": Requirement(
        "design 13", "Readers of a host that closes get what there is, and then their iteration ends."
    ),
    "asyncio.elicit": Requirement(
        "design 5", "Questions to a person are asked by an asyncio function, which is cancelled when one is withdrawn."
    ),
    "asyncio.one-host": Requirement(
        "design 13", "Hosts may follow each other in a loop; a second one at the same time in a thread is refused."
    ),
    "asyncio.own-loop": Requirement(
        "design 13",
        "A host belongs to the loop that it was opened in, which may stand still meanwhile: another loop, and trio's own "
        "side, are refused before anything begins, and a block that is left elsewhere aborts everything.",
    ),
    "asyncio.thrown-away": Requirement(
        "design 13", "A block of a host whose coroutine is thrown away is left all the same, without a word."
    ),
    "asyncio.eager": Requirement(
        "design 13",
        "Code of the program runs as a task of its loop also where tasks begin eagerly, never in trio's turn.",
    ),
    "asyncio.signals": Requirement("design 13", "Signals belong to the asyncio program, before, during and after."),
    "asyncio.lost-loop": Requirement(
        "design 13",
        "A loop that is closed under an open host is reported with what is lost; thrown away, the host aborts "
        "everything, and its thread can open another.",
    ),
    "asyncio.looked-at": Requirement(
        "design 13",
        "A host in an asyncio program is looked at, logged and traced as any other, in one line each; however its block is "
        "left, nothing of that stays.",
    ),
    "portal.looked-at": Requirement(
        "design 13",
        "A host of plain threads is looked at, logged and traced as any other, in one line each; however its block is left, "
        "or its thread interrupted, nothing of that stays.",
    ),
    "portal.native": Requirement(
        "design 1", "A program without an event loop makes calls that block, from as many threads as it likes."
    ),
    "portal.timeouts": Requirement(
        "design 8", "Waiting for a handle may be bounded; the execution goes on when the time is over."
    ),
    "portal.interrupted": Requirement(
        "design 8", "KeyboardInterrupt in a waiting thread aborts that call, and the host stays usable."
    ),
    "portal.stream": Requirement(
        "design 10", "Chunks are read with `for`; leaving early stops the tool, closing the host ends the iteration."
    ),
    "portal.leave": Requirement(
        "design 8",
        "Leaving the block normally drains, by an exception aborts; the thread is gone and the report is set.",
    ),
    "portal.closed": Requirement(
        "design 8", "A call after the end, and one from trio's own thread, are refused with words, not a hang."
    ),
    "portal.context": Requirement(
        "field case 93", "Context variables of the calling thread reach the tool; calls of threaded tools are nested."
    ),
    "portal.loop": Requirement(
        "design 7", "A blocking host is refused in a thread that runs an asyncio loop, with what to open there instead."
    ),
    "portal.fall": Requirement("design 7", "When the supervisor falls, leaving the block raises what made it fall."),
    "portal.torn": Requirement(
        "design 8",
        "When trio's own run breaks off, no thread waits for it any more, each is told, nothing looks complete that is not, "
        "and the report says so.",
    ),
    "hosts.exit": Requirement(
        "design 8", "A program that exits with a host open exits, and stops what can be stopped first."
    ),
    "hosts.forked": Requirement(
        "design 8",
        "A process that was forked while a host was open has no host: calls there say so at once, and it exits at once.",
    ),
    "hosts.authority": Requirement(
        "design 12 and 13",
        "Hosts resume, restore and revoke approvals, and issue, list and revoke grants, with a supervisor's parameters.",
    ),
    "asyncio.approval-handler": Requirement(
        "design 12 and 13",
        "The approval handler of an asyncio host is code of its program, a coroutine function or a plain one, and is "
        "cancelled when the question is withdrawn.",
    ),
    "portal.approval-handler": Requirement(
        "design 12 and 13", "The approval handler of a blocking host is a trio function, and may ask in a thread."
    ),
}
