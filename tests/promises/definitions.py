"""What a tool is said to be, and how its classes of effect are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "definitions.plurals": Requirement("style 4", "Numbers of things are told in the right number, one or many."),
    "definitions.effect.read-only-bare": Requirement(
        "design 5, llm-core 1.2, llm-core 7.1",
        "`read-only` may be declared as a bare word.",
    ),
    "definitions.effect.targets-stated": Requirement(
        "design 5, llm-core 1.2, llm-core 7.1",
        "Every other effect class states at least one target, or the definition is refused.",
    ),
    "definitions.effect.checked": Requirement(
        "design 5, llm-core 1.2, llm-core 2.1, llm-core 8",
        "An unknown class or target kind, an unknown key and an id that is no printable ASCII are refused "
        "with the place.",
        divergence=(
            "Elsewhere unknown classes and kinds pass and unknown keys are dropped; a typing error in a safety "
            "declaration must not pass."
        ),
    ),
    "definitions.effect.order": Requirement(
        "design 12, surroundings 9, llm-core 1.2, llm-core 8",
        "Targets stand in order of kind and id, by code unit, and one that is listed twice stays twice.",
        divergence=(
            "Elsewhere ids are sorted by the collation of the machine's locale; code units are the same everywhere."
        ),
    ),
    "definitions.classify.one-reading": Requirement(
        "design 5, surroundings 9, armorer-core 2J, armorer-core 10",
        "Effect, risk, metadata flags and tags are read by one classifier into an effect class and a tier.",
        divergence="Elsewhere there are two classifiers, and they disagree.",
    ),
    "definitions.classify.stricter": Requirement(
        "design 5, surroundings 9, armorer-core 1D",
        "Where declarations contradict each other the stricter reading stands, and the contradiction is shown.",
        divergence="Elsewhere an explicit risk overrides the metadata's flags, also to say less.",
    ),
    "definitions.classify.unclassified": Requirement(
        "design 5, armorer-core 2J, armorer-core 10",
        "A tool about which nobody said anything counts as `external-write` and is known to be unclassified.",
        divergence="Elsewhere such a tool passes as harmless in read-only mode.",
    ),
    "definitions.risk.flags": Requirement(
        "design 5, armorer-core 1D",
        "Flags in the metadata count as risk in either spelling; one that is neither true nor false is refused.",
    ),
    "definitions.risk.tags": Requirement(
        "design 5, surroundings 2.11, armorer-core 1C",
        "Risk adds its tags behind the user's, without repeating them.",
        divergence="`readonly` is only added when the tool counts as read-only.",
    ),
    "definitions.semantics": Requirement(
        "design 5, llm-core 1.1, llm-core 2.1, llm-core 7.1, llm-core 8",
        "The four semantics have the words of action documents, with defaults, and refuse others.",
        divergence=(
            "Idempotency is `not-supported` by default for every class: `required` would refuse each call without "
            "a key, so somebody has to ask for it."
        ),
    ),
    "definitions.identity.text": Requirement(
        "design 5, surroundings 2.11, armorer-core 1B",
        "An id is written `namespace:name@version`, percent-encoded, and read back to the same parts.",
    ),
    "definitions.identity.any-name": Requirement(
        "design 5, armorer-core 1B",
        "Any text that is not blank is a legal name, namespace or version; surrounding space is trimmed.",
    ),
    "definitions.tags": Requirement(
        "design 5, surroundings 2.11, armorer-core 1C, armorer-core 11",
        "Tags are trimmed, kebab-case and without repetitions; anything else is refused.",
        divergence="Elsewhere tags that are no list are ignored.",
    ),
    "definitions.lifecycle": Requirement(
        "design 5, armorer-core 1E",
        "A tool is deprecated when its lifecycle says so by True or by text, and names its replacement by id.",
    ),
    "definitions.portable": Requirement(
        "design 5, surroundings 2.9, llm-core 1.3, llm-core 2.1, llm-core 7.1, armorer-core 1B, armorer-core 1H",
        "A definition is a value that is written as JSON in full, and what it was made of can be changed "
        "without changing it.",
    ),
    "definitions.json-checked": Requirement(
        "design 5, surroundings 2.9, armorer-core 1A, armorer-core 1G",
        "Metadata and examples must be JSON; what is not is refused at definition, with its path.",
    ),
    "definitions.digest": Requirement(
        "design 5, surroundings 2.9, llm-core 2.2",
        "Equal definitions have equal digests, any difference in content another one, and large numbers in a "
        "schema are no obstacle.",
    ),
    "definitions.tool.kinds": Requirement(
        "design 5, field case 29",
        "Async, plain, generator and async generator functions are told apart through partials, methods, "
        "callable objects and wrapping decorators; where only the call can show it, the function counts as "
        "plain.",
    ),
    "definitions.tool.description": Requirement(
        "design 5, field case 33",
        "Name and description come from the function and its docstring unless they are declared.",
    ),
    "definitions.tool.constraints": Requirement(
        "field case 33",
        "What an annotation says about a parameter is in the schema and is enforced; it comes before the docstring.",
    ),
    "definitions.tool.context": Requirement(
        "design 5, field case 31",
        "A context parameter is found under postponed annotations, filled in, hidden from the model and never "
        "accepted from it.",
    ),
    "definitions.tool.context-kind": Requirement(
        "design 5",
        "An async function that asks for the blocking context is refused.",
    ),
    "definitions.tool.wrong-declaration": Requirement(
        "design 5, llm-core 1.1, armorer-core 1A, armorer-core 1O, armorer-core 11",
        "A wrong declaration raises at definition, with the tool's name, the field and what would be right.",
        divergence="Elsewhere a concurrency of 0 or of text is ignored.",
    ),
    "definitions.hostile": Requirement(
        "design section 5",
        "Whatever is given as a declaration, a function, a type or a default, what is wrong with it is a DefinitionError "
        "that names the field, in few words and in bounded time.",
    ),
    "definitions.tool.placement": Requirement(
        "design 5, armorer-core 1P",
        "A plain function runs in a thread unless it is declared to run in the task; an async one can't be "
        "put into a thread.",
    ),
    "definitions.tool.declarations": Requirement(
        "design 5, armorer-core 1A",
        "What is declared reaches the tool; a tool that declares nothing has no limits, no grace and no digests.",
    ),
    "definitions.tool.function": Requirement(
        "design 5, armorer-core 1J",
        "A tool shows the function that it was made of, looks like it, and says where that was written.",
    ),
    "definitions.tool.generator-options": Requirement(
        "design 10",
        "A reducer and a buffer are only for generators.",
    ),
    "definitions.tool.presets": Requirement(
        "design 5",
        "`tool(...)` is a decorator that more declarations can be added to.",
    ),
    "definitions.tool.methods": Requirement(
        "design 5",
        "A bound method is a tool; a method without its object is refused with the way to do it.",
    ),
    "definitions.tool.define": Requirement(
        "design 17, llm-core 1.1, llm-core 7.1, armorer-core 1A, armorer-core 1F, armorer-core 11",
        "`define_tool` makes a tool of a class, a JSON Schema, a pair of schema and validator, or the "
        "executor's own signature.",
    ),
    "definitions.tool.call": Requirement(
        "design 5, llm-core 1.7, llm-core 8, armorer-core 1I, armorer-core 1J, armorer-core 10, armorer-core 11",
        "Calling a tool validates, runs and returns the value, and raises with the result when it ends "
        "otherwise; `call` returns the result.",
    ),
    "definitions.tool.call-arguments": Requirement(
        "design 5, armorer-core 1J",
        "A direct call takes positional and keyword arguments as the function does, and values that have "
        "their type already.",
    ),
    "definitions.tool.is-tool": Requirement(
        "design 5, armorer-core 1R, armorer-core 2C, armorer-core 11",
        "`is_tool` knows a tool by what it is, not by what it looks like.",
        divergence="Elsewhere the shape decides.",
    ),
    "definitions.tool.types": Requirement(
        "design 5",
        "Type checkers see what a tool takes and returns, without a context that comes first.",
    ),
}
