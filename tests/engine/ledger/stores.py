"""Ledgers and tools that the tests of the ledger share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal

import msgspec
import trio

from armory_trio import CallNext, MiddlewareCall, RequestContext, Tool, ToolContext, ToolResult, tool
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions import EffectMapping, Idempotency
from armory_trio.definitions._canonical import sha256_hex
from armory_trio.ledger import (
    Answer,
    Attempt,
    AttemptState,
    Decision,
    MemoryLedger,
    Operation,
    ResolutionReceipt,
    sign_receipt,
)

HER: Final = RequestContext(
    principal="ann", tenant="acme", audience="shop", agent="helper", run="run-1", authorization_revision="1"
)
BANK: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}
KEYS: Final = Keyring({"default": [SigningKey("k1", b"a secret")]})

Trouble = Literal["raises", "hangs", "does-and-raises", "does-and-hangs"]


class Clock:
    """A clock that only moves when it is told to, or with trio's."""

    def __init__(self, *, with_trio: bool = False) -> None:
        self.ahead = 1_000_000.0
        self._with_trio = with_trio

    def __call__(self) -> float:
        return self.ahead + (trio.current_time() if self._with_trio else 0.0)


class StoreDown(Exception):
    """What a store raises that can't be reached."""


class Troubled:
    """A `MemoryLedger` that waits or fails at chosen operations, and keeps a list of all of them.

    Args:
        clock: Its time.
        takes: Seconds that each operation takes before it is done.
    """

    def __init__(self, clock: Clock | None = None, *, takes: float = 0.0) -> None:
        self.inner = MemoryLedger(Clock() if clock is None else clock)
        self.takes = takes
        self.trouble: dict[type[Operation], Trouble] = {}
        self.operations: list[Operation] = []
        self.listing: Trouble | None = None

    @property
    def asked(self) -> list[str]:
        """What was asked for, by the names of the operations."""
        return [type(operation).__name__ for operation in self.operations]

    def now(self) -> float:
        return self.inner.now()

    async def apply(self, operation: Operation, /) -> Answer:
        self.operations.append(operation)
        if self.takes:
            await trio.sleep(self.takes)
        trouble = self.trouble.get(type(operation))
        if trouble == "raises":
            raise StoreDown("no route to the store")
        if trouble == "hangs":
            await trio.sleep_forever()
        answer = await self.inner.apply(operation)
        if trouble == "does-and-raises":
            raise StoreDown("the answer was lost")
        if trouble == "does-and-hangs":
            await trio.sleep_forever()
        return answer

    async def load(self, key_text: str, /) -> Attempt | None:
        return await self.inner.load(key_text)

    async def list(
        self,
        *,
        states: Collection[AttemptState] | None = None,
        tenant: str | None = None,
        tool_name: str | None = None,
        host: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Attempt]:
        if self.listing == "raises":
            raise StoreDown("no route to the store")
        if self.listing == "hangs":
            await trio.sleep_forever()
        return await self.inner.list(
            states=states, tenant=tenant, tool_name=tool_name, host=host, after=after, limit=limit
        )

    async def forget(self, *, ended_before: float) -> int:
        return await self.inner.forget(ended_before=ended_before)


async def the_attempt(store: Troubled | MemoryLedger) -> Attempt | None:
    """The one attempt that is kept; None if none is."""
    rows = await store.list()
    assert len(rows) <= 1
    return rows[0] if rows else None


def code_of(result: ToolResult[object]) -> str | None:
    """The code of the error of *result*, if it is one."""
    return None if result.error is None else result.error.code


def told_of(result: ToolResult[object]) -> str:
    """What the ledger says about the call."""
    return said_of(result).outcome


def said_of(result: ToolResult[object]) -> Idempotency:
    """All that the ledger says about the call."""
    assert result.idempotency is not None
    return result.idempotency


async def receipt_for(
    attempt: Attempt, decision: Decision, *, keys: Keyring = KEYS, result: str | None = None, nonce: str = "n1"
) -> ResolutionReceipt:
    """A signed receipt about *attempt*."""
    receipt = ResolutionReceipt(
        decision=decision,
        tenant=attempt.tenant,
        tool_id=attempt.tool_id,
        key=attempt.key,
        attempt_id=attempt.attempt_id,
        arguments_digest=sha256_hex(attempt.arguments),
        evidence="the bank was asked",
        authorized_by="bob",
        authorized_at=1_000_000.0,
        nonce=nonce,
        result=result,
    )
    return await sign_receipt(keys, receipt, domain="default")


async def passing(_call: MiddlewareCall, _context: ToolContext, call_next: CallNext) -> object:
    """A middleware that changes nothing."""
    return await call_next()


class Money(msgspec.Struct, frozen=True):
    """What a payment came to."""

    cents: int
    to: str


class Bank:
    """The world: what was paid, in the order in which it was."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.began = 0

    def tools(self) -> list[Tool[..., object]]:
        """Tools that change it."""
        bank = self

        @tool(effect=BANK)
        async def pay(cents: int = 100, seconds: float = 0.0, fails: str = "") -> Money:
            """Pay, after a while; or fail before, or afterwards."""
            bank.began += 1
            await trio.sleep(seconds)
            if fails == "before":
                raise ValueError("the line is dead")
            bank.paid.append(cents)
            if fails == "after":
                raise ValueError("the line went dead")
            return Money(cents, "ann")

        @tool(effect=BANK, effect_windows=True)
        async def wire(ctx: ToolContext, cents: int = 100, seconds: float = 0.0, fails: str = "") -> int:
            """Pay within an effect window."""
            bank.began += 1
            await trio.sleep(seconds)
            if fails == "before":
                raise ValueError("the line is dead")
            async with ctx.effect("pay"):
                if fails == "within":
                    raise ValueError("the line went dead")
                bank.paid.append(cents)
            await trio.sleep(seconds)
            if fails == "after":
                raise ValueError("the paper is out")
            return cents

        @tool(effect="read-only")
        async def balance(seconds: float = 0.0) -> int:
            """Tell what was paid."""
            bank.began += 1
            await trio.sleep(seconds)
            return sum(bank.paid)

        return [pay, wire, balance]
