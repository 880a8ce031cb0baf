"""What sort of function a tool was made of: its kind, its name, where it came from."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from ..errors import DefinitionError
from ._checks import near, shown
from ._options import Kind

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_RECEIVERS: Final = ("self", "cls")
_LAYERS: Final = 100
"""Wrappers around one function that are looked through."""


def layers(function: object) -> Iterator[object]:
    """*function* and what it is wrapped around: partials, bound methods, objects with ``__call__``, ``wraps``.

    A proxy that claims every attribute has no innermost layer, so there is an end to the search.
    """
    seen: dict[int, object] = {}
    while function is not None and id(function) not in seen and len(seen) < _LAYERS:
        seen[id(function)] = function
        yield function
        function = _beneath(function)


def _beneath(function: object) -> object | None:
    if isinstance(function, functools.partial):
        return cast("functools.partial[object]", function).func
    if inspect.ismethod(function):
        return function.__func__
    wrapped = attribute(function, "__wrapped__")
    if wrapped is not None or inspect.isroutine(function) or isinstance(function, type):
        return wrapped
    return cast("object", getattr(type(function), "__call__", None))  # noqa: B004  # the method itself is wanted


def attribute(thing: object, name: str, default: object = None) -> object:
    """`getattr` that answers *default* whatever the code of *thing* raises."""
    try:
        return cast("object", getattr(thing, name, default))
    except Exception:  # noqa: BLE001  # code of the caller's own
        return default


def signature_of(function: Callable[..., object]) -> inspect.Signature | None:
    """The signature of *function*, annotations unresolved; None when it has none that can be read."""
    try:
        if sys.version_info >= (3, 14):
            from annotationlib import Format  # noqa: PLC0415  # earlier versions don't have it

            found = inspect.signature(function, annotation_format=Format.FORWARDREF)
        else:
            found = inspect.signature(function)
        return found
    except Exception:  # noqa: BLE001  # a TypeError or ValueError of its own, or what an object's attributes raise
        return None


def kind_of(function: object) -> Kind:
    """How *function* does its work, seen through whatever is wrapped around it.

    A function of which only the call shows that it answers an awaitable, such as a lambda, counts as ``def``.
    """
    for layer in layers(function):
        for kind, is_one in _KINDS.items():
            if _answers(is_one, layer):
                return kind
    return "def"


_KINDS: Final[Mapping[Kind, Callable[[object], bool]]] = {
    "async": inspect.iscoroutinefunction,
    "async-generator": inspect.isasyncgenfunction,
    "generator": inspect.isgeneratorfunction,
}


def require_fields(subject: str, key: object, schema: Mapping[str, object]) -> None:
    """Refuse a rule that makes keys of named arguments, if *schema*, which is closed, has no argument of such a name."""
    fields = cast("object", getattr(key, "fields", ()))
    known = schema.get("properties", {})
    if (
        not isinstance(fields, tuple)
        or not isinstance(known, Mapping)
        or schema.get("additionalProperties") is not False
    ):
        return
    there = [str(name) for name in cast("Mapping[object, object]", known)]
    for name in cast("tuple[object, ...]", fields):
        if name not in there:
            hint = near(str(name), there, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else f"; there are {', '.join(there) or 'none'}"
            raise DefinitionError(subject, "idempotency_key", f"there is no argument {shown(name)}{meant}")


def require_plain(subject: str, field: str, value: object, of: str) -> None:
    """Refuse *value* unless it is a function whose answer is there at once; *of* says what it is called with."""
    if not callable(value):
        raise DefinitionError(subject, field, f"must be a function of {of}, not {shown(value)}")
    if kind_of(value) != "def":
        reason = f"must be a plain function of {of}; nobody waits for what {shown(value)} answers"
        raise DefinitionError(subject, field, reason)


def _answers(question: Callable[[object], bool], thing: object) -> bool:
    """What a function of `inspect` says of *thing*; False when the attributes that it looks at raise."""
    try:
        return question(thing)
    except Exception:  # noqa: BLE001  # code of the caller's own
        return False


def awaiting(function: Callable[..., object]) -> Callable[..., object]:
    """*function* itself if Python sees that it is async, else an async function around it.

    So that a decorator which only passes on the coroutine of the function that it wraps is awaited like that
    function, and one which answers a plain value is, too.
    """
    method = attribute(function, "__call__")
    if _answers(inspect.iscoroutinefunction, function) or _answers(inspect.iscoroutinefunction, method):
        return function

    @functools.wraps(function)
    async def call(*args: object, **named: object) -> object:
        value = function(*args, **named)
        return await value if inspect.isawaitable(value) else value

    return call


def name_of(function: object) -> str | None:
    """The name that *function* was written with. None for a lambda, which has none."""
    written = _written(function)
    name = str(attribute(written, "__name__", type(written).__name__))
    return None if name == "<lambda>" else name


def _written(function: object) -> object:
    """The outermost layer of *function* that somebody gave a name, or an object that has none but its class's."""
    return next(
        layer
        for layer in layers(function)
        if attribute(layer, "__name__") is not None or not isinstance(layer, functools.partial)
    )


def docstring_of(function: object) -> str | None:
    """The docstring that *function* was written with: for an object with ``__call__``, that of the method first."""
    of_class: str | None = None
    for layer in layers(function):
        if inspect.isroutine(layer):
            if layer.__doc__:
                return layer.__doc__
        elif isinstance(layer, type):
            return layer.__doc__
        elif not isinstance(layer, functools.partial):
            of_class = of_class or type(layer).__doc__
    return of_class


def origin_of(function: object) -> str:
    """Where *function* was written, as ``module:qualname``."""
    written = _written(function)
    holder = written if attribute(written, "__qualname__") is not None else type(written)
    return f"{attribute(holder, '__module__') or '?'}:{attribute(holder, '__qualname__', '?')}"


def surrounding_names(thing: object) -> dict[str, object]:
    """What an annotation in *thing*, a function or a class, may name because it was defined inside a function.

    That is the locals of that function, as long as it is still running: so while a decorator is applied. Whatever
    the thing itself refers to stands in its closure anyway.
    """
    written = [layer for layer in layers(thing) if inspect.isfunction(layer) or isinstance(layer, type)]
    if not written:
        return {}
    outer, inside, _ = written[-1].__qualname__.rpartition(".<locals>.")
    frame = inspect.currentframe() if inside else None
    while frame is not None:
        if frame.f_code.co_qualname == outer and frame.f_globals.get("__name__") == written[-1].__module__:
            return dict(frame.f_locals)
        frame = frame.f_back
    return {}


def positional_names(function: Callable[..., object], hidden: str | None) -> tuple[str, ...]:
    """The parameters that may be given by position, in order, without the one called *hidden*."""
    found = signature_of(function)
    parameters = found.parameters.values() if found is not None else ()
    return tuple(p.name for p in parameters if p.kind in _POSITIONAL and p.name != hidden)


def require_callable(field: str, function: object) -> None:
    """Refuse what cannot be called, and a method that has no object yet.

    Raises:
        DefinitionError: *function* is one of these.
    """
    holder = _holder(function)
    if holder is not None:
        name = name_of(function) or "method"
        advice = f"is a method without its object; leave it undecorated and use tool({holder}.{name})"
        raise DefinitionError(f"tool {name!r}", field, advice)
    if not callable(function):
        raise DefinitionError("tool", field, f"must be a function, not {shown(function)}")


def _holder(function: object) -> str | None:
    """What *function* has to be taken from before it can be called; None if it is complete.

    A function counts as a method when it stands in a class body and its first parameter is ``self`` or ``cls``,
    unannotated.
    """
    outer, _, _ = str(attribute(function, "__qualname__", "")).rpartition(".")
    if isinstance(function, classmethod):
        return outer.rpartition(".")[2] or "Class"
    if not inspect.isfunction(function) or not outer or outer.endswith("<locals>"):
        return None
    found = signature_of(function)
    first = next(iter(found.parameters.values()), None) if found is not None else None
    unbound = first is not None and first.name in _RECEIVERS and first.annotation is inspect.Parameter.empty
    return "instance" if unbound else None
