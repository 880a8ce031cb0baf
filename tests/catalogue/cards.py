"""A shop that charges cards, for tests of who may let it do so."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Final, Unpack

from armory_trio import (
    Ask,
    EffectDeclaration,
    EffectTarget,
    PolicyRequest,
    RequestContext,
    Supervisor,
    Tool,
    Toolbox,
    open_supervisor,
    tool,
)
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.engine import AuthorityOptions

KEYS: Final = Keyring({"default": [SigningKey("first", bytes(range(32)))]})

ADA: Final = RequestContext(
    principal="ada",
    tenant="acme",
    owner="shop",
    capabilities=frozenset({"charge", "read"}),
    audience="tenant",
    agent="clerk",
    run="run-1",
    session="session-1",
)

BANK: Final = EffectDeclaration("external-write", (EffectTarget("service", "bank"),))


def confirmed_only(request: PolicyRequest) -> Ask | None:
    """Asks about every charge that does not say that it was confirmed."""
    if request.arguments.get("confirmed"):
        return None
    return Ask("Operator approval required", message="Approve charge")


class Shop:
    """A tool that charges cards, and what it has charged."""

    def __init__(self) -> None:
        self.charged: list[int] = []

        @tool(name="charge-card", effect=BANK, metadata={"mutates": True})
        async def charge_card(cents: int, *, confirmed: bool = False) -> str:
            """Charge a card."""
            self.charged.append(cents)
            return f"charged {cents}"

        self.tool: Tool[..., object] = charge_card

    def opened(self, **options: Unpack[AuthorityOptions]) -> AbstractAsyncContextManager[Supervisor]:
        """A supervisor that asks about charges, and signs what it asks."""
        box = Toolbox([self.tool], policy=confirmed_only)
        given: AuthorityOptions = {"keys": KEYS, **options}
        return open_supervisor(box, default_request_context=ADA, **given)
