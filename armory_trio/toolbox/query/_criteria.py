"""What can be asked of a tool: each criterion, how what was given for it is read, and which tools it holds for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypedDict, TypeVar, cast, get_args

import attrs

from ...definitions import EffectClass, Placement, Tier, near
from ...definitions._value import Value
from ...errors import DefinitionError
from .._resolution import AnyTool
from .._schemas import schema_keys
from ._asking import SUBJECT, Answer, answer_of, is_available
from ._parts import Member, Number, is_within, says
from ._reading import (
    Context,
    read_choices,
    read_context,
    read_flag,
    read_folded,
    read_function,
    read_members,
    read_pieces,
    read_prefixes,
    read_ranges,
    read_text,
    read_words,
)
from ._text import Text, text_matches

W = TypeVar("W")


class Criteria(TypedDict, total=False):
    """What can be asked of a tool. All that is given has to hold; an empty list, or blank text, asks for nothing.

    Args:
        text: Words to look for, or a `Text` that says how.
        name: The name is this one, or one of these; exactly, as in the next two.
        namespace: The namespace.
        version: The version; ``""`` is that of a tool without one.
        tags_all: It has all of these tags. Case makes no difference in tags.
        tags_any: It has at least one of them.
        tags_none: It has none of them.
        schema_keys: It takes arguments of all these names. Case makes no difference.
        schema_matches: By the name of an argument a piece of its schema, such as ``{"city": {"type": "string"}}``:
            what the piece says, the schema of the argument says too. References into the schema are followed.
        metadata_has: All these keys are in its metadata.
        metadata_equals: By key the value, compared as JSON and in depth.
        metadata_contains: By key what is in the value: text in text, an item, or all of several items, in a list. One
            of several items is equal to a value that is no list; anything else is equal.
        metadata_startswith: By key how the value, which is text, begins.
        metadata_range: By key the least and the greatest number that the value may be; None for no bound.
        metadata_predicate: Is asked with the metadata.
        read_only: Whether calls leave the world as it was, by the tool's classification.
        mutates: Whether they may not: the opposite. A tool about which nobody said anything may.
        dangerous: Whether its tier is ``dangerous``.
        untrusted_output: Whether its risk says so.
        permissions: Its risk names all of these.
        effect_class: The effect class that it counts as is this one, or one of these.
        tier: The capability tier. A tool about which nobody said anything has none.
        classified: Whether anybody said anything.
        placement: Where its body runs is this place, or one of these.
        deprecated: Whether its lifecycle says so.
        requires_approval: Whether a person has to agree to each call.
        available_in: It is available in this context. Only for hooks that are not async; one that raises says no.
        predicate: Is asked with the tool.
    """

    text: Text | str
    name: str | Iterable[str]
    namespace: str | Iterable[str]
    version: str | Iterable[str]
    tags_all: Iterable[str]
    tags_any: Iterable[str]
    tags_none: Iterable[str]
    schema_keys: Iterable[str]
    schema_matches: Mapping[str, Mapping[str, object]]
    metadata_has: Iterable[str]
    metadata_equals: Mapping[str, object]
    metadata_contains: Mapping[str, object]
    metadata_startswith: Mapping[str, str]
    metadata_range: Mapping[str, tuple[float | None, float | None]]
    metadata_predicate: Callable[[Mapping[str, object]], object]
    read_only: bool
    mutates: bool
    dangerous: bool
    untrusted_output: bool
    permissions: Iterable[str]
    effect_class: EffectClass | Iterable[EffectClass]
    tier: Tier | Iterable[Tier]
    classified: bool
    placement: Placement | Iterable[Placement]
    deprecated: bool
    requires_approval: bool
    available_in: Mapping[str, object]
    predicate: Callable[[AnyTool], object]


@attrs.frozen(eq=False, repr=False)
class Criterion(Value, Generic[W]):
    """One thing that is asked of a tool.

    Args:
        name: The criterion.
        wanted: What was given for it, read and frozen.
        ask: Whether it holds for a tool; None when nobody can tell, because code of the host's raised.
    """

    name: str
    wanted: W
    ask: Callable[[AnyTool, W], Answer]

    def holds(self, tool: AnyTool) -> Answer:
        """Whether *tool* is as asked; None when nobody can tell."""
        return self.ask(tool, self.wanted)


Reader = Callable[[str, object], "Criterion[object] | None"]


def read_criteria(given: Mapping[str, object]) -> tuple[Criterion[object], ...]:
    """The criteria that *given* names, without those that ask for nothing.

    Raises:
        DefinitionError: There is no such criterion, or what was given for it is not legal.
    """
    found: list[Criterion[object]] = []
    for name, value in given.items():
        reader = _READERS.get(name)
        if reader is None:
            hint = near(name, _READERS, 1)
            meant = f"did you mean {hint[0]!r}?" if hint else f"there are {', '.join(_READERS)}"
            raise DefinitionError(SUBJECT, name, f"there is no such criterion; {meant}")
        criterion = reader(name, value)
        if criterion is not None:
            found.append(criterion)
    return tuple(found)


def _reader(read: Callable[[str, object], W | None], ask: Callable[[AnyTool, W], Answer]) -> Reader:
    def reader(name: str, value: object) -> Criterion[object] | None:
        wanted = read(name, value)
        # What was read and the only function that sees it stay together, so nobody else needs to know its type.
        return None if wanted is None else cast("Criterion[object]", Criterion(name, wanted, ask))

    return reader


def _flag(of: Callable[[AnyTool], bool]) -> Reader:
    return _reader(read_flag, lambda tool, wanted: of(tool) is wanted)


def _choice(of: Callable[[AnyTool], str | None], legal: tuple[str, ...] = ()) -> Reader:
    return _reader(lambda name, value: read_choices(name, value, legal), lambda tool, wanted: of(tool) in wanted)


def _metadata(holds: Callable[[object, Member], bool]) -> Reader:
    def ask(tool: AnyTool, wanted: tuple[Member, ...]) -> bool:
        metadata = tool.definition.metadata
        return all(member.key in metadata and holds(metadata[member.key], member) for member in wanted)

    return _reader(read_members, ask)


def _has_tags(tool: AnyTool, wanted: tuple[str, ...]) -> bool:
    return all(tag in tool.definition.tags for tag in wanted)


def _has_any_tag(tool: AnyTool, wanted: tuple[str, ...]) -> bool:
    return any(tag in tool.definition.tags for tag in wanted)


def _has_no_tag(tool: AnyTool, wanted: tuple[str, ...]) -> bool:
    return not _has_any_tag(tool, wanted)


def _has_arguments(tool: AnyTool, wanted: tuple[str, ...]) -> bool:
    there = {key.casefold() for key in schema_keys(tool)}
    return all(key in there for key in wanted)


def _takes(tool: AnyTool, wanted: tuple[Member, ...]) -> bool:
    schema = tool.input_schema
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return False
    there = cast("Mapping[str, object]", properties)
    return all(piece.key in there and says(there[piece.key], piece.value, schema) for piece in wanted)


def _has_metadata(tool: AnyTool, wanted: tuple[str, ...]) -> bool:
    return all(key in tool.definition.metadata for key in wanted)


def _begins(tool: AnyTool, wanted: tuple[tuple[str, str], ...]) -> bool:
    values = ((tool.definition.metadata.get(key), prefix) for key, prefix in wanted)
    return all(isinstance(value, str) and value.startswith(prefix) for value, prefix in values)


def _is_between(tool: AnyTool, wanted: tuple[tuple[str, Number | None, Number | None], ...]) -> bool:
    return all(is_within(tool.definition.metadata.get(key), least, greatest) for key, least, greatest in wanted)


def _says_of_metadata(tool: AnyTool, predicate: Callable[[object], object]) -> Answer:
    return answer_of("metadata_predicate", predicate, tool.definition.metadata)


def _says(tool: AnyTool, predicate: Callable[[object], object]) -> Answer:
    return answer_of("predicate", predicate, tool)


def _is_available(tool: AnyTool, context: Context) -> Answer:
    return is_available(tool, context.values)


def _permits(tool: AnyTool, wanted: tuple[str, ...]) -> bool:
    risk = tool.definition.risk
    return risk is not None and all(permission in risk.permissions for permission in wanted)


def _is_untrusted(tool: AnyTool) -> bool:
    risk = tool.definition.risk
    return risk is not None and risk.untrusted_output is True


_READERS: Final[Mapping[str, Reader]] = {
    "text": _reader(read_text, text_matches),
    "name": _choice(lambda tool: tool.name),
    "namespace": _choice(lambda tool: tool.id.namespace),
    "version": _choice(lambda tool: tool.id.version or ""),
    "tags_all": _reader(read_folded, _has_tags),
    "tags_any": _reader(read_folded, _has_any_tag),
    "tags_none": _reader(read_folded, _has_no_tag),
    "schema_keys": _reader(read_folded, _has_arguments),
    "schema_matches": _reader(read_pieces, _takes),
    "metadata_has": _reader(read_words, _has_metadata),
    "metadata_equals": _metadata(lambda value, member: member.equals(value)),
    "metadata_contains": _metadata(lambda value, member: member.is_in(value)),
    "metadata_startswith": _reader(read_prefixes, _begins),
    "metadata_range": _reader(read_ranges, _is_between),
    "metadata_predicate": _reader(read_function, _says_of_metadata),
    "read_only": _flag(lambda tool: tool.definition.classification.read_only),
    "mutates": _flag(lambda tool: not tool.definition.classification.read_only),
    "dangerous": _flag(lambda tool: tool.definition.classification.tier == "dangerous"),
    "untrusted_output": _flag(_is_untrusted),
    "permissions": _reader(read_words, _permits),
    "effect_class": _choice(lambda tool: tool.definition.classification.effect_class, get_args(EffectClass)),
    "tier": _choice(lambda tool: tool.definition.classification.tier, get_args(Tier)),
    "classified": _flag(lambda tool: tool.definition.classification.classified),
    "placement": _choice(lambda tool: tool.options.placement, get_args(Placement)),
    "deprecated": _flag(lambda tool: tool.definition.deprecated),
    "requires_approval": _flag(lambda tool: tool.definition.requires_approval),
    "available_in": _reader(read_context, _is_available),
    "predicate": _reader(read_function, _says),
}
"""Every criterion of `Criteria`."""
