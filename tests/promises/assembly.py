"""Streams of a model's message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "assembly.same-turn": Requirement(
        "design section 13",
        "However a message is cut into the events of a stream, they assemble to the turn that the parser of the whole "
        "message gives: calls, ids, names, arguments, defects and reply.",
    ),
    "assembly.manifest": Requirement(
        "design section 13", "A stream is read by the manifest that the model was offered, as a whole message is."
    ),
    "assembly.interleaved": Requirement(
        "design section 16, item 2", "Calls whose fragments are mixed with each other are told apart."
    ),
    "assembly.matching": Requirement(
        "design section 16, item 2",
        "A fragment is matched by its id first, then by its index, then by its position; missing, repeated, wrong and "
        "null ids, indices and names that have one reading only are read.",
    ),
    "assembly.undecidable-refused": Requirement(
        "design section 16, item 2",
        "A fragment that could belong to several calls, or whose parts contradict each other, refuses each of them.",
        divergence="Others append it to one of them and run that.",
    ),
    "assembly.disordered": Requirement(
        "design section 13",
        "Events that come twice or in another order than they were sent refuse the calls that may lack one of them, "
        "wherever the wire shows it: a piece before its call or after its end, numbers that go back, a call's id twice.",
    ),
    "assembly.other-kinds": Requirement(
        "design section 13",
        "No kind of event, block, item or part that an official SDK knows is an error, or costs a call, or is one; and what "
        "a history needs of it is in the message.",
    ),
    "assembly.seed": Requirement(
        "field case 57",
        "What a call begins with is replaced by its deltas, and stands when there are none: an empty object included.",
    ),
    "assembly.sent-again": Requirement(
        "design section 13",
        "Arguments that come whole once more are compared with what came before; a difference refuses the call.",
    ),
    "assembly.broken-off": Requirement(
        "field case 56",
        "When a stream ends before its message does, or the model was cut off, every call that may have more to it is "
        "refused as truncated; a call runs only when it is certain that it is complete.",
    ),
    "assembly.never-uncertain": Requirement(
        "design section 15",
        "Whatever events come in whatever order, nothing is raised but MessageError and StreamLimitError, and what runs "
        "was said by the events as one whole object.",
    ),
    "assembly.limits": Requirement(
        "design section 9",
        "What is kept of a stream is bounded: too long arguments refuse their call, too many calls or bytes are a "
        "StreamLimitError that names the limit.",
    ),
    "assembly.news": Requirement(
        "design section 13",
        "Each event answers what is new: a call began, its arguments grew, it was closed or refused.",
    ),
    "assembly.preview": Requirement(
        "design section 13",
        "Arguments can be shown while they come: the longest prefix that is a value, never a number, a literal or a key "
        "that may still change, whatever the text, in time linear in all that was fed.",
    ),
    "assembly.message": Requirement(
        "field case 55",
        "An assembler gives the message to keep as history, which the provider's own types accept and whose calls are "
        "legal even where the model's were not.",
    ),
    "assembly.foreign-events": Requirement(
        "design section 13", "Events of another provider, and shapes that are none, are a MessageError with the place."
    ),
    "assembly.one-message": Requirement(
        "design section 13",
        "An assembler puts one message together: after its turn was asked for, feeding it is an error that says to make "
        "a new one.",
    ),
    "assembly.sdk-streams": Requirement(
        "design section 15",
        "The official SDKs' own streaming clients, fed by a server that speaks the wire format, give events that assemble "
        "to the same turn, and the reply goes back through the same client and arrives whole.",
    ),
    "assembly.guide": Requirement("design section 4", "The page about provider streams runs as it stands."),
}
