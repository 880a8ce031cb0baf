"""A bank whose transfers need approval, for the tests of hosts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Final

import trio

from armory_trio import RequestContext, Supervisor, Toolbox, ToolCall, tool
from armory_trio.authority import ApprovalPolicy
from armory_trio.authority.approvals import ApprovalState, MemoryApprovals
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.definitions import ApprovalBinding

KEYS: Final = Keyring({"default": [SigningKey("key-1", b"\x01" * 32)]})
CONTEXT: Final = RequestContext(principal="ann", tenant="acme", audience="tenant", agent="agent-1", run="run-1")
TRANSFER: Final = ToolCall("transfer", {"to": "ada", "amount": 5})
METHODS: Final = (
    *("resume_approval", "restore_approval", "revoke_approval"),
    *("issue_grant", "list_grants", "revoke_grant"),
)


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
async def transfer(to: str, amount: int) -> str:
    """Send money."""
    await trio.lowlevel.checkpoint()
    return f"{amount} to {to}"


BANK: Final = Toolbox([transfer], approval_policy=ApprovalPolicy("on-mutation"))


def counting_bank(began: list[str]) -> Toolbox:
    """A bank that notes each transfer that begins."""

    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
    async def transfer(to: str, amount: int) -> str:
        """Send money."""
        began.append(to)
        await trio.lowlevel.checkpoint()
        return f"{amount} to {to}"

    return Toolbox([transfer], approval_policy=ApprovalPolicy("on-mutation"))


class StuckApprovals:
    """A store that does not answer any more, once it is said to."""

    def __init__(self, told: Callable[[], object]) -> None:
        store = MemoryApprovals()
        self.now, self.issue, self.reserve, self.commit = store.now, store.issue, store.reserve, store.commit
        self.release, self.consume, self.revoke = store.release, store.consume, store.revoke
        self.stuck = False
        self._state = store.state
        self._told = told

    async def state(self, binding: ApprovalBinding, /) -> ApprovalState | None:
        if self.stuck:
            self._told()
            await trio.sleep_forever()
        return await self._state(binding)


def options_of(method: Callable[..., object]) -> list[tuple[str, object, object]]:
    """The parameters of a method, with what may be given and what is taken when nothing is."""
    found = inspect.signature(method).parameters.values()
    return [(each.name, each.kind, each.default) for each in found if each.name != "self"]


def annotations_of(method: Callable[..., object]) -> dict[str, str]:
    return inspect.get_annotations(method)


def same_as_supervisor(host: type[object]) -> None:
    """Raise AssertionError unless *host* has the methods of a supervisor that deal with authority."""
    for name in METHODS:
        mine, theirs = getattr(host, name), getattr(Supervisor, name)
        assert options_of(mine) == options_of(theirs), name
        assert annotations_of(mine) == annotations_of(theirs), name
