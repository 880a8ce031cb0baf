"""Results and exceptions whose own code raises while they are read: the call's own failure, and an honest effect."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import NoReturn, cast

import attrs
import pytest
import trio
import trio.testing

from armory_trio import Supervisor, Toolbox, ToolCall, ToolFailure, ToolResult, open_supervisor, tool
from tests.requirements import requirement


class Mute(Exception):
    """An exception whose text cannot be made."""

    def __str__(self) -> str:
        raise SystemExit(3)


class Slippery(str):
    """A text that cannot be shown in another."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise LookupError(spec)


class SlipperyError(Exception):
    """An exception whose text is such a one."""

    def __str__(self) -> str:
        return Slippery("half a character: \ud800")


RAISED = [
    ValueError("no"),
    Mute(),
    SlipperyError(),
    SystemExit(3),
    GeneratorExit(),
    asyncio.CancelledError(),
    StopIteration(),
    RecursionError(),
    BaseExceptionGroup("several", [SystemExit(), ValueError()]),
    ToolFailure("the result's own idea", effect="none"),
]

Maker = Callable[[BaseException], object]


def with_property(name: str, base: type, member: str, raised: BaseException) -> type:
    """A class below *base*, of which reading *member* raises."""

    def refuse(_: object) -> NoReturn:
        raise raised

    return type(name, (base,), {member: property(refuse)})


@attrs.define
class Row:
    """Something with a field."""

    size: int = 1


def whose_class(raised: BaseException) -> object:
    return with_property("Hidden", object, "__class__", raised)()


def whose_attributes(raised: BaseException) -> object:
    class Lazy:
        def __getattr__(self, name: str) -> object:
            raise raised

        def __getitem__(self, name: str) -> object:
            raise raised

    return Lazy()


def whose_property(raised: BaseException) -> object:
    kind = with_property("Row", Row, "size", raised)
    return cast("Callable[[type], object]", object.__new__)(kind)


def whose_items(raised: BaseException) -> object:
    class Torn(Mapping[str, int]):
        def __iter__(self) -> Iterator[str]:
            yield "a"
            raise raised

        def __getitem__(self, key: str) -> int:
            return 1

        def __len__(self) -> int:
            return 2

    return {"rows": [Torn()]}


def whose_text(raised: BaseException) -> object:
    class Word(collections.UserString):
        def __str__(self) -> str:
            raise raised

    return [Word("a")]


def whose_dump(raised: BaseException) -> object:
    class Model:
        def model_dump(self, *, mode: str) -> object:
            raise raised

    return Model()


def whose_keys(raised: BaseException) -> object:
    class Key:
        def __repr__(self) -> str:
            raise raised

    return {Key(): 1}


MAKERS: list[Maker] = [whose_class, whose_attributes, whose_property, whose_items, whose_text, whose_dump, whose_keys]


async def results_of(make: Maker, raised: BaseException) -> list[ToolResult[object]]:
    """How calls of an async tool, a def tool and a generator end that give what *make* makes."""

    @tool
    async def give() -> object:
        return make(raised)

    @tool(placement="task")
    def hand() -> object:
        return make(raised)

    @tool
    async def feed() -> AsyncIterator[object]:
        yield make(raised)

    async with open_supervisor(Toolbox([give, hand, feed])) as supervisor:
        results = [await supervisor.execute(ToolCall(name)) for name in ("give", "hand", "feed")]
    assert supervisor.report is not None
    assert supervisor.report.bugs == ()
    return results


@requirement("engine.unreadable-result")
@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: type(raised).__name__)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
async def test_a_result_whose_own_code_raises_while_it_is_read_is_invalid_output_of_a_completed_call(
    make: Maker, raised: BaseException, autojump_clock: trio.abc.Clock
) -> None:
    for result in await results_of(make, raised):
        assert result.error is not None
        assert (result.error.category, result.error.code, result.effect) == ("internal", "OUTPUT_INVALID", "completed")
        assert result.error.message.startswith("the result cannot be shown: ")
        result.error.message.encode()  # a message that no encoder takes would only fail later


def fail_with(member: str) -> BaseException:
    base: type[BaseException] = {"exceptions": BaseExceptionGroup, "__class__": BaseException}.get(member, ToolFailure)
    make = cast("Callable[..., BaseException]", base.__new__)
    return make(with_property("Hostile", base, member, LookupError(member)), "text", [ValueError()])


@requirement("engine.unreadable-result")
@pytest.mark.parametrize("member", ["details", "category", "effect", "retryable", "exceptions", "__class__"])
async def test_an_exception_whose_own_code_raises_while_it_is_read_is_still_the_failure_of_its_call(
    member: str, autojump_clock: trio.abc.Clock
) -> None:
    @tool
    async def fail() -> None:
        raise fail_with(member)

    async def end_of(supervisor: Supervisor) -> ToolResult[object]:
        return await supervisor.execute(ToolCall("fail"))

    async with open_supervisor(Toolbox([fail])) as supervisor:
        told = await end_of(supervisor)
    async with open_supervisor(Toolbox([fail]), error_detail="declared") as discreet:
        generic = await end_of(discreet)

    assert told.error is not None and generic.error is not None
    assert (told.error.code, told.effect) == ("INTERNAL_ERROR", "unknown")
    if member == "exceptions":
        assert told.error.message == "ValueError"  # the members of a group are read without its own code
    else:
        assert told.error.message == "Hostile: it cannot be read, for code of its own raises"
    assert generic.error.message == f"The tool failed ({generic.execution_id}); its operator can look the reason up."
    assert supervisor.report is not None and supervisor.report.bugs == ()


@requirement("shutdown.keyboard-interrupt")
async def test_a_result_that_raises_keyboard_interrupt_while_it_is_read_still_ends_the_supervisor(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool
    async def give() -> object:
        return whose_items(KeyboardInterrupt())

    async def main() -> None:
        async with open_supervisor(Toolbox([give])) as supervisor:
            await supervisor.execute(ToolCall("give"))

    with pytest.raises(KeyboardInterrupt):
        await main()


@requirement("engine.unreadable-result")
@pytest.mark.parametrize(
    ("member", "value"),
    [("category", "made-up"), ("category", ["internal"]), ("code", ["E42"]), ("effect", "perhaps"), ("details", 5)],
)
async def test_a_failure_that_was_spoilt_after_it_was_made_still_lets_its_caller_go(member: str, value: object) -> None:
    @tool
    async def spoil() -> None:
        failure = ToolFailure("no", category="conflict", code="E42", effect="none")
        setattr(failure, member, value)
        raise failure

    async with open_supervisor(Toolbox([spoil])) as supervisor:
        with trio.fail_after(30):
            result = await supervisor.execute(ToolCall("spoil"))

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("internal", "INTERNAL_ERROR")
    assert result.effect == "unknown"
    assert supervisor.report is not None and supervisor.report.bugs == ()


@requirement("engine.unreadable-result")
@pytest.mark.parametrize(
    "wrong", [{"code": ["E42"]}, {"details": 5}, {"retryable": "yes"}, {"category": "made-up"}, {"effect": "perhaps"}]
)
def test_a_failure_that_makes_no_sense_is_refused_where_it_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"ToolFailure {next(iter(wrong))}"):
        ToolFailure("no", **wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the point


@requirement("engine.unreadable-result")
async def test_a_reason_that_is_no_text_is_refused_and_stops_nothing(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def slow() -> str:
        await trio.sleep(1)
        return "done"

    wrong = cast("str", ["not", "a", "text"])
    async with open_supervisor(Toolbox([slow])) as supervisor:
        execution = supervisor.start(ToolCall("slow"))
        with pytest.raises(TypeError, match="say in a string"):
            execution.abort(wrong)
        with pytest.raises(TypeError, match="say in a string"):
            supervisor.abort(wrong, tool_name="slow")
        result = await execution.result()

    assert result.value == "done"


@requirement("engine.unreadable-result")
async def test_what_a_host_writes_into_one_result_shows_in_no_other(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def slow() -> None:
        await trio.sleep(1)

    async with open_supervisor(Toolbox([slow])) as supervisor:
        one, other = supervisor.start(ToolCall("slow")), supervisor.start(ToolCall("slow"))
        await trio.testing.wait_all_tasks_blocked()
        supervisor.abort("no longer wanted", tool_name="slow")
        first, second = (await one.result()).error, (await other.result()).error

    assert first is not None and second is not None
    cast("dict[str, object]", first.details)["secret"] = "of one tenant"
    assert second.details == {"source": "supervisor"}
