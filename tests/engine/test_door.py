"""What the doors of a supervisor let in, refuse, and say about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import (
    AdmissionClosed,
    BlockingContext,
    DefinitionError,
    Limits,
    Overloaded,
    Retention,
    ShutdownFromInside,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.storage.sql import open_store
from tests.engine.tools import add, sleep, stubborn, watch
from tests.requirements import requirement

RUBBISH = cast("str", 7)
HUGE = 10**400


@requirement("engine.options")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"toolbox": [add]}, "toolbox: is .*; give a Toolbox"),
        ({"limits": {}}, "limits: is {}; give a Limits"),
        ({"limits": list(range(100))}, r"limits: is \[0, 1, .*\.\.\.; give a Limits"),
        ({"budget": 5}, "budget: is 5; give a Budget or None"),
        ({"retention": 5}, "retention: is 5; give a Retention"),
        ({"default_request_context": {}}, "default_request_context: is {}; give a RequestContext or None"),
        ({"cleanup_timeout": -1}, "cleanup_timeout: is -1; give seconds, 0 or more"),
        ({"drain_for": "long"}, "drain_for: is 'long'; give seconds"),
        ({"error_detail": "all"}, "error_detail: is 'all'; give message or declared"),
        ({"drain_for": HUGE}, r"drain_for: is 1000.*\.\.\.; give seconds"),
        ({"cleanup_timeout": HUGE}, r"cleanup_timeout: is 1000.*\.\.\.; give seconds"),
    ],
)
async def test_a_wrong_option_of_a_supervisor_names_what_would_be_right(given: dict[str, object], words: str) -> None:
    options: dict[str, object] = {"toolbox": Toolbox([add]), **given}
    with pytest.raises(DefinitionError, match=words):
        async with open_supervisor(**options):  # type: ignore[arg-type]  # rubbish is what is tested
            pytest.fail("it opened")


class _Shelf:
    """What holds stores, as an open database does, and is none itself."""

    approvals = grants = journal = ledger = buckets = object()


@requirement("engine.options")
@pytest.mark.parametrize("part", ["approvals", "grants", "journal", "ledger"])
async def test_a_whole_database_in_place_of_a_store_is_told_which_part_is_meant(part: str) -> None:
    with pytest.raises(DefinitionError, match=f"{part}: must be an? .*; a _Shelf has no .*; give its {part}$"):
        async with open_supervisor(Toolbox([add]), **{part: _Shelf()}):  # type: ignore[arg-type]  # rubbish is what is tested
            pytest.fail("it opened")


@requirement("engine.options")
@pytest.mark.parametrize("part", ["approvals", "grants", "journal", "ledger"])
async def test_a_store_that_is_not_open_yet_is_told_how_to_open_it(part: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for unopened, words in (
        (open_store(path), f"enter it first, async with ... as opened, and give opened.{part}"),
        (path, f"open a store there, with open_store of armory_trio.storage.sql, and give its {part}"),
        (str(path), f"open a store there, with open_store of armory_trio.storage.sql, and give its {part}"),
    ):
        with pytest.raises(DefinitionError, match=f"{part}: must be an? .* has no .*; {re.escape(words)}$"):
            async with open_supervisor(Toolbox([add]), **{part: unopened}):  # type: ignore[arg-type]  # rubbish is what is tested
                pytest.fail("it opened")


@requirement("engine.options")
async def test_a_text_in_place_of_keys_is_no_path_of_a_store() -> None:
    with pytest.raises(DefinitionError, match=r"keys: must be a Keyring, .*; a str has no signing_key$"):
        async with open_supervisor(Toolbox([add]), keys="secret"):  # type: ignore[arg-type]  # rubbish is what is tested
            pytest.fail("it opened")


@requirement("engine.options")
@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        ("add", {}, "'add' is no ToolCall"),
        (ToolCall("add"), {"owner": "ann"}, "a call has no option 'owner'; did you mean 'owner_id'"),
        (ToolCall("add"), {"zzz": 1}, "a call has no option 'zzz'; there are owner_id, timeout, .*, error_detail$"),
        (ToolCall("add"), {"asks_ledger": True}, "a call has no option 'asks_ledger'"),
        (ToolCall("add"), {"owner_id": 7}, "owner_id=7: give a string"),
        (ToolCall("add"), {"request_context": {}}, "request_context={}: give a RequestContext"),
        (ToolCall("add"), {"elicit": 3}, "elicit=3: give an async function"),
        (ToolCall("add"), {"timeout": "5"}, "timeout='5': give a positive number"),
        (ToolCall("add"), {"timeout": True}, "timeout=True: give a positive number"),
        (ToolCall("add"), {"deadline": "x"}, "deadline='x': give a point on trio's clock"),
        (ToolCall("add"), {"deadline": HUGE}, r"deadline=10000.*\.\.\.: give a point on trio's clock"),
        (ToolCall("add"), {"deadline": -HUGE}, r"deadline=-1000.*\.\.\.: give a point on trio's clock"),
        (ToolCall("add"), {"timeout": HUGE}, r"^timeout=1000.*\.\.\.: give a positive number of seconds"),
        (ToolCall("add"), {"idle_timeout": HUGE}, r"idle_timeout=1000.*\.\.\.: give a positive number of seconds"),
        (ToolCall("add"), {"human_timeout": HUGE}, r"human_timeout=1000.*\.\.\.: give a positive number of seconds"),
    ],
)
async def test_a_wrong_call_is_refused_at_the_door_and_leaves_no_trace(
    call: object, options: dict[str, object], words: str
) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises((TypeError, ValueError), match=words):
            await supervisor.execute(call, **options)  # type: ignore[arg-type]  # rubbish is what is tested
        report = await supervisor.shutdown()

    assert report.ended == 0


@requirement("engine.options")
@pytest.mark.parametrize("make", [lambda: ToolCall(RUBBISH), lambda: ToolCall("add", {}, id=RUBBISH)])
def test_names_and_ids_of_calls_are_strings(make: Callable[[], ToolCall]) -> None:
    with pytest.raises(TypeError, match="both are strings"):
        make()


@requirement("engine.batch-whole")
async def test_the_queue_bound_holds_for_batches_whatever_limit_makes_them_wait(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(concurrency=1)
    async def narrow() -> str:
        await trio.sleep(1)
        return "ran"

    async def refused(supervisor: Supervisor, calls: list[ToolCall], **options: object) -> str:
        with pytest.raises(Overloaded) as caught:
            await supervisor.execute_batch(calls, **options)  # type: ignore[arg-type]  # several kinds
        return str(caught.value)

    limits = Limits(queued=2, per_owner=2)
    async with open_supervisor(Toolbox([narrow, watch]), limits=limits) as supervisor:
        by_tool = await refused(supervisor, [ToolCall("narrow")] * 4)
        by_owner = await refused(supervisor, [ToolCall("watch", {"seconds": 1})] * 5, owner_id="ada")
        by_batch = await refused(supervisor, [ToolCall("watch", {"seconds": 1})] * 6, concurrency=3)
        fits = await supervisor.execute_batch([ToolCall("narrow")] * 3)
        assert len(supervisor.executions.inspect()) == 3

    assert [text.split(",")[0] for text in (by_tool, by_owner, by_batch)] == ["3 calls would be waiting"] * 3
    assert [result.value for result in fits] == ["ran"] * 3


@requirement("shutdown.report-forgets-nothing")
async def test_an_unknown_effect_counts_after_its_record_was_forgotten() -> None:
    @tool
    async def crash() -> None:
        raise ValueError

    async with open_supervisor(Toolbox([crash, add]), retention=Retention(count=2)) as supervisor:
        await supervisor.execute(ToolCall("crash"))
        await supervisor.execute_batch([ToolCall("add", {"a": 1, "b": 2})] * 5)
        report = await supervisor.shutdown()

    assert (report.unknown_effects, report.uncertain, report.exit_code) == ((), 1, 3)
    assert "and 1 uncertain ones that are no longer kept" in report.lines()


@requirement("shutdown.given-up")
async def test_what_was_given_up_holds_no_drain(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([stubborn]), cleanup_timeout=1) as supervisor:
        execution = supervisor.start(ToolCall("stubborn", {"seconds": 100}))
        await trio.testing.wait_all_tasks_blocked()
        execution.abort("enough")
        await execution.settled()
        began = trio.current_time()
        report = await supervisor.shutdown("drain", drain_for=30)
        took = trio.current_time() - began

    assert took == 0
    assert (report.mode, report.exit_code) == ("drain", 4)
    assert [shot.execution_id for shot in report.unfinished] == [execution.id]


@requirement("shutdown.closed-says-why")
async def test_a_closed_door_says_why(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        supervisor.close_admission("a new version takes over")
        with pytest.raises(AdmissionClosed, match="a new version takes over"):
            await supervisor.execute(ToolCall("add"))
        with pytest.raises(AdmissionClosed):
            await supervisor.execute_batch([ToolCall("add")])
        with pytest.raises(AdmissionClosed):
            supervisor.start(ToolCall("add"))
        with pytest.raises(AdmissionClosed):
            async with supervisor.stream(ToolCall("add")):
                pytest.fail("it opened")


@requirement("shutdown.closed-says-why")
async def test_a_supervisor_whose_block_was_left_says_so(autojump_clock: trio.abc.Clock) -> None:
    refused: list[str] = []

    async def come_late(supervisor: Supervisor) -> None:
        await trio.sleep(1)
        with pytest.raises(AdmissionClosed) as caught:
            await supervisor.execute(ToolCall("add"))
        refused.append(str(caught.value))

    async with trio.open_nursery() as nursery, open_supervisor(Toolbox([add, sleep])) as supervisor:
        supervisor.start(ToolCall("sleep", {"seconds": 2}))
        nursery.start_soon(come_late, supervisor)  # noqa: ASYNC111  # it comes too late on purpose
    with pytest.raises(AdmissionClosed, match="takes no new work: its block was left"):
        supervisor.start(ToolCall("add"))

    assert refused == ["the supervisor takes no new work: its block was left"]


@requirement("shutdown.from-inside")
async def test_a_tool_cannot_wait_for_its_own_supervisor_to_end() -> None:
    @tool
    async def suicidal() -> None:
        for wait in (supervisor.wait_idle, supervisor.shutdown):
            with pytest.raises(ShutdownFromInside, match="suicidal"):
                await wait()
        raise ToolFailure("as expected", effect="none")

    async with open_supervisor(Toolbox([suicidal])) as supervisor:
        result = await supervisor.execute(ToolCall("suicidal"))

    assert result.error is not None and result.error.message == "as expected"
    assert supervisor.report is not None and supervisor.report.exit_code == 0


@requirement("shutdown.report-forgets-nothing")
async def test_a_wrong_length_of_a_drain_closes_nothing() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        with pytest.raises(DefinitionError, match="drain_for: is -1; give seconds, 0 or more"):
            await supervisor.shutdown(drain_for=-1)
        assert not supervisor.closed


@requirement("engine.codes")
@pytest.mark.parametrize(
    ("category", "retryable", "expected"),
    [("transient", None, True), ("transient", False, False), ("timeout", None, True), ("internal", True, True)],
)
async def test_a_tools_own_word_on_retrying_counts(category: str, retryable: bool | None, expected: bool) -> None:
    @tool
    async def candid() -> None:
        raise ToolFailure("x", category=category, code="X", retryable=retryable, effect="none")  # type: ignore[arg-type]

    async with open_supervisor(Toolbox([candid])) as supervisor:
        result = await supervisor.execute(ToolCall("candid"))

    assert result.error is not None and result.error.retryable is expected


@requirement("effects.cleanup-failed")
async def test_a_thread_that_stops_at_its_context_when_it_is_over_has_cleaned_up() -> None:
    @tool(effect="read-only")
    def caller(ctx: BlockingContext) -> str:
        for _ in range(1000):
            ctx.call("sleep", {"seconds": 0.01})
        return "done"

    with trio.fail_after(30):
        async with open_supervisor(Toolbox([caller, sleep])) as supervisor:
            execution = supervisor.start(ToolCall("caller"), timeout=0.05)
            snapshot = await execution.settled()

    assert snapshot.cleanup == "completed"
