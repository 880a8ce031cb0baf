"""Input and output contracts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
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
    "contracts.schema.loops": Requirement(
        "design 5",
        "A schema that is its own alternative decides nothing and is refused at definition, with the place; one that "
        "comes back inside of a value, or with more to say, is followed.",
    ),
    "contracts.schema.work": Requirement(
        "design 5",
        "Whatever a schema asks for, checking a value and saying what is wrong with it take work that is bounded: what "
        "asks too many schemas about one value is refused at definition, a value that takes too many steps is refused "
        "as such, and no more is told than is listed. What is legal stays so.",
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
