"""One thing is one thing, wherever its number is told."""

from __future__ import annotations

import pytest
import trio

from armory_trio import Budget, Limits, Toolbox, ToolCall, open_supervisor
from armory_trio.definitions._plurals import counted
from armory_trio.errors import BudgetExceeded, Overloaded
from tests.engine.tools import add, sleep
from tests.requirements import requirement

ADD = ToolCall("add", {"a": 1, "b": 2})


@requirement("definitions.plurals")
@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 calls"), (1, "1 call"), (1.0, "1 call"), (2, "2 calls"), (0.5, "0.5 calls")]
)
def test_only_one_thing_is_told_in_the_singular(number: float, told: str) -> None:
    assert counted(number, "call") == told


@requirement("definitions.plurals")
def test_a_noun_may_have_a_plural_of_its_own() -> None:
    pieces = [counted(number, "piece of output", "pieces of output") for number in (1, 2)]

    assert pieces == ["1 piece of output", "2 pieces of output"]


@requirement("definitions.plurals")
async def test_the_bounds_of_a_supervisor_are_told_in_the_right_number(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([add]), budget=Budget(max_calls=1)) as supervisor:
        with pytest.raises(BudgetExceeded, match="the budget of 1 call has 1 left, and the batch has 2"):
            await supervisor.execute_batch([ADD, ADD])
        await supervisor.execute(ADD)
        spent = await supervisor.execute(ADD)
    async with open_supervisor(Toolbox([add, sleep]), limits=Limits(concurrent=1, queued=1)) as supervisor:
        for _ in range(2):
            supervisor.start(ToolCall("sleep", {"seconds": 1}))
        refused = await supervisor.execute(ADD)
    async with open_supervisor(Toolbox([add]), limits=Limits(concurrent=1, queued=0)) as supervisor:
        with pytest.raises(Overloaded, match="1 call would be waiting"):
            await supervisor.execute_batch([ADD, ADD])

    assert spent.error is not None and refused.error is not None
    assert spent.error.message == "the budget of 1 call is spent"
    assert refused.error.message == "1 call in line already, and no more may wait; try again later"
