"""How a tool is put together from its function and its declarations."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Final, cast, get_args, get_origin

from ..errors import DefinitionError
from ._arguments import InputContract
from ._checks import flag, named, shown, text, told
from ._context import BlockingContext
from ._definition import ToolDefinition
from ._effects import parse_effect
from ._functions import (
    awaiting,
    docstring_of,
    kind_of,
    name_of,
    positional_names,
    require_callable,
    require_fields,
    require_plain,
    surrounding_names,
)
from ._identity import ToolId
from ._lazy import Lazy, LazyBody
from ._options import Declarations, Kind, ToolOptions, options_for, refuse_unknown
from ._outputs import OutputContract
from ._tool import Tool
from .contracts import (
    contract_from_parts,
    contract_from_schema,
    contract_from_signature,
    contract_from_type,
    find_context,
    output_contract,
    signature_hint,
)

NOTHING: Final = object()
"""Stands for what was not given, where None could be."""

_DEFINED: Final = (
    "description",
    "title",
    "tags",
    "examples",
    "metadata",
    "risk",
    "effect_windows",
    "lifecycle",
    "semantics",
    "requires_approval",
)
"""Declarations that go into the definition as they are."""

_OWN: Final = ("validate", "parse")
"""Words of an input that is decided by a function of the caller's."""

_STREAMS: Final = (AsyncIterator, Iterator)


def build(function: object, declared: Declarations, reducer: object, input_: object = None) -> Tool[..., object]:
    """The tool of *function* with what was declared.

    Raises:
        DefinitionError: A declaration or the function is wrong; the error names the tool and the field.
    """
    if not isinstance(function, Lazy):
        require_callable("function", function)
    subject, identity = _identity_of(function, declared)
    refuse_unknown(subject, declared)
    if isinstance(function, Tool):
        raise DefinitionError(subject, "function", "is a tool already; make another one of its .function")
    written = cast("Callable[..., object] | Lazy", function)
    with named(subject):
        contract = _contract(subject, written, declared, input_)
        promised = _promised(subject, written, declared, reducer)
    options: Mapping[str, object] = {**declared} if reducer is NOTHING else {**declared, "reducer": reducer}
    definition = _definition(subject, identity, written, contract=contract, promised=promised, declared=declared)
    return assemble(subject, definition, contract, written, options, promised=promised, single=input_ is not None)


def assemble(
    subject: str,
    definition: ToolDefinition,
    contract: InputContract,
    function: Callable[..., object] | Lazy,
    options: Mapping[str, object],
    *,
    promised: OutputContract | None,
    single: bool,
) -> Tool[..., object]:
    """The tool of its parts. With *single* its arguments are one value, not parameters.

    Raises:
        DefinitionError: A part does not go together with the function.
    """
    if isinstance(function, Lazy):
        return _assemble_lazy(subject, definition, contract, function, options, promised=promised)
    require_callable("function", function)
    kind = kind_of(function)
    run = awaiting(function) if kind == "async" else function
    with named(subject):
        context = _context_parameter(subject, run, kind)
    how = _options(subject, kind, options)
    require_fields(subject, how.idempotency_key, contract.schema)
    if how.process is not None:
        from ._importable import require_importable  # noqa: PLC0415  # only who uses processes pays for it

        require_importable(subject, function)
    return Tool(
        definition=definition,
        contract=contract,
        function=function,
        kind=kind,
        options=how,
        invoke=contract.caller(run, context),
        wants_context=context is not None,
        check_output=None if promised is None else promised.validate,
        output_contract=promised,
        positional=None if single else positional_names(run, contract.context_parameter),
    )


def _assemble_lazy(
    subject: str,
    definition: ToolDefinition,
    contract: InputContract,
    lazy: Lazy,
    options: Mapping[str, object],
    *,
    promised: OutputContract | None,
) -> Tool[..., object]:
    """As `assemble`, for a function that is loaded by the first call: what can be checked without it is checked now."""
    how = _options(subject, lazy.kind, options)
    require_fields(subject, how.idempotency_key, contract.schema)
    if how.process is not None:
        raise DefinitionError(subject, "placement", "a worker process loads functions itself; give it the function")

    def caller(loaded: Callable[..., object]) -> Callable[[object, object], object]:
        run = awaiting(loaded) if lazy.kind == "async" else loaded
        return contract.caller(run, _context_parameter(subject, run, lazy.kind))

    body = LazyBody(subject, lazy, caller)
    return Tool(
        definition=definition,
        contract=contract,
        function=lazy.loader,
        kind=lazy.kind,
        options=how,
        invoke=body,
        wants_context=True,
        check_output=None if promised is None else promised.validate,
        output_contract=promised,
        load=body.load,
    )


def _options(subject: str, kind: Kind, declared: Mapping[str, object]) -> ToolOptions:
    """How the tool is run, as declared; its hooks that cannot be awaited are plain functions."""
    how = options_for(subject, kind, declared)
    for field in ("reads", "writes", "reducer", "idempotency_key"):
        if kind_of(getattr(how, field)) == "async":
            raise DefinitionError(subject, field, "is async, and nothing waits for it; write it with def")
    if callable(how.policy_context):
        require_plain(subject, "policy_context", how.policy_context, "no arguments")
    return how


def _context_parameter(subject: str, run: Callable[..., object], kind: Kind) -> str | None:
    """The name of the parameter that takes the context, if there is one; it must suit the *kind* of function."""
    found = find_context(run, subject=subject, localns=surrounding_names(run))
    if found is None:
        return None
    name, context = found
    if issubclass(context, BlockingContext) and kind in ("async", "async-generator"):
        reason = "an async function awaits its context; annotate it ToolContext"
        raise DefinitionError(subject, f"parameter {name!r}", reason)
    return name


# ── what goes in ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _contract(
    subject: str, function: Callable[..., object] | Lazy, declared: Declarations, input_: object
) -> InputContract:
    """The contract of the arguments: as *input_* says, or else as the signature does."""
    lenient = declared.get("lenient", False)
    flag(subject, "lenient", lenient)
    if input_ is None:
        if isinstance(function, Lazy):
            raise DefinitionError(subject, "input", "has to be said: a function that is not there yet can't be read")
        run = awaiting(function) if kind_of(function) == "async" else function
        return contract_from_signature(run, subject=subject, localns=surrounding_names(run), lenient=lenient)
    if not isinstance(input_, Mapping):
        return contract_from_type(input_, subject=subject, localns=surrounding_names(input_), lenient=lenient)
    given = cast("Mapping[str, object]", input_)
    if any(word in given and (callable(given[word]) or "schema" in given) for word in _OWN):
        if lenient:
            raise DefinitionError(subject, "lenient", "a validator of your own decides that itself")
        return contract_from_parts(given, subject=subject)
    fields = [name for name, kind in given.items() if not isinstance(kind, _JSON)]
    if len(fields) == len(given) > 0:
        return contract_from_type(_record(subject, given), subject=subject, lenient=lenient)
    if given and not any(word in given for word in _KEYWORDS):
        odd = next(name for name in given if name not in fields)
        reason = f"{shown(given[odd])} is no type, and the whole is no JSON Schema: it says no 'type' or 'properties'"
        raise DefinitionError(subject, f"input[{odd!r}]", reason)
    return contract_from_schema(given, subject=subject, lenient=lenient)


_JSON: Final = (str, int, float, list, tuple, Mapping, type(None))
"""What the keywords of a JSON Schema may be, and no type is."""

_KEYWORDS: Final = (
    *("type", "properties", "required", "additionalProperties", "unevaluatedProperties", "patternProperties"),
    *("propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas"),
    *("$schema", "$id", "$ref", "$dynamicRef", "$defs", "definitions", "$comment", "title", "description"),
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const", "enum", "examples", "default"),
)
"""Of these a JSON Schema about an object says one; else it is something else that somebody took for one."""


def _record(subject: str, fields: Mapping[str, object]) -> object:
    """The type of a dict with these fields."""
    for name in fields:
        text(subject, f"input key {shown(name)}", name)
    import typing_extensions  # noqa: PLC0415  # only who writes fields in a dict pays for it

    make = cast("Callable[[str, Mapping[str, object]], object]", typing_extensions.TypedDict)
    return make("Input", fields)


# ── what comes out ───────────────────────────────────────────────────────────────────────────────────────────────────


def _promised(
    subject: str, function: Callable[..., object] | Lazy, declared: Declarations, reducer: object
) -> OutputContract | None:
    """The contract of what the tool gives, if ``output`` declares one."""
    output = declared.get("output")
    if output is None:
        return None
    if not isinstance(output, str):
        return output_contract(output, subject=subject, localns=surrounding_names(output))
    if output != "annotation":
        reason = f'must be a type, a JSON Schema, or the word "annotation", not {shown(output)}'
        raise DefinitionError(subject, "output", reason)
    if isinstance(function, Lazy):
        raise DefinitionError(subject, "output", "a function that is not there yet has no annotation to read")
    if reducer is not NOTHING:
        raise DefinitionError(
            subject, "output", "the annotation is about the chunks; say what the reducer makes of them"
        )
    names = surrounding_names(function)
    hint = signature_hint(function, "return", subject=subject, localns=names)
    if hint is inspect.Parameter.empty:
        raise DefinitionError(subject, "output", "the function has no return annotation; write one, or say the type")
    return output_contract(_value_of(hint, kind_of(function)), subject=subject, localns=names)


def _value_of(hint: object, kind: Kind) -> object:
    """The type of the value of a function whose return annotation is *hint*."""
    origin, arguments = get_origin(hint), cast("tuple[object, ...]", get_args(hint))
    if not isinstance(origin, type) or not arguments:
        return type(None) if hint is None else hint
    if "generator" in kind and issubclass(origin, _STREAMS):
        return list[arguments[0]]  # type: ignore[valid-type]  # only known at run time
    return arguments[-1] if issubclass(origin, Awaitable) else hint


# ── what it is ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _identity_of(function: object, declared: Declarations) -> tuple[str, ToolId]:
    """How errors call the tool, and its id."""
    name = declared["name"] if "name" in declared else None if isinstance(function, Lazy) else name_of(function)
    if name is None:
        raise DefinitionError("tool", "name", "this function has no name of its own; give it one with name=")
    text("tool", "name", name, blank=False)
    subject = f"tool {name!r}"
    for field in ("namespace", "version"):
        text(subject, field, declared.get(field, ""))
    return subject, ToolId(name, declared.get("namespace", ""), declared.get("version"))


def _definition(
    subject: str,
    identity: ToolId,
    function: object,
    *,
    contract: InputContract,
    promised: OutputContract | None,
    declared: Declarations,
) -> ToolDefinition:
    """The portable part: what was declared, and what the function and its contracts say beside it."""
    parts = {field: value for field, value in declared.items() if field in _DEFINED}
    if "effect" in declared:
        with named(subject, "effect."):
            parts["effect"] = parse_effect(declared["effect"])
    if callable(declared.get("metadata")):
        parts["metadata"] = _answered(subject, cast("Callable[[], object]", declared.get("metadata")))
    if "description" not in declared and not isinstance(function, Lazy):
        from ._docstring import read_docstring  # noqa: PLC0415  # only a tool without a description pays for it

        parts["description"] = read_docstring(docstring_of(function)).description
    output = None if promised is None else promised.schema
    return ToolDefinition(identity, input_schema=contract.schema, output_schema=output, **parts)  # type: ignore[arg-type]  # it checks them


def _answered(subject: str, factory: Callable[[], object]) -> object:
    """What the function that was given as metadata answers."""
    try:
        answer = factory()
    except Exception as error:
        reason = f"the function that answers it raised {told(error)}"
        raise DefinitionError(subject, "metadata", reason) from error
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    raise DefinitionError(subject, "metadata", "the function that answers it is async; await it, and give its answer")
