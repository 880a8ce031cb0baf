"""Histories that a provider takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "history.faults": Requirement(
        "field case 61; design section 16, item 6",
        "A history is checked by its provider's rules: each call exactly one result, in its place, in the order of the "
        "calls, under a legal id; each fault says its kind, its place and what is wrong.",
    ),
    "history.repair": Requirement(
        "field case 61",
        "A repaired history is legal, repairing it again changes nothing, and what was done is listed; the history that "
        "was given is never changed.",
    ),
    "history.legal-untouched": Requirement(
        "field case 63", "A legal history has no faults, and its repair has the very same messages."
    ),
    "history.missing": Requirement(
        "field case 61",
        "A missing result is added by what is known: the result that the host has, 'did not run' where that is certain, "
        "else that nobody knows whether it ran.",
        divergence="Others write that the call was cancelled, or drop the call, whatever happened.",
    ),
    "history.known": Requirement(
        "design section 13",
        "What the host knows of a call is either told to the model or refused: an id that no call has, or several, is an "
        "error that names the ids that there are.",
    ),
    "history.arguments": Requirement(
        "field case 55", "A call whose arguments are no JSON object is legal after repair, for every provider."
    ),
    "history.ids": Requirement(
        "field case 60",
        "An id that the provider refuses gets a short form, the same in call and result, in every process, and two ids "
        "stay two.",
    ),
    "history.continued": Requirement(
        "design section 13",
        "A message and its results are added to a history in one step, which is legal afterwards or an error that names "
        "the fault.",
    ),
    "history.collected": Requirement(
        "design section 13",
        "Executions and streams that still run are waited for side by side, and answered in the order of the calls.",
    ),
    "history.any-json": Requirement(
        "design section 15",
        "Any JSON is a checked history or a MessageError, and any history can be repaired. Calls of several providers in "
        "one history are an error also where it is said whose it is.",
    ),
    "history.guide": Requirement("design section 4", "The page about provider histories runs as it stands."),
    "history.examples": Requirement(
        "design section 13",
        "For each provider an example keeps a plain list as history through a whole tool loop, with one command and no "
        "network, and the list is legal after every step.",
    ),
}
