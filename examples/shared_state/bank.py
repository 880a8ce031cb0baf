"""A bank and a post office that two processes use, and the tools for them. What they did stands in a file each."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import trio

from armory_trio import Ask, PolicyRequest, Toolbox, ToolContext, tool
from armory_trio.definitions import EffectMapping
from armory_trio.ledger import Reconciled, UnknownAttempt, field_key

AT_THE_BANK: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}
BY_MAIL: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "post"}]}


class Bank:
    """Pays each key once, and can be asked what it did.

    Args:
        folder: Where its statement stands.
        answers: Whether it answers. One that does not pays order 7 and never says so, and never hears of order 8.
    """

    def __init__(self, folder: Path, *, answers: bool) -> None:
        self._statement = folder / "statement.txt"
        self._answers = answers

    async def pay(self, key: str, order: int, cents: int) -> None:
        """Pay, unless that key was paid: so a request may come twice, or late."""
        if not self._answers and order == 8:
            say(f"order {order}: the bank is told, and does not hear it")
            await trio.sleep_forever()
        if self.find(key) is None:
            with self._statement.open("a") as file:
                file.write(f"{key} order {order}, {cents} cents\n")
        if not self._answers:
            say(f"order {order}: the bank is told, pays, and does not answer")
            await trio.sleep_forever()
        say(f"order {order}: the bank is told, and pays")
        await trio.lowlevel.checkpoint()

    def find(self, key: str) -> str | None:
        """What it did under a key."""
        return self.paid().get(key)

    def paid(self) -> dict[str, str]:
        """All that it did, by key."""
        text = self._statement.read_text() if self._statement.exists() else ""
        return dict(line.split(" ", 1) for line in text.splitlines())


def say(words: str) -> None:
    """A line that another process reads at once."""
    print(words, flush=True)


def big_sums(request: PolicyRequest) -> Ask | None:
    """The rule of the house: a person is asked about more than 100 euros."""
    cents = request.arguments.get("cents", 0)
    return Ask("more than 100 euros") if isinstance(cents, int) and cents > 10_000 else None


def make_toolbox(bank: Bank, *, mail_arrives: bool) -> Toolbox:
    """The tools of both hosts. A payment can be asked about afterwards, a letter can't."""

    async def ask_the_bank(attempt: UnknownAttempt) -> Reconciled:
        await trio.lowlevel.checkpoint()
        assert attempt.key is not None
        done = bank.find(attempt.key)
        if done is None:
            return Reconciled("retry", "it is not on the statement, and the bank would pay its key once")
        return Reconciled("completed", "it is on the statement", f"paid: {done}")

    @tool(effect=AT_THE_BANK, idempotency_key=field_key("order"), reconcile=ask_the_bank)
    async def pay(order: int, cents: int, ctx: ToolContext) -> str:
        """Pay an order, once."""
        assert ctx.idempotency_key is not None
        await bank.pay(ctx.idempotency_key, order, cents)
        return f"paid: order {order}, {cents} cents"

    @tool(effect=BY_MAIL, idempotency_key=field_key("order"))
    async def send_letter(order: int) -> str:
        """Send the customer of an order a letter."""
        say(f"order {order}: a letter is sent")
        if not mail_arrives:
            await trio.sleep_forever()
        return "sent"

    return Toolbox([pay, send_letter], policy=big_sums, policy_revision="2026-12")
