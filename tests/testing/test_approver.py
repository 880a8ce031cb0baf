"""The person who follows a script, and what is recorded about questions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from armory_trio import ApprovalPolicy, ApprovalRequest, Deny, Edit, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.errors import DefinitionError
from armory_trio.testing import ScriptedApprover, open_recorded
from tests.requirements import requirement


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
async def transfer(to: str, amount: int = 1) -> str:
    """Send money."""
    await trio.lowlevel.checkpoint()
    return f"{amount} to {to}"


BANK = Toolbox([transfer], approval_policy=ApprovalPolicy("on-mutation"))


async def ends_of(approver: ScriptedApprover, *names: str) -> list[object]:
    async with open_supervisor(BANK, approval_handler=approver) as supervisor:
        results = [await supervisor.execute(ToolCall("transfer", {"to": name})) for name in names]
    return [result.value or (result.error and result.error.message) for result in results]


async def slowly(request: ApprovalRequest) -> object:
    await trio.sleep(3600)
    return request.arguments["to"] == "fay"


def is_gus(request: ApprovalRequest) -> bool:
    return request.arguments["to"] == "gus"


def is_fay(request: ApprovalRequest) -> bool:
    return request.arguments["to"] == "fay"


@requirement("testing.approver")
async def test_answers_are_given_in_turn_and_questions_kept(autojump_clock: trio.testing.MockClock) -> None:
    approver = ScriptedApprover(
        [
            True,
            False,
            Deny("not on a Friday"),
            {"to": "dot", "amount": 2},
            Edit({"to": "eva", "amount": 3}),
            slowly,
            is_gus,
        ]
    )

    ends = await ends_of(approver, "ada", "bob", "cleo", "dan", "eve", "fay", "gus")

    assert ends == [
        "1 to ada",
        "a person refused it",
        "not on a Friday",
        "2 to dot",
        "3 to eva",
        "1 to fay",
        "1 to gus",
    ]
    assert [request.arguments["to"] for request in approver.asked] == ["ada", "bob", "cleo", "dan", "eve", "fay", "gus"]
    assert approver.asked[0].arguments["amount"] == 1
    approver.assert_done()


@requirement("testing.approver")
@pytest.mark.parametrize("answers", [slowly, is_fay])
async def test_one_function_answers_all_questions(
    answers: Callable[[ApprovalRequest], object], autojump_clock: trio.testing.MockClock
) -> None:
    approver = ScriptedApprover(answers)

    assert await ends_of(approver, "ada", "fay") == ["a person refused it", "1 to fay"]
    assert len(approver.asked) == 2
    approver.assert_done()


@requirement("testing.approver")
async def test_a_question_without_an_answer_fails_its_call_and_the_test() -> None:
    approver = ScriptedApprover([True])

    ends = await ends_of(approver, "ada", "bob")

    assert ends[1] == "nobody could be asked: the approval handler failed (AssertionError)"
    with pytest.raises(
        AssertionError, match=r"1 question came for which no answer was left:\n- transfer\({'to': 'bob'"
    ):
        approver.assert_done()


@requirement("testing.approver")
async def test_answers_that_nobody_asked_for_are_told() -> None:
    approver = ScriptedApprover([True, ConnectionError("the pager is off"), True])

    assert len(await ends_of(approver, "ada", "bob")) == 2
    with pytest.raises(AssertionError, match="1 answer left that nobody asked for, after 2 questions"):
        approver.assert_done()


@requirement("testing.approver")
async def test_an_exception_is_raised_as_one_of_a_handler() -> None:
    approver = ScriptedApprover([ConnectionError("the pager is off"), TimeoutError])

    assert await ends_of(approver, "ada", "bob") == [
        "nobody could be asked: the approval handler failed (ConnectionError)",
        "nobody could be asked: the approval handler failed (TimeoutError)",
    ]


@requirement("testing.approver")
@pytest.mark.parametrize("wrong", [True, "yes", {"to": "ada"}, None])
def test_what_is_no_script_is_refused_at_once(wrong: object) -> None:
    with pytest.raises(DefinitionError, match="give a list of answers, or a function"):
        ScriptedApprover(wrong)  # type: ignore[arg-type]  # rubbish is what is tested


@requirement("testing.record.approvals")
async def test_questions_and_what_came_of_them_are_recorded_with_their_calls() -> None:
    async with open_recorded(BANK, approval_handler=ScriptedApprover([True, False])) as (supervisor, calls):
        for name in ("ada", "bob"):
            await supervisor.execute(ToolCall("transfer", {"to": name}))
    async with open_recorded(BANK) as (supervisor, unasked):
        await supervisor.execute(ToolCall("transfer", {"to": "cleo"}))

    assert [[type(event).__name__ for event in call.approvals] for call in calls] == [
        ["ApprovalRequested", "ApprovalResolved"],
        ["ApprovalRequested", "ApprovalResolved"],
    ]
    assert str(calls[0]).startswith("transfer(to='ada'): approved, success, '1 to ada', effect ")
    assert str(calls[1]).startswith("transfer(to='bob'): denied, HUMAN_DENIED, ")
    assert str(unasked[0]) == "transfer(to='cleo'): needs approval, never ran"
    assert len(unasked[0].approvals) == 1
