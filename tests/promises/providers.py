"""The dialects of models' providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "providers.shapes": Requirement(
        "design section 13",
        "Each parser reads whole responses, choices or candidates, messages, lists of their parts and single parts, as "
        "decoded JSON and as the types of the official SDK.",
    ),
    "providers.message-error": Requirement(
        "design section 13",
        "A message of another shape is a MessageError that names the place, what stood there and what would be right.",
        divergence="Others answer an unknown shape with no calls, which hides the host's mistake.",
    ),
    "providers.no-calls": Requirement(
        "design section 13", "A message without calls is an empty turn, and its reply is no message at all."
    ),
    "providers.nothing-is-an-empty-object": Requirement(
        "field case 54", "No arguments, blank text and null all mean an empty object."
    ),
    "providers.malformed-never-runs": Requirement(
        "field case 55, surroundings 9",
        "A call whose arguments are not one whole JSON object keeps its place and its id, carries its defect, and has "
        "no arguments that could run.",
        divergence="Others turn malformed arguments into an empty object and run the tool.",
    ),
    "providers.truncated-refused": Requirement(
        "field case 56",
        "The last open call of a message that was cut off is refused as truncated even if it parses; earlier calls and "
        "calls with something after them are not affected. A call of another type says that it may be cut short.",
    ),
    "providers.declined": Requirement(
        "design section 13",
        "Of a message that its model declined to finish no call runs. Where another model took over within it, nothing "
        "runs, is answered or is sent back of the calls and the thinking before that place; what came behind it counts.",
    ),
    "providers.hostile-json": Requirement(
        "field case 48",
        "Deep, huge, duplicated or non-finite JSON in arguments is a malformed call, never an exception.",
    ),
    "providers.duplicate-ids": Requirement(
        "field case 59", "Calls that share an id get ids of their own here, and each answer goes out under the wire id."
    ),
    "providers.missing-ids": Requirement(
        "field case 59", "A call without an id gets one, which is used on the way back and listed for the history."
    ),
    "providers.every-call-answered": Requirement(
        "field case 61",
        "A reply answers each call exactly once: a missing, repeated or foreign result is an error that names it, and "
        "nothing is formatted.",
    ),
    "providers.doors": Requirement(
        "design section 4",
        "What a host passes by mistake (another provider's manifest, a text for a list, a wrong type) is an error that "
        "names the option and what would be right, never taken in silence.",
    ),
    "providers.call-order": Requirement(
        "field case 63", "Answers stand in the order of the calls, whatever the order of the results."
    ),
    "providers.never-empty": Requirement(
        "field case 67, llm-core 2.5", "Every answer has text or media, under the right id."
    ),
    "providers.media": Requirement(
        "field case 68",
        "Pictures go where each provider takes them: inside the result, or labelled by call in one message after all "
        "results; never as base64 in a text.",
    ),
    "providers.media-limits": Requirement(
        "field case 68", "A picture that the provider would refuse for its type or size is replaced by a note."
    ),
    "providers.no-dropped-content": Requirement(
        "field case 81", "Links and sounds are described in words where they cannot be sent."
    ),
    "providers.honest-words": Requirement(
        "field case 22; design section 7",
        "The text says apart whether the call ran, what the world may have seen and whether it may be sent again.",
        divergence="Others give the model the bare error message.",
    ),
    "providers.words-say-where": Requirement(
        "design section 7", "The text carries the message, and each validation issue with its path."
    ),
    "providers.other-calls": Requirement(
        "design section 13", "Calls of other types are left alone and listed with their type, id, name and place."
    ),
    "providers.names": Requirement(
        "design section 13", "Names pass as they come, or are mapped back; the provider's own name goes out again."
    ),
    "providers.echo": Requirement(
        "design section 13", "What an answer must repeat (a program that called, a toolset) is repeated."
    ),
    "providers.sdk-accepts": Requirement(
        "design section 15", "Every reply is accepted, without loss, by the parameter types of the official SDK."
    ),
    "providers.sendable": Requirement(
        "design section 13",
        "Whatever characters a model wrote, the next request can be sent: a character that was cut between two deltas is "
        "put together, and half of one is escaped in the history, though the tool gets it as it came.",
    ),
    "providers.any-json": Requirement(
        "design section 15", "Any JSON given to any parser is a turn or a MessageError, and every turn can be answered."
    ),
    "providers.foreign-form": Requirement(
        "design section 13",
        "A message that has calls in the form of another provider only is refused: it never counts as one without calls.",
    ),
    "providers.detection": Requirement(
        "design section 13", "Whose message one is can be told by its shape; a shape that fits several is None."
    ),
    "providers.gemini-exact": Requirement(
        "field case 47", "A structured result that Gemini would round goes out as text instead."
    ),
    "providers.round-trip": Requirement(
        "design section 13; field cases 22 and 61",
        "The calls of a turn run under a supervisor, broken ones never run, and each one's true end reaches the model.",
    ),
    "providers.guide-runs": Requirement("design section 4", "The guide to providers runs as it stands."),
}
