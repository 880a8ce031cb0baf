"""What a provider is offered of a toolbox: the tools in its own form, what that form can't say, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol, TypedDict, cast

import attrs
import msgspec

from ..definitions import near
from ..definitions._checks import flag, one_of, shown, text
from ..errors import DefinitionError
from ._resolution import AnyTool

__all__ = (
    "Loss",
    "LossAction",
    "Manifest",
    "Naming",
    "Offer",
    "OfferedTool",
    "ProviderName",
    "SetAside",
    "Strictness",
    "Wording",
)

Strictness = bool | Literal["auto"]
"""Whether the provider is to make sure that arguments fit: for each tool that can be strict, for all, or for none."""

Naming = Literal["name", "id"]
"""What a model calls a tool: its name, or its whole id, where names alone do not tell tools apart."""

ProviderName = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "gemini-openapi", "common"]
"""Whose form, and in which of its dialects.

``gemini-openapi`` is the older ``parameters`` of Gemini; ``common`` is the form of Chat Completions in words that
compatible servers know.
"""

LossAction = Literal["added", "described", "dropped", "encoded", "narrowed", "widened"]
"""What became of it.

``dropped``: the model is not told; our own validation still asks for it. ``described``: it stands in the description as
words. ``widened``: the model may write more than is legal. ``narrowed``: it can't write everything that is legal.
``encoded``: it is written in another form and turned back. ``added``: the dialect wants to hear what nobody said.
"""


class Offer(TypedDict, total=False):
    """What is offered, and how.

    Args:
        tools: The tools, or their names or ids; by default those of the toolbox.
        naming: What a model calls them.
    """

    tools: Sequence[AnyTool | str] | None
    naming: Naming


class Loss(msgspec.Struct, frozen=True):
    """One thing that a provider's dialect says otherwise than the contract, or not at all.

    Args:
        pointer: Where it stands in the contract's schema, as a JSON pointer behind ``#``.
        keyword: The keyword of JSON Schema.
        action: What became of it.
        detail: The same in words.
    """

    pointer: str
    keyword: str
    action: LossAction
    detail: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.keyword} {self.action}: {self.detail}"


class SetAside(msgspec.Struct, frozen=True):
    """A tool that is not offered, because the dialect can't say it at all.

    Args:
        id: The id of the tool.
        pointer: Where in its schema that is.
        reason: Why.
    """

    id: str
    pointer: str
    reason: str


class Wording(Protocol):
    """How the arguments of one tool are written by a provider's model."""

    def decode(self, value: object) -> object:
        """What was meant by *value*, as far as it has the form that was asked for."""
        ...

    def encode(self, value: object) -> object:
        """*value* in this form.

        Raises:
            ValueError: It is nothing that has this form.
        """
        ...


class OfferedTool(msgspec.Struct, frozen=True, eq=False):
    """One tool as a provider is offered it.

    Args:
        id: The id of the tool.
        name: What a call of it is called here.
        wire: What the provider's model calls it.
        description: What it does, for the model.
        schema: Its arguments in the provider's dialect. Not to be changed: `Manifest.tools` makes copies.
        strict: The provider makes sure that arguments fit ``schema``.
        why_not: Why it is not strict although that was asked for, if it could be.
        losses: What the dialect says otherwise, or not at all.
        wording: How arguments are written where that is not as they are.
    """

    id: str
    name: str
    wire: str
    description: str
    schema: Mapping[str, object]
    strict: bool
    why_not: str | None
    losses: tuple[Loss, ...]
    wording: Wording | None


class Form(Protocol):
    """How a provider's request holds tools."""

    def tools(self, offered: Sequence[OfferedTool]) -> list[dict[str, object]]:
        """The value of ``tools`` in a request."""
        ...

    def choice(self, mode: str, names: Sequence[str], *, parallel: bool | None) -> dict[str, object]:
        """The members of a request that say which tools are to be called.

        Raises:
            DefinitionError: The provider can't be told.
        """
        ...


@attrs.frozen(eq=False, repr=False)
class Manifest:
    """What one provider is offered: send ``tools``, and give the manifest to the parser of what comes back.

    It is not the file that declares a host's tools, which is called a manifest, too: see `toolbox_from_manifest`.

    Args:
        provider: Whose form it is.
        offered: The tools, in order.
        set_aside: Those that are not offered, and why.
    """

    provider: str
    offered: tuple[OfferedTool, ...]
    set_aside: tuple[SetAside, ...]
    _form: Form
    _by_wire: Mapping[str, OfferedTool] = attrs.field(init=False)
    _by_name: Mapping[str, OfferedTool] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_by_wire", {tool.wire: tool for tool in self.offered})
        by_name = {tool.name: tool for tool in self.offered}
        object.__setattr__(self, "_by_name", {**{tool.id: tool for tool in self.offered}, **by_name})

    def __repr__(self) -> str:
        aside = f", {len(self.set_aside)} set aside" if self.set_aside else ""
        return f"<Manifest for {self.provider}: {len(self.offered)} tools{aside}>"

    def __len__(self) -> int:
        return len(self.offered)

    @property
    def tools(self) -> list[dict[str, object]]:
        """The value of ``tools`` in a request: a copy, the caller's to change."""
        return self._form.tools(self.offered)

    @property
    def names(self) -> Mapping[str, str]:
        """What the tools are called here, by the name that the provider knows."""
        return {tool.wire: tool.name for tool in self.offered}

    @property
    def losses(self) -> Mapping[str, tuple[Loss, ...]]:
        """What is said otherwise than by the contract, or not at all, by the id of the tool."""
        return {tool.id: tool.losses for tool in self.offered if tool.losses}

    def called(self, wire: str) -> str:
        """What the tool that the provider calls *wire* is called here; a name that was not offered stays as it is.

        Raises:
            DefinitionError: *wire* is no text.
        """
        text("manifest", "wire", wire)
        tool = self._by_wire.get(wire)
        return wire if tool is None else tool.name

    def read(self, wire: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """What a model meant by the *arguments* of a call of *wire*.

        What does not have the form that was asked for stays as it is, and the tool's own validation decides about it.

        Raises:
            DefinitionError: *wire* is no text, or *arguments* are no mapping.
        """
        text("manifest", "wire", wire)
        _require_arguments(arguments)
        tool = self._by_wire.get(wire)
        if tool is None or tool.wording is None:
            return arguments
        try:
            meant = tool.wording.decode(dict(arguments))
        except RecursionError:  # deeper than anybody means; the contract says so better
            return arguments
        return cast("Mapping[str, object]", meant) if isinstance(meant, dict) else arguments

    def write(self, name: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """*arguments* as this provider's model would write them: for a history that it did not write itself.

        Arguments that do not fit the contract stay as they are, and so do those that would come back as something else;
        a member that is left out may come back as null where null is its default.

        Args:
            name: The name or the id of the tool, as calls have it here.
            arguments: Those of a call here.

        Raises:
            DefinitionError: *name* is no text, or *arguments* are no mapping.
        """
        text("manifest", "name", name)
        _require_arguments(arguments)
        tool = self._by_name.get(name)
        if tool is None or tool.wording is None:
            return arguments
        try:
            return cast("Mapping[str, object]", tool.wording.encode(_plain(arguments)))
        except (ValueError, RecursionError):
            return arguments

    def choose(self, *names: str, mode: str | None = None, parallel: bool | None = None) -> dict[str, object]:
        """The members of a request that say which tools are to be called.

        Args:
            names: Only these tools may be called, by their names or ids here. None for all.
            mode: ``auto`` (the model decides), ``required`` (at least one call) or ``none``. By default ``required``
                with names, else ``auto``.
            parallel: Whether several calls may come at once; None leaves it to the provider.

        Raises:
            DefinitionError: A tool is not offered, there is no such mode, or the provider can't be told.
        """
        chosen = ("required" if names else "auto") if mode is None else mode
        one_of("manifest", "mode", chosen, _MODES)
        if parallel is not None:
            flag("manifest", "parallel", parallel)
        for name in names:
            text("manifest", "names", name)
            if name not in self._by_name:
                hint = near(name, self._by_name, 1)
                meant = f"; did you mean {hint[0]!r}?" if hint else ""
                raise DefinitionError("manifest", "names", f"{name!r} is not offered{meant}")
        return self._form.choice(chosen, [self._by_name[name].wire for name in names], parallel=parallel)


_MODES: Final = ("auto", "required", "none")


def _require_arguments(arguments: object) -> None:
    if not isinstance(arguments, Mapping):
        raise DefinitionError(
            "manifest", "arguments", f"must be a mapping from names to values, not {shown(arguments)}"
        )


def _plain(value: object) -> object:
    """A copy of *value* in dicts and lists."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Sequence[object]", value)]
    return value
