"""The manifest of promised behaviours: each has an id, a source and at least one test that names it.

A test says ``@requirement("room.behaviour")``. ``test_requirements.py`` holds both directions: no promise without a
test, no test that names an unknown promise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec
import pytest

F = TypeVar("F", bound=Callable[..., object])


class Requirement(msgspec.Struct, frozen=True):
    """One promise.

    Args:
        source: Where it comes from: a section of the design, or ``field case N``.
        behaviour: What a user may rely on, as a sentence.
        divergence: How and why it differs from the systems that we learned from, when it does.
    """

    source: str
    behaviour: str
    divergence: str | None = None


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test as proof of the promises *ids*."""
    unknown = [name for name in ids if name not in REQUIREMENTS]
    if unknown:
        raise LookupError(f"no such requirement: {', '.join(unknown)}")
    return pytest.mark.requirement(*ids)


_DEFINITIONS: Final[Mapping[str, Requirement]] = {
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

_DECLARING: Final[Mapping[str, Requirement]] = {
    "definitions.builder.steps": Requirement(
        "design 17, armorer-core 1A",
        "A tool can be said in steps; each answers a new builder, there is one for every declaration, and the tool is the "
        "one that `define_tool` makes of the same parts.",
    ),
    "definitions.builder.missing": Requirement(
        "design 17",
        "A builder that cannot build says which step is missing or wrong, with the tool's name.",
    ),
    "definitions.executable.joined": Requirement(
        "design 5, llm-core 1.4, llm-core 7.1",
        "A definition is joined with a validator and an executor into a tool that has exactly this definition.",
        divergence="The tool shows its parts: nothing in it is secret, and an executor does not run by being seen.",
    ),
    "definitions.executable.agrees": Requirement(
        "design 5, llm-core 2.4",
        "A contract over another schema than the definition's is refused; without a validator the definition's own schema "
        "decides.",
    ),
    "definitions.executable.identity": Requirement(
        "design 5, llm-core 1.4, llm-core 2.4, llm-core 7.1",
        "A tool is known by its identity: a copy is the tool itself, an equal one is another tool, and it is not pickled.",
        divergence="There is no registry: elsewhere whatever was spread or cloned is a look-alike that is refused when used.",
    ),
    "definitions.lazy.once": Requirement(
        "design 5, surroundings 3.2, armorer-core 1I",
        "A lazy function is loaded by the first call, after its arguments were validated, and once; calls that come "
        "meanwhile wait for the same load.",
    ),
    "definitions.lazy.retry": Requirement(
        "design 7, armorer-core 1I",
        "A load that fails ends the calls that wait for it with effect `none`, and the next call tries again.",
        divergence="Elsewhere an awaitable that was rejected stays rejected.",
    ),
    "definitions.lazy.cancelled": Requirement(
        "design 8, armorer-core 1I, armorer-core 1P, armorer-core 11",
        "A cancelled load takes nobody with it: one of those who waited for it loads anew.",
    ),
    "definitions.lazy.fits": Requirement(
        "design 5, armorer-core 1A, armorer-core 1I",
        "What is loaded must be a function of the declared kind; a lazy tool says its name and its input, and runs in no "
        "worker process.",
    ),
    "definitions.with-context": Requirement(
        "design 5, armorer-core 1K, armorer-core 10",
        "Values that are bound to a tool stand in `ctx.context` over those of the toolbox, and change nothing else.",
        divergence="Elsewhere they may take the place of members of the context itself.",
    ),
    "definitions.output.declared": Requirement(
        "field case 53",
        "What a tool promises to give is a type or a JSON Schema, stands in its definition, and can be taken from the "
        "return annotation when that is asked for.",
        divergence="Elsewhere outputs are not described.",
    ),
    "definitions.output.checked": Requirement(
        "field case 53",
        "A value that is not what was promised ends the call as `internal` `OUTPUT_INVALID` with issues, and its effect "
        "stays `completed`.",
        divergence="Elsewhere outputs are not checked.",
    ),
    "definitions.output.kept": Requirement(
        "design 12",
        "A value that keeps its promise reaches the caller as it is; written down, it is read back as an equal one.",
    ),
    "definitions.digests": Requirement(
        "design 16.10, armorer-core 1G, armorer-core 1M, armorer-core 10",
        "Equal arguments and equal values have equal digests, different ones different digests: types, nesting and the "
        "borders of chunks count, the order of keys and the spelling of numbers do not.",
        divergence='Elsewhere `1` and `"1"` collide, and so do chunks that read alike when they are joined.',
    ),
    "definitions.digests.declared": Requirement(
        "design 5, armorer-core 1M, armorer-core 11",
        "A tool declares of which side its results carry digests; a side that is not said is on.",
    ),
    "definitions.from-json": Requirement(
        "design 5, surroundings 2.9, surroundings 9",
        "A definition that was written as JSON is read back equal, with the same digest.",
        divergence="Elsewhere what was written cannot be read back.",
    ),
    "definitions.from-json.refused": Requirement(
        "design 5",
        "A document with something missing, unknown, wrong or contradictory is refused, with the tool and the place.",
    ),
    "definitions.wire": Requirement(
        "design 12, llm-core 2.3, armorer-core 1J, armorer-core 2F, armorer-core 3A, armorer-core 11",
        "Calls and results are written as JSON and read back equal; what JSON cannot say is refused with its place.",
    ),
    "definitions.metadata-function": Requirement(
        "design 5, armorer-core 1A",
        "Metadata may be a function that answers it at definition; an async one is refused with what to do instead.",
        divergence="Elsewhere a tool with an async one is itself awaited.",
    ),
    "definitions.input-fields": Requirement(
        "design 5, armorer-core 1F",
        "A mapping of names to types is an input; the function gets a dict.",
    ),
    "definitions.tool.text": Requirement(
        "design 5, armorer-core 1H",
        "The text of a tool is its name and its description.",
    ),
    "definitions.import": Requirement(
        "design 14",
        "Importing the package loads none of the readers of contracts, docstrings, definitions and bad JSON.",
    ),
    "contracts.parser": Requirement(
        "design 5, surroundings 2.9, armorer-core 1F",
        "A validator of another library is taken with a JSON Schema that says what it accepts; what it answers reaches "
        "the function, and what it raises against the arguments is a refusal.",
    ),
    "contracts.awaited": Requirement(
        "design 5, llm-core 1.5, llm-core 2.6, armorer-core 1F",
        "A validator may be async; it is awaited before the function is called, and its refusal is like any other.",
    ),
    "contracts.hints": Requirement(
        "design 5, armorer-core 1L",
        "For each issue there is a sentence that says what to do: the near name, what is expected, an example.",
        divergence="Elsewhere an adapter has to be plugged in, and its hints only reach an event.",
    ),
    "contracts.hints.legal": Requirement(
        "design 5",
        "An example in a hint is legal by the schema; where none is known there is none.",
    ),
    "toolbox.json": Requirement(
        "design 17, surroundings 2.9, surroundings 9, armorer-core 1F, armorer-core 2A, armorer-core 2E",
        "A toolbox is written as JSON and read back with equal definitions, each joined with what a resolver answers for it.",
        divergence="Elsewhere its live functions are part of what is written.",
    ),
    "toolbox.json.refused": Requirement(
        "design 5, surroundings 2.9, armorer-core 1I, armorer-core 2A, armorer-core 2E",
        "A resolver that answers nothing, something to await, or a tool with another definition is refused at once.",
        divergence="Elsewhere the first call fails.",
    ),
    "toolbox.on-deprecated": Requirement(
        "design 5, surroundings 3.8",
        "A toolbox names who is told of calls of deprecated tools; extending keeps it, combining takes the first one's.",
    ),
    "toolbox.manifest": Requirement(
        "design 17",
        "A toolbox is made of a TOML or JSON file that names functions with their declarations, and its definitions are "
        "those that the same words make in code.",
    ),
    "toolbox.manifest.allow": Requirement(
        "design 17",
        "A manifest imports nothing outside of the modules that its reader allows.",
    ),
    "toolbox.manifest.refused": Requirement(
        "design 5",
        "What is wrong in a manifest is refused with the file, the entry and the field.",
    ),
}

_CONTRACTS: Final[Mapping[str, Requirement]] = {
    "contracts.agree": Requirement(
        "design 5",
        "A contract made from Python types accepts exactly the JSON values that its own schema accepts; "
        "formats, and what a class itself refuses, come on top.",
    ),
    "contracts.closed": Requirement(
        "design 5, field case 44, armorer-core 1F, armorer-core 11",
        "Unknown arguments are refused, all at once, each with the known name that comes near; objects inside are "
        "closed, too.",
        divergence="Elsewhere unknown arguments are dropped, and the tool runs with its defaults.",
    ),
    "contracts.strict": Requirement(
        "design 5, field cases 45 and 46, llm-core 1.5, armorer-core 1J",
        "Nothing is coerced: no text for a number, no number for a boolean, no boolean for a number, and no text is "
        "read as JSON a second time.",
    ),
    "contracts.integers": Requirement(
        "field case 47",
        "Integers are exact however large; an integral float is an integer where one is asked for; infinities and "
        "NaN are refused everywhere.",
    ),
    "contracts.lenient": Requirement(
        "design 5, field cases 45 and 46",
        "A contract that declares leniency also takes numbers, booleans and containers written as text, and only "
        "where text itself is not legal.",
    ),
    "contracts.null": Requirement(
        "design 16, decision 4",
        "An illegal null for an optional argument means that it was left out; a legal one stays; for a required "
        "argument it is an error.",
    ),
    "contracts.issues": Requirement(
        "design 5, field case 33, llm-core 1.6, armorer-core 2F, armorer-core 3C",
        "A refusal lists all that is wrong, each with its place, a code word, and what was expected; it never quotes "
        "text that was sent.",
    ),
    "contracts.hostile": Requirement(
        "field case 48, armorer-core 2F, armorer-core 11",
        "Deep, cyclic, huge or foreign values end in a refusal, and a refusal has a bounded length.",
    ),
    "contracts.constraints": Requirement(
        "field case 33",
        "Limits and texts in annotations are in the schema and are enforced; an annotation comes before the docstring.",
    ),
    "contracts.constraints.none-ignored": Requirement(
        "design 5",
        "A constraint that would have no effect is refused at definition.",
    ),
    "contracts.signature.annotations": Requirement(
        "design 5, field case 31",
        "Postponed annotations are resolved in the function's module, its closure and the locals where it is "
        "defined; one that can't be resolved fails at definition, with the parameter's name.",
    ),
    "contracts.signature.context": Requirement(
        "design 5, field case 31",
        "A parameter annotated with a context is hidden from the schema, refused from the model, and filled in.",
    ),
    "contracts.signature.names": Requirement(
        "field case 32",
        "Every parameter name works, also one that a validator uses for itself.",
    ),
    "contracts.signature.forms": Requirement(
        "design 5",
        "Methods, partials, callable objects, wrapped functions, keyword-only and positional-only parameters work; "
        "what a partial has bound is hidden; variadic parameters are refused at definition.",
    ),
    "contracts.signature.defaults": Requirement(
        "design 5, armorer-core 1F",
        "Defaults are filled in and shown where JSON can carry them; each call gets its own copy of a mutable one.",
    ),
    "contracts.signature.unannotated": Requirement(
        "design 5",
        "A parameter without an annotation takes any JSON value.",
    ),
    "contracts.types": Requirement(
        "design 5, armorer-core 1H",
        "Literal, Enum, dates and times, UUID, Decimal, bytes, paths, tuples, sets, dicts, unions and nested classes "
        "arrive as what they are; a type that JSON can't carry is refused at definition, with the parameter's name.",
    ),
    "contracts.unions": Requirement(
        "design 5",
        "Unions arrive as their first branch that fits, also those that msgspec can't tell apart, and integers in "
        "them stay exact.",
    ),
    "contracts.classes": Requirement(
        "design 5, armorer-core 1F",
        "msgspec structs, attrs classes, dataclasses, TypedDicts, named tuples and pydantic models work as arguments "
        "and as the whole input, with the class's own defaults, converters and validators.",
    ),
    "contracts.pydantic": Requirement(
        "design 5",
        "A pydantic model is validated by pydantic, strictly and as JSON, and takes no fields that it does not have.",
    ),
    "contracts.cattrs": Requirement(
        "design 4",
        "An attrs class whose fields need hooks is built by the cattrs converter that is given with it.",
    ),
    "contracts.dump": Requirement(
        "design 3",
        "Validated arguments can be written back as JSON, defaults filled in, and validate to the same values again.",
    ),
    "contracts.caller": Requirement(
        "design 5",
        "Each validated argument reaches its own parameter, by position or by name, and the context its own.",
    ),
    "contracts.schema.legal": Requirement(
        "design 5, surroundings 2.10, surroundings 9, armorer-core 1F",
        "A JSON Schema is compiled with a complete validator; an illegal one, one that is not about an object, or "
        "one that refers to another document is refused at definition, with the place.",
    ),
    "contracts.schema.root": Requirement(
        "design 5, field cases 41 and 42, armorer-core 1F",
        "No schema and an empty one mean no arguments; a root that does not say how open it is is closed, also over "
        "references and alternatives; the caller's schema is never changed.",
    ),
    "contracts.schema.hard": Requirement(
        "field cases 35 to 39, surroundings 9",
        "Objects without a type, texts beside choices, alternatives inside of lists, references of every form, "
        "recursion, nulls and constants mean what they say, whatever providers make of them; the schema stays as it is.",
    ),
    "contracts.schema.filled": Requirement(
        "field case 47, armorer-core 1F",
        "Legal defaults of the root are filled in, and integral floats become integers at every depth.",
    ),
    "contracts.frozen": Requirement(
        "design 5, llm-core 1.3, llm-core 7.1, armorer-core 1F",
        "A contract's schema can't be changed, neither through the contract nor through what it was made of.",
    ),
    "contracts.pair": Requirement(
        "design 5, llm-core 1.5, llm-core 1.6, llm-core 2.4, llm-core 7.1, llm-core 8, armorer-core 1F",
        "A pair of schema and validator is taken as it is: the validator sees a frozen copy, the function gets that "
        "same copy, and issues pass through, a bare property name being a legal path.",
        divergence=(
            "Elsewhere the copy is frozen only after the validator saw it, so a validator can change what runs; and "
            "any truthy answer counts as acceptance."
        ),
    ),
    "contracts.docstring": Requirement(
        "design 5, field case 33",
        "Docstrings in Google, NumPy and reST style give the description and the texts of the parameters.",
    ),
}

_CANONICAL: Final[Mapping[str, Requirement]] = {
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

_TOOLBOX: Final[Mapping[str, Requirement]] = {
    "toolbox.duplicate-id": Requirement(
        "design 16.8, field case 49, surroundings 2.11, surroundings 9, llm-core 1.8, armorer-core 2C, armorer-core 2D, armorer-core 8D",
        "Two different tools with one id are an error that names both origins, unless replacing is asked for.",
        divergence="Elsewhere the later one replaces the earlier in silence.",
    ),
    "toolbox.same-tool-twice": Requirement(
        "design 12, armorer-core 2A, armorer-core 10",
        "The same tool met twice is one tool.",
    ),
    "toolbox.versions": Requirement(
        "design 16.8, surroundings 2.11, surroundings 9, armorer-core 1E, armorer-core 2C, armorer-core 8D, armorer-core 10",
        "By name the highest version that is not deprecated is meant, in the order of Semantic Versioning; an "
        "exact id always means itself.",
        divergence="Elsewhere the version that was registered last is taken.",
    ),
    "toolbox.namespaces": Requirement(
        "design 16.8, armorer-core 2C, armorer-core 11",
        "By name a tool of the default namespace comes before others; `namespace:name` means that namespace.",
        divergence="Elsewhere whichever was registered last is taken.",
    ),
    "toolbox.lookup": Requirement(
        "design 3, surroundings 2.11, armorer-core 2C, armorer-core 8D",
        "A name or id is found with one lookup, however many tools there are.",
    ),
    "toolbox.fuzzy.off": Requirement(
        "design 16.13, armorer-core 8C", "Without a `Resolution` only what is spelled right is found."
    ),
    "toolbox.fuzzy.tiers": Requirement(
        "design 16.13, surroundings 2.11, armorer-core 8C, armorer-core 11",
        "Exact comes before other case, other separators and a prefix too many; each tier can be turned off.",
        divergence="Elsewhere the tiers cannot be chosen, and the last one compares only what follows the last hyphen.",
    ),
    "toolbox.fuzzy.ambiguous": Requirement(
        "design 16.13, armorer-core 8C",
        "When a tier could mean several names nothing is guessed, and the names are told.",
    ),
    "toolbox.fuzzy.same-tool": Requirement(
        "design 16.13, armorer-core 8D",
        "A misspelling means the very tool, of all versions and namespaces, that the right spelling means.",
    ),
    "toolbox.fuzzy.namespaces": Requirement(
        "design 16.13, armorer-core 8C",
        "A name with a namespace means tools of that namespace only; a prefix that is no namespace only tools of the "
        "default one.",
        divergence="Elsewhere namespaces are not looked at.",
    ),
    "toolbox.fuzzy.suffix": Requirement(
        "design 16.13, surroundings 2.11, surroundings 9, armorer-core 8C, armorer-core 8D, armorer-core 10",
        "Only a prefix that ends in a dot, a slash or two underscores is left out, and the whole rest must be a name.",
        divergence="Elsewhere `delete-file` may run `read-file`.",
    ),
    "toolbox.fuzzy.risk": Requirement(
        "design 16.13, armorer-core 8C, armorer-core 10",
        "A guess picks no tool of a stricter effect class than the host allows; by default destructive and privileged "
        "tools have to be spelled right, and their names are offered.",
    ),
    "toolbox.fuzzy.bounded": Requirement("style 4", "Names of any length and content are answered in bounded time."),
    "toolbox.live.swap": Requirement(
        "design 16.9", "A live toolbox is exchanged as a whole, and its revision grows by one with each exchange."
    ),
    "toolbox.live.update": Requirement(
        "design 16.9, armorer-core 1S, armorer-core 2I, armorer-core 8D, armorer-core 10",
        "An update, a registration of several tools and their removal take place wholly or not at all.",
        divergence="Elsewhere a toolbox itself is changed, and a conflict leaves it half changed.",
    ),
    "toolbox.live.unregister": Requirement(
        "design 16.9, surroundings 2.11, armorer-core 8D",
        "What is taken out is named without doubt: by tool, by id, or by a name that only one has.",
    ),
    "toolbox.live.listeners": Requirement(
        "design 16.9",
        "Each change is told once to every listener, in order, with what was added, removed and changed; one that "
        "raises harms nobody.",
    ),
    "toolbox.live.threads": Requirement(
        "design 16.9", "Threads may exchange it at the same time, and no change is lost."
    ),
    "toolbox.missing": Requirement(
        "design 17, armorer-core 2C", "`missing` answers those of the given names that mean no tool, in order."
    ),
    "toolbox.query.inputs": Requirement(
        "design 17, surroundings 2.1, surroundings 9, surroundings 12.6",
        "A toolbox, one tool or any iterable of tools can be queried; without criteria all tools are found, in order.",
        divergence="Elsewhere a toolbox is only recognised under test, and each query emits an event.",
    ),
    "toolbox.query.all-hold": Requirement(
        "design 17, surroundings 2.1", "All criteria have to hold; an empty one asks for nothing."
    ),
    "toolbox.query.wrong-argument": Requirement(
        "design 17, field case 44, surroundings 2.1, surroundings 2.3",
        "A criterion that does not exist is refused with the near one, and a value that is not legal with its place.",
        divergence="Elsewhere unknown criteria and values are ignored.",
    ),
    "toolbox.query.page": Requirement(
        "design 17, surroundings 2.1, surroundings 9, surroundings 12.4",
        "A page begins at an offset and holds at most its limit; the total counts all pages.",
        divergence="Elsewhere a limit of 0 means none, and negative numbers pass.",
    ),
    "toolbox.query.ranked": Requirement(
        "design 17, surroundings 2.1, surroundings 12.4",
        "Ranked, more of the text comes first; equals keep their order.",
    ),
    "toolbox.query.shown": Requirement(
        "design 17, surroundings 2.1", "A result answers tools, names, ids and summaries."
    ),
    "toolbox.query.tags": Requirement(
        "design 17, surroundings 2.2", "Tags are asked for as all, any or none of some, in any case."
    ),
    "toolbox.query.identity": Requirement(
        "design 17, surroundings 2.2", "Name, namespace and version are one text or one of several."
    ),
    "toolbox.query.risk": Requirement(
        "design 5, surroundings 2.2, surroundings 12.4, armorer-core 1D",
        "Risk, tier and effect class are those of the one classifier; permissions and untrusted output those of the risk.",
        divergence="Elsewhere only the risk is looked at, so a tool about which nobody said anything does not mutate.",
    ),
    "toolbox.query.schema": Requirement(
        "design 17, surroundings 2.2",
        "Arguments are asked for by name, and by pieces of their schema, through references.",
        divergence="Elsewhere a schema matches when it has the same keys, whatever their types.",
    ),
    "toolbox.query.metadata": Requirement(
        "design 17, surroundings 2.2, surroundings 12.4",
        "Metadata is asked for keys, equal values, contents, beginnings, ranges, and with a predicate.",
        divergence="Elsewhere lists and objects are never equal.",
    ),
    "toolbox.query.lifecycle": Requirement(
        "design 17, surroundings 2.2, armorer-core 8D",
        "Deprecation, approval, placement and availability in a context can be asked for.",
    ),
    "toolbox.query.predicate": Requirement(
        "design 17, surroundings 2.2",
        "A tool of which a predicate raises is not included, under a negation either, and is told of.",
        divergence="Elsewhere a negation includes it.",
    ),
    "toolbox.query.async": Requirement(
        "design 17, llm-core 2.6", "A predicate or hook that is async is refused instead of taken for a yes."
    ),
    "toolbox.query.combined": Requirement(
        "design 17, surroundings 2.2, surroundings 12.4",
        "Conditions are values that are combined with `&`, `|` and `~`, in any depth, and have no truth value.",
    ),
    "toolbox.query.words": Requirement(
        "design 17, surroundings 2.3, surroundings 9",
        "Texts are taken apart into words: compound names, acronyms, numbers, without accents, in every script.",
    ),
    "toolbox.query.text": Requirement(
        "design 17, surroundings 2.2, surroundings 2.3, surroundings 9, surroundings 12.4",
        "Text is looked for in names, descriptions, tags, arguments and metadata, contained, exact or fuzzy, weighted.",
        divergence=(
            "Elsewhere text without Latin letters finds every tool, and an exact word never finds a compound name."
        ),
    ),
    "toolbox.query.asks-anew": Requirement(
        "design 17, surroundings 2.4, surroundings 9",
        "Every query asks the tools anew; nothing is kept of the answers that were given before.",
        divergence="Elsewhere answers are kept, and two functions may share one; or an early answer stays for good.",
    ),
    "toolbox.query.bounded": Requirement("style 4", "Very long texts are searched in bounded time."),
    "toolbox.inspect.levels": Requirement(
        "design 4, surroundings 2.10, armorer-core 2C",
        "There are three levels of detail, each with a type; what a level shows the next one shows, too.",
    ),
    "toolbox.inspect.full": Requirement(
        "design 4, surroundings 2.10",
        "The full level says all: schemas, shape, metadata, risk, effect, lifecycle, semantics, limits and digest.",
        divergence="Elsewhere risk, lifecycle and limits are left out.",
    ),
    "toolbox.inspect.copies": Requirement(
        "design 4, surroundings 2.10", "What is shown shares nothing with the tools, and encodes as JSON."
    ),
    "toolbox.inspect.counts": Requirement(
        "design 4, surroundings 2.10, armorer-core 2C", "A toolbox counts its tools, and those with tags or metadata."
    ),
    "toolbox.frozen": Requirement(
        "design 2, surroundings 2.4, armorer-core 2C, armorer-core 2D",
        "A toolbox and its context can't be changed, and share nothing with the list and the dict they came from.",
    ),
    "toolbox.extend": Requirement(
        "design 12, armorer-core 2A, armorer-core 2D, armorer-core 11",
        "`extend` gives a new toolbox with the receiver's options and the merged context.",
    ),
    "toolbox.replace": Requirement(
        "design 16.8, armorer-core 2C",
        "With `replace` a tool takes the place and the position of the one that has its id.",
    ),
    "toolbox.combine": Requirement(
        "design 12, armorer-core 2D, armorer-core 10, armorer-core 11",
        "Combining merges contexts, the last wins, and takes every option from the first toolbox.",
        divergence="Elsewhere duplicates replace each other; here they are an error unless replacing is asked for.",
    ),
    "toolbox.available": Requirement(
        "design 2, armorer-core 1N, armorer-core 2C, armorer-core 11",
        "`available` asks sync and async hooks with the context, keeps the order, lists only what a name "
        "means, and takes an error for no.",
    ),
    "toolbox.near": Requirement(
        "design 3",
        "Names that come near a wrong one are offered, best first.",
    ),
    "toolbox.wrong-argument": Requirement(
        "design 5, armorer-core 2A, armorer-core 2D",
        "What is no tool, no context or no timeout is refused with the place.",
    ),
    "toolbox.is-toolbox": Requirement(
        "design 2, armorer-core 2C",
        "`is_toolbox` knows a toolbox from everything else.",
    ),
    "toolbox.repr-keeps-secrets": Requirement(
        "design 2, armorer-core 2D",
        "Neither repr nor str of a toolbox shows its context.",
    ),
    "toolbox.execute": Requirement(
        "design 17",
        "`await toolbox.execute(call)` runs one call under a supervisor of its own.",
    ),
}

_LOOPS: Final[Mapping[str, Requirement]] = {
    "loops.repeat": Requirement(
        "design 3, field case 89, armorer-core 8A, armorer-core 8B, armorer-core 11",
        "The same call again and again is warned of from one threshold on and refused from another, 10 and 20 by "
        "default; either can be left out.",
        divergence="There is no classic mode without levels, and a loop is always of the current call.",
    ),
    "loops.arguments": Requirement(
        "design 3, armorer-core 8A, armorer-core 8B",
        "Calls are equal when their tool and the value of their arguments are, whatever the order of keys.",
    ),
    "loops.recovery": Requirement(
        "design 3, armorer-core 8B, armorer-core 10",
        "Another call ends the run at once; until then a refused call stays refused.",
        divergence="Elsewhere a window has to slide past, and refused calls fill it.",
    ),
    "loops.progress": Requirement(
        "field case 89, armorer-core 8B",
        "Equal calls with different results are no loop, in whatever order their results become known.",
        divergence="Elsewhere results are not looked at, so polling is a loop.",
    ),
    "loops.ping-pong": Requirement(
        "design 3, armorer-core 8B, armorer-core 10",
        "Two calls that take turns are a loop after two rounds; varied calls never are.",
        divergence="Elsewhere any calls that differ from their neighbours can be taken for two that take turns.",
    ),
    "loops.cycles": Requirement("design 3", "Longer cycles are seen when asked for, and the simplest reading is told."),
    "loops.only-the-run": Requirement(
        "design 3, armorer-core 8B, armorer-core 10",
        "Only the unbroken run that the current call continues counts, and no other call is refused for it.",
        divergence="Elsewhere equal calls anywhere in the window count, and every other call is refused for them.",
    ),
    "loops.owners": Requirement("design 3, armorer-core 2D, armorer-core 8B", "Each owner is judged by its own calls."),
    "loops.bounded": Requirement(
        "style 4, armorer-core 8B", "What is remembered is bounded, in calls of an owner and in owners."
    ),
    "loops.statistics": Requirement(
        "design 3, armorer-core 2L, armorer-core 8B", "A detector counts what it judged, warned of and refused."
    ),
    "loops.polling": Requirement(
        "field case 89, armorer-core 8B",
        "A tool that polls is left out, when its metadata or the settings say that it does.",
    ),
    "loops.settings": Requirement(
        "design 5, armorer-core 8B", "Settings that make no sense are refused with their place."
    ),
}

_AUTHORITY: Final[Mapping[str, Requirement]] = {
    "context.names": Requirement(
        "design 12",
        "A request context holds names that are text, and none that is blank or half a character; wrong ones are refused "
        "with their place.",
    ),
    "context.frozen": Requirement(
        "design 12",
        "A request context never changes, whatever its maker does to what it was made of.",
    ),
    "context.no-credentials": Requirement(
        "design 12",
        "A request context has no place for credentials; JSON that brings some is refused.",
        divergence="Elsewhere it may hold credentials, which snapshots then have to drop.",
    ),
    "context.narrowed": Requirement(
        "design 12",
        "Narrowing leaves the capabilities that both sides have, an audience that is no wider, and everything else as it "
        "was; it never adds anything.",
        divergence="There is no word for all capabilities: nothing said is no authority, and stays so.",
    ),
    "context.nested": Requirement(
        "design 6, design 12",
        "A context that a nested call asks for has at most what the outer one has: another principal, tenant, owner, "
        "revision, agent, run or session is refused, and the chain can only grow at its end.",
    ),
    "context.delegate": Requirement(
        "design 12", "`delegate` puts a principal at the end of the chain, and changes nothing else."
    ),
    "context.json": Requirement("design 12", "A request context comes back equal from its JSON form, in one spelling."),
    "actions.vectors": Requirement(
        "design 12, llm-core 3.1, llm-core 3.4, llm-core 7.1",
        "Action documents are those of the published vectors, byte for byte.",
    ),
    "actions.target-order": Requirement(
        "design 12, llm-core 3.5, llm-core 8",
        "Targets are ordered by kind and id in code units, on every machine.",
        divergence="Elsewhere the locale of the process orders them, so one action has several digests.",
    ),
    "actions.what-counts": Requirement(
        "design 12, llm-core 3.2, llm-core 7.1",
        "Any difference in the id, version, schema, effect class, targets, semantics, arguments, tenant, principal or "
        "chain makes another action.",
    ),
    "actions.what-does-not": Requirement(
        "design 12, llm-core 3.2, llm-core 7.1",
        "Descriptions, run, session, request, owner, capabilities, order of keys and spelling of numbers make no other "
        "action.",
    ),
    "actions.stricter-class": Requirement(
        "design 5, design 12",
        "The effect class that is bound is the one that the tool counts as, also where nobody declared one.",
        divergence="Elsewhere a class must be declared, and only what was declared is bound.",
    ),
    "actions.document": Requirement(
        "design 12, llm-core 3.1", "A document is one text that holds everything, and never changes."
    ),
    "actions.refusals": Requirement(
        "design 16, llm-core 3.3",
        "Arguments that readers would understand differently are refused with the path and what to pass instead, and "
        "so is what is no definition, context or digest.",
    ),
    "actions.digest": Requirement(
        "design 12, llm-core 3.6, llm-core 7.1",
        "A digest is HMAC-SHA-256 over the UTF-8 bytes of the canonical text alone, made by whoever holds the key.",
    ),
    "actions.digest-form": Requirement(
        "llm-core 3.6, llm-core 7.1",
        "A digest is written in 43 characters of base64url, in one spelling only, and comes back equal from JSON.",
        divergence="Elsewhere the spare bits of the last character are not looked at.",
    ),
    "actions.verify": Requirement(
        "llm-core 3.6, llm-core 7.1, llm-core 8",
        "A digest verifies for its own action and key only; after a rotation an old one does with the old reference.",
    ),
    "actions.key-names": Requirement(
        "llm-core 3.6, llm-core 7.1", "Keys are named by printable references, and never show themselves."
    ),
    "projection.audiences": Requirement(
        "design 6",
        "The public sees where an execution stands in words that the library fixes, a tenant also whose it is and what "
        "its tool says, an operator also its authority.",
        divergence=(
            "Elsewhere the public reads what a tool says that it waits for, and limits that carry the names of owners."
        ),
    ),
    "projection.never": Requirement(
        "design 6",
        "Reasons of aborts, sessions, and every field of which nobody decided who sees it, are shown to nobody.",
    ),
    "projection.tenant": Requirement(
        "armorer-core 6H",
        "A tenant sees its own executions only, and so does an operator who is bound to a tenant; without a word on "
        "whose an execution is, nothing is shown.",
        divergence="Elsewhere an operator is never asked for a tenant.",
    ),
    "projection.json": Requirement("armorer-core 6H", "A projection is versioned JSON, and says for whom it is."),
}

_POLICY: Final[Mapping[str, Requirement]] = {
    "verdict.lattice": Requirement(
        "design 12, armorer-core 6B",
        "Verdicts form a lattice, Deny over Ask over Allow: joining them is associative and idempotent, a denial "
        "absorbs all, and their order decides only whose words are used.",
    ),
    "verdict.capabilities": Requirement("armorer-core 6H", "Joined verdicts leave the capabilities that each leaves."),
    "verdict.defaults": Requirement(
        "armorer-core 6A", "Verdicts get words where none were given, are values, and refuse what makes no sense."
    ),
    "verdict.reading": Requirement(
        "armorer-core 6A, armorer-core 11", "A hook may answer nothing, a bool, a verdict, or a decision as a mapping."
    ),
    "verdict.unclear": Requirement(
        "design 12, armorer-core 6A",
        "An answer that is not understood denies, and the reason says what was not.",
        divergence="Elsewhere an unknown status beside `allow` runs the tool, and unknown members are dropped.",
    ),
    "verdict.contradiction": Requirement(
        "design 12, armorer-core 6A",
        "A decision whose `allow` and `status` contradict each other denies.",
        divergence="Elsewhere `allow` beside the status `deny` runs the tool, and beside a pause it pauses.",
    ),
    "gates.read-only": Requirement(
        "design 12, armorer-core 2J",
        "`read_only=True` and `allow_mutation=False` let only tools pass that count as read-only.",
        divergence="Elsewhere a tool about which nobody said anything passes.",
    ),
    "gates.dangerous": Requirement(
        "design 12, armorer-core 2J", "`allow_dangerous=False` keeps out what is destructive or privileged."
    ),
    "gates.one-classifier": Requirement(
        "design 5, armorer-core 2J",
        "Gates and the approval policy read one classification, in which the stricter reading stands.",
        divergence="Elsewhere each has a reading of its own, and they disagree.",
    ),
    "gates.settings": Requirement("design 5", "Gates that are neither open nor shut are refused."),
    "capability.table": Requirement(
        "design 12, armorer-core 6B",
        "What is done about each tier in each mode stands in a table; a tier may have a mode of its own, and an "
        "unclassified tool asks in every mode but `deny`.",
    ),
    "capability.texts": Requirement("armorer-core 6B", "Its verdict names the tool, the tier and the mode."),
    "capability.settings": Requirement("design 5", "An approval policy is a value, and refuses unknown words."),
    "headless.deny-by-default": Requirement(
        "armorer-core 6C",
        "Without anybody to ask, only tools run whose exact name or id is listed and not on the deny list.",
        divergence="Ids may be listed, too.",
    ),
    "headless.never-asks": Requirement(
        "armorer-core 6C",
        "What would ask is denied, and so is what a gate does not decide at once.",
    ),
    "headless.reasons": Requirement(
        "armorer-core 6C, armorer-core 11",
        "All of it is looked at; the reason is that of the list, then of the gate, in one short line, then of the tier.",
    ),
    "headless.settings": Requirement("design 5", "A headless policy that makes no sense is refused."),
    "judging.silence": Requirement("design 12", "Without a policy nothing asks and nothing is denied."),
    "judging.order": Requirement(
        "design 3, design 12, armorer-core 6A",
        "Gates, the approval policy, the declaration, the toolbox's hook and the tool's hook have their say in this "
        "order; the first denial ends it, and all questions are kept.",
    ),
    "judging.declared": Requirement("design 12", "A tool that requires approval asks, whatever a hook allows."),
    "judging.ask-hides-no-deny": Requirement(
        "design 12, armorer-core 6A, armorer-core 11", "A question never keeps a later tier from denying."
    ),
    "judging.hook-raises": Requirement(
        "design 12, armorer-core 6A",
        "A hook that raises denies; what it raised is for the host, not for the model.",
        divergence="Elsewhere it is an internal error.",
    ),
    "judging.async": Requirement(
        "armorer-core 6A",
        "Hooks may be async; a judgement without one waits for nothing, and a cancelled one decides nothing.",
    ),
    "judging.frozen": Requirement("design 3", "A hook can't change the arguments that it is shown."),
    "judging.narrowing": Requirement(
        "design 12, armorer-core 6H", "A hook may only take capabilities away, and the next one sees what is left."
    ),
    "judging.edit": Requirement(
        "design 3",
        "A hook may ask for other arguments, once; they are judged from the start. Asking for the same changes nothing.",
    ),
    "judging.satisfied": Requirement(
        "armorer-core 6F",
        "An answer counts for the same question of the same tier, word for word, and for no other.",
    ),
    "judging.granted": Requirement(
        "design 12, armorer-core 6I",
        "A grant answers the question of the approval policy and no other.",
        divergence="Elsewhere a grant also skips the hooks, and their denials.",
    ),
    "judging.settings": Requirement("design 5", "What is no policy is refused with its place."),
}

_SIGNING: Final[Mapping[str, Requirement]] = {
    "signing.golden": Requirement(
        "design 12, armorer-core 6E", "Signatures are HMAC-SHA256, and what they are made of is laid down to the byte."
    ),
    "signing.canonical": Requirement(
        "design 16.10, armorer-core 6E",
        "Equal documents have one signature; what readers may take differently has none.",
    ),
    "signing.purposes": Requirement(
        "design 12, armorer-core 6E",
        "A signature counts for one purpose and its version, in one domain, by one key.",
        divergence="Elsewhere approvals and grants are signed alike, and told apart by their shape.",
    ),
    "signing.tampering": Requirement(
        "armorer-core 6E", "A changed document, a changed signature and what is no signature are refused."
    ),
    "signing.constant-time": Requirement("armorer-core 6E", "Signatures are compared in constant time."),
    "signing.rotation": Requirement(
        "design 12, armorer-core 6E",
        "One key signs and several verify, so that keys can be exchanged.",
        divergence="Elsewhere there is one secret.",
    ),
    "signing.domains": Requirement("design 12", "Keys are found by security domain and id, both."),
    "signing.resolver": Requirement(
        "design 12", "A resolver may answer later; what it answers is looked at before it is used."
    ),
    "signing.text": Requirement("design 12", "A signature is one line that names its key, and can be read back."),
    "signing.secret": Requirement(
        "design 12, armorer-core 2D",
        "The bytes of a key are in no attribute, text, pickle, copy, log or JSON of any object.",
    ),
    "signing.settings": Requirement("design 5", "Wrong keys, rings, purposes and domains say so, and quote no secret."),
}

_CONTENT: Final[Mapping[str, Requirement]] = {
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
        "Pictures and sounds inside an object follow its JSON, which refers to them by number; none becomes base64 in a text.",
    ),
    "content.links-kept": Requirement(
        "field case 81", "Links, text and JSON blocks inside an object are written in their place, none is dropped."
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

_TRUNCATION: Final[Mapping[str, Requirement]] = {
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

_FENCING: Final[Mapping[str, Requirement]] = {
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

_GUARDRAILS: Final[Mapping[str, Requirement]] = {
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

_CAPACITY: Final[Mapping[str, Requirement]] = {
    "capacity.limits": Requirement(
        "field case 19, armorer-core 1O, armorer-core 10",
        "No more calls run at once than a tool, group, owner or supervisor limit allows.",
    ),
    "capacity.all-or-nothing": Requirement(
        "design 9", "A call gets everything that it needs at once; while it waits it holds none of it."
    ),
    "capacity.families": Requirement(
        "design 9", "Each owner has slots of its own, and leaves nothing behind when it is gone."
    ),
    "capacity.fifo": Requirement("design 9, armorer-core 1O", "Calls of one owner are served in order of admission."),
    "capacity.round-robin": Requirement(
        "design 9", "Owners take turns, so one with a long queue does not starve one with a short queue."
    ),
    "capacity.overtaking": Requirement(
        "design 9", "Within an owner a call overtakes only calls that wait for something that it does not need."
    ),
    "capacity.patience": Requirement(
        "design 9", "A call that was overtaken 16 times reserves the slots that it needs as they come free."
    ),
    "capacity.reservations-never-cross": Requirement("design 9", "Reservations never wait for each other."),
    "capacity.reads-and-writes": Requirement(
        "field case 27", "Calls that read and write the same thing run in order of admission; readers share."
    ),
    "capacity.lending": Requirement(
        "design 9",
        "What an ancestor holds is lent to one descendant at a time; running leaves never exceed a limit.",
    ),
    "capacity.cycle": Requirement(
        "design 9", "A nested call that could only wait for ever is refused, and the cycle is named."
    ),
    "capacity.joins": Requirement("design 9", "A join counts as a wait when cycles are looked for."),
    "capacity.nested-overtake": Requirement(
        "design 9", "Order and reservations never hold back a nested call for a call that waits for its ancestors."
    ),
    "capacity.never-hangs": Requirement(
        "design 9", "However calls nest, wait, join, end and are withdrawn, every call that waits can still start."
    ),
    "capacity.refusals-are-true": Requirement(
        "design 9", "A call is refused only when no order of events could ever let it start."
    ),
    "capacity.withdraw": Requirement(
        "design 9, armorer-core 1O, armorer-core 10", "An aborted call leaves its queue at once."
    ),
    "capacity.position": Requirement(
        "design 9, armorer-core 1O", "A queued call shows its position and what it waits for."
    ),
    "capacity.holders": Requirement(
        "field case 14, armorer-core 1O",
        "A slot is held until the body really ended, and whoever holds it can be named.",
    ),
    "capacity.bounded-overtaking": Requirement(
        "design 9",
        "As long as running calls end, a waiting call starts after a bounded number of later ones, whatever limits, reads, "
        "writes, nested calls and joins are mixed.",
    ),
    "capacity.equal-shares": Requirement(
        "design 9",
        "Owners that all have calls waiting get equal shares of what runs at any time, however long their queues are.",
    ),
    "capacity.newcomer": Requirement(
        "design 9",
        "Where all wait for the same single limit, the first call of another owner starts within one round, however many "
        "calls of others wait; where limits are mixed, after a bounded number of starts.",
    ),
    "capacity.cost": Requirement("design 14", "Starting the next call costs the same however many calls wait."),
}

_LIFECYCLE: Final[Mapping[str, Requirement]] = {
    "lifecycle.table": Requirement(
        "design 6", "The states and events are one table with a row for every state; an illegal event changes nothing."
    ),
    "lifecycle.refused-never-ran": Requirement(
        "design 6", "A call that was refused, and one whose body ran, can never be mistaken for each other."
    ),
    "lifecycle.revisions": Requirement(
        "design 6", "A revision starts at 1 and grows by exactly one with each publication."
    ),
    "lifecycle.waits": Requirement(
        "design 6", "Waits are counted; the last one to end leads back to the state that the execution came from."
    ),
    "lifecycle.abort-is-sticky": Requirement(
        "design 6", "An execution that was asked to stop never looks as if it had not been."
    ),
}

_ENGINE: Final[Mapping[str, Requirement]] = {
    "engine.never-more-authority": Requirement(
        "design 6, 12",
        "What a running tool calls or starts acts for the same principal and tenant, with no more authority.",
    ),
    "engine.fuzzy": Requirement(
        "design 3, 16, armorer-core 2G, armorer-core 8C, armorer-core 11",
        "A misspelt name is understood only when the host says so; one that could be two names both.",
    ),
    "engine.live-toolbox": Requirement(
        "design 16",
        "A live toolbox can be exchanged while a supervisor runs: running executions keep what they were resolved to.",
    ),
    "engine.deprecated": Requirement(
        "surroundings 3.8, armorer-core 1E, armorer-core 2G, armorer-core 8C, armorer-core 11",
        "The host is told of each call of a deprecated tool; whatever it does then, the call goes on.",
    ),
    "engine.loops": Requirement(
        "field case 89, armorer-core 2G, armorer-core 8A, armorer-core 11",
        "A call that repeats itself without progress is warned of and then refused, for each owner on its own.",
    ),
    "engine.awaited-validators": Requirement(
        "armorer-core 1F, armorer-core 11",
        "A validator that waits is awaited before the tool may run, under all limits of the call.",
    ),
    "engine.digests": Requirement(
        "armorer-core 1M, armorer-core 3A, armorer-core 11", "A result carries the digests that its tool declares."
    ),
    "engine.hints": Requirement("armorer-core 1L", "A refusal of arguments says how each of them could be mended."),
    "engine.by-full-id": Requirement(
        "design 3, armorer-core 2C, armorer-core 10, armorer-core 11",
        "A call by full id is a call of that tool like one by name, and its result carries the plain name.",
        divergence="Elsewhere the tool takes the whole call for its arguments.",
    ),
    "engine.queue-time": Requirement(
        "design 6, armorer-core 1O, armorer-core 11",
        "Time in the queue counts neither in the duration of a call nor before its start is told.",
    ),
    "engine.result-frozen": Requirement(
        "design 7, armorer-core 3A",
        "A result is a value that nobody can change.",
        divergence="Elsewhere results are changed after the fact.",
    ),
    "engine.arguments-untouched": Requirement(
        "design 3, armorer-core 2F, armorer-core 11",
        "Whatever a tool does to its arguments, those of its caller stay as they were.",
    ),
    "engine.reason-said": Requirement(
        "design 8, armorer-core 3D, armorer-core 11", "An abort whose reason is blank says that none was given."
    ),
    "engine.passing": Requirement(
        "design 7, armorer-core 3C, armorer-core 10, armorer-core 11",
        "A connection that broke or could not be had, and a name that cannot be looked up now, are transient by the type "
        "and the number of the exception, in every place.",
        divergence="Elsewhere words in the message decide.",
    ),
    "engine.state-queued": Requirement("design 6", "The state queued is reached through the public face."),
    "engine.state-active": Requirement("design 6", "The state active is reached through the public face."),
    "engine.state-waiting": Requirement("design 6", "The state waiting is reached through the public face."),
    "engine.state-streaming": Requirement("design 6", "The state streaming is reached through the public face."),
    "engine.state-abort-requested": Requirement(
        "design 6, armorer-core 2G", "The state abort-requested is reached through the public face."
    ),
    "engine.state-cleanup-pending": Requirement(
        "design 6", "The state cleanup-pending is reached through the public face."
    ),
    "engine.state-terminal": Requirement("design 6", "The state terminal is reached through the public face."),
    "engine.state-unknown-effect": Requirement(
        "design 6", "The state unknown-effect is reached through the public face."
    ),
    "engine.late-end": Requirement(
        "design 6", "A body that ends after it was given up is recorded, and frees its slot then."
    ),
    "engine.not-started": Requirement(
        "design 7, armorer-core 3D, armorer-core 11",
        "A call that was stopped before its body began is NOT_STARTED, with effect none.",
    ),
    "engine.results-not-kept": Requirement(
        "design 6", "What the supervisor keeps of an ended execution is no result: that belongs to its caller."
    ),
    "engine.codes": Requirement(
        "design 7, llm-core 2.5, llm-core 7.1, llm-core 8, armorer-core 1J, armorer-core 2G, armorer-core 3A, armorer-core 3B, armorer-core 3C, armorer-core 11",
        "Every way to end that exists has its category, code, retryability and words.",
    ),
    "engine.siblings": Requirement(
        "field case 1, 4, 21, armorer-core 2H",
        "An error is data on its own call; its siblings run on, and the batch returns when all are over.",
    ),
    "engine.caller-cancelled": Requirement(
        "design 8, field case 3",
        "A caller that is cancelled takes its call along: no more work of a tool that can be interrupted.",
    ),
    "engine.abort-answers": Requirement(
        "design 8, field case 9, armorer-core 11",
        "An abort answers what it did, and the handle can be waited for until one specific state.",
    ),
    "engine.groups-unwrapped": Requirement(
        "field case 16", "A one-leaf group is reported as its leaf, several leaves are all named, cancellations never."
    ),
    "engine.swallowed-cancel": Requirement(
        "design 7, field case 18",
        "A tool that swallows the cancel is still cancelled; its late value is kept in the record.",
    ),
    "engine.concurrency": Requirement(
        "design 9, field case 19, armorer-core 2A, armorer-core 11",
        "However many calls, no more bodies run than the limits say; results are in call order.",
    ),
    "engine.fail-fast": Requirement(
        "design 9, field case 21, armorer-core 2H, armorer-core 8A, armorer-core 10, armorer-core 11",
        "A fail-fast batch stops its other calls, which say why and whether they had started.",
    ),
    "engine.wording": Requirement(
        "field case 22, armorer-core 1Q, armorer-core 11",
        "A call that was cut off and one that never ran differ in state and in the words for the model.",
    ),
    "engine.nested": Requirement(
        "design 6, field case 25", "A nested call carries its parent's id, owner and deadline, and is aborted with it."
    ),
    "engine.whose-timeout": Requirement(
        "design 7, field case 26, surroundings 9, armorer-core 3C, armorer-core 10",
        "The tool's own TimeoutError, a limit of the engine and a lost connection are told apart.",
    ),
    "engine.reads-writes": Requirement(
        "design 9, field case 27", "Calls that write the same thing go in order of admission; others overlap with them."
    ),
    "engine.budget": Requirement(
        "field case 28, armorer-core 2D, armorer-core 2G, armorer-core 2K, armorer-core 10, armorer-core 11",
        "A budget is reserved before anything starts, and given back by calls that never ran.",
    ),
    "engine.unknown-tool": Requirement(
        "field case 28, armorer-core 2G", "A misspelt name is that call's error, with near names; its siblings run."
    ),
    "engine.awaitables": Requirement(
        "field case 29", "Whatever form of awaitable a tool answers, the model gets its value."
    ),
    "engine.harmless": Requirement("design 7, armorer-core 3C", "Nothing that a tool raises harms anyone else."),
    "engine.keyboard-interrupt": Requirement(
        "design 7", "KeyboardInterrupt is no call's failure: it leaves the supervisor bare and aborts everything."
    ),
    "engine.over": Requirement("design 7", "From the decision on, the context of a tool starts nothing new."),
    "engine.unreadable-result": Requirement(
        "design 7",
        "A result, or an exception, whose own code raises while it is read is that call's failure: invalid output of a "
        "completed call, or an internal error.",
    ),
    "engine.needs-trio": Requirement("design 17", "Opened where trio does not run, a supervisor says what to do."),
    "engine.order": Requirement(
        "design 16, field case 63, armorer-core 2H", "Results come in call order, events in order of completion."
    ),
    "engine.calls-by-id": Requirement(
        "field case 49, armorer-core 4B", "Two calls of one tool are two executions, even with the same call id."
    ),
    "engine.grace": Requirement(
        "design 8", "A tool with a grace sees the abort first; a value returned within it is a success."
    ),
    "engine.clocks": Requirement(
        "design 8, llm-core 8, armorer-core 11",
        "timeout, deadline and idle_timeout each count what they say, and stand still for a person.",
    ),
    "engine.batch-whole": Requirement(
        "design 9, armorer-core 2A, armorer-core 2H",
        "A batch is admitted whole or raises, and can be aborted by its id.",
    ),
    "engine.crowd": Requirement(
        "design 14", "Very many waiting executions are admitted, inspected and aborted in one process."
    ),
    "engine.batch-id": Requirement(
        "design 9", "A host may name a batch and abort it by that name; two live batches never share one."
    ),
    "engine.batch-stops-honestly": Requirement(
        "design 8, 9, armorer-core 3D",
        "Whoever aborts several calls is told what that did to each, and each says that reason.",
    ),
    "engine.queue-bound-exact": Requirement(
        "design 9", "A batch is refused exactly when more of its calls would wait than the queue bound has room for."
    ),
    "engine.started-outlives": Requirement(
        "design 6", "A started execution runs to its end whatever becomes of who started it and of its handle."
    ),
    "engine.started-by": Requirement(
        "design 6", "What a tool started is no child of it, but can be listed and aborted by what started it."
    ),
    "engine.current-supervisor": Requirement(
        "design 17", "A running tool can get hold of the supervisor that runs it; nobody else can."
    ),
    "engine.capacity-cycle": Requirement(
        "design 9", "A nested call whose wait would never end is refused, with the cycle named."
    ),
    "engine.options": Requirement(
        "design 17, armorer-core 1J, armorer-core 2A, armorer-core 2H",
        "A wrong option of a call raises at the door and names what would be right.",
    ),
    "engine.direct": Requirement(
        "design 5, armorer-core 1N", "A tool can be called as a function of the host, without limits or refusals."
    ),
    "engine.bug": Requirement(
        "design 6, armorer-core 2G",
        "A failure of the engine ends the one execution that it hit; the supervisor lives and reports it.",
    ),
    "engine.elicit": Requirement(
        "design 8, 12, armorer-core 1K",
        "A question to a person is answered, declined, timed out or withdrawn, each once.",
    ),
    "engine.uninterruptible": Requirement(
        "design 5", "A tool that declares cancellation unsupported is never cancelled; its caller is released."
    ),
    "engine.availability": Requirement(
        "design 3, armorer-core 1N, armorer-core 2G, armorer-core 11",
        "A tool that is not available here does not run, also when its hook raises or is awaited.",
    ),
    "engine.storm": Requirement(
        "design 6",
        "Whatever is called, aborted, left and shut down in any mixture: nothing stays live, no slot stays in use, each "
        "execution settles once, and revisions only grow.",
    ),
    "engine.cancelled-anywhere": Requirement(
        "design 8, armorer-core 2M", "A supervisor cancelled at any step of the scheduler ends with everything settled."
    ),
    "engine.deep-nesting": Requirement(
        "design 6", "Calls nested deeper than Python's stack are shown and stopped like any other."
    ),
    "engine.user-code-raises": Requirement(
        "design 7, armorer-core 2G",
        "Whatever a hook, a result or the text of an exception raises ends its own call only.",
    ),
    "engine.across-supervisors": Requirement(
        "design 6",
        "A call that comes back through another supervisor is nested: it borrows slots, and cannot shut down.",
    ),
    "engine.left-behind-waits": Requirement(
        "design 7", "What waits on the context of an execution that has ended is let go."
    ),
    "engine.cancelled-reader": Requirement(
        "design 8, field case 25", "A stream that is opened under a cancelled scope never starts."
    ),
    "engine.timers-bounded": Requirement(
        "design 8, armorer-core 11", "However often a clock is stopped, an execution keeps one idle timer."
    ),
}

_EFFECTS: Final[Mapping[str, Requirement]] = {
    "effects.never-entered": Requirement(
        "design 7", "A call whose body was never entered has effect none, whatever stopped it."
    ),
    "effects.read-only": Requirement(
        "design 7", "A tool declared read-only has effect none however it ends, and may be retried."
    ),
    "effects.returned": Requirement(
        "design 7", "A body that returned has effect completed, also when its value cannot be shown or comes late."
    ),
    "effects.tool-says": Requirement("design 7", "A ToolFailure that names its effect is believed."),
    "effects.raised": Requirement(
        "design 7", "A body that raised, timed out or was cancelled has effect unknown, and is never called retryable."
    ),
    "effects.windows": Requirement(
        "design 7", "A tool with effect windows has the effect that its windows say, and each of them is listed."
    ),
    "effects.children": Requirement("design 7", "A caller's effect is the strongest of its own and its children's."),
    "effects.cleanup-unresolved": Requirement("design 7", "An unresolved cleanup makes the state unknown-effect."),
    "effects.cleanup-failed": Requirement(
        "design 7", "An exception after the abort is a failed cleanup; the outcome stays what was decided."
    ),
}

_SHUTDOWN: Final[Mapping[str, Requirement]] = {
    "shutdown.services-last": Requirement(
        "design 6, 8; field case 13",
        "Timers, time limits and readers of events serve the work of a drain until its last call is settled.",
    ),
    "shutdown.admission-closed": Requirement(
        "design 8, armorer-core 2M, armorer-core 4E",
        "Once admission is closed, every door for new work raises AdmissionClosed, and an event tells it once.",
    ),
    "shutdown.drain": Requirement(
        "design 8", "A drain lets queued calls, batches and nested calls that were admitted run to their end."
    ),
    "shutdown.drain-for": Requirement(
        "design 8, armorer-core 10", "What is left after `drain_for` is aborted, and the report says so."
    ),
    "shutdown.human-waits": Requirement("design 8", "A drain withdraws questions to people, and asks no new ones."),
    "shutdown.abort": Requirement(
        "design 8; field case 25, armorer-core 10, armorer-core 11",
        "An abort stops everything at once, nested calls included.",
    ),
    "shutdown.escalate": Requirement(
        "design 8, armorer-core 10",
        "A drain can be turned into an abort, never the reverse; a second abort ends all grace.",
    ),
    "shutdown.wrong-options": Requirement("design 8", "A shutdown that makes no sense is refused and changes nothing."),
    "shutdown.cancelled": Requirement(
        "design 8", "A cancelled shutdown leaves admission closed; a drain's work runs on, an abort goes on."
    ),
    "shutdown.checkpoints": Requirement("design 8", "A shutdown is a checkpoint, and may be repeated."),
    "shutdown.leaving": Requirement(
        "design 8; field cases 1, 3, armorer-core 2M",
        "Left normally a supervisor drains; by an exception or a cancellation it aborts. Nothing runs on, and its "
        "report is set.",
    ),
    "shutdown.bare-exception": Requirement(
        "design 8", "The exception of the block leaves as it is, never in a group and with nothing added."
    ),
    "shutdown.keyboard-interrupt": Requirement(
        "design 7", "A KeyboardInterrupt in a tool leaves the supervisor bare and aborts everything."
    ),
    "shutdown.holds-exit": Requirement(
        "design 8", "A tool that shields itself holds the exit, and the log names it every 10 s."
    ),
    "shutdown.report": Requirement(
        "design 8", "A report tells what became of everything, in words and as an exit code."
    ),
    "shutdown.cancel-and-wait": Requirement(
        "field case 9", "One can cancel an execution and wait; how it ended is told apart from a failure."
    ),
    "shutdown.signals": Requirement(
        "design 8", "The first signal drains and says so, the second aborts; cancelled, the signals are given back."
    ),
    "shutdown.signals-to-a-process": Requirement(
        "design 8; field case 10",
        "A service finishes its work on the first signal, aborts on the second, and exits with a list on the third.",
    ),
    "shutdown.signals-counted": Requirement(
        "design 8",
        "Every delivery of a signal counts, also before the one before it was heeded or while a tool blocks.",
    ),
    "shutdown.signals-restored": Requirement(
        "design 8",
        "Whoever handled the signals before does so after every way out, and gets those that nobody heeded when serving "
        "was cancelled.",
    ),
    "shutdown.signals-hangup": Requirement(
        "design 8", "SIGHUP drains a service like SIGTERM unless its host handles or ignores it."
    ),
    "shutdown.signals-main-thread": Requirement(
        "design 8", "Serving outside of the main thread is refused with what to do instead."
    ),
    "shutdown.served": Requirement(
        "design 8", "Serving, and waiting for the end, return the report when anybody has shut the supervisor down."
    ),
    "shutdown.report-forgets-nothing": Requirement(
        "design 8", "The report counts every unknown effect and failed cleanup, kept or not."
    ),
    "shutdown.given-up": Requirement("design 8", "A body that was given up holds up no drain."),
    "shutdown.closed-says-why": Requirement("design 8", "A closed supervisor refuses every door, and says why."),
    "shutdown.from-inside": Requirement(
        "design 8", "A tool that would wait for its own supervisor to end gets an error instead of a deadlock."
    ),
}

_STREAMS: Final[Mapping[str, Requirement]] = {
    "streams.never-read": Requirement(
        "design 8, armorer-core 4B, armorer-core 10",
        "A stream of a reader that is cancelled already is recorded as not started, like any other call.",
    ),
    "streams.collected": Requirement(
        "design 10; field case 30, armorer-core 3A, armorer-core 11",
        "Without a reader the chunks are collected; the list of them is the value.",
    ),
    "streams.reducer": Requirement(
        "design 10",
        "A declared reducer makes the value of the chunks; one that fails is an error after a completed effect.",
    ),
    "streams.checkpoints": Requirement(
        "design 10", "Neither a driver nor a reader handles more than 64 chunks without letting others run."
    ),
    "streams.live": Requirement(
        "design 10, armorer-core 3A, armorer-core 11",
        "A live stream hands each chunk over in order as it comes, then says how the call ended.",
    ),
    "streams.result-early": Requirement(
        "design 10", "The result of a stream that is not over is an error that says what to do."
    ),
    "streams.live-uncollected": Requirement("design 10", "With `collect=False` chunks are read and not kept."),
    "streams.backpressure": Requirement(
        "design 10",
        "A tool is never more than its buffer ahead of its reader; a stalled reader stalls only its own tool.",
    ),
    "streams.outcome-without-reader": Requirement(
        "design 10", "The outcome of a stream is recorded whatever its reader does."
    ),
    "streams.leaving-early": Requirement(
        "design 10, armorer-core 4B, armorer-core 10",
        "Leaving a stream early cancels the tool, with the caller as the source; one that is over is left as it is.",
    ),
    "streams.error-keeps-chunks": Requirement(
        "design 10; field case 30, armorer-core 11", "An error after chunks is an error with the chunks kept."
    ),
    "streams.deadline-on-silence": Requirement(
        "design 10, armorer-core 10, armorer-core 11",
        "Time limits hold on silent and on stalled streams; chunks are signs of life.",
    ),
    "streams.cancel-at-yield": Requirement(
        "design 10, armorer-core 11",
        "A cancellation while a chunk waits for room is thrown into the generator at its yield, once; then it is closed.",
    ),
    "streams.never-truncated": Requirement(
        "design 10, armorer-core 10", "A stream that ends for any other reason than exhaustion is never a success."
    ),
    "streams.own-scopes": Requirement(
        "design 10; field case 91",
        "A generator may yield inside its own timeouts and nurseries; they work, and harm nobody else.",
    ),
    "streams.never-cancelled-tool": Requirement(
        "design 5", "A stream whose tool does not support cancellation goes on to its end."
    ),
    "streams.grace": Requirement("design 8", "Within its grace a stream that was asked to stop may still finish."),
    "streams.drain": Requirement(
        "design 8", "A drain aborts a stream of which nothing was read for 5 s, and no other."
    ),
    "streams.events": Requirement(
        "design 6, armorer-core 4B, armorer-core 11",
        "A stream tells its opening and its close; its chunks go only to readers who ask for payloads.",
    ),
    "streams.nested": Requirement("design 6", "A stream that a tool opens is a child of that tool's execution."),
    "streams.cancelled-read": Requirement("design 10", "A cancelled read loses no chunk; a second reader is told so."),
    "streams.inline": Requirement(
        "design 5", "A def generator placed in the task streams, and is cancelled, like an async one."
    ),
    "threads.placement": Requirement(
        "design 5, 11", "A def tool runs in a worker thread; an awaitable that it returns is awaited on trio's thread."
    ),
    "threads.context-variables": Requirement(
        "design 5", "A thread sees a copy of its caller's context variables, and changes none of them."
    ),
    "threads.inline": Requirement(
        "design 5", "A def tool placed in the task runs on trio's thread, where blocking members are refused in words."
    ),
    "threads.nested-policy": Requirement(
        "field case 6", "A thread below a caller that was stopped is aborted with it and stays in sight until it ends."
    ),
    "threads.limit": Requirement("design 9", "Threads are bounded by the supervisor's own limit, not by trio's."),
    "threads.abandoned": Requirement(
        "design 8", "A thread never holds its caller up: stopped, it is left behind, visibly, as cleanup-pending."
    ),
    "threads.slot-held": Requirement("design 8", "A thread that runs on holds its slot until it really ends."),
    "threads.late-promise": Requirement(
        "design 7",
        "A coroutine or generator that a thread gives when nobody waits any more is no value: it never runs, and what "
        "the call did is unknown unless its tool is read-only.",
    ),
    "threads.late-end": Requirement("design 6, 8", "The late end of a thread that was given up is recorded."),
    "threads.check": Requirement(
        "design 5, 8",
        "`ctx.check()` and trio's own check raise in a thread once it was stopped; what it does then is told.",
    ),
    "threads.grace": Requirement("design 8", "A thread has its grace, and may finish within it."),
    "threads.never-cancelled": Requirement(
        "design 5", "A thread whose tool does not support cancellation is never told to stop; its caller is released."
    ),
    "threads.exit": Requirement(
        "design 8", "Leaving the supervisor abandons threads that do not end, and the report names them."
    ),
    "threads.blocking-members": Requirement(
        "design 5", "The awaiting members of the context block the thread; what it tells arrives in order."
    ),
    "threads.after-the-outcome": Requirement(
        "design 7",
        "Once the outcome is decided a thread starts nothing new; once the state is final it has only its identifiers.",
    ),
    "threads.exceptions": Requirement("design 7", "Whatever a thread raises is that call's own failure."),
    "threads.generators": Requirement(
        "design 10; field case 30", "A def generator streams from a thread, and is stopped at its yield."
    ),
    "threads.backpressure": Requirement(
        "design 10", "A thread is never more than its buffer, and the chunk in its hand, ahead of its reader."
    ),
}

_PLACEMENTS: Final[Mapping[str, Requirement]] = {
    "placement.values": Requirement(
        "design 5, 11", "In every place arguments come as their Python types, and the value as the annotation says."
    ),
    "placement.validation": Requirement("design 3", "In every place arguments are validated before a body begins."),
    "placement.exceptions": Requirement(
        "design 7, 11", "In every place what a body raises is told by type and text, and is its own failure."
    ),
    "placement.chunks": Requirement(
        "design 10, 11", "In every place chunks come in order, collected, reduced or live, and survive an error."
    ),
    "placement.backpressure": Requirement(
        "design 10, 11", "In every place a body is never more than its buffer, and the chunk in its hand, ahead."
    ),
    "placement.leaving": Requirement("design 10, 11", "In every place a reader that leaves early stops the tool."),
    "placement.context": Requirement(
        "design 11, 17, armorer-core 1K, armorer-core 10",
        "In every place the context says who runs, for whom, and whether it should stop.",
    ),
    "placement.telling": Requirement(
        "design 11, 17, armorer-core 1K",
        "In every place progress, log lines and events arrive in order; misuse raises in the body.",
    ),
    "placement.windows": Requirement(
        "design 7, 11", "In every place effect windows decide what the world may have seen."
    ),
    "placement.stopped-before": Requirement("design 7, 8", "In every place a call stopped while queued never begins."),
    "placement.stopped-inside": Requirement(
        "design 8, 11", "In every place an abort releases the caller, and the state is final once the body is gone."
    ),
    "placement.honoured": Requirement(
        "design 8; field case 15", "An abort is never shown as honoured before the body has ended."
    ),
    "placement.time-limits": Requirement("design 8, 11", "In every place timeout, deadline and idle timeout hold."),
    "placement.grace": Requirement("design 8, 11", "In every place a body may finish within its grace."),
    "placement.capacity": Requirement(
        "design 9, 11; field case 14", "In every place a slot comes back when the body is gone; its holder is named."
    ),
    "placement.late-abort": Requirement(
        "field case 8", "In every place aborts that meet the end of a body cost no capacity."
    ),
    "processes.declared": Requirement(
        "design 11", "What a worker process could not find or run is refused at definition, with the reason."
    ),
    "processes.surroundings": Requirement(
        "design 11", "A worker has a session and group of its own, and its host's path, directory and environment."
    ),
    "processes.context": Requirement(
        "design 11", "Named values, identifiers and the request context cross; context variables only by name."
    ),
    "processes.stays": Requirement("design 11", "What stays with the host raises a clear error in a worker process."),
    "processes.found": Requirement(
        "design 11", "A tool is found by module and qualified name; one that takes other arguments there is refused."
    ),
    "processes.not-entered": Requirement(
        "design 7, 11", "Until the function is entered nothing has happened: a failed import says so, with traceback."
    ),
    "processes.results": Requirement(
        "design 11", "Values are read by their annotation where they fit; what cannot be written is OUTPUT_INVALID."
    ),
    "processes.sizes": Requirement(
        "design 11", "Every message has a bound, by default 64 MiB; more is refused in words."
    ),
    "processes.unreadable": Requirement(
        "design 11", "A value that could be written but not be read again fails as that value, and loses no worker."
    ),
    "processes.output": Requirement("design 11", "What a body prints goes to its host's standard error."),
    "processes.telling": Requirement("design 11", "Any thread of a body may tell, and very much."),
    "processes.words": Requirement(
        "design 11", "What a body tells in words may be any object, as in a thread; too much of it is refused in words."
    ),
    "processes.thrown": Requirement(
        "design 7, 11",
        "Whatever a body in a worker raises is its own call's failure, never a lost worker; the worker is used again.",
    ),
    "processes.reuse": Requirement(
        "design 11", "A process is used again unless it is fresh, was killed, or a call left something running in it."
    ),
    "processes.limit": Requirement(
        "design 9", "`Limits(processes=...)` bounds bodies in processes, and idle processes."
    ),
    "processes.direct": Requirement("design 5, 11", "Host code calls a tool in a process as any other."),
    "processes.unkillable": Requirement(
        "design 8, 11", "A group that cannot be killed is cleanup-pending, then unknown, and is named in the log."
    ),
    "processes.lost": Requirement(
        "design 7, 11", "A worker that dies, breaks off or breaks the rules is that call's own WORKER_LOST, in words."
    ),
    "processes.lost-effect": Requirement(
        "design 7", "A lost worker leaves the effect unknown, unless windows say more or the body was not entered."
    ),
    "processes.replaced": Requirement("design 11", "A worker that dies while it is idle is replaced silently."),
    "processes.not-ready": Requirement(
        "design 11", "A used worker that cannot make a tool ready is replaced silently by a fresh one, once."
    ),
    "processes.interrupt": Requirement(
        "design 11", "A KeyboardInterrupt that a body in a worker process raises is that call's own failure."
    ),
    "processes.group-killed": Requirement(
        "design 11", "An abort kills the whole process group, and the state is final only when nothing of it runs."
    ),
    "processes.no-zombies": Requirement("design 8, 11", "No dead child of the host is left unreaped."),
    "processes.leaving": Requirement(
        "design 8, 11", "Workers end with their supervisor, whichever way its block is left."
    ),
    "processes.host-dies": Requirement(
        "design 11", "When the host itself is killed, its workers and their groups end."
    ),
    "processes.host-forks": Requirement(
        "design 11", "A child that the host forked keeps no worker alive when the host is killed."
    ),
    "processes.never-cancelled": Requirement(
        "design 5, 8", "A tool that must never be cancelled is killed only when its supervisor is left."
    ),
}

_WATCHING: Final[Mapping[str, Requirement]] = {
    "watching.snapshot-facts": Requirement(
        "design 6", "A snapshot shows who called what, when, where, and how far it is."
    ),
    "watching.snapshot-immutable": Requirement("design 6", "A snapshot never changes."),
    "watching.snapshot-discreet": Requirement(
        "design 6, armorer-core 11",
        "A snapshot holds no arguments, results, credentials or authority.",
        divergence="Snapshots elsewhere carry the result; ours can be shown to anybody who may see that the call exists.",
    ),
    "watching.progress": Requirement(
        "design 6, armorer-core 1K", "Progress shows in the snapshot and is a revision of its own."
    ),
    "watching.declared-waits": Requirement(
        "design 6, armorer-core 1K", "Of several declared waits one that is still open is shown."
    ),
    "watching.inspect": Requirement(
        "design 6", "`inspect` and `locate` show the newest snapshots, of the executions that were asked for, in order."
    ),
    "watching.inspect-privileged": Requirement("design 6", "Only the privileged looks show arguments."),
    "watching.retention": Requirement(
        "design 6, armorer-core 10", "Ended executions are kept up to a count and an age; a handle keeps its own."
    ),
    "watching.begins-with-live": Requirement(
        "design 6",
        "A subscription begins with everything that is live, and with nothing that is over.",
    ),
    "watching.newest-only": Requirement(
        "design 6",
        "Each step shows the newest snapshot of the next changed execution; `missed` says what was overtaken.",
    ),
    "watching.selection": Requirement("design 6", "A subscription shows only the executions that it selected."),
    "watching.many": Requirement("design 6", "Any number of subscribers follow at their own paces."),
    "watching.last-revision": Requirement(
        "design 6", "A subscriber sees the last revision of every execution that it selected, unless it was forgotten."
    ),
    "watching.strictly-growing": Requirement("design 6", "The revisions of one execution grow strictly."),
    "watching.counters": Requirement("design 6", "`missed` and `forgotten` count exactly what was not shown."),
    "watching.stalled-costs-nothing": Requirement(
        "design 6", "A stalled subscriber holds nothing up, and keeps nothing alive that is over and forgotten."
    ),
    "watching.checkpoints": Requirement(
        "design 6",
        "A step is a checkpoint when it has caught up, or every 64 steps; whatever else waits is always one.",
    ),
    "watching.decided-in-grace": Requirement(
        "design 6", "An outcome that is decided while a grace runs is a revision of its own."
    ),
    "watching.cancelled-step": Requirement("design 6", "A cancelled wait or step loses nothing and changes nothing."),
    "watching.events": Requirement(
        "design 6, armorer-core 4B", "Typed events come in the order in which things happened, in one numbering."
    ),
    "watching.owner": Requirement(
        "design 6, armorer-core 4B",
        "Every event of a call carries its owner, absent when neither the call nor its context names one.",
    ),
    "watching.ways-to-end": Requirement(
        "design 6, armorer-core 1P, armorer-core 2G, armorer-core 2K, armorer-core 3E, armorer-core 4B, armorer-core 4C, armorer-core 8A, armorer-core 8C",
        "Each way to end a call tells the same events in the same order, from its admission to its end.",
    ),
    "watching.whose-event": Requirement(
        "design 6, armorer-core 4B, armorer-core 10",
        "What a tool tells carries the execution that tells it, whatever else the same tool is doing.",
        divergence="Elsewhere calls of one tool that run at once repeat each other's events as their own.",
    ),
    "watching.payloads": Requirement(
        "design 6, armorer-core 1U, armorer-core 2M, armorer-core 4B, armorer-core 11",
        "Chunks, checkpoints and data go only to readers who ask for payloads.",
    ),
    "watching.lagged": Requirement(
        "design 6, armorer-core 4E",
        "A reader that falls behind loses the oldest events, and is told where and how many.",
    ),
    "watching.revision-rule": Requirement(
        "design 6", "When an event is delivered, a look shows at least the revision that it names."
    ),
    "watching.exactly-once": Requirement(
        "design 6, armorer-core 2G, armorer-core 4B, armorer-core 4C, armorer-core 10",
        "OutcomeDecided and ExecutionSettled come exactly once for each execution, in this order.",
    ),
}

_PROVIDERS: Final[Mapping[str, Requirement]] = {
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
        "calls with something after them are not affected.",
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

_KITS: Final[Mapping[str, Requirement]] = {
    "kits.background.round-trip": Requirement(
        "design section 4",
        "A model starts a call, goes on, and comes back for exactly the result that a direct call would have given.",
    ),
    "kits.background.own-only": Requirement(
        "design section 9", "A model sees and touches background calls of its own owner only, whatever ids it tries."
    ),
    "kits.background.await": Requirement(
        "design section 6", "Waiting for a background call is a declared wait, bounded, and changes nothing about it."
    ),
    "kits.background.await-never-hangs": Requirement(
        "design section 9",
        "A model is told at once when waiting for a background call would never end, because it holds what that needs.",
    ),
    "kits.background.cancel": Requirement(
        "design section 8", "Cancelling a background call answers what it did, and whether it was honoured."
    ),
    "kits.background.which": Requirement(
        "design section 4", "Only the tools that the host allows are started in the background, never those of the kit."
    ),
    "kits.background.refused": Requirement(
        "design section 7",
        "A call that is refused at once is told at once, with the reason, and leaves nothing behind.",
    ),
    "kits.background.bounded": Requirement(
        "design section 9",
        "How many run, how many results are kept and how long is bounded, and what is lost is counted.",
    ),
    "kits.background.text": Requirement(
        "field case 97", "A long result comes in parts that follow each other and lose nothing."
    ),
    "kits.background.notices": Requirement(
        "design section 6",
        "A host is told once of every end of a background call, also when it came late, left, or stalled meanwhile.",
    ),
    "kits.background.options": Requirement("design section 5", "A wrong option of the kit says what would be right."),
    "kits.jail.inside": Requirement(
        "design 4, surroundings 6.2",
        "A relative path that stays inside the root is read, ``.`` and ``..`` within it included.",
    ),
    "kits.jail.inner-links": Requirement(
        "design 4, surroundings 6.2",
        "A link whose target stays inside the root is followed, relative or absolute.",
    ),
    "kits.jail.root-link": Requirement(
        "design 4, surroundings 6.2",
        "The root may be a link; once opened it stays the same directory, whatever its path leads to later.",
    ),
    "kits.jail.escape-refused": Requirement(
        "design 4, surroundings 6.2, surroundings 6.3, surroundings 9, armorer-core 3B",
        "A path that is absolute, or leaves the root by ``..`` or by a link, is refused as a matter of permission, and no message tells where the root is.",
        "Elsewhere the message shows the absolute root to the model.",
    ),
    "kits.jail.malformed-refused": Requirement(
        "design 4, surroundings 6.2",
        "Text that cannot be a path is refused as invalid, in a message of readable length.",
    ),
    "kits.jail.errors-told": Requirement(
        "design 7, surroundings 6.3",
        "Missing files are not found, refused ones a matter of permission, and running out of handles is transient.",
    ),
    "kits.jail.special-files": Requirement(
        "design 4, surroundings 6.3",
        "Directories, pipes, sockets and devices are refused, and opening one never waits.",
    ),
    "kits.jail.dangling-link": Requirement(
        "design 4, surroundings 6.2",
        "A link to nothing is refused; one that leads out is refused before its target is looked at.",
        "Elsewhere a dangling link that leads out passes the check.",
    ),
    "kits.jail.link-loop": Requirement(
        "field case 100",
        "A loop of links ends in an error.",
    ),
    "kits.jail.race": Requirement(
        "design 4, surroundings 6.2",
        "What is swapped, moved or linked while a path is walked never leads out of the root.",
        "Elsewhere the path is checked first and opened later.",
    ),
    "kits.jail.handles-closed": Requirement(
        "design 4",
        "No handle stays open, however a read or a search ends.",
    ),
    "kits.jail.close": Requirement(
        "design 4",
        "A closed root reads no more, operations under way keep theirs, and one that nobody holds closes itself.",
    ),
    "kits.jail.wrong-root": Requirement(
        "design 5, surroundings 6.2",
        "A root that is no directory, or a system that cannot open by handle, is an error when the kit is made.",
    ),
    "kits.names.undecodable": Requirement(
        "design 4",
        "A name that is no UTF-8 is written as plain text in results, and that text leads back to the file.",
    ),
    "kits.read.lines": Requirement(
        "design 4, surroundings 6.3, surroundings 12.6",
        "A read gives the lines asked for, says where they are, and says whether more follows.",
    ),
    "kits.read.exact": Requirement(
        "field case 98, surroundings 6.3",
        "Slices joined with line feeds are the file's text to the byte: line ends and byte order marks are kept.",
        "Elsewhere a last line feed counts as an empty line.",
    ),
    "kits.read.byte-cap": Requirement(
        "field case 97, surroundings 6.3, surroundings 9, surroundings 12.6",
        "A result holds at most the byte cap, cut between lines, or within a line that alone is longer, between two characters; the rest can be read on from there.",
        "Elsewhere nothing beyond the cap can ever be read, and a split character is replaced.",
    ),
    "kits.read.large-file": Requirement(
        "design 4, surroundings 6.3, surroundings 9",
        "Any line of a large file can be read; the total is None when counting it would cost too much.",
    ),
    "kits.read.binary": Requirement(
        "design 4, surroundings 6.3",
        "A binary file is an error that says what it is.",
        "Elsewhere its bytes are returned as if they were text.",
    ),
    "kits.read.invalid-utf8": Requirement(
        "design 4, surroundings 6.3",
        "Bytes that are no UTF-8 are replaced, and counted.",
    ),
    "kits.read.bad-numbers": Requirement(
        "design 5, surroundings 6.3",
        "Offsets and limits out of range are refused.",
    ),
    "kits.search.cancel": Requirement(
        "design 5, surroundings 6.4",
        "A read or a search stops where its caller asks it to: within a large tree, a large directory and a long file.",
    ),
    "kits.search.order": Requirement(
        "design 4, surroundings 6.4, surroundings 6.5, surroundings 9",
        "Results come sorted, name by name, the same every time.",
        "Elsewhere they come in the order of the directory.",
    ),
    "kits.search.skips-counted": Requirement(
        "field case 100, surroundings 6.4",
        "What a search did not look at is counted by reason and said in words.",
        "Elsewhere it is passed over in silence.",
    ),
    "kits.search.links-end": Requirement(
        "field case 100, surroundings 6.4, surroundings 6.5",
        "Links are followed only where the pattern names them, so a loop of links cannot hold a search, and none leads out.",
    ),
    "kits.search.deep-tree": Requirement(
        "design 4",
        "A tree of any depth is walked, with a bounded number of handles.",
    ),
    "kits.search.exhaustion": Requirement(
        "design 7",
        "Running out of handles is an error, never a file skipped.",
    ),
    "kits.grep.matches": Requirement(
        "design 4, surroundings 6.4",
        "A search gives path, line number and text of every line that matches.",
    ),
    "kits.grep.files": Requirement(
        "design 4, surroundings 6.4",
        "A glob selects the files to search; without a slash it means any depth, and a directory means all that is below it.",
    ),
    "kits.grep.flags": Requirement(
        "design 4, surroundings 6.4",
        "The flags i, m and s are known, others are refused.",
    ),
    "kits.grep.linear-time": Requirement(
        "field case 100, surroundings 6.4, surroundings 9",
        "No pattern takes more than linear time; a line too long for a large pattern is passed over and counted.",
    ),
    "kits.grep.bad-pattern": Requirement(
        "field case 100, surroundings 6.4",
        "A wrong pattern is an error that says what is wrong and where, never an empty result.",
    ),
    "kits.grep.truncated": Requirement(
        "design 4, surroundings 6.4, surroundings 9, surroundings 12.6",
        "A search is truncated exactly when there is one more match.",
        "Elsewhere also when there are exactly as many as asked for.",
    ),
    "kits.grep.long-lines": Requirement(
        "field case 97, surroundings 6.4",
        "A long line is cut around its match, between two characters, and says how much was left out.",
    ),
    "kits.grep.line-ends": Requirement(
        "design 4",
        "A line that ends with carriage return and line feed matches like any other.",
    ),
    "kits.grep.stream": Requirement(
        "field case 30",
        "Matches are yielded as they are found; the value is the reducer's result of them and the summary.",
    ),
    "kits.glob.patterns": Requirement(
        "design 4, surroundings 6.5",
        "Patterns know ``*``, ``?``, ``[...]``, ``**``, ``{a,b}`` and a trailing slash; a name that equals the pattern always matches.",
    ),
    "kits.glob.truncated": Requirement(
        "design 4, surroundings 6.5",
        "A listing is truncated exactly when there is one more path.",
    ),
    "kits.glob.refused": Requirement(
        "design 4, surroundings 6.5, surroundings 12.6",
        "A pattern that is absolute, climbs or names a home directory is refused, and so is one that is no pattern.",
    ),
    "kits.tools.declared": Requirement(
        "design 5, surroundings 6.6",
        "The tools only read, their output is untrusted, they run in worker threads, and their names may be chosen.",
    ),
    "kits.tools.extra": Requirement(
        "design 5",
        "A missing package is named with the extra that brings it; nothing is done without it in silence.",
    ),
    "kits.tools.run": Requirement(
        "design 17",
        "Under a supervisor the tools read, stream, report progress, refuse and stop like any others.",
    ),
}

_CLI: Final[Mapping[str, Requirement]] = {
    "cli.run.result-lines": Requirement(
        "design section 13",
        "Each call that was read has one JSON line: outcome, value, error, effect, words for the model.",
    ),
    "cli.run.formats": Requirement(
        "design section 13",
        "Results come as messages ready to send back to any of the providers, whoever made the calls.",
    ),
    "cli.run.any-value": Requirement(
        "field case 101", "What has no JSON form is left out of its line, which says so; the line stays valid."
    ),
    "cli.run.owner": Requirement("design section 6", "All calls of a run belong to the owner that the user names."),
    "cli.run.error-detail": Requirement("design section 7", "Exceptions that no tool declared can be kept back."),
    "cli.run.kit": Requirement("design section 4", "A kit is named with its root, and combines with other tools."),
    "cli.run.other-calls": Requirement(
        "design section 13", "Calls of other types are left alone, and the last line counts them."
    ),
    "cli.input.shapes": Requirement(
        "design section 13",
        "The input is calls, messages of any provider, or a transcript, told by its shape, over one line or many.",
    ),
    "cli.input.plain-calls": Requirement(
        "field cases 54 and 55",
        "Plain calls are numbered where they have no id; broken arguments are a result and nothing runs.",
    ),
    "cli.input.truncated": Requirement(
        "field case 56", "The last call of a message that was cut off is answered as truncated, and never runs."
    ),
    "cli.input.no-calls": Requirement("design section 13", "A message without calls gives no lines and is no error."),
    "cli.input.said": Requirement("design section 13", "The user can say what the input is."),
    "cli.exit.bug": Requirement(
        "design section 6", "A bug of ours or an interrupt never looks like a call that merely failed."
    ),
    "cli.input.bad": Requirement(
        "field cases 48 and 55",
        "Every unusable input gets one line that says where and what would be right, and code 2; nothing of it runs.",
    ),
    "cli.input.size": Requirement(
        "field case 48", "A line or document over the bound is refused before it is read whole."
    ),
    "cli.debug": Requirement("design section 13", "Tracebacks of bad input are shown only when they are asked for."),
    "cli.stderr.plain": Requirement(
        "field case 101", "Nothing from input or tools can steer the terminal through a line on stderr."
    ),
    "cli.stdout.only-results": Requirement(
        "field case 101", "Standard output has nothing but results, whatever modules, tools and their children print."
    ),
    "cli.tools.named": Requirement(
        "design section 13",
        "Tools are named as module:attribute: a Toolbox, a tool, a list, or a function that makes one; several combine.",
    ),
    "cli.tools.bad": Requirement(
        "design section 5", "Tools that cannot be loaded get one line with the reason and place."
    ),
    "cli.tools.listed": Requirement(
        "design section 13", "The tools of a toolbox are listed for people and for programs."
    ),
    "cli.tools.manifest": Requirement(
        "design section 13", "Tools may come from a manifest, whose faults get one line."
    ),
    "cli.search": Requirement(
        "design section 13", "Tools are found by what they are for, best first, for people and for programs."
    ),
    "cli.help": Requirement("design section 13", "The command explains itself: help, examples, exit codes, version."),
    "cli.usage": Requirement("design section 13", "Wrong usage gets one line and code 2."),
    "cli.extra": Requirement("design section 4", "Without its extra the command says which one to install."),
    "cli.signal.drain": Requirement(
        "field case 10",
        "The first SIGINT or SIGTERM drains by default and says so; work that finishes in time succeeds.",
    ),
    "cli.signal.abort": Requirement(
        "design section 8", "The second signal aborts, however quickly it follows the first."
    ),
    "cli.signal.at-once": Requirement(
        "design section 8", "The third signal exits at once with a list, even while a tool blocks the event loop."
    ),
    "cli.signal.hangup": Requirement("design section 8", "A closed terminal drains like SIGTERM."),
    "cli.exit.interrupted": Requirement(
        "design section 7",
        "When a tool raises KeyboardInterrupt, the results of calls that had ended are written before the run exits.",
    ),
    "cli.signal.ignored": Requirement(
        "design section 8", "A signal that was ignored when the command was started stays ignored."
    ),
    "cli.input.streamed": Requirement(
        "design section 13", "JSON Lines are run as they come, while the pipe that they come through stays open."
    ),
    "cli.run.order": Requirement(
        "design section 16", "Results come in the order of the calls, or as they end when that is asked for."
    ),
    "cli.run.transcript": Requirement(
        "design section 13", "The messages of a transcript run one after the other, the calls of one message together."
    ),
    "cli.run.back-pressure": Requirement(
        "design section 13", "Reading pauses while as many calls wait as may; nothing is refused or held without bound."
    ),
    "cli.run.deadline": Requirement("design section 8", "A deadline ends every call and the reading of the input."),
    "cli.run.timeout": Requirement("design section 8", "A timeout is for each call."),
    "cli.run.fail-fast": Requirement("design section 16", "Failing fast is explicit; it stops the whole run."),
    "cli.stdout.closed-pipe": Requirement(
        "field case 101", "A reader that goes away is quiet: what runs is aborted, the exit code says so."
    ),
    "cli.stdout.unwritable": Requirement(
        "field case 101", "An output that cannot be written, or a closed stream, is one line and no traceback."
    ),
    "cli.stdout.any-locale": Requirement(
        "field case 101", "Standard output is valid JSON Lines, the same bytes in any locale, lone surrogates included."
    ),
    "cli.streams.non-blocking": Requirement(
        "field case 101", "Pipes that somebody made non-blocking are read and written."
    ),
    "cli.live.shows": Requirement(
        "design section 13",
        "The live view shows what runs, waits, streams and is stopped, progress, limits and the queue.",
    ),
    "cli.live.terminal": Requirement(
        "design section 13",
        "On a terminal the view is shown while calls run and wiped away afterwards; NO_COLOR is respected.",
    ),
    "cli.live.quiet": Requirement(
        "design section 13",
        "Where stderr is no terminal nothing is said while all is well, unless a view is asked for.",
    ),
    "cli.live.harmless": Requirement("design section 2", "A view that cannot be drawn ends; the run goes on."),
    "cli.exit.codes": Requirement(
        "design section 8", "The exit code and the last lines on stderr say what ended how, by one table."
    ),
}

_COMPOSITION: Final[Mapping[str, Requirement]] = {
    "composition.steps": Requirement(
        "design 6, surroundings 4.1, surroundings 9",
        "Each step of a composed tool is an execution of its own below that of the whole.",
    ),
    "composition.kinds": Requirement(
        "design 4, surroundings 4.1",
        "Tools of every kind of function and of contract, and composed ones, can be composed.",
    ),
    "composition.call": Requirement("design 5, surroundings 4.1", "Host code may call a composed tool as a function."),
    "composition.middleware": Requirement("design 12", "A step keeps the middleware that is bound to it."),
    "composition.defined": Requirement(
        "design 5, surroundings 4.2", "What cannot be composed is refused where it is composed."
    ),
    "composition.names": Requirement(
        "design 13, surroundings 4.1, surroundings 4.2, surroundings 9",
        "A composed tool has a name that every provider takes, made of those of its parts unless one is given.",
        divergence="Elsewhere it is called `pipe(a, b)`, which no provider takes.",
    ),
    "composition.strictest": Requirement(
        "design 5, surroundings 4.1, surroundings 9, surroundings 12.6",
        "A composed tool is as dangerous as its most dangerous part, and read-only only if all are; permissions, targets, "
        "tags and metadata are together.",
        divergence="Elsewhere the risk is lost, and a dangerous tool passes where none may.",
    ),
    "composition.whole": Requirement(
        "design 5, surroundings 4.1",
        "A deprecated part makes the whole deprecated, and one that needs a key makes the whole need one.",
    ),
    "composition.availability": Requirement(
        "design 3, surroundings 4.1, surroundings 9",
        "A composed tool is available where all its parts are; a hook that raises says no.",
    ),
    "composition.approval": Requirement(
        "design 12",
        "A step that needs an approval asks itself, with what it will run with; the whole does not ask, too.",
    ),
    "composition.failure": Requirement(
        "design 7, surroundings 4.1, surroundings 4.2, surroundings 4.6",
        "What a step failed with is what the whole fails with: category, code, retryable and details; in a pipe and in "
        "parallel the error says which step it was.",
        divergence="Elsewhere only the message survives, as an internal error.",
    ),
    "composition.effect": Requirement("design 7", "The effect of a composed tool is the strongest of its steps."),
    "composition.pause": Requirement(
        "design 12, surroundings 4.1, surroundings 9, surroundings 12.6",
        "A step that needs an action of somebody's ends the whole with its result, and no later step runs.",
        divergence="Elsewhere such a pause becomes an empty success, or is fed to the next step.",
    ),
    "composition.abort": Requirement(
        "design 8, surroundings 4.1, surroundings 4.2, surroundings 4.7",
        "Whoever stops the whole stops its steps, within their grace; none begins afterwards, and the end is a "
        "cancellation, no failure of a step.",
    ),
    "composition.cancelled-at-every-await": Requirement(
        "design 15", "A composed tool may be cancelled at each await, and leaves no step running."
    ),
    "composition.deadline": Requirement(
        "design 8, surroundings 4.1", "Steps share the deadline of the whole, and keep their own timeouts."
    ),
    "composition.limits": Requirement(
        "design 9", "A composed tool and its steps, of the same tool, too, never wait for each other's place."
    ),
    "composition.events": Requirement(
        "design 6, surroundings 4.2, surroundings 4.6, surroundings 4.7, surroundings 12.6",
        "Events tell which step begins, is complete or failed.",
    ),
    "composition.pipe": Requirement(
        "design 4, surroundings 4.1, surroundings 4.2, surroundings 12.6",
        "A pipe gives what each step answers to the next one, which validates it: a mapping by name, anything else as its "
        "first required parameter.",
        divergence="Elsewhere a dict that looks like a call is taken for one.",
    ),
    "composition.bind": Requirement(
        "design 4, surroundings 4.3, surroundings 12.6",
        "A bound argument leaves the schema and reaches the tool in each call.",
    ),
    "composition.bind.closed": Requirement(
        "design 5, surroundings 4.3",
        "A caller who gives a bound argument is refused like for any unknown one, and is not told what is bound.",
        divergence="Elsewhere it is silently ignored.",
    ),
    "composition.bind.checked": Requirement(
        "design 5, surroundings 4.3, surroundings 12.6",
        "Unknown names and illegal values are refused when they are bound.",
        divergence="Elsewhere values are only checked in a call.",
    ),
    "composition.when": Requirement(
        "design 4, surroundings 4.5, surroundings 12.6",
        "A predicate chooses between two tools; without the second one the arguments are the value.",
    ),
    "composition.tap": Requirement(
        "design 4, surroundings 4.4",
        "An observer sees the value of a success and does not change it, also when it fails, unless it is asked to.",
        divergence="Elsewhere a failing observer fails a call that has taken effect.",
    ),
    "composition.mapping": Requirement(
        "design 4, surroundings 4.8",
        "Functions map what goes into a tool, which validates it, and what comes out of it.",
    ),
    "composition.parallel": Requirement(
        "design 4, surroundings 4.6, surroundings 12.6",
        "Several tools run at once with those of the arguments that they have; values come in the order of the tools.",
    ),
    "composition.parallel.on-error": Requirement(
        "design 16, surroundings 4.6, surroundings 9",
        "When one fails the others go on and the error names which, or they are stopped, or all ends are collected, as "
        "it was asked for.",
        divergence="Elsewhere the others run on after the call has ended.",
    ),
    "composition.retry": Requirement(
        "design 3, surroundings 4.7, surroundings 12.6, armorer-core 1T",
        "A call that failed in passing is made again, as often and after as long as the policy says; a refusal is not.",
        divergence="Elsewhere everything is retried: refusals, cancellations, and what has changed something.",
    ),
    "composition.like-any": Requirement(
        "design 4, surroundings 4.1, surroundings 9, surroundings 12.6",
        "A composed tool runs by its name, for models of every provider and among middleware, is queried, and is "
        "written down and read back.",
        divergence="Elsewhere `pipe` and `parallel` fail in every toolbox, and fences and risk are lost.",
    ),
    "composition.passed-on": Requirement(
        "design 6, surroundings 4.1, surroundings 9",
        "A step has the context, owner, authority and metadata of the whole, and may ask whom the whole may ask.",
        divergence="Elsewhere only the signal, the timeout and the stream are passed on.",
    ),
    "composition.retry.never": Requirement(
        "design 8, surroundings 4.7",
        "Nothing is retried after an effect, while the supervisor drains, or when the wait would outlast the deadline.",
    ),
}

_EXAMPLES: Final[Mapping[str, Requirement]] = {
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
}

_HOSTS: Final[Mapping[str, Requirement]] = {
    "asyncio.native": Requirement(
        "design 13",
        "What a supervisor offers is awaited natively in an asyncio program, under the standard loop and uvloop.",
    ),
    "asyncio.own-work": Requirement(
        "design 13", "A program makes 1,000 calls at once while the loop goes on with the program's own work."
    ),
    "asyncio.abort-answers": Requirement(
        "design 8", "An execution that is aborted answers its asyncio caller a result."
    ),
    "asyncio.cancel": Requirement(
        "design 8",
        "A cancelled asyncio task aborts its execution, source `caller`, and ends only when the body is gone or was "
        "left behind.",
    ),
    "asyncio.cancel-everywhere": Requirement(
        "design 15",
        "Cancelled at any round of the loop, a coroutine of the host leaves nothing running, pending or lost.",
    ),
    "asyncio.timeouts": Requirement(
        "design 8", "`asyncio.timeout` and `wait_for` round calls work, nested ones and late ones, too."
    ),
    "asyncio.leave": Requirement(
        "design 8",
        "Leaving the block normally drains; leaving it by an exception or a cancellation aborts; the exception leaves "
        "as it is, and the report is set.",
    ),
    "asyncio.nothing-pending": Requirement(
        "design 13", "A host that was left leaves no task, no pending future and no busy thread behind."
    ),
    "asyncio.context": Requirement(
        "field case 93",
        "Context variables of the calling asyncio task reach the tool, and what a tool sets reaches nobody.",
    ),
    "asyncio.not-nested": Requirement(
        "design 6", "A call that asyncio code makes is never nested; one that a tool makes through the host is."
    ),
    "asyncio.raises": Requirement(
        "design 7", "Whatever a tool raises harms neither the loop nor another call, asyncio's own exceptions included."
    ),
    "asyncio.fall": Requirement(
        "design 7", "When the supervisor falls, the block is cancelled, and what made it fall is raised in its place."
    ),
    "asyncio.read": Requirement(
        "design 13",
        "Streams, snapshots and events are read with `async for`; a cancelled step loses nothing, leaving a stream "
        "stops its tool, and a reader that stalls holds nobody up.",
    ),
    "asyncio.read-end": Requirement(
        "design 13", "Readers of a host that closes get what there is, and then their iteration ends."
    ),
    "asyncio.elicit": Requirement(
        "design 5", "Questions to a person are asked by an asyncio function, which is cancelled when one is withdrawn."
    ),
    "asyncio.one-host": Requirement(
        "design 13", "Hosts may follow each other in a loop; a second one at the same time in a thread is refused."
    ),
    "asyncio.signals": Requirement("design 13", "Signals belong to the asyncio program, before, during and after."),
    "asyncio.lost-loop": Requirement(
        "design 13",
        "A loop that is closed under an open host is reported with what is lost; thrown away, the host aborts "
        "everything, and its thread can open another.",
    ),
    "portal.native": Requirement(
        "design 1", "A program without an event loop makes calls that block, from as many threads as it likes."
    ),
    "portal.timeouts": Requirement(
        "design 8", "Waiting for a handle may be bounded; the execution goes on when the time is over."
    ),
    "portal.interrupted": Requirement(
        "design 8", "KeyboardInterrupt in a waiting thread aborts that call, and the host stays usable."
    ),
    "portal.stream": Requirement(
        "design 10", "Chunks are read with `for`; leaving early stops the tool, closing the host ends the iteration."
    ),
    "portal.leave": Requirement(
        "design 8",
        "Leaving the block normally drains, by an exception aborts; the thread is gone and the report is set.",
    ),
    "portal.closed": Requirement(
        "design 8", "A call after the end, and one from trio's own thread, are refused with words, not a hang."
    ),
    "portal.context": Requirement(
        "field case 93", "Context variables of the calling thread reach the tool; calls of threaded tools are nested."
    ),
    "portal.loop": Requirement(
        "design 7", "A blocking host is refused in a thread that runs an asyncio loop, with what to open there instead."
    ),
    "portal.fall": Requirement("design 7", "When the supervisor falls, leaving the block raises what made it fall."),
    "hosts.exit": Requirement(
        "design 8", "A program that exits with a host open exits, and stops what can be stopped first."
    ),
}

_TESTING: Final[Mapping[str, Requirement]] = {
    "testing.seed": Requirement(
        "design 15, surroundings 6.1",
        "One seed gives one order of tasks, the same in every process; all orders that trio allows have a seed.",
    ),
    "testing.seed.restores": Requirement(
        "design 15",
        "After a seeded run trio's scheduler and its random numbers go on as if nothing had been.",
    ),
    "testing.seed.refuses": Requirement(
        "design 15",
        "A seeded run within a trio run or beside another one is refused, and so is a version of trio whose schedule "
        "cannot be chosen; either way in words.",
    ),
    "testing.seed.failure": Requirement(
        "design 15",
        "Whatever a scenario raises leaves with the seed that repeats it; of many schedules the first that fails is "
        "named.",
    ),
    "testing.seed.function": Requirement(
        "design 15",
        "What is no async function is refused with what would be right, and is no failure under some seed.",
    ),
    "testing.seed.hang": Requirement(
        "design 15",
        "A scenario in which everybody waits for ever fails instead of hanging.",
    ),
    "testing.ids": Requirement(
        "design 1, surroundings 6.1, armorer-core 1A",
        "Ids that nobody chose can be made the same in each run.",
    ),
    "testing.inline": Requirement(
        "design 15, surroundings 6.1",
        "A toolbox can be tested without threads: its `def` tools run on trio's thread, under its clock and seed, and "
        "what would block there says so.",
    ),
    "testing.mock": Requirement(
        "design 1, surroundings 6.1",
        "A mock tool answers, fails, streams and takes time as it was told, and keeps what it was called with.",
    ),
    "testing.mock.stand-in": Requirement(
        "design 1",
        "A mock tool can take the place of a tool, with its id, its contract and its declarations.",
    ),
    "testing.mock.wrong": Requirement(
        "design 1",
        "A mock tool that contradicts itself is refused where it is made.",
    ),
    "testing.sample": Requirement(
        "design 1",
        "There is a toolbox of tools that each do one thing a host has to cope with.",
    ),
    "testing.mock.told": Requirement(
        "surroundings 6.1",
        "A mock tool can be told what to do at any time, and be reset to what it did at first, without calls.",
    ),
    "testing.mock.sequence": Requirement(
        "surroundings 6.1",
        "A mock tool gives values and failures in turn; a sequence that is used up says so, or repeats its last "
        "answer.",
    ),
    "testing.mock.arguments": Requirement(
        "surroundings 6.1",
        "A mock tool answers by its arguments, from a list or by a function.",
    ),
    "testing.mock.stream": Requirement(
        "surroundings 6.1",
        "A mock tool streams with pauses and fails in the middle, as it was told.",
    ),
    "testing.record": Requirement(
        "surroundings 6.1, surroundings 9",
        "Every call that a supervisor is asked for is recorded in order with its result: nested, refused, not "
        "found, paused, cancelled and streamed ones too, by every door.",
    ),
    "testing.record.query": Requirement(
        "surroundings 6.1",
        "The history of a supervisor can be asked by tool, outcome, code, effect, owner, nesting and whether it "
        "ran, and be cleared.",
    ),
    "testing.record.assert": Requirement(
        "surroundings 6.1",
        "Assertions about the history of a supervisor say what was there when they fail.",
    ),
    "testing.record.late": Requirement(
        "design 7",
        "What is known about an effect only later is in the history, too.",
    ),
    "testing.record.quiet": Requirement(
        "design 6",
        "Recording changes nothing about the calls, and ends with its block.",
    ),
    "testing.script": Requirement(
        "design 4, surroundings 6.1",
        "A scripted model says its turns as complete messages of each provider, which the provider's own SDK accepts.",
    ),
    "testing.script.answers": Requirement(
        "design 13",
        "A scripted model reads its answers like the provider it stands for, and refuses what that one would refuse.",
    ),
    "testing.script.conversation": Requirement(
        "design 4",
        "A whole conversation between a scripted model and a supervisor can be played, and is answered as a "
        "transcript.",
    ),
    "testing.script.wrong": Requirement(
        "design 4",
        "Whatever goes wrong in a scripted conversation names the turn.",
    ),
    "testing.rules": Requirement(
        "surroundings 6.1",
        "Rules for every tool of a toolbox are checked all at once, and all tools that break them are listed with "
        "the reason.",
    ),
    "testing.rules.own": Requirement(
        "surroundings 6.1",
        "A rule of one's own can be written as a condition, also for some tools only.",
    ),
    "testing.plugin": Requirement(
        "design 4",
        "pytest finds the fixtures through an entry point; they work with pytest-trio, and a test that fails shows "
        "its calls.",
    ),
    "testing.plugin.light": Requirement(
        "design 4",
        "A test run that uses none of the fixtures does not load the library.",
    ),
}


_PROOF: Final[Mapping[str, Requirement]] = {
    "engine.model": Requirement(
        "design 15",
        "Whatever clients and tools do, in whatever order: every admitted call ends once and is reported, no limit is "
        "exceeded, what conflicts never overlaps and keeps its order, nobody waits for what is free, effects are as "
        "the table says, limits of time are kept, and nothing is left.",
    ),
    "engine.cancelled-at-every-await": Requirement(
        "design 15",
        "Every public coroutine may be cancelled at each of its awaits: what it called is stopped, what it only "
        "watched goes on, nothing is lost and nothing is left.",
    ),
    "engine.faults": Requirement(
        "design 7, llm-core 1.7, armorer-core 1J",
        "Whatever a tool throws, from whatever kind of function and at whatever moment, is the end of its own call, "
        "with the effect of the table, and of nothing else.",
    ),
    "engine.faults.interrupt": Requirement(
        "design 7",
        "A KeyboardInterrupt leaves the supervisor bare and aborts everything, from whatever kind of function.",
    ),
    "engine.faults.cancelled-by-others": Requirement(
        "design 7",
        "A cancellation that a tool kept from elsewhere is that call's own failure, also deep in a group.",
    ),
    "engine.context-with-input": Requirement(
        "design 5",
        "A function with a declared input gets its context like any other.",
    ),
}

_MIDDLEWARE: Final[Mapping[str, Requirement]] = {
    "middleware.order": Requirement(
        "design 16.11, surroundings 3.2, armorer-core 2B",
        "The middleware that is listed first is outermost.",
        divergence="Elsewhere the last one is; fences would then be closed before the text in them is cut.",
    ),
    "middleware.call": Requirement(
        "design 3", "A middleware sees the validated call, defaults filled in, and can change nothing of it."
    ),
    "middleware.answers": Requirement(
        "design 3, 7",
        "What the outermost middleware answers is the value; one that does not go on keeps the tool idle.",
    ),
    "middleware.raises": Requirement(
        "design 7", "What a middleware raises or swallows decides the outcome, and never what the world has seen."
    ),
    "middleware.definition": Requirement(
        "design 5, surroundings 3.2, armorer-core 2B",
        "What is no middleware is refused when the toolbox is made, and the error says what would be one.",
    ),
    "middleware.bind": Requirement(
        "design 12, surroundings 3.2, armorer-core 2B",
        "A middleware with a `bind` decides once for each tool what stands around it, or that nothing does.",
    ),
    "middleware.once": Requirement(
        "design 12, surroundings 3.2, armorer-core 2B, armorer-core 2D, armorer-core 10",
        "Middleware is bound to a tool when it enters its first toolbox that has any; no other toolbox takes it off or "
        "puts another one on.",
    ),
    "middleware.everywhere": Requirement(
        "design 3, surroundings 3.2, surroundings 3.7, surroundings 8, surroundings 9, armorer-core 2B, armorer-core 10",
        "However a tool was made and through whatever door it is called, its middleware stands around it.",
        divergence="Elsewhere a toolbox calls the raw function of a tool past its middleware.",
    ),
    "middleware.stages": Requirement(
        "design 10",
        "The chunks of a generator tool go through the stages of its middleware from the inside out, wherever it runs; "
        "a stage that raises fails its own call and nothing else.",
    ),
    "middleware.stream-around": Requirement(
        "design 10",
        "A middleware may stand around a whole stream, and one that does not answer its chunks has kept it from running.",
    ),
    "middleware.no-peeking": Requirement(
        "design 3", "Nobody sees a part of a value that a middleware was promised as a whole before it has it."
    ),
    "middleware.attempts": Requirement(
        "design 3, 6",
        "Going on again is another attempt of the same execution, refused when something may have happened before, when "
        "it was asked to stop, when the supervisor takes no new work, and when a reader has chunks of it already.",
    ),
    "middleware.call-next": Requirement(
        "design 3", "`call_next` is for one task at a time, and dead once the outcome of its call is decided."
    ),
    "middleware.stopped": Requirement(
        "design 7, 8",
        "Stopped inside a middleware, a call says truly whether its tool had begun and whether it took effect.",
    ),
    "middleware.own-scope": Requirement(
        "design 7, 8",
        "A middleware may stop waiting for its tool: what can be stopped is gone before it goes on, what cannot be ends "
        "the execution and is watched to its end, and what must never be cancelled is not.",
    ),
    "middleware.stray": Requirement(
        "design 2", "A tool that its middleware let go of is stopped, and gone, before its execution ends."
    ),
    "middleware.cancelled-at-every-await": Requirement(
        "design 15",
        "Each of our middlewares can be stopped at each of its awaits, and the next call finds it in order.",
    ),
    "middleware.state": Requirement(
        "design 2", "What a middleware remembers belongs to one run of trio; a toolbox may be used in another one."
    ),
    "fence.values": Requirement(
        "surroundings 3.7, surroundings 9, surroundings 12.5",
        "All words that an untrusted tool gives are fenced, in structures too, by delimiters that cannot be forged.",
        divergence="Elsewhere structures without a field of a certain name are not fenced, and delimiters can be guessed.",
    ),
    "fence.only": Requirement(
        "surroundings 3.7, armorer-core 1D", "Only tools whose risk says untrusted output are fenced."
    ),
    "fence.errors": Requirement(
        "surroundings 3.7, surroundings 9",
        "What such a tool says when it fails is fenced, and means the same; our words are not.",
    ),
    "fence.streams": Requirement(
        "surroundings 3.7",
        "Streams are fenced across the borders of chunks, closed when they fail, and so is their value.",
    ),
    "fence.order": Requirement(
        "design 16.11, surroundings 3.7, surroundings 9",
        "Text is cut inside the fence, and no combination of toolboxes takes the fence off or doubles it.",
    ),
    "fence.definition": Requirement("design 5", "A fence or a cap that cannot work is refused when it is set up."),
    "truncate.values": Requirement(
        "surroundings 3.6",
        "Values and errors are cut to caps of their own, keep their meaning, and are not touched if they fit.",
    ),
    "truncate.streams": Requirement(
        "surroundings 3.1, surroundings 3.6, surroundings 9",
        "A stream is cut as it flows, its source is read to its end, and its value is cut too.",
    ),
    "guardrails.arguments": Requirement(
        "surroundings 3.9", "Flagged arguments refuse a call before its tool runs, as `permission` `GUARDRAIL_BLOCKED`."
    ),
    "guardrails.results": Requirement(
        "surroundings 3.9, surroundings 9, surroundings 12.5",
        "A flagged result is blocked, warned of or sanitised, its effect is told, and no log quotes it.",
        divergence="Elsewhere guardrails cannot look at the results of tools.",
    ),
    "guardrails.errors": Requirement(
        "surroundings 3.9", "What a tool says when it fails is looked at like its results."
    ),
    "guardrails.streams": Requirement(
        "surroundings 3.9", "A stream is looked at as a whole, and nothing of it is shown before, but to warn."
    ),
    "guardrails.failures": Requirement(
        "surroundings 3.9",
        "A detector that fails flags what it looks at, unless its guard says otherwise.",
        divergence="Elsewhere what a detector could not look at goes on, and nobody is told.",
    ),
    "guardrails.definition": Requirement("design 5", "Guardrails that make no sense are refused, naming the argument."),
    "cache.same": Requirement(
        "surroundings 3.3, surroundings 9, surroundings 12.5, armorer-core 10",
        "The same call is the same tool of the same toolbox with the same arguments, by their canonical text.",
        divergence="Elsewhere keys inside of arguments do not count, and calls get the results of others.",
    ),
    "cache.authority": Requirement(
        "surroundings 3.3, surroundings 9, armorer-core 10",
        "A cache answers nobody with what it found for somebody of other authority.",
    ),
    "cache.ttl": Requirement("surroundings 3.3", "A value is good for its time from the beginning of its call."),
    "cache.bounded": Requirement(
        "surroundings 3.3, surroundings 12.5",
        "A cache keeps a bounded number of values; what is no longer good makes room first, then what nobody asked for.",
    ),
    "cache.copies": Requirement(
        "surroundings 3.3", "Everybody gets a copy of a kept value; what cannot be copied is not kept."
    ),
    "cache.values": Requirement(
        "surroundings 3.3",
        "Only values are kept: no failures, no streams, and nothing of tools that may change something, unless told.",
    ),
    "cache.single-flight": Requirement(
        "surroundings 3.3",
        "The same call at a time runs once: who joins stops nobody, and who leads and fails hands over.",
    ),
    "cache.no-deadlock": Requirement(
        "design 9", "No call waits for another's value while that one needs what the waiting one's callers hold."
    ),
    "cache.definition": Requirement(
        "design 5, surroundings 3.3", "A cache that makes no sense is refused, naming the argument."
    ),
    "timeout.ends": Requirement(
        "surroundings 3.5, surroundings 9, armorer-core 10",
        "What takes too long is cancelled, in every place as far as that goes, and ends as `timeout` `TIMEOUT`.",
        divergence="Elsewhere the work goes on, and the failure is no timeout.",
    ),
    "timeout.covers": Requirement(
        "design 3, surroundings 3.5",
        "A `Timeout` covers everything further in: all attempts of a retry, or each, as it is listed.",
    ),
    "timeout.definition": Requirement(
        "design 5", "A limit is seconds above 0, or a function that answers them for each tool; else it is refused."
    ),
    "rate-limit.refuses": Requirement(
        "surroundings 3.4, surroundings 12.5",
        "What comes too often is refused before it begins, as `transient` `RATE_LIMITED` with the seconds to wait.",
        divergence="Elsewhere a fixed window lets twice as many through around its edge, and the error says no time.",
    ),
    "rate-limit.by": Requirement(
        "surroundings 3.4", "A bucket belongs to one tool, owner or tenant, or to what a function answers."
    ),
    "rate-limit.waits": Requirement(
        "surroundings 3.4",
        "Who may wait is served in order of arrival, is refused at once if it would take too long, and takes nothing if "
        "it gives up.",
    ),
    "rate-limit.bounded": Requirement(
        "surroundings 3.4", "The number of buckets is bounded, and coming under many names does not buy more calls."
    ),
    "rate-limit.never-more": Requirement(
        "surroundings 3.4", "No stretch of time sees more calls begin than the burst and what was refilled meanwhile."
    ),
    "rate-limit.definition": Requirement(
        "design 5, surroundings 3.4, armorer-core 10",
        "A rate limit that makes no sense is refused, naming the argument.",
    ),
    "deprecation.told": Requirement(
        "surroundings 3.8, armorer-core 1E", "Each call of a deprecated tool is told before it runs, and runs as ever."
    ),
    "deprecation.only": Requirement(
        "surroundings 3.8, armorer-core 1E", "Of deprecation is told only where a tool is deprecated."
    ),
    "retry.middleware": Requirement(
        "design 3, surroundings 4.7",
        "A failed call is tried again as the policy says if its effect is none, wherever it runs, and counts its attempts.",
    ),
    "retry.ends": Requirement(
        "design 8, surroundings 4.7",
        "A drain, an abort and the timeout of the call each put an end to the trying, also while it waits.",
    ),
    "retry.delays": Requirement(
        "surroundings 4.7, surroundings 9, armorer-core 1T",
        "The delays of a retry policy are fixed or double, are capped, and are spread by a full jitter that a seed fixes.",
    ),
    "retry.after": Requirement(
        "surroundings 4.7",
        "A failure may ask for a longer wait; one that asks for more than the longest is not retried.",
    ),
    "retry.which": Requirement(
        "surroundings 4.7, surroundings 9",
        "Retried is what may succeed another time, and what is named; never a denial, invalid arguments or a cancellation.",
        divergence="Elsewhere everything is retried, denials and cancellations included.",
    ),
    "retry.definition": Requirement(
        "design 5, surroundings 4.7, armorer-core 1T",
        "A retry policy that makes no sense is refused, naming the argument.",
    ),
}

_SEARCHING: Final[Mapping[str, Requirement]] = {
    "examples.vector-search": Requirement(
        "design section 4, surroundings 2.6",
        "Vectors of tools can be kept in a database: made once for each definition, and found after a restart.",
    ),
    "toolbox.search.fields": Requirement(
        "design section 17, surroundings 2.5",
        "A tool is found by words of its name, tags, description, parameters at any depth, their texts and values, and examples.",
    ),
    "toolbox.search.forms": Requirement(
        "design section 17, surroundings 2.5",
        "Other forms of a word are found: plurals, tenses, parts of joined names, words without their accents.",
    ),
    "toolbox.search.ranked": Requirement(
        "design section 17, surroundings 2.5, surroundings 2.8, surroundings 9, surroundings 12.6",
        "The best comes first: a word of the name counts more than one of the description, a rare one more than a usual one.",
        divergence="Elsewhere the search tool numbers its finds in the order of registration and calls that a score.",
    ),
    "toolbox.search.deterministic": Requirement(
        "design section 17, surroundings 2.5",
        "The same tools and words give the same answer in whatever order the tools stand; names decide between equals.",
    ),
    "toolbox.search.nothing-asked": Requirement(
        "design section 17, surroundings 2.5",
        "Blank text, signs and stop symbols find nothing, and neither do words that no tool has.",
        divergence="Elsewhere text without Latin letters counts as blank and matches every tool, with a score of 0.",
    ),
    "toolbox.search.scripts": Requirement(
        "design section 17",
        "Words of any script are found, also where no spaces stand between them.",
    ),
    "toolbox.search.misspelt": Requirement(
        "design section 17, surroundings 2.8",
        "A misspelt word finds what was probably meant, and counts less than the word itself.",
    ),
    "toolbox.search.explain": Requirement(
        "design section 17, surroundings 2.5, surroundings 2.8",
        "The reasons name the fields in which words of the query stand, and those words, and nothing else.",
        divergence="Elsewhere the reasons of the search tool only repeat the query.",
    ),
    "toolbox.search.where": Requirement(
        "design section 17, surroundings 2.5",
        "What may be answered is narrowed by a function or a condition without changing the order of the rest.",
    ),
    "toolbox.search.limit": Requirement(
        "design section 17, surroundings 2.5",
        "At most as many as asked for are answered; 0 answers nothing.",
        divergence="Elsewhere 0 means no limit.",
    ),
    "toolbox.search.bad-arguments": Requirement(
        "design section 17, surroundings 2.5",
        "A wrong argument of a search is refused with its name and what would be right.",
    ),
    "toolbox.search.incremental": Requirement(
        "design section 17, surroundings 2.4",
        "An index of an extended toolbox reads only the tools that are new.",
    ),
    "toolbox.search.replaced": Requirement(
        "design section 17, surroundings 2.4, surroundings 2.6",
        "A tool that replaces another is found by its own words, and the other one no more.",
        divergence="Elsewhere an index has to be rebuilt by hand to see a change.",
    ),
    "toolbox.search.hostile": Requirement(
        "design section 17",
        "No text of a tool or query stalls a search, raises, or makes a tool match what it does not say.",
    ),
    "toolbox.search.extra": Requirement(
        "design section 17",
        "Without a package of the extra a search says which one to install; until then nothing loads them.",
    ),
    "toolbox.search.hybrid": Requirement(
        "design section 17, surroundings 2.6, surroundings 9, surroundings 12.4",
        "With an embedder tools are found by meaning as well, fused with the words by reciprocal rank.",
        divergence="Elsewhere the two scores are added, whatever their scales.",
    ),
    "toolbox.search.embedder-cached": Requirement(
        "design section 17, surroundings 2.4, surroundings 2.6, surroundings 2.7, surroundings 9",
        "An embedder is asked once for each text, in batches, within a bounded memory that indices may share.",
        divergence="Elsewhere answers are kept by the exact list of texts, and those of queries without any bound.",
    ),
    "toolbox.search.embedder-checked": Requirement(
        "design section 17, surroundings 2.6, surroundings 9",
        "An answer that is not one finite vector of the same length for each text is refused in words.",
        divergence="Elsewhere vectors of other lengths give scores that are no numbers.",
    ),
    "toolbox.search.embedder-fails": Requirement(
        "design section 17, surroundings 2.6, surroundings 2.7",
        "When an embedder fails, that is logged, and words alone decide.",
        divergence="Elsewhere one that raises makes registering the tool raise.",
    ),
    "toolbox.search.fusion": Requirement(
        "design section 17, surroundings 2.6",
        "Rankings are fused by weighted reciprocal ranks.",
    ),
    "toolbox.search.quality": Requirement(
        "design section 17",
        "On the Berkeley data words alone find at least 0.61, 0.83 and 0.89 of the tools in the first 1, 5 and 10 places.",
    ),
    "kits.search-tools.finds": Requirement(
        "design section 4, surroundings 2.8, surroundings 9, armorer-core 1S",
        "A model finds the tools of the running supervisor's toolbox, best first, also those that were added after the kit.",
        divergence="Elsewhere only under test, and in the order of registration.",
    ),
    "kits.search-tools.not-itself": Requirement(
        "design section 4, surroundings 2.8",
        "The search tool does not find itself, nor a tool that its name would not call.",
        divergence="Elsewhere it may find itself.",
    ),
    "kits.search-tools.permitted": Requirement(
        "design section 4",
        "Only tools that the host permits on this call's behalf are found, as if there were no others.",
    ),
    "kits.search-tools.available": Requirement(
        "design section 4, surroundings 2.8",
        "Tools that cannot be used here are left out, and others take their places.",
    ),
    "kits.search-tools.tags": Requirement(
        "design section 4, surroundings 2.8",
        "The host and the model may each narrow the search to tags.",
    ),
    "kits.search-tools.bounded": Requirement(
        "design section 4, surroundings 2.8",
        "An answer never has more characters than the host allows, and says how many tools it left out.",
    ),
    "kits.search-tools.schemas": Requirement(
        "design section 4, surroundings 2.8",
        "What is found comes with the full schema of its arguments, unless the model does not want it.",
    ),
    "kits.search-tools.deferred": Requirement(
        "design section 4",
        "In a toolbox of 5,000 tools a model pays for the search tool and its answers only: under a thousand tokens.",
    ),
    "kits.search-tools.meaning": Requirement(
        "design section 4, surroundings 2.8",
        "With an embedder the search tool finds by meaning, and goes on by words when that fails.",
        divergence="Elsewhere the search tool never uses the embedder.",
    ),
    "kits.search-tools.options": Requirement(
        "design section 4, surroundings 2.8",
        "A wrong option of the kit says what would be right.",
    ),
    "kits.search-tools.local-model": Requirement(
        "design section 4",
        "The local model is loaded when first needed, in a thread; where it is missing, that is said with the extra.",
    ),
}

REQUIREMENTS: Final[Mapping[str, Requirement]] = {
    **_DEFINITIONS,
    **_DECLARING,
    **_CONTRACTS,
    **_CANONICAL,
    **_TOOLBOX,
    **_LOOPS,
    **_POLICY,
    **_SIGNING,
    **_AUTHORITY,
    **_CONTENT,
    **_TRUNCATION,
    **_FENCING,
    **_GUARDRAILS,
    **_CAPACITY,
    **_LIFECYCLE,
    **_ENGINE,
    **_TESTING,
    **_PROOF,
    **_EFFECTS,
    **_SHUTDOWN,
    **_STREAMS,
    **_MIDDLEWARE,
    **_PLACEMENTS,
    **_WATCHING,
    **_PROVIDERS,
    **_KITS,
    **_CLI,
    **_COMPOSITION,
    **_EXAMPLES,
    **_HOSTS,
    **_SEARCHING,
}
