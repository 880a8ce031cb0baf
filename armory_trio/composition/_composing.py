"""How a composed tool is put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import cast

import attrs

from ..definitions import InputContract, Tool, ToolContext
from ..definitions._outputs import OutputContract
from ..definitions._tool import no_tool
from ..errors import DefinitionError
from ._bound import plain_arguments
from ._united import Naming, Words, united_definition, united_options

AnyTool = Tool[..., object]

Body = Callable[[Mapping[str, object], ToolContext], Awaitable[object]]
"""(arguments as plain JSON values, context) -> the value."""


@attrs.frozen(kw_only=True)
class Recipe:
    """What a composed tool is made of.

    Args:
        word: The function that makes it, for errors and names.
        parts: The tools that it calls, those that it might call included.
        words: How it is called when its maker does not say it.
        naming: What its maker says.
        answers: The parts whose value is the value of the whole, which promises what they do; none if it is another.
    """

    word: str
    parts: tuple[AnyTool, ...]
    words: Words
    naming: Naming
    answers: tuple[AnyTool, ...] = ()


def compose(recipe: Recipe, contract: InputContract, body: Body, *, positional: Sequence[str] | None) -> AnyTool:
    """A tool whose *body* calls the parts of *recipe*. Its own arguments are checked by *contract*.

    Raises:
        DefinitionError: Something that its maker said is wrong.
    """

    def invoke(validated: object, context: object) -> object:
        return body(plain_arguments(contract, validated), cast("ToolContext", context))

    return tool_of(recipe, contract, body, invoke, positional=positional)


def tool_of(
    recipe: Recipe,
    contract: InputContract,
    body: Callable[..., object],
    invoke: Callable[[object, object], object],
    *,
    positional: Sequence[str] | None,
) -> AnyTool:
    """The same for a body that takes the validated arguments as they are."""
    definitions = [part.definition for part in recipe.parts]
    definition = united_definition(recipe.word, definitions, contract, recipe.naming, recipe.words)
    promised = _promised(recipe.answers)
    return Tool(
        definition=definition if promised is None else attrs.evolve(definition, output_schema=promised.schema),
        contract=contract,
        function=body,
        kind="async",
        options=united_options(recipe.word, [part.options for part in recipe.parts], recipe.naming),
        invoke=invoke,
        wants_context=True,
        composed=True,
        check_output=None if promised is None else promised.validate,
        output_contract=promised,
        positional=None if positional is None else tuple(positional),
    )


def _promised(answers: Sequence[AnyTool]) -> OutputContract | None:
    """What all of *answers* promise."""
    promises = [part.output_contract for part in answers]
    if not promises or promises[0] is None:
        return None
    schema = promises[0].schema
    alike = all(promise is not None and promise.schema == schema for promise in promises)
    return promises[0] if alike else None


def positional_of(tool: AnyTool) -> tuple[str, ...] | None:
    """The names of the arguments that host code may give to *tool* by position."""
    return tool._positional  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # only tools made of tools ask


def require_tool(subject: str, field: str, value: object) -> None:
    """Refuse what is no tool.

    Raises:
        DefinitionError: *value* is none.
    """
    if not isinstance(value, Tool):
        raise DefinitionError(subject, field, no_tool(value))


def listed(parts: Iterable[AnyTool]) -> str:
    """The parts with their descriptions, one a line: what the description of the whole tells a model of them."""
    return "\n".join(f"{part.name}: {part.description}" if part.description else part.name for part in parts)
