"""What a host is told of the ends of background calls, whenever it comes to read."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import cast

import pytest
import trio
import trio.testing

from armory_trio import DefinitionError, Supervisor, Tool, ToolResult
from armory_trio.kits.background import (
    BackgroundKit,
    BackgroundNotice,
    BackgroundOptions,
    Notices,
    _desk,
    notice_text,
)
from tests.kits.background.tools import Agent, agents
from tests.requirements import requirement


async def read(notices: Notices, into: list[BackgroundNotice]) -> None:
    into.extend([notice async for notice in notices])


async def take(notices: Notices, count: int) -> list[BackgroundNotice]:
    return [await notices.__anext__() for _ in range(count)]


@requirement("kits.background.notices")
async def test_a_reader_is_told_of_each_end_when_it_comes_with_the_exact_result(
    autojump_clock: trio.abc.Clock,
) -> None:
    kit = BackgroundKit()
    told: list[tuple[float, str, object]] = []

    async def listen(supervisor: Supervisor) -> None:
        async for notice in kit.notices(supervisor, owner_id="ada"):
            told.append((trio.current_time(), notice.execution_id, notice.result.value))
            assert (notice.tool_name, notice.owner_id, notice.seen) == ("work", "ada", False)

    async with trio.open_nursery() as nursery, agents(kit) as supervisor:
        nursery.start_soon(listen, supervisor)
        ada, bob = Agent(supervisor, owner_id="ada"), Agent(supervisor, owner_id="bob")
        slow = await ada.start("work", {"seconds": 5, "text": "slow"})
        quick = await ada.start("work", {"seconds": 2, "text": "quick"})
        await bob.start("work", {"seconds": 1})
        await trio.sleep(9)

    assert told == [(2, quick, "quick"), (5, slow, "slow")]


@requirement("kits.background.notices")
async def test_an_end_before_the_reader_came_is_told_once(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    async with agents(kit) as supervisor:
        agent = Agent(supervisor, owner_id="ada")
        identity = await agent.start("fail", {"seconds": 1})
        await trio.sleep(5)
        [first] = await take(kit.notices(supervisor, owner_id="ada"), 1)
        with trio.move_on_after(5) as scope:
            await take(kit.notices(supervisor), 1)

    assert (first.execution_id, first.result.outcome) == (identity, "error")
    assert scope.cancelled_caught


@requirement("kits.background.notices")
async def test_the_supervisors_end_ends_the_readers_when_all_is_told(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    everybody: list[BackgroundNotice] = []
    idle: list[BackgroundNotice] = []
    ended: list[float] = []

    async def wait(supervisor: Supervisor) -> None:
        await read(kit.notices(supervisor, owner_id="zoe"), idle)
        ended.append(trio.current_time())

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery, agents(kit) as supervisor:
            nursery.start_soon(read, kit.notices(supervisor), everybody)
            nursery.start_soon(wait, supervisor)
            identity = await Agent(supervisor, owner_id="ada").start("work", {"seconds": 5})
        late: list[BackgroundNotice] = []
        await read(kit.notices(supervisor), late)

    assert [notice.execution_id for notice in everybody] == [identity]
    assert idle == late == []
    assert ended == [0]  # the door was closed then; nothing of its owner was running


@requirement("kits.background.notices")
async def test_a_reader_that_comes_after_the_supervisor_has_closed_is_told_what_is_left(
    autojump_clock: trio.abc.Clock,
) -> None:
    kit = BackgroundKit()
    async with agents(kit) as supervisor:
        identity = await Agent(supervisor, owner_id="ada").start("work", {"seconds": 5})
    late: list[BackgroundNotice] = []
    await read(kit.notices(supervisor), late)

    assert [(notice.execution_id, notice.result.value) for notice in late] == [(identity, "done")]


@requirement("kits.background.notices")
async def test_an_abort_of_everything_is_told_too(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    told: list[BackgroundNotice] = []
    async with trio.open_nursery() as nursery, agents(kit) as supervisor:
        nursery.start_soon(read, kit.notices(supervisor), told)
        agent = Agent(supervisor)
        for _ in range(2):
            await agent.start("work", {"seconds": 50})
        await trio.testing.wait_all_tasks_blocked()
        await supervisor.shutdown("abort")

    codes = [notice.result.error.code for notice in told if notice.result.error is not None]
    assert codes == ["CANCELLED"] * 2


@requirement("kits.background.notices")
async def test_a_reader_that_leaves_loses_nothing(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    async with agents(kit) as supervisor:
        agent = Agent(supervisor, owner_id="ada")
        ids = [await agent.start("work", {"seconds": n + 1}) for n in range(3)]
        told: list[BackgroundNotice] = []
        async for notice in kit.notices(supervisor, owner_id="ada"):
            told.append(notice)
            break
        with trio.move_on_after(0.5):
            await take(kit.notices(supervisor, owner_id="ada"), 1)
        with trio.CancelScope() as scope:
            scope.cancel()
            await take(kit.notices(supervisor, owner_id="ada"), 1)
        told.extend(await take(kit.notices(supervisor, owner_id="ada"), 2))

    assert [notice.execution_id for notice in told] == ids


@requirement("kits.background.notices")
async def test_readers_share_what_there_is_and_each_end_is_told_once(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    told: list[BackgroundNotice] = []
    async with trio.open_nursery() as nursery, agents(kit) as supervisor:
        for owner in ("ada", "ada", None):
            nursery.start_soon(read, kit.notices(supervisor, owner_id=owner), told)
        agent = Agent(supervisor, owner_id="ada")
        ids = [await agent.start("work", {"seconds": 1 + n % 3}) for n in range(12)]

    assert sorted(notice.execution_id for notice in told) == sorted(ids)


@requirement("kits.background.notices", "kits.background.bounded")
async def test_a_reader_that_stalls_misses_the_oldest_and_is_told_how_many(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit(options=BackgroundOptions(kept_per_owner=3))
    async with agents(kit) as supervisor:
        ada, bob = Agent(supervisor, owner_id="ada"), Agent(supervisor, owner_id="bob")
        notices = kit.notices(supervisor, owner_id="ada")
        ids = [await ada.start("work", {"seconds": n + 1}) for n in range(8)]
        others = [await bob.start("work", {"seconds": 1}) for _ in range(2)]
        first = await take(notices, 1)
        missed_before = notices.missed
        await trio.sleep(20)
        rest = await take(notices, 3)
        theirs = await take(kit.notices(supervisor, owner_id="bob"), 2)
        missed = notices.missed

    assert [notice.execution_id for notice in first + rest] == [ids[0], *ids[5:]]
    assert (missed_before, missed) == (0, 4)
    assert {notice.execution_id for notice in theirs} == set(others)


@requirement("kits.background.bounded")
async def test_what_was_told_makes_room_before_what_was_not(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit(options=BackgroundOptions(kept_per_owner=2))
    async with agents(kit) as supervisor:
        agent = Agent(supervisor, owner_id="ada")
        ids = [await agent.start("work", {"seconds": n + 1}) for n in range(3)]
        [first] = await take(kit.notices(supervisor, owner_id="ada"), 1)
        await trio.sleep(5)
        notices = kit.notices(supervisor, owner_id="ada")
        rest = await take(notices, 2)

    assert [notice.execution_id for notice in (first, *rest)] == ids
    assert notices.missed == 0


@requirement("kits.background.bounded")
async def test_what_was_lost_is_counted_for_its_owner_or_for_everybody(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit(options=BackgroundOptions(kept_per_owner=0))
    async with agents(kit) as supervisor:
        for owner in ("ada", "ada", "bob", None):
            await Agent(supervisor, owner_id=owner).start("work", {"seconds": 1})
        await trio.sleep(2)
        ada, everybody = kit.notices(supervisor, owner_id="ada"), kit.notices(supervisor)
        counts = [ada.missed, everybody.missed, ada.missed, everybody.missed]

    assert counts == [2, 2, 2, 2]  # each is counted once, as it would have been told once


@requirement("kits.background.bounded")
@pytest.mark.parametrize("counted", [2, 10_000])
async def test_what_was_lost_of_many_owners_is_counted_all_the_same(
    counted: int, autojump_clock: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_desk, "_COUNTED", counted)
    kit = BackgroundKit(options=BackgroundOptions(kept=0))
    async with agents(kit) as supervisor:
        for number in range(5):
            await Agent(supervisor, owner_id=f"owner-{number}").start("work", {"seconds": 1 + number})
        await trio.sleep(6)
        everybody = kit.notices(supervisor)
        counts = [kit.notices(supervisor, owner_id="owner-4").missed, everybody.missed, everybody.missed]

    assert counts == [1, 4, 4]


@requirement("kits.background.notices")
async def test_a_notice_says_whether_the_model_has_read_the_result(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    async with agents(kit) as supervisor:
        agent = Agent(supervisor)
        fetched = await agent.start("work", {"seconds": 1})
        listed = await agent.start("work", {"seconds": 1})
        await agent.call("await_background", {"id": fetched})
        await agent.call("list_background")
        told = await take(kit.notices(supervisor), 2)

    assert {notice.execution_id: notice.seen for notice in told} == {fetched: True, listed: False}


@requirement("kits.background.notices")
async def test_a_reader_that_listens_already_is_told_that_the_model_was_waiting_for_it(
    autojump_clock: trio.abc.Clock,
) -> None:
    kit = BackgroundKit()
    told: list[BackgroundNotice] = []
    async with trio.open_nursery() as nursery, agents(kit) as supervisor:
        nursery.start_soon(read, kit.notices(supervisor), told)
        agent = Agent(supervisor)
        for _ in range(10):
            await agent.call("await_background", {"id": await agent.start("work", {"seconds": 1})})

    assert [notice.seen for notice in told] == [True] * 10


@requirement("kits.background.notices")
async def test_a_notice_in_words_says_which_call_how_it_ended_and_what_came_of_it(
    autojump_clock: trio.abc.Clock,
) -> None:
    kit = BackgroundKit()
    async with agents(kit) as supervisor:
        agent = Agent(supervisor)
        ids = [
            await agent.start("work", {"seconds": 1, "text": "x" * 50}),
            await agent.start("fail", {"seconds": 2}),
            await agent.start("work", {"seconds": 60}),
        ]
        await trio.sleep(3)
        await agent.call("cancel_background", {"id": ids[2]})
        done, failed, cancelled = await take(kit.notices(supervisor), 3)

    assert notice_text(done, max_text=20) == (
        f"Background call {ids[0]} of work has ended: completed.\n{'x' * 20}\n[30 more characters: use check_background]"
    )
    assert notice_text(done).endswith("x" * 50)
    assert notice_text(failed).startswith(f"Background call {ids[1]} of fail has ended: failed.\n")
    assert "no such luck" in notice_text(failed)
    assert notice_text(cancelled).startswith(f"Background call {ids[2]} of work has ended: cancelled.\n")
    with pytest.raises(ValueError, match="max_text=-1: give 0 or more"):
        notice_text(done, max_text=-1)


@requirement("kits.background.bounded")
async def test_the_kit_keeps_no_supervisor_that_its_host_has_let_go_of(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()

    async def once() -> weakref.ref[Supervisor]:
        async with agents(kit) as supervisor:
            await Agent(supervisor).start("work", {"seconds": 1})
        return weakref.ref(supervisor)

    gone = await once()
    gc.collect()

    assert gone() is None


@requirement("kits.background.own-only")
async def test_one_kit_serves_several_supervisors_and_keeps_them_apart(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit()
    async with agents(kit) as one, agents(kit) as other:
        identity = await Agent(one, owner_id="ada").start("work", {"seconds": 1})
        code = await Agent(other, owner_id="ada").code("check_background", {"id": identity})
        counts = len(kit.executions(one)), len(kit.executions(other, owner_id="ada"))

    assert (code, counts) == ("NOT_FOUND", (1, 0))


def _as_given(allow: object) -> Callable[[Tool[..., object]], bool]:
    return cast("Callable[[Tool[..., object]], bool]", allow)


@requirement("kits.background.options")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BackgroundOptions(per_owner=0), "per_owner: is 0; give a whole number, 1 or more"),
        (lambda: BackgroundOptions(kept=-1), "kept: is -1; give a whole number, 0 or more"),
        (lambda: BackgroundOptions(kept_for=float("nan")), "kept_for: is nan; give seconds, 0 or more"),
        (lambda: BackgroundOptions(timeout=0), "timeout: is 0; give more seconds, or None for no limit"),
        (lambda: BackgroundOptions(max_wait=-1), "max_wait: is -1; give seconds, 0 or more"),
        (lambda: BackgroundKit(tags="slow"), "tags: is the text 'slow'; give a list of tags"),
        (lambda: BackgroundKit(allow=_as_given(True)), "allow: is True; give a function that says of a tool"),
        (lambda: BackgroundKit(allow=_as_given(["add"])), "allow: is ['add']; give a function that says of a tool"),
        (lambda: BackgroundKit(allow=_as_given(trio.sleep)), "at once), or None for every tool"),
    ],
)
def test_a_wrong_option_says_what_would_be_right(make: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()

    assert words in str(caught.value)


@requirement("kits.background.options")
async def test_a_time_limit_of_the_kit_holds_for_every_background_call(autojump_clock: trio.abc.Clock) -> None:
    kit = BackgroundKit(options=BackgroundOptions(timeout=3, namespace="jobs"))
    results: list[ToolResult[object]] = []
    async with agents(kit) as supervisor:
        agent = Agent(supervisor)
        await agent.start("work", {"seconds": 60})
        async for notice in kit.notices(supervisor):
            results.append(notice.result)
            break

    assert results[0].error is not None and results[0].error.code == "TIMEOUT"
    assert {each.id.namespace for each in kit.tools} == {"jobs"}
