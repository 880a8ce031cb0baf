"""A tool of whose arguments some are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, Unpack, cast

from ..definitions import ArgumentIssue, InvalidArguments, Tool, ToolContext, freeze_json, thaw_json
from ..definitions._arguments import path_steps
from ..definitions._checks import shown, text
from ..errors import DefinitionError
from ._bound import bound_contract
from ._composing import AnyTool, Recipe, compose, positional_of, require_tool
from ._mapping import wrapper_words
from ._passing import is_closed, properties_of
from ._steps import value_of_step
from ._united import Naming

R = TypeVar("R")

_WORDS: Final = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "title"),
        *("description", "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "examples", "default"),
    )
)
"""Words of a schema out of which one argument can be taken without changing what is said of the others."""

_OF_ALL: Final = ("examples", "default")
"""Words about all arguments together, which would name the bound ones."""


def bind(tool: Tool[..., R], bound: Mapping[str, object], /, **naming: Unpack[Naming]) -> Tool[..., R]:
    """A tool that gives *tool* some arguments itself. A model is not told of them, and cannot give them.

    The values are checked here, as far as they can be without the others; *tool* validates them all in each call.

    Cancelled: *tool* is.

    Args:
        tool: The tool.
        bound: Its arguments that are fixed, by name.
        naming: See `Naming`.

    Raises:
        DefinitionError: A bound argument is unknown or its value is not legal; or the tool's schema combines others, so
            that no argument can be taken out of it.
    """
    require_tool("bind", "tool", tool)
    if not isinstance(cast("object", bound), Mapping):
        raise DefinitionError("bind", "bound", f"must be a mapping of names to values, not {shown(bound)}")
    fixed = dict(bound)
    _check_names(tool, fixed)
    contract = bound_contract(_schema_without(tool, fixed), tool.contract, fixed)
    if not contract.awaits:
        _check_values(tool, fixed)

    async def run(arguments: Mapping[str, object], ctx: ToolContext) -> object:
        return await value_of_step(ctx, tool, {**arguments, **fixed})

    recipe = Recipe(word="bind", parts=(tool,), words=wrapper_words("bind", tool), naming=naming, answers=(tool,))
    positional = positional_of(tool)
    left = None if positional is None else [name for name in positional if name not in fixed]
    return cast("Tool[..., R]", compose(recipe, contract, run, positional=left))


# -- what is checked when it is bound


def _check_names(tool: AnyTool, bound: Mapping[str, object]) -> None:
    for name in bound:
        text("bind", f"bound key {shown(name)}", name)
    known = properties_of(tool.contract)
    if known is None or not _WORDS.issuperset(tool.input_schema):
        reason = f"the schema of {tool.name!r} combines others, so no argument can be taken out of it; use preprocess"
        raise DefinitionError("bind", "bound", reason)
    unknown = sorted(name for name in bound if name not in known)
    if unknown and is_closed(tool.contract):
        there = ", ".join(known) or "none"
        raise DefinitionError("bind", "bound", f"{tool.name!r} has no argument {', '.join(unknown)}; it has {there}")


def _check_values(tool: AnyTool, bound: Mapping[str, object]) -> None:
    """Ask the contract with the bound arguments only: what it says of them is wrong whatever the others are."""
    try:
        tool.contract.validate(bound)
    except InvalidArguments as refusal:
        wrong = [issue.message for issue in refusal.issues if _is_about(issue, bound)]
        if wrong:
            raise DefinitionError("bind", "bound", "; ".join(wrong)) from refusal
    except Exception:  # noqa: BLE001  # a validator of the user's own may need the others; it is asked again in each call
        return


def _is_about(issue: ArgumentIssue, bound: Mapping[str, object]) -> bool:
    steps = path_steps(issue.path)
    return steps is not None and len(steps) > 0 and steps[0] in bound


def _schema_without(tool: AnyTool, bound: Mapping[str, object]) -> Mapping[str, object]:
    schema = cast("dict[str, object]", thaw_json(tool.input_schema))
    properties = cast("dict[str, object]", schema["properties"])
    schema["properties"] = {name: value for name, value in properties.items() if name not in bound}
    required = [name for name in cast("list[str]", schema.pop("required", [])) if name not in bound]
    if required:
        schema["required"] = required
    for word in _OF_ALL:
        schema.pop(word, None)
    return cast("Mapping[str, object]", freeze_json(schema))
