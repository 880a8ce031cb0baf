"""Contracts from the signature of a function."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, MutableSet
from typing import Final, cast

import msgspec
from attrs import frozen

from ...errors import DefinitionError
from .._arguments import InputContract, Invoker
from .._docstring import read_docstring
from ._annotations import EMPTY, Signature, context_type
from ._calling import Slot, slot_caller
from ._forms import kinds
from ._markers import convert
from ._objects import closed_object, object_shape
from ._shapes import Shape, Translator
from ._typed import TypedContract, frozen_schema, with_definitions
from ._writing import UNWRITABLE, json_default, plain_form

_SCALARS: Final = kinds(str, int, bool, type(None))
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@frozen(eq=False)
class SignatureContract(TypedContract):
    """One argument for each parameter. Validated arguments are a struct with fields ``p0``, ``p1``, ...

    Args:
        slots: All parameters, the context's included.
        wordless: Arguments with a default that has no JSON form.
        writes_itself: Whether msgspec writes all values as JSON without help.
    """

    _slots: tuple[Slot, ...] = ()
    _wordless: frozenset[str] = frozenset()
    _writes_itself: bool = False

    def named(self, validated: object) -> dict[str, object]:
        return {slot.name: getattr(validated, slot.field) for slot in self._slots if slot.field is not None}

    def dump(self, validated: object) -> dict[str, object]:
        if self._writes_itself:
            return cast("dict[str, object]", msgspec.to_builtins(validated, enc_hook=plain_form))
        if self._plain and not self._wordless:
            return cast("dict[str, object]", self._written(validated))
        plain: dict[str, object] = {}
        for name, value in self.named(validated).items():
            try:
                plain[name] = self._written(value)
            except UNWRITABLE:
                if name not in self._wordless:
                    raise
        return plain

    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        slots = self._slots
        if context_parameter is not None and context_parameter != self.context_parameter:
            slots = (*slots, Slot(context_parameter, None, positional=False))
        return slot_caller(function, slots)


def contract_from_signature(
    function: Callable[..., object],
    *,
    subject: str | None = None,
    descriptions: Mapping[str, str] | None = None,
    localns: Mapping[str, object] | None = None,
    lenient: bool = False,
) -> InputContract:
    """See `contracts.contract_from_signature`."""
    subject = subject or f"tool {getattr(function, '__name__', type(function).__name__)!r}"
    signature = Signature(subject, function, localns or {})
    parameters = signature.parameters()
    if descriptions is None:
        doc = read_docstring(inspect.getdoc(signature.code), [parameter.name for parameter in parameters])
        descriptions = doc.parameters
    return _Build(signature, descriptions, lenient=lenient).contract(parameters)


class _Build:
    """Puts one contract together."""

    def __init__(self, signature: Signature, descriptions: Mapping[str, str], *, lenient: bool) -> None:
        self.signature = signature
        self.descriptions = descriptions
        self.lenient = lenient
        self.translator = Translator(signature.subject, object_shape, {**signature.globals, **signature.locals})
        self.fields: list[tuple[str, object] | tuple[str, object, object]] = []
        self.names: dict[str, str] = {}
        self.kinds: dict[str, object] = {}
        self.schemas: dict[str, object] = {}
        self.required: list[str] = []
        self.wordless: set[str] = set()

    def contract(self, parameters: list[inspect.Parameter]) -> InputContract:
        context: tuple[str | None, type | None] = (None, None)
        slots: list[Slot] = []
        for parameter in parameters:
            hint = self.signature.hint(parameter.name)
            kind = context_type(hint)
            positional = parameter.kind in _POSITIONAL
            if kind is None:
                slots.append(Slot(parameter.name, self.add(parameter, hint), positional))
                continue
            if context[0] is not None:
                raise DefinitionError(
                    self.signature.subject, f"parameter {parameter.name!r}", "a second context; one is enough"
                )
            context = (parameter.name, kind)
            slots.append(Slot(parameter.name, None, positional))
        return self.finished(tuple(slots), context)

    def add(self, parameter: inspect.Parameter, hint: object) -> str:
        """Take one parameter in, and answer the field that holds its value."""
        name = parameter.name
        shape = self.translator.translate(object if hint is EMPTY else hint, f"parameter {name!r}")
        place = f"p{len(self.names)}"
        self.names[place] = name
        self.kinds[name] = shape.type
        text = self.descriptions.get(name)
        schema = {"description": text, **shape.schema} if text else dict(shape.schema)
        if parameter.default is EMPTY:
            self.fields.append((place, shape.type))
            self.required.append(name)
        else:
            default = cast("object", parameter.default)
            if type(default) not in _SCALARS:
                self.translator.writes_itself = False
            self.fields.append((place, shape.type, self.field_default(name, default)))
            schema.update(self.shown_default(name, shape, default))
        self.schemas[name] = schema
        return place

    def field_default(self, name: str, default: object) -> object:
        """What msgspec is told about a default: each call gets its own copy of one that could be changed."""
        if not isinstance(default, MutableSequence | MutableMapping | MutableSet):
            return msgspec.field(default=default)
        kept = cast("object", default)
        try:
            copy.deepcopy(kept)
        except Exception as error:  # a part that can't be copied may say so in any way
            reason = f"its default can't be copied for each call: {error}; use None and make it in the function"
            raise DefinitionError(self.signature.subject, f"parameter {name!r}", reason) from error
        return msgspec.field(default_factory=functools.partial(copy.deepcopy, kept))

    def shown_default(self, name: str, shape: Shape, default: object) -> dict[str, object]:
        """The keyword for a default that JSON can carry and the type allows."""
        value = json_default(default)
        if value is msgspec.NODEFAULT:
            self.wordless.add(name)
            return {}
        try:
            convert(value, shape.type)
        except msgspec.ValidationError:
            return {}
        return {"default": value}

    def finished(self, slots: tuple[Slot, ...], context: tuple[str | None, type | None]) -> InputContract:
        struct = msgspec.defstruct(
            "Arguments", self.fields, rename=self.names, forbid_unknown_fields=True, frozen=True, kw_only=True
        )
        schema = with_definitions(closed_object(self.schemas, self.required), self.translator.definitions)
        return SignatureContract(
            frozen_schema(schema, self.signature.subject),
            struct,
            self.translator.needs_hook,
            self.kinds,
            self.lenient,
            self.translator.plain_dump,
            slots,
            frozenset(self.wordless),
            self.translator.writes_itself,
            context_parameter=context[0],
            context_type=context[1],
        )
