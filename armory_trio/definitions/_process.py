"""What is declared of a tool whose body runs in a worker process."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final, cast

import attrs
import msgspec

from ..errors import DefinitionError
from ._checks import count, flag, shown
from ._value import Value

MAX_FRAME: Final = 64 * 2**20
"""Bytes that one message may have unless a tool says otherwise: what a host can hold once for each of its cores."""

_SUBJECT: Final = "tool"
_FIELD: Final = "placement.context"


def _frozen(values: object) -> Mapping[str, object]:
    if not isinstance(values, Mapping):
        raise DefinitionError(_SUBJECT, _FIELD, f"must be a mapping of names to values, not {shown(values)}")
    return MappingProxyType(dict(cast("Mapping[str, object]", values)))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Process(Value):
    """Run a ``def`` tool in a worker process, which can be killed with everything that it started.

    ``placement="process"`` is ``placement=Process()``.

    Args:
        context: What ``ctx.context`` holds in the worker, by name. Context variables do not travel by themselves; one
            that is given here is read when the body begins, in the context of the caller, and left out when it is not
            set. Values cross as plain data.
        fresh: Whether each call has a process of its own, started for it and ended with it.
        max_frame: The most bytes that the arguments, one chunk, the result, or the data of one log line or event may
            have on their way. More is refused.

    Raises:
        DefinitionError: A value is not one of these, or cannot cross.
    """

    context: Mapping[str, object] = attrs.field(factory=dict[str, object], converter=_frozen)
    fresh: bool = False
    max_frame: int = MAX_FRAME

    def __attrs_post_init__(self) -> None:
        flag(_SUBJECT, "placement.fresh", self.fresh)
        count(_SUBJECT, "placement.max_frame", self.max_frame)
        for name, value in self.context.items():
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller may not check types
                raise DefinitionError(_SUBJECT, _FIELD, f"names are text, not {shown(name)}")
            if not isinstance(value, ContextVar):
                _must_cross(name, value)

    def named_values(self) -> dict[str, object]:
        """The values as they are now, in the context of whoever calls this."""
        values = dict(self.context)
        for name, value in self.context.items():
            if isinstance(value, ContextVar):
                found = cast("ContextVar[object]", value).get(_UNSET)
                if found is _UNSET:
                    del values[name]
                else:
                    values[name] = found
        return values


_UNSET: Final = object()


def _must_cross(name: str, value: object) -> None:
    try:
        msgspec.msgpack.encode(value)
    except Exception as error:
        reason = f"the value of {name!r} cannot cross to another process: {error}"
        raise DefinitionError(_SUBJECT, _FIELD, reason) from error
