"""The portable part of a tool: everything that can be written down, sent elsewhere and agreed to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

import attrs

from ..errors import DefinitionError, JsonError
from ._canonical import canonical_text, freeze_json, sha256_hex, thaw_json
from ._checks import flag, instance, members, named, shown, text
from ._effects import Classification, EffectDeclaration, Risk, Semantics, classify, effective_risk, risk_tags
from ._identity import ToolId
from ._value import Value

SCHEMA_VERSION: Final = "2020-12"
"""The JSON Schema draft of every input schema, as manifests name it."""

_TAG: Final = "[a-z0-9]+(-[a-z0-9]+)*"
_NO_ARGUMENTS: Final[Mapping[str, object]] = {"type": "object", "properties": {}, "additionalProperties": False}
_NOTHING: Final[Mapping[str, object]] = {}


def _replacement(value: ToolId | str | None) -> ToolId | None:
    return ToolId.parse(value) if isinstance(value, str) else value


@attrs.frozen(eq=False, repr=False)
class Lifecycle(Value):
    """Whether a tool should still be used. A deprecated tool runs like any other; it is only chosen last.

    Args:
        deprecated: True, or text that says why.
        message: What to tell whoever still uses it.
        replaced_by: The id of the tool to use instead.

    Raises:
        DefinitionError: A value has the wrong type, or the id is no id.
    """

    deprecated: bool | str = False
    message: str | None = None
    replaced_by: ToolId | None = attrs.field(default=None, converter=_replacement)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.deprecated, str):
            flag("lifecycle", "deprecated", self.deprecated)
        if self.message is not None:
            text("lifecycle", "message", self.message)
        instance("lifecycle", "replaced_by", self.replaced_by, ToolId)

    def wire(self) -> dict[str, object]:
        """The dict that stands in manifests: only what was said."""
        replaced_by = None if self.replaced_by is None else self.replaced_by.text
        said = {
            "deprecated": None if self.deprecated is False else self.deprecated,
            "message": self.message,
            "replacedBy": replaced_by,
        }
        return {key: value for key, value in said.items() if value is not None}


@attrs.frozen(eq=False, repr=False)
class ToolDefinition(Value):
    """What a tool is, without the code that runs it. A value: two of the same content are equal.

    The JSON parts are kept as copies that can't be changed (mappings and tuples); `to_json` gives plain ones.

    Args:
        id: Namespace, name and version.
        description: What it does and when to use it, for the model.
        input_schema: JSON Schema 2020-12 of the arguments; without one the tool takes none.
        title: Its name for people; by default the name.
        tags: Words to find it by, in kebab-case. Those that the risk implies are added behind.
        examples: Example arguments or sentences.
        metadata: Whatever JSON object the host wants to keep with it. The flags ``read_only``, ``mutates``,
            ``dangerous`` and ``untrusted_output`` in it count as risk.
        risk: What to beware of, the metadata's flags included.
        effect: What it does to the world, and to what.
        effect_windows: It marks the stretches in which it changes the world with ``ctx.effect``.
        lifecycle: Whether it should still be used.
        semantics: How it behaves under concurrency, cancellation and repetition.
        requires_approval: A person has to agree to each call.
        output_schema: JSON Schema 2020-12 of what it promises to give; None if it promises nothing.
        classification: How all this counts; derived.

    Raises:
        DefinitionError: A part is not what it has to be; the error names the tool and the field.
    """

    id: ToolId
    description: str = ""
    input_schema: Mapping[str, object] = attrs.field(factory=lambda: _NO_ARGUMENTS)
    title: str = attrs.field(default="", kw_only=True)
    tags: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    examples: tuple[object, ...] = attrs.field(default=(), kw_only=True)
    metadata: Mapping[str, object] = attrs.field(factory=lambda: _NOTHING, kw_only=True)
    risk: Risk | None = attrs.field(default=None, kw_only=True)
    effect: EffectDeclaration | None = attrs.field(default=None, kw_only=True)
    effect_windows: bool = attrs.field(default=False, kw_only=True)
    lifecycle: Lifecycle = attrs.field(factory=Lifecycle, kw_only=True)
    semantics: Semantics = attrs.field(factory=Semantics, kw_only=True)
    requires_approval: bool = attrs.field(default=False, kw_only=True)
    output_schema: Mapping[str, object] | None = attrs.field(default=None, kw_only=True)
    classification: Classification = attrs.field(init=False)
    _digest: str | None = attrs.field(init=False, default=None, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(cast("object", self.id), ToolId):
            raise DefinitionError("tool", "id", f"must be a ToolId, not {shown(self.id)}")
        with named(f"tool {self.id.name!r}"):
            self._check_types()
            output, metadata = self.output_schema, _json_object("metadata", self.metadata)
            risk = effective_risk(self.risk, metadata)
            tags = _tags(self.tags)
            classification = classify(self.effect, risk, tags)
            if self.effect_windows and classification.read_only:
                raise DefinitionError("tool", "effect_windows", "a read-only tool has no effect to open a window for")
            self._settle(
                title=self.title.strip() or self.id.name,
                input_schema=_json_object("input_schema", self.input_schema),
                output_schema=output if output is None else _json_object("output_schema", output),
                tags=tuple(dict.fromkeys((*tags, *risk_tags(risk, classification)))),
                examples=tuple(_json(f"examples[{i}]", example) for i, example in enumerate(_list_of_examples(self))),
                metadata=metadata,
                risk=risk,
                classification=classification,
            )

    def _check_types(self) -> None:
        for field in ("description", "title"):
            text("tool", field, getattr(self, field))
        for field in ("effect_windows", "requires_approval"):
            flag("tool", field, getattr(self, field))
        for field, kind in _PARTS.items():
            instance("tool", field, getattr(self, field), kind)

    def _settle(self, **parts: object) -> None:
        for field, value in parts.items():
            object.__setattr__(self, field, value)

    def __eq__(self, other: object) -> bool:
        # By what it says in JSON: for Python 1 is True, and a schema that says the one is not one that says the other.
        if not isinstance(other, ToolDefinition):
            return NotImplemented
        return self is other or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def name(self) -> str:
        """What a model calls it."""
        return self.id.name

    @property
    def deprecated(self) -> bool:
        """Whether another tool of the same name comes before this one."""
        return bool(self.lifecycle.deprecated)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text of `to_json`, as 64 hexadecimal digits.

        The text is that of RFC 8785. Where a definition holds a number or a string that it cannot say, such as a
        bound of 2**63 in a schema, the exact text is used.
        """
        if self._digest is None:
            self._settle(_digest=_digest_of(self._document(_as_it_is)))
        return cast("str", self._digest)

    def to_json(self) -> dict[str, object]:
        """A JSON object that says all of it, the caller's to change. The classification is derived, so not in it."""
        return self._document(thaw_json)

    def _document(self, copied: Callable[[object], object]) -> dict[str, object]:
        """The same, with what is frozen *copied*."""
        identity = {"namespace": self.id.namespace, "name": self.id.name, "version": self.id.version}
        display: dict[str, object] = {"title": self.title, "description": self.description}
        if self.examples:
            display["examples"] = [copied(example) for example in self.examples]
        optional: dict[str, object] = {
            "tags": list(self.tags),
            "metadata": copied(self.metadata),
            "risk": self.risk and self.risk.wire(),
            "lifecycle": self.lifecycle.wire(),
            "effect": self.effect and self.effect.wire(),
        }
        return {
            "schemaVersion": SCHEMA_VERSION,
            "id": self.id.text,
            "identity": {key: value for key, value in identity.items() if value is not None},
            "display": display,
            "name": self.id.name,
            "description": self.description,
            **{key: value for key, value in optional.items() if value},
            "effectWindows": self.effect_windows,
            "requiresApproval": self.requires_approval,
            "execution": self.semantics.wire(),
            "input": copied(self.input_schema),
            **({} if self.output_schema is None else {"output": copied(self.output_schema)}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> ToolDefinition:
        """Read what `to_json` wrote, without loss: the definition is equal, and so is its digest.

        Raises:
            DefinitionError: Something is missing, unknown, of another type, or contradicts itself; the error names the
                tool and the place.
        """
        from ._reading import parts_of  # noqa: PLC0415  # only who reads definitions pays for it

        subject, parts = parts_of(document, SCHEMA_VERSION)
        with named(subject):
            lifecycle = Lifecycle(**cast("dict[str, str]", parts.pop("lifecycle")))
            return cls(lifecycle=lifecycle, **parts)  # type: ignore[arg-type]  # it checks them


def _as_it_is(value: object) -> object:
    return value


def _digest_of(value: dict[str, object]) -> str:
    try:
        return sha256_hex(canonical_text(value, mode="interop"))
    except JsonError:
        return sha256_hex(canonical_text(value, mode="exact"))


_PARTS: Final[Mapping[str, type]] = {
    "risk": Risk,
    "effect": EffectDeclaration,
    "lifecycle": Lifecycle,
    "semantics": Semantics,
}


def _tags(value: object) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for index, tag in enumerate(members("tool", "tags", value, "words, such as ('read-only',)")):
        text("tool", f"tags[{index}]", tag, blank=False)
        word = str(tag).strip()
        if not re.fullmatch(_TAG, word):
            reason = f"{shown(word)} is not kebab-case: lower-case letters and digits, single hyphens between them"
            raise DefinitionError("tool", f"tags[{index}]", reason)
        found[word] = None
    return tuple(found)


def _list_of_examples(definition: ToolDefinition) -> list[object]:
    return members("tool", "examples", definition.examples, "example arguments or sentences")


def _json(field: str, value: object) -> object:
    try:
        return freeze_json(value, root=field)
    except JsonError as error:
        where = field + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)
        raise DefinitionError("tool", where, error.detail) from error


def _json_object(field: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise DefinitionError("tool", field, f"must be a JSON object, not {shown(value)}")
    return cast("Mapping[str, object]", _json(field, cast("object", value)))
