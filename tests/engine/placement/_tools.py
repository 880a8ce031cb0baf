"""Bodies that the tests of the placements share. A worker process imports this module: it does nothing but define.

Each behaviour is written twice, as a ``def`` for threads and processes and as an ``async def`` for tasks, and is in
`TOOLS` once for each place. What happens when is decided by *gates*: files that a test makes.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Final, Literal, Unpack, cast, get_args
from uuid import UUID

import attrs
import msgspec
import trio

from armory_trio import BlockingContext, Tool, ToolContext, ToolFailure, tool
from armory_trio.definitions import Declarations, EffectMapping, Placement, ToolDecorator

PATIENCE: Final = 60
"""Seconds after which a test is taken for hung; no result depends on it."""

STRIPE: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "stripe"}]}

TOOLS: Final[dict[Placement, dict[str, Tool[..., object]]]] = {"task": {}, "thread": {}, "process": {}}

Ending = Literal["leave", "happened", "nothing", "raise", "raise after happened", "raise after nothing", "none opened"]


def offer(
    blocking: Callable[..., object],
    later: Callable[..., object],
    reducer: Callable[[list[object]], object] | None = None,
    **declared: Unpack[Declarations],
) -> None:
    """Put a behaviour into `TOOLS`, by default under the name of its blocking form."""
    together: Declarations = {"name": blocking.__name__, **declared}
    make = tool if reducer is None else cast("ToolDecorator", tool(reducer=reducer))
    for placement in get_args(Placement):
        placed: Declarations = {**together, "placement": placement}
        made = make(later if placement == "task" else blocking, **placed)
        TOOLS[placement][made.name] = made


def wait_for(gate: str) -> None:
    """Block until the file *gate* is there."""
    until = time.monotonic() + PATIENCE
    while not Path(gate).exists():
        if time.monotonic() > until:
            raise AssertionError(f"nobody opened {gate}")
        time.sleep(0.005)


async def wait_for_later(gate: str) -> None:
    """The same in a task."""
    with trio.fail_after(PATIENCE):
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240  # the other bodies have nothing but files either
            await trio.sleep(0.005)


# -- values


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Point:
    x: int
    y: float = 0.5


class Answer(msgspec.Struct, frozen=True):
    """What `describe` returns."""

    kinds: list[str]
    point: Point
    when: datetime


def describe(
    when: datetime, colour: Colour, points: list[Point], key: UUID, amount: Annotated[int, msgspec.Meta(gt=0)] = 7
) -> Answer:
    """Say what the arguments are."""
    return Answer([type(value).__name__ for value in (when, colour, points[0], key, amount)], points[0], when)


async def describe_later(
    when: datetime, colour: Colour, points: list[Point], key: UUID, amount: Annotated[int, msgspec.Meta(gt=0)] = 7
) -> Answer:
    await trio.lowlevel.checkpoint()
    return describe(when, colour, points, key, amount)


offer(describe, describe_later, effect="read-only")


def echo(value: object) -> object:
    """Give it back."""
    return value


async def echo_later(value: object) -> object:
    await trio.lowlevel.checkpoint()
    return value


offer(echo, echo_later, effect="read-only")

# -- exceptions


class OwnError(Exception):
    """Nothing of it can be pickled, nor said."""

    def __init__(self) -> None:
        super().__init__(lambda: None)

    def __str__(self) -> str:
        raise RuntimeError("it will not say")


class OwnTimeout(TimeoutError):
    """A timeout by another name."""


def fail(how: str) -> None:
    """Raise something."""
    errors: Mapping[str, Callable[[], BaseException]] = {
        "value": lambda: ValueError("no such account"),
        "own": OwnError,
        "timeout": lambda: OwnTimeout("too slow"),
        "connection": lambda: ConnectionResetError("gone"),
        "exit": lambda: SystemExit(3),
        "generator exit": GeneratorExit,
        "stop": lambda: StopIteration(4),
        "one of a group": lambda: ExceptionGroup("a", [ExceptionGroup("b", [ValueError("x")])]),
        "two of a group": lambda: ExceptionGroup("a", [ValueError("x"), KeyError("y")]),
        "declared": lambda: ToolFailure(
            "no funds", category="permission", code="NO_FUNDS", effect="none", details={"cents": 7}
        ),
        "retryable": lambda: ToolFailure("later", category="transient", retryable=True, effect="none"),
    }
    raise errors[how]()  # noqa: RSE102  # a function is called, not a class


async def fail_later(how: str) -> None:
    await trio.lowlevel.checkpoint()
    fail(how)


offer(fail, fail_later)

# -- chunks


def count(upto: int) -> Iterator[int]:
    """Count, one chunk a number."""
    yield from range(upto)


async def count_later(upto: int) -> AsyncIterator[int]:
    for number in range(upto):
        yield number


offer(count, count_later)


def total(upto: int) -> Iterator[int]:
    """Count, and give the sum."""
    yield from range(upto)


async def total_later(upto: int) -> AsyncIterator[int]:
    for number in range(upto):
        yield number


def add_up(chunks: list[object]) -> object:
    return sum(cast("list[int]", chunks))


offer(total, total_later, reducer=add_up)


def refuse(chunks: list[object]) -> object:
    raise ValueError(f"no value in {len(chunks)} chunks")


def unreduced(upto: int) -> Iterator[int]:
    """Count, and fail to sum up."""
    yield from range(upto)


async def unreduced_later(upto: int) -> AsyncIterator[int]:
    for number in range(upto):
        yield number


offer(unreduced, unreduced_later, reducer=refuse)


def breaks(after: int) -> Iterator[int]:
    """Count, then fail."""
    yield from range(after)
    raise ValueError("halfway")


async def breaks_later(after: int) -> AsyncIterator[int]:
    for number in range(after):
        yield number
    raise ValueError("halfway")


offer(breaks, breaks_later)


def rush(made: str) -> Iterator[int]:
    """Yield without end, one byte more in the file *made* for each chunk."""
    with Path(made).open("ab", buffering=0) as file:
        number = 0
        while True:
            file.write(b".")
            yield number
            number += 1


async def rush_later(made: str) -> AsyncIterator[int]:
    for number in rush(made):
        yield number


offer(rush, rush_later, buffer=4)

# -- what a context does


def identify(ctx: BlockingContext) -> dict[str, object]:
    """Say who runs here."""
    context = ctx.request_context
    return {
        "execution": ctx.execution_id,
        "call": ctx.call_id,
        "tool": ctx.tool_name,
        "owner": ctx.owner_id,
        "deadline": ctx.deadline is not None,
        "principal": None if context is None else context.principal,
        "capabilities": None if context is None or context.capabilities is None else sorted(context.capabilities),
        "abort": ctx.abort_requested,
        "draining": ctx.draining,
    }


async def identify_later(ctx: ToolContext) -> dict[str, object]:
    await trio.lowlevel.checkpoint()
    return identify(cast("BlockingContext", ctx))


offer(identify, identify_later, effect="read-only")


def talk(ctx: BlockingContext) -> str:
    """Say something in every way."""
    ctx.check()
    ctx.progress(10, "begun", checkpoint={"at": 1})
    ctx.log("info", "a line", {"k": [1, 2]})
    ctx.emit("custom", {"a": 1})
    with ctx.effect("charge card", target="stripe:1"):
        ctx.log("warning", "inside")
    with ctx.waiting("rate limit"):
        ctx.progress(20)
    ctx.report_cleanup("completed", "nothing to do")
    return "said"


async def talk_later(ctx: ToolContext) -> str:
    ctx.check()
    ctx.progress(10, "begun", checkpoint={"at": 1})
    ctx.log("info", "a line", {"k": [1, 2]})
    ctx.emit("custom", {"a": 1})
    async with ctx.effect("charge card", target="stripe:1"):
        ctx.log("warning", "inside")
    async with ctx.waiting("rate limit"):
        ctx.progress(20)
    ctx.report_cleanup("completed", "nothing to do")
    return "said"


offer(talk, talk_later, effect_windows=True, effect=STRIPE)


def misuse(how: str, ctx: BlockingContext) -> None:
    """Use the context wrongly."""
    if how == "progress":
        ctx.progress(101)
    elif how == "log":
        ctx.log(cast("Literal['info']", "loud"), "!")
    elif how == "cleanup":
        ctx.report_cleanup(cast("Literal['failed']", "fine"))
    else:
        ctx.effect("undeclared")


async def misuse_later(how: str, ctx: ToolContext) -> None:
    await trio.lowlevel.checkpoint()
    misuse(how, cast("BlockingContext", ctx))


offer(misuse, misuse_later, effect="read-only")


def change(ending: Ending, ctx: BlockingContext) -> str:
    """Change the world, and leave the window in some way."""
    if ending == "none opened":
        raise ValueError("before anything")
    with ctx.effect("outer"), ctx.effect("inner", target="stripe:2") as window:
        if ending.endswith("happened"):
            window.happened()
        if ending.endswith("nothing"):
            window.nothing_happened()
        if ending.startswith("raise"):
            raise ValueError("inside")
    return "changed"


async def change_later(ending: Ending, ctx: ToolContext) -> str:
    if ending == "none opened":
        raise ValueError("before anything")
    async with ctx.effect("outer"), ctx.effect("inner", target="stripe:2") as window:
        if ending.endswith("happened"):
            window.happened()
        if ending.endswith("nothing"):
            window.nothing_happened()
        if ending.startswith("raise"):
            raise ValueError("inside")
    return "changed"


offer(change, change_later, effect_windows=True, effect=STRIPE)

# -- being stopped


def hold(gate: str, ctx: BlockingContext) -> str:
    """Begin, and go on until the gate is open. Its effect is not declared."""
    ctx.progress(1, "began")
    wait_for(gate)
    return "held"


async def hold_later(gate: str, ctx: ToolContext) -> str:
    ctx.progress(1, "began")
    await wait_for_later(gate)
    return "held"


offer(hold, hold_later)
offer(hold, hold_later, name="look", effect="read-only")


def hold_window(gate: str, when: Literal["before", "inside", "after"], ctx: BlockingContext) -> str:
    """Hold before, in or after a window."""
    if when == "before":
        ctx.progress(1, "began")
        wait_for(gate)
    with ctx.effect("charge card"):
        if when == "inside":
            ctx.progress(1, "began")
            wait_for(gate)
    if when == "after":
        ctx.progress(1, "began")
        wait_for(gate)
    return "charged"


async def hold_window_later(gate: str, when: Literal["before", "inside", "after"], ctx: ToolContext) -> str:
    if when == "before":
        ctx.progress(1, "began")
        await wait_for_later(gate)
    async with ctx.effect("charge card"):
        if when == "inside":
            ctx.progress(1, "began")
            await wait_for_later(gate)
    if when == "after":
        ctx.progress(1, "began")
        await wait_for_later(gate)
    return "charged"


offer(hold_window, hold_window_later, effect_windows=True, effect=STRIPE)


def wrap_up(ctx: BlockingContext) -> str:
    """Go on until asked to stop, and end well."""
    ctx.progress(1, "began")
    ctx.wait_abort_requested()
    assert ctx.abort_requested
    ctx.check()
    ctx.report_cleanup("completed")
    return "wrapped up"


async def wrap_up_later(ctx: ToolContext) -> str:
    ctx.progress(1, "began")
    await ctx.wait_abort_requested()
    assert ctx.abort_requested
    ctx.check()
    ctx.report_cleanup("completed")
    return "wrapped up"


offer(wrap_up, wrap_up_later, grace=PATIENCE)


def quiet(gate: str, ctx: BlockingContext) -> str:
    """Show signs of life three times, then none."""
    for number in range(3):
        ctx.log("info", f"alive {number}")
    wait_for(gate)
    return "held"


async def quiet_later(gate: str, ctx: ToolContext) -> str:
    for number in range(3):
        ctx.log("info", f"alive {number}")
    await wait_for_later(gate)
    return "held"


offer(quiet, quiet_later)
