"""How a function is called with validated arguments and a context. Made once, when a tool is defined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from .._arguments import Invoker
from .._functions import signature_of


class Slot(msgspec.Struct, frozen=True):
    """One parameter, in the order of the signature. ``field`` is where its value is; None for the context."""

    name: str
    field: str | None
    positional: bool


def slot_caller(function: Callable[..., object], slots: Sequence[Slot]) -> Invoker:
    """Call *function* with the fields of a struct of validated arguments, each in its place."""
    given = ", ".join(_source(slot) for slot in slots)
    # The names are identifiers of a signature or our own, and this is twice as fast as unpacking an attrgetter.
    return cast("Invoker", eval(f"lambda arguments, context: function({given})", {"function": function}))  # noqa: S307  # see above


def _source(slot: Slot) -> str:
    value = "context" if slot.field is None else f"arguments.{slot.field}"
    return value if slot.positional else f"{slot.name}={value}"


def single_caller(function: Callable[..., object], context_parameter: str | None) -> Invoker:
    """Call *function* with the validated arguments first and the context, if it takes one, by its name."""
    if context_parameter is None:
        return _WithoutContext(function)
    found = signature_of(function)
    parameters = list(found.parameters.values()) if found is not None else []
    names = [parameter.name for parameter in parameters]
    if names[:1] == [context_parameter] and len(names) > 1:
        if parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY:
            return lambda arguments, context: function(context, arguments)
        first = names[1]
        return lambda arguments, context: function(**{first: arguments, context_parameter: context})
    if context_parameter in names and parameters[names.index(context_parameter)].kind is inspect.Parameter.KEYWORD_ONLY:
        return lambda arguments, context: function(arguments, **{context_parameter: context})
    return function


class _WithoutContext(msgspec.Struct, frozen=True, eq=False):
    function: Callable[..., object]

    def __call__(self, arguments: object, _context: object, /) -> object:
        return self.function(arguments)
