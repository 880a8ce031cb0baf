"""The order in which a call is judged: gates, capability, declaration, the toolbox's hook, the tool's hook.

A denial ends it, whoever else would have been asked; a question is kept while the others have their say. So an ask
never hides a later deny. Nothing here waits but for a hook that is async.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Generator, Iterable, Mapping
from typing import Final, Literal, cast

import attrs
import msgspec

from ..definitions import PauseTier, RequestContext, ToolDefinition
from ..definitions._canonical import canonical_text
from ..definitions._checks import instance
from ..definitions._policy import BeforeExecute, Policy, PolicyRequest, before_execute_of
from ..definitions._value import Value
from ._capability import ApprovalPolicy
from ._gates import Gates
from ._verdict import Allow, Ask, Deny, Edit, name_of, read_decision

JudgeTier = Literal["gate", "capability", "declared", "toolbox", "tool"]
"""Who decides, in this order."""

_OPEN: Final = Gates()


def _gates(value: Gates | None) -> Gates:
    return _OPEN if value is None else value


def _toolbox_hook(policy: Policy | None) -> BeforeExecute | None:
    return before_execute_of(policy, "policy")


def _tool_hook(policy: Policy | None) -> BeforeExecute | None:
    return before_execute_of(policy, "tool_policy")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Rules(Value):
    """Everything that a call of one tool is judged by. Nothing in it means that nothing is asked and all may run.

    Args:
        gates: Which classes of tools may run at all; None for all.
        approval_policy: When a person is asked, by capability tier; None asks nobody.
        policy: The toolbox's hook.
        tool_policy: The tool's own hook, asked last.
        composed: Whether the tool only calls others, each of which is judged with what it is called with: then the
            approval policy may deny the whole, and asks about its steps alone.

    Raises:
        DefinitionError: A value has the wrong type.
    """

    gates: Gates = attrs.field(default=_OPEN, converter=_gates)
    approval_policy: ApprovalPolicy | None = None
    policy: BeforeExecute | None = attrs.field(default=None, converter=_toolbox_hook)
    tool_policy: BeforeExecute | None = attrs.field(default=None, converter=_tool_hook)
    composed: bool = False

    def __attrs_post_init__(self) -> None:
        instance("policy", "gates", self.gates, Gates)
        instance("policy", "approval_policy", self.approval_policy, ApprovalPolicy)

    @property
    def hooked(self) -> bool:
        """Whether the arguments of a call matter: without a hook `standing` says it all."""
        return self.policy is not None or self.tool_policy is not None


class Pause(msgspec.Struct, frozen=True):
    """One question, and who asks it."""

    tier: PauseTier
    ask: Ask

    def wire(self) -> dict[str, object]:
        """The JSON object that stands in approvals. Two pauses of one canonical text are the same question."""
        return {"tier": self.tier, "reason": self.ask.reason, "action": self.ask.action()}

    def same_as(self, other: Pause) -> bool:
        """Whether *other* was asked by the same tier, for the same reason, with the same action."""
        return canonical_text(self.wire(), mode="exact") == canonical_text(other.wire(), mode="exact")


class Permitted(msgspec.Struct, frozen=True):
    """The call may run.

    Args:
        request_context: The request's, narrowed to the capabilities that the hooks left; None when it has none.
    """

    request_context: RequestContext | None = None


class Paused(msgspec.Struct, frozen=True):
    """Nobody denied the call, but somebody asks first.

    Args:
        pauses: All questions, in the order of the tiers; the first one is put first.
        request_context: As in `Permitted`.
    """

    pauses: tuple[Pause, ...]
    request_context: RequestContext | None = None

    def granted(self) -> Permitted | Paused:
        """What is left when a grant answers the capability tier's question. It answers no other."""
        return self._left(pause for pause in self.pauses if pause.tier != "capability")

    def satisfied_by(self, approved: Iterable[Pause]) -> Permitted | Paused:
        """What is left when exactly the questions *approved* were answered. A changed question counts as a new one."""
        known = tuple(approved)
        return self._left(pause for pause in self.pauses if not any(map(pause.same_as, known)))

    def _left(self, pauses: Iterable[Pause]) -> Permitted | Paused:
        left = tuple(pauses)
        return Paused(left, self.request_context) if left else Permitted(self.request_context)


class Refused(msgspec.Struct, frozen=True, eq=False):
    """The call does not run.

    Args:
        tier: Who denied it.
        reason: Why, for the model and for people.
        error: What the hook raised, if that is why. Its text is for the host's log, and no part of the reason.
    """

    tier: JudgeTier
    reason: str
    error: BaseException | None = None

    @property
    def code(self) -> Literal["GATE_DENIED", "POLICY_DENIED"]:
        """The code of the result, whose category is ``permission``."""
        return "GATE_DENIED" if self.tier == "gate" else "POLICY_DENIED"


class Edited(msgspec.Struct, frozen=True):
    """A hook wants other arguments: validate them, and judge again with ``edited=True``.

    Args:
        tier: Who edited them.
        arguments: All of them, frozen.
    """

    tier: JudgeTier
    arguments: Mapping[str, object]


Judgement = Permitted | Paused | Refused | Edited


class _Raised(msgspec.Struct, frozen=True, eq=False):
    """What a hook raised in place of an answer."""

    error: BaseException


_Steps = Generator[Awaitable[object], object, Judgement]


class Unfinished:
    """A judgement that waits for a hook. To be finished once, or abandoned."""

    __slots__ = ("_steps", "_waits_for")

    def __init__(self, steps: _Steps, waits_for: Awaitable[object]) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __repr__(self) -> str:
        return "<Unfinished judgement: a hook is asked>"

    async def finish(self) -> Judgement:
        """Wait for the hook, and for the next one. Cancelled: the hook is, and nothing is decided."""
        try:
            while True:
                try:
                    answer = await self._waits_for
                except (Exception, SystemExit) as error:  # noqa: BLE001  # a hook of the user's that fails denies
                    answer = _Raised(error)
                try:
                    self._waits_for = self._steps.send(answer)
                except StopIteration as end:
                    return cast("Judgement", end.value)
        finally:
            self._steps.close()

    def abandon(self) -> None:
        """Forget it: the call is over before the hook was awaited."""
        self._steps.close()
        if inspect.iscoroutine(self._waits_for):
            self._waits_for.close()


def standing(rules: Rules, definition: ToolDefinition) -> Refused | tuple[Pause, ...]:
    """What *rules* say of every call of a tool, whatever its arguments: refused, or the questions that stand."""
    gate = rules.gates.judge(definition)
    if isinstance(gate, Deny):
        return Refused("gate", gate.reason)
    pauses: list[Pause] = []
    verdict = Allow() if rules.approval_policy is None else rules.approval_policy.judge(definition)
    if isinstance(verdict, Deny):
        return Refused("capability", verdict.reason)
    if isinstance(verdict, Ask) and not rules.composed:
        pauses.append(Pause("capability", verdict))
    if definition.requires_approval:
        pauses.append(Pause("declared", Ask(f"Tool {definition.name!r} requires approval")))
    return tuple(pauses)


def begin(rules: Rules, request: PolicyRequest, *, edited: bool = False) -> Judgement | Unfinished:
    """Judge a call as far as that goes without waiting.

    Args:
        rules: What it is judged by.
        request: The call.
        edited: Whether its arguments are already those of a hook's `Edit`: then another one is a denial.

    Returns:
        The judgement, or one to be finished because a hook answers later.
    """
    steps = _steps(rules, request, edited)
    try:
        return Unfinished(steps, next(steps))
    except StopIteration as end:
        return cast("Judgement", end.value)


async def judge(rules: Rules, request: PolicyRequest, *, edited: bool = False) -> Judgement:
    """Judge a call: `begin`, and wait for hooks that are async. It takes no checkpoint when none is.

    Cancelled: the hook that is being awaited is, and nothing is decided.
    """
    begun = begin(rules, request, edited=edited)
    return await begun.finish() if isinstance(begun, Unfinished) else begun


def _steps(rules: Rules, request: PolicyRequest, edited: bool) -> _Steps:  # noqa: FBT001  # the keyword of `begin`
    """Judge step by step: yields what has to be awaited, is sent its answer, and returns the judgement."""
    stands = standing(rules, request.definition)
    if isinstance(stands, Refused):
        return stands
    pauses = list(stands)
    for tier, hook in _hooks(rules):
        answer = yield from _asked(hook, request)
        if isinstance(answer, _Raised):
            return Refused(tier, _failure(tier, answer.error), answer.error)
        decision = read_decision(answer)
        if isinstance(decision, Deny):
            return Refused(tier, decision.reason)
        if isinstance(decision, Edit):
            if _same(decision.arguments, request.arguments):
                continue
            if edited:
                return Refused(tier, "Policy denied: the arguments were edited once, and a hook edits them again")
            return Edited(tier, decision.arguments)
        if isinstance(decision, Ask):
            pauses.append(Pause(tier, decision))
        request = _narrowed(request, decision.capabilities)
    context = request.request_context
    return Paused(tuple(pauses), context) if pauses else Permitted(context)


def _hooks(rules: Rules) -> Iterable[tuple[Literal["toolbox", "tool"], BeforeExecute]]:
    if rules.policy is not None:
        yield "toolbox", rules.policy
    if rules.tool_policy is not None:
        yield "tool", rules.tool_policy


def _asked(hook: BeforeExecute, request: PolicyRequest) -> Generator[Awaitable[object], object, object]:
    try:
        answer = hook(request)
        later = inspect.isawaitable(answer)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001, ASYNC103  # code of the user's, in which nothing is awaited
        answer, later = _Raised(error), False
    return (yield cast("Awaitable[object]", answer)) if later else answer


def _failure(tier: JudgeTier, error: BaseException) -> str:
    whose = "toolbox's" if tier == "toolbox" else "tool's"
    return f"Policy denied: the {whose} policy hook failed ({name_of(error)})"


def _same(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return canonical_text(one, mode="exact") == canonical_text(other, mode="exact")


def _narrowed(request: PolicyRequest, capabilities: frozenset[str] | None) -> PolicyRequest:
    """The request with no more than *capabilities*. Where the host said nothing about them, none are left."""
    context = request.request_context
    if context is None or capabilities is None:
        return request
    left = capabilities & (context.capabilities or frozenset())
    return msgspec.structs.replace(request, request_context=context.narrow(capabilities=left))
