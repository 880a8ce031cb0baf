"""Output that is not to be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "fencing.layout": Requirement(
        "surroundings 3.7",
        "A fence tells the model in plain words that what follows is data, names the tool, and stands on lines of its own.",
    ),
    "fencing.unguessable": Requirement(
        "surroundings 3.7, surroundings 9",
        "The delimiters of each fence hold 128 random bits of its own.",
        divergence="Elsewhere all fences have the same delimiters, which anybody can write.",
    ),
    "fencing.unforgeable": Requirement(
        "surroundings 3.7, surroundings 12.5",
        "Whatever looks like a delimiter, in whatever case, alphabet, escape or invisible characters, or holds the token, "
        "is taken apart, and nothing else is changed.",
        divergence="The bracket is replaced by a word, where elsewhere a backslash is put into the end delimiter only.",
    ),
    "fencing.once": Requirement(
        "design 12", "The same fence never encloses a text twice, and an enclosed text can be told from a forged one."
    ),
    "fencing.capped": Requirement(
        "design 16 (11), surroundings 3.7",
        "A fence is closed after truncation, too: what is in it is cut so that the sum fits the cap.",
    ),
    "fencing.content": Requirement(
        "surroundings 3.7",
        "Structured results are fenced like texts, all words of a result in one fence; pictures and sounds follow it.",
        divergence="Elsewhere a structured result without a member `content` is not fenced at all.",
    ),
    "fencing.value": Requirement(
        "surroundings 3.7, surroundings 12.5", "Fencing never changes the value that it is given."
    ),
    "fencing.errors": Requirement(
        "surroundings 3.7",
        "What a tool says in its error is fenced; what we say about the call, and calls that never ran, is not.",
    ),
    "fencing.stream": Requirement(
        "surroundings 3.7, surroundings 9",
        "A stream is fenced as a whole; a delimiter that is spread over chunks is found, and what waits is bounded.",
    ),
    "fencing.options": Requirement("surroundings 3.7", "A name or token that makes no delimiter is refused."),
}
