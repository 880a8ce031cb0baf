"""Named values that are bound to a tool, not to a toolbox."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ParamSpec, TypeVar, cast

import attrs

from ..errors import DefinitionError
from ._arguments import Invoker
from ._checks import required, shown, text
from ._context import BlockingContext, ToolContext
from ._tool import Tool

P = ParamSpec("P")
R = TypeVar("R")


def with_context(tool: Tool[P, R], /, values: Mapping[str, object]) -> Tool[P, R]:
    """A tool like *tool* whose ``ctx.context`` holds *values* as well, over those of the toolbox.

    They are copied shallowly and never shown to a model. Only ``ctx.context`` is different: no value can take the
    place of a member of the context itself. A tool that takes no context never sees them.

    Raises:
        DefinitionError: *values* is no mapping of names, or the tool runs in a worker process, which has a context of
            its own.
    """
    required("with_context", "tool", tool, Tool)
    subject = f"tool {tool.name!r}"
    if not isinstance(cast("object", values), Mapping):
        raise DefinitionError(subject, "context", f"must be a mapping of names to values, not {shown(values)}")
    for name in values:
        text(subject, f"context key {shown(name)}", name)
    if tool.options.placement == "process":
        reason = "a worker process sees only what is declared: use placement=Process(context={...})"
        raise DefinitionError(subject, "context", reason)
    if not tool.wants_context:
        return tool
    bare = tool.bare
    bound = attrs.evolve(bare, invoke=_Bound(bare.invoke, MappingProxyType(dict(values))))
    return bound if tool.middleware is None else attrs.evolve(bound, middleware=tool.middleware, bare=bound)


class _Bound:
    """Calls what a tool calls, with more in its context."""

    __slots__ = ("invoke", "values")

    def __init__(self, invoke: Invoker, values: Mapping[str, object]) -> None:
        # Bound once more, a tool sees the later values over the earlier ones.
        inner = invoke if isinstance(invoke, _Bound) else None
        self.invoke: Invoker = invoke if inner is None else inner.invoke
        self.values: Mapping[str, object] = values if inner is None else {**inner.values, **values}

    def __call__(self, validated: object, context: object, /) -> object:
        return self.invoke(validated, _More(cast("ToolContext", context), self.values))


class _More:
    """A context that holds more. In every other respect it is the one that it was made of."""

    __slots__ = ("_inner", "context")

    def __init__(self, inner: ToolContext, values: Mapping[str, object]) -> None:
        self._inner = inner
        self.context: Mapping[str, object] = MappingProxyType({**inner.context, **values})

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


ToolContext.register(_More)
BlockingContext.register(_More)
