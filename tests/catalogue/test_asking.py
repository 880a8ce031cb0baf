"""A person who is asked while a call waits."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    Toolbox,
    ToolCall,
    open_supervisor,
    tool,
)
from tests.catalogue.cards import BANK, Shop
from tests.requirements import requirement

CALL = ToolCall("charge-card", {"cents": 100}, id="tool-call-1")


@requirement("authorities.requires-approval")
async def test_a_tool_that_requires_approval_never_runs_where_there_is_nobody_to_ask() -> None:
    ran: list[str] = []

    @tool(effect=BANK, requires_approval=True)
    async def run_shell_command(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return "ran"

    async with open_supervisor(Toolbox([run_shell_command])) as supervisor:
        result = await supervisor.execute(ToolCall("run_shell_command", {"command": "make hello"}))

    assert result.error is not None
    assert (result.error.code, ran) == ("APPROVAL_UNAVAILABLE", [])


@requirement("authorities.requires-approval")
async def test_a_tool_that_requires_no_approval_never_asks() -> None:
    asked: list[ApprovalRequest] = []

    @tool(effect=BANK)
    async def pay() -> str:
        """Pay."""
        return "paid"

    async with open_supervisor(Toolbox([pay]), approval_handler=asked.append) as supervisor:
        result = await supervisor.execute(ToolCall("pay"))

    assert (result.outcome, asked) == ("success", [])


@requirement("authorities.only-true")
@pytest.mark.parametrize("slow", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("answer", [True, False, None, 1, "yes", ["y"], RuntimeError("gone")], ids=repr)
async def test_only_true_approves(answer: object, slow: bool) -> None:
    seen: list[tuple[str, dict[str, object]]] = []
    shop = Shop()

    def decide(request: ApprovalRequest) -> object:
        seen.append((request.tool_name, dict(request.arguments)))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def decide_later(request: ApprovalRequest) -> object:
        await trio.lowlevel.checkpoint()
        return decide(request)

    async with shop.opened(keys=None, approval_handler=decide_later if slow else decide) as supervisor:
        result = await supervisor.execute(CALL)

    assert seen == [("charge-card", {"cents": 100, "confirmed": False})]
    assert (result.outcome == "success") is (answer is True)
    assert shop.charged == ([100] if answer is True else [])


@requirement("authorities.asked-once")
async def test_the_handler_is_asked_once_after_validation_about_what_runs() -> None:
    asked: list[ApprovalRequest] = []
    shop = Shop()

    def meddle(request: ApprovalRequest) -> bool:
        asked.append(request)
        with pytest.raises(TypeError):
            request.arguments["cents"] = 1  # type: ignore[index]  # what is tried out
        return True

    async with shop.opened(keys=None, approval_handler=meddle) as supervisor:
        await supervisor.execute(ToolCall("charge-card", {"cents": "no"}))
        assert asked == []
        await supervisor.execute(CALL)

    assert [dict(request.arguments) for request in asked] == [{"cents": 100, "confirmed": False}]
    assert shop.charged == [100]


@requirement("authorities.stopped")
async def test_a_call_that_is_aborted_while_a_person_is_asked_never_begins() -> None:
    shop = Shop()
    asking, answer = trio.Event(), trio.Event()

    async def slow(request: ApprovalRequest) -> bool:
        asking.set()
        with trio.CancelScope(shield=True):
            await answer.wait()
        return True

    async with shop.opened(keys=None, approval_handler=slow) as supervisor:
        execution = supervisor.start(CALL)
        with trio.fail_after(5):
            await asking.wait()
        execution.abort("too late")
        answer.set()
        result = await execution.result()

    assert result.error is not None
    assert (result.error.code, shop.charged) == ("NOT_STARTED", [])


@requirement("authorities.stopped")
async def test_a_deadline_ends_the_wait_for_a_person(autojump_clock: trio.testing.MockClock) -> None:
    shop = Shop()

    async def never(request: ApprovalRequest) -> None:
        await trio.sleep_forever()

    async with shop.opened(keys=None, approval_handler=never) as supervisor:
        result = await supervisor.execute(CALL, deadline=trio.current_time() + 10)

    assert result.error is not None
    assert (result.error.code, shop.charged) == ("DEADLINE_EXCEEDED", [])
