"""The annotations of a function, resolved where it was written; and the parameter that takes the context."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Final, Union, cast, get_args, get_origin

import typing_extensions

from ...errors import DefinitionError
from .._checks import shown
from .._context import BlockingContext, ToolContext
from .._functions import attribute, layers, signature_of

EMPTY: Final = inspect.Parameter.empty
_CONTEXTS: Final = (ToolContext, BlockingContext)
_VARIADIC: Final[Mapping[object, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def signature_hint(
    function: Callable[..., object], parameter: str, *, subject: str, localns: Mapping[str, object] | None = None
) -> object:
    """The resolved annotation of one parameter of *function*, or of its result under the name ``return``.

    `inspect.Parameter.empty` when there is none.

    Raises:
        DefinitionError: It can't be resolved.
    """
    return Signature(subject, function, localns or {}).hint(parameter)


class Signature:
    """A function, with all that is needed to understand its annotations."""

    def __init__(self, subject: str, function: Callable[..., object], names: Mapping[str, object]) -> None:
        self.subject = subject
        self.function = function
        self.found = signature_of(function)
        self.code = _code(function)
        closure = _closure(self.code)
        self.globals: dict[str, object] = {kind.__name__: kind for kind in _CONTEXTS}
        self.globals.update(_module_names(self.code))
        parameters = attribute(self.code, "__type_params__")
        own = cast("tuple[object, ...]", parameters) if isinstance(parameters, tuple) else ()
        self.locals = {**names, **closure, **{str(parameter): parameter for parameter in own}}

    def parameters(self) -> list[inspect.Parameter]:
        """The parameters that somebody has to give."""
        found = self.found
        if found is None:
            reason = "can't be read; wrap it in a function whose parameters are written out"
            raise DefinitionError(self.subject, "signature", reason)
        bound = bound_names(self.function)
        for parameter in found.parameters.values():
            stars = _VARIADIC.get(parameter.kind)
            if stars is not None:
                raise DefinitionError(
                    self.subject,
                    f"parameter '{stars}{parameter.name}'",
                    "a model gives arguments by name, from a fixed list; name each parameter",
                )
        return [parameter for parameter in found.parameters.values() if parameter.name not in bound]

    def hint(self, name: str) -> object:
        """The annotation of one parameter, resolved."""
        found = self.found
        if found is None:
            return EMPTY
        annotation: object = found.return_annotation if name == "return" else found.parameters[name].annotation
        if annotation is EMPTY:
            return EMPTY
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            hints = typing_extensions.get_type_hints(
                holder, globalns=self.globals, localns=self.locals, include_extras=True
            )
        except Exception as error:  # an annotation is code: anything may go wrong in it
            place = f"parameter {name!r}" if name != "return" else "result"
            reason = f"the annotation {shown(annotation)} can't be resolved: {error}"
            raise DefinitionError(self.subject, place, reason) from error
        return cast("object", hints[name])


def _code(function: object) -> object:
    """The plain function behind wrappers, partials, methods and callable objects."""
    *_, found = layers(function)
    return getattr(found, "__init__") if isinstance(found, type) else found  # noqa: B009  # the class's own, not an instance's


def bound_names(function: object) -> frozenset[str]:
    """The parameters that a ``functools.partial`` has given already: they are nobody else's to give."""
    if not isinstance(function, functools.partial):
        return frozenset()
    return frozenset(cast("functools.partial[object]", function).keywords)


def _module_names(code: object) -> dict[str, object]:
    known = attribute(code, "__globals__")
    if isinstance(known, dict):
        return cast("dict[str, object]", known)
    module = sys.modules.get(str(attribute(code, "__module__")))
    return vars(module) if module is not None else {}


def _closure(code: object) -> dict[str, object]:
    if not isinstance(code, types.FunctionType):
        return {}
    found: dict[str, object] = {}
    for name, cell in zip(code.__code__.co_freevars, code.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet: the function is defined before it
            continue
    return found


def context_type(hint: object) -> type | None:
    """`ToolContext` or `BlockingContext` when a parameter annotated *hint* takes the context."""
    if get_origin(hint) is Annotated:
        return context_type(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        inner = [context_type(member) for member in get_args(hint) if member is not type(None)]
        return inner[0] if len(inner) == 1 else None
    if isinstance(hint, type):
        return next((kind for kind in _CONTEXTS if issubclass(hint, kind)), None)
    return None


def find_context(
    function: Callable[..., object], *, subject: str, localns: Mapping[str, object] | None = None
) -> tuple[str, type] | None:
    """The parameter of *function* that takes the context and its type, `ToolContext` or `BlockingContext`.

    Raises:
        DefinitionError: There are several, or an annotation can't be resolved.
    """
    signature = Signature(subject, function, localns or {})
    names = signature.found.parameters if signature.found is not None else ()
    found = [(name, kind) for name in names if (kind := context_type(signature.hint(name))) is not None]
    if len(found) > 1:
        raise DefinitionError(subject, f"parameter {found[1][0]!r}", "a second context; one is enough")
    return found[0] if found else None
