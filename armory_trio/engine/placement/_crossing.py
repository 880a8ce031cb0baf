"""What of a tool and of its calls crosses to a worker process, and how its values are read when they come back."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from typing import Final, cast, get_args, get_origin, get_type_hints

import attrs
import msgspec

from ...definitions import Process, ToolFailure, importable_name
from .._execution import Record
from .._plan import Plan
from ._frames import Call, packed_value
from ._lookup import digest_of

_PLAIN: Final = msgspec.msgpack.Decoder().decode
_UNTYPED: Final = (object, None, type(None))

Reader = Callable[[msgspec.Raw], object]


@attrs.frozen(eq=False)
class Crossing:
    """What all calls of one tool have in common.

    Args:
        read_value: Reads what the function returned, as its annotation says where it can.
        read_chunk: The same for what a generator yields.
    """

    module: str
    qualname: str
    schema: str
    process: Process
    read_value: Reader
    read_chunk: Reader

    def call_of(self, record: Record, plan: Plan) -> Call:
        """The message with which the body of *record* begins.

        Raises:
            ToolFailure: Something of the call cannot cross.
        """
        now = record.core.now()
        return Call(
            module=self.module,
            qualname=self.qualname,
            schema=self.schema,
            arguments=self._arguments(record, plan),
            execution_id=record.id,
            call_id=record.call_id,
            tool_name=record.name,
            owner_id=record.owner,
            seconds_left=None if record.deadline is None else record.deadline - now,
            request_context=record.request_context,
            context=self._context(),
            credits=plan.tool.options.buffer,
            max_frame=self.process.max_frame,
            idempotency_key=None if record.entry is None else record.entry.told_key,
        )

    def _arguments(self, record: Record, plan: Plan) -> bytes:
        try:
            text = msgspec.json.encode(plan.tool.contract.dump(record.validated))
        except Exception as exc:
            raise _cannot_cross(f"the arguments cannot cross to a worker process: {exc}") from exc
        if len(text) > self.process.max_frame:
            size = f"the arguments have {len(text)} bytes, and the tool's max_frame is {self.process.max_frame}"
            raise _cannot_cross(size)
        return text

    def _context(self) -> msgspec.Raw:
        try:
            return packed_value(self.process.named_values(), self.process.max_frame)
        except Exception as exc:
            words = f"the named values of Process(context=...) cannot cross to a worker process: {exc}"
            raise ToolFailure(words, effect="none") from exc


def crossing_of(plan: Plan) -> Crossing:
    """Read the tool of *plan* once."""
    tool = plan.tool
    module, qualname = importable_name(tool.function)
    value, chunk = _annotated(tool.function)
    return Crossing(
        module=module,
        qualname=qualname,
        schema=digest_of(tool.input_schema),
        process=tool.options.process or Process(),
        read_value=_reader(value),
        read_chunk=_reader(chunk),
    )


def _cannot_cross(words: str) -> ToolFailure:
    return ToolFailure(words, category="validation", code="INVALID_ARGUMENTS", effect="none")


def _annotated(function: Callable[..., object]) -> tuple[object, object]:
    """What *function* is annotated to return, and to yield if that is an iterator."""
    try:
        returned: object = get_type_hints(function, include_extras=True).get("return")
    except Exception:
        return None, None
    origin = get_origin(returned)
    if isinstance(origin, type) and issubclass(origin, Iterable | AsyncIterable) and get_args(returned):
        return returned, cast("object", get_args(returned)[0])
    return returned, None


def _reader(kind: object) -> Reader:
    """Reads a value as *kind*, or as it is when that does not fit: nobody checks annotations in a thread either."""
    if kind in _UNTYPED:
        return _PLAIN
    try:
        typed = msgspec.msgpack.Decoder(kind).decode
    except Exception:
        return _PLAIN

    def read(raw: msgspec.Raw) -> object:
        try:
            return typed(raw)
        except Exception:
            return _PLAIN(raw)

    return read
