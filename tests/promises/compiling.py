"""Contracts in the dialects of models' providers, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "compiling.any-schema": Requirement(
        "design section 13",
        "Any legal JSON Schema 2020-12 of an object compiles for every dialect, or is set aside with where and why; the "
        "contract's own schema is never changed.",
    ),
    "compiling.legal": Requirement(
        "design section 13; surroundings 9",
        "What is written keeps to each provider's published rules, whatever the contract says.",
    ),
    "compiling.way-back": Requirement(
        "design section 13",
        "What is legal by the contract can be written in the dialect unless a loss says that it was narrowed, and is "
        "read back as exactly the same value.",
    ),
    "compiling.reading-is-total": Requirement(
        "design section 13",
        "Arguments that do not have the form that was asked for stay as they are, and the tool's own validation decides.",
    ),
    "compiling.losses": Requirement(
        "design section 13", "Each keyword that could not be said is named with where it stands and what became of it."
    ),
    "compiling.keyword-names": Requirement(
        "design section 13", "A member whose name looks like a keyword is a member like any other."
    ),
    "compiling.strict": Requirement(
        "design section 13; field case 35; surroundings 9",
        "A strict tool is really strict: closed, every member required, what may be left out null instead; one that "
        "can't be is offered without, with the reason.",
    ),
    "compiling.described-references": Requirement(
        "field case 36", "A reference with a description beside it keeps both what it points at and the text."
    ),
    "compiling.set-aside": Requirement(
        "field case 37", "One tool that a provider can't be told is set aside with its place; the others are offered."
    ),
    "compiling.references": Requirement(
        "field case 38; surroundings 9",
        "References are followed, into properties and through escapes, too; one that never ends is told to a stated "
        "depth, in bounded time and size.",
    ),
    "compiling.null-and-const": Requirement(
        "field case 39", "Null beside a type, and a constant, are said in each dialect's own way."
    ),
    "compiling.root-unions": Requirement(
        "field case 41", "A union at the root is offered in a shape that each provider takes, and stays enforced here."
    ),
    "compiling.incomplete": Requirement(
        "field case 42", "An array without items and an empty schema get the least committal legal form, with a note."
    ),
    "compiling.choices": Requirement(
        "design section 16",
        "Choices that are no text are written as text where a provider lists only texts, and mapped back; one and "
        "'1' stay different.",
    ),
    "compiling.budget": Requirement(
        "design section 13", "No request asks for more strict tools than the provider enforces at once."
    ),
    "compiling.kept": Requirement(
        "design section 14",
        "A definition is compiled once for each dialect; what is kept is bounded, and nobody can change it.",
    ),
    "compiling.bfcl": Requirement(
        "design section 15",
        "Every definition of the public function-calling data compiles for every dialect and is legal there, and every "
        "argument set that fits makes the round trip unchanged.",
    ),
    "offering.names": Requirement(
        "design section 13; surroundings 9, armorer-core 1B",
        "Names are legal for every provider, one to one, the same in every process and whichever tools stand beside.",
    ),
    "offering.doors": Requirement(
        "design section 4; armorer-core 2E",
        "A toolbox makes the manifest of each provider, and loads what does it only then.",
    ),
    "offering.sdk-accepts": Requirement(
        "design section 15",
        "What is offered, and which tools are to be called, is accepted without loss by the official SDKs' own types "
        "and sent by their clients as it is.",
    ),
    "offering.available": Requirement(
        "design section 13; armorer-core 2E",
        "Only what can be used is offered: what gates refuse never, and what says itself whether it is available only "
        "when it was asked.",
    ),
    "offering.parsed": Requirement(
        "design section 13", "A parser that is given the manifest answers calls with our names and what was meant."
    ),
    "offering.choice": Requirement(
        "design section 13", "Which tools are to be called, and whether several at once, is said in each form."
    ),
}
