"""Approvals in any order: asked, answered, changed, revoked, resumed, restarted, expired and stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar, cast

import attrs
import msgspec
import trio
import trio.testing
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, precondition, rule

from armory_trio import (
    ApprovalError,
    Ask,
    Deny,
    Limits,
    PendingApproval,
    PolicyRequest,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolResult,
    tool,
)
from armory_trio.composition import pipe
from tests.requirements import requirement

from .bank import PAYS, AnyTool, TroubledApprovals, Vault

T = TypeVar("T")


NOTHING: Final = cast("object", multiple())


@attrs.define(eq=False)
class Shown:
    """A descriptor that somebody holds, and what became of it, as far as the person knows.

    Args:
        pending: The descriptor.
        call: What the call is known by: the amount that it pays, which no other call does.
        expires: When it does, by the clock.
        denied: Whether the person took it back.
        used: Whether a body began with it, or the next question was put.
    """

    pending: PendingApproval
    call: int
    expires: float
    denied: bool = False
    used: bool = False


class ApprovalMachine(RuleBasedStateMachine):
    """A person, a host that restarts, and calls that must be paid once at most."""

    shown = Bundle("shown")

    def __init__(self) -> None:
        super().__init__()
        self.vault = Vault()
        self.paid: list[tuple[int, Mapping[str, object]]] = []
        self.everything: list[Shown] = []
        self.allowed: dict[int, list[Mapping[str, object]]] = {}
        self.calls = 0
        self.denies = False
        self.asks_twice = False
        self.resuming: Shown | None = None

    # what runs

    def toolbox(self) -> Toolbox:
        """Tools of their own for each supervisor, as after a restart."""

        def hook(request: PolicyRequest) -> object:
            if self.denies:
                return Deny("closed")
            if request.tool_name in ("pay", "step") and self.asks_twice:
                return Ask("Really?")
            return None

        def paying(name: str) -> AnyTool:
            @tool(name=name, requires_approval=True, effect=PAYS)
            async def pay(call: int, amount: int) -> int:
                """Pay."""
                self.paid.append((call, {"call": call, "amount": amount}))
                await trio.lowlevel.checkpoint()
                return amount

            return pay

        @tool(effect="read-only")
        async def look(call: int, amount: int) -> dict[str, int]:
            """Look."""
            await trio.lowlevel.checkpoint()
            return {"call": call, "amount": amount}

        return Toolbox([paying("pay"), pipe(look, paying("step"), name="whole")], policy=hook)

    def run(self, work: Callable[[Supervisor], Awaitable[T]]) -> T:
        """Let a new supervisor with the same keys and stores do *work*: each step is a restart."""

        async def main() -> T:
            async with self.vault.open(self.toolbox(), limits=Limits(concurrent=2)) as supervisor:
                return await work(supervisor)

        return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

    def keep(self, call: int, result: ToolResult[object]) -> list[Shown]:
        """Note what a person is shown."""
        pending = result.pending_approval
        if pending is None:
            return []
        assert pending.binding is not None
        assert all(other.pending.id != pending.id for other in self.everything)
        kept = Shown(pending, call, pending.binding.expires_at)
        self.everything.append(kept)
        return [kept]

    # the rules

    @rule(target=shown, amount=st.integers(1, 5), name=st.sampled_from(["pay", "whole"]))
    def ask(self, amount: int, name: str) -> object:
        """A model makes a call."""
        self.calls += 1
        call = self.calls
        asked = ToolCall(name, {"call": call, "amount": amount}, id=f"call-{call}")
        return multiple(*self.keep(call, self.run(lambda supervisor: supervisor.execute(asked))))

    @rule(target=shown, held=shown, times=st.integers(1, 4))
    def approve(self, held: Shown, times: int) -> object:
        """The person says yes, perhaps several times at once."""
        results: list[ToolResult[object]] = []
        refused: list[str] = []

        async def one(supervisor: Supervisor) -> None:
            try:
                results.append(await supervisor.resume_approval(held.pending.to_json()))
            except ApprovalError as exc:
                refused.append(exc.code)

        async def work(supervisor: Supervisor) -> None:
            async with trio.open_nursery() as nursery:
                for _ in range(times):
                    nursery.start_soon(one, supervisor)

        before = len(self.paid)
        counts = self.counts(held)
        self.run(work)
        began = self.paid[before:]
        assert len(began) <= 1
        if began:
            assert counts
            assert began == [(held.call, dict(held.pending.arguments))]
            held.used = True
        asked = [kept for result in results for kept in self.keep(held.call, result)]
        assert len(asked) <= 1 or self.denies
        if asked:
            assert counts
            held.used = True
        if counts and not self.denies:
            assert began or asked, (results, refused)
        if not counts:
            assert not results
            assert len(refused) == times
        return multiple(*asked)

    @rule(target=shown, held=shown, amount=st.integers(6, 9))
    def edit(self, held: Shown, amount: int) -> object:
        """The person writes other arguments: the tool always asks, so they are shown once more."""
        arguments = {"call": held.call, "amount": amount}
        if dict(held.pending.arguments) == arguments:  # written again as they were, they are approved
            return NOTHING

        async def work(supervisor: Supervisor) -> ToolResult[object] | None:
            try:
                return await supervisor.resume_approval(held.pending, arguments=arguments)
            except ApprovalError:
                return None

        before, counts = len(self.paid), self.counts(held)
        result = self.run(work)
        assert len(self.paid) == before
        assert (result is not None) == counts
        found = [] if result is None else self.keep(held.call, result)
        for kept in found:
            assert dict(kept.pending.arguments) == arguments
            assert kept.pending.edited
        return multiple(*found)

    @rule(held=shown)
    def deny(self, held: Shown) -> None:
        """The person says no: the host revokes it."""

        async def work(supervisor: Supervisor) -> bool:
            try:
                await supervisor.revoke_approval(held.pending)
            except ApprovalError:
                return False
            return True

        usable = not held.used and self.vault.clock.now < held.expires
        assert self.run(work) == usable
        held.denied = held.denied or usable

    @rule(held=shown)
    def restore(self, held: Shown) -> None:
        """The host puts back what is there already."""

        async def work(supervisor: Supervisor) -> bool:
            try:
                await supervisor.restore_approval(held.pending)
            except ApprovalError:
                return False
            return True

        assert self.run(work) == self.counts(held)

    @rule(held=shown, operation=st.sampled_from(["reserve", "commit"]), after=st.sampled_from([0.5, 1.0]))
    def stop(self, held: Shown, operation: str, after: float) -> None:
        """The call is resumed and stopped while its store works: nothing runs, and nothing is used up."""
        store = TroubledApprovals(self.vault.approvals)
        store.trouble = {operation: "slow", "consume": "slow"}

        async def work(supervisor: Supervisor) -> None:
            until = trio.current_time() + after
            try:
                await supervisor.resume_approval(held.pending, deadline=until)
            except ApprovalError:
                assert not self.counts(held)

        before = len(self.paid)
        healthy, self.vault.approvals = self.vault.approvals, store
        try:
            # A question that comes next uses it up, so nobody asks twice here.
            asks, self.asks_twice = self.asks_twice, False
            self.run(work)
            self.asks_twice = asks
        finally:
            self.vault.approvals = healthy
        assert len(self.paid) == before

    @rule(held=consumes(shown), field=st.sampled_from(["tool_id", "call_id", "edited", "arguments", "within"]))
    def forge(self, held: Shown, field: str) -> None:
        """Somebody changes what was shown."""
        values: dict[str, object] = {
            "tool_id": "default:look",
            "call_id": "other",
            "edited": not held.pending.edited,
            "arguments": {"call": held.call, "amount": 1_000_000},
            "within": (*held.pending.within, *held.pending.within) if held.pending.within else None,
        }
        if values[field] is None:
            return
        forged = msgspec.structs.replace(held.pending, **{field: values[field]})

        async def work(supervisor: Supervisor) -> str:
            try:
                await supervisor.resume_approval(forged)
            except ApprovalError as exc:
                return exc.code
            return "it counts"

        assert self.run(work) == "invalid-signature"

    @rule(seconds=st.sampled_from([1.0, 150.0, 300.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.vault.clock.now += seconds

    @rule(denies=st.booleans(), asks_twice=st.booleans())
    def change_the_policy(self, denies: bool, asks_twice: bool) -> None:
        """The policy changes its mind."""
        self.denies, self.asks_twice = denies, asks_twice

    @precondition(lambda self: self.everything)
    @rule()
    def try_everything(self) -> None:
        """Somebody tries all that must not count any more."""

        async def work(supervisor: Supervisor) -> None:
            for held in self.everything:
                if not self.counts(held):
                    try:
                        await supervisor.resume_approval(held.pending)
                    except ApprovalError:
                        continue
                    raise AssertionError(held)

        before = len(self.paid)
        self.run(work)
        assert len(self.paid) == before

    def counts(self, held: Shown) -> bool:
        """Whether an approval may let something run."""
        return not (held.denied or held.used) and self.vault.clock.now < held.expires

    @invariant()
    def nothing_is_paid_twice_and_only_what_was_shown(self) -> None:
        """What was paid was shown to somebody who said yes, with just these arguments, once for each yes."""
        used: list[tuple[int, Mapping[str, object]]] = [
            (held.call, dict(held.pending.arguments)) for held in self.everything if held.used and not held.denied
        ]
        for entry in self.paid:
            assert entry in used
            used.remove(entry)


TestApprovals = requirement("approving.machine")(ApprovalMachine.TestCase)
"""As a test. A step opens a supervisor, so there are fewer of them than elsewhere."""

TestApprovals.settings = settings(settings.default, max_examples=30, stateful_step_count=15)
