"""Models that follow a script, in the form of each provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Final, cast, get_args

import anthropic.types
import pytest
import trio
from google.genai import types as genai
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from armory_trio import (
    AdmissionClosed,
    DefinitionError,
    ImageContent,
    JsonError,
    Toolbox,
    ToolCall,
    open_supervisor,
    tool,
)
from armory_trio.providers import Provider, detect_provider
from armory_trio.testing import (
    Line,
    ScriptedCall,
    ScriptedModel,
    ScriptedTurn,
    ScriptError,
    ToolAnswer,
    Transcript,
    mock_tool,
    open_recorded,
    run_scripted,
)
from tests.definitions._json import any_text, json_values, same
from tests.providers._sdk import accept
from tests.requirements import requirement

Json = dict[str, object]

PROVIDERS: Final[tuple[Provider, ...]] = get_args(Provider)
PREFIXES: Final = {"openai-chat": "call_", "openai-responses": "call_", "anthropic": "toolu_", "gemini": None}
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


@tool(effect="read-only")
async def price(sku: str) -> dict[str, object]:
    """The price of an article."""
    if sku != "A-1":
        raise LookupError(f"no article {sku}")
    return {"cents": 250}


TOOLBOX: Final = Toolbox([price])
PRICE: Final = ScriptedCall("price", {"sku": "A-1"})


async def play(provider: Provider, *script: Line, toolbox: Toolbox = TOOLBOX) -> Transcript:
    async with open_supervisor(toolbox) as supervisor:
        return await run_scripted(ScriptedModel(provider, script), supervisor, prompt="What does A-1 cost?")


def validate(provider: Provider, response: Json) -> None:
    sdk: object
    match provider:
        case "openai-chat":
            sdk = ChatCompletion.model_validate(response, strict=True)
        case "openai-responses":
            sdk = Response.model_validate(response, strict=True)
        case "anthropic":
            sdk = anthropic.types.Message.model_validate(response, strict=True)
        case _:
            sdk = genai.GenerateContentResponse.model_validate(response)
    assert detect_provider(sdk) == provider


@requirement("testing.script")
@every_provider
@pytest.mark.parametrize(
    "turn",
    [
        ScriptedTurn("It costs 250 cents."),
        ScriptedTurn("", (PRICE,)),
        ScriptedTurn("Let me see.", (PRICE, ScriptedCall("price", {"sku": "B"}), ScriptedCall("price", {}, "mine"))),
        ScriptedTurn("Let me", (PRICE,), cut=True),
        ScriptedTurn(),
    ],
)
def test_a_turn_is_a_response_that_the_sdk_takes_and_our_parser_reads(provider: Provider, turn: ScriptedTurn) -> None:
    model = ScriptedModel(provider, [turn])

    response = model.respond([model.ask("Go.")])
    parsed = model.parse(response)

    validate(provider, response)
    assert (parsed.provider, detect_provider(response)) == (provider, provider)
    assert [call.name for call in parsed.calls] == [call.name for call in turn.calls]
    if turn.cut:
        assert [call.defect and call.defect.code for call in parsed.calls] == ["TRUNCATED_CALL"]
    else:
        assert [call.arguments for call in parsed.calls] == [call.arguments for call in turn.calls]
    assert turn.text in str(model.said(response))


@requirement("testing.script")
@every_provider
def test_calls_are_numbered_through_the_script_and_the_same_each_time(provider: Provider) -> None:
    def ids() -> list[str | None]:
        model = ScriptedModel(provider, [[PRICE, PRICE, "and"], "over"])
        return [call.wire_id for call in model.parse(model.respond([])).wire]

    prefix = PREFIXES[provider]
    assert ids() == ids() == ([None, None] if prefix is None else [f"{prefix}1", f"{prefix}2"])


@requirement("testing.script")
@every_provider
async def test_a_call_may_be_broken_on_purpose(provider: Provider) -> None:
    transcript = await play(provider, ScriptedCall("price", '{"sku": "A-'), "Sorry.")

    [result] = transcript.results
    assert result.error is not None
    assert result.error.code == "MALFORMED_CALL"


@requirement("testing.script")
@every_provider
@given(
    text=any_text,
    calls=st.lists(
        st.tuples(
            st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
            st.dictionaries(any_text, json_values(any_text), max_size=3),
        ),
        max_size=3,
    ),
)
def test_whatever_is_scripted_is_what_our_parser_reads(
    provider: Provider, text: str, calls: list[tuple[str, dict[str, object]]]
) -> None:
    model = ScriptedModel(provider, [[text, *(ScriptedCall(name, arguments) for name, arguments in calls)]])

    response = model.respond([])

    assert [(call.name, call.defect) for call in model.parse(response).calls] == [(name, None) for name, _ in calls]
    assert [same(call.arguments, sent[1]) for call, sent in zip(model.parse(response).calls, calls, strict=True)] == [
        True
    ] * len(calls)
    validate(provider, response)


@requirement("testing.script.wrong")
def test_arguments_that_are_no_json_are_refused_where_they_are_written() -> None:
    with pytest.raises(JsonError, match=r"arguments\.when: datetime\.datetime is no JSON type"):
        ScriptedCall("a", {"when": datetime.now(UTC)})


@requirement("testing.script.conversation")
@every_provider
async def test_a_conversation_is_played_to_its_end(provider: Provider) -> None:
    seen: list[tuple[ToolAnswer, ...]] = []

    def last(answers: tuple[ToolAnswer, ...]) -> str:
        seen.append(answers)
        return f"It costs {answers[0].text}."

    transcript = await play(
        provider, ["Let me see.", PRICE, ScriptedCall("price", {"sku": "B"})], ScriptedCall("nothing"), PRICE, last
    )

    assert [len(turn.calls) for turn in transcript.turns] == [2, 1, 1, 0]
    assert [result.error and result.error.code for result in transcript.results] == [
        None,
        "INTERNAL_ERROR",
        "NOT_FOUND",
        None,
    ]
    assert [turn.number for turn in transcript.turns] == [1, 2, 3, 4]
    [[answer]] = seen
    assert (answer.name, answer.text.replace(" ", "")) == ("price", '{"cents":250}')
    assert "What does A-1 cost?" in str(transcript.history[0])
    assert answer.text in str(transcript.history[-1])
    assert str(transcript) == (
        "turn 1\n"
        "  price {'sku': 'A-1'}: success, effect none\n"
        "  price {'sku': 'B'}: INTERNAL_ERROR, effect none\n"
        "turn 2\n"
        "  nothing {}: NOT_FOUND, effect none\n"
        "turn 3\n"
        "  price {'sku': 'A-1'}: success, effect none\n"
        "turn 4: no calls"
    )
    for turn in transcript.turns:
        validate(provider, turn.response)
        accept(ScriptedModel(provider, ["x"]).parse(turn.response), list(turn.replies))


@requirement("testing.script.conversation")
@every_provider
async def test_options_names_and_time_are_those_of_the_host(provider: Provider, autojump_clock: trio.abc.Clock) -> None:
    slow = mock_tool("search", delay=60, effect="read-only")
    model = ScriptedModel(provider, [ScriptedCall("Suche"), "Over."], names={"Suche": "search"})
    async with open_recorded(Toolbox([slow])) as (supervisor, calls):
        await run_scripted(model, supervisor, owner_id="ann", timeout=5)

    [call] = calls.assert_outcome("search", "error", code="TIMEOUT")
    assert (call.snapshot.owner_id, call.snapshot.settled_at) == ("ann", call.snapshot.admitted_at + 5)


@requirement("testing.script.answers")
@every_provider
async def test_the_model_reads_all_answers_and_whether_they_failed(provider: Provider) -> None:
    def last(answers: tuple[ToolAnswer, ...]) -> Sequence[str | ScriptedCall]:
        assert [answer.name for answer in answers] == ["price", "price", "picture"]
        assert "no article B" in answers[1].text
        failed = None if provider.startswith("openai") else False
        assert [answer.failed for answer in answers] == [failed, failed if failed is None else True, failed]
        assert answers[2].text
        return ["Fine.", "Bye."]

    @tool(effect="read-only")
    async def picture() -> ImageContent:
        """A picture."""
        return ImageContent(b"\x89PNG", "image/png")

    transcript = await play(
        provider,
        [PRICE, ScriptedCall("price", {"sku": "B"}), ScriptedCall("picture")],
        last,
        toolbox=TOOLBOX.extend(picture),
    )

    assert len(transcript.turns) == 2
    assert "Fine.\\nBye." in str(transcript.history[-1])


# ── a host of one's own ──────────────────────────────────────────────────────────────────────────────────────────────

Edit = Callable[[list[Json], list[Json]], list[Json]]
"""From what was said and what was answered to what the host sends."""


def flat(message: Json) -> list[Json]:
    """The answers in a message that holds several."""
    return cast("list[Json]", message.get("content") or message.get("parts"))


def without_last(replies: list[Json]) -> list[Json]:
    if len(replies) > 1:
        return replies[:-1]
    [message] = replies
    return [{key: value[:-1] if isinstance(value, list) else value for key, value in message.items()}]


def one_twice(replies: list[Json]) -> list[Json]:
    if len(replies) > 1:
        return [*replies, replies[0]]
    [message] = replies
    return [{key: [*value, value[0]] if isinstance(value, list) else value for key, value in message.items()}]


WRONG: dict[str, tuple[Edit, str]] = {
    "forgets what the model said": (lambda _, replies: replies, "does not hold what the model said"),
    "sends nothing": (lambda said, _: said, "are not answered"),
    "leaves one out": (lambda said, replies: said + without_last(replies), "are not answered"),
    "answers one twice": (lambda said, replies: said + one_twice(replies), "are not answered"),
    "answers too late": (lambda said, replies: [*said, {"role": "user", "content": "So?"}, *replies], "not answered"),
}


@requirement("testing.script.answers")
@pytest.mark.parametrize(
    ("provider", "mistake"),
    # The items of the Responses API may stand anywhere behind the calls.
    [pair for pair in product(PROVIDERS, WRONG) if pair != ("openai-responses", "answers too late")],
)
async def test_what_the_provider_would_refuse_is_refused(provider: Provider, mistake: str) -> None:
    edit, words = WRONG[mistake]
    model = ScriptedModel(provider, [[PRICE, ScriptedCall("price", {"sku": "B"})], "Over."])
    history: list[Json] = [model.ask("Go.")]
    response = model.respond(history)
    turn = model.parse(response)
    async with open_supervisor(TOOLBOX) as supervisor:
        replies = turn.reply(await supervisor.execute_batch(turn.calls))

    with pytest.raises(ScriptError, match=rf"^turn 2 of 2 \({provider}\): .*{words}") as caught:
        model.respond([*history, *edit(model.said(response), replies)])
    assert (caught.value.turn, model.played) == (2, 1)

    model.respond([*history, *model.said(response), *replies])
    assert (model.played, model.left) == (2, 0)
    model.assert_finished()


@requirement("testing.script.answers")
def test_each_provider_has_its_own_reasons() -> None:
    chat = ScriptedModel("openai-chat", [ScriptedCall("price", id="a"), "x"])
    said = chat.said(chat.respond([]))
    with pytest.raises(ScriptError, match=r"no answer to the call 'a' of 'price'; an answer to 'b', which is no call"):
        chat.respond([*said, {"role": "tool", "tool_call_id": "b", "content": ""}])
    with pytest.raises(ScriptError, match=r"has None as its 'tool_call_id'; give the id"):
        chat.respond([*said, {"role": "tool", "content": ""}])

    model = ScriptedModel("openai-responses", [ScriptedCall("price", id="a"), "x"])
    said = model.said(model.respond([]))
    output = {"type": "function_call_output", "call_id": "a", "output": "1"}
    model.respond([*said, {"role": "user", "content": "so"}, output])
    assert [answer.text for answer in model.answers[1]] == ["1"]

    model = ScriptedModel("anthropic", [ScriptedCall("price", id="a"), "x"])
    said = model.said(model.respond([]))
    result = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
    with pytest.raises(ScriptError, match="stands behind other content"):
        model.respond([*said, {"role": "user", "content": [{"type": "text", "text": "so"}, result]}])
    model.respond([*said, {"role": "user", "content": [result, {"type": "text", "text": "so"}]}])
    assert model.answers[1] == (ToolAnswer("a", "price", "1", failed=False),)

    model = ScriptedModel("gemini", [[ScriptedCall("one"), ScriptedCall("two")], "x"])
    said = model.said(model.respond([]))
    parts = [{"functionResponse": {"name": name, "response": {"output": {"n": 1}}}} for name in ("two", "one")]
    with pytest.raises(ScriptError, match="in the user content directly after them: one, two; found two, one"):
        model.respond([*said, {"role": "user", "parts": parts}])
    model.respond([*said, {"role": "user", "parts": parts[::-1]}])
    assert model.answers[1][0].text == '{"n":1}'


@requirement("testing.script.answers")
@every_provider
def test_a_model_may_go_on_after_a_text_when_the_user_says_more(provider: Provider) -> None:
    model = ScriptedModel(provider, ["Hello.", lambda answers: f"{len(answers)} answers", "Bye."])
    history: list[Json] = [model.ask("Hi.")]
    for _ in range(3):
        history += model.said(model.respond(history))
        history.append(model.ask("And?"))

    assert "0 answers" in str(history)
    assert model.answers == [(), (), ()]


@requirement("testing.script.answers")
def test_a_host_may_keep_more_of_a_message_than_it_has_to() -> None:
    model = ScriptedModel("anthropic", ["Hello.", "Bye."])
    whole = model.respond([])

    model.respond([whole, model.ask("And?")])

    assert model.left == 0


@requirement("testing.script.answers")
def test_a_history_of_something_else_than_json_is_refused() -> None:
    model = ScriptedModel("openai-chat", ["Hello."])

    with pytest.raises(ScriptError, match=r"^turn 1 of 1 \(openai-chat\): history\[1\] is 7; give decoded JSON"):
        model.respond([model.ask("Hi."), 7])  # type: ignore[list-item]


# ── what goes wrong names the turn ───────────────────────────────────────────────────────────────────────────────────


def _broken(_: object) -> str:
    raise AssertionError("250 was expected")


def _silent(_: object) -> str:
    return cast("str", None)


@requirement("testing.script.wrong")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        (["Hello.", "Bye."], r"^turn 2 of 2 \(gemini\): the conversation ended before it; 1 turn left unplayed"),
        ([PRICE], r"^after turn 1 of 1 \(gemini\): the model is asked again, but .* over. It was told\n- price: "),
        ([PRICE, _broken], r"^turn 2 of 2 \(gemini\): it raised AssertionError: 250 was expected"),
        ([PRICE, 7], r"^turn 2 of 2 \(gemini\): 7 is no turn; give a text"),
        ([PRICE, _silent], r"^turn 2 of 2 \(gemini\): None is no turn"),
        ([["a", 7]], r"^turn 1 of 1 \(gemini\): 7 is no part of a turn"),
    ],
)
async def test_a_script_that_does_not_fit_says_which_turn(script: list[Line], words: str) -> None:
    with pytest.raises(ScriptError, match=words) as caught:
        await play("gemini", *script)

    assert isinstance(caught.value.__cause__, AssertionError) is (_broken in script)


@requirement("testing.script.wrong")
async def test_what_the_supervisor_raises_leaves_with_the_turn() -> None:
    async with open_supervisor(TOOLBOX) as supervisor:
        supervisor.close_admission()
        with pytest.raises(AdmissionClosed) as caught:
            await run_scripted(ScriptedModel("openai-chat", [PRICE, "x"]), supervisor)

    assert caught.value.__notes__ == ["This was in turn 1 of the script (openai-chat)."]


@requirement("testing.script.wrong")
def test_no_script_and_no_such_provider_are_refused() -> None:
    with pytest.raises(DefinitionError, match="script: has no turns"):
        ScriptedModel("gemini", [])
    with pytest.raises(DefinitionError, match=r"provider.*openai-chat"):
        ScriptedModel("openai", ["x"])  # type: ignore[arg-type]


@requirement("testing.script.conversation")
async def test_a_conversation_that_is_cancelled_aborts_what_runs(autojump_clock: trio.abc.Clock) -> None:
    slow = mock_tool("search", delay=60)
    model = ScriptedModel("openai-chat", [ScriptedCall("search"), "x"])
    async with open_recorded(Toolbox([slow])) as (supervisor, calls):
        with trio.move_on_after(5):
            await run_scripted(model, supervisor)

        calls.assert_outcome("search", "error", code="CANCELLED")
        assert (await supervisor.execute(ToolCall("search"), timeout=1)).attempts == 1
    assert model.played == 1
