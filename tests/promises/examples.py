"""What the examples show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "examples.patterns": Requirement(
        "design section 4, surroundings 8",
        "Each pattern of the documentation is a program that shows what it promises.",
    ),
    "examples.bfcl.facts": Requirement(
        "design section 15",
        "The public function-calling data set is read as it is: 1,677 definitions under 769 names, 1,747 expected "
        "calls, each with the first acceptable values and without what may be left out.",
    ),
    "examples.bfcl.dialect": Requirement(
        "design section 15",
        "The data's own type language is translated to JSON Schema without a guess: what is unknown, or contradicts "
        "itself, is refused with its place.",
    ),
    "examples.bfcl.imports": Requirement("design section 15", "Every definition of the data becomes a tool."),
    "examples.bfcl.runs": Requirement(
        "design section 15",
        "Every expected call of the data whose values satisfy its own schema runs, with exactly what was sent and "
        "legal defaults.",
    ),
    "examples.bfcl.refusals-real": Requirement(
        "design section 15",
        "What is refused violates its schema, and what runs does not, as other readers of the schema say, too.",
    ),
    "examples.bfcl.explained": Requirement(
        "design section 15", "Whatever was not imported or did not run is explained in a line."
    ),
    "examples.bfcl.missing": Requirement(
        "design section 15", "Data that is missing or is not what it was ends in an error that says what to do."
    ),
    "examples.transcript.answered": Requirement(
        "design section 13", "Each call of a transcript is answered once, in call order, in the provider's form."
    ),
    "examples.transcript.refused": Requirement(
        "design section 3",
        "A call outside of the root, of an unknown tool, or with wrong arguments is refused; its neighbours run.",
    ),
    "examples.transcript.deadline": Requirement(
        "design section 8", "A deadline ends the calls that are still running, and says so to the model."
    ),
    "examples.transcript.stream": Requirement(
        "design section 10", "The chunks of a search are shown as they come, and its result is their whole."
    ),
    "examples.transcript.drain": Requirement(
        "design section 8", "A drain lets the calls that run end, refuses what comes later, and leaves nothing behind."
    ),
    "examples.transcript.live": Requirement(
        "design section 6", "Whoever watches sees the states of each call while it runs, up to the final one."
    ),
    "examples.background": Requirement(
        "design section 4",
        "A host tells its model of each background call that has ended, once, while the model goes on with other things.",
    ),
    "examples.demo.command": Requirement(
        "design section 15", "The demo is one command whose exit code says whether all went as promised."
    ),
    "examples.demo.plain": Requirement(
        "design section 13",
        "Without a terminal the demo prints plain text, in any locale, and a closed pipe is no traceback.",
    ),
    "examples.approvals.at-once": Requirement(
        "design 12", "A person agrees to a transfer, changes it or refuses it while the call waits."
    ),
    "examples.approvals.later": Requirement(
        "design 12",
        "Transfers that wait are kept in a file and resumed by another supervisor, each once, and only as they were shown.",
    ),
    "examples.agent-host": Requirement(
        "design 4 and 8",
        "Agents of one host share its limits in turns, one whose user leaves leaves nothing behind, and in the evening what "
        "was begun ends.",
    ),
    "examples.service": Requirement(
        "design 8 and 13",
        "The first signal drains, the second aborts; the report on stdout names whatever nobody knows, and the exit code "
        "says so.",
    ),
    "examples.chat": Requirement(
        "design 12", "In the chat a payment runs as the person agreed to it, with their arguments, or not at all."
    ),
    "examples.dashboard": Requirement(
        "design 6",
        "The page gets the newest snapshot of each execution as it changes, on loopback, until its host ends.",
    ),
    "examples.web-service": Requirement(
        "design 13",
        "The web service on asyncio answers calls and streams, stops the tool of a client that went away, and drains when "
        "it is told to end.",
    ),
    "examples.shared-state": Requirement(
        "design 10 and 12",
        "A host finds out what another one left that was killed: what was done is told, what was not is done, what nobody "
        "knows is decided by a person, and an approval counts once.",
    ),
    "examples.live-view": Requirement(
        "design 2", "The example of a host to look at shows executions of every kind, and stuck ones."
    ),
}
