"""What hooks, people and descriptors see of a call is what would run; hooks may edit it, once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final, cast

import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalRequest,
    Limits,
    Tool,
    Toolbox,
    ToolCall,
    define_tool,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import Ask, Deny, Edit, PolicyRequest
from tests.requirements import requirement

from .policies import ANN, KEYS, Deciding, Pay, always, end_of

# -- edits


def at_most_5(request: PolicyRequest) -> object:
    """Edit sums that are too high."""
    cents = request.arguments["cents"]
    return Edit({**request.arguments, "cents": 5}) if isinstance(cents, int) and cents > 5 else None


def one_less(request: PolicyRequest) -> object:
    """Edit anew each time."""
    return Edit({**request.arguments, "cents": cast("int", request.arguments["cents"]) - 1})


@requirement("policing.edits")
async def test_edited_arguments_are_judged_again_and_run_with_their_defaults() -> None:
    pay, policy = Pay(), Deciding(lambda request: Edit({"cents": 5}) if request.arguments["cents"] == 9 else None)
    async with open_supervisor(Toolbox([pay.tool], policy=policy)) as supervisor:
        edited = await supervisor.execute(ToolCall("pay", {"cents": 9, "to": "eve"}))
        kept = await supervisor.execute(ToolCall("pay", {"cents": 4, "to": "eve"}))

    assert (edited.outcome, edited.executed_arguments_edited) == ("success", True)
    assert (kept.outcome, kept.executed_arguments_edited) == ("success", False)
    assert pay.ran == [(5, "bob"), (4, "eve")]
    assert [dict(request.arguments) for request in policy.asked] == [
        {"cents": 9, "to": "eve"},
        {"cents": 5, "to": "bob"},
        {"cents": 4, "to": "eve"},
    ]


@requirement("policing.edits")
async def test_what_the_tools_hook_edits_is_judged_by_the_toolboxs_hook_once_more() -> None:
    pay = Pay(policy=at_most_5)
    policy = Deciding(lambda request: Deny("never 5") if request.arguments["cents"] == 5 else None)
    async with open_supervisor(Toolbox([pay.tool], policy=policy)) as supervisor:
        denied = await supervisor.execute(ToolCall("pay", {"cents": 9}))
        allowed = await supervisor.execute(ToolCall("pay", {"cents": 4}))

    assert (end_of(denied), denied.attempts, denied.effect) == ("POLICY_DENIED", 0, "none")
    assert denied.error is not None and denied.error.message == "never 5"
    assert [request.arguments["cents"] for request in policy.asked] == [9, 5, 4]
    assert end_of(allowed) == "success"
    assert pay.ran == [(4, "bob")]


@requirement("policing.edits")
@pytest.mark.parametrize("whose", ["toolbox", "tool", "both"])
async def test_a_second_edit_that_differs_is_a_denial(whose: str) -> None:
    pay = Pay(policy=one_less if whose != "toolbox" else None)
    async with open_supervisor(Toolbox([pay.tool], policy=one_less if whose != "tool" else None)) as supervisor:
        result = await supervisor.execute(ToolCall("pay", {"cents": 9}))

    assert (end_of(result), result.attempts) == ("POLICY_DENIED", 0)
    assert result.error is not None and "edited once" in result.error.message
    assert pay.ran == []


@requirement("policing.edits")
async def test_a_hook_that_cleans_up_the_same_way_each_time_edits_once() -> None:
    pay = Pay(policy=always(Edit({"cents": 5, "to": "bob"})))
    async with open_supervisor(Toolbox([pay.tool], policy=at_most_5)) as supervisor:
        result = await supervisor.execute(ToolCall("pay", {"cents": 9}))

    assert (result.outcome, result.executed_arguments_edited) == ("success", True)
    assert pay.ran == [(5, "bob")]


@requirement("policing.edits")
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
async def test_an_edit_that_does_not_fit_the_tool_is_told_like_arguments_that_do_not(later: bool) -> None:
    pay = Pay()

    async def edit_later(request: PolicyRequest) -> object:
        await trio.lowlevel.checkpoint()
        return Edit({"cents": "many"})

    policy = Deciding(edit_later if later else always(Edit({"cents": "many"})))
    async with open_supervisor(Toolbox([pay.tool], policy=policy)) as supervisor:
        result = await supervisor.execute(ToolCall("pay", {"cents": 9}))

    assert (end_of(result), result.attempts, result.effect) == ("INVALID_ARGUMENTS", 0, "none")
    assert result.error is not None and result.error.category == "validation"
    assert result.error.details is not None and result.error.details["issues"]
    assert [(end, len(policy.asked)) for end in policy.ends] == [("INVALID_ARGUMENTS", 1)]
    assert pay.ran == []


@requirement("policing.edits")
async def test_an_edit_goes_through_a_validator_that_waits() -> None:
    ran: list[object] = []

    async def checked(arguments: Mapping[str, object]) -> bool:
        await trio.lowlevel.checkpoint()
        return arguments["n"] != 3

    async def body(arguments: dict[str, object]) -> int:
        await trio.lowlevel.checkpoint()
        ran.append(dict(arguments))
        return 1

    even = define_tool(
        name="even",
        description="Take what a validator of its own lets through.",
        input={"schema": {"type": "object"}, "validate": checked},
        execute=body,
    )
    to: dict[object, int] = {1: 2, 5: 3}
    policy = Deciding(lambda request: Edit({"n": to[request.arguments["n"]]}) if request.arguments["n"] in to else None)
    async with open_supervisor(Toolbox([even], policy=policy)) as supervisor:
        fits = await supervisor.execute(ToolCall("even", {"n": 1}))
        does_not = await supervisor.execute(ToolCall("even", {"n": 5}))

    assert (end_of(fits), end_of(does_not)) == ("success", "INVALID_ARGUMENTS")
    assert [request.arguments["n"] for request in policy.asked] == [1, 2, 5]
    assert ran == [{"n": 2}]


@requirement("policing.edits")
async def test_a_call_holds_what_its_edited_arguments_touch(autojump_clock: trio.testing.MockClock) -> None:
    running = most = 0

    @tool(writes=lambda arguments: [str(arguments["path"])])
    async def write(path: str) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1

    policy = always(Edit({"path": "one"}))
    async with open_supervisor(Toolbox([write], policy=policy)) as supervisor:
        results = await supervisor.execute_batch([ToolCall("write", {"path": path}) for path in "abc"])

    assert {end_of(result) for result in results} == {"success"}
    assert most == 1


# -- what is shown


SENT: Final[list[dict[str, object]]] = [
    {"cents": 7, "when": "2026-02-03"},
    {"cents": "7", "when": "2026-02-03", "tags": '["a", "b"]', "urgent": "true"},
    {"cents": 7.0, "when": "2026-02-03", "tags": [], "note": None},
]


def payday(ran: list[object]) -> Tool[..., int]:
    """A tool whose arguments are read: dates from texts, numbers from texts, and defaults."""

    @tool(lenient=True, policy=Deciding(always(None), "tool"))
    async def payday(
        cents: int, when: dt.date, tags: tuple[str, ...] = ("x",), note: str | None = "", *, urgent: bool = False
    ) -> int:
        await trio.lowlevel.checkpoint()
        ran.append(
            {"cents": cents, "when": when.isoformat(), "tags": tags, "note": note, "urgent": urgent},
        )
        return cents

    return payday


def plain(arguments: Mapping[str, object]) -> dict[str, object]:
    """*arguments* with tuples for lists."""
    lists = {name: tuple(cast("list[object]", value)) for name, value in arguments.items() if isinstance(value, list)}
    return {**arguments, **lists}


@requirement("policing.shown")
@pytest.mark.parametrize("sent", SENT)
async def test_everybody_who_looks_sees_what_runs(sent: dict[str, object]) -> None:
    ran: list[object] = []
    shown: list[Mapping[str, object]] = []
    asking = Deciding(always(Ask("really?")))
    made = payday(ran)
    of_tool = cast("Deciding", made.options.policy)

    def handler(request: ApprovalRequest) -> bool:
        shown.append(request.arguments)
        return True

    async with open_supervisor(Toolbox([made], policy=asking), approval_handler=handler) as supervisor:
        in_place = await supervisor.execute(ToolCall("payday", sent))
    async with open_supervisor(Toolbox([made], policy=asking), keys=KEYS) as supervisor:
        paused = await supervisor.execute(ToolCall("payday", sent), request_context=ANN)
        assert paused.pending_approval is not None
        shown.append(paused.pending_approval.arguments)
        shown.append(cast("Mapping[str, object]", paused.pending_approval.to_json()["arguments"]))
        resumed = await supervisor.resume_approval(paused.pending_approval, request_context=ANN)

    shown += [request.arguments for request in (*asking.asked, *of_tool.asked)]
    shown += [request.arguments for request, _ in (*asking.heard, *of_tool.heard)]
    assert (end_of(in_place), end_of(resumed)) == ("success", "success")
    assert not in_place.executed_arguments_edited and not resumed.executed_arguments_edited
    assert len(ran) == 2
    assert len(shown) >= 13
    for arguments in shown:
        assert plain(arguments) == ran[0] == ran[1]


@requirement("policing.shown")
async def test_a_person_sees_what_a_hook_made_of_the_arguments() -> None:
    pay = Pay()
    seen: list[Mapping[str, object]] = []

    def handler(request: ApprovalRequest) -> bool:
        seen.append(request.arguments)
        return True

    def edit_then_ask(request: PolicyRequest) -> object:
        return at_most_5(request) or Ask("really?")

    toolbox = Toolbox([pay.tool], policy=edit_then_ask)
    async with open_supervisor(toolbox, approval_handler=handler) as supervisor:
        in_place = await supervisor.execute(ToolCall("pay", {"cents": 9}))
    async with open_supervisor(toolbox, keys=KEYS, default_request_context=ANN) as supervisor:
        paused = await supervisor.execute(ToolCall("pay", {"cents": 9}))
        assert paused.pending_approval is not None and paused.pending_approval.edited
        resumed = await supervisor.resume_approval(paused.pending_approval)

    assert (end_of(in_place), in_place.executed_arguments_edited) == ("success", True)
    assert (end_of(resumed), resumed.executed_arguments_edited) == ("success", True)
    assert [*map(dict, seen)] == [{"cents": 5, "to": "bob"}] == [dict(paused.pending_approval.arguments)]
    assert pay.ran == [(5, "bob"), (5, "bob")]


# -- what was shown can't be used to change anything


def deface(value: object) -> None:
    """Try every way to change *value* and what is in it."""
    if isinstance(value, Mapping):
        members = list(cast("Mapping[str, object]", value).values())
    else:
        members = list(cast("list[object]", value)) if isinstance(value, list | tuple) else []
    for member in members:
        deface(member)
    if isinstance(value, dict):
        cast("dict[str, object]", value).clear()
    elif isinstance(value, list):
        cast("list[object]", value).append("defaced")
    elif isinstance(value, Mapping):
        with pytest.raises(TypeError):
            cast("dict[str, object]", value)["cents"] = 10**6


def keeper(ran: list[object]) -> Tool[..., int]:
    @tool
    async def keep(data: object, more: dict[str, object] | None = None) -> int:
        await trio.lowlevel.checkpoint()
        ran.append({"data": data, "more": more})
        return 1

    return keep


def as_sent() -> dict[str, object]:
    return {"data": {"list": [1, {"deep": [2]}], "text": "x"}, "more": {"list": [3]}}


@requirement("policing.frozen")
async def test_whoever_is_shown_the_arguments_can_change_nothing_of_what_runs() -> None:
    ran: list[object] = []

    def hook(request: PolicyRequest) -> object:
        deface(request.arguments)
        with pytest.raises(AttributeError):
            request.arguments = {}  # type: ignore[misc]
        return Ask("really?")

    def handler(request: ApprovalRequest) -> bool:
        deface(request.arguments)
        return True

    toolbox = Toolbox([keeper(ran)], policy=hook)
    async with open_supervisor(toolbox, approval_handler=handler) as supervisor:
        first = await supervisor.execute(ToolCall("keep", as_sent()))
    async with open_supervisor(toolbox, keys=KEYS, default_request_context=ANN) as supervisor:
        paused = await supervisor.execute(ToolCall("keep", as_sent()))
        assert paused.pending_approval is not None
        deface(paused.pending_approval.to_json())
        second = await supervisor.resume_approval(paused.pending_approval)

    assert (end_of(first), end_of(second)) == ("success", "success")
    assert ran == [as_sent(), as_sent()]


@requirement("policing.frozen")
@pytest.mark.parametrize("who", ["a hook that waits", "a person who thinks", "a call that waits for room"])
async def test_a_call_whose_arguments_are_changed_by_their_sender_runs_as_it_was_judged(
    who: str, autojump_clock: trio.testing.MockClock
) -> None:
    ran: list[object] = []

    async def waits(request: PolicyRequest) -> object:
        await trio.sleep(1)
        return None

    async def thinks(request: ApprovalRequest) -> bool:
        await trio.sleep(1)
        return True

    @tool
    async def hold() -> None:
        await trio.sleep(1)

    policy = waits if who == "a hook that waits" else always(Ask("?") if who == "a person who thinks" else None)
    toolbox = Toolbox([keeper(ran), hold], policy=policy)
    room = Limits(concurrent=1)
    async with open_supervisor(toolbox, approval_handler=thinks, limits=room) as supervisor:
        if who == "a call that waits for room":
            supervisor.start(ToolCall("hold"))
        sent = as_sent()
        running = supervisor.start(ToolCall("keep", sent))
        await trio.testing.wait_all_tasks_blocked()
        deface(sent)
        result = await running.result()

    assert end_of(result) == "success"
    assert ran == [as_sent()]


@requirement("policing.frozen")
async def test_a_hook_that_keeps_its_edit_and_changes_it_later_changes_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ran: list[object] = []
    edited: dict[str, object] = as_sent()

    async def edits(request: PolicyRequest) -> object:
        if request.arguments["data"] == "x":
            return Edit(edited)
        deface(edited)
        await trio.sleep(1)
        return None

    async with open_supervisor(Toolbox([keeper(ran)], policy=edits)) as supervisor:
        result = await supervisor.execute(ToolCall("keep", {"data": "x"}))

    assert (end_of(result), result.executed_arguments_edited) == ("success", True)
    assert ran == [as_sent()]
