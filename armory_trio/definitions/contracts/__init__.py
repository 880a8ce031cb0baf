"""Input and output contracts: what a tool takes and gives, checked strictly by the same thing that the model is shown.

Made from a function's signature, a class with fields, a JSON Schema, or a function of the caller's own. What reads each
of them is loaded by the first tool that is made that way: importing the package loads none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..._on_demand import in_words
from .._arguments import ArgumentIssue, InputContract, InvalidArguments, Invoker, path_text
from .._outputs import OutputContract
from ._annotations import context_type, find_context, signature_hint

if TYPE_CHECKING:
    from ._cattrs import StructureConverter
    from ._hints import RepairHint
else:
    (StructureConverter,) = in_words("armory_trio.definitions.contracts._cattrs", "StructureConverter")
    (RepairHint,) = in_words("armory_trio.definitions.contracts._hints", "RepairHint")

__all__ = (
    "ArgumentIssue",
    "InputContract",
    "InvalidArguments",
    "Invoker",
    "PairValidator",
    "Parser",
    "admitted",
    "context_type",
    "contract_from_pair",
    "contract_from_parser",
    "contract_from_parts",
    "contract_from_schema",
    "contract_from_signature",
    "contract_from_type",
    "find_context",
    "output_contract",
    "path_text",
    "repair_hints",
    "signature_hint",
)

PairValidator = Callable[[Mapping[str, object]], object]
"""Answers ``{"valid": True}``, ``{"valid": False, "issues": [{"path": ..., "code": ...}]}``, True or False."""

Parser = Callable[[Mapping[str, object]], object]
"""Answers what the function is to get; raises ``ValueError``, ``TypeError`` or `InvalidArguments` to refuse."""


def contract_from_signature(
    function: Callable[..., object],
    *,
    subject: str | None = None,
    descriptions: Mapping[str, str] | None = None,
    localns: Mapping[str, object] | None = None,
    lenient: bool = False,
) -> InputContract:
    """A contract with one argument for each parameter of *function*.

    A parameter annotated `ToolContext` or `BlockingContext` is hidden: it is the contract's ``context_parameter``.
    Parameters that a ``functools.partial`` has bound are hidden, too. One without an annotation takes any JSON value.

    Args:
        function: A function, method, partial or callable object.
        subject: What is being defined, for errors: ``tool 'add'``.
        descriptions: The text for each parameter; by default from the docstring. An annotation's own text wins.
        localns: What annotations may name beside the function's globals and closure: the locals where it is defined.
        lenient: Take numbers, booleans and containers also as strings.

    Raises:
        DefinitionError: A parameter is variadic, or its type can't be resolved or said in JSON.
    """
    from ._signature import contract_from_signature as read  # noqa: PLC0415  # see the module

    return read(function, subject=subject, descriptions=descriptions, localns=localns, lenient=lenient)


def contract_from_type(
    kind: object,
    *,
    subject: str = "input",
    converter: StructureConverter | None = None,
    localns: Mapping[str, object] | None = None,
    lenient: bool = False,
) -> InputContract:
    """A contract whose arguments, as a whole, are one instance of *kind*.

    Args:
        kind: A class with named fields (msgspec, attrs, dataclass, TypedDict, pydantic), or a union of such.
        subject: What is being defined, for errors: ``tool 'add'``.
        converter: A ``cattrs.Converter`` that builds the attrs class *kind* from what fits the annotations of its
            fields. A field of a type that JSON does not know takes any value and is left to the converter's hooks;
            the members are called as the attributes are.
        localns: What its annotations may name beside the globals of its module, such as the locals of a function.
        lenient: Take numbers, booleans and containers also as strings.

    Raises:
        DefinitionError: It is no such type, or a field can't be said in JSON.
    """
    from ._typed import contract_from_type as read  # noqa: PLC0415  # see the module

    return read(kind, subject=subject, converter=converter, localns=localns, lenient=lenient)


def contract_from_schema(
    schema: Mapping[str, object] | None, *, subject: str = "input", lenient: bool = False
) -> InputContract:
    """A contract that is a JSON Schema, of the draft that its ``$schema`` names and else 2020-12.

    None and ``{}`` mean no arguments. A root that says nothing about additional members is closed, also over ``$ref``
    and alternatives; objects inside are as open as they say. The standard formats are checked. Missing arguments are
    filled in from the defaults of the root's properties, where these are legal. Validated arguments are a dict.

    Args:
        schema: The schema of an object. It is copied.
        subject: What is being defined, for errors: ``tool 'add'``.
        lenient: Take numbers, booleans and containers also as strings.

    Raises:
        DefinitionError: It is no legal schema, not about an object, or refers to another document.
    """
    from ._json_schema import contract_from_schema as read  # noqa: PLC0415  # see the module

    return read(schema, subject=subject, lenient=lenient)


def contract_from_pair(
    schema: Mapping[str, object], validate: PairValidator, *, subject: str = "input"
) -> InputContract:
    """A contract that is the caller's own: *schema* is shown as it is, *validate* decides.

    Nobody checks that the two agree. *validate* gets a frozen copy of the arguments, so that it can't change what will
    run; the same copy is the function's argument. What it raises passes through. An async one is awaited.

    Args:
        schema: The schema of an object. It is copied and frozen.
        validate: See `PairValidator`; called without a receiver.
        subject: What is being defined, for errors: ``tool 'add'``.

    Raises:
        DefinitionError: *schema* is no JSON object, or *validate* is no function.
    """
    from ._pairs import contract_from_pair as read  # noqa: PLC0415  # see the module

    return read(schema, validate, subject=subject)


def contract_from_parser(schema: Mapping[str, object], parse: Parser, *, subject: str = "input") -> InputContract:
    """A contract over a validator of another library: what *parse* answers is the function's argument.

    *schema* is shown as it is; *parse* gets a frozen copy of the arguments, and may answer anything. An async one is
    awaited. Other exceptions than those of `Parser` pass through.

    Args:
        schema: The schema of an object. It is copied and frozen.
        parse: See `Parser`; called without a receiver.
        subject: What is being defined, for errors: ``tool 'add'``.

    Raises:
        DefinitionError: *schema* is no JSON object, or *parse* is no function.
    """
    from ._pairs import contract_from_parser as read  # noqa: PLC0415  # see the module

    return read(schema, parse, subject=subject)


def contract_from_parts(given: Mapping[str, object], *, subject: str = "input") -> InputContract:
    """The contract of ``{"schema": ..., "validate": ...}`` or ``{"schema": ..., "parse": ...}``.

    Raises:
        DefinitionError: A part is missing, of another type, or one too many.
    """
    from ._pairs import contract_from_parts as read  # noqa: PLC0415  # see the module

    return read(given, subject=subject)


async def admitted(contract: InputContract, arguments: Mapping[str, object]) -> Mapping[str, object]:
    """*arguments* with what *contract*, which has to be awaited, says of them; its ``validate`` then takes them at once.

    Cancelled: its validator is.
    """
    from ._pairs import admitted as ask  # noqa: PLC0415  # see the module

    return await ask(contract, arguments)


def output_contract(
    declared: object, *, subject: str = "output", localns: Mapping[str, object] | None = None
) -> OutputContract:
    """The contract of what a tool gives: a type, or a JSON Schema.

    Args:
        declared: Any type that JSON can carry, or a JSON Schema 2020-12, which is as open as it says.
        subject: What is being defined, for errors: ``tool 'add'``.
        localns: What annotations in the type may name beside the globals of its module.

    Raises:
        DefinitionError: It is neither, or can't be said in JSON.
    """
    from ._results import output_contract as read  # noqa: PLC0415  # see the module

    return read(declared, subject=subject, localns=localns)


def repair_hints(schema: Mapping[str, object], issues: Sequence[ArgumentIssue]) -> tuple[RepairHint, ...]:
    """What a model could do about each of *issues* (the first 20), found in arguments of *schema*.

    Made for the error of a refused call: near names for what is unknown, what is expected where, and a legal example,
    which is only given when it was checked. Nothing that was sent is quoted but names.
    """
    from ._hints import repair_hints as read  # noqa: PLC0415  # see the module

    return read(schema, issues)
