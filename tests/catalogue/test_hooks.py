"""What rules do to calls on their way through a supervisor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import pytest
import trio

from armory_trio import (
    ApprovalPolicy,
    ApprovalRequest,
    ApprovalRequested,
    Ask,
    DefinitionError,
    Deny,
    ExecutionAdmitted,
    ExecutionRefused,
    ExecutionSettled,
    ExecutionStarted,
    Gates,
    OutcomeDecided,
    PolicyRequest,
    RequestContext,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
    define_tool,
    lazy,
    open_supervisor,
    tool,
)
from armory_trio.authority.policy import HeadlessPolicy
from armory_trio.composition import bind, parallel, pipe, postprocess, preprocess, retry, tap, when
from armory_trio.engine import Happening
from tests.catalogue.cards import ADA, KEYS
from tests.requirements import requirement


class Told:
    """Writes down what happens to a call, in order."""

    def __init__(self, answer: object = None) -> None:
        self.happened: list[str] = []
        self._answer = answer

    def before_execute(self, request: PolicyRequest) -> object:
        self.happened.append("judged")
        return self._answer

    def after_execute(self, request: PolicyRequest, result: ToolResult[object]) -> None:
        self.happened.append(f"told {result.outcome}")

    def validate(self, arguments: Mapping[str, object]) -> bool:
        self.happened.append("validated")
        return arguments["n"] == 1

    def load(self) -> Callable[[Mapping[str, object]], Awaitable[str]]:
        self.happened.append("loaded")

        async def body(arguments: Mapping[str, object]) -> str:
            self.happened.append("ran")
            return "done"

        return body


@requirement("authorities.pipeline")
@pytest.mark.parametrize(
    ("answer", "number", "happened"),
    [
        (None, 1, ["validated", "judged", "loaded", "ran", "told success"]),
        (False, 1, ["validated", "judged", "told error"]),
        (Ask("may it?"), 1, ["validated", "judged", "told action_required"]),
        (None, 2, ["validated"]),
    ],
    ids=["runs", "denied", "paused", "invalid"],
)
async def test_a_call_is_validated_judged_loaded_and_run_in_this_order(
    answer: object, number: int, happened: list[str]
) -> None:
    told = Told(answer)
    made = define_tool(
        name="made",
        effect="read-only",
        input={"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}, "validate": told.validate},
        execute=lazy(told.load),
    )

    async with open_supervisor(Toolbox([made], policy=told)) as supervisor:
        await supervisor.execute(ToolCall("made", {"n": number}))

    assert told.happened == happened


@tool(effect="read-only")
async def look(city: str = "here") -> str:
    """Look."""
    return city


async def _events_of(answer: object) -> list[Happening]:
    box = Toolbox([look], policy=lambda request: answer)
    seen: list[Happening] = []
    async with (
        open_supervisor(box, keys=KEYS, default_request_context=ADA) as supervisor,
        supervisor.events() as events,
    ):
        await supervisor.execute(ToolCall("look"))
        async for event in events:
            seen.append(event)
            if isinstance(event, ExecutionSettled):
                break
    return seen


@requirement("authorities.events")
async def test_a_denied_call_is_told_as_refused_and_never_as_started() -> None:
    seen = await _events_of(Deny("no"))

    kinds = [type(event) for event in seen]
    assert kinds[0] is ExecutionAdmitted
    assert sorted(each.__name__ for each in kinds[1:]) == ["ExecutionRefused", "ExecutionSettled", "OutcomeDecided"]
    assert [event.code for event in seen if isinstance(event, ExecutionRefused)] == ["POLICY_DENIED"]


@requirement("authorities.events")
async def test_a_paused_call_is_told_as_asked_about_before_it_is_decided() -> None:
    seen = await _events_of(Ask("may it?"))

    kinds = [type(event) for event in seen]
    assert kinds.index(ApprovalRequested) < kinds.index(OutcomeDecided)
    assert ExecutionStarted not in kinds
    assert ExecutionRefused not in kinds
    assert [event.outcome for event in seen if isinstance(event, OutcomeDecided)] == ["action_required"]


@requirement("authorities.provider")
async def test_what_answers_the_policy_context_is_asked_once_also_when_the_call_fails() -> None:
    asked: list[str] = []
    seen: list[Mapping[str, object]] = []

    def of_toolbox() -> Mapping[str, object]:
        asked.append("toolbox")
        return {"from_toolbox": True, "whose": "toolbox"}

    def hook(request: PolicyRequest) -> None:
        seen.append(request.context)

    @tool(effect="read-only", policy=hook, policy_context={"from_tool": True, "whose": "tool"})
    async def fail() -> None:
        """Fail."""
        raise RuntimeError("no")

    async with open_supervisor(Toolbox([fail], policy_context=of_toolbox)) as supervisor:
        result = await supervisor.execute(ToolCall("fail"))

    assert result.error is not None
    assert asked == ["toolbox"]
    assert seen == [{"from_toolbox": True, "from_tool": True, "whose": "tool"}]


class _Auditor:
    def __init__(self, told: list[str], name: str, *, fails: bool = False) -> None:
        self._told, self._name, self._fails = told, name, fails

    def after_execute(self, request: PolicyRequest, result: ToolResult[object]) -> None:
        self._told.append(f"{self._name} {result.error.code if result.error else result.outcome}")
        if self._fails:
            raise RuntimeError("the disk is full")


@requirement("authorities.auditors")
async def test_all_auditors_are_told_of_a_cancelled_call_though_one_of_them_fails() -> None:
    told: list[str] = []
    began = trio.Event()

    @tool(effect="read-only", policy=_Auditor(told, "tool"))
    async def wait() -> None:
        """Wait."""
        began.set()
        await trio.sleep_forever()

    box = Toolbox([wait], policy=_Auditor(told, "toolbox", fails=True))
    async with open_supervisor(box) as supervisor:
        execution = supervisor.start(ToolCall("wait"))
        with trio.fail_after(5):
            await began.wait()
        execution.abort("enough")
        result = await execution.result()

    assert result.error is not None
    assert result.error.code == "CANCELLED"
    assert told == ["toolbox CANCELLED", "tool CANCELLED"]


@tool(tags=["readonly"], effect="read-only")
async def reads() -> str:
    """Read."""
    return "read"


@tool(tags=["mutating"])
async def mutates() -> str:
    """Change."""
    return "changed"


@tool(tags=["dangerous"])
async def destroys() -> str:
    """Destroy."""
    return "gone"


@tool
async def unflagged() -> str:
    """Nobody said."""
    return "who knows"


async def _ends(box: Toolbox) -> dict[str, str]:
    async with open_supervisor(box) as supervisor:
        results = await supervisor.execute_batch([ToolCall(each.name) for each in box])
    return {result.tool_name: result.error.code if result.error else result.outcome for result in results}


TOOLS = (reads, mutates, destroys, unflagged)


@requirement("authorities.tiers")
@pytest.mark.parametrize(
    ("gates", "policy", "ends"),
    [
        (None, "on-mutation", ["success", "action_required", "action_required", "action_required"]),
        (None, "never", ["success", "success", "success", "action_required"]),
        (Gates(read_only=True), None, ["success", "GATE_DENIED", "GATE_DENIED", "GATE_DENIED"]),
        (Gates(allow_dangerous=False), None, ["success", "success", "GATE_DENIED", "success"]),
        (
            Gates(allow_dangerous=False),
            "always",
            ["action_required", "action_required", "GATE_DENIED", "action_required"],
        ),
    ],
    ids=["on-mutation", "never", "read-only", "not dangerous", "both"],
)
async def test_gates_and_the_approval_policy_hold_in_a_supervisor(
    gates: Gates | None, policy: str | None, ends: list[str]
) -> None:
    asks = None if policy is None else ApprovalPolicy(policy)  # type: ignore[arg-type]  # one of the table above

    found = await _ends(Toolbox(TOOLS, gates=gates, approval_policy=asks))

    assert found == dict(zip((each.name for each in TOOLS), ends, strict=True))


@requirement("authorities.tiers")
async def test_a_tier_may_be_denied_while_the_others_run() -> None:
    policy = ApprovalPolicy("never", tier_modes={"dangerous": "deny"})

    found = await _ends(Toolbox(TOOLS, approval_policy=policy))

    assert found == {
        "reads": "success",
        "mutates": "success",
        "destroys": "POLICY_DENIED",
        "unflagged": "action_required",
    }


@requirement("authorities.tiers")
async def test_who_is_listed_as_mutating_and_as_dangerous_is_dangerous() -> None:
    @tool(tags=["mutating", "dangerous"], metadata={"mutates": True})
    async def both() -> None:
        """Do both."""

    found = await _ends(Toolbox([both], gates=Gates(allow_dangerous=False)))

    assert found == {"both": "GATE_DENIED"}


@tool(effect="read-only")
async def ready() -> dict[str, object]:
    """Be ready."""
    return {}


def _never(_sent: object) -> bool:
    return False


COMPOSED: dict[str, Callable[[], Tool[..., object]]] = {
    "pipe": lambda: pipe(ready, destroys),
    "parallel": lambda: parallel(ready, destroys),
    "when": lambda: when(_never, destroys, ready),
    "bind": lambda: bind(destroys, {}),
    "tap": lambda: tap(ready, destroys),
    "retry": lambda: retry(destroys),
    "preprocess": lambda: preprocess(destroys, dict),
    "postprocess": lambda: postprocess(destroys, str),
}


@requirement("authorities.composed")
@pytest.mark.parametrize("how", COMPOSED)
async def test_what_may_not_run_does_not_run_as_a_part(how: str) -> None:
    made = COMPOSED[how]()

    assert await _ends(Toolbox([made], gates=Gates(allow_dangerous=False))) == {made.name: "GATE_DENIED"}
    asked = await _ends(Toolbox([made], approval_policy=ApprovalPolicy("on-mutation")))
    assert asked == {made.name: "success" if how == "when" else "action_required"}  # the other branch changes nothing
    denied = await _ends(Toolbox([made], approval_policy=ApprovalPolicy("never", tier_modes={"dangerous": "deny"})))
    assert denied == {made.name: "POLICY_DENIED"}


@requirement("authorities.composed")
@pytest.mark.parametrize("how", [how for how in COMPOSED if how != "when"])
async def test_the_approval_policy_asks_about_the_step_alone(how: str) -> None:
    asked: list[str] = []

    def agree(request: ApprovalRequest) -> bool:
        asked.append(request.tool_name)
        return True

    made = COMPOSED[how]()
    toolbox = Toolbox([made], approval_policy=ApprovalPolicy("on-mutation"))
    async with open_supervisor(toolbox, approval_handler=agree) as supervisor:
        await supervisor.execute(ToolCall(made.name))

    assert asked == ["destroys"]


@requirement("authorities.fail-closed")
@pytest.mark.parametrize(
    "answer",
    [{"allow": True, "status": "deny"}, {"allow": True, "status": "granted"}, {"status": "granted"}, "yes", 1],
    ids=repr,
)
async def test_what_a_hook_answers_that_nobody_understands_denies(answer: object) -> None:
    found = await _ends(Toolbox([reads], policy=lambda request: answer))

    assert found == {"reads": "POLICY_DENIED"}


@requirement("authorities.headless")
@pytest.mark.parametrize("listed", ["Reads", "read", "readss", "reads@1"])
async def test_a_headless_policy_takes_no_near_names(listed: str) -> None:
    found = await _ends(Toolbox([reads], policy=HeadlessPolicy([listed])))

    assert found == {"reads": "POLICY_DENIED"}
    assert await _ends(Toolbox([reads], policy=HeadlessPolicy(["reads"]))) == {"reads": "success"}


@requirement("authorities.spoof")
async def test_nothing_that_a_host_keeps_for_its_policies_replaces_whose_behalf_it_is() -> None:
    seen: list[RequestContext | None] = []
    mallory = RequestContext(principal="mallory", tenant="acme", capabilities=frozenset({"everything"}))

    def hook(request: PolicyRequest) -> None:
        seen.append(request.request_context)

    box = Toolbox([look], policy=hook, policy_context={"request_context": mallory, "capabilities": ["everything"]})
    async with open_supervisor(box, default_request_context=ADA) as supervisor:
        await supervisor.execute(ToolCall("look"))

    assert seen == [ADA]


@requirement("authorities.stopped")
async def test_a_call_that_is_aborted_while_a_hook_decides_never_begins() -> None:
    ran: list[str] = []
    deciding, decide = trio.Event(), trio.Event()

    async def hook(request: PolicyRequest) -> bool:
        deciding.set()
        await decide.wait()
        return True

    @tool(effect="read-only", policy=hook)
    async def body() -> None:
        """Run."""
        ran.append("body")

    async with open_supervisor(Toolbox([body])) as supervisor:
        execution = supervisor.start(ToolCall("body"))
        with trio.fail_after(5):
            await deciding.wait()
        execution.abort("too late")
        decide.set()
        result = await execution.result()

    assert result.error is not None
    assert (result.error.code, result.effect, ran) == ("NOT_STARTED", "none", [])


@requirement("authorities.options")
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("approval_lifetime", 0),
        ("approval_lifetime", -1),
        ("approval_lifetime", float("inf")),
        ("approval_lifetime", float("nan")),
        ("keys", object()),
        ("approvals", object()),
        ("grants", object()),
        ("approval_handler", "yes"),
        ("security_domain", 7),
        ("revisions", "policy:1"),
    ],
)
async def test_an_option_that_makes_no_sense_is_refused(option: str, value: object) -> None:
    with pytest.raises(DefinitionError) as caught:
        async with open_supervisor(Toolbox([look]), **{option: value}):  # type: ignore[arg-type]  # what is tried out
            pytest.fail("it was opened")

    assert caught.value.field == option
