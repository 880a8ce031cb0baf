"""What goes into a tool, or comes out of it, changed by a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, ParamSpec, TypeVar, Unpack, cast, overload

from ..definitions import InputContract, Tool, ToolContext, define_tool
from ..definitions._checks import named, shown
from ..definitions._options import refuse_unknown
from ._composing import AnyTool, Recipe, compose, positional_of, require_tool, tool_of
from ._names import default_name
from ._steps import Given, given, value_of_step
from ._united import Naming, Words

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

_ANY_OBJECT: Final[Mapping[str, object]] = {"type": "object", "additionalProperties": True}


class PreprocessNaming(Naming, total=False):
    """`Naming`, and what arguments the whole takes.

    ``input`` is as for `define_tool`: a class with fields or a JSON Schema. Without it, any object is taken, and the
    model is told nothing of what belongs in it.
    """

    input: object


def contract_for(word: str, given_input: object) -> InputContract:
    """The contract of what was given as ``input=``.

    Raises:
        DefinitionError: It cannot be one.
    """
    define = cast("Callable[..., AnyTool]", define_tool)  # its overloads know what an input may be
    with named(word):
        return define(name=word, input=given_input, execute=_taking).contract


def _taking(arguments: object) -> object:
    return arguments


def preprocess(
    tool: Tool[..., R], mapper: Callable[..., object], /, **naming: Unpack[PreprocessNaming]
) -> Tool[..., R]:
    """A tool that makes the arguments of *tool* out of its own.

    *mapper* gets the arguments: a dict, or the instance of the class that is given as ``input=``. The mapping that it
    answers is validated by *tool* as the arguments of a call.

    Cancelled: the mapper or *tool* is, whichever runs.

    Args:
        tool: The tool.
        mapper: ``mapper(arguments)`` or ``mapper(arguments, ctx)``, sync or async.
        naming: See `PreprocessNaming`.

    Raises:
        DefinitionError: Something is no tool, or the mapper no such function.
    """
    require_tool("preprocess", "tool", tool)
    refuse_unknown("preprocess", naming, PreprocessNaming.__annotations__)
    contract = contract_for("preprocess", naming.pop("input", _ANY_OBJECT))
    body = _Preprocessed(tool, given("preprocess", "mapper", mapper)).run
    recipe = Recipe(
        word="preprocess", parts=(tool,), words=wrapper_words("preprocess", tool), naming=naming, answers=(tool,)
    )
    made = tool_of(recipe, contract, body, contract.caller(body, "ctx"), positional=None)
    return cast("Tool[..., R]", made)


class _Preprocessed:
    __slots__ = ("_mapper", "_tool")

    def __init__(self, tool: AnyTool, mapper: Given) -> None:
        self._tool = tool
        self._mapper = mapper

    async def run(self, arguments: object, *, ctx: ToolContext) -> object:
        mapped = await self._mapper(arguments, ctx)
        if not isinstance(mapped, Mapping):
            raise TypeError(f"the mapper of {ctx.tool_name!r} answered {shown(mapped)}, not a mapping of arguments")
        return await value_of_step(ctx, self._tool, cast("Mapping[str, object]", mapped))


@overload
def postprocess(tool: Tool[P, T], mapper: Callable[[T], Awaitable[R]], /, **naming: Unpack[Naming]) -> Tool[P, R]: ...
@overload
def postprocess(tool: Tool[P, T], mapper: Callable[[T], R], /, **naming: Unpack[Naming]) -> Tool[P, R]: ...
@overload
def postprocess(
    tool: Tool[P, T], mapper: Callable[[T, ToolContext], Awaitable[R]], /, **naming: Unpack[Naming]
) -> Tool[P, R]: ...
@overload
def postprocess(tool: Tool[P, T], mapper: Callable[[T, ToolContext], R], /, **naming: Unpack[Naming]) -> Tool[P, R]: ...
def postprocess(tool: Tool[P, T], mapper: Callable[..., object], /, **naming: Unpack[Naming]) -> Tool[P, object]:
    """A tool that answers what *mapper* makes of the value of *tool*. It takes the same arguments.

    A failing *tool* is not mapped. A mapper that raises fails the call; the effect is still what *tool* did.

    Cancelled: *tool* or the mapper is, whichever runs.

    Args:
        tool: The tool.
        mapper: ``mapper(value)`` or ``mapper(value, ctx)``, sync or async.
        naming: See `Naming`.

    Raises:
        DefinitionError: Something is no tool, or the mapper no such function.
    """
    require_tool("postprocess", "tool", tool)
    mapping = given("postprocess", "mapper", mapper)

    async def run(arguments: Mapping[str, object], ctx: ToolContext) -> object:
        return await mapping(await value_of_step(ctx, tool, arguments), ctx)

    recipe = Recipe(word="postprocess", parts=(tool,), words=wrapper_words("postprocess", tool), naming=naming)
    return cast("Tool[P, object]", compose(recipe, tool.contract, run, positional=positional_of(tool)))


def wrapper_words(word: str, tool: AnyTool) -> Words:
    """What a tool around one other is called: the model is told the same of it."""
    title = tool.definition.title
    return Words(name=default_name(word, [tool.name]), title=title, description=tool.description)
