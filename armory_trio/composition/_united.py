"""What is said of a composed tool: all that was said of its parts, read strictly."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypedDict, cast, get_args

from ..definitions import (
    Availability,
    EffectClass,
    EffectDeclaration,
    InputContract,
    Lifecycle,
    Risk,
    Semantics,
    ToolDefinition,
    ToolId,
    ToolOptions,
)
from ..definitions._checks import members, named, shown, text
from ..definitions._options import refuse_unknown
from ..errors import DefinitionError

_STRICTNESS: Final[tuple[EffectClass, ...]] = get_args(EffectClass)
_HARMLESS: Final = frozenset(("readonly", "read-only"))
"""Tags that hold for the whole only when they hold for each part."""

_FLAGS: Final = frozenset(
    ("read_only", "readOnly", "mutates", "dangerous", "untrusted_output", "untrustedOutput"),
)
"""Keys of metadata that count as risk: they are united there."""


class Naming(TypedDict, total=False):
    """What may be said of a composed tool, beside what its parts say.

    ``tags`` and ``metadata`` come to those of the parts; ``timeout`` is in seconds and counts the whole, waiting
    between attempts included. The parts keep their own.
    """

    name: str
    namespace: str
    version: str
    title: str
    description: str
    tags: Iterable[str]
    metadata: Mapping[str, object]
    timeout: float | None


class Words(TypedDict):
    """What a composed tool is called when its maker does not say it."""

    name: str
    title: str
    description: str


def united_definition(
    word: str,
    of: Sequence[ToolDefinition],
    contract: InputContract,
    naming: Naming,
    words: Words,
) -> ToolDefinition:
    """The definition of a tool that *word* makes of tools with the definitions *of*: what counts for one counts for it.

    Raises:
        DefinitionError: Something in *naming* is wrong.
    """
    refuse_unknown(word, naming, Naming.__annotations__)
    name, metadata = naming.get("name", words["name"]), naming.get("metadata", {})
    text(word, "name", name, blank=False)
    if not isinstance(cast("object", metadata), Mapping):
        raise DefinitionError(word, "metadata", f"must be a mapping, not {shown(metadata)}")
    harmless = all(each.classification.read_only for each in of)
    return ToolDefinition(
        ToolId(name, naming.get("namespace", _namespace(of)), naming.get("version")),
        naming.get("description", words["description"]),
        contract.schema,
        title=naming.get("title", words["title"]),
        tags=_tags(of, members(word, "tags", naming.get("tags", ()), "words"), harmless=harmless),
        metadata={**_metadata(of), **metadata},
        examples=of[0].examples if contract.schema == of[0].input_schema else (),
        risk=_risk(of, harmless=harmless),
        effect=_effect(of),
        effect_windows=not harmless,
        lifecycle=_lifecycle(of),
        semantics=_semantics(of),
    )


def united_options(word: str, of: Sequence[ToolOptions], naming: Naming) -> ToolOptions:
    """How a tool made of others is to be run: limits, reads and writes are taken by the parts when they run.

    Raises:
        DefinitionError: The timeout is no number of seconds.
    """
    hooks = [each.availability for each in of if each.availability is not None]
    with named(word):
        return ToolOptions(
            timeout=naming.get("timeout"),
            grace=max(each.grace for each in of),
            availability=_all_available(hooks),
        )


def _namespace(of: Sequence[ToolDefinition]) -> str:
    found = {each.id.namespace for each in of}
    return found.pop() if len(found) == 1 else ""


def _tags(of: Sequence[ToolDefinition], more: Iterable[object], *, harmless: bool) -> tuple[str, ...]:
    keeps = harmless or len(of) == 1
    found = dict.fromkeys(tag for each in of for tag in each.tags if keeps or tag not in _HARMLESS)
    return (*found, *cast("Iterable[str]", more))


def _metadata(of: Sequence[ToolDefinition]) -> dict[str, object]:
    if len(of) == 1:
        return dict(of[0].metadata)
    together: dict[str, object] = {}
    for each in of:
        for key, value in each.metadata.items():
            if key not in _FLAGS:
                together.setdefault(key, value)
    return together


def _risk(of: Sequence[ToolDefinition], *, harmless: bool) -> Risk | None:
    said = [each.risk for each in of if each.risk is not None]
    denied = any(risk.read_only is False for risk in said)
    disputed = len(of) > 1 and any(each.classification.tier == "mutating" and _is_disputed(each) for each in of)
    together = Risk(
        read_only=False if denied else (harmless and any(risk.read_only for risk in said)) or None,
        mutates=disputed or any(risk.mutates for risk in said) or None,
        dangerous=any(risk.dangerous for risk in said) or None,
        untrusted_output=any(risk.untrusted_output for risk in said) or None,
        permissions=tuple(dict.fromkeys(permission for risk in said for permission in risk.permissions)),
        notes=tuple(dict.fromkeys(note for risk in said for note in risk.notes)),
    )
    return None if together == Risk() else together


def _is_disputed(definition: ToolDefinition) -> bool:
    """Whether it counts as it does because somebody called it harmless and somebody else said no."""
    return bool(definition.classification.contradiction)


def _effect(of: Sequence[ToolDefinition]) -> EffectDeclaration | None:
    """The strictest class with everybody's targets; None where only risk and tags say something."""
    declared = [each.effect for each in of if each.effect is not None]
    targets = tuple(dict.fromkeys(target for effect in declared for target in effect.targets))
    classes: list[EffectClass] = [each.classification.effect_class for each in of]
    strictest = max(classes, key=_STRICTNESS.index)
    if strictest == "read-only" or targets:
        return EffectDeclaration(strictest, targets)
    return None


def _lifecycle(of: Sequence[ToolDefinition]) -> Lifecycle:
    old = [each for each in of if each.deprecated]
    if not old:
        return Lifecycle()
    return Lifecycle(deprecated=True, message="; ".join(dict.fromkeys(map(_outdated, old))))


def _outdated(definition: ToolDefinition) -> str:
    why = definition.lifecycle.deprecated
    told = [*([why] if isinstance(why, str) else []), *filter(None, [definition.lifecycle.message])]
    return f"{definition.name!r}, which it is made of, is deprecated" + "".join(f": {words}" for words in told)


def _semantics(of: Sequence[ToolDefinition]) -> Semantics:
    """Only what a caller has to know before: what a part needs while it runs, it is given then."""
    keyed = [each.semantics.idempotency for each in of]
    if "required" in keyed:
        return Semantics(idempotency="required")
    return Semantics(idempotency="provider-enforced" if set(keyed) == {"provider-enforced"} else "not-supported")


# -- available where all parts are


def _all_available(hooks: Sequence[Availability]) -> Availability | None:
    if len(hooks) < 2:
        return hooks[0] if hooks else None

    def available(context: Mapping[str, object]) -> bool | Awaitable[bool]:
        rest = iter(hooks)
        for hook in rest:
            answer = hook(context)
            if inspect.isawaitable(answer):
                return _awaited(answer, rest, context)
            if answer is not True:
                return False
        return True

    return available


async def _awaited(first: Awaitable[bool], rest: Iterator[Availability], context: Mapping[str, object]) -> bool:
    if await first is not True:
        return False
    for hook in rest:
        answer = hook(context)
        if (await answer if inspect.isawaitable(answer) else answer) is not True:
            return False
    return True
