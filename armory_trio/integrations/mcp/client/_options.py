"""How a connection behaves: values, checked when they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, cast, get_args

import attrs
from mcp.client.session import SamplingFnT

from ....definitions._checks import count, flag, names, one_of, seconds, shown
from ....definitions._effects import EffectSpec, EffectTarget, parse_effect
from ....definitions._options import Declarations
from ....errors import DefinitionError
from ._catalogue import Listed

_SUBJECT: Final = "open_mcp"
ServerLogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

Effects = Mapping[str, EffectSpec] | Callable[[Listed], EffectSpec | None]
"""What tools do to the world, by their names at the server; or a function that answers it, or None."""

Declare = Callable[[Listed], Declarations]
"""Answers what else to declare with a tool."""

Include = Iterable[str] | Callable[[Listed], bool]
"""Which tools to import: names at the server, or a function that chooses."""


@attrs.frozen(eq=False, kw_only=True)
class Reconnect:
    """What happens when a connection breaks.

    Args:
        attempts: How often in a row it is tried to open it again; None for ever, 0 for not at all.
        first: Seconds before the first attempt. Each further one waits twice as long.
        most: Seconds that are waited at most.
        jitter: By which part each of these is shortened at random, from 0 to 1, so that many clients do not come at once.
        wait: Seconds that a call waits for a connection before it is answered `TOOL_UNAVAILABLE`.

    Raises:
        DefinitionError: One of them is not legal.
    """

    attempts: int | None = None
    first: float = 0.2
    most: float = 30.0
    jitter: float = 0.5
    wait: float = 10.0

    def __attrs_post_init__(self) -> None:
        if self.attempts is not None:
            count("Reconnect", "attempts", self.attempts, least=0)
        for field in ("first", "most", "wait"):
            seconds("Reconnect", field, getattr(self, field), zero=True)
        if not isinstance(cast("object", self.jitter), int | float) or not 0 <= self.jitter <= 1:
            raise DefinitionError("Reconnect", "jitter", f"must be from 0 to 1, not {shown(self.jitter)}")

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after so many *failures* in a row, 1 at least. *chance* is from 0 to 1."""
        longest = min(self.most, self.first * 2.0 ** min(failures - 1, 60))
        return longest * (1.0 - self.jitter * chance)


def _roots(value: object) -> tuple[str, ...]:
    return names(_SUBJECT, "roots", value)


@attrs.frozen(eq=False, kw_only=True)
class ClientOptions:
    """Everything that may be said to `open_mcp` beside the server; see there."""

    name: str
    include: Include | None = None
    namespace: str | None = None
    prefix: str = ""
    effects: Effects = attrs.field(factory=dict[str, EffectSpec])
    declare: Declare | None = None
    trust_annotations: bool = False
    timeout: float | None = 1_800.0
    idle_timeout: float | None = 120.0
    reconnect: Reconnect = attrs.field(factory=Reconnect)
    open_timeout: float = 30.0
    max_tools: int = 20_000
    roots: tuple[str, ...] = attrs.field(default=(), converter=_roots)
    sampling: SamplingFnT | None = None
    log_level: ServerLogLevel | None = None

    def __attrs_post_init__(self) -> None:
        EffectTarget("external-system", self.name)  # a name that can stand in action documents
        flag(_SUBJECT, "trust_annotations", self.trust_annotations)
        for field in ("timeout", "idle_timeout"):
            if getattr(self, field) is not None:
                seconds(_SUBJECT, field, getattr(self, field), zero=False, optional=True)
        seconds(_SUBJECT, "open_timeout", self.open_timeout, zero=False)
        count(_SUBJECT, "max_tools", self.max_tools)
        if self.log_level is not None:
            one_of(_SUBJECT, "log_level", self.log_level, get_args(ServerLogLevel))
        if not isinstance(cast("object", self.reconnect), Reconnect):
            raise DefinitionError(_SUBJECT, "reconnect", f"must be a Reconnect, not {shown(self.reconnect)}")
        for field in ("declare", "sampling"):
            given: object = getattr(self, field)
            if given is not None and not callable(given):
                raise DefinitionError(_SUBJECT, field, f"must be a function, not {shown(given)}")
        effects = cast("object", self.effects)
        if isinstance(effects, Mapping):
            for said in cast("Mapping[object, object]", effects).values():
                parse_effect(said)
        elif not callable(effects):
            raise DefinitionError(_SUBJECT, "effects", f"must be a mapping or a function, not {shown(self.effects)}")
