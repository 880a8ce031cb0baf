"""Results that are cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "truncation.never-over": Requirement(
        "field case 97",
        "A truncated text is never larger than its cap in bytes, characters or lines, the marker included, whatever the text.",
        divergence="Elsewhere the marker of a stream comes on top of its limit.",
    ),
    "truncation.exact-count": Requirement(
        "field case 97", "What is kept and what is said to be left out are exactly the whole."
    ),
    "truncation.whole-characters": Requirement(
        "field case 97, surroundings 3.1",
        "No cut splits an UTF-8 sequence, a surrogate pair, a letter from its marks, an emoji, a flag or a line end.",
    ),
    "truncation.one-long-line": Requirement(
        "field case 97", "A text of one very long line keeps its beginning and its end."
    ),
    "truncation.lines": Requirement("field case 97", "A cap in lines keeps whole lines of both ends."),
    "truncation.marker": Requirement(
        "surroundings 3.1, surroundings 12.5",
        "A text that fits is unchanged; one that does not ends in its marker, which is left out where it has no room.",
    ),
    "truncation.safe-slice": Requirement("surroundings 3.1", "A slice of a text never ends in half a character."),
    "truncation.head-and-tail": Requirement(
        "surroundings 3.1, surroundings 12.5",
        "Both ends of a text can be had without a marker, with the sizes, and never overlap.",
    ),
    "truncation.blobs": Requirement(
        "surroundings 3.1, surroundings 9",
        "Base64, as a data URI with any parameters or as a long run, becomes a note of its kind and size; prose does not.",
    ),
    "truncation.json": Requirement(
        "field case 97, surroundings 3.6",
        "JSON that is too long stays valid JSON of the same kind; lists and objects keep both ends and say how many are missing.",
        divergence="Elsewhere it is cut like text, and is JSON no longer.",
    ),
    "truncation.content": Requirement(
        "surroundings 3.1", "All the words of a result share one cap, evenly, and no block is left empty."
    ),
    "truncation.media": Requirement(
        "field case 68", "Pictures and sounds beyond their bound, and base64 in texts, become a note of kind and size."
    ),
    "truncation.value": Requirement(
        "surroundings 3.6",
        "A value that is too long keeps its kind; one that fits is the same object, and none is changed.",
    ),
    "truncation.result": Requirement(
        "surroundings 3.6",
        "Of a result only what a model reads is cut; the value stays what the tool returned.",
        divergence="Elsewhere the value itself is replaced, so the host loses it, too.",
    ),
    "truncation.error": Requirement(
        "surroundings 3.1",
        "Errors have a cap of their own, for all that is said about them; what the call did is always said.",
        divergence="2,000 bytes in all, where elsewhere 400 characters of the message keep only its beginning.",
    ),
    "truncation.spill": Requirement(
        "field case 97",
        "The whole text can stay in a file that the result names: private, whole or not at all, under a name that cannot "
        "be guessed, and through no link.",
    ),
    "truncation.stream": Requirement(
        "surroundings 3.1, surroundings 12.5",
        "A stream is cut while it flows, in bounded memory; one that fits is unchanged.",
    ),
    "truncation.options": Requirement("style 4", "A cap that makes no sense is refused with the field at fault."),
}
