from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator
from typing import Final, NoReturn

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, RequestContext
from armory_trio.authority.policy import (
    Allow,
    ApprovalPolicy,
    Ask,
    Decision,
    Deny,
    Edit,
    Edited,
    Gates,
    Judgement,
    Pause,
    Paused,
    Permitted,
    PolicyRequest,
    Refused,
    Rules,
    Unfinished,
    begin,
    combine,
    judge,
    standing,
)
from armory_trio.definitions import EffectClass
from tests.authority.policies import VERDICTS, defined, request
from tests.requirements import requirement


def now(rules: Rules, asked: PolicyRequest | None = None, *, edited: bool = False) -> Judgement:
    """The judgement that needs nobody to wait."""
    judgement = begin(rules, asked or request(), edited=edited)
    assert not isinstance(judgement, Unfinished)
    return judgement


class Saying:
    """A hook that always answers the same, and counts how often it was asked."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.requests: list[PolicyRequest] = []

    def before_execute(self, request: PolicyRequest, /) -> object:
        self.requests.append(request)
        return self.answer


class SayingLater(Saying):
    async def before_execute(self, request: PolicyRequest, /) -> object:
        self.requests.append(request)
        await trio.lowlevel.checkpoint()
        return self.answer


# ── Who is asked, and in which order ─────────────────────────────────────────────────────────────────────────────────


@requirement("judging.silence")
@pytest.mark.parametrize("effect", ["read-only", "external-write", "destructive", "privileged", None])
def test_without_a_policy_nothing_asks_and_nothing_is_denied(effect: EffectClass | None) -> None:
    rules = Rules()

    assert standing(rules, defined(effect)) == ()
    assert not rules.hooked
    assert now(rules, request(defined(effect))) == Permitted(RequestContext(principal="ann"))


@requirement("judging.order")
def test_whoever_denies_first_is_the_last_to_be_asked() -> None:
    toolbox, own = Saying(Deny("toolbox")), Saying(Deny("tool"))
    destructive = request(defined("destructive"))
    hooked = Rules(policy=toolbox, tool_policy=own)
    strict = attrs.evolve(hooked, approval_policy=ApprovalPolicy("deny"))

    gate = now(attrs.evolve(strict, gates=Gates(read_only=True)), destructive)
    tier = now(strict, destructive)
    assert (toolbox.requests, own.requests) == ([], [])
    hook = now(hooked, destructive)
    assert (len(toolbox.requests), own.requests) == (1, [])
    last = now(Rules(tool_policy=own), destructive)

    told = [(by.tier, by.code) for by in (gate, tier, hook, last) if isinstance(by, Refused)]
    assert told == [
        ("gate", "GATE_DENIED"),
        ("capability", "POLICY_DENIED"),
        ("toolbox", "POLICY_DENIED"),
        ("tool", "POLICY_DENIED"),
    ]


@requirement("judging.order")
def test_the_stricter_of_a_gate_and_a_policy_wins() -> None:
    rules = Rules(gates=Gates(allow_dangerous=False), approval_policy=ApprovalPolicy("never"))

    assert isinstance(now(rules, request(defined("destructive"))), Refused)


@requirement("judging.order")
def test_all_questions_are_kept_in_the_order_of_the_tiers() -> None:
    rules = Rules(approval_policy=ApprovalPolicy("always"), policy=Saying(Ask("a")), tool_policy=Saying(Ask("b")))

    judgement = now(rules, request(defined("read-only", approval=True)))
    assert isinstance(judgement, Paused)
    assert [pause.tier for pause in judgement.pauses] == ["capability", "declared", "toolbox", "tool"]


@requirement("judging.declared")
def test_a_tool_that_requires_approval_is_asked_about_also_without_a_policy() -> None:
    needing = defined("read-only", approval=True)

    assert standing(Rules(), needing) == (Pause("declared", Ask("Tool 'work' requires approval")),)
    assert isinstance(now(Rules(policy=Saying(True)), request(needing)), Paused)


@requirement("judging.ask-hides-no-deny")
@pytest.mark.parametrize("asking", [Ask(), Ask(kind="input"), {"status": "needs_input"}])
def test_a_question_does_not_keep_a_later_tier_from_denying(asking: object) -> None:
    own = Saying(Deny("tool"))
    rules = Rules(approval_policy=ApprovalPolicy("always"), policy=Saying(asking), tool_policy=own)

    judgement = now(rules)
    assert isinstance(judgement, Refused) and (judgement.tier, judgement.reason) == ("tool", "tool")
    assert len(own.requests) == 1


@requirement("judging.ask-hides-no-deny")
def test_an_allowance_of_a_hook_answers_nobody_elses_question() -> None:
    rules = Rules(approval_policy=ApprovalPolicy("always"), policy=Saying(Allow()), tool_policy=Saying(True))

    judgement = now(rules)
    assert isinstance(judgement, Paused) and [pause.tier for pause in judgement.pauses] == ["capability"]


_HOOKS: Final = st.none() | VERDICTS
_GATES: Final = st.builds(Gates, read_only=st.booleans(), allow_dangerous=st.booleans())
_POLICIES: Final = st.none() | st.builds(ApprovalPolicy, st.sampled_from(["never", "on-mutation", "always", "deny"]))
_EFFECTS: Final = st.sampled_from(["read-only", "external-write", "destructive", None])


@requirement("judging.order", "judging.ask-hides-no-deny", "judging.async")
@given(_GATES, _POLICIES, _EFFECTS, st.booleans(), _HOOKS, _HOOKS, st.booleans(), st.booleans())
def test_a_judgement_is_the_strictest_of_all_verdicts(
    gates: Gates,
    policy: ApprovalPolicy | None,
    effect: EffectClass | None,
    approval: bool,
    first: Decision | None,
    second: Decision | None,
    first_later: bool,
    second_later: bool,
) -> None:
    definition = defined(effect, approval=approval)
    verdicts = [gates.judge(definition), Allow() if policy is None else policy.judge(definition)]
    verdicts += [Ask()] * approval
    verdicts += [said for said in (first, second) if isinstance(said, Allow | Ask | Deny)]
    hooks = [
        None if said is None else (SayingLater if later else Saying)(said)
        for said, later in ((first, first_later), (second, second_later))
    ]
    rules = Rules(gates=gates, approval_policy=policy, policy=hooks[0], tool_policy=hooks[1])

    judgement = trio.run(judge, rules, request(definition, capabilities=frozenset({"read", "write"})))
    strictest = combine(*verdicts)
    assert isinstance(judgement, Permitted) is isinstance(strictest, Allow)
    assert isinstance(judgement, Paused) is isinstance(strictest, Ask)
    assert isinstance(judgement, Refused) is isinstance(strictest, Deny)
    if isinstance(judgement, Permitted | Paused) and not isinstance(strictest, Deny):
        context = judgement.request_context
        left = {"read", "write"} & (strictest.capabilities if strictest.capabilities is not None else {"read", "write"})
        assert context is not None and context.capabilities == frozenset(left)


# ── What a hook sees, and what it can't do ───────────────────────────────────────────────────────────────────────────


@requirement("judging.frozen")
def test_a_hook_cannot_change_what_will_run() -> None:
    arguments: dict[str, object] = {"paths": ["a"], "options": {"deep": True}}
    asked = request(arguments=arguments)
    arguments["paths"] = ["/"]

    def grab(seen: PolicyRequest) -> None:
        seen.arguments["options"]["deep"] = False  # type: ignore[index]

    judgement = now(Rules(policy=grab), asked)
    assert isinstance(judgement, Refused) and isinstance(judgement.error, TypeError)
    assert asked.arguments == {"paths": ("a",), "options": {"deep": True}}
    with pytest.raises(AttributeError):
        asked.arguments = {}  # type: ignore[misc]


@requirement("judging.narrowing")
def test_a_hook_can_only_narrow_capabilities_and_the_tools_hook_sees_what_is_left() -> None:
    own = Saying(Allow(frozenset({"write", "admin"})))
    rules = Rules(policy=Saying(Allow(frozenset({"read", "write", "root"}))), tool_policy=own)

    judgement = now(rules, request(capabilities=frozenset({"read", "write", "admin"})))
    [seen] = own.requests
    assert seen.request_context is not None and seen.request_context.capabilities == frozenset({"read", "write"})
    assert isinstance(judgement, Permitted) and judgement.request_context is not None
    assert judgement.request_context == RequestContext(principal="ann", capabilities=frozenset({"write"}))


@requirement("judging.narrowing")
@pytest.mark.parametrize("names", ["read", "\ud800"])
def test_where_nobody_said_anything_about_capabilities_naming_some_adds_none(names: str) -> None:
    judgement = now(Rules(policy=Saying(Allow(frozenset({names})))), request(capabilities=None))

    assert isinstance(judgement, Permitted) and judgement.request_context is not None
    assert judgement.request_context.capabilities == frozenset()


@requirement("judging.narrowing")
def test_a_call_on_nobodys_behalf_stays_one() -> None:
    asked = PolicyRequest(defined("read-only"), {})

    assert now(Rules(policy=Saying(Allow(frozenset({"read"})))), asked) == Permitted(None)


@requirement("judging.hook-raises")
@pytest.mark.parametrize("error", [RuntimeError("secret"), SystemExit(1), GeneratorExit(), StopIteration(5)])
def test_a_hook_that_raises_denies(error: BaseException) -> None:
    def failing(_request: PolicyRequest) -> None:
        raise error

    own = Saying(True)
    judgement = now(Rules(policy=failing, tool_policy=own))
    assert isinstance(judgement, Refused)
    assert judgement.reason == f"Policy denied: the toolbox's policy hook failed ({type(error).__name__})"
    assert judgement.error is error
    assert own.requests == []


@requirement("judging.hook-raises")
@pytest.mark.parametrize("error", [RuntimeError("secret"), SystemExit(1), ExceptionGroup("both", [OSError()])])
async def test_an_async_hook_that_raises_denies(error: BaseException) -> None:
    async def failing(_request: PolicyRequest) -> None:
        await trio.lowlevel.checkpoint()
        raise error

    judgement = await judge(Rules(tool_policy=failing), request())
    assert isinstance(judgement, Refused) and judgement.error is error
    assert judgement.reason == f"Policy denied: the tool's policy hook failed ({type(error).__name__})"


@requirement("judging.hook-raises")
def test_an_interrupt_is_no_failure_of_a_hook() -> None:
    def interrupted(_request: PolicyRequest) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(Rules(policy=interrupted), request())


@requirement("verdict.unclear")
@pytest.mark.parametrize("answer", ["allow", 1, {"allow": True, "status": "deny"}, {}, object()])
async def test_an_answer_that_is_not_understood_denies_now_and_later(answer: object) -> None:
    assert isinstance(now(Rules(policy=Saying(answer))), Refused)
    assert isinstance(await judge(Rules(policy=SayingLater(answer)), request()), Refused)


# ── Edits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("judging.edit")
def test_an_edit_ends_the_judgement_so_that_it_starts_anew() -> None:
    own = Saying(True)
    rules = Rules(approval_policy=ApprovalPolicy("always"), policy=Saying(Edit({"cents": 1})), tool_policy=own)

    assert now(rules, request(arguments={"cents": 5})) == Edited("toolbox", {"cents": 1})
    assert own.requests == []


@requirement("judging.edit")
def test_an_edit_that_changes_nothing_is_no_objection() -> None:
    rules = Rules(policy=Saying(Edit({"b": [2.0], "a": 1})))

    assert isinstance(now(rules, request(arguments={"a": 1, "b": [2]})), Permitted)
    assert isinstance(now(rules, request(arguments={"a": "1", "b": [2]})), Edited)


@requirement("judging.edit")
def test_arguments_are_edited_once() -> None:
    first = Saying(Edit({"cents": 1}))
    second = Saying(Edit({"cents": 2}))
    again = request(arguments={"cents": 1})

    assert isinstance(now(Rules(policy=first), again, edited=True), Permitted)
    judgement = now(Rules(policy=first, tool_policy=second), again, edited=True)
    assert isinstance(judgement, Refused)
    assert (judgement.tier, judgement.reason) == (
        "tool",
        "Policy denied: the arguments were edited once, and a hook edits them again",
    )


# ── Hooks that answer later ──────────────────────────────────────────────────────────────────────────────────────────


@requirement("judging.async")
async def test_a_judgement_without_async_hooks_waits_for_nothing() -> None:
    ran: list[str] = []

    async def other() -> None:
        ran.append("other")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await judge(Rules(policy=Saying(True)), request())
        assert ran == []


@requirement("judging.async")
@pytest.mark.parametrize("make", [[Saying, SayingLater], [SayingLater, Saying], [SayingLater, SayingLater]])
async def test_hooks_are_awaited_one_after_the_other(make: list[Callable[[object], Saying]]) -> None:
    first, second = make[0](Ask("a")), make[1](Ask("b"))
    begun = begin(Rules(policy=first, tool_policy=second), request())

    assert isinstance(begun, Unfinished)
    judgement = await begun.finish()
    assert isinstance(judgement, Paused) and [pause.ask.reason for pause in judgement.pauses] == ["a", "b"]
    assert (len(first.requests), len(second.requests)) == (1, 1)


async def pausing() -> None:
    await trio.lowlevel.checkpoint()


class Later:
    def __await__(self) -> Generator[object, None, bool]:
        yield from pausing().__await__()
        return False


@requirement("judging.async")
async def test_any_awaitable_is_awaited() -> None:
    assert isinstance(await judge(Rules(policy=Saying(Later())), request()), Refused)


@requirement("judging.async")
async def test_cancelling_the_judgement_cancels_the_hook_and_decides_nothing() -> None:
    ended: list[str] = []
    own = Saying(True)

    async def waiting(_request: PolicyRequest) -> NoReturn:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("hook")

    async def judging() -> None:
        await judge(Rules(policy=waiting, tool_policy=own), request())
        ended.append("judged")

    with trio.move_on_after(0):
        await judging()

    assert ended == ["hook"]
    assert own.requests == []


@requirement("judging.async")
def test_a_judgement_that_is_abandoned_leaves_no_coroutine_behind() -> None:
    entered: list[PolicyRequest] = []

    async def never(asked: PolicyRequest) -> None:
        entered.append(asked)

    begun = begin(Rules(policy=never), request())
    other = begin(Rules(policy=Saying(Later())), request())
    assert isinstance(begun, Unfinished) and isinstance(other, Unfinished)
    other.abandon()
    begun.abandon()  # else "coroutine was never awaited", which fails the test
    assert entered == []


# ── Questions that were answered ─────────────────────────────────────────────────────────────────────────────────────

ASKED: Final = Pause("toolbox", Ask("why", message="Sure?", schema={"const": 1}))


@requirement("judging.satisfied")
def test_an_answered_question_is_not_asked_again() -> None:
    other = Pause("tool", Ask("other", kind="input"))

    assert Paused((ASKED, other)).satisfied_by([ASKED]) == Paused((other,))
    assert Paused((ASKED, other)).satisfied_by([other, ASKED]) == Permitted()


@requirement("judging.satisfied")
@pytest.mark.parametrize(
    "changed",
    [
        Pause("tool", Ask("why", message="Sure?", schema={"const": 1})),
        Pause("toolbox", Ask("why not", message="Sure?", schema={"const": 1})),
        Pause("toolbox", Ask("why", message="Really?", schema={"const": 1})),
        Pause("toolbox", Ask("why", kind="input", message="Sure?", schema={"const": 1})),
        Pause("toolbox", Ask("why", message="Sure?", schema={"const": True})),
        Pause("toolbox", Ask("why", message="Sure?")),
    ],
)
def test_a_question_that_changed_is_a_new_one(changed: Pause) -> None:
    assert Paused((changed,)).satisfied_by([ASKED]) == Paused((changed,))


@requirement("judging.granted")
def test_a_grant_answers_the_capability_tier_and_nobody_else() -> None:
    rules = Rules(approval_policy=ApprovalPolicy("always"))
    hooked = Rules(approval_policy=ApprovalPolicy("always"), policy=Saying(Ask("hook")))
    needing = request(defined("read-only", approval=True))

    plain, asked, declared = now(rules), now(hooked), now(rules, needing)
    assert isinstance(plain, Paused) and isinstance(plain.granted(), Permitted)
    assert isinstance(asked, Paused) and [pause.tier for pause in _pauses(asked.granted())] == ["toolbox"]
    assert isinstance(declared, Paused) and [pause.tier for pause in _pauses(declared.granted())] == ["declared"]


def _pauses(judgement: Permitted | Paused) -> tuple[Pause, ...]:
    return judgement.pauses if isinstance(judgement, Paused) else ()


# ── Rules made wrongly ───────────────────────────────────────────────────────────────────────────────────────────────


class Uncallable:
    before_execute = "deny"


@requirement("judging.settings")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policy": True}, "policy: policy: must be a function, or have a method before_execute, not True"),
        ({"tool_policy": Saying}, "policy: tool_policy: must be a function, or have a method before_execute"),
        ({"policy": Uncallable()}, "policy: policy: must be a function, or have a method before_execute"),
        ({"gates": True}, "policy: gates: must be a Gates, not True"),
        ({"approval_policy": "always"}, "policy: approval_policy: must be an ApprovalPolicy, not 'always'"),
    ],
)
def test_rules_made_wrongly_say_so(options: dict[str, object], told: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(told)):
        Rules(**options)  # type: ignore[arg-type]


@requirement("judging.settings")
def test_a_hook_is_a_function_or_has_one() -> None:
    def plain(asked: PolicyRequest) -> Awaitable[object] | bool:
        return asked.tool_name != "work"

    assert isinstance(now(Rules(policy=plain)), Refused)
    assert isinstance(now(Rules(policy=Saying(False))), Refused)
