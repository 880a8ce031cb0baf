"""LangChain: the tools of a host as LangChain's tools, for ``bind_tools`` and whatever calls them.

``langchain_tools(host)`` inside of ``async with open_asyncio_host(toolbox) as host``, or in a program without an event
loop inside of ``with open_blocking_host(toolbox) as host``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from ..definitions import ToolCall, ToolExecutionError, ToolResult, thaw_json
from ..definitions._checks import shown
from ..engine import CallOptions
from ..errors import AdmissionClosed, DefinitionError
from ..providers._arguments import read_arguments
from ..providers._blocks import admitted, encoded, media_type_of, pieces_of
from ..providers._openai_chat import OPENAI_MEDIA
from ..toolbox._offering import Naming
from ..toolbox._resolution import AnyTool
from ._agent_tools import Shown, chosen, require_function_or_none, shown_tools, words_of
from .asyncio_host import AsyncioHost
from .portal import BlockingHost

__all__ = ("langchain_tools", "tool_message")

_SUBJECT: Final = "langchain_tools"

Options = Callable[[RunnableConfig], CallOptions]
Content = str | list[str | dict[str, object]]


def langchain_tools(
    host: AsyncioHost | BlockingHost,
    *,
    tools: Sequence[AnyTool | str] | None = None,
    naming: Naming = "name",
    options: Options | None = None,
) -> list[BaseTool]:
    """The tools of *host* as LangChain has them. To be made and used while the host is open.

    With an asyncio host ``ainvoke`` is native, and ``invoke`` is for other threads than the loop's. With a blocking host
    ``invoke`` is for any thread, and ``ainvoke`` waits for one in a thread. Who cancels the task aborts the execution,
    source ``caller``.

    A tool that is given a `ToolCall` answers a `ToolMessage`, whose artifact is our `ToolResult`; its status is
    ``error`` unless the call succeeded, and the content says in words what happened. Given arguments alone, a tool
    answers its content, and raises `ToolException` with those words. Only these come through besides: what *options*
    raises, and `AdmissionClosed` of a host that takes no new work.

    Tools that the toolbox's gates or its approval policy would refuse in any case are left out. Whether a tool is
    available is found out by the call.

    Args:
        host: The host.
        tools: Which of its tools, or their names or ids; by default all.
        naming: What a model calls them.
        options: Answers the options of a call, given the ``config`` of the invocation: on whose behalf it is, for
            instance.

    Raises:
        DefinitionError: A name means no tool, two tools have one name, or an argument has the wrong type.
        RuntimeError: The host is one of asyncio, and no loop runs in this thread.
    """
    require_function_or_none(_SUBJECT, "options", options)
    calling = _calling(host)
    listed = chosen(_SUBJECT, host.toolbox, tools, naming)
    return [_ArmoryTool.of(each, calling, options) for each in shown_tools(_SUBJECT, listed, naming).values()]


def tool_message(result: ToolResult[object], *, name: str | None = None) -> ToolMessage:
    """*result* as the message that answers its call: for what came of a call that waited for a person.

    Args:
        result: The result, whose call id is that of the model's call.
        name: What the model calls the tool; by default its name here.
    """
    return ToolMessage(
        _content(result),
        artifact=result,
        tool_call_id=result.call_id,
        name=name or result.tool_name,
        status="success" if result.outcome == "success" else "error",
    )


class _ArmoryTool(BaseTool):
    """One tool of a host."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    _calls: str = PrivateAttr(default="")
    _calling: _Calling = PrivateAttr()
    _options: Options | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, tool: Shown, calling: _Calling, options: Options | None) -> _ArmoryTool:
        """The tool that the model calls ``tool.wire``."""
        schema = cast("dict[str, object]", thaw_json(tool.tool.definition.input_schema))
        made = cls(
            name=tool.wire,
            description=tool.tool.description,
            args_schema={"properties": {}, **schema},
            metadata={"armory_trio": tool.tool.id.text},
        )
        made._calls, made._calling, made._options = tool.name, calling, options
        return made

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, object], tool_call_id: str | None
    ) -> tuple[tuple[str, ...], dict[str, object]]:
        # By place: a tool may have arguments called like parameters of LangChain's own. What it passes on so is ours.
        given = (self._parse_input(tool_input, tool_call_id), tool_call_id)
        return cast("tuple[str, ...]", given), {}

    def _run(
        self, arguments: Mapping[str, object], call_id: str | None, /, *, config: RunnableConfig
    ) -> tuple[Content | ToolMessage, ToolResult[object]]:
        return self._answer(self._calling.run(self._call(arguments, call_id), self._options_of(config)), call_id)

    async def _arun(
        self, arguments: Mapping[str, object], call_id: str | None, /, *, config: RunnableConfig
    ) -> tuple[Content | ToolMessage, ToolResult[object]]:
        result = await self._calling.arun(self._call(arguments, call_id), self._options_of(config))
        return self._answer(result, call_id)

    def _call(self, arguments: Mapping[str, object], call_id: str | None) -> ToolCall:
        read, defect = read_arguments(arguments)
        return ToolCall(self._calls, read, call_id or "", defect)

    def _options_of(self, config: RunnableConfig) -> CallOptions:
        return CallOptions() if self._options is None else self._options(config)

    def _answer(
        self, result: ToolResult[object], call_id: str | None
    ) -> tuple[Content | ToolMessage, ToolResult[object]]:
        if result.outcome == "success":
            return _content(result), result
        if call_id is None:
            raise ToolException(words_of(result)) from ToolExecutionError(result)
        return tool_message(result, name=self.name), result


def _content(result: ToolResult[object]) -> Content:
    pieces = admitted(pieces_of(result), OPENAI_MEDIA)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        return "\n\n".join(texts)
    return [
        {"type": "text", "text": piece}
        if isinstance(piece, str)
        else {"type": "image", "base64": encoded(piece), "mime_type": media_type_of(piece)}
        for piece in pieces
    ]


# ── from which side ──────────────────────────────────────────────────────────────────────────────────────────────────


class _Calling(Protocol):
    """How a host is called from asyncio, and from a thread without a loop."""

    def run(self, call: ToolCall, options: CallOptions) -> ToolResult[object]:
        """Run *call*, and wait in this thread."""
        ...

    async def arun(self, call: ToolCall, options: CallOptions) -> ToolResult[object]:
        """Run *call*. Cancelled: the execution is aborted."""
        ...


def _calling(host: object) -> _Calling:
    if isinstance(host, AsyncioHost):
        return _AsyncioCalling(host)
    if isinstance(host, BlockingHost):
        return _BlockingCalling(host)
    wanted = "must be the host that open_asyncio_host or open_blocking_host opened"
    raise DefinitionError(_SUBJECT, "host", f"{wanted}, not {shown(host)}")


class _AsyncioCalling:
    def __init__(self, host: AsyncioHost) -> None:
        self._host = host
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("make the tools of an asyncio host in the thread of its loop, while it runs") from None

    def run(self, call: ToolCall, options: CallOptions) -> ToolResult[object]:
        _refuse_loop()
        if self._loop.is_closed():
            raise AdmissionClosed("the host is closed, and so is its loop")
        waiting = asyncio.run_coroutine_threadsafe(self.arun(call, options), self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()  # of a thread that is interrupted; else it is over
            raise

    async def arun(self, call: ToolCall, options: CallOptions) -> ToolResult[object]:
        return await self._host.execute(call, **options)


class _BlockingCalling:
    def __init__(self, host: BlockingHost) -> None:
        self._host = host

    def run(self, call: ToolCall, options: CallOptions) -> ToolResult[object]:
        return self._host.execute(call, **options)

    async def arun(self, call: ToolCall, options: CallOptions) -> ToolResult[object]:
        execution = self._host.start(call, **options)
        waiting = asyncio.ensure_future(asyncio.to_thread(execution.result))
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            execution.abort("its asyncio caller was cancelled")
            await waiting  # until the outcome is decided, which it is at once
            raise


def _refuse_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("invoke would hold up the asyncio loop of this thread, and with it the tool: await ainvoke")
