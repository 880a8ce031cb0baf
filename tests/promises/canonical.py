"""Canonical JSON and digests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "canonical.hostile-text": Requirement(
        "field case 48",
        "Nesting, digits and size have limits, and any text at all is a value or a JsonError, never another error.",
    ),
    "canonical.size-first": Requirement(
        "field case 48", "A text that is too large is refused before it is decoded or looked into."
    ),
    "canonical.strict-text": Requirement(
        "field case 48",
        "Duplicate keys, NaN, overflowing numbers, trailing text, a byte order mark and all else that two readers could "
        "understand differently are refused, each with its own code.",
    ),
    "canonical.says-where": Requirement(
        "design section 5, armorer-core 1G",
        "A refusal carries the path, names line and column or the byte offset, and says what would be right.",
    ),
    "canonical.truncated-text": Requirement(
        "field case 55", "A text that was cut off is told apart from one that is wrong: unexpected-end."
    ),
    "canonical.no-second-reading": Requirement(
        "field case 45", "A string that looks like JSON stays a string: no text is decoded twice."
    ),
    "canonical.exact-integers": Requirement(
        "field case 47", "Integers keep every digit when they are read and when they are written in exact mode."
    ),
    "canonical.surrogates-kept": Requirement(
        "design section 16.10", "A lone surrogate is read as it stands; interop refuses to write it, exact escapes it."
    ),
    "canonical.like-everyone": Requirement(
        "design section 13", "What is read equals what the standard library reads, where that is strict enough."
    ),
    "canonical.interop-vectors": Requirement(
        "design section 16.10, llm-core 1.3, llm-core 2.2, armorer-core 1G",
        "Interop text is RFC 8785 byte for byte, and so are its digests and those of schemas.",
    ),
    "canonical.interop-refusals": Requirement(
        "design section 16.10, armorer-core 1G",
        "Interop refuses what another reader could take otherwise, with the code and the path of the shared vectors.",
        divergence="An accessor, a hidden property and a sparse array have no counterpart in Python. An object with a "
        "property is refused as any object is, at its own place; the code is non-plain-object.",
    ),
    "canonical.exact-mode": Requirement(
        "design section 16.10",
        "Exact mode writes every JSON value, also integers of any size, large floats and lone surrogates; where interop "
        "accepts a value, both give one text.",
    ),
    "canonical.one-text": Requirement(
        "design section 16.10, surroundings 2.9, surroundings 9, armorer-core 1G",
        "Equal values have one text whatever the order of their keys and the spelling of their numbers, and different "
        "texts are different values.",
    ),
    "canonical.round-trip": Requirement(
        "design section 16.10", "Reading a canonical text gives the value back, and writing that gives the same text."
    ),
    "canonical.deep-values": Requirement(
        "field case 48", "A value that is too deep or holds itself is refused with a code, on any stack."
    ),
    "canonical.plain-values": Requirement(
        "design section 16.10",
        "Interop takes exact types only; exact takes subclasses and other mappings by their plain value.",
    ),
    "canonical.frozen-copies": Requirement(
        "design section 5", "A frozen JSON value shares nothing with what it was made of, and nobody can change it."
    ),
}
