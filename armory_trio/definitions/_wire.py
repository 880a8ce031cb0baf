"""Calls and results as JSON objects, and back, without loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, cast

import msgspec

from ..errors import JsonError
from ._call import ToolCall, ToolResult, no_call
from ._canonical import thaw_json
from ._checks import near
from ._outputs import OutputContract

S = TypeVar("S", bound=msgspec.Struct)

_ITSELF: Final = frozenset[type]((type(None), bool, str))
"""What is JSON as it is, seen at a glance."""


def call_to_json(call: ToolCall) -> dict[str, object]:
    """A JSON object that says all of *call*, its id too: `call_from_json` gives an equal one.

    Raises:
        TypeError: *call* is none.
        JsonError: The arguments are not JSON; the error names the place.
    """
    if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
        raise no_call(call)
    written = {"name": call.name, "arguments": _plain(call.arguments, "arguments"), "id": call.id}
    return written if call.defect is None else {**written, "defect": msgspec.to_builtins(call.defect)}


def call_from_json(document: Mapping[str, object]) -> ToolCall:
    """Read what `call_to_json` wrote. A call without an id is given one.

    Raises:
        JsonError: A member is missing, unknown or of another type; the error names the place.
    """
    return _read(document, ToolCall, "call")


def result_to_json(result: ToolResult[object], output: OutputContract | None = None) -> dict[str, object]:
    """A JSON object that says all of *result*: `result_from_json` gives an equal one.

    The value is written by *output*, the contract of the tool, if it has one. What it has no JSON form for can't be
    written: a value of a class comes back as a dict unless a contract knows the class.

    Raises:
        JsonError: A part has no JSON form; the error names the place.
        OutputInvalid: The value is not what *output* promises.
    """
    from .contracts._writing import UNWRITABLE, written  # noqa: PLC0415  # only who writes results pays for it

    whole: dict[str, object] = {}
    for field in result.__struct_fields__:
        value = cast("object", getattr(result, field))
        if type(value) in _ITSELF and field != "value":
            whole[field] = value
            continue
        try:
            if field == "value" and output is not None and result.outcome == "success":
                whole[field] = output.dump(value)
            else:
                whole[field] = _plain(written(value), field)
        except UNWRITABLE as error:
            raise JsonError("unsupported-type", (field,), f"it has no JSON form: {error}", root="result") from error
    return whole


def result_from_json(document: Mapping[str, object], output: OutputContract | None = None) -> ToolResult[object]:
    """Read what `result_to_json` wrote. With *output* the value is again what the tool returned, else plain JSON.

    Raises:
        JsonError: A member is missing, unknown or of another type; the error names the place.
        OutputInvalid: The value is not what *output* promises.
    """
    result = cast("ToolResult[object]", _read(document, ToolResult, "result"))
    if output is None or result.outcome != "success":
        return result
    return msgspec.structs.replace(result, value=output.load(result.value))


def _plain(value: object, field: str) -> object:
    try:
        return thaw_json(value)
    except JsonError as error:
        raise JsonError(error.code, (field, *error.path), error.detail) from None


def _read(document: object, kind: type[S], root: str) -> S:
    plain = thaw_json(document)
    if not isinstance(plain, dict):
        raise JsonError("unsupported-type", (), f"must be an object, not {type(document).__name__}", root=root)
    for name in cast("dict[str, object]", plain):
        if name not in kind.__struct_fields__:
            hint = near(name, kind.__struct_fields__, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else ""
            raise JsonError("unsupported-type", (name,), f"there is no such member{meant}", root=root)
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise JsonError("unsupported-type", (), str(error), root=root) from error
