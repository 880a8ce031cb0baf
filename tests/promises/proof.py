"""How the engine is proven as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "engine.model": Requirement(
        "design 15",
        "Whatever clients and tools do, in whatever order: every admitted call ends once and is reported, no limit is "
        "exceeded, what conflicts never overlaps and keeps its order, nobody waits for what is free, effects are as "
        "the table says, limits of time are kept, and nothing is left.",
    ),
    "engine.cancelled-at-every-await": Requirement(
        "design 15",
        "Every public coroutine may be cancelled at each of its awaits: what it called is stopped, what it only "
        "watched goes on, nothing is lost and nothing is left.",
    ),
    "engine.faults": Requirement(
        "design 7, llm-core 1.7, armorer-core 1J",
        "Whatever a tool throws, from whatever kind of function and at whatever moment, is the end of its own call, "
        "with the effect of the table, and of nothing else.",
    ),
    "engine.faults.starved": Requirement(
        "design 7",
        "Whatever a call comes to, it has an end, also when no file can be opened any more: its code is there already.",
    ),
    "engine.faults.interrupt": Requirement(
        "design 7",
        "A KeyboardInterrupt leaves the supervisor bare and aborts everything, from whatever kind of function.",
    ),
    "engine.faults.cancelled-by-others": Requirement(
        "design 7",
        "A cancellation that a tool kept from elsewhere is that call's own failure, also deep in a group.",
    ),
    "engine.context-with-input": Requirement(
        "design 5",
        "A function with a declared input gets its context like any other.",
    ),
}
