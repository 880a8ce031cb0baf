"""Approvals, grants and claims for these tests."""

from __future__ import annotations

from armory_trio.authority.grants import Grant
from armory_trio.definitions import ApprovalBinding, ApprovalScope
from armory_trio.ledger import Claim, LedgerKey


def approval(nonce: str, now: float, *, lifetime: float = 300.0, tenant: str = "acme") -> ApprovalBinding:
    scope = ApprovalScope(
        principal="ann",
        tenant=tenant,
        audience="tenant",
        agent="agent-1",
        run="run-1",
        toolbox_revision="toolbox:1",
        tool_definition_revision="d" * 64,
        policy_revision="policy:1",
        approval_revision="approval:1",
        catalog_revision="catalog:1",
        action_digest="a" * 64,
    )
    return ApprovalBinding(scope, issued_at=now, expires_at=now + lifetime, nonce=nonce)


def grant(id: str, now: float, *, uses: int = 3, lifetime: float = 300.0, principal: str = "ann") -> Grant:
    return Grant(
        id=id,
        principal=principal,
        tenant="acme",
        agent="agent-1",
        tool_name="read_file",
        tool_definition_revision="0" * 64,
        scope="principal",
        issued_at=now,
        expires_at=now + lifetime,
        max_uses=uses,
        policy_revision="policy:1",
    )


def claim(key: str, attempt_id: str, *, tenant: str = "acme", host: str = "host-1", lease: float = 60.0) -> Claim:
    return Claim(
        key=LedgerKey(tenant, "default:charge@1", key),
        tool_name="charge",
        attempt_id=attempt_id,
        arguments='{"cents":5}',
        execution_id=f"execution-{attempt_id}",
        host=host,
        policy_revision="policy:1",
        lease=lease,
        cap=10 * lease,
    )
