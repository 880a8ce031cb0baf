"""Stores with attempts in them, as hosts leave them behind, and keys to decide with."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import trio
from msgspec.structs import replace

from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.ledger import (
    Answer,
    Attempt,
    Claim,
    CloseWindow,
    Complete,
    LedgerKey,
    LedgerStore,
    MarkUnknown,
    OpenWindow,
    Operation,
    Start,
)
from armory_trio.storage.sql import open_store

T = TypeVar("T")
Deed = Callable[[str, str], Operation]
"""What is done after the claim, given the text of the key and the id of the attempt."""

SECRET: Final = b"one secret of thirty-two bytes.."
KEYS: Final = Keyring({"default": [SigningKey("k1", SECRET)]})
HOUR: Final = 3600.0
NEVER_STARTED: Final[tuple[Deed, ...]] = ()
STARTED: Final[tuple[Deed, ...]] = (Start,)
INSIDE: Final[tuple[Deed, ...]] = (Start, OpenWindow)
WINDOWS: Final[tuple[Deed, ...]] = (*INSIDE, lambda key, fence: CloseWindow(key, fence, "completed"))
LOST: Final[tuple[Deed, ...]] = (Start, MarkUnknown)
PAID: Final[tuple[Deed, ...]] = (Start, lambda key, fence: Complete(key, fence, "completed", '"paid in secret"'))
CLAIM: Final = Claim(
    key=LedgerKey("acme", "default:pay@1", "order-1"),
    tool_name="pay",
    attempt_id="a1",
    arguments='{"card":"secret","cents":500}',
    execution_id="exe-a1",
    host="host-1",
    policy_revision="policy:1",
    lease=30,
    cap=60,
)


def claim(key: str, attempt_id: str, *, tenant: str = "acme", tool: str = "pay", version: int = 1) -> Claim:
    """A claim of *key*. What else is to be said of it, `replace` says."""
    return replace(
        CLAIM,
        key=LedgerKey(tenant, f"default:{tool}@{version}", key),
        tool_name=tool,
        attempt_id=attempt_id,
        execution_id=f"exe-{attempt_id}",
    )


LIVE: Final = replace(claim("order-live", "live"), lease=10_000.0, cap=20_000.0)


class Store:
    """A store that hosts used, some of them an hour ago, and that nobody has open now."""

    def __init__(self, where: str) -> None:
        self.where = where

    def create(self) -> Store:
        """Make its tables, a year ago: a store is never told an earlier time than it has seen."""
        return self.add(None, ago=365 * 24 * HOUR)

    def add(self, claim: Claim | None, deeds: tuple[Deed, ...] = NEVER_STARTED, *, ago: float = HOUR) -> Store:
        """Make an attempt, and let its holder go away. Later ones must not be longer ago."""
        instant = time.time() - ago

        async def attempt() -> None:
            async with open_store(self.where, clock=lambda: instant) as store:
                if claim is None:
                    return
                await store.ledger.apply(claim)
                for deed in deeds:
                    await store.ledger.apply(deed(claim.key.text, claim.attempt_id))

        trio.run(attempt)
        return self

    def do(self, *operations: Operation) -> list[Answer]:
        """Do *operations* now."""

        async def main(ledger: LedgerStore) -> list[Answer]:
            return [await ledger.apply(operation) for operation in operations]

        return self._use(main)

    def load(self, claim: Claim = CLAIM) -> Attempt | None:
        """The attempt that is there for the key of *claim*."""

        async def main(ledger: LedgerStore) -> Attempt | None:
            return await ledger.load(claim.key.text)

        return self._use(main)

    def _use(self, main: Callable[[LedgerStore], Awaitable[T]]) -> T:
        async def use() -> T:
            async with open_store(self.where) as store:
                return await main(store.ledger)

        return trio.run(use)


def key_file(directory: Path, name: str = "keys.json", domain: str = "default", secret: bytes = SECRET) -> str:
    """A file of keys, for its owner alone."""
    path = directory / name
    path.write_text(json.dumps({domain: [{"id": "k1", "secret": base64.b64encode(secret).decode()}]}))
    path.chmod(0o600)
    return str(path)
