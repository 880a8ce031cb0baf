"""Tools that only pretend: they answer as they are told to, and keep what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self, Unpack, cast

import attrs
import msgspec
import trio

from ..definitions import Tool, ToolContext, define_tool
from ..definitions._options import Declarations
from ..errors import DefinitionError
from ._deeds import (
    SUBJECT,
    Acting,
    Answering,
    Compute,
    Computing,
    Deed,
    Failing,
    chunks_of,
    is_failure,
    require_seconds,
)

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

    What it does may be changed at any time, and holds for the calls whose body begins afterwards. For each of them
    the first of these decides that has something to say: `when` for its arguments, the last one first; `sequence`,
    `resolve`, `reject` or `stream`, whichever was said last; what it was made with.

    Where values are given, an exception or a class of exceptions is raised instead of being answered. A mock that
    was made with ``chunks`` streams whatever it answers: each value is then a list of chunks, in which an exception
    is raised in its place, and a `Pause` takes time.

    Args:
        calls: The calls whose body was entered, in that order. Refused calls are not among them, nor those that were
            stopped while they waited for their turn.
    """

    calls: list[MockCall] = attrs.field(factory=list[MockCall], kw_only=True)
    _acting: Acting = attrs.field(kw_only=True, alias="acting")

    def resolve(self, value: object, *, delay: float | None = None) -> Self:
        """Answer *value* from now on, whatever it is; answers the mock itself.

        Args:
            value: What to answer; of a mock that streams, the list of its chunks.
            delay: Seconds that it takes; None for those that the mock was made with.

        Raises:
            DefinitionError: The mock streams, and *value* is no list; or the delay is no length of time.
        """
        acting = self._acting
        seconds = acting.deed_of((), delay).delay
        acting.always(Answering(chunks_of(value) if acting.streams else value, seconds))
        return self

    def reject(self, error: BaseException | type[BaseException], *, delay: float | None = None) -> Self:
        """Raise *error* from now on; a `ToolFailure` says exactly what the caller is told. Answers the mock itself.

        Raises:
            DefinitionError: *error* is no exception, or the delay no length of time.
        """
        if not is_failure(error):
            raise DefinitionError(SUBJECT, "reject", f"{error!r} is no exception; give one, or a class of them")
        self._acting.always(self._acting.deed_of(error, delay))
        return self

    def stream(self, *chunks: object, delay: float | None = None) -> Self:
        """Stream these *chunks* from now on, with the exception among them that ends it; answers the mock itself.

        Raises:
            DefinitionError: The mock does not stream, since it was made without ``chunks``; or the delay is no length
                of time.
        """
        if not self._acting.streams:
            raise DefinitionError(SUBJECT, "stream", f"{self.name!r} does not stream; make it with chunks=[...]")
        return self.resolve(chunks, delay=delay)

    def sequence(self, *answers: object, repeat_last: bool = False, delay: float | None = None) -> Self:
        """Give each of these *answers* to one call, in the order in which the calls begin; answers the mock itself.

        When all are given, further calls fail with the code ``MOCK_EXHAUSTED`` and change nothing; with *repeat_last*
        they get the last answer again.

        Raises:
            DefinitionError: There are no answers, the mock streams and one is no list, or the delay is no length of
                time.
        """
        if not answers:
            raise DefinitionError(SUBJECT, "sequence", "is empty; give the answer to each call")
        deeds = [self._acting.deed_of(answer, delay) for answer in answers]
        self._acting.in_turn(deeds, repeat_last=repeat_last)
        return self

    def when(self, arguments: Mapping[str, object], answer: object, *, delay: float | None = None) -> Self:
        """Give *answer* to every call whose arguments contain *arguments*; answers the mock itself.

        Args:
            arguments: Names and values; arguments that are not named here may be anything.
            answer: What it answers, raises or streams then.
            delay: Seconds that it takes; None for those that the mock was made with.

        Raises:
            DefinitionError: *arguments* are no mapping, the mock streams and *answer* is no list, or the delay is no
                length of time.
        """
        if not isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a test need not be typed
            raise DefinitionError(SUBJECT, "when", f"{arguments!r} are no arguments; give names and values, as a dict")
        self._acting.for_arguments(dict(arguments), self._acting.deed_of(answer, delay))
        return self

    def reset(self) -> Self:
        """Forget the calls, and all that was said since it was made; answers the mock itself."""
        self.calls.clear()
        self._acting.reset()
        return self


def mock_tool(
    name: str | Tool[..., object],
    /,
    *,
    result: object = None,
    error: BaseException | type[BaseException] | None = None,
    answer: Compute | None = None,
    delay: float = 0.0,
    chunks: Iterable[object] | None = None,
    input: Mapping[str, object] | type | None = None,
    **declared: Unpack[Declarations],
) -> MockTool:
    """Make a tool that answers as it is told to, and keeps its calls in ``.calls``.

    It runs in the execution's own task, whatever it stands in for, so a mock clock sees all of it. What it does can be
    changed later: see `MockTool`.

    Args:
        name: What it is called; or a tool, whose place it takes: same id, description, contracts and declarations,
            another function. What it answers has to keep the promise of that tool's output contract, if it has one.
            ``toolbox.extend(mock, replace=True)`` exchanges them.
        result: What it answers.
        error: What it raises instead; with chunks, after them.
        answer: A function that answers each call from its arguments, as a mapping; sync or async.
        delay: Seconds that it takes, on trio's clock; with chunks, before each of them and before the error.
            Cancelled, it stops there.
        chunks: What it streams; its value is then made of them. An exception among them is raised in its place, and a
            `Pause` takes time.
        input: What arguments it takes, as for `define_tool`: a class with fields, or a JSON Schema. Any object, if
            nothing is said.
        declared: The declarations of `Declarations`.

    Raises:
        DefinitionError: Two of these contradict each other, or a declaration is wrong.
    """
    require_seconds(SUBJECT, "delay", delay)
    usual, streams = _usual(result, error, answer, delay, chunks), chunks is not None
    acting = Acting(usual, delay, streams=streams)
    if isinstance(name, Tool):
        if input is not None or declared:
            raise DefinitionError(SUBJECT, "declarations", f"are those of {name.name!r}, whose place it takes")
        return _pretending(name, acting)
    if "name" in declared:
        raise DefinitionError(SUBJECT, "name", f"is {name!r} already; give it once")
    words = {"description": f"Pretends to be {name}.", **declared, "name": name}
    define = cast("Callable[..., Tool[..., object]]", define_tool)  # its overloads are for functions of one kind
    return _pretending(define(input=_OPEN if input is None else input, execute=_function(acting), **words), acting)


def _usual(
    result: object, error: object, answer: Compute | None, delay: float, chunks: Iterable[object] | None
) -> Deed:
    given = {"result": result, "error": error, "answer": answer, "chunks": chunks}
    said = [field for field, value in given.items() if value is not None]
    if len(said) > 1 and said != ["error", "chunks"]:
        raise DefinitionError(SUBJECT, said[0], f"is never given beside {' and '.join(said[1:])}; give one of them")
    if error is not None and not is_failure(error):
        raise DefinitionError(SUBJECT, "error", f"{error!r} is no exception; give one, or a class of them")
    if answer is not None:
        if not callable(answer):
            raise DefinitionError(SUBJECT, "answer", f"{answer!r} is no function of the arguments")
        return Computing(answer, delay)
    if chunks is not None:
        return Answering((*chunks_of(chunks), *(() if error is None else (error,))), delay)
    return Answering(result, delay) if error is None else Failing(error, delay)


def _function(acting: Acting) -> Callable[..., object]:
    return acting.flow if acting.streams else acting.answer


def _pretending(tool: Tool[..., object], acting: Acting) -> MockTool:
    calls: list[MockCall] = []
    run = _function(acting)

    def invoke(validated: object, context: object) -> object:
        assert isinstance(context, ToolContext)
        named = tool.contract.named(validated)
        calls.append(MockCall(named, context.execution_id, context.call_id, context.owner_id, at=trio.current_time()))
        return run(acting.next(named), named)

    return MockTool(
        definition=tool.definition,
        contract=tool.contract,
        function=run,
        kind="async-generator" if acting.streams else "async",
        options=attrs.evolve(tool.options, placement="task", process=None),
        invoke=invoke,
        wants_context=True,
        check_output=tool.check_output,
        output_contract=tool.output_contract,
        calls=calls,
        acting=acting,
    )
