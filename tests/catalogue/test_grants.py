"""The published example of a grant, and what it must not do."""

from __future__ import annotations

import msgspec
import pytest

from armory_trio import (
    ApprovalPolicy,
    Ask,
    Deny,
    GrantError,
    Supervisor,
    Toolbox,
    ToolCall,
    open_supervisor,
    tool,
)
from armory_trio.authority.grants import Grant, MemoryGrants, sign_grant, verify_grant
from tests.catalogue.cards import ADA, KEYS
from tests.requirements import requirement


@tool(name="read-file", effect="read-only")
async def read_file(resource: str) -> str:
    """Read a file."""
    return f"read {resource}"


async def _grant(supervisor: Supervisor, **terms: object) -> Grant:
    given: dict[str, object] = {
        "principal": "ada",
        "tenant": "acme",
        "owner": "shop",
        "agent": "clerk",
        "scope": "session",
        "session": "session-1",
        "resource_pattern": "reports/*",
        "lifetime": 3600,
        "max_uses": 5,
    }
    return await supervisor.issue_grant("read-file", **{**given, **terms})  # type: ignore[arg-type]  # as above


async def _read(supervisor: Supervisor, resource: str, **differs: str) -> str:
    context = msgspec.structs.replace(ADA, **differs)
    result = await supervisor.execute(ToolCall("read-file", {"resource": resource}), request_context=context)
    return result.error.code if result.error else result.outcome


@requirement("authorities.grant-vector")
async def test_the_published_grant_counts_for_its_session_and_its_resources() -> None:
    box = Toolbox([read_file], approval_policy=ApprovalPolicy("always"))
    async with open_supervisor(box, keys=KEYS) as supervisor:
        grant = await _grant(supervisor)

        assert await _read(supervisor, "reports/q1") == "success"
        assert await _read(supervisor, "reports/q1", run="run-2") == "success"
        assert await _read(supervisor, "reports/q1", session="session-2") == "action_required"
        assert await _read(supervisor, "plans/q1") == "action_required"
        [state] = await supervisor.list_grants(principal="ada")
        assert state.uses_remaining == 3
        await supervisor.revoke_grant(grant.id)
        await supervisor.revoke_grant(grant.id)
        assert await _read(supervisor, "reports/q1") == "action_required"
        with pytest.raises(GrantError, match="invalid-scope"):
            await _grant(supervisor, session=None)


@requirement("authorities.grant-vector")
async def test_a_use_is_no_part_of_the_signature_and_the_number_of_uses_is() -> None:
    grants = MemoryGrants()
    box = Toolbox([read_file], approval_policy=ApprovalPolicy("always"))
    async with open_supervisor(box, keys=KEYS, grants=grants) as supervisor:
        grant = await _grant(supervisor)
        assert await grants.spend(grant.id) == 4
        kept = await grants.get(grant.id)

    assert kept is not None
    await verify_grant(KEYS, kept, domain="default")
    with pytest.raises(GrantError, match="invalid-signature"):
        await verify_grant(KEYS, msgspec.structs.replace(kept, max_uses=6), domain="default")


@requirement("authorities.grant-vector")
@pytest.mark.parametrize("why", ["expired", "used up", "another policy", "another key"])
async def test_a_grant_that_does_not_count_is_as_if_there_were_none(why: str) -> None:
    now = [1000.0]
    grants = MemoryGrants(lambda: now[0])
    box = Toolbox([read_file], approval_policy=ApprovalPolicy("always"))
    changed = Toolbox([read_file], approval_policy=ApprovalPolicy("always"), policy_revision="policy:2")
    async with open_supervisor(box, keys=KEYS, grants=grants) as supervisor:
        grant = await _grant(supervisor, max_uses=1)
        if why == "expired":
            now[0] += 3600
        if why == "used up":
            assert await _read(supervisor, "reports/q1") == "success"
    if why == "another key":
        await grants.revoke(grant.id)
        forged = msgspec.structs.replace(await sign_grant(KEYS, grant, domain="default"), id="grant:other", max_uses=9)
        await grants.issue(forged)

    async with open_supervisor(changed if why == "another policy" else box, keys=KEYS, grants=grants) as supervisor:
        assert await _read(supervisor, "reports/q1") == "action_required"


@requirement("authorities.grant-vector")
@pytest.mark.parametrize(
    ("mode", "hook", "end"),
    [
        ("deny", None, "POLICY_DENIED"),
        ("always", Deny("no"), "POLICY_DENIED"),
        ("always", Ask("may it?"), "action_required"),
        ("always", None, "success"),
    ],
)
async def test_a_grant_skips_no_hook_and_overrides_no_denial(mode: str, hook: object, end: str) -> None:
    policy = ApprovalPolicy(mode)  # type: ignore[arg-type]  # one of the table above
    box = Toolbox([read_file], approval_policy=policy, policy=lambda request: hook)
    async with open_supervisor(box, keys=KEYS) as supervisor:
        await _grant(supervisor)

        assert await _read(supervisor, "reports/q1") == end
