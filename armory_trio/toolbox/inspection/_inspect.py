"""What a catalogue holds, as values for people, pages and files: each level of detail is a type of its own.

Everything is a copy that shares nothing with the tools, and encodes itself with ``msgspec.json.encode``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, Literal, TypeVar, cast, overload

import msgspec

from ...definitions import EffectClass, Kind, Placement, Tier, is_tool, thaw_json
from ...definitions._checks import one_of
from ...definitions._tool import no_tool
from ...errors import DefinitionError
from .._listing import listed
from .._resolution import AnyTool
from .._schemas import schema_keys, shape_of

Level = Literal["summary", "standard", "full"]


class ToolSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a tool.

    Args:
        id: Its full id.
        name: What a model calls it.
        description: What it does, for the model.
        tags: Words to find it by, those that its risk adds included.
        deprecated: Whether another tool of the same name comes before it.
    """

    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool


class ToolOutline(ToolSummary, frozen=True, kw_only=True):
    """What a card shows of a tool.

    Args:
        namespace: Where its name belongs.
        version: None when it has none.
        title: Its name for people.
        schema_keys: The names of its arguments, in order.
        effect_class: What it counts as.
        tier: Its capability tier; None when nobody said anything.
        classified: Whether anybody said anything.
        requires_approval: Whether a person has to agree to each call.
        conditional: Whether it may be unavailable, because a hook decides.
        capabilities: The texts of the list ``capabilities`` in its metadata; None when there is no list.
        effort: What its metadata says as ``effort``, if that is text or a number.
        has_custom_metadata: Whether there is anything in its metadata.
    """

    namespace: str
    version: str | None
    title: str
    schema_keys: tuple[str, ...]
    effect_class: EffectClass
    tier: Tier | None
    classified: bool
    requires_approval: bool
    conditional: bool
    capabilities: tuple[str, ...] | None
    effort: str | int | float | None
    has_custom_metadata: bool


class ToolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool is bounded. Times are seconds, None for no bound. A function of the arguments is ``"by-arguments"``."""

    timeout: float | None
    idle_timeout: float | None
    grace: float
    cleanup_timeout: float | None
    concurrency: int | None
    groups: tuple[str, ...]
    reads: tuple[str, ...] | Literal["by-arguments"]
    writes: tuple[str, ...] | Literal["by-arguments"]
    buffer: int


class ToolDetails(ToolOutline, frozen=True, kw_only=True):
    """All that a tool says of itself.

    Args:
        shape: The type of each argument in a few words, such as ``string`` or ``integer | null?``; ``?`` is what an
            argument that may be left out ends in.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of what it promises to give; None when it promises nothing.
        examples: Example arguments or sentences.
        metadata: The host's own JSON.
        risk: What to beware of; None when nobody said anything.
        effect: The declared class and targets; None when none were.
        effect_windows: Whether it marks the stretches in which it changes the world.
        contradiction: Who said that it only looks and who denied it.
        lifecycle: What was said about its deprecation, and its replacement.
        semantics: How it behaves under concurrency, cancellation and repetition.
        limits: How it is bounded.
        kind: How its function does its work.
        placement: Where its body runs.
        origin: Where its function was written.
        digest: The digest of its definition.
        digests: Of what its results carry digests.
    """

    shape: dict[str, str]
    input_schema: dict[str, object]
    output_schema: dict[str, object] | None
    examples: tuple[object, ...]
    metadata: dict[str, object]
    risk: dict[str, object] | None
    effect: dict[str, object] | None
    effect_windows: bool
    contradiction: tuple[str, ...]
    lifecycle: dict[str, object]
    semantics: dict[str, object]
    limits: ToolLimits
    kind: Kind
    placement: Placement
    origin: str
    digest: str
    digests: tuple[str, ...]


T_co = TypeVar("T_co", bound=ToolSummary, covariant=True)


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many tools there are, and how many of them have tags, metadata of their own, or are deprecated."""

    total: int
    with_tags: int
    with_metadata: int
    deprecated: int


class ToolboxInspection(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """What a catalogue holds, in the order of its tools."""

    level: Level
    counts: Counts
    tools: tuple[T_co, ...]


@overload
def inspect_tool(tool: AnyTool, level: Literal["summary"]) -> ToolSummary: ...
@overload
def inspect_tool(tool: AnyTool, level: Literal["standard"] = "standard") -> ToolOutline: ...
@overload
def inspect_tool(tool: AnyTool, level: Literal["full"]) -> ToolDetails: ...
@overload
def inspect_tool(tool: AnyTool, level: Level) -> ToolSummary: ...
def inspect_tool(tool: AnyTool, level: Level = "standard") -> ToolSummary:
    """What *tool* says of itself.

    Args:
        tool: The tool.
        level: ``summary`` is for a list, ``standard`` for a card, ``full`` is all of it.

    Raises:
        DefinitionError: There is no such level of detail, or *tool* is no tool.
    """
    one_of("inspect", "level", level, _LEVELS)
    if not is_tool(cast("object", tool)):
        raise DefinitionError("inspect", "tool", no_tool(tool))
    return _LEVELS[level](tool)


AnyInspection = ToolboxInspection[ToolSummary]
"""One of any level: what is known of each tool is a summary, or more."""


@overload
def inspect_tools(tools: AnyTool | Iterable[AnyTool], level: Literal["summary"]) -> ToolboxInspection[ToolSummary]: ...
@overload
def inspect_tools(
    tools: AnyTool | Iterable[AnyTool], level: Literal["standard"] = "standard"
) -> ToolboxInspection[ToolOutline]: ...
@overload
def inspect_tools(tools: AnyTool | Iterable[AnyTool], level: Literal["full"]) -> ToolboxInspection[ToolDetails]: ...
@overload
def inspect_tools(tools: AnyTool | Iterable[AnyTool], level: Level) -> ToolboxInspection[ToolSummary]: ...
def inspect_tools(tools: AnyTool | Iterable[AnyTool], level: Level = "standard") -> ToolboxInspection[ToolSummary]:
    """What all *tools* say of themselves.

    Args:
        tools: A toolbox, a tool, or any iterable of tools.
        level: ``summary`` is for a list, ``standard`` for a card, ``full`` is all of it.

    Raises:
        DefinitionError: There is no such level of detail, or one of *tools* is no tool.
    """
    one_of("inspect", "level", level, _LEVELS)
    there = listed("inspect", tools)
    counts = Counts(
        total=len(there),
        with_tags=sum(bool(tool.definition.tags) for tool in there),
        with_metadata=sum(bool(tool.definition.metadata) for tool in there),
        deprecated=sum(tool.definition.deprecated for tool in there),
    )
    return ToolboxInspection(level=level, counts=counts, tools=tuple(map(_LEVELS[level], there)))


def _summary(tool: AnyTool) -> ToolSummary:
    definition = tool.definition
    return ToolSummary(
        id=tool.id.text,
        name=tool.name,
        description=definition.description,
        tags=definition.tags,
        deprecated=definition.deprecated,
    )


def _outline(tool: AnyTool) -> ToolOutline:
    definition, counts_as = tool.definition, tool.definition.classification
    capabilities, effort = definition.metadata.get("capabilities"), definition.metadata.get("effort")
    return ToolOutline(
        **_parts(_summary(tool)),  # type: ignore[arg-type]  # the fields of the class that this one extends
        namespace=tool.id.namespace,
        version=tool.id.version,
        title=definition.title,
        schema_keys=schema_keys(tool),
        effect_class=counts_as.effect_class,
        tier=counts_as.tier,
        classified=counts_as.classified,
        requires_approval=definition.requires_approval,
        conditional=tool.options.availability is not None,
        capabilities=_texts(capabilities),
        effort=effort if isinstance(effort, str | int | float) and not isinstance(effort, bool) else None,
        has_custom_metadata=bool(definition.metadata),
    )


def _details(tool: AnyTool) -> ToolDetails:
    definition = tool.definition
    return ToolDetails(
        **_parts(_outline(tool)),  # type: ignore[arg-type]  # the fields of the class that this one extends
        shape=shape_of(definition.input_schema),
        input_schema=_object(definition.input_schema),
        output_schema=None if definition.output_schema is None else _object(definition.output_schema),
        examples=tuple(thaw_json(example) for example in definition.examples),
        metadata=_object(definition.metadata),
        risk=None if definition.risk is None else definition.risk.wire(),
        effect=None if definition.effect is None else definition.effect.wire(),
        effect_windows=definition.effect_windows,
        contradiction=definition.classification.contradiction,
        lifecycle=definition.lifecycle.wire(),
        semantics=definition.semantics.wire(),
        limits=_limits(tool),
        kind=tool.kind,
        placement=tool.options.placement,
        origin=tool.origin,
        digest=definition.digest,
        digests=tuple(sorted(tool.options.digests)),
    )


_LEVELS: Final[dict[Level, Callable[[AnyTool], ToolSummary]]] = {
    "summary": _summary,
    "standard": _outline,
    "full": _details,
}


def _limits(tool: AnyTool) -> ToolLimits:
    options = tool.options
    return ToolLimits(
        timeout=options.timeout,
        idle_timeout=options.idle_timeout,
        grace=options.grace,
        cleanup_timeout=options.cleanup_timeout,
        concurrency=options.concurrency,
        groups=options.groups,
        reads="by-arguments" if callable(options.reads) else options.reads,
        writes="by-arguments" if callable(options.writes) else options.writes,
        buffer=options.buffer,
    )


def _parts(value: msgspec.Struct) -> dict[str, object]:
    return {field: getattr(value, field) for field in value.__struct_fields__}


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", thaw_json(value))


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, tuple):
        return None
    return tuple(item for item in cast("tuple[object, ...]", value) if isinstance(item, str))
