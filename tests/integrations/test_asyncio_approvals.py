"""Approvals and grants in an asyncio program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Final, TypeVar, cast

import pytest

from armory_trio import (
    AdmissionClosed,
    ApprovalError,
    ApprovalPolicy,
    ApprovalRequest,
    DefinitionError,
    GrantError,
    Toolbox,
    ToolCall,
)
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from tests.integrations.banks import BANK, CONTEXT, KEYS, TRANSFER, StuckApprovals, counting_bank, same_as_supervisor
from tests.integrations.loops import Run, Trace, on_each_loop, pending_futures, sleepers
from tests.requirements import requirement

T = TypeVar("T")

ROUNDS: Final = 25
"""Rounds of the loop after which a coroutine is cancelled, at most; by then it waits for something far away."""

ANSWERED: Final = (("yes", 5), ("no", 6), ("edit", 7))


@requirement("hosts.authority")
def test_the_methods_are_those_of_a_supervisor() -> None:
    same_as_supervisor(AsyncioHost)


@requirement("hosts.authority")
@on_each_loop
def test_a_paused_call_is_resumed_once(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
            paused = await host.execute(TRANSFER)
            assert paused.pending_approval is not None
            kept = json.loads(json.dumps(paused.pending_approval.to_json()))
            result = await host.resume_approval(kept, owner_id="run-1")
            assert (result.value, result.call_id) == ("5 to ada", paused.call_id)
            with pytest.raises(ApprovalError, match="used already"):
                await host.resume_approval(kept)

    run(main)


@requirement("hosts.authority")
@on_each_loop
def test_an_approval_is_revoked_and_one_that_was_lost_restored(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
            lost, unwanted = [(await host.execute(TRANSFER)).pending_approval for _ in range(2)]
            assert lost is not None
            assert unwanted is not None
            await host.revoke_approval(unwanted)
            with pytest.raises(ApprovalError) as refused:
                await host.resume_approval(unwanted)
            assert refused.value.code == "revoked"
        async with open_asyncio_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
            with pytest.raises(ApprovalError) as missing:
                await host.resume_approval(lost)
            assert missing.value.code == "not-found"
            await host.restore_approval(lost)
            assert (await host.resume_approval(lost)).value == "5 to ada"

    run(main)


@requirement("hosts.authority")
@on_each_loop
def test_grants_are_issued_listed_and_revoked(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
            grant = await host.issue_grant(
                "transfer",
                principal="ann",
                tenant="acme",
                agent="agent-1",
                lifetime=60,
                max_uses=2,
                scope="run",
                run="run-1",
            )
            assert (await host.execute(TRANSFER)).value == "5 to ada"
            [state] = await host.list_grants(principal="ann")
            assert (state.grant.id, state.uses_remaining) == (grant.id, 1)
            await host.revoke_grant(grant.id)
            assert (await host.execute(TRANSFER)).outcome == "action_required"
            with pytest.raises(GrantError):
                await host.issue_grant(
                    "transfr", principal="a", tenant="b", agent="c", lifetime=1, max_uses=1, scope="principal"
                )

    run(main)


@requirement("asyncio.approval-handler")
@on_each_loop
@pytest.mark.parametrize("way", ["coroutine", "plain"])
def test_a_person_is_asked_by_a_function_of_the_program(run: Run, way: str) -> None:
    async def main() -> None:
        asked: list[ApprovalRequest] = []

        async def later(request: ApprovalRequest) -> object:
            await asyncio.sleep(0.001)
            return at_once(request)

        def at_once(request: ApprovalRequest) -> object:
            assert asyncio.current_task() is not None
            asked.append(request)
            return {**request.arguments, "amount": 1} if request.arguments["amount"] == 7 else request.call_id == "yes"

        handler: Callable[[ApprovalRequest], object] = later if way == "coroutine" else at_once
        async with open_asyncio_host(BANK, approval_handler=handler) as host:
            calls = [ToolCall("transfer", {"to": "ada", "amount": amount}, id=call_id) for call_id, amount in ANSWERED]
            results = await host.execute_batch(calls)
        assert [result.value or (result.error and result.error.code) for result in results] == [
            "5 to ada",
            "HUMAN_DENIED",
            "1 to ada",
        ]
        assert len(asked) == 3

    run(main)


@requirement("asyncio.approval-handler")
@on_each_loop
def test_a_question_is_withdrawn_when_nobody_wants_the_answer_any_more(run: Run) -> None:
    async def main() -> None:
        asked, said = asyncio.Event(), list[str]()

        async def never(_: ApprovalRequest) -> object:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                said.append("withdrawn")
            return True

        async with open_asyncio_host(BANK, approval_handler=never) as host:
            late = await host.execute(TRANSFER, human_timeout=0.01)
            assert late.error is not None
            assert (late.error.code, said) == ("HUMAN_TIMEOUT", ["withdrawn"])

            asked.clear()
            calling = asyncio.create_task(host.execute(TRANSFER))
            await asked.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            assert (said, host.active) == (["withdrawn"] * 2, 0)

            asked.clear()
            waiting = host.start(TRANSFER)
            await asked.wait()
        stopped = (await waiting.result()).error
        assert stopped is not None
        assert (stopped.code, said) == ("NOT_STARTED", ["withdrawn"] * 3)
        assert pending_futures() == []

    run(main)


@requirement("asyncio.approval-handler")
@on_each_loop
def test_a_handler_that_fails_or_is_none_harms_one_call_or_none(run: Run) -> None:
    async def main() -> None:
        async def broken(_: ApprovalRequest) -> object:
            raise asyncio.CancelledError

        async with open_asyncio_host(BANK, approval_handler=broken) as host:
            failed = (await host.execute(TRANSFER)).error
            assert failed is not None
            assert failed.code == "APPROVAL_UNAVAILABLE"
            assert not host.closed
        async with open_asyncio_host(BANK, approval_handler=None) as host:
            assert (await host.execute(TRANSFER)).outcome == "action_required"
        with pytest.raises(DefinitionError, match="approval_handler"):
            async with open_asyncio_host(BANK, approval_handler=cast("Callable[[ApprovalRequest], object]", 5)):
                pass

    run(main)


# ── Cancel ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("asyncio.cancel")
@on_each_loop
def test_a_cancelled_resume_before_the_body_leaves_the_approval_as_it_was(run: Run) -> None:
    async def main() -> None:
        asked = asyncio.Event()
        store = StuckApprovals(asked.set)
        async with open_asyncio_host(BANK, keys=KEYS, approvals=store, default_request_context=CONTEXT) as host:
            pending = (await host.execute(TRANSFER)).pending_approval
            assert pending is not None
            store.stuck = True
            resuming = asyncio.create_task(host.resume_approval(pending))
            await asked.wait()
            resuming.cancel("the user left")
            with pytest.raises(asyncio.CancelledError, match="the user left"):
                await resuming
            store.stuck = False
            assert (await host.resume_approval(pending)).value == "5 to ada"
        assert pending_futures() == []

    run(main)


@requirement("asyncio.cancel")
@on_each_loop
def test_a_cancelled_resume_aborts_its_execution(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        toolbox = careful(sleepers(trace))
        async with open_asyncio_host(toolbox, keys=KEYS, default_request_context=CONTEXT) as host:
            pending = (await host.execute(ToolCall("sleep"))).pending_approval
            assert pending is not None
            resuming = asyncio.create_task(host.resume_approval(pending))
            await trace.running.wait()
            resuming.cancel()
            with pytest.raises(asyncio.CancelledError):
                await resuming
            assert (trace.said, host.active) == (["began", "cleaned up"], 0)
            with pytest.raises(ApprovalError, match="used already"):
                await host.resume_approval(pending)

    run(main)


@requirement("asyncio.cancel-everywhere")
@on_each_loop
def test_cancelled_in_any_round_a_resume_uses_its_approval_for_one_body_or_not_at_all(run: Run) -> None:
    async def main() -> None:
        began: list[str] = []
        kept = used = 0
        async with open_asyncio_host(counting_bank(began), keys=KEYS, default_request_context=CONTEXT) as host:
            for rounds in (*range(ROUNDS), None):
                began.clear()
                pending = (await host.execute(TRANSFER)).pending_approval
                assert pending is not None
                task = asyncio.create_task(host.resume_approval(pending))
                await cancelled_after(task, rounds)
                assert host.active == 0
                try:
                    assert (await host.resume_approval(pending)).value == "5 to ada"
                    kept += 1
                except ApprovalError as error:
                    assert error.code == "already-consumed"
                    used += 1
                assert began == ["ada"]
            assert pending_futures() == []
        assert kept > 0
        assert used > 0

    run(main)


@requirement("asyncio.cancel-everywhere")
@on_each_loop
def test_cancelled_in_any_round_the_rest_leaves_nothing_behind(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
            pending = (await host.execute(TRANSFER)).pending_approval
            assert pending is not None
            for call in (
                lambda: host.restore_approval(pending),
                lambda: host.list_grants(principal="ann"),
                lambda: host.revoke_grant("grant:none"),
            ):
                for rounds in (*range(ROUNDS), None):
                    task = asyncio.ensure_future(call())
                    ended = await cancelled_after(task, rounds)
                    assert task.cancelled() != ended
            assert pending_futures() == []
            assert (await host.resume_approval(pending)).value == "5 to ada"

    run(main)


async def cancelled_after(task: asyncio.Future[T], rounds: int | None) -> bool:
    """Cancel *task* after so many rounds of the loop, or after its end, and say whether it had ended by itself."""
    if rounds is None:
        await asyncio.wait([task])
    for _ in range(rounds or 0):
        await asyncio.sleep(0)
    ended = task.done()
    task.cancel()
    await asyncio.wait([task])
    return ended


@requirement("asyncio.leave")
@on_each_loop
def test_a_store_that_never_answers_keeps_no_host_open(run: Run) -> None:
    async def main() -> None:
        asked, both = list[None](), asyncio.Event()

        def told() -> None:
            asked.append(None)
            if len(asked) > 1:
                both.set()

        store = StuckApprovals(told)
        async with open_asyncio_host(BANK, keys=KEYS, approvals=store, default_request_context=CONTEXT) as host:
            pending = (await host.execute(TRANSFER)).pending_approval
            assert pending is not None
            store.stuck = True
            waiting = [asyncio.create_task(call(pending)) for call in (host.restore_approval, host.resume_approval)]
            await both.wait()
        for call in waiting:
            with pytest.raises(AdmissionClosed):
                await call
        with pytest.raises(AdmissionClosed):
            await host.resume_approval(pending)

    run(main)


@requirement("asyncio.leave")
@on_each_loop
def test_a_call_that_was_resumed_ends_with_its_result_when_the_host_is_left(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(careful(sleepers(trace)), keys=KEYS, default_request_context=CONTEXT) as host:
            pending = (await host.execute(ToolCall("linger"))).pending_approval
            assert pending is not None
            resuming = asyncio.create_task(host.resume_approval(pending))
            await trace.running.wait()
            host.abort("enough", tool_name="linger")
            trace.may_end.set()
        assert (await resuming).outcome == "error"
        assert trace.said == ["lingered"]

    run(main)


def careful(toolbox: Toolbox) -> Toolbox:
    return Toolbox(toolbox, approval_policy=ApprovalPolicy("on-mutation"))
