"""Limits, fairness and the absence of deadlock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "capacity.limits": Requirement(
        "field case 19, armorer-core 1O, armorer-core 10",
        "No more calls run at once than a tool, group, owner or supervisor limit allows.",
    ),
    "capacity.all-or-nothing": Requirement(
        "design 9", "A call gets everything that it needs at once; while it waits it holds none of it."
    ),
    "capacity.families": Requirement(
        "design 9", "Each owner has slots of its own, and leaves nothing behind when it is gone."
    ),
    "capacity.fifo": Requirement("design 9, armorer-core 1O", "Calls of one owner are served in order of admission."),
    "capacity.round-robin": Requirement(
        "design 9", "Owners take turns, so one with a long queue does not starve one with a short queue."
    ),
    "capacity.overtaking": Requirement(
        "design 9", "Within an owner a call overtakes only calls that wait for something that it does not need."
    ),
    "capacity.patience": Requirement(
        "design 9",
        "A call that was overtaken 16 times reserves the slots that it needs as they come free, beside others that do: "
        "for each limit the one that lost patience earlier goes first.",
    ),
    "capacity.reservations-never-cross": Requirement("design 9", "Reservations never wait for each other."),
    "capacity.reads-and-writes": Requirement(
        "field case 27", "Calls that read and write the same thing run in order of admission; readers share."
    ),
    "capacity.lending": Requirement(
        "design 9",
        "What an ancestor holds is lent to one descendant at a time; running leaves never exceed a limit.",
    ),
    "capacity.cycle": Requirement(
        "design 9", "A nested call that could only wait for ever is refused, and the cycle is named."
    ),
    "capacity.joins": Requirement("design 9", "A join counts as a wait when cycles are looked for."),
    "capacity.nested-overtake": Requirement(
        "design 9", "Order and reservations never hold back a nested call for a call that waits for its ancestors."
    ),
    "capacity.never-hangs": Requirement(
        "design 9", "However calls nest, wait, join, end and are withdrawn, every call that waits can still start."
    ),
    "capacity.refusals-are-true": Requirement(
        "design 9", "A call is refused only when no order of events could ever let it start."
    ),
    "capacity.withdraw": Requirement(
        "design 9, armorer-core 1O, armorer-core 10", "An aborted call leaves its queue at once."
    ),
    "capacity.position": Requirement(
        "design 9, armorer-core 1O", "A queued call shows its position and what it waits for."
    ),
    "capacity.holders": Requirement(
        "field case 14, armorer-core 1O",
        "A slot is held until the body really ended, and whoever holds it can be named.",
    ),
    "capacity.bounded-overtaking": Requirement(
        "design 9",
        "As long as running calls end, a waiting call starts after a bounded number of later ones, whatever limits, reads, "
        "writes, nested calls and joins are mixed.",
    ),
    "capacity.equal-shares": Requirement(
        "design 9",
        "Owners that all have calls waiting get equal shares of what runs at any time, however long their queues are.",
    ),
    "capacity.newcomer": Requirement(
        "design 9",
        "Where all wait for the same single limit, the first call of another owner starts within one round, however many "
        "calls of others wait; where limits are mixed, after a bounded number of starts.",
    ),
    "capacity.cost": Requirement("design 14", "Starting the next call costs the same however many calls wait."),
}
