"""Every place at which code of the host's is called for a call, each with code that raises a secret there."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, TypedDict, cast

import attrs

from armory_trio import (
    ApprovalPolicy,
    CallNext,
    ElicitAnswer,
    ElicitRequest,
    Lifecycle,
    MiddlewareCall,
    PolicyRequest,
    Supervisor,
    Tool,
    Toolbox,
    ToolContext,
    ToolResult,
    tool,
)
from armory_trio.authority.approvals import MemoryApprovals
from armory_trio.authority.grants import MemoryGrants
from armory_trio.engine import AuthorityOptions, Happening, Observed
from armory_trio.journal import JournalStore
from armory_trio.ledger import MemoryLedger
from armory_trio.observability.logs import log_executions
from armory_trio.storage.memory import MemoryJournal
from tests.engine.authority.bank import KEYS

from .failing import BANK, SECRET, raise_chained

Raise = Callable[..., None]


def chained(*_: object, **__: object) -> None:
    """Raise an error with causes and notes."""
    raise_chained(SECRET)


def grouped(*_: object, **__: object) -> None:
    """Raise a group of such errors."""
    try:
        raise_chained(SECRET)
    except ValueError as exc:
        raise BaseExceptionGroup(SECRET, [exc, ExceptionGroup(SECRET, [LookupError(SECRET)])]) from exc


async def later(fail: Raise, *_: object, **__: object) -> None:
    """The same in a coroutine."""
    fail()


class Breaks:
    """A store some of whose operations fail."""

    def __init__(self, inner: object, fail: Raise, *names: str) -> None:
        self._inner = inner
        self._fail = fail
        self._names = names

    def __getattr__(self, name: str) -> object:
        found = cast("object", getattr(self._inner, name))
        if name not in self._names:
            return found
        return partial(later, self._fail) if inspect.iscoroutinefunction(found) else self._fail


class Auditor:
    """Is told how a call ended."""

    def __init__(self, fail: Raise) -> None:
        self.after_execute: Callable[[PolicyRequest, ToolResult[object]], object] = fail


class Probe:
    """Is told what happens."""

    def __init__(self, fail: Raise) -> None:
        self._fail = fail

    def happened(self, event: Happening, execution: Observed | None) -> None:
        """Fail."""
        self._fail()

    def entered(self, execution: Observed) -> None:
        """Fail."""
        self._fail()

    def closed(self) -> None:
        """Fail."""
        self._fail()


class Sink:
    """A logger that fails."""

    def __init__(self, fail: Raise) -> None:
        self.debug = self.info = self.warning = cast("Callable[..., object]", fail)


async def pay(secret: str) -> str:
    """Pay."""
    return secret


async def lost(secret: str) -> str:
    """Pay, and not know whether that worked."""
    raise ConnectionError(secret)


async def asking(secret: str, ctx: ToolContext) -> str:
    """Ask a person."""
    await ctx.elicit("Which account?")
    return secret


def nothing(_: object) -> object:
    """No objection."""
    return None


class Declared(TypedDict, total=False):
    """How a tool is declared."""

    availability: Callable[[Mapping[str, object]], object]
    lifecycle: Lifecycle
    policy: Callable[[PolicyRequest], object]
    requires_approval: bool
    idempotency_key: Callable[..., str | None]
    reads: Callable[..., list[str]]
    reconcile: Callable[..., object]


@attrs.frozen
class Place:
    """One such place.

    Args:
        name: What it is.
        tool: The options of the tool.
        toolbox: Those of the toolbox.
        authority: Those of the supervisor.
        journal: Its journal.
        body: The tool itself.
        attach: What is done with the supervisor before the call.
        calls: How often it is called, under one key.
        elicit: Who is asked by the tool.
    """

    name: str
    tool: Mapping[str, object] = attrs.field(factory=dict[str, object])
    toolbox: Mapping[str, object] = attrs.field(factory=dict[str, object])
    authority: AuthorityOptions = attrs.field(factory=AuthorityOptions)
    journal: object = None
    body: Callable[..., Awaitable[str]] = pay
    attach: Callable[[Supervisor], object] = nothing
    calls: int = 1
    elicit: Callable[[ElicitRequest], Awaitable[ElicitAnswer]] | None = None

    def made(self) -> Toolbox:
        """The toolbox."""
        declare = cast("Callable[..., Callable[[object], Tool[..., object]]]", tool)
        build = cast("Callable[..., Toolbox]", Toolbox)
        return build([declare(name="pay", effect=BANK, **self.tool)(self.body)], **self.toolbox)


async def yes(_: object) -> bool:
    """Agree."""
    return True


class Through:
    """Middleware that fails."""

    def __init__(self, fail: Raise) -> None:
        self._fail = fail

    def bind(self, _: Tool[..., object]) -> object:
        """Stand round every tool."""

        async def run(call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
            self._fail()
            return await call_next()

        return run


def places(fail: Raise) -> list[Place]:
    """All of them, each of which calls *fail*."""
    soon = partial(later, fail)
    mutating = {"approval_policy": ApprovalPolicy("on-mutation")}
    ledger = cast("MemoryLedger", Breaks(MemoryLedger(), fail, "apply"))
    reserving = cast("MemoryApprovals", Breaks(MemoryApprovals(), fail, "issue"))
    grants = cast("MemoryGrants", Breaks(MemoryGrants(), fail, "list"))
    keys = cast("Raise", Breaks(KEYS, fail, "signing_key"))
    return [
        Place("availability", {"availability": fail}),
        Place("awaited-availability", {"availability": soon}),
        Place("deprecation", {"lifecycle": Lifecycle(deprecated="another")}, {"on_deprecated": fail}),
        Place("policy", {"policy": fail}),
        Place("awaited-policy", {"policy": soon}),
        Place("policy-of-the-toolbox", {}, {"policy": fail}),
        Place("policy-context", {}, {"policy": nothing, "policy_context": fail}),
        Place("auditor", {"policy": Auditor(fail)}),
        Place("awaited-auditor", {"policy": Auditor(cast("Raise", soon))}),
        Place("approval-handler", {"requires_approval": True}, authority={"approval_handler": soon}),
        Place("approvals", {"requires_approval": True}, authority={"keys": KEYS, "approvals": reserving}),
        Place("keys", {"requires_approval": True}, authority={"keys": cast("object", keys)}),  # type: ignore[typeddict-item]
        Place("grants", {}, mutating, {"keys": KEYS, "grants": grants, "approval_handler": yes}),
        Place("key-of-the-tool", {"idempotency_key": fail}),
        Place("reads", {"reads": fail}),
        Place("ledger", authority={"ledger": ledger}),
        Place("reconcile", {"reconcile": fail}, body=lost, calls=2),
        Place("awaited-reconcile", {"reconcile": soon}, body=lost, calls=2),
        Place("journal", journal=cast("JournalStore", Breaks(MemoryJournal(), fail, "append"))),
        Place("time-of-the-journal", journal=cast("JournalStore", Breaks(MemoryJournal(), fail, "now"))),
        Place("middleware", {}, {"middleware": [Through(fail)]}),
        Place("elicit", body=asking, elicit=cast("Callable[[ElicitRequest], Awaitable[ElicitAnswer]]", soon)),
        Place("probe", attach=lambda supervisor: supervisor.executions.attach(Probe(fail))),
        Place("sink", attach=partial(_log_to, fail)),
    ]


def _log_to(fail: Raise, supervisor: Supervisor) -> object:
    return log_executions(supervisor, Sink(fail))


NAMES: Final = [place.name for place in places(chained)]
