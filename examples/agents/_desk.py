"""The travel desk of these examples: its tools, its rules, and on whose behalf they are used."""

from __future__ import annotations

import secrets

import trio

from armory_trio import ApprovalPolicy, RequestContext, Toolbox, tool
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions import EffectMapping

AIRLINE: EffectMapping = {"class": "external-write", "targets": [{"kind": "service", "id": "airline"}]}
CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Delhi")

KEYS = Keyring({"default": [SigningKey("2026-09", secrets.token_bytes(32))]})
"""In earnest they come from a file: see armory_trio.authority.signing.load_keyring."""

BEHALF = RequestContext(principal="ada", tenant="acme", audience="tenant", agent="travel-desk", run="run-7")


class Desk:
    """The desk of one run.

    Attributes:
        most: How many searches ran at the same time, at most.
        booked: What was booked.
    """

    def __init__(self) -> None:
        self.most = 0
        self.booked: list[str] = []
        self._now = 0

    def toolbox(self) -> Toolbox:
        """What agents may use here. Whatever books something asks a person first."""

        @tool(effect="read-only", concurrency=2)
        async def search(city: str) -> dict[str, object]:
            """Search flights. The airline lets us search twice at a time."""
            self._now += 1
            self.most = max(self.most, self._now)
            await trio.sleep(0.001)
            self._now -= 1
            return {"flight": f"AT {CITIES.index(city) + 100}", "cents": 9_900}

        @tool(effect=AIRLINE)
        async def book(flight: str, seats: int = 1) -> str:
            """Book seats."""
            await trio.lowlevel.checkpoint()
            self.booked.append(f"{flight} x {seats}")
            return f"booked {seats} on {flight}"

        @tool(effect=AIRLINE)
        async def send_ticket(flight: str) -> str:
            """Send the ticket."""
            await trio.lowlevel.checkpoint()
            raise ConnectionError(f"the line went dead while the ticket for {flight} was sent")

        return Toolbox([search, book, send_ticket], approval_policy=ApprovalPolicy("on-mutation"))
