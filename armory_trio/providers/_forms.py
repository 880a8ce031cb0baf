"""How each provider's request holds tools and says which of them to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol, cast

import msgspec

from ..errors import DefinitionError
from ..toolbox._offering import OfferedTool
from ._dialects import (
    ANTHROPIC,
    ANTHROPIC_STRICT,
    COMMON,
    GEMINI,
    GEMINI_CLASSIC,
    OPENAI,
    OPENAI_STRICT,
    Rules,
)
from ._turn import Json

__all__ = ("FORMS", "Budget", "ProviderForm", "sealed")


class Budget(msgspec.Struct, frozen=True):
    """How much may be strict in one request."""

    tools: int
    optional: int
    unions: int


class Chooser(Protocol):
    """Which tools are to be called, as a request says it."""

    def __call__(self, mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
        """Answer the members of the request."""
        ...


class ProviderForm(msgspec.Struct, frozen=True, eq=False):
    """How one provider is offered tools.

    Args:
        plain: The dialect without ``strict``.
        write: All tools, as the request holds them.
        choose: The members of a request that say which tools are to be called.
        strict: The dialect with ``strict``, if there is one.
        budget: How much may be strict in one request.
    """

    plain: Rules
    write: Callable[[Sequence[OfferedTool]], list[Json]]
    choose: Chooser
    strict: Rules | None = None
    budget: Budget | None = None

    def tools(self, offered: Sequence[OfferedTool]) -> list[Json]:
        """The value of ``tools`` in a request."""
        return self.write(offered)

    def choice(self, mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
        """The members of a request that say which tools are to be called."""
        return self.choose(mode, names, parallel=parallel)


def sealed(value: object) -> object:
    """A copy of the JSON *value* that nobody can change. It may be deeper than `freeze_json` goes."""
    if isinstance(value, dict):
        return MappingProxyType({key: sealed(each) for key, each in cast("Json", value).items()})
    return tuple(map(sealed, cast("list[object]", value))) if isinstance(value, list) else value


def _copy(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copy(each) for key, each in cast("Mapping[str, object]", value).items()}
    return [_copy(each) for each in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


def _function(tool: OfferedTool) -> Json:
    return {"name": tool.wire, "description": tool.description, "parameters": _copy(tool.schema)}


def _chat(offered: Sequence[OfferedTool]) -> list[Json]:
    return [{"type": "function", "function": {**_function(tool), "strict": tool.strict}} for tool in offered]


def _common(offered: Sequence[OfferedTool]) -> list[Json]:
    return [{"type": "function", "function": _function(tool)} for tool in offered]


def _responses(offered: Sequence[OfferedTool]) -> list[Json]:
    return [{"type": "function", **_function(tool), "strict": tool.strict} for tool in offered]


def _anthropic(offered: Sequence[OfferedTool]) -> list[Json]:
    return [
        {
            "name": tool.wire,
            "description": tool.description,
            "input_schema": _copy(tool.schema),
            **({"strict": True} if tool.strict else {}),
        }
        for tool in offered
    ]


def _gemini(offered: Sequence[OfferedTool]) -> list[Json]:
    return _declared(offered, "parametersJsonSchema")


def _gemini_openapi(offered: Sequence[OfferedTool]) -> list[Json]:
    return _declared(offered, "parameters")


def _declared(offered: Sequence[OfferedTool], member: str) -> list[Json]:
    declarations: list[object] = []
    for tool in offered:
        declaration: Json = {"name": tool.wire, "description": tool.description}
        if tool.schema.get("properties") or member != "parameters":  # that one takes no object without members
            declaration[member] = _copy(tool.schema)
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}] if declarations else []


# ── which tools to call ──────────────────────────────────────────────────────────────────────────────────────────────


def _openai_choice(mode: str, names: Sequence[str], named: Callable[[str], Json]) -> object:
    if not names or mode == "none":
        return mode
    if len(names) == 1 and mode == "required":
        return named(names[0])
    return {"mode": mode, "tools": [named(name) for name in names]}


def _chat_choice(mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
    choice = _openai_choice(mode, names, lambda name: {"type": "function", "function": {"name": name}})
    if isinstance(choice, dict) and "tools" in choice:
        choice = {"type": "allowed_tools", "allowed_tools": cast("Json", choice)}
    return {"tool_choice": choice, **_parallel(parallel=parallel)}


def _common_choice(mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
    if len(names) > 1 or (names and mode == "auto"):
        raise DefinitionError("manifest", "names", "compatible servers take one name, or none; offer only these tools")
    return _chat_choice(mode, names, parallel=parallel)


def _responses_choice(mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
    choice = _openai_choice(mode, names, lambda name: {"type": "function", "name": name})
    if isinstance(choice, dict) and "tools" in choice:
        choice = {"type": "allowed_tools", **cast("Json", choice)}
    return {"tool_choice": choice, **_parallel(parallel=parallel)}


def _parallel(*, parallel: bool | None) -> Json:
    return {} if parallel is None else {"parallel_tool_calls": parallel}


def _anthropic_choice(mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
    if len(names) > 1 or (names and mode == "auto"):
        raise DefinitionError("manifest", "names", "Anthropic takes one name, or none; offer only these tools")
    choice: Json = {"type": {"auto": "auto", "required": "any", "none": "none"}[mode]}
    if names and mode == "required":
        choice = {"type": "tool", "name": names[0]}
    if parallel is not None and mode != "none":
        choice["disable_parallel_tool_use"] = not parallel
    return {"tool_choice": choice}


def _gemini_choice(mode: str, names: Sequence[str], *, parallel: bool | None) -> Json:
    if parallel is False:
        raise DefinitionError("manifest", "parallel", "Gemini can't be told to make one call at a time")
    word = {"auto": "VALIDATED" if names else "AUTO", "required": "ANY", "none": "NONE"}[mode]
    config: Json = {"mode": word}
    if names and mode != "none":
        config["allowedFunctionNames"] = list(names)
    return {"toolConfig": {"functionCallingConfig": config}}


FORMS: Final[Mapping[str, ProviderForm]] = {
    "openai-chat": ProviderForm(OPENAI, _chat, _chat_choice, OPENAI_STRICT),
    "openai-responses": ProviderForm(OPENAI, _responses, _responses_choice, OPENAI_STRICT),
    "anthropic": ProviderForm(ANTHROPIC, _anthropic, _anthropic_choice, ANTHROPIC_STRICT, Budget(20, 24, 16)),
    "gemini": ProviderForm(GEMINI, _gemini, _gemini_choice),
    "gemini-openapi": ProviderForm(GEMINI_CLASSIC, _gemini_openapi, _gemini_choice),
    "common": ProviderForm(COMMON, _common, _common_choice),
}
"""Every provider that can be offered tools."""
