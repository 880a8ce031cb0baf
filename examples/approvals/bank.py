"""A bank with one account, and the tools that a model may use there."""

from __future__ import annotations

import trio

from armory_trio import ApprovalPolicy, Deny, PolicyRequest, Toolbox, tool


class Bank:
    """What is left of the account, and what was sent."""

    def __init__(self, balance: int) -> None:
        self.balance = balance
        self.sent: list[tuple[str, int]] = []


def within_means(request: PolicyRequest) -> Deny | None:
    """The policy of the house: nobody is asked about what can't be done anyway."""
    bank = request.context["bank"]
    assert isinstance(bank, Bank)
    wanted = request.arguments.get("amount", 0)
    assert isinstance(wanted, int)
    return Deny(f"only {bank.balance} EUR are left") if wanted > bank.balance else None


def bank_tools(bank: Bank) -> Toolbox:
    """Looking is free; whatever sends money is asked about."""

    @tool(effect="read-only")
    async def balance() -> int:
        """How many EUR are left."""
        return bank.balance

    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
    async def transfer(to: str, amount: int, reference: str = "") -> str:
        """Send EUR to somebody."""
        await trio.sleep(0.01)  # the bank
        bank.balance -= amount
        bank.sent.append((to, amount))
        return f"sent {amount} EUR to {to}{f' ({reference})' if reference else ''}"

    return Toolbox(
        [balance, transfer],
        approval_policy=ApprovalPolicy("on-mutation"),
        policy=within_means,
        policy_context={"bank": bank},
    )
