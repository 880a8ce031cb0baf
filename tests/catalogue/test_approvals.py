"""Approvals and grants as a host meets them."""

from __future__ import annotations

import json
import re
from typing import get_args

import msgspec
import pytest

from armory_trio import (
    ApprovalError,
    ApprovalRequest,
    Ask,
    Deny,
    PendingApproval,
    PolicyRequest,
    RequestContext,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolExecutionError,
    ToolResult,
    bind_action,
    open_supervisor,
    tool,
)
from armory_trio.authority.approvals import MemoryApprovals, sign_pending, verify_pending
from armory_trio.authority.signing import SignatureError, sign, verify
from armory_trio.errors import AuthorityCode
from tests.catalogue.cards import ADA, BANK, KEYS, Shop
from tests.docs import ROOT
from tests.requirements import requirement

CALL = ToolCall("charge-card", {"cents": 100}, id="tool-call-1")


def waiting(result: ToolResult[object]) -> PendingApproval:
    """The descriptor of a call that waits."""
    assert result.outcome == "action_required"
    assert result.pending_approval is not None
    return result.pending_approval


async def refusal(supervisor: Supervisor, pending: object, context: RequestContext = ADA) -> str:
    """The code with which resuming is refused."""
    with pytest.raises(ApprovalError) as caught:
        await supervisor.resume_approval(pending, request_context=context)  # type: ignore[arg-type]  # tried out
    return caught.value.code


@requirement("authorities.charge-card")
async def test_a_descriptor_says_what_would_run_and_survives_json() -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        pending = waiting(await supervisor.execute(CALL))

    written = pending.to_json()
    assert PendingApproval.from_json(json.loads(json.dumps(written))) == pending
    shown = {name: written[name] for name in ("call_id", "tool_name", "arguments", "question", "metadata", "satisfied")}
    assert shown == {
        "call_id": "tool-call-1",
        "tool_name": "charge-card",
        "arguments": {"cents": 100, "confirmed": False},
        "question": {
            "tier": "toolbox",
            "reason": "Operator approval required",
            "action": {"type": "approval", "message": "Approve charge", "schema": None},
        },
        "metadata": {"mutates": True},
        "satisfied": [],
    }
    assert shop.charged == []


@requirement("authorities.charge-card")
async def test_another_supervisor_resumes_it_once() -> None:
    shop, store = Shop(), MemoryApprovals()
    async with shop.opened(approvals=store) as supervisor:
        kept = json.dumps(waiting(await supervisor.execute(CALL)).to_json())

    async with shop.opened(approvals=store) as supervisor:
        result = await supervisor.resume_approval(json.loads(kept))
        assert (result.value, result.call_id, result.executed_arguments_edited) == ("charged 100", CALL.id, False)
        assert await refusal(supervisor, json.loads(kept)) == "already-consumed"

    assert shop.charged == [100]


@requirement("authorities.charge-card")
async def test_other_arguments_run_only_if_the_policy_allows_them_on_their_own() -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        pending = waiting(await supervisor.execute(CALL))

        again = await supervisor.resume_approval(pending, arguments={"cents": 125})
        assert waiting(again).satisfied == ()
        assert shop.charged == []

        invalid = await supervisor.resume_approval(pending, arguments={"cents": "125"})
        assert invalid.error is not None
        assert invalid.error.code == "INVALID_ARGUMENTS"

        done = await supervisor.resume_approval(pending, arguments={"cents": 125, "confirmed": True})
        assert (done.value, done.executed_arguments_edited) == ("charged 125", True)

    assert shop.charged == [125]


@requirement("authorities.charge-card")
@pytest.mark.parametrize(
    ("field", "forged"),
    [
        ("call_id", "tool-call-2"),
        ("arguments", {"cents": 1, "confirmed": False}),
        ("tool_name", "refund-card"),
        ("metadata", {}),
        ("signature", "forged"),
        ("signature", None),
    ],
)
async def test_a_changed_descriptor_is_no_approval(field: str, forged: object) -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        pending = waiting(await supervisor.execute(CALL))

        assert await refusal(supervisor, pending.to_json() | {field: forged}) == "invalid-signature"

    assert shop.charged == []


@requirement("authorities.deny-later")
async def test_a_hook_that_denies_now_decides_though_a_person_agreed() -> None:
    answers = iter([None, Deny("Tool policy now denies")])
    asked: list[object] = []

    def second_thoughts(request: PolicyRequest) -> Deny | None:
        asked.append(request)
        return next(answers)

    @tool(effect=BANK, policy=second_thoughts)
    async def charge() -> str:
        """Charge."""
        return "charged"

    box = Toolbox([charge], policy=lambda request: Ask("may it?"))
    async with open_supervisor(box, keys=KEYS, default_request_context=ADA) as supervisor:
        pending = waiting(await supervisor.execute(ToolCall("charge")))
        result = await supervisor.resume_approval(pending)

    assert result.error is not None
    assert (result.error.code, result.error.message) == ("POLICY_DENIED", "Tool policy now denies")
    assert len(asked) == 2


@requirement("authorities.input")
async def test_what_a_person_fills_in_comes_as_other_arguments() -> None:
    def which(request: PolicyRequest) -> Ask | None:
        schema = {"type": "object", "properties": {"account": {"type": "string"}}}
        return None if request.arguments["account"] else Ask("which account?", kind="input", schema=schema)

    @tool(effect=BANK, policy=which)
    async def transfer(account: str = "") -> str:
        """Transfer."""
        return f"from {account}"

    async with open_supervisor(Toolbox([transfer]), keys=KEYS, default_request_context=ADA) as supervisor:
        paused = await supervisor.execute(ToolCall("transfer"))
        assert paused.action is not None
        assert paused.action.type == "input"
        assert paused.action.schema is not None
        result = await supervisor.resume_approval(waiting(paused), arguments={"account": "savings"})

    assert result.value == "from savings"


@requirement("authorities.result", "authorities.unwrap")
async def test_a_pause_has_an_action_and_a_descriptor_and_neither_value_nor_error() -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        paused = await supervisor.execute(CALL)

    assert (paused.value, paused.error, paused.attempts, paused.effect) == (None, None, 0, "none")
    assert paused.action is not None
    assert (paused.action.type, paused.action.message, paused.action.schema) == ("approval", "Approve charge", None)
    assert paused.executed_arguments_edited is False
    with pytest.raises(ToolExecutionError) as caught:
        paused.unwrap()
    assert caught.value.result is paused
    assert caught.value.result.pending_approval is not None


@requirement("authorities.result")
@pytest.mark.parametrize("edits", [True, False])
async def test_a_success_says_whether_other_arguments_ran_than_were_sent(edits: bool) -> None:
    shop = Shop()

    def person(request: ApprovalRequest) -> object:
        return {"cents": 125, "confirmed": True} if edits else True

    async with shop.opened(keys=None, approval_handler=person) as supervisor:
        result = await supervisor.execute(CALL)

    assert result.executed_arguments_edited is edits
    assert shop.charged == [125 if edits else 100]


@requirement("authorities.codes")
@pytest.mark.parametrize("page", ["approvals.md", "grants.md"])
def test_every_code_of_a_refusal_stands_on_the_pages(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    tables = {code for line in text.splitlines() if line.startswith("| `") for code in re.findall(r"`([a-z-]+)`", line)}
    of_approvals_only = {"in-flight", "mismatch"} if page == "grants.md" else set[str]()
    of_grants_only = {"invalid-scope"} if page == "approvals.md" else set[str]()

    assert set(get_args(AuthorityCode)) - of_approvals_only - of_grants_only - tables == set[str]()


@requirement("authorities.digest")
async def test_an_approval_carries_the_digest_of_the_action_and_counts_for_no_other() -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        pending = waiting(await supervisor.execute(CALL))
    assert pending.binding is not None

    same = bind_action(shop.tool.definition, {"confirmed": False, "cents": 100}, ADA)
    other = bind_action(shop.tool.definition, {"confirmed": False, "cents": 101}, ADA)

    assert pending.binding.scope.action_digest == same.sha256
    assert pending.binding.scope.action_digest != other.sha256


@requirement("authorities.digest")
async def test_an_approval_whose_action_has_another_digest_is_refused_though_it_is_signed() -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        pending = waiting(await supervisor.execute(CALL))
        swapped = msgspec.structs.replace(pending, arguments={"cents": 999, "confirmed": False}, signature=None)
        signed = await sign_pending(KEYS, swapped, domain="default")

        assert await refusal(supervisor, signed) == "mismatch"

    assert shop.charged == []


@requirement("authorities.window")
@pytest.mark.parametrize(("after", "code"), [(59.999, None), (60.0, "expired"), (60.001, "expired")])
async def test_an_approval_counts_until_just_before_it_expires(after: float, code: str | None) -> None:
    shop, now = Shop(), [1000.0]
    async with shop.opened(approvals=MemoryApprovals(lambda: now[0]), approval_lifetime=60) as supervisor:
        pending = waiting(await supervisor.execute(CALL))
        now[0] += after

        if code is None:
            assert (await supervisor.resume_approval(pending)).value == "charged 100"
        else:
            assert await refusal(supervisor, pending) == code


@requirement("authorities.delegation")
async def test_policies_see_the_chain_of_delegation_and_an_approval_counts_for_that_chain_alone() -> None:
    chains: list[object] = []

    def hook(request: PolicyRequest) -> Ask:
        assert request.request_context is not None
        chains.append(request.request_context.delegation)
        return Ask("may it?")

    @tool(effect=BANK, policy=hook)
    async def charge() -> str:
        """Charge."""
        return "charged"

    planner = ADA.delegate("agent:planner")
    async with open_supervisor(Toolbox([charge]), keys=KEYS) as supervisor:
        pending = waiting(await supervisor.execute(ToolCall("charge"), request_context=planner))
        codes = [
            await refusal(supervisor, pending, other)
            for other in (ADA, ADA.delegate("agent:writer"), planner.delegate("agent:writer"))
        ]
        result = await supervisor.resume_approval(pending, request_context=planner)

    assert codes == ["mismatch"] * 3
    assert result.value == "charged"
    assert set(chains) == {("agent:planner",)}


@requirement("authorities.purposes")
async def test_the_signature_of_an_approval_is_none_of_a_grant() -> None:
    shop = Shop()
    async with shop.opened() as supervisor:
        pending = waiting(await supervisor.execute(CALL))

    assert pending.signature is not None
    with pytest.raises(SignatureError):
        await verify(KEYS, "grant", pending.document(), pending.signature, domain="default")
    as_grant = await sign(KEYS, "grant", pending.document(), domain="default")
    with pytest.raises(ApprovalError):
        await verify_pending(KEYS, msgspec.structs.replace(pending, signature=as_grant.text), domain="default")
