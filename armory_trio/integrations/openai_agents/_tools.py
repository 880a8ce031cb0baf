"""Tools of a host as an agent has them: each call of one is an execution of the host's supervisor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar, cast
from weakref import WeakKeyDictionary

from agents import (
    AgentBase,
    FunctionTool,
    RunContextWrapper,
    RunItem,
    ToolCallOutputItem,
    ToolOutputImage,
    ToolOutputText,
)
from agents.tool import FunctionToolCustomDataContext
from agents.tool_context import ToolContext

from ...definitions import ToolCall, ToolResult
from ...engine import CallOptions
from ...errors import DefinitionError
from ...providers import compile_tools
from ...providers._blocks import admitted, data_url, pieces_of
from ...providers._openai_chat import OPENAI_MEDIA
from ...providers.openai import parse_response_tool_calls
from ...toolbox._offering import Manifest, Naming, OfferedTool, Strictness
from ...toolbox._resolution import AnyTool
from .._agent_approvals import may_ask, run_agreed, would_interrupt
from .._agent_tools import (
    FACTS,
    Facts,
    available,
    chosen,
    facts_of,
    require_function_or_none,
    require_host,
)
from ..asyncio_host import AsyncioHost

__all__ = ("agent_tools", "outcome_of")

_SUBJECT: Final = "agent_tools"

C = TypeVar("C")
"""What the program hands to its run as ``context``."""

Output = str | list[ToolOutputText | ToolOutputImage]


def agent_tools(
    host: AsyncioHost,
    *,
    tools: Sequence[AnyTool | str] | None = None,
    strict: Strictness = "auto",
    naming: Naming = "name",
    options: Callable[[RunContextWrapper[C]], CallOptions] | None = None,
    interrupt: bool = False,
) -> list[FunctionTool]:
    """The tools of *host* for ``Agent(tools=...)``. To be made while the host is open, for as long as it is.

    What an agent is shown stands from then on; whether a tool is available is asked before each turn. Tools that the
    toolbox's gates or its approval policy would refuse in any case are left out.

    A call has the SDK's call id. Whatever comes of it is told to the model in words; only these stop the run: what
    *options* raises, and `AdmissionClosed` of a host that takes no new work. A run that is cancelled aborts its
    executions, source ``caller``.

    Args:
        host: The host.
        tools: Which of its tools, or their names or ids; by default all.
        strict: Whether the provider is to make sure that arguments fit: ``auto`` where it can, True everywhere, False
            nowhere.
        naming: What a model calls them.
        options: Answers the options of a call, given the context of the run: on whose behalf it is, for instance.
        interrupt: A call that a person has to agree to interrupts the run, and goes on when ``RunState.approve`` said
            so. For a host with ``keys`` and without an ``approval_handler``; *options* has to answer the request
            context. By default the handler of the host is asked, or else the model is told that the call waits.

    Raises:
        DefinitionError: A name means no tool, two tools have one name, a contract can't be said in OpenAI's dialect, or
            an argument has the wrong type.
    """
    require_host(_SUBJECT, host)
    require_function_or_none(_SUBJECT, "options", options)
    listed = chosen(_SUBJECT, host.toolbox, tools, naming)
    manifest = compile_tools(listed, "openai-responses", strict=strict, naming=naming)
    for aside in manifest.set_aside:
        reason = f"{aside.id} can't be offered: {aside.pointer}: {aside.reason}; leave it out, or let it be less strict"
        raise DefinitionError(_SUBJECT, "tools", reason)
    by_id = {tool.id.text: tool for tool in listed}
    return [
        _AgentTool(host, manifest, offered, by_id[offered.id], options, interrupt=interrupt).as_function_tool(written)
        for offered, written in zip(manifest.offered, manifest.tools, strict=True)
    ]


def outcome_of(item: RunItem) -> Facts | None:
    """What became of the call behind an item of a run, such as ``result.new_items`` has; None if it was none of ours.

    It names the execution and the effect, and the descriptor of a call that waits for a person.
    """
    kept = item.custom_data if isinstance(item, ToolCallOutputItem) else None
    return None if kept is None else cast("Facts | None", kept.get(FACTS))


class _AgentTool(Generic[C]):
    """One tool, as the SDK calls it."""

    def __init__(
        self,
        host: AsyncioHost,
        manifest: Manifest,
        offered: OfferedTool,
        tool: AnyTool,
        options: Callable[[RunContextWrapper[C]], CallOptions] | None,
        *,
        interrupt: bool,
    ) -> None:
        self._host = host
        self._manifest = manifest
        self._offered = offered
        self._tool = tool
        self._options = options
        self._interrupt = interrupt
        self._facts: WeakKeyDictionary[ToolContext[C], Facts] = WeakKeyDictionary()

    def as_function_tool(self, written: Mapping[str, object]) -> FunctionTool:
        """What the agent gets; *written* is how a request has it."""
        offered = self._offered
        return FunctionTool(
            name=offered.wire,
            description=offered.description,
            params_json_schema=cast("dict[str, object]", written["parameters"]),
            on_invoke_tool=self._invoke,
            strict_json_schema=offered.strict,
            is_enabled=self._is_enabled,
            needs_approval=self._needs_approval if self._interrupt and may_ask(self._host, self._tool) else False,
            custom_data_extractor=self._custom_data,
        )

    async def _invoke(self, context: ToolContext[C], arguments: str) -> Output:
        call = self._call(context.tool_name, context.tool_call_id, arguments)
        options = self._options_of(context)
        if self._interrupt and context.is_tool_approved(context.tool_name, context.tool_call_id):
            result = await run_agreed(self._host, call, options)
        else:
            result = await self._host.execute(call, **options)
        self._facts[context] = facts_of(result)
        return _output(result)

    async def _is_enabled(self, _context: RunContextWrapper[C], _agent: AgentBase[C]) -> bool:
        return bool(await available(self._host, [self._tool]))

    async def _needs_approval(
        self, context: RunContextWrapper[C], parameters: Mapping[str, object], call_id: str
    ) -> bool:
        arguments = self._manifest.read(self._offered.wire, parameters)
        call = ToolCall(self._offered.name, arguments, call_id)
        return await would_interrupt(self._host, call, self._options_of(context))

    def _custom_data(self, context: FunctionToolCustomDataContext) -> Mapping[str, object] | None:
        facts = self._facts.pop(context.tool_context, None)
        return None if facts is None else {FACTS: facts}

    def _options_of(self, context: RunContextWrapper[C]) -> CallOptions:
        return CallOptions() if self._options is None else self._options(context)

    def _call(self, wire: str, call_id: str, arguments: str) -> ToolCall:
        item = {"type": "function_call", "call_id": call_id, "name": wire, "arguments": arguments}
        [call] = parse_response_tool_calls(item, manifest=self._manifest).calls
        return call


def _output(result: ToolResult[object]) -> Output:
    pieces = admitted(pieces_of(result), OPENAI_MEDIA)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        return "\n\n".join(texts)
    return [
        ToolOutputText(text=piece) if isinstance(piece, str) else ToolOutputImage(image_url=data_url(piece))
        for piece in pieces
    ]
