"""A definition that came from elsewhere, joined with what validates its arguments and what runs it."""

# Annotations are not postponed here: a TypedDict would compile each of them again when the package is imported.

from collections.abc import Callable, Mapping
from typing import Unpack, cast

from ..errors import DefinitionError
from ._arguments import InputContract
from ._building import assemble
from ._canonical import canonical_text
from ._checks import shown
from ._definition import ToolDefinition
from ._options import Reducer, Running, refuse_unknown
from ._tool import Tool, is_tool
from .contracts import PairValidator, contract_from_pair, contract_from_schema, output_contract


class ExecutionDeclarations(Running, total=False):
    """What may be declared beside a definition: how the tool is run. See `ToolOptions`."""

    reducer: Reducer


def create_executable_tool(
    definition: ToolDefinition,
    validator: InputContract | PairValidator | None,
    executor: Callable[..., object],
    **declared: Unpack[ExecutionDeclarations],
) -> Tool[..., object]:
    """Join a definition with what validates its arguments and what runs it.

    The definition stays exactly as it is, its digest too. The executor's first parameter gets the validated arguments,
    and a parameter annotated `ToolContext` the context. The tool is known by its identity: what looks like it, or was
    made of an equal definition, is another tool.

    Args:
        definition: The portable part, such as one read with ``ToolDefinition.from_json``.
        validator: None checks the arguments with the definition's own schema, and hands over a dict. A function
            decides itself, as in ``{"schema": ..., "validate": ...}``, and may be async. Or any input contract over
            the definition's schema.
        executor: The function, or a `lazy` one.
        declared: How it is to be run; the declarations of `ToolOptions`.

    Raises:
        DefinitionError: A part is wrong, or the validator is for another schema.
    """
    if not isinstance(cast("object", definition), ToolDefinition):
        raise DefinitionError("create_executable_tool", "definition", f"{shown(definition)} is no ToolDefinition")
    subject = f"tool {definition.name!r}"
    if is_tool(executor):
        raise DefinitionError(subject, "executor", "is a tool already; give its .function")
    options = cast("Mapping[str, object]", declared)
    refuse_unknown(subject, options, ExecutionDeclarations.__annotations__)
    contract = _contract(subject, definition, validator)
    output = definition.output_schema
    promised = None if output is None else output_contract(output, subject=subject)
    return assemble(subject, definition, contract, executor, options, promised=promised, single=True)


def _contract(subject: str, definition: ToolDefinition, validator: object) -> InputContract:
    if validator is None:
        return contract_from_schema(definition.input_schema, subject=subject)
    if not isinstance(validator, InputContract):
        return contract_from_pair(definition.input_schema, cast("PairValidator", validator), subject=subject)
    if canonical_text(validator.schema, mode="exact") != canonical_text(definition.input_schema, mode="exact"):
        reason = "its schema is not the one of the definition, so a model would be told something else than is checked"
        raise DefinitionError(subject, "validator", reason)
    return validator
