"""A bank whose tools only pay when somebody agreed, and that writes down what was really paid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal, Unpack

import attrs
import trio

from armory_trio import (
    ApprovalPolicy,
    EffectDeclaration,
    EffectTarget,
    Limits,
    PendingApproval,
    PolicyRequest,
    RequestContext,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    open_supervisor,
    tool,
)
from armory_trio.authority.approvals import ApprovalState, ApprovalStore, MemoryApprovals
from armory_trio.authority.grants import Grant, GrantState, GrantStore, MemoryGrants, Reservation
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions import ApprovalBinding, ApprovalScope
from armory_trio.engine import AuthorityOptions

AnyTool = Tool[..., object]

SECRET: Final = bytes(range(7, 39))
KEYS: Final = Keyring({"default": [SigningKey("first", SECRET)]})

ANN: Final = RequestContext(
    principal="ann",
    tenant="acme",
    owner="household",
    capabilities=frozenset({"pay", "read"}),
    authorization_revision="auth:1",
    audience="tenant",
    agent="helper",
    run="run-1",
    session="session-1",
)

PAYS: Final = EffectDeclaration("external-write", (EffectTarget("service", "bank"),))

PAY: Final = ToolCall("pay", {"to": "bob", "amount": 5}, id="pay-1")


class Clock:
    """A clock that goes when it is told to, in seconds since 1970."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Book:
    """What bodies did, in order: the name of the tool and what it was given."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Mapping[str, object]]] = []

    def write(self, name: str, **arguments: object) -> None:
        """A body ran."""
        self.entries.append((name, arguments))

    def names(self) -> list[str]:
        """The names alone."""
        return [name for name, _ in self.entries]


def pay_tool(book: Book, name: str = "pay", *, requires_approval: bool = True, seconds: float = 0.0) -> AnyTool:
    """A tool that pays, and is asked about unless it is said otherwise."""

    @tool(name=name, requires_approval=requires_approval, effect=PAYS)
    async def pay(to: str, amount: int = 1) -> str:
        """Pay somebody."""
        book.write(name, to=to, amount=amount)
        await trio.sleep(seconds)
        return f"{amount} to {to}"

    return pay


def look_tool(book: Book, name: str = "look") -> AnyTool:
    """A tool that nobody is asked about."""

    @tool(name=name, effect="read-only")
    async def look(to: str = "bob", amount: int = 1) -> dict[str, object]:
        """See what there is to pay."""
        book.write(name, to=to, amount=amount)
        await trio.lowlevel.checkpoint()
        return {"to": to, "amount": amount}

    return look


def relay_tool(book: Book, name: str = "relay", called: str = "pay", *, hands_on: bool = True) -> AnyTool:
    """A tool that calls another one without giving it a place."""

    @tool(name=name, effect="read-only")
    async def relay(ctx: ToolContext, to: str = "bob", amount: int = 5) -> object:
        """Let another tool pay."""
        book.write(name)
        result = await ctx.call(called, {"to": to, "amount": amount})
        if not hands_on and result.outcome == "action_required":
            return "it will be paid some day"
        return result.unwrap()

    return relay


def bank(book: Book, *more: AnyTool) -> Toolbox:
    """The tools of the bank, and what else there is to be in it."""
    return Toolbox([pay_tool(book), look_tool(book), *more])


def says(decision: object) -> Callable[[PolicyRequest], object]:
    """A policy that always decides the same."""

    def hook(_: PolicyRequest) -> object:
        return decision

    return hook


def granting(book: Book, *more: AnyTool) -> Toolbox:
    """A toolbox whose approval policy asks, so that a grant can answer."""
    paying = pay_tool(book, requires_approval=False)
    return Toolbox([paying, *more], approval_policy=ApprovalPolicy("on-mutation"))


@attrs.define
class Vault:
    """What outlives a supervisor: its keys and stores, by one clock."""

    clock: Clock = attrs.field(factory=Clock)
    keys: Keyring = KEYS
    approvals: ApprovalStore = attrs.field(
        default=attrs.Factory(lambda self: MemoryApprovals(clock=self.clock), takes_self=True)
    )
    grants: GrantStore = attrs.field(
        default=attrs.Factory(lambda self: MemoryGrants(clock=self.clock), takes_self=True)
    )

    def open(
        self,
        toolbox: Toolbox,
        *,
        who: RequestContext | None = ANN,
        limits: Limits | None = None,
        **options: Unpack[AuthorityOptions],
    ) -> AbstractAsyncContextManager[Supervisor]:
        """A supervisor with these keys and stores."""
        options.setdefault("keys", self.keys)
        options.setdefault("approvals", self.approvals)
        options.setdefault("grants", self.grants)
        return open_supervisor(toolbox, default_request_context=who, limits=limits or Limits(), **options)

    async def state(self, pending: PendingApproval) -> ApprovalState | None:
        """Where an approval stands."""
        assert pending.binding is not None
        return await self.approvals.state(pending.binding)


def pending_of(result: ToolResult[object]) -> PendingApproval:
    """The descriptor in a result that waits for somebody."""
    assert result.outcome == "action_required", result
    assert result.pending_approval is not None
    return result.pending_approval


def code_of(result: ToolResult[object]) -> str:
    """The code of an error."""
    assert result.error is not None, result
    return result.error.code


Trouble = Literal["raises", "raises-after", "hangs", "hangs-after", "slow"]
"""What goes wrong with an operation: before it was done, or after."""

SLOW: Final = 2.0
LONG: Final = 50_000.0
"""Seconds that nobody waits for."""


class StoreDown(Exception):
    """The storage is gone."""


class _Troubled:
    def __init__(self) -> None:
        self.trouble: dict[str, Trouble] = {}
        self.done: list[str] = []

    async def _before(self, operation: str) -> None:
        match self.trouble.get(operation):
            case "raises":
                raise StoreDown(operation)
            case "hangs":
                await trio.sleep_forever()
            case "slow":
                await trio.sleep(SLOW)
            case _:
                await trio.lowlevel.checkpoint()

    async def _after(self, operation: str) -> None:
        self.done.append(operation)
        match self.trouble.get(operation):
            case "raises-after":
                raise StoreDown(operation)
            case "hangs-after":
                await trio.sleep_forever()
            case _:
                return


class TroubledApprovals(_Troubled):
    """Approvals in memory, with operations that go wrong."""

    def __init__(self, inner: ApprovalStore) -> None:
        super().__init__()
        self.inner = inner

    def now(self) -> float:
        return self.inner.now()

    async def issue(self, binding: ApprovalBinding, /) -> None:
        await self._before("issue")
        await self.inner.issue(binding)
        await self._after("issue")

    async def reserve(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        await self._before("reserve")
        await self.inner.reserve(binding, scope)
        await self._after("reserve")

    async def commit(self, binding: ApprovalBinding, /) -> None:
        await self._before("commit")
        await self.inner.commit(binding)
        await self._after("commit")

    async def release(self, binding: ApprovalBinding, /) -> None:
        await self._before("release")
        await self.inner.release(binding)
        await self._after("release")

    async def consume(self, binding: ApprovalBinding, scope: ApprovalScope, /) -> None:
        await self._before("consume")
        await self.inner.consume(binding, scope)
        await self._after("consume")

    async def revoke(self, binding: ApprovalBinding, /) -> None:
        await self._before("revoke")
        await self.inner.revoke(binding)
        await self._after("revoke")

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        await self._before("state")
        found = await self.inner.state(binding)
        await self._after("state")
        return found


class TroubledGrants(_Troubled):
    """Grants in memory, with operations that go wrong."""

    def __init__(self, inner: GrantStore) -> None:
        super().__init__()
        self.inner = inner

    def now(self) -> float:
        return self.inner.now()

    async def issue(self, grant: Grant) -> None:
        await self._before("issue")
        await self.inner.issue(grant)
        await self._after("issue")

    async def get(self, id: str, /) -> Grant | None:
        await self._before("get")
        return await self.inner.get(id)

    async def list(
        self,
        *,
        principal: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
    ) -> Sequence[GrantState]:
        await self._before("list")
        found = await self.inner.list(principal=principal, tenant=tenant, agent=agent, tool_name=tool_name)
        await self._after("list")
        return found

    async def reserve(self, id: str, /) -> Reservation:
        await self._before("reserve")
        found = await self.inner.reserve(id)
        await self._after("reserve")
        return found

    async def commit(self, reservation: Reservation, /) -> None:
        await self._before("commit")
        await self.inner.commit(reservation)
        await self._after("commit")

    async def release(self, reservation: Reservation, /) -> None:
        await self._before("release")
        await self.inner.release(reservation)
        await self._after("release")

    async def spend(self, id: str, /) -> int:
        await self._before("spend")
        return await self.inner.spend(id)

    async def revoke(self, id: str, /) -> None:
        await self._before("revoke")
        await self.inner.revoke(id)
        await self._after("revoke")
