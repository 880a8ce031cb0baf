"""One host: ``python -m examples.shared_state.host first FOLDER`` begins the work, ``second`` finds out and finishes it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import trio

from armory_trio import ApprovalError, RequestContext, Supervisor, ToolCall, ToolResult, open_supervisor
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.ledger import Done, decide, receipt_for, sign_receipt
from armory_trio.storage.sql import SqlStore, open_store

from .bank import Bank, make_toolbox, say

WHO: Final = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="clerk", run="run-1")
LEASE: Final = 2.0
"""Seconds for which the work of a host is its own without a sign of life; a service says 30."""

PAY_7: Final = ToolCall("pay", {"order": 7, "cents": 5_000})
PAY_8: Final = ToolCall("pay", {"order": 8, "cents": 6_000})
PAY_9: Final = ToolCall("pay", {"order": 9, "cents": 25_000})
LETTER: Final = ToolCall("send_letter", {"order": 7})


def told(result: ToolResult[object]) -> str:
    """How a call ended: its value or why not, and what the ledger says."""
    known = f" ({result.idempotency.outcome})" if result.idempotency is not None else ""
    if result.error is not None:
        return f"{result.error.code}{known}"
    return f"{result.value if result.action is None else result.action.message}{known}"


class Host:
    """What both hosts share: the store, the keys that sign, and the folder of calls that wait for a person."""

    def __init__(self, folder: Path, bank: Bank, *, mail_arrives: bool) -> None:
        self._waiting = folder / "waiting.json"
        self._store = folder / "host.db"
        self._keys = Keyring({"default": [SigningKey("2026-12", os.environ["HOST_SECRET"])]})
        self._toolbox = make_toolbox(bank, mail_arrives=mail_arrives)

    def store(self) -> AbstractAsyncContextManager[SqlStore]:
        """The store, which is opened first and closed last."""
        return open_store(str(self._store))

    def supervisor(self, store: SqlStore) -> AbstractAsyncContextManager[Supervisor]:
        """A supervisor that keeps what it does in the *store*."""
        return open_supervisor(
            self._toolbox,
            keys=self._keys,
            ledger=store.ledger,
            approvals=store.approvals,
            ledger_lease=LEASE,
            default_request_context=WHO,
        )

    async def first(self) -> None:
        """Begin three things that will not end, and ask about a fourth."""
        async with self.store() as store, self.supervisor(store) as supervisor:
            paused = await supervisor.execute(PAY_9)
            assert paused.pending_approval is not None
            self._waiting.write_text(json.dumps(paused.pending_approval.to_json()), encoding="utf-8")
            say(f"order 9: {told(paused)}")
            for call in (PAY_7, PAY_8, LETTER):
                supervisor.start(call)
            await trio.sleep_forever()  # the end comes from outside

    async def second(self) -> None:
        """Find out what the first one left, and finish it. Nothing is guessed, and nothing is done twice."""
        async with self.store() as store, self.supervisor(store) as supervisor:
            await trio.sleep(LEASE * 1.5)  # until then it might still be at it
            left = await supervisor.recover(reconcile=True, release=True)
            for words in left.words():
                say(words)
            say(f"order 7: {told(await supervisor.execute(PAY_7))}")
            say(f"order 8: {told(await supervisor.execute(PAY_8))}")
            say(f"letter: {told(await supervisor.execute(LETTER))}")
            await self._look_up_the_letter(store)
            say(f"letter: {told(await supervisor.execute(LETTER))}")
            await self._agree(supervisor)
            await self._agree(supervisor)

    async def _look_up_the_letter(self, store: SqlStore) -> None:
        """What an operator does with what nobody knows: look, decide, sign. There is a command for it, too."""
        [attempt] = [
            each for each in await store.ledger.list(states=["unknown", "started"]) if each.tool_name == "send_letter"
        ]
        receipt = receipt_for(
            attempt,
            "completed",
            result='"sent, says the post office"',
            evidence="the post office has its receipt",
            authorized_by="bob",
            authorized_at=store.now(),
        )
        signed = await sign_receipt(self._keys, receipt, domain="default")
        answer = await decide(store.ledger, self._keys, signed, domain="default")
        say(f"letter: bob decides, and the ledger says {answer.attempt.state if isinstance(answer, Done) else answer}")

    async def _agree(self, supervisor: Supervisor) -> None:
        """Ann said yes to what the first host asked her."""
        pending = json.loads(self._waiting.read_text(encoding="utf-8"))
        try:
            say(f"order 9: {told(await supervisor.resume_approval(pending, request_context=WHO))}")
        except ApprovalError as error:
            say(f"order 9, once more: {error.code}")


def main() -> None:
    """Be one of the two."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    if name == "first":
        trio.run(Host(folder, Bank(folder, answers=False), mail_arrives=False).first)
    else:
        trio.run(Host(folder, Bank(folder, answers=True), mail_arrives=True).second)


if __name__ == "__main__":
    main()
