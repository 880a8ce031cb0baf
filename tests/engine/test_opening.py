"""Where a supervisor can be opened, and what is said where it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

import pytest

from armory_trio import Toolbox, ToolCall, open_supervisor
from tests.engine.tools import add
from tests.requirements import requirement


async def open_one() -> None:
    async with open_supervisor(Toolbox([add])):
        raise AssertionError("it cannot be open")


async def call_a_tool() -> None:
    await add(a=1, b=2)


async def execute_by_a_toolbox() -> None:
    await Toolbox([add]).execute(ToolCall("add", {"a": 1, "b": 2}))


def run_by_nobody(main: Coroutine[object, object, None]) -> None:
    main.send(None)


@requirement("engine.needs-trio")
@pytest.mark.parametrize("main", [open_one, call_a_tool, execute_by_a_toolbox])
@pytest.mark.parametrize("run", [asyncio.run, run_by_nobody], ids=["asyncio", "nobody"])
def test_where_trio_does_not_run_a_supervisor_says_what_to_do(
    main: Callable[[], Awaitable[None]], run: Callable[[Awaitable[None]], None]
) -> None:
    with pytest.raises(
        RuntimeError, match=r"trio\.run\(main\), or, .* use armory_trio.integrations\.asyncio_host\.open_asyncio_host"
    ):
        run(main())
