"""Approvals and grants in a program of threads."""

from __future__ import annotations

import json
import threading

import pytest
import trio

from armory_trio import AdmissionClosed, ApprovalError, ApprovalRequest, GrantError, PendingApproval
from armory_trio.integrations.portal import BlockingHost, open_blocking_host
from tests.integrations.banks import BANK, CONTEXT, KEYS, TRANSFER, StuckApprovals, counting_bank, same_as_supervisor
from tests.integrations.test_portal import PATIENCE, ctrl_c_raises, interrupt_main
from tests.integrations.test_portal_interrupts import each_place
from tests.requirements import requirement


@requirement("hosts.authority")
def test_the_methods_are_those_of_a_supervisor() -> None:
    same_as_supervisor(BlockingHost)


@requirement("hosts.authority")
def test_a_paused_call_is_resumed_once() -> None:
    with open_blocking_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
        paused = host.execute(TRANSFER)
        assert paused.pending_approval is not None
        kept = json.loads(json.dumps(paused.pending_approval.to_json()))
        result = host.resume_approval(kept, owner_id="run-1")
        assert (result.value, result.call_id) == ("5 to ada", paused.call_id)
        with pytest.raises(ApprovalError, match="used already"):
            host.resume_approval(kept)


@requirement("hosts.authority")
def test_an_approval_is_revoked_and_one_that_was_lost_restored() -> None:
    with open_blocking_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
        lost, unwanted = [host.execute(TRANSFER).pending_approval for _ in range(2)]
        assert lost is not None
        assert unwanted is not None
        host.revoke_approval(unwanted)
        with pytest.raises(ApprovalError) as refused:
            host.resume_approval(unwanted)
        assert refused.value.code == "revoked"
    with open_blocking_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
        host.restore_approval(lost)
        assert host.resume_approval(lost).value == "5 to ada"
    with pytest.raises(AdmissionClosed):
        host.resume_approval(lost)


@requirement("hosts.authority")
def test_grants_are_issued_listed_and_revoked() -> None:
    with open_blocking_host(BANK, keys=KEYS, default_request_context=CONTEXT) as host:
        grant = host.issue_grant(
            "transfer", principal="ann", tenant="acme", agent="*", lifetime=60, max_uses=2, scope="run", run="run-1"
        )
        assert host.execute(TRANSFER).value == "5 to ada"
        [state] = host.list_grants(tenant="acme")
        assert (state.grant.id, state.uses_remaining) == (grant.id, 1)
        host.revoke_grant(grant.id)
        assert host.execute(TRANSFER).outcome == "action_required"
    with open_blocking_host(BANK) as host, pytest.raises(GrantError):
        host.list_grants()


@requirement("portal.approval-handler")
def test_a_person_is_asked_by_a_trio_function_that_may_ask_in_a_thread() -> None:
    threads: list[int] = []

    def ask(request: ApprovalRequest) -> bool:
        threads.append(threading.get_ident())
        return request.arguments["to"] == "ada"

    async def handler(request: ApprovalRequest) -> bool:
        return await trio.to_thread.run_sync(ask, request)

    with open_blocking_host(BANK, approval_handler=handler) as host:
        assert host.execute(TRANSFER).value == "5 to ada"
    assert threads != [threading.get_ident()]


@requirement("portal.interrupted")
def test_ctrl_c_takes_a_resume_along_and_leaves_its_approval_as_it_was() -> None:
    store = StuckApprovals(interrupt_main)
    with ctrl_c_raises(), open_blocking_host(BANK, keys=KEYS, approvals=store, default_request_context=CONTEXT) as host:
        pending = host.execute(TRANSFER).pending_approval
        assert pending is not None
        store.stuck = True
        for call in (host.resume_approval, host.restore_approval):
            with pytest.raises(KeyboardInterrupt):
                call(pending)
        store.stuck = False
        assert (host.resume_approval(pending).value, host.active) == ("5 to ada", 0)


@requirement("portal.interrupted")
def test_a_resume_that_is_interrupted_anywhere_uses_its_approval_for_one_body_or_not_at_all() -> None:
    began: list[str] = []
    ends: set[str] = set()
    with open_blocking_host(counting_bank(began), keys=KEYS, default_request_context=CONTEXT) as host:
        waiting = [_paused(host)]
        for _ in each_place(lambda: host.resume_approval(waiting[0])):
            try:
                ends.add(str(host.resume_approval(waiting[0]).value))
            except ApprovalError as error:
                ends.add(error.code)
            assert (began, host.active) == (["ada"], 0)
            began.clear()
            waiting[0] = _paused(host)
    assert ends == {"5 to ada", "already-consumed"}


def _paused(host: BlockingHost) -> PendingApproval:
    pending = host.execute(TRANSFER).pending_approval
    assert pending is not None
    return pending


@requirement("portal.leave")
def test_a_store_that_never_answers_keeps_no_host_open() -> None:
    asked, ended = threading.Event(), list[str]()
    store = StuckApprovals(asked.set)

    def restore() -> None:
        try:
            host.restore_approval(pending)
        except AdmissionClosed:
            ended.append("closed")

    with open_blocking_host(BANK, keys=KEYS, approvals=store, default_request_context=CONTEXT) as host:
        found = host.execute(TRANSFER).pending_approval
        assert found is not None
        pending = found
        store.stuck = True
        waiting = threading.Thread(target=restore)
        waiting.start()
        assert asked.wait(PATIENCE)
    waiting.join(PATIENCE)
    assert ended == ["closed"]
