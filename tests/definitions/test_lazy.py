from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import (
    BlockingContext,
    DefinitionError,
    LoadFailed,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    define_tool,
    lazy,
    open_supervisor,
)
from armory_trio.definitions import Kind
from tests.definitions._loosely import loose_define
from tests.requirements import requirement

FIELDS: dict[str, object] = {"n": int}


async def double(arguments: dict[str, int]) -> int:
    return 2 * arguments["n"]


class Loader:
    """Counts how often it is asked, fails as often as it is told to, and takes its time."""

    def __init__(self, *, failures: int = 0, answer: object = double) -> None:
        self.asked = 0
        self.failures = failures
        self.answer = answer

    async def __call__(self) -> Callable[..., Awaitable[int]]:
        self.asked += 1
        await trio.sleep(1)
        if self.asked <= self.failures:
            raise OSError(f"no disk, time {self.asked}")
        return self.answer  # type: ignore[return-value]  # whatever a test wants it to answer


def made(loader: Callable[[], object], *, kind: Kind = "async", **declared: object) -> Tool[..., object]:
    late = lazy(cast("Callable[[], Callable[..., object]]", loader), kind=kind)
    return loose_define(**{"name": "late", "input": FIELDS, "execute": late, **declared})


def call(n: object = 1) -> ToolCall:
    return ToolCall("late", {"n": n})


@requirement("definitions.lazy.once")
async def test_a_function_is_loaded_by_the_first_call_and_never_again(autojump_clock: trio.testing.MockClock) -> None:
    loader = Loader()
    late = made(loader)
    assert loader.asked == 0

    assert await late(n=1) == 2
    assert await late(n=2) == 4
    assert loader.asked == 1


@requirement("definitions.lazy.once")
async def test_calls_that_come_together_share_one_load(autojump_clock: trio.testing.MockClock) -> None:
    loader = Loader()
    async with open_supervisor(Toolbox([made(loader)])) as supervisor:
        results = await supervisor.execute_batch([call(n) for n in range(20)])

    assert [result.value for result in results] == [2 * n for n in range(20)]
    assert loader.asked == 1


@requirement("definitions.lazy.once")
async def test_nothing_is_loaded_for_arguments_that_are_refused(autojump_clock: trio.testing.MockClock) -> None:
    loader = Loader()
    result = await Toolbox([made(loader)]).execute(call("x"))

    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    assert loader.asked == 0


@requirement("definitions.lazy.retry")
async def test_a_failed_load_harms_those_who_wait_for_it_and_the_next_call_tries_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    loader = Loader(failures=1)
    async with open_supervisor(Toolbox([made(loader)])) as supervisor:
        failed = await supervisor.execute_batch([call(), call()])
        again = await supervisor.execute(call(4))

    for result in failed:
        assert result.error is not None
        assert (result.error.category, result.error.code) == ("internal", "INTERNAL_ERROR")
        assert "tool 'late' could not be loaded: OSError: no disk, time 1" in result.error.message
        assert (result.effect, result.attempts) == ("none", 0)
    assert again.unwrap() == 8
    assert loader.asked == 2


@requirement("definitions.lazy.cancelled")
async def test_a_cancelled_load_is_begun_anew_by_who_waited_for_it(autojump_clock: trio.testing.MockClock) -> None:
    loader = Loader()
    async with open_supervisor(Toolbox([made(loader)])) as supervisor:
        first = supervisor.start(call(1))
        await trio.sleep(0.1)
        second = supervisor.start(call(2))
        await trio.sleep(0.1)
        first.abort("not needed any more")
        aborted, result = await first.result(), await second.result()

    assert aborted.error is not None
    assert (aborted.error.category, aborted.effect) == ("cancelled", "none")
    assert result.unwrap() == 4
    assert loader.asked == 2


def in_a_thread(arguments: dict[str, int]) -> int:
    return 2 * arguments["n"]


def with_context(arguments: dict[str, int], ctx: BlockingContext) -> str:
    return f"{arguments['n']} {ctx.tool_name}"


async def with_async_context(ctx: ToolContext, arguments: dict[str, int]) -> str:
    return f"{arguments['n']} {ctx.tool_name}"


async def flow(arguments: dict[str, int]) -> AsyncIterator[int]:
    for n in range(arguments["n"]):
        await trio.lowlevel.checkpoint()
        yield n


def trickle(arguments: dict[str, int]) -> Iterator[int]:
    yield from range(arguments["n"])


@requirement("definitions.lazy.fits")
@pytest.mark.parametrize(
    ("function", "kind", "value"),
    [
        (in_a_thread, "def", 6),
        (with_context, "def", "3 late"),
        (with_async_context, "async", "3 late"),
        (flow, "async-generator", [0, 1, 2]),
        (trickle, "generator", [0, 1, 2]),
    ],
)
async def test_a_function_of_every_kind_can_be_loaded_by_a_plain_loader(
    function: Callable[..., object], kind: Kind, value: object
) -> None:
    assert await made(lambda: function, kind=kind)(n=3) == value


@requirement("definitions.lazy.fits")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "its loader answered None, not a function of kind 'async'"),
        (in_a_thread, "its loader answered a function of kind 'def', not a function of kind 'async'"),
    ],
)
async def test_what_is_no_function_of_its_kind_is_a_failed_load(
    answer: object, words: str, autojump_clock: trio.testing.MockClock
) -> None:
    result = await made(Loader(answer=answer)).call(n=1)

    assert result.error is not None
    assert words in result.error.message
    assert result.effect == "none"


@requirement("definitions.lazy.fits")
async def test_a_loaded_async_function_with_a_blocking_context_is_a_failed_load() -> None:
    async def wrong(arguments: dict[str, int], ctx: BlockingContext) -> None: ...

    result = await made(lambda: wrong).call(n=1)

    assert result.error is not None
    assert "an async function awaits its context" in result.error.message


@requirement("definitions.lazy.fits")
def test_a_function_that_is_not_loaded_says_so_when_it_is_called() -> None:
    late = made(Loader())
    with pytest.raises(LoadFailed, match="tool 'late' was called before its function was loaded"):
        late.invoke({"n": 1}, None)


@requirement("definitions.lazy.fits")
def test_a_lazy_tool_says_its_name_and_its_input() -> None:
    loader = Loader()
    with pytest.raises(DefinitionError, match="tool: name: this function has no name"):
        define_tool(input=FIELDS, execute=lazy(loader))
    with pytest.raises(DefinitionError, match="tool 'late': input: has to be said"):
        made(loader, input=None)
    with pytest.raises(DefinitionError, match="tool 'late': output: a function that is not there yet"):
        made(loader, output="annotation")
    with pytest.raises(DefinitionError, match="tool 'late': placement: a worker process loads functions itself"):
        made(lambda: in_a_thread, kind="def", placement="process")
    with pytest.raises(DefinitionError, match="lazy: loader: must be a function"):
        lazy(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # the point of the test
    with pytest.raises(DefinitionError, match="lazy: kind: 'asink' is not one of"):
        lazy(loader, kind="asink")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # the point of the test


@requirement("definitions.lazy.fits", "definitions.lazy.retry")
async def test_a_module_that_exits_when_it_is_imported_is_a_failed_load() -> None:
    def leave() -> object:
        raise SystemExit(3)

    result = await made(leave).call(n=1)
    assert result.error is not None
    assert "tool 'late' could not be loaded: SystemExit: 3" in result.error.message
    assert result.effect == "none"


@requirement("definitions.lazy.fits")
async def test_a_loader_that_answers_a_tool_is_told_to_answer_its_function() -> None:
    async def body(n: int) -> int:
        return n

    listed = define_tool(name="listed", execute=body)
    result = await made(lambda: listed).call(n=1)
    assert result.error is not None
    assert "is a tool already; answer its .function" in result.error.message
    assert result.effect == "none"
