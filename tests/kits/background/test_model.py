"""What a model can do with background calls, and what it cannot."""

from __future__ import annotations

import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    ImageContent,
    JsonContent,
    Limits,
    RequestContext,
    TextContent,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.kits.background import BackgroundAbort, BackgroundCall, BackgroundKit, BackgroundOptions
from tests.kits.background.tools import Agent, agents, answer, header, work
from tests.requirements import requirement

# -- there and back


@requirement("kits.background.round-trip")
async def test_a_call_is_started_at_once_checked_while_it_runs_and_its_result_fetched(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor, owner_id="run-7")
        started = header(await agent.call("start_background", {"name": "work", "arguments": {"seconds": 10}}))
        at_once = trio.current_time()
        await trio.sleep(4)
        running = header(await agent.call("check_background", {"id": started.id}))
        await trio.sleep(7)
        over = await agent.call("check_background", {"id": started.id})

    assert (started.tool, started.status) == ("work", "queued")
    assert at_once == pytest.approx(0, abs=1)
    assert (running.status, running.seconds, running.percent, running.progress) == ("running", 4, 50, "half of it")
    assert (header(over).status, header(over).seconds, header(over).effect) == ("completed", 10, "completed")
    assert over.content[1] == TextContent("done")


@requirement("kits.background.round-trip")
async def test_a_failure_reads_as_it_would_have_read_directly(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        direct = await agent.call("fail", {"seconds": 1})
        result = await agent.call("await_background", {"id": await agent.start("fail", {"seconds": 1})})

    assert result.outcome == "success"
    assert (header(result).status, header(result).code, header(result).effect) == (
        "failed",
        "INTERNAL_ERROR",
        "unknown",
    )
    assert answer(result) == direct.text


@requirement("kits.background.round-trip")
async def test_pictures_come_along(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        result = await agent.call("await_background", {"id": await agent.start("paint")})

    assert result.content[1:] == (TextContent("a caption"), ImageContent(b"png", "image/png"))


@requirement("kits.background.round-trip")
async def test_what_runs_and_what_has_ended_is_listed_without_results(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor, owner_id="ada")
        none = await agent.call("list_background")
        quick = await agent.start("work", {"seconds": 1})
        slow = await agent.start("work", {"seconds": 9})
        await trio.sleep(2)
        [block] = (await agent.call("list_background")).content

    assert isinstance(block, JsonContent)
    listed = msgspec.json.decode(block.json, type=list[BackgroundCall])
    assert [(each.id, each.status) for each in listed] == [(quick, "completed"), (slow, "running")]
    assert none.value == []


@requirement("kits.background.round-trip")
async def test_it_runs_on_behalf_of_whoever_started_it(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        context = RequestContext(principal="ada", tenant="acme")
        agent = Agent(supervisor, owner_id="run-7", request_context=context, deadline=trio.current_time() + 5)
        identity = await agent.start("work", {"seconds": 60})
        await trio.sleep(30)
        shot = supervisor.executions.locate(identity)

    assert shot is not None
    assert (shot.owner_id, shot.parent_id, shot.deadline, shot.state) == ("run-7", None, None, "active")
    starter = supervisor.executions.locate(shot.started_by or "")
    assert starter is not None and starter.tool_name == "start_background"


# -- its own only


@requirement("kits.background.own-only")
@pytest.mark.parametrize(
    "other",
    [
        {"owner_id": "run-8"},
        {},
        {"owner_id": "run-7", "request_context": RequestContext(tenant="other")},
        {"request_context": RequestContext(tenant="acme", owner="run-9")},
    ],
    ids=["owner", "nobody", "tenant", "context"],
)
async def test_nobody_else_sees_or_touches_a_background_call(
    other: dict[str, object], autojump_clock: trio.abc.Clock
) -> None:
    async with agents(BackgroundKit()) as supervisor:
        mine = Agent(supervisor, owner_id="run-7", request_context=RequestContext(tenant="acme"))
        identity = await mine.start("work", {"seconds": 5})
        theirs = Agent(supervisor, **other)  # type: ignore[arg-type]  # several kinds
        codes = [
            await theirs.code(name, {"id": identity})
            for name in ("check_background", "await_background", "cancel_background")
        ]
        listed = (await theirs.call("list_background")).value
        result = header(await mine.call("await_background", {"id": identity}))

    assert codes == ["NOT_FOUND"] * 3
    assert listed == []
    assert result.status == "completed"


@requirement("kits.background.bounded")
async def test_an_id_is_never_quoted_in_full_length(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        result = await Agent(supervisor).call("check_background", {"id": "x" * 100_000})

    assert result.error is not None
    assert len(result.error.message) < 1_000


@requirement("kits.background.own-only")
@pytest.mark.parametrize("field", ["tenant", "principal", "agent", "run", "session"])
async def test_without_an_owner_a_call_belongs_to_whom_the_request_context_names(
    field: str, autojump_clock: trio.abc.Clock
) -> None:
    async with agents(BackgroundKit()) as supervisor:
        one = Agent(supervisor, request_context=msgspec.structs.replace(RequestContext(), **{field: "one"}))
        other = Agent(supervisor, request_context=msgspec.structs.replace(RequestContext(), **{field: "other"}))
        identity = await one.start("work", {"seconds": 5})

        assert await other.code("check_background", {"id": identity}) == "NOT_FOUND"
        assert await Agent(supervisor).code("check_background", {"id": identity}) == "NOT_FOUND"
        assert header(await one.call("check_background", {"id": identity})).status == "running"


@requirement("kits.background.own-only")
async def test_an_id_of_an_execution_that_was_not_started_by_the_kit_is_not_found(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor, owner_id="ada")
        direct = await agent.call("work", {"seconds": 1})
        mine = await agent.start("work", {"seconds": 1})
        refused = await agent.call("check_background", {"id": direct.execution_id})

    assert refused.error is not None
    assert refused.error.code == "NOT_FOUND"
    assert f"yours are {mine}" in refused.error.message


# -- waiting


@requirement("kits.background.await")
async def test_waiting_is_declared_and_ends_with_the_call(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        identity = await agent.start("work", {"seconds": 5, "text": "late"})
        results: list[ToolResult[object]] = []

        async def wait() -> None:
            results.append(await agent.call("await_background", {"id": identity}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            [shot] = supervisor.executions.inspect(tool_name="await_background")
        ended = trio.current_time()

    assert (shot.state, shot.declared_wait) == ("waiting", f"background call {identity}")
    assert answer(results[0]) == "late"
    assert ended == pytest.approx(5)


@requirement("kits.background.await")
@pytest.mark.parametrize(("seconds", "waited"), [(0, 0), (2, 2), (None, 3), (99, 3)])
async def test_waiting_is_bounded_and_the_call_runs_on(
    seconds: float | None, waited: float, autojump_clock: trio.abc.Clock
) -> None:
    async with agents(BackgroundKit(options=BackgroundOptions(max_wait=3))) as supervisor:
        agent = Agent(supervisor)
        identity = await agent.start("work", {"seconds": 10})
        began = trio.current_time()
        still = header(await agent.call("await_background", {"id": identity, "seconds": seconds}))
        took = trio.current_time() - began
        await trio.sleep(10)
        over = header(await agent.call("check_background", {"id": identity}))

    assert (still.status, over.status, over.seconds) == ("running", "completed", 10)
    assert took == pytest.approx(waited)


@requirement("kits.background.await")
async def test_a_cancelled_wait_leaves_the_call_alone(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        identity = await agent.start("work", {"seconds": 10})
        with trio.move_on_after(1):
            await agent.call("await_background", {"id": identity})
        result = header(await agent.call("await_background", {"id": identity}))

    assert (result.status, result.seconds) == ("completed", 10)


@tool
async def start_and_wait(ctx: ToolContext, name: str = "work") -> object:
    """Start a background call and wait for it, holding whatever this call holds."""
    started = (await ctx.call("start_background", {"name": name, "arguments": {"seconds": 1}})).unwrap()
    assert isinstance(started, BackgroundCall)
    return header(await ctx.call("await_background", {"id": started.id}))


@tool(groups=["db"])
async def query(seconds: float) -> str:
    """Ask the database."""
    await trio.sleep(seconds)
    return "rows"


@tool(groups=["db"])
async def query_and_wait(ctx: ToolContext) -> object:
    """Hold the database and wait for another query."""
    return (await ctx.call("start_and_wait", {"name": "query"})).unwrap()


@requirement("kits.background.await-never-hangs")
@pytest.mark.parametrize(
    ("name", "limits", "limit"),
    [
        ("start_and_wait", Limits(concurrent=1), "supervisor"),
        ("start_and_wait", Limits(per_owner=1), "owner:ada"),
        ("query_and_wait", Limits(groups={"db": 1}), "group:db"),
    ],
)
async def test_a_wait_that_would_never_end_is_not_begun_and_says_why(
    name: str, limits: Limits, limit: str, autojump_clock: trio.abc.Clock
) -> None:
    kit = BackgroundKit()
    toolbox = Toolbox([work, query, start_and_wait, query_and_wait, *kit.tools])
    async with open_supervisor(toolbox, limits=limits) as supervisor:
        result = await supervisor.execute(ToolCall(name), owner_id="ada")
        took = trio.current_time()
        [execution] = kit.executions(supervisor)
        after = await execution.result()

    told = result.unwrap()
    assert isinstance(told, BackgroundCall)
    assert told.status == "queued"
    assert told.note is not None and "would never end" in told.note
    assert f"{execution.id} needs a slot of {limit}, which" in told.note
    assert took < 1
    assert after.outcome == "success"


@requirement("kits.background.await-never-hangs")
async def test_when_everybody_waits_with_a_slot_in_hand_one_gives_way_and_all_end(
    autojump_clock: trio.abc.Clock,
) -> None:
    kit = BackgroundKit()
    toolbox = Toolbox([work, start_and_wait, *kit.tools])
    async with open_supervisor(toolbox, limits=Limits(concurrent=3)) as supervisor:
        with trio.fail_after(60):
            results = await supervisor.execute_batch([ToolCall("start_and_wait")] * 3)
            await supervisor.wait_idle()
        ended = [(await execution.result()).outcome for execution in kit.executions(supervisor)]

    notes = [value.note for value in (result.unwrap() for result in results) if isinstance(value, BackgroundCall)]
    assert sum(note is not None for note in notes) == 1
    assert ended == ["success"] * 3


@requirement("kits.background.await-never-hangs")
async def test_two_background_calls_that_wait_for_each_other_do_not_hang(autojump_clock: trio.abc.Clock) -> None:
    ids: dict[str, str] = {}

    @tool
    async def wait_for(which: str, ctx: ToolContext) -> object:
        await trio.sleep(1)
        return header(await ctx.call("await_background", {"id": ids[which]})).note

    kit = BackgroundKit()
    async with open_supervisor(Toolbox([wait_for, *kit.tools])) as supervisor:
        agent = Agent(supervisor)
        for name, other in (("left", "right"), ("right", "left")):
            ids[name] = await agent.start("wait_for", {"which": other})
        values = [(await execution.result()).value for execution in kit.executions(supervisor)]

    assert sorted(value is None for value in values) == [False, True]
    assert trio.current_time() < 2


@requirement("kits.background.await-never-hangs")
async def test_either_the_wait_or_what_would_make_it_endless_is_refused(
    autojump_clock: trio.abc.Clock,
) -> None:
    """What is waited for needs nothing, but it makes a call that does, before the wait begins or after that."""

    @tool
    async def go_between(seconds: float, ctx: ToolContext) -> str:
        result = await ctx.call("query", {"seconds": seconds})
        return "fine" if result.error is None else result.error.code

    @tool(groups=["db"])
    async def hold_and_wait(ctx: ToolContext) -> object:
        started = (await ctx.call("start_background", {"name": "go_between", "arguments": {"seconds": 1}})).unwrap()
        assert isinstance(started, BackgroundCall)
        return (await ctx.call("await_background", {"id": started.id})).text

    kit = BackgroundKit()
    toolbox = Toolbox([query, go_between, hold_and_wait, *kit.tools])
    async with open_supervisor(toolbox, limits=Limits(groups={"db": 1})) as supervisor:
        stuck = await supervisor.execute(ToolCall("hold_and_wait"))
        free = await supervisor.execute(ToolCall("go_between", {"seconds": 1}))
        assert supervisor._core.bugs == []  # pyright: ignore[reportPrivateUsage]  # shows nowhere else

    assert free.value == "fine"
    assert isinstance(stuck.value, str)
    assert stuck.value.endswith("CAPACITY_CYCLE") or "it would never end" in stuck.value
    assert trio.current_time() < 3


@requirement("kits.background.await")
async def test_a_wait_gives_its_answer_before_the_deadline_of_its_own_call(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    toolbox = Toolbox([work, *kit.tools], default_timeout=2)
    async with open_supervisor(toolbox) as supervisor:
        agent = Agent(supervisor)
        identity = await agent.start("work", {"seconds": 1})
        hurried = Agent(supervisor, deadline=trio.current_time() + 0.5)
        still = header(await hurried.call("await_background", {"id": identity}))
        late = await Agent(supervisor, deadline=trio.current_time() + 0.05).call("await_background", {"id": identity})
        over = await agent.call("await_background", {"id": identity})

    assert (still.status, header(late).status, header(over).status) == ("running", "running", "completed")


# -- stopping


@requirement("kits.background.cancel")
async def test_cancelling_tells_what_it_did(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        running = await agent.start("work", {"seconds": 10})
        hard = await agent.start("stubborn", {"seconds": 10})
        over = await agent.start("paint")
        await trio.sleep(1)
        answers = [
            (await agent.call("cancel_background", {"id": each, "reason": "changed my mind"})).value
            for each in (running, hard, hard, over)
        ]
        shot = supervisor.executions.locate(running)
        await trio.sleep(10)
        late = (await agent.call("cancel_background", {"id": hard})).value

    told = [(each.answer, each.status, each.honoured) for each in answers if isinstance(each, BackgroundAbort)]
    assert told == [
        ("requested", "cancelled", True),
        ("requested", "stopping", None),
        ("already-requested", "stopping", None),
        ("already-ended", "completed", None),
    ]
    assert shot is not None and shot.abort is not None
    assert (shot.abort.source, shot.abort.reason) == ("caller", "changed my mind")
    assert isinstance(late, BackgroundAbort)
    assert (late.answer, late.status, late.honoured) == ("already-ended", "cancelled", False)


@requirement("kits.background.cancel")
async def test_a_call_that_had_not_begun_never_will(autojump_clock: trio.abc.Clock) -> None:
    @tool(concurrency=1)
    async def narrow(seconds: float) -> None:
        await trio.sleep(seconds)

    kit = BackgroundKit()
    async with open_supervisor(Toolbox([narrow, *kit.tools])) as supervisor:
        agent = Agent(supervisor)
        await agent.start("narrow", {"seconds": 5})
        queued = await agent.start("narrow", {"seconds": 1})
        shown = header(await agent.call("check_background", {"id": queued}))
        result = (await agent.call("cancel_background", {"id": queued})).value

    assert (shown.status, shown.waits_for) == ("queued", "capacity:tool:default:narrow")
    assert isinstance(result, BackgroundAbort)
    assert (result.answer, result.status, result.honoured, result.effect) == ("not-started", "cancelled", True, "none")


# -- what may be started


@requirement("kits.background.which")
async def test_the_tools_of_the_kit_are_not_started_in_the_background(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        codes = [
            await agent.code("start_background", {"name": name})
            for name in ("start_background", "await_background", "list_background")
        ]

    assert codes == ["NOT_IN_BACKGROUND"] * 3
    assert supervisor.report is not None and supervisor.report.ended == 3


@requirement("kits.background.which")
async def test_a_host_allows_tools_by_tag_or_by_word(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit(tags=["slow"], allow=lambda tool: tool.name != "fail")
    async with agents(kit) as supervisor:
        agent = Agent(supervisor)
        refused = await agent.call("start_background", {"name": "paint"})
        code = await agent.code("start_background", {"name": "fail", "arguments": {"seconds": 1}})
        await agent.start("work", {"seconds": 1})

    assert refused.error is not None
    assert refused.error.message == "'paint' does not run in the background: call it directly. Tools that do: work"
    assert (refused.error.category, refused.effect, code) == ("permission", "none", "NOT_IN_BACKGROUND")


@requirement("kits.background.refused")
@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ({"name": "wrok"}, "NOT_FOUND", "did you mean 'work'"),
        ({"name": "work", "arguments": {"seconds": "long"}}, "INVALID_ARGUMENTS", "seconds"),
    ],
)
async def test_what_is_refused_at_once_is_told_at_once(
    call: dict[str, object], code: str, words: str, autojump_clock: trio.abc.Clock
) -> None:
    async with agents(BackgroundKit()) as supervisor:
        agent = Agent(supervisor)
        refused = await agent.call("start_background", call)
        listed = (await agent.call("list_background")).value

    assert refused.error is not None
    assert refused.error.code == code
    assert refused.error.message.startswith("nothing was started: ")
    assert words in refused.error.message
    assert (refused.effect, listed) == ("none", [])


@requirement("kits.background.refused")
async def test_during_a_drain_nothing_is_started_and_what_runs_is_finished(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def start_later(seconds: float, ctx: ToolContext) -> None:
        await trio.sleep(seconds)
        refused = await ctx.call("start_background", {"name": "work", "arguments": {"seconds": 1}})
        assert refused.error is not None
        raise ToolFailure(refused.error.message, category=refused.error.category, code=refused.error.code)

    kit = BackgroundKit()
    async with open_supervisor(Toolbox([work, start_later, *kit.tools])) as supervisor:
        agent = Agent(supervisor)
        identity = await agent.start("work", {"seconds": 5})
        held = supervisor.start(ToolCall("start_later", {"seconds": 1}))
        await trio.testing.wait_all_tasks_blocked()
        supervisor.close_admission("going home")
        refused = await held.result()
        await supervisor.wait_idle()
        [execution] = kit.executions(supervisor)
        result = await execution.result()

    assert refused.error is not None
    assert (refused.error.category, refused.error.code) == ("unavailable", "ADMISSION_CLOSED")
    assert "nothing was started" in refused.error.message and "going home" in refused.error.message
    assert (execution.id, result.value) == (identity, "done")


# -- bounds


@requirement("kits.background.bounded")
async def test_an_owner_has_only_so_many_at_once(autojump_clock: trio.abc.Clock) -> None:
    async with agents(BackgroundKit(options=BackgroundOptions(per_owner=2))) as supervisor:
        ada, bob = Agent(supervisor, owner_id="ada"), Agent(supervisor, owner_id="bob")
        for _ in range(2):
            await ada.start("work", {"seconds": 5})
        refused = await ada.call("start_background", {"name": "work", "arguments": {"seconds": 5}})
        await bob.start("work", {"seconds": 5})
        await trio.sleep(6)
        await ada.start("work", {"seconds": 5})

    assert refused.error is not None
    assert (refused.error.code, refused.error.retryable, refused.effect) == ("OVERLOADED", True, "none")


@requirement("kits.background.bounded")
async def test_only_so_many_results_are_kept_for_so_long(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit(options=BackgroundOptions(kept_per_owner=2, kept=3, kept_for=100))
    async with agents(kit) as supervisor:
        ada, bob = Agent(supervisor, owner_id="ada"), Agent(supervisor, owner_id="bob")
        adas = [await ada.start("work", {"seconds": n + 1}) for n in range(3)]
        await trio.sleep(4)
        first_gone = await ada.code("check_background", {"id": adas[0]})
        bobs = [await bob.start("work", {"seconds": n + 1}) for n in range(2)]
        await trio.sleep(3)
        second_gone = await ada.code("check_background", {"id": adas[1]})
        kept = [execution.id for execution in kit.executions(supervisor)]
        await trio.sleep(97)
        third_gone = await ada.code("check_background", {"id": adas[2]})
        left = [execution.id for execution in kit.executions(supervisor)]

    assert [first_gone, second_gone, third_gone] == ["NOT_FOUND"] * 3
    assert sorted(kept) == sorted([adas[2], *bobs])
    assert left == bobs


@requirement("kits.background.text")
async def test_a_long_result_is_read_in_parts(autojump_clock: trio.abc.Clock) -> None:
    text = "".join(f"line {n} é😀\n" for n in range(500))
    async with agents(BackgroundKit(options=BackgroundOptions(max_text=1000))) as supervisor:
        agent = Agent(supervisor)
        identity = await agent.start("work", {"seconds": 1, "text": text})
        result = await agent.call("await_background", {"id": identity})
        parts: list[str] = []
        omitted = [header(result).omitted]
        while True:
            parts.extend(block.text for block in result.content[1:] if isinstance(block, TextContent))
            offset = header(result).next_offset
            if offset is None:
                break
            result = await agent.call("check_background", {"id": identity, "offset": offset})
            omitted.append(header(result).omitted)

    assert "".join(parts) == text
    assert max(map(len, parts)) == 1000
    assert omitted == [max(0, len(text) - 1000 * (n + 1)) for n in range(len(parts))]
