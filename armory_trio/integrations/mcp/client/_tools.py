"""Tools of a server as tools of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import attrs

from ....definitions import OutputContract, Risk, Tool, define_tool
from ....definitions._content import BinaryContent, LinkContent, TextResourceContent
from ....definitions._effects import EffectDeclaration, EffectTarget, parse_effect
from ....definitions._options import Declarations, refuse_unknown
from ....errors import DefinitionError
from ._calls import Host, RemoteCall
from ._catalogue import Listed, SetAside
from ._options import ClientOptions

_COMBINING: Final = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
_DRAFT: Final = "2020-12"

AnyTool = Tool[..., object]


def import_tool(listed: Listed, options: ClientOptions, host: Host) -> AnyTool | SetAside:
    """The tool of *listed*, or why it cannot be one.

    Raises:
        DefinitionError: What the host declares for it is wrong.
    """
    more = _declared_by_host(listed, options)
    try:
        return _define(listed, options, host, more)
    except DefinitionError as error:
        if more:
            raise
        return SetAside(listed.name, str(error))


def _declared_by_host(listed: Listed, options: ClientOptions) -> Declarations:
    said = options.effects(listed) if callable(options.effects) else options.effects.get(listed.name)
    more: Declarations = {}
    if said is not None:
        more["effect"] = parse_effect(said)
    if options.declare is not None:
        declared = options.declare(listed)
        refuse_unknown(f"open_mcp: declare({listed.name!r})", declared)
        more.update(declared)
    return more


def _define(listed: Listed, options: ClientOptions, host: Host, more: Declarations) -> AnyTool:
    effect, risk = _reading(listed, options)
    declared: Declarations = {
        "name": f"{options.prefix}{listed.name}",
        "namespace": options.name if options.namespace is None else options.namespace,
        "title": listed.title or "",
        "description": listed.description or listed.title or listed.name,
        "risk": risk,
        "metadata": {"mcp": {"server": options.name, "tool": listed.name, "digest": listed.digest}},
        "timeout": options.timeout,
        "idle_timeout": options.idle_timeout,
    }
    if effect is not None:
        declared["effect"] = effect
    if listed.output_schema is not None:
        declared["output"] = dict(listed.output_schema)
    declared.update(more)
    tool = _with_windows(listed, host, declared, trusting=options.trust_annotations)
    if tool.output_contract is None or "output" in more:
        return tool
    promised = _Structured(tool.output_contract)
    return attrs.evolve(tool, output_contract=promised, check_output=promised.validate)


def _with_windows(listed: Listed, host: Host, declared: Declarations, *, trusting: bool) -> AnyTool:
    """The tool: with effect windows, so that it is known what became of a call, unless it changes nothing."""
    call = RemoteCall(host, listed, trusting)
    tool = define_tool(input=_input(listed.input_schema), execute=call, **declared)
    if tool.definition.classification.read_only or "effect_windows" in declared:
        return tool
    call.windows = True
    return attrs.evolve(tool, definition=attrs.evolve(tool.definition, effect_windows=True))


def _input(schema: Mapping[str, object]) -> dict[str, object]:
    """The schema of the arguments; open where it has to be, since older drafts cannot close a combination."""
    said = dict(schema)
    draft = str(said.get("$schema", _DRAFT))
    is_open = "additionalProperties" in said or "unevaluatedProperties" in said
    if _DRAFT not in draft and not is_open and any(word in said for word in _COMBINING):
        said["additionalProperties"] = True
    return said


def _reading(listed: Listed, options: ClientOptions) -> tuple[EffectDeclaration | None, Risk]:
    """What the hints of the server say. What makes a tool look milder counts only when the host trusts them."""
    hints = listed.annotations
    read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
    target = EffectTarget("external-system", options.name)
    effect: EffectDeclaration | None = None
    if options.trust_annotations and read_only is True:
        effect = EffectDeclaration("read-only")
    elif options.trust_annotations and isinstance(destructive, bool):
        effect = EffectDeclaration("destructive" if destructive else "external-write", (target,))
    return effect, Risk(
        dangerous=True if destructive is True and read_only is not True else None,
        mutates=True if read_only is False else None,
        untrusted_output=True,
    )


class _Structured(OutputContract):
    """What the structured part of a result promises; pictures, sounds, links and resources beside it are nobody's promise."""

    __slots__ = ("_inner",)

    def __init__(self, inner: OutputContract) -> None:
        self.schema = inner.schema
        self._inner = inner

    def validate(self, value: object) -> object:
        self._inner.validate(_structured(value))
        return value

    def dump(self, value: object) -> object:
        return self._inner.dump(_structured(value))

    def load(self, plain: object) -> object:
        return self._inner.load(plain)


def _structured(value: object) -> object:
    if isinstance(value, list):
        first, *others = cast("list[object]", value) or [None]
        if others and all(isinstance(each, BinaryContent | LinkContent | TextResourceContent) for each in others):
            return first
        return cast("list[object]", value)
    return value
