"""Calls that repeat themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "loops.repeat": Requirement(
        "design 3, field case 89, armorer-core 8A, armorer-core 8B, armorer-core 11",
        "The same call again and again is warned of from one threshold on and refused from another, 10 and 20 by "
        "default; either can be left out.",
        divergence="There is no classic mode without levels, and a loop is always of the current call.",
    ),
    "loops.arguments": Requirement(
        "design 3, armorer-core 8A, armorer-core 8B",
        "Calls are equal when their tool and the value of their arguments are, whatever the order of keys.",
    ),
    "loops.recovery": Requirement(
        "design 3, armorer-core 8B, armorer-core 10",
        "Another call ends the run at once; until then a refused call stays refused.",
        divergence="Elsewhere a window has to slide past, and refused calls fill it.",
    ),
    "loops.progress": Requirement(
        "field case 89, armorer-core 8B",
        "Equal calls with different results are no loop, in whatever order their results become known.",
        divergence="Elsewhere results are not looked at, so polling is a loop.",
    ),
    "loops.ping-pong": Requirement(
        "design 3, armorer-core 8B, armorer-core 10",
        "Two calls that take turns are a loop after two rounds; varied calls never are.",
        divergence="Elsewhere any calls that differ from their neighbours can be taken for two that take turns.",
    ),
    "loops.cycles": Requirement("design 3", "Longer cycles are seen when asked for, and the simplest reading is told."),
    "loops.only-the-run": Requirement(
        "design 3, armorer-core 8B, armorer-core 10",
        "Only the unbroken run that the current call continues counts, and no other call is refused for it.",
        divergence="Elsewhere equal calls anywhere in the window count, and every other call is refused for them.",
    ),
    "loops.owners": Requirement("design 3, armorer-core 2D, armorer-core 8B", "Each owner is judged by its own calls."),
    "loops.bounded": Requirement(
        "style 4, armorer-core 8B", "What is remembered is bounded, in calls of an owner and in owners."
    ),
    "loops.statistics": Requirement(
        "design 3, armorer-core 2L, armorer-core 8B", "A detector counts what it judged, warned of and refused."
    ),
    "loops.polling": Requirement(
        "field case 89, armorer-core 8B",
        "A tool that polls is left out, when its metadata or the settings say that it does.",
    ),
    "loops.settings": Requirement(
        "design 5, armorer-core 8B", "Settings that make no sense are refused with their place."
    ),
}
