"""Checks of what goes in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "guardrails.verdict": Requirement(
        "surroundings 3.9", "A detector answers whether it flags a value, as what, why, where, and how sure it is."
    ),
    "guardrails.length": Requirement(
        "surroundings 3.9, surroundings 12.5",
        "A value is flagged that has more characters, bytes, items or depth than is allowed, with both numbers.",
    ),
    "guardrails.topics": Requirement(
        "surroundings 3.9",
        "A denied topic is flagged for certain and before everything else, the lack of an allowed one with 0.7; "
        "a value without words never is.",
        divergence="Words are compared whole, where elsewhere a topic is found inside of other words.",
    ),
    "guardrails.classifier": Requirement(
        "surroundings 3.9", "Topics can be told by a function of the caller's, also an async one."
    ),
    "guardrails.injection": Requirement(
        "surroundings 3.9, surroundings 12.5",
        "Texts that try to give the model orders are found in several languages; each family adds to the confidence, up to 0.9.",
        divergence="A phrase that has no honest use counts 0.6, where elsewhere each counts 0.3.",
    ),
    "guardrails.benign": Requirement(
        "surroundings 3.9",
        "Ordinary texts are not flagged, Markdown rules and headings among them.",
        divergence="Elsewhere any line of three dashes or hashes counts as an attack.",
    ),
    "guardrails.disguise": Requirement(
        "surroundings 3.9",
        "Capitals, accents, look-alike letters, line breaks, invisible characters and tags hide nothing.",
    ),
    "guardrails.linear": Requirement("design 4, surroundings 3.9", "No text makes a pattern run away."),
    "guardrails.at-least": Requirement(
        "surroundings 3.9, surroundings 12.5",
        "A detector can be told to flag only from some confidence on; the confidence is kept.",
    ),
    "guardrails.pipeline": Requirement(
        "surroundings 3.9",
        "All detectors are asked and the surest one decides, the first of equals; or they are asked in turn up to one "
        "that flags.",
    ),
    "guardrails.failure": Requirement(
        "surroundings 3.9, surroundings 9",
        "A detector that raises, takes too long or answers something else flags the value, or lets it go on if so declared; "
        "both are told.",
        divergence="Elsewhere its failure is swallowed and the value goes on.",
    ),
    "guardrails.places": Requirement(
        "surroundings 3.9", "Arguments and all that a model reads of a result are inspected, names of members included."
    ),
    "guardrails.redacted": Requirement("surroundings 3.9", "No verdict quotes what was inspected."),
    "guardrails.options": Requirement("style 4", "Options that make no sense are refused with the field at fault."),
}
