"""A model that wants to send money, and the two ways in which a person has a say in it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from armory_trio import (
    ApprovalError,
    ApprovalRequest,
    Deny,
    RequestContext,
    Supervisor,
    ToolCall,
    ToolResult,
    open_supervisor,
)
from armory_trio.authority.approvals import ApprovalStore, MemoryApprovals
from armory_trio.authority.signing import Keyring, SigningKey

from .bank import Bank, bank_tools

WISHES: Final = (
    ToolCall("balance", {}, id="look"),
    ToolCall("transfer", {"to": "Ada", "amount": 20}, id="lunch"),
    ToolCall("transfer", {"to": "Ben", "amount": 300, "reference": "rent"}, id="rent"),
    ToolCall("transfer", {"to": "casino", "amount": 50}, id="fun"),
    ToolCall("transfer", {"to": "Cleo", "amount": 90_000}, id="house"),
)
"""What the model wants, here by a script."""

WHO: Final = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="agent-1", run="run-7")
"""On whose behalf it acts: an approval counts for exactly this."""


def told(result: ToolResult[object]) -> str:
    """How a call ended, in a line."""
    if result.outcome == "success":
        edited = " (other arguments than the model's)" if result.executed_arguments_edited else ""
        return f"{result.call_id}: {result.value}{edited}"
    if result.error is not None:
        return f"{result.call_id}: {result.error.code}, {result.error.message}"
    return f"{result.call_id}: waits for a person"


# ── At once ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def at_the_desk(request: ApprovalRequest) -> object:
    """The person who is asked while the call waits; a real one is asked by an async function."""
    match request.arguments:
        case {"to": "casino"}:
            return Deny("not with my money")
        case {"amount": int(amount)} if amount > 100:
            return {**request.arguments, "amount": 100}
        case _:
            return True


async def ask_at_once(bank: Bank) -> Sequence[str]:
    """The model's wishes, each put to the person before it runs; answers how they ended."""
    async with open_supervisor(bank_tools(bank), approval_handler=at_the_desk) as supervisor:
        return [told(await supervisor.execute(wish)) for wish in WISHES]


# ── Later ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Office:
    """What outlives a supervisor: the keys, the store of approvals, and the file of calls that wait.

    In earnest the keys come from a vault and the store is a database, so that all of it outlives the process as well.
    """

    def __init__(self, waiting: Path) -> None:
        self._keys = Keyring({"default": [SigningKey("2026-11", secrets.token_bytes(32))]})
        self._approvals: ApprovalStore = MemoryApprovals()
        self._waiting = waiting

    async def day(self, bank: Bank) -> Sequence[str]:
        """The model works, and nobody is there: what needs a person is kept."""
        async with open_supervisor(bank_tools(bank), keys=self._keys, approvals=self._approvals) as supervisor:
            results = [await supervisor.execute(wish, request_context=WHO) for wish in WISHES]
        kept = [each.pending_approval.to_json() for each in results if each.pending_approval is not None]
        self._waiting.write_text(json.dumps(kept, indent=2), encoding="utf-8")
        return [told(result) for result in results]

    async def evening(self, bank: Bank) -> Sequence[str]:
        """The person reads the file, and another supervisor goes on with what they agree to."""
        kept = json.loads(self._waiting.read_text(encoding="utf-8"))
        async with open_supervisor(bank_tools(bank), keys=self._keys, approvals=self._approvals) as supervisor:
            return [await self._decide(supervisor, pending) for pending in (*kept, kept[0])]

    async def _decide(self, supervisor: Supervisor, pending: Mapping[str, object]) -> str:
        arguments, call_id = pending["arguments"], pending.get("call_id", "a call without an id")
        assert isinstance(arguments, Mapping)
        if arguments["to"] == "casino":
            await supervisor.revoke_approval(pending)
            return f"{call_id}: revoked"
        try:
            return told(await supervisor.resume_approval(pending, request_context=WHO))
        except ApprovalError as error:
            return f"{call_id}: {error.code}"
