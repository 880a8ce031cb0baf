"""The sentences for the model: whether it ran, what the world may have seen, whether to send it again."""

from __future__ import annotations

import itertools
from typing import Final, Literal, get_args

import pytest

from armory_trio import (
    Category,
    Effect,
    ImageContent,
    PendingApproval,
    Question,
    RequiredAction,
    TextContent,
    Toolbox,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from armory_trio.content import words_for
from tests.requirements import requirement

CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
EFFECTS: Final[tuple[Effect, ...]] = get_args(Effect)

NOT_RUN: Final[dict[Category, str]] = {
    "validation": "The tool 'pay' did not run: its arguments are invalid",
    "permission": "The tool 'pay' did not run: it was refused",
    "not_found": "The tool 'pay' did not run: there is no such tool",
    "unavailable": "The tool 'pay' did not run: it is not available now",
    "conflict": "The tool 'pay' did not run: it conflicts with other work",
    "transient": "The tool 'pay' did not run: something failed for the moment before it could start",
    "timeout": "The tool 'pay' did not run: its time was up before it could start",
    "cancelled": "The tool 'pay' did not run: it was cancelled before it started",
    "internal": "The tool 'pay' did not run: something failed inside before it could start",
}
RAN: Final[dict[Category, str]] = {
    "validation": "The tool 'pay' refused its input",
    "permission": "The tool 'pay' was refused permission",
    "not_found": "The tool 'pay' did not find what it was asked for",
    "unavailable": "The tool 'pay' could not use something that it needs",
    "conflict": "The tool 'pay' met a conflict",
    "transient": "The tool 'pay' failed for a passing reason",
    "timeout": "The tool 'pay' ran out of time",
    "cancelled": "The tool 'pay' was cancelled while it ran",
    "internal": "The tool 'pay' failed",
}
ADVICE: Final[dict[Category, str]] = {
    "validation": " Correct the call and send it again.",
    "permission": " Do not send the same call again unless something has changed.",
    "not_found": " Use one of the tools that were offered.",
}


def failed(
    category: Category,
    effect: Effect,
    attempts: int,
    *,
    code: str = "SOME_CODE",
    message: str = "the reason",
    retryable: bool = False,
    details: dict[str, object] | None = None,
) -> ToolResult[object]:
    error = ToolError(category, code, message, retryable, details)
    return ToolResult("ex", "c", "pay", "error", error=error, effect=effect, attempts=attempts)


def expected_end(category: Category, effect: Effect, attempts: int, *, retryable: bool) -> str:
    if retryable and effect == "none":
        return (
            "Nothing was changed." if attempts == 0 else "It changed nothing."
        ) + " The same call may be sent again."
    if retryable:
        seen = "It may have taken effect" if effect == "unknown" else "It has taken effect"
        return f"{seen}, but the same call may be sent again: it will not be done twice."
    match effect, attempts > 0:
        case "none", False:
            return "Nothing was changed." + ADVICE.get(category, "")
        case "none", True:
            return "It changed nothing."
        case "unknown", False:
            return (
                "An earlier attempt of the same call may have taken effect. "
                "Do not simply repeat it; check first what happened."
            )
        case "unknown", True:
            return "It may have taken effect. Do not simply repeat it; check first what happened."
        case "completed", False:
            return "An earlier attempt of the same call has taken effect already. Do not repeat it."
        case _:
            return "It has taken effect; what failed came afterwards. Do not repeat it."


@requirement("providers.honest-words")
@pytest.mark.parametrize("retryable", [False, True])
@pytest.mark.parametrize("attempts", [0, 1, 3])
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_effect_and_attempt_has_its_own_words(
    category: Category, effect: Effect, attempts: int, *, retryable: bool
) -> None:
    head = (RAN if attempts else NOT_RUN)[category]
    end = expected_end(category, effect, attempts, retryable=retryable)

    words = words_for(failed(category, effect, attempts, retryable=retryable))

    assert words == f"{head} (SOME_CODE).\nthe reason\n{end}"


CODES: Final[dict[str, tuple[Category, int, str]]] = {
    "INVALID_ARGUMENTS": ("validation", 0, "its arguments are invalid"),
    "MALFORMED_CALL": ("validation", 0, "the call was malformed"),
    "TRUNCATED_CALL": ("validation", 0, "cut off before it was complete"),
    "IDEMPOTENCY_KEY_REQUIRED": ("validation", 0, "needs an idempotency key"),
    "POLICY_DENIED": ("permission", 0, "refused by policy"),
    "GATE_DENIED": ("permission", 0, "this session does not allow such tools"),
    "HUMAN_DENIED": ("permission", 0, "refused by a person"),
    "HUMAN_TIMEOUT": ("permission", 0, "nobody answered in time"),
    "APPROVAL_UNAVAILABLE": ("permission", 0, "nobody here to ask"),
    "AUTHORITY_REQUIRED": ("permission", 0, "no authority"),
    "NOT_FOUND": ("not_found", 0, "no such tool"),
    "TOOL_UNAVAILABLE": ("unavailable", 0, "not available now"),
    "OVERLOADED": ("unavailable", 0, "too many calls are waiting"),
    "LEDGER_UNAVAILABLE": ("unavailable", 0, "record of past calls could not be reached"),
    "BUDGET_EXCEEDED": ("conflict", 0, "budget of this run is used up"),
    "LOOP_BLOCKED": ("conflict", 0, "repeated too often"),
    "IDEMPOTENCY_CONFLICT": ("conflict", 0, "its idempotency key was used before"),
    "IDEMPOTENCY_CYCLE": ("conflict", 0, "wait for itself"),
    "CAPACITY_CYCLE": ("conflict", 0, "wait for work that waits for it"),
    "TRANSIENT_ERROR": ("transient", 1, "failed for a passing reason"),
    "RATE_LIMITED": ("transient", 1, "told to slow down"),
    "CONNECTION_LOST": ("transient", 1, "lost its connection"),
    "TIMEOUT": ("timeout", 1, "ran out of time"),
    "DEADLINE_EXCEEDED": ("timeout", 1, "still running at its deadline"),
    "IDLE_TIMEOUT": ("timeout", 1, "no progress for too long"),
    "CANCELLED": ("cancelled", 1, "cancelled while it ran"),
    "NOT_STARTED": ("cancelled", 0, "cancelled before it started"),
    "INTERNAL_ERROR": ("internal", 1, "failed"),
    "OUTPUT_INVALID": ("internal", 1, "cannot be shown"),
    "TOOL_REPORTED_ERROR": ("internal", 1, "got an error from its server"),
    "WORKER_LOST": ("internal", 1, "lost together with the process"),
    "STRAY_CANCELLED": ("internal", 1, "failed"),
    "ENGINE_ERROR": ("internal", 1, "failed"),
}
"""Each code of the table of outcomes, the way it usually comes, and what the model has to read."""


@requirement("providers.honest-words")
@pytest.mark.parametrize(("code", "case"), CODES.items(), ids=CODES.keys())
def test_every_code_says_what_happened(code: str, case: tuple[Category, int, str]) -> None:
    category, attempts, part = case

    first, *_ = words_for(failed(category, "none", attempts, code=code)).splitlines()

    assert part in first
    assert code in first
    assert ("did not run" in first) is (attempts == 0)


@requirement("providers.honest-words")
def test_not_started_refused_and_interrupted_calls_read_differently() -> None:
    not_started = words_for(failed("cancelled", "none", 0, code="NOT_STARTED"))
    refused = words_for(failed("permission", "none", 0, code="HUMAN_DENIED"))
    interrupted = words_for(failed("cancelled", "unknown", 1, code="CANCELLED"))
    harmless = words_for(failed("cancelled", "none", 1, code="CANCELLED"))

    assert len({not_started, refused, interrupted, harmless}) == 4
    assert "did not run" in not_started
    assert "did not run" in refused
    assert "may have taken effect" in interrupted
    assert "did not run" not in interrupted
    assert "changed nothing" in harmless


@requirement("providers.honest-words")
def test_what_a_server_says_of_its_error_is_not_contradicted_and_not_vouched_for() -> None:
    words = words_for(failed("internal", "unknown", 1, code="TOOL_REPORTED_ERROR"))

    assert words.endswith(
        "That is what the server says. Whether it changed anything is not known here. Do not simply repeat it; check "
        "first what happened."
    )
    assert "taken effect" not in words


@requirement("providers.honest-words")
@pytest.mark.parametrize(
    "words",
    [
        words_for(failed(category, "none", attempts, retryable=retryable))
        for category, attempts, retryable in itertools.product(CATEGORIES, (0, 1), (False, True))
    ],
)
def test_a_call_without_effect_is_never_said_to_have_one(words: str) -> None:
    assert "taken effect" not in words


ISSUES: Final = [
    {"path": "a", "code": "type", "message": "`a` must be an int, not a str"},
    {"path": "b[0].c", "code": "missing"},
    {"path": "", "code": "invalid", "message": "the whole is wrong"},
    {"path": "d", "code": "range", "message": "must be positive"},
]


@requirement("providers.words-say-where")
def test_each_issue_is_listed_with_its_path() -> None:
    words = words_for(failed("validation", "none", 0, message="four problems", details={"issues": ISSUES}))

    assert words.splitlines()[1:-1] == [
        "four problems",
        "- `a` must be an int, not a str",
        "- b[0].c: missing",
        "- the whole is wrong",
        "- d: must be positive",
    ]


@requirement("providers.words-say-where")
def test_a_message_that_only_lists_the_issues_is_not_said_twice() -> None:
    issues = [{"path": "a", "message": "`a` is wrong"}, {"path": "b", "message": "`b` is wrong"}]
    joined = "`a` is wrong; `b` is wrong"

    words = words_for(failed("validation", "none", 0, message=joined, details={"issues": issues}))
    contained = words_for(failed("validation", "none", 0, message=f"see: {joined}", details={"issues": issues}))

    assert words.splitlines()[1:-1] == ["- `a` is wrong", "- `b` is wrong"]
    assert contained.splitlines()[1:-1] == [f"see: {joined}"]


@requirement("providers.words-say-where")
def test_many_issues_are_counted_and_odd_ones_do_not_hurt() -> None:
    many: list[object] = [{"path": f"p{n}", "message": "wrong"} for n in range(25)]

    words = words_for(failed("validation", "none", 0, message="", details={"issues": many}))
    odd = words_for(failed("validation", "none", 0, details={"issues": ["just a text", 5, {}]}))
    none = words_for(failed("validation", "none", 0, details={"issues": "text"}))

    assert words.splitlines()[20:22] == ["- p19: wrong", "- and 5 more"]
    assert odd.splitlines()[2:-1] == ["- just a text", "- 5", "- is invalid"]
    assert len(none.splitlines()) == 3


Action = Literal["approval", "input", "resolution", "authorization"]


PAUSES: Final[list[tuple[Action, Effect, int, str, str]]] = [
    (
        "approval",
        "none",
        0,
        "has not run yet: it needs an approval first.",
        "Nothing was changed. Do not send the call again; it goes on when that is done.",
    ),
    (
        "input",
        "none",
        1,
        "has stopped on its way: it needs an answer from a person first.",
        "It has changed nothing so far. Do not send the call again; it goes on when that is done.",
    ),
    (
        "approval",
        "unknown",
        1,
        "has stopped on its way: it needs an approval first.",
        "It may have taken effect already. Do not send the call again.",
    ),
    (
        "approval",
        "completed",
        1,
        "has stopped on its way: it needs an approval first.",
        "It has taken effect in part already. Do not send the call again.",
    ),
    (
        "resolution",
        "unknown",
        0,
        "did not run again: somebody has to find out first how an earlier attempt ended.",
        "An earlier attempt of the same call may have taken effect. Do not simply repeat it; check first what happened.",
    ),
    (
        "authorization",
        "completed",
        0,
        "did not run again: an authorization is needed to show how an earlier attempt ended.",
        "An earlier attempt of the same call has taken effect already. Do not repeat it.",
    ),
]


@requirement("providers.honest-words")
@pytest.mark.parametrize(("action", "effect", "attempts", "head", "end"), PAUSES)
def test_a_pause_says_what_it_waits_for(action: Action, effect: Effect, attempts: int, head: str, end: str) -> None:
    paused = ToolResult[object](
        "", "c", "pay", "action_required", action=RequiredAction(action, "ask"), effect=effect, attempts=attempts
    )

    assert words_for(paused) == f"The tool 'pay' {head}\nask\n{end}"


@requirement("providers.honest-words")
def test_results_without_their_reason_still_have_words() -> None:
    error = ToolResult[object]("", "c", "", "error")
    paused = ToolResult[object]("", "c", "", "action_required")

    assert words_for(error).startswith("The call did not run: something failed inside")
    assert words_for(paused).startswith("The call has not run yet: somebody has to act first.")


@requirement("providers.never-empty")
def test_a_success_is_its_own_text() -> None:
    said = ToolResult[object]("", "c", "pay", "success", content=(TextContent("paid"),), attempts=1)
    seen = ToolResult[object]("", "c", "pay", "success", content=(ImageContent(b"xyz", "image/png"),), attempts=1)
    blank = ToolResult[object]("", "c", "pay", "success", content=(TextContent(" "),), attempts=1)

    assert words_for(said) == "paid"
    assert words_for(seen) == "[image image/png, 3 bytes]"
    assert words_for(blank) == "The tool ran and returned nothing."


@requirement("providers.honest-words")
def test_a_stream_that_failed_says_how_much_it_had_produced() -> None:
    error = ToolError("internal", "INTERNAL_ERROR", "gone")
    broken = ToolResult[object]("", "c", "pay", "error", error=error, effect="unknown", chunks=("a", "b"), attempts=1)

    assert "It had produced 2 pieces of output before." in words_for(broken)


@requirement("content.never-empty")
async def test_an_exception_without_words_is_told_by_its_type_under_the_id_of_its_call() -> None:
    @tool(effect="read-only")
    async def mute() -> None:
        raise ValueError

    result = await Toolbox([mute]).execute(ToolCall("mute", id="c-7"))

    assert "ValueError" in result.text
    assert result.call_id == "c-7"


@requirement("providers.honest-words")
def test_of_a_call_that_nobody_can_resume_no_hope_is_given() -> None:
    question = Question("toolbox", "big", RequiredAction("approval", "ask"))
    pending = PendingApproval("c", "pay", "default:pay", {}, question)
    paused = ToolResult[object]("", "c", "pay", "action_required", action=question.action, pending_approval=pending)

    assert words_for(paused).splitlines()[-1].startswith("Nothing was changed. Nothing goes on by itself here")
    assert "goes on when" not in words_for(paused)
