"""pydantic-ai: an agent uses the tools of a host as a toolset.

``Agent(model, toolsets=[ArmoryToolset(host)])`` inside of ``async with open_asyncio_host(toolbox) as host``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, cast

from pydantic_ai import AbstractToolset, ApprovalRequired, BinaryContent, ModelRetry, RunContext, ToolFailed, ToolReturn
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import ToolsetTool

from ..content import words_for_error
from ..definitions import CallDefect, PendingApproval, ToolCall, ToolError, ToolResult, thaw_json
from ..definitions._checks import count, text
from ..engine import CallOptions
from ..providers._arguments import read_arguments
from ..providers._blocks import pieces_of
from ..toolbox import Toolbox
from ..toolbox._offering import Naming
from ..toolbox._resolution import AnyTool
from ._agent_approvals import can_be_resumed, resume, run_agreed, same_json
from ._agent_tools import (
    FACTS,
    Shown,
    available,
    chosen,
    facts_of,
    require_function_or_none,
    require_host,
    shown_tools,
    words_of,
)
from .asyncio_host import AsyncioHost

__all__ = ("ArmoryToolset",)

_SUBJECT: Final = "ArmoryToolset"
_SENT: Final = "sent"
"""In the metadata of a call that waits, the arguments that the model sent."""

_WRONG: Final = frozenset(("INVALID_ARGUMENTS", "MALFORMED_CALL", "TRUNCATED_CALL"))
"""Codes of calls that the model wrote wrongly, and may write again."""


class ArmoryToolset(AbstractToolset[AgentDepsT]):
    """The tools of a host, for ``Agent(toolsets=[...])``. To be used while the host is open.

    What is listed is decided before each step: what the toolbox has then, what is available, and nothing that its gates
    or its approval policy would refuse in any case.

    A call has the framework's call id. Arguments that do not fit are a `ModelRetry`, anything else that went wrong a
    `ToolFailed`; either way the model reads in words what happened. A call that a person has to agree to, in a host with
    ``keys`` and without an ``approval_handler``, is deferred with `ApprovalRequired`. A run that is cancelled aborts its
    executions, source ``caller``. Only these end the run: what *options* raises, `AdmissionClosed` of a host that takes
    no new work, and the framework's own limit of retries.

    Args:
        host: The host.
        tools: Which of its tools, or their names or ids; by default all.
        naming: What a model calls them.
        options: Answers the options of a call, given the run's context: on whose behalf it is, for instance.
        max_retries: How often a model may write a call anew in a row; by default as often as the agent says.
        id: What the framework calls this toolset.

    Raises:
        DefinitionError: A name means no tool, two tools have one name, or an argument has the wrong type.
    """

    def __init__(
        self,
        host: AsyncioHost,
        *,
        tools: Sequence[AnyTool | str] | None = None,
        naming: Naming = "name",
        options: Callable[[RunContext[AgentDepsT]], CallOptions] | None = None,
        max_retries: int | None = None,
        id: str | None = None,
    ) -> None:
        require_host(_SUBJECT, host)
        require_function_or_none(_SUBJECT, "options", options)
        if max_retries is not None:
            count(_SUBJECT, "max_retries", max_retries, least=0)
        if id is not None:
            text(_SUBJECT, "id", id, blank=False)
        self._host = host
        self._tools = tools
        self._naming: Naming = naming
        self._options = options
        self._max_retries = max_retries
        self._id = id
        self._listed: tuple[Toolbox, dict[str, Shown]] = self._list(host.toolbox)

    @property
    def id(self) -> str | None:
        """What the framework calls this toolset."""
        return self._id

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """What may be called now. Cancelled: a hook that is asked whether its tool is available is.

        Raises:
            DefinitionError: The toolbox was exchanged for one that has not all of the tools that were named.
        """
        retries = ctx.max_retries if self._max_retries is None else self._max_retries
        shown = self._shown()
        ids = await available(self._host, [each.tool for each in shown.values()])
        return {
            wire: ToolsetTool(
                toolset=self, tool_def=_definition(each), max_retries=retries, args_validator=_Arguments(wire)
            )
            for wire, each in shown.items()
            if each.tool.id.text in ids
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, object],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],  # noqa: ARG002  # the framework's signature
    ) -> object:
        """Run one call and answer what the model reads of it.

        Cancelled: the execution is aborted, and waited for at most 0.05 s.

        Raises:
            ModelRetry: The arguments do not fit.
            ToolFailed: It did not run, or went wrong.
            ApprovalRequired: A person has to agree first. The metadata has the descriptor.
            AdmissionClosed: The host takes no new work.
            JsonError: The metadata that came back with a yes holds no descriptor.
        """
        shown = self._shown().get(name)
        call = ToolCall(name if shown is None else shown.name, tool_args, ctx.tool_call_id or "")
        options = CallOptions() if self._options is None else self._options(ctx)
        if ctx.tool_call_approved:
            result = await self._run_approved(call, options, ctx.tool_call_metadata)
        else:
            result = await self._host.execute(call, **options)
        return _answer(result, tool_args)

    async def _run_approved(self, call: ToolCall, options: CallOptions, metadata: object) -> ToolResult[object]:
        kept = cast("Mapping[str, object]", metadata).get(FACTS) if isinstance(metadata, Mapping) else None
        if not isinstance(kept, Mapping):
            return await run_agreed(self._host, call, options)
        noted = cast("Mapping[str, object]", kept)
        pending = PendingApproval.from_json(noted.get("pending_approval"))
        if same_json(noted.get(_SENT), call.arguments):
            return await resume(self._host, call, pending, options)
        # The person wrote other arguments: the rules are asked about them, and the person has agreed to them.
        begun = await resume(self._host, call, pending, options, arguments=call.arguments)
        return await run_agreed(self._host, call, options, begun)

    def _shown(self) -> dict[str, Shown]:
        if self._listed[0] is not self._host.toolbox:
            self._listed = self._list(self._host.toolbox)
        return self._listed[1]

    def _list(self, toolbox: Toolbox) -> tuple[Toolbox, dict[str, Shown]]:
        listed = chosen(_SUBJECT, toolbox, self._tools, self._naming)
        return toolbox, shown_tools(_SUBJECT, listed, self._naming)


def _definition(shown: Shown) -> ToolDefinition:
    definition = shown.tool.definition
    effect = definition.classification.effect_class if definition.classification.classified else None
    return ToolDefinition(
        name=shown.wire,
        description=definition.description,
        parameters_json_schema=cast("dict[str, object]", thaw_json(definition.input_schema)),
        metadata={FACTS: {"id": definition.id.text, "tags": list(definition.tags), "effect": effect}},
    )


class _Arguments:
    """What the framework has read of the arguments before a call: one JSON object. Whether it fits, the tool decides."""

    def __init__(self, wire: str) -> None:
        self._wire = wire

    def validate_json(
        self,
        input: str | bytes | bytearray,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,
        **_: object,
    ) -> dict[str, object]:
        text = input if isinstance(input, str) else input.decode("utf-8", "surrogateescape")
        return self.validate_python(text, allow_partial=allow_partial)

    def validate_python(
        self,
        input: object,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002  # nothing runs on a part
        **_: object,
    ) -> dict[str, object]:
        arguments, defect = read_arguments(input)
        if defect is not None:
            raise ModelRetry(self._words(defect))
        return dict(arguments)

    def _words(self, defect: CallDefect) -> str:
        return words_for_error(self._wire, ToolError("validation", defect.code, defect.message), "none", ran=False)


def _answer(result: ToolResult[object], sent: Mapping[str, object]) -> ToolReturn[object]:
    if can_be_resumed(result):
        raise ApprovalRequired({FACTS: {**facts_of(result), _SENT: dict(sent)}})
    if result.outcome == "success":
        pieces = [
            piece if isinstance(piece, str) else BinaryContent(piece.data, media_type=piece.media_type)
            for piece in pieces_of(result)
        ]
        return ToolReturn(pieces[0] if len(pieces) == 1 else pieces, metadata={FACTS: facts_of(result)})
    if result.error is not None and result.attempts == 0 and result.error.code in _WRONG:
        raise ModelRetry(words_of(result))
    raise ToolFailed(words_of(result))
