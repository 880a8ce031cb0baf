"""Streams with a key: what is kept of them, and how it is told again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import (
    ChunkEmitted,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolFailure,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.definitions import Placement
from armory_trio.engine.keeping._retelling import CHUNKS_KEPT, NOT_KEPT
from tests.engine.cancelling import assert_nothing_is_held
from tests.engine.ledger.placed import DRONES, PATIENCE
from tests.engine.ledger.stores import BANK, HER, Troubled, code_of, passing, the_attempt, told_of
from tests.requirements import requirement


def together(chunks: list[object]) -> str:
    return "".join(map(str, chunks))


class Talker:
    """Generators that note how often they ran."""

    def __init__(self) -> None:
        self.began = 0
        talker = self

        @tool(effect=BANK)
        async def talk(words: int = 5, size: int = 1, pause: float = 0.0, fails: str = "") -> AsyncIterator[str]:
            talker.began += 1
            for number in range(words):
                yield f"{number}" * size
                await trio.sleep(pause)
            if fails:
                raise ToolFailure("hoarse", code="HOARSE", effect="completed")

        @tool(effect=BANK, reducer=together)
        async def joined() -> AsyncIterator[str]:
            talker.began += 1
            for word in ("a", "b", "c"):
                yield word

        @tool(effect=BANK, placement="task")
        def plain() -> Iterator[object]:
            talker.began += 1
            yield {"n": 1}
            yield [2]

        @tool(effect=BANK)
        async def strange() -> AsyncIterator[object]:
            talker.began += 1
            yield object()

        self.tools: list[Tool[..., object]] = [talk, joined, plain, strange]


async def read(
    supervisor: Supervisor, call: ToolCall, *, collect: bool = True
) -> tuple[list[object], ToolResult[object]]:
    async with supervisor.stream(call, idempotency_key="k", collect=collect) as stream:
        return [chunk async for chunk in stream], stream.result


@requirement("keeping.streams")
@pytest.mark.parametrize("name", ["talk", "joined", "plain"])
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_stream_is_told_again_chunk_by_chunk(name: str, wrapped: bool) -> None:
    talker = Talker()
    toolbox = Toolbox(talker.tools, middleware=[passing] if wrapped else [])
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        first = await read(supervisor, ToolCall(name))
        again = await read(supervisor, ToolCall(name))
        whole = await supervisor.execute(ToolCall(name), idempotency_key="k")

    assert first[0] == again[0] != []
    assert first[1].value == again[1].value == whole.value
    assert [told_of(each) for each in (first[1], again[1], whole)] == ["fresh", "deduped", "deduped"]
    assert (again[1].chunks, again[1].effect, talker.began) == ((), "completed", 1)


@requirement("keeping.streams")
async def test_what_was_executed_can_be_streamed_later() -> None:
    talker = Talker()
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        whole = await supervisor.execute(ToolCall("talk"), idempotency_key="k")
        chunks, result = await read(supervisor, ToolCall("talk"))

    assert chunks == whole.value == result.value
    assert talker.began == 1


@requirement("keeping.streams.pace")
async def test_a_reader_of_what_is_told_again_sets_the_pace(autojump_clock: trio.abc.Clock) -> None:
    talker = Talker()
    call = ToolCall("talk", {"words": 1000})
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
        async with supervisor.stream(call, idempotency_key="k") as stream:
            await trio.testing.wait_all_tasks_blocked()
            waiting = stream.execution.snapshot
            chunks = [chunk async for chunk in stream]

    assert (waiting.state, waiting.waits_for, waiting.outcome) == ("queued", "ledger", None)
    assert 0 < waiting.chunks < 200
    assert (len(chunks), talker.began) == (1000, 1)


@requirement("keeping.streams.pace")
async def test_who_leaves_what_is_told_again_ends_it_and_nothing_else(autojump_clock: trio.abc.Clock) -> None:
    talker = Talker()
    call = ToolCall("talk", {"words": 1000})
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
        async with supervisor.stream(call, idempotency_key="k") as stream:
            first = await anext(stream)
        again = await supervisor.execute(call, idempotency_key="k")
        await supervisor.wait_idle()
        assert_nothing_is_held(supervisor)

    assert (first, told_of(again), talker.began) == ("0", "deduped", 1)


@requirement("keeping.streams.closing")
async def test_a_reader_that_does_not_read_does_not_hold_up_a_drain(autojump_clock: trio.abc.Clock) -> None:
    talker = Talker()
    call = ToolCall("talk", {"words": 1000})
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER, drain_for=1000) as supervisor:
        await supervisor.execute(call, idempotency_key="k")
        async with supervisor.stream(call, idempotency_key="k") as stream:
            await trio.testing.wait_all_tasks_blocked()
            begin = trio.current_time()
            report = await supervisor.shutdown("drain")
            took = trio.current_time() - begin
            result = stream.result

    assert (took < 10, report.unfinished, code_of(result)) == (True, (), "NOT_STARTED")


@requirement("keeping.streams.cap")
@pytest.mark.parametrize("live", [True, False])
async def test_a_stream_that_is_too_long_is_not_kept_and_that_is_said(live: bool) -> None:
    talker = Talker()
    call = ToolCall("talk", {"words": 20, "size": CHUNKS_KEPT // 20 + 10})
    store = Troubled()
    async with open_supervisor(Toolbox(talker.tools), ledger=store, default_request_context=HER) as supervisor:
        if live:
            chunks, first = await read(supervisor, call)
        else:
            first = await supervisor.execute(call, idempotency_key="k")
            chunks = []
        kept = await the_attempt(store)
        again_chunks, again = await read(supervisor, call)

    assert (first.outcome, again.outcome, again.effect, told_of(again)) == ("success",) * 2 + ("completed", "deduped")
    assert (len(chunks), again_chunks, talker.began) == (20 if live else 0, [], 1)
    assert kept is not None and kept.result is not None
    if live:
        assert (again.value, NOT_KEPT in str(again.content)) == (None, True)
        assert len(kept.result) < 5_000
    else:
        assert again.value == first.value


@requirement("keeping.streams.cap")
async def test_a_stream_that_was_not_collected_is_not_kept_and_one_that_was_gives_no_value_then() -> None:
    talker = Talker()
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        chunks, first = await read(supervisor, ToolCall("joined"), collect=False)
        again_chunks, again = await read(supervisor, ToolCall("joined"))
        await supervisor.execute(ToolCall("talk"), idempotency_key="k")
        told_chunks, told = await read(supervisor, ToolCall("talk"), collect=False)

    assert (chunks, first.value, again_chunks, again.value) == (["a", "b", "c"], None, [], None)
    assert NOT_KEPT in str(again.content)
    assert (len(told_chunks), told.value, talker.began) == (5, None, 2)


@requirement("keeping.streams.cap")
async def test_chunks_without_a_json_form_are_not_kept() -> None:
    talker = Talker()
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        chunks, _ = await read(supervisor, ToolCall("strange"))
        again_chunks, again = await read(supervisor, ToolCall("strange"))

    assert (len(chunks), again_chunks, told_of(again), again.effect) == (1, [], "deduped", "completed")
    assert talker.began == 1


@requirement("keeping.streams.left")
async def test_a_stream_that_was_left_early_is_kept_by_its_effect_and_never_as_a_value(
    autojump_clock: trio.abc.Clock,
) -> None:
    talker = Talker()
    store = Troubled()
    call = ToolCall("talk", {"pause": 1.0})
    async with open_supervisor(Toolbox(talker.tools), ledger=store, default_request_context=HER) as supervisor:
        async with supervisor.stream(call, idempotency_key="k") as stream:
            first = await anext(stream)
        await supervisor.wait_idle()
        kept = await the_attempt(store)
        chunks, again = await read(supervisor, call)

    assert kept is not None and (kept.state, kept.effect, kept.result) == ("unknown", "unknown", None)
    assert (first, chunks, told_of(again), again.outcome) == ("0", [], "unknown-outcome", "action_required")
    assert talker.began == 1


@requirement("keeping.streams.failed")
async def test_a_stream_that_failed_after_its_effect_is_told_again_with_what_it_gave() -> None:
    talker = Talker()
    call = ToolCall("talk", {"fails": "late"})
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        first_chunks, first = await read(supervisor, call)
        chunks, again = await read(supervisor, call)

    assert (first_chunks, code_of(first)) == (chunks, code_of(again)) == (list("01234"), "HOARSE")
    assert (first.chunks, again.chunks, talker.began) == (tuple("01234"), tuple("01234"), 1)


@requirement("keeping.streams.joined")
@pytest.mark.parametrize("leads", ["stream", "execute"])
async def test_a_reader_that_joins_gets_the_chunks_when_the_leader_has_ended(
    leads: str, autojump_clock: trio.abc.Clock
) -> None:
    talker = Talker()
    call = ToolCall("talk", {"pause": 1.0})
    got: list[tuple[list[object], ToolResult[object]]] = []

    async def lead() -> None:
        if leads == "stream":
            got.append(await read(supervisor, call))
        else:
            result = await supervisor.execute(call, idempotency_key="k")
            got.append((cast("list[object]", result.value), result))

    async def follow() -> None:
        await trio.sleep(0.5)
        got.append(await read(supervisor, call))

    async with (
        open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(lead)
        nursery.start_soon(follow)

    assert [told_of(result) for _, result in got] == ["fresh", "joined"]
    assert [chunks for chunks, _ in got] == [list("01234")] * 2
    assert talker.began == 1


class Chatter:
    """A generator that yields more than its buffer holds, of one letter each."""

    def __init__(self) -> None:
        @tool(effect=BANK, buffer=2)
        async def chat(words: int = 100) -> AsyncIterator[str]:
            for _ in range(words):
                yield "x"

        self.tools: list[Tool[..., object]] = [chat]


@requirement("keeping.streams.ahead")
@pytest.mark.parametrize("how", ["execute", "stream"])
async def test_who_joins_a_stream_does_not_wait_for_a_reader_that_reads_no_more(
    how: str, autojump_clock: trio.abc.Clock
) -> None:
    call = ToolCall("chat")
    async with open_supervisor(Toolbox(Chatter().tools), default_request_context=HER) as supervisor:
        async with supervisor.stream(call, idempotency_key="k") as stream:
            await trio.sleep(1)  # nobody reads, so that it stands still
            if how == "execute":
                joined = await supervisor.execute(call, idempotency_key="k")
                assert joined.value == ["x"] * 100
            else:
                chunks, joined = await read(supervisor, call)
                assert chunks == ["x"] * 100
            assert told_of(joined) == "joined"
            mine = [chunk async for chunk in stream]
        assert_nothing_is_held(supervisor)

    assert (mine, stream.result.outcome) == (["x"] * 100, "success")


@requirement("keeping.streams.ahead")
@pytest.mark.parametrize("place", DRONES)
async def test_who_joins_a_stream_of_another_place_does_not_wait_for_its_reader(place: Placement) -> None:
    drone = DRONES[place]
    call = ToolCall(drone.name, {"words": 100})
    async with (
        open_supervisor(Toolbox([drone]), default_request_context=HER) as supervisor,
        supervisor.stream(call, idempotency_key="k") as stream,
    ):
        mine = [await anext(aiter(stream))]  # it leads
        with trio.fail_after(PATIENCE):
            joined = await supervisor.execute(call, idempotency_key="k")
        mine += [chunk async for chunk in stream]

    assert (told_of(joined), joined.value, mine) == ("joined", ["x"] * 100, ["x"] * 100)


@requirement("keeping.streams.ahead")
async def test_a_stream_that_others_joined_runs_ahead_of_its_reader_by_no_more_than_is_kept(
    autojump_clock: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armory_trio.engine._streams.CHUNKS_KEPT", 30)
    call = ToolCall("chat", {"words": 50})
    async with (
        open_supervisor(Toolbox(Chatter().tools), default_request_context=HER) as supervisor,
        supervisor.stream(call, idempotency_key="k") as stream,
    ):
        await trio.sleep(1)
        joiner = supervisor.start(call, idempotency_key="k")
        await trio.sleep(100)
        ahead = stream.execution.snapshot.chunks
        assert joiner.snapshot.state == "queued"
        mine = [chunk async for chunk in stream]
        result = await joiner.result()

    assert ahead == 12  # the buffer, and ten of three bytes each
    assert (len(mine), told_of(result)) == (50, "joined")


@requirement("keeping.streams.ahead")
async def test_a_stream_whose_joiners_have_left_waits_for_its_reader_again(autojump_clock: trio.abc.Clock) -> None:
    @tool(effect=BANK, buffer=2)
    async def slowly() -> AsyncIterator[str]:
        for _ in range(20):
            await trio.sleep(1)
            yield "x"

    async with (
        open_supervisor(Toolbox([slowly]), default_request_context=HER) as supervisor,
        supervisor.stream(ToolCall("slowly"), idempotency_key="k") as stream,
    ):
        with trio.move_on_after(5.5):
            await trio.sleep(0.5)
            await supervisor.execute(ToolCall("slowly"), idempotency_key="k")
        await trio.sleep(100)
        assert stream.execution.snapshot.chunks <= 6
        assert len([chunk async for chunk in stream]) == 20


@requirement("keeping.streams.events")
async def test_chunks_that_are_told_again_are_told_to_those_who_watch() -> None:
    talker = Talker()
    seen: list[object] = []
    async with open_supervisor(Toolbox(talker.tools), default_request_context=HER) as supervisor:
        await supervisor.execute(ToolCall("joined"), idempotency_key="k")
        async with supervisor.events(ChunkEmitted, include_payloads=True) as events:
            await read(supervisor, ToolCall("joined"))
            for _ in range(3):
                event = await anext(events)
                assert isinstance(event, ChunkEmitted)
                seen.append((event.index, event.chunk))

    assert seen == [(0, "a"), (1, "b"), (2, "c")]
