"""Conditional execution: the arguments decide which tool runs.

``when`` chooses between two tools; nested, between any number of them. The model sees one tool, and the whole counts as
the most dangerous of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import trio

from armory_trio import Tool, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.composition import bind, when
from examples.patterns._clock import run

CACHE: Final[dict[str, str]] = {}


@tool(effect="read-only")
async def from_cache(city: str) -> str:
    """The weather, as it was when somebody asked last."""
    await trio.lowlevel.checkpoint()
    return f"{CACHE[city]} (kept)"


@tool(effect="read-only")
async def from_service(city: str) -> str:
    """The weather, as the service says."""
    await trio.sleep(0.3)
    CACHE[city] = "21 degrees"
    return CACHE[city]


def is_known(arguments: Mapping[str, str]) -> bool:
    """Whether the answer is kept."""
    return arguments["city"] in CACHE


@tool(effect="read-only")
async def small(n: int) -> str:
    """For numbers below 10."""
    await trio.lowlevel.checkpoint()
    return f"{n} is small"


@tool(effect="read-only")
async def even(n: int) -> str:
    """For even numbers."""
    await trio.lowlevel.checkpoint()
    return f"{n} is even"


@tool(effect="read-only")
async def any_number(n: int) -> str:
    """For all others."""
    await trio.lowlevel.checkpoint()
    return f"{n} is a number"


Case = tuple[Callable[[Mapping[str, int]], bool], Tool[..., str]]


def first_that_fits(cases: Sequence[Case], default: Tool[..., str], *, name: str) -> Tool[..., str]:
    """A tool that runs the first case whose predicate says yes, or the default."""
    made = default
    for predicate, chosen in reversed(cases):
        made = when(predicate, chosen, made)
    return bind(made, {}, name=name)  # binding nothing only gives it another name


def is_small(arguments: Mapping[str, int]) -> bool:
    """Whether it is below 10."""
    return arguments["n"] < 10


def is_even(arguments: Mapping[str, int]) -> bool:
    """Whether it can be halved."""
    return arguments["n"] % 2 == 0


async def main() -> None:
    CACHE.update(paris="18 degrees")
    CACHE.pop("rome", None)
    weather = when(is_known, from_cache, from_service, name="weather")
    describe = first_that_fits([(is_small, small), (is_even, even)], any_number, name="describe")
    async with open_supervisor(Toolbox([weather, describe])) as supervisor:
        for city in ("paris", "rome", "rome"):
            result = await supervisor.execute(ToolCall("weather", {"city": city}))
            print(f"{city}: {result.text}")
        for n in (4, 12, 13):
            result = await supervisor.execute(ToolCall("describe", {"n": n}))
            print(result.text)


if __name__ == "__main__":
    run(main)
