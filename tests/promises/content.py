"""Results as content for models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "content.text": Requirement(
        "field case 64, llm-core 1.7, llm-core 7.1", "Text that a tool returns reaches the model as it is."
    ),
    "content.never-empty": Requirement(
        "field case 67",
        "The content of a result is never empty, and no block of it is one that providers refuse as empty.",
    ),
    "content.numbers-exact": Requirement(
        "field case 47",
        "Integers keep every digit up to 100,000 of them, and floats the value; what cannot is an error.",
    ),
    "content.non-finite": Requirement(
        "design 13", "NaN and the infinities become their names as strings, never null and never invalid JSON."
    ),
    "content.documented-forms": Requirement(
        "field case 64, armorer-core 1Q",
        "Dates, durations, Decimal, UUID, Enum, Path, bytes and all the standard containers have the one form that docs/content.md gives.",
    ),
    "content.records": Requirement(
        "field case 64, armorer-core 1P",
        "Dataclasses, attrs classes, msgspec Structs, NamedTuples, pydantic models and exceptions become objects of their fields.",
    ),
    "content.sets-deterministic": Requirement(
        "field case 64", "Equal sets have the same text, whatever the hash seed."
    ),
    "content.keys": Requirement(
        "field case 64",
        "Keys that are no str become the text that their value would have; bytes and other keys are an error.",
    ),
    "content.key-clash": Requirement(
        "field case 64", "Two keys that become the same name are an error that names both."
    ),
    "content.unencodable": Requirement(
        "field case 64, llm-core 1.7, llm-core 8, armorer-core 1Q",
        "A value without a documented form is an error that says where, of which type, and what would be right; its repr is never shown.",
    ),
    "content.iterators-unread": Requirement(
        "field case 64", "Generators, iterators and coroutines are refused and left unread."
    ),
    "content.endless": Requirement(
        "design section 4", "A sequence or mapping without an end is an error after a million values, never a hang."
    ),
    "content.cycles": Requirement(
        "field case 64", "A container that holds itself is an error that says where, in every kind of container."
    ),
    "content.depth": Requirement("design 4", "Values nested too deeply are an error, never a RecursionError."),
    "content.shared": Requirement(
        "design 4",
        "A container in two places is written in both; sharing that would grow without end is an error.",
    ),
    "content.blame": Requirement(
        "design 7", "What a value's own code raises while it is read is an error with the place and the cause."
    ),
    "content.surrogates": Requirement(
        "field case 101", "Lone surrogates are escaped, so that every block and every JSON text can be encoded."
    ),
    "content.any-locale": Requirement(
        "field case 101", "encode_json(value, ascii=True) is valid JSON in any encoding."
    ),
    "content.bytes": Requirement(
        "field case 68",
        "Bytes of a PNG, JPEG, GIF or WebP picture become an image, other bytes a data URI, whatever they hold.",
    ),
    "content.media-in-place": Requirement(
        "field case 68", "Content blocks in a tuple or list stay in their place among the other items."
    ),
    "content.media-in-objects": Requirement(
        "field case 68",
        "What is bytes inside an object follows its JSON, which refers to pictures and sounds by number and to resources by "
        "name; none becomes base64 in a text.",
    ),
    "content.links-kept": Requirement(
        "field case 81",
        "Links, text, JSON and resources of text inside an object are written in their place, none is dropped.",
    ),
    "content.blocks-sound": Requirement(
        "design 7", "A content block that no provider would take is an error with the place."
    ),
    "content.size": Requirement("design 4", "content_size counts the bytes of content."),
    "content.total": Requirement(
        "design 15",
        "Every value of the documented types is shown unchanged as valid JSON, or refused with the documented error.",
    ),
    "content.shortcut-agrees": Requirement(
        "design 14", "The fast way for plain values writes the same text as the walk."
    ),
}
