"""Tools that do what they do once: wrapped with the rule that makes two of their calls the same one."""

from __future__ import annotations

from typing import ParamSpec, TypeVar

import attrs

from ..definitions import Tool
from ..definitions._checks import required
from ..definitions._functions import require_fields, require_plain
from ..definitions._options import IdempotencyKey
from ..ledger import full_input_key
from ..toolbox import Toolbox

P = ParamSpec("P")
R = TypeVar("R")


def with_idempotency(tool: Tool[P, R], /, key: IdempotencyKey = full_input_key) -> Tool[P, R]:
    """A tool like *tool* that does once what two calls with one key ask for, under any supervisor.

    Nothing else is different: the definition and its digest are the same. A tool that is called as a function of the
    host's own asks no ledger, before or after.

    Args:
        tool: The tool. A key of its own is replaced.
        key: Answers from the validated arguments what call counts as the same, or None for none; such as
            ``field_key("order")`` of `armory_trio.ledger`. By default two calls are one if no argument differs.

    Raises:
        DefinitionError: *tool* is no tool, or *key* is no function that can answer at once.
    """
    required("with_idempotency", "tool", tool, Tool)
    subject = f"tool {tool.name!r}"
    require_plain(subject, "idempotency_key", key, "the validated arguments")
    require_fields(subject, key, tool.contract.schema)
    bare = tool.bare
    keyed = attrs.evolve(bare, options=attrs.evolve(bare.options, idempotency_key=key))
    return keyed if tool.middleware is None else attrs.evolve(keyed, middleware=tool.middleware, bare=keyed)


def with_toolbox_idempotency(toolbox: Toolbox, /, key: IdempotencyKey = full_input_key) -> Toolbox:
    """A toolbox like *toolbox* in which each tool that may change something does once what one key stands for.

    Tools that have a key of their own keep it, and those that only read have none. By default two calls of a tool are
    one if no argument differs: so a tool whose calls are meant to add up, such as one that sends the same text every
    day, needs another rule, or a key from its caller.

    Raises:
        DefinitionError: *toolbox* is no toolbox, or *key* is no function that can answer at once.
    """
    required("with_toolbox_idempotency", "toolbox", toolbox, Toolbox)
    tools = [
        tool
        if tool.options.idempotency_key is not None or tool.definition.classification.read_only
        else with_idempotency(tool, key)
        for tool in toolbox
    ]
    return attrs.evolve(toolbox, tools=tools)
