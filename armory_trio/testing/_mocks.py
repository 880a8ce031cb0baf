"""Tools that only pretend: they answer as they are told to, and keep what they were asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, Unpack, cast

import attrs
import msgspec
import trio

from ..definitions import Tool, ToolContext, define_tool
from ..definitions._options import Declarations
from ..errors import DefinitionError

_OPEN: Final[Mapping[str, object]] = {"type": "object", "additionalProperties": True}


class MockCall(msgspec.Struct, frozen=True):
    """One call of a mock tool, from the moment at which its body was entered.

    Args:
        arguments: What it was called with, validated, defaults filled in.
        execution_id: The execution, in the supervisor's snapshots.
        call_id: The id of the `ToolCall`.
        owner_id: Who owned it.
        at: Seconds on trio's clock.
    """

    arguments: Mapping[str, object]
    execution_id: str
    call_id: str
    owner_id: str | None
    at: float


@attrs.frozen(eq=False, repr=False)
class MockTool(Tool[..., object]):
    """A tool that only pretends. Made by `mock_tool`.

    Args:
        calls: The calls whose body was entered, in that order. Refused calls are not among them, nor those that were
            stopped while they waited for their turn.
    """

    calls: list[MockCall] = attrs.field(factory=list[MockCall], kw_only=True)


@attrs.frozen
class _Script:
    """What a mock tool does."""

    result: object
    error: BaseException | type[BaseException] | None
    delay: float
    chunks: tuple[object, ...] | None

    @property
    def function(self) -> Callable[[], object]:
        """What stands in for the tool's function."""
        return self.answer if self.chunks is None else self.flow

    async def answer(self) -> object:
        """Answer, or fail."""
        await trio.sleep(self.delay)
        self._fail()
        return self.result

    async def flow(self) -> AsyncIterator[object]:  # noqa: ASYNC900  # driven by the engine, like that of any tool
        """Stream, and fail afterwards."""
        for chunk in self.chunks or ():
            await trio.sleep(self.delay)
            yield chunk
        if self.error is not None:
            await trio.sleep(self.delay)
        self._fail()

    def _fail(self) -> None:
        if isinstance(self.error, BaseException):
            raise self.error.with_traceback(None)  # it would gather those of all calls
        if self.error is not None:
            raise self.error


def mock_tool(
    name: str | Tool[..., object],
    /,
    *,
    result: object = None,
    error: BaseException | type[BaseException] | None = None,
    delay: float = 0.0,
    chunks: Iterable[object] | None = None,
    input: Mapping[str, object] | type | None = None,
    **declared: Unpack[Declarations],
) -> MockTool:
    """Make a tool that answers as it is told to, and keeps its calls in ``.calls``.

    Args:
        name: What it is called; or a tool, whose place it takes: same id, description, input contract and
            declarations, another function. ``toolbox.extend(mock, replace=True)`` exchanges them.
        result: What it answers.
        error: What it raises instead; with chunks, after them.
        delay: Seconds that it takes, on trio's clock; with chunks, before each of them and before the error.
            Cancelled, it stops there.
        chunks: What it streams; its value is then made of them.
        input: What arguments it takes, as for `define_tool`: a class with fields, or a JSON Schema. Any object, if
            nothing is said.
        declared: The declarations of `Declarations`.

    Raises:
        DefinitionError: Two of these contradict each other, or a declaration is wrong.
    """
    if result is not None and (error is not None or chunks is not None):
        raise DefinitionError("mock_tool", "result", "is never answered beside an error or chunks; give one of them")
    if not delay >= 0:
        raise DefinitionError("mock_tool", "delay", f"is {delay!r}; give seconds, 0 or more")
    script = _Script(result, error, delay, None if chunks is None else tuple(chunks))
    if isinstance(name, Tool):
        if input is not None or declared:
            raise DefinitionError("mock_tool", "declarations", f"are those of {name.name!r}, whose place it takes")
        return _pretending(name, script)
    if "name" in declared:
        raise DefinitionError("mock_tool", "name", f"is {name!r} already; give it once")
    words = {"description": f"Pretends to be {name}.", **declared, "name": name}
    define = cast("Callable[..., Tool[..., object]]", define_tool)  # its overloads are for functions of one kind
    return _pretending(define(input=_OPEN if input is None else input, execute=script.function, **words), script)


def _pretending(tool: Tool[..., object], script: _Script) -> MockTool:
    calls: list[MockCall] = []

    def invoke(validated: object, context: object) -> object:
        assert isinstance(context, ToolContext)
        named = tool.contract.named(validated)
        calls.append(MockCall(named, context.execution_id, context.call_id, context.owner_id, at=trio.current_time()))
        return script.function()

    return MockTool(
        definition=tool.definition,
        contract=tool.contract,
        function=script.function,
        kind="async" if script.chunks is None else "async-generator",
        options=attrs.evolve(tool.options, placement="task"),
        invoke=invoke,
        wants_context=True,
        calls=calls,
    )
