"""What a tool does to the world, as it was declared, and the one reading of all those declarations.

Four places can say something: the effect, the risk, flags in the metadata and tags. `classify` reads them together;
nothing else in the library asks any of them whether a tool is dangerous. When they contradict each other the
stricter reading stands, and a tool about which nobody said anything counts as ``external-write``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypedDict, cast, get_args

import attrs

from ..errors import DefinitionError
from ._checks import flag, members, named, names, one_of, shown, with_article
from ._value import Value

EffectClass = Literal["read-only", "reversible", "external-write", "destructive", "privileged"]
"""Looks only; can be undone by a stated compensation; changes something outside this process; cannot be undone;
needs elevated authority. From the mildest to the strictest."""

TargetKind = Literal["resource", "service", "tenant", "external-system", "other"]
Tier = Literal["read-only", "mutating", "dangerous"]
"""The capability tier that modes of approval speak of. From the mildest to the strictest."""

Concurrency = Literal["shared", "exclusive"]
Cancellation = Literal["unsupported", "cooperative", "provider-acknowledged"]
Idempotency = Literal["not-supported", "required", "provider-enforced"]
RetryAfterStart = Literal["never", "requires-conformance"]

_SUBJECT: Final = "effect"
_TARGET_ID: Final = "[!-~]{1,255}"
_TIERS: Final[tuple[Tier, ...]] = get_args(Tier)
_TIER_OF: Final[Mapping[EffectClass, Tier]] = {
    "read-only": "read-only",
    "reversible": "mutating",
    "external-write": "mutating",
    "destructive": "dangerous",
    "privileged": "dangerous",
}
_CLASS_OF: Final[Mapping[Tier, EffectClass]] = {
    "read-only": "read-only",
    "mutating": "external-write",
    "dangerous": "destructive",
}
_TIER_OF_TAG: Final[Mapping[str, Tier]] = {
    "readonly": "read-only",
    "read-only": "read-only",
    "mutating": "mutating",
    "dangerous": "dangerous",
}


class TargetMapping(TypedDict):
    """`EffectTarget` as a dict."""

    kind: TargetKind
    id: str


EffectMapping = TypedDict("EffectMapping", {"class": EffectClass, "targets": Sequence[TargetMapping]})
"""`EffectDeclaration` as a dict."""


@attrs.frozen(eq=False, repr=False)
class EffectTarget(Value):
    """Something that a tool changes or looks at.

    Args:
        kind: What sort of thing it is.
        id: The host's name for it: 1 to 255 printable ASCII characters without spaces.

    Raises:
        DefinitionError: One of them is not legal.
    """

    kind: TargetKind
    id: str

    def __attrs_post_init__(self) -> None:
        one_of(_SUBJECT, "kind", self.kind, get_args(TargetKind))
        if not isinstance(cast("object", self.id), str) or not re.fullmatch(_TARGET_ID, self.id):
            reason = f"must be 1 to 255 printable ASCII characters without spaces, not {shown(self.id)}"
            raise DefinitionError(_SUBJECT, "id", reason)

    def wire(self) -> dict[str, object]:
        """The dict that stands in action documents and manifests."""
        return {"kind": self.kind, "id": self.id}


def _in_order(targets: Iterable[EffectTarget]) -> tuple[EffectTarget, ...]:
    # A target that is listed twice stays twice: action documents count them.
    return tuple(sorted(_targets(targets), key=lambda target: (target.kind, target.id)))


@attrs.frozen(eq=False, repr=False)
class EffectDeclaration(Value):
    """What a tool does, and to what.

    Args:
        class_: The effect class.
        targets: What is affected, kept in order of kind and id. Only ``read-only`` may leave them out.

    Raises:
        DefinitionError: The class is unknown, or targets are missing.
    """

    class_: EffectClass
    targets: tuple[EffectTarget, ...] = attrs.field(default=(), converter=_in_order)

    def __attrs_post_init__(self) -> None:
        one_of(_SUBJECT, "class", self.class_, get_args(EffectClass))
        if self.class_ != "read-only" and not self.targets:
            raise DefinitionError(
                _SUBJECT, "targets", f"{with_article(self.class_)} effect must state at least one target"
            )

    def wire(self) -> dict[str, object]:
        """The dict that stands in action documents and manifests."""
        return {"class": self.class_, "targets": [target.wire() for target in self.targets]}


EffectSpec = Literal["read-only"] | EffectDeclaration | EffectMapping
"""What may be given as ``effect=``."""


def parse_effect(value: object) -> EffectDeclaration:
    """Read what was given as ``effect=``: ``"read-only"``, a declaration, or its dict.

    Raises:
        DefinitionError: It is none of these, or something in it is not legal.
    """
    if isinstance(value, EffectDeclaration):
        return value
    if isinstance(value, Mapping):
        given = _only(cast("Mapping[object, object]", value), ("class", "targets"))
        return EffectDeclaration(cast("EffectClass", given.get("class")), _targets(given.get("targets", ())))
    if not isinstance(value, str):
        raise DefinitionError(
            _SUBJECT, "class", f"must be 'read-only' or a dict with class and targets, not {shown(value)}"
        )
    if value == "read-only":
        return EffectDeclaration("read-only")
    one_of(_SUBJECT, "class", value, get_args(EffectClass))
    example = f'{{"class": "{value}", "targets": [{_A_TARGET}]}}'
    raise DefinitionError(_SUBJECT, "targets", f"{with_article(value)} effect must state its targets: {example}")


_A_TARGET: Final = '{"kind": "service", "id": "..."}'


def _targets(value: object) -> list[EffectTarget]:
    return [
        _target(index, item)
        for index, item in enumerate(members(_SUBJECT, "targets", value, f"dicts such as {_A_TARGET}"))
    ]


def _target(index: int, item: object) -> EffectTarget:
    if isinstance(item, EffectTarget):
        return item
    if not isinstance(item, Mapping):
        raise DefinitionError(_SUBJECT, f"targets[{index}]", f"must be a dict such as {_A_TARGET}, not {shown(item)}")
    with named(_SUBJECT, f"targets[{index}]."):
        given = _only(cast("Mapping[object, object]", item), ("kind", "id"))
        return EffectTarget(cast("TargetKind", given.get("kind")), cast("str", given.get("id")))


def _only(given: Mapping[object, object], legal: tuple[str, ...]) -> Mapping[object, object]:
    for key in given:
        if key not in legal:
            raise DefinitionError(
                _SUBJECT,
                key if isinstance(key, str) else shown(key),
                f"is unknown here; legal are {' and '.join(legal)}",
            )
    return given


def _permissions(value: object) -> tuple[str, ...]:
    return names("risk", "permissions", value)


def _notes(value: object) -> tuple[str, ...]:
    return names("risk", "notes", value)


@attrs.frozen(eq=False, repr=False)
class Risk(Value):
    """What a caller should beware of. None means that nothing was said about it.

    Args:
        read_only: It only looks. False says that it does not, and outweighs anybody who says it does.
        mutates: It changes something.
        dangerous: What it changes cannot be undone, or needs elevated authority.
        untrusted_output: Its output may carry somebody else's words, so a model must not obey them.
        permissions: What it needs, in the host's own words.
        notes: Whatever a person should know before agreeing.

    Raises:
        DefinitionError: A value has the wrong type.
    """

    read_only: bool | None = None
    mutates: bool | None = None
    dangerous: bool | None = None
    untrusted_output: bool | None = None
    permissions: tuple[str, ...] = attrs.field(default=(), converter=_permissions)
    notes: tuple[str, ...] = attrs.field(default=(), converter=_notes)

    def __attrs_post_init__(self) -> None:
        for field in ("read_only", "mutates", "dangerous", "untrusted_output"):
            if getattr(self, field) is not None:
                flag("risk", field, getattr(self, field))

    def wire(self) -> dict[str, object]:
        """The dict that stands in manifests: only what was said."""
        said: dict[str, object] = {
            "readOnly": self.read_only,
            "mutates": self.mutates,
            "dangerous": self.dangerous,
            "untrustedOutput": self.untrusted_output,
            "permissions": list(self.permissions) or None,
            "notes": list(self.notes) or None,
        }
        return {key: value for key, value in said.items() if value is not None}


@attrs.frozen(eq=False, repr=False)
class Semantics(Value):
    """How a tool behaves under concurrency, cancellation and repetition, in the words of action documents.

    Args:
        concurrency: ``exclusive`` runs one at a time among tools that have a target in common.
        cancellation: ``unsupported`` is never cancelled: its caller is released and it runs on.
        idempotency: ``required`` refuses a call without a key; ``provider-enforced`` says that the far side
            recognises the key.
        retry_after_start: Whether an attempt that had started may ever be repeated.

    Raises:
        DefinitionError: A word is not one of the legal ones.
    """

    concurrency: Concurrency = "shared"
    cancellation: Cancellation = "cooperative"
    idempotency: Idempotency = "not-supported"
    retry_after_start: RetryAfterStart = "never"

    def __attrs_post_init__(self) -> None:
        one_of("semantics", "concurrency", self.concurrency, get_args(Concurrency))
        one_of("semantics", "cancellation", self.cancellation, get_args(Cancellation))
        one_of("semantics", "idempotency", self.idempotency, get_args(Idempotency))
        one_of("semantics", "retry_after_start", self.retry_after_start, get_args(RetryAfterStart))

    def wire(self) -> dict[str, object]:
        """The dict that stands in action documents and manifests."""
        return {
            "concurrency": self.concurrency,
            "cancellation": self.cancellation,
            "idempotency": self.idempotency,
            "retryAfterStart": self.retry_after_start,
        }


@attrs.frozen(eq=False, repr=False)
class Classification(Value):
    """How a tool counts for gates, the ledger and the effect of a call.

    Args:
        effect_class: What it counts as; ``external-write`` when nobody said anything.
        classified: Whether anybody said anything.
        tier: Its capability tier, None when nobody said anything.
        contradiction: Who said ``read-only`` and who denied it, when the effect, the risk and the tags did not agree;
            for people, and no part of what makes two classifications equal.
    """

    effect_class: EffectClass
    classified: bool
    tier: Tier | None
    contradiction: tuple[str, ...] = attrs.field(default=(), eq=False)

    @property
    def read_only(self) -> bool:
        """Whether calls of this tool leave the world as it was."""
        return self.effect_class == "read-only"


def effective_risk(risk: Risk | None, metadata: Mapping[str, object]) -> Risk | None:
    """*risk* together with the flags in *metadata*, the stricter answer to each question; None if nobody said any.

    The flags are ``read_only``, ``mutates``, ``dangerous`` and ``untrusted_output``, in either spelling
    (``readOnly``). Other keys are the host's own. A tool that one calls read-only and another does not mutates.

    Raises:
        DefinitionError: A flag is neither True nor False.
    """
    said = risk or Risk()
    read_only = (said.read_only, _flag(metadata, "read_only"), _flag(metadata, "readOnly"))
    disputed = True if {True, False} <= set(read_only) else None
    untrusted = (said.untrusted_output, _flag(metadata, "untrusted_output"), _flag(metadata, "untrustedOutput"))
    together = attrs.evolve(
        said,
        read_only=_stricter(*read_only, strict=False),
        mutates=_stricter(said.mutates, _flag(metadata, "mutates"), disputed, strict=True),
        dangerous=_stricter(said.dangerous, _flag(metadata, "dangerous"), strict=True),
        untrusted_output=_stricter(*untrusted, strict=True),
    )
    return None if together == Risk() else together


def _flag(metadata: Mapping[str, object], key: str) -> bool | None:
    value = metadata.get(key)
    if value is None:
        return None
    flag("tool", f"metadata.{key}", value)
    return value is True


def _stricter(*answers: bool | None, strict: bool) -> bool | None:
    """The answer *strict* if anybody gave it, else the other one if anybody gave that, else None."""
    given = [answer for answer in answers if answer is not None]
    if not given:
        return None
    return strict if strict in given else not strict


def classify(effect: EffectDeclaration | None, risk: Risk | None, tags: Iterable[str]) -> Classification:
    """Read together what *effect*, *risk* (see `effective_risk`) and *tags* say. The stricter reading stands."""
    said = _statements(effect, risk, tags)
    denied = risk is not None and risk.read_only is False
    if not said:
        return Classification("external-write", False, None)
    tier = max(said.values(), key=_TIERS.index)
    harmless = [source for source, stated in said.items() if stated == "read-only"]
    against = [source for source, stated in said.items() if stated != "read-only"] + ["risk.read_only=False"] * denied
    if denied and tier == "read-only":
        tier = "mutating"
    declared = effect.class_ if effect is not None else None
    stands = declared is not None and (declared != "read-only" or tier == "read-only")
    return Classification(
        declared if declared is not None and stands else _CLASS_OF[tier],
        True,
        tier,
        (*harmless, *against) if harmless and against else (),
    )


def _statements(effect: EffectDeclaration | None, risk: Risk | None, tags: Iterable[str]) -> dict[str, Tier]:
    said: dict[str, Tier] = {}
    if effect is not None:
        said[f"effect={effect.class_}"] = _TIER_OF[effect.class_]
    if risk is not None:
        if risk.read_only:
            said["risk.read_only"] = "read-only"
        if risk.mutates:
            said["risk.mutates"] = "mutating"
        if risk.dangerous:
            said["risk.dangerous"] = "dangerous"
    for tag in tags:
        tier = _TIER_OF_TAG.get(tag)
        if tier is not None:
            said[f"tag {tag}"] = tier
    return said


def risk_tags(risk: Risk | None, classification: Classification) -> tuple[str, ...]:
    """The tags that *risk* adds, so that a query finds what it describes."""
    if risk is None:
        return ()
    added = {
        "mutating": risk.mutates,
        "readonly": risk.read_only and classification.read_only,
        "dangerous": risk.dangerous,
        "untrusted-output": risk.untrusted_output,
    }
    return tuple(tag for tag, said in added.items() if said)
