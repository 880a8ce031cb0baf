"""What people report of tool calls, from a provider's message through a supervisor and back, for every provider.

Cases about schemas alone stand in test_compiled_cases.py, those about streams in test_assembly_*.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Final, Optional, cast

import msgspec
import pytest
import trio

from armory_trio import Ask, Deny, ImageContent, PolicyRequest, Tool, Toolbox, ToolContext, open_supervisor, tool
from armory_trio.providers import Turn, anthropic, check_history, extend_history, gemini, openai, repair_history
from armory_trio.toolbox import Manifest, ProviderName
from tests.requirements import requirement

from ._legal import assert_legal
from ._results import PICTURE
from ._sdk import accept

Json = dict[str, object]
AnyTool = Tool[..., object]

READERS: Final = {
    "openai-chat": openai.parse_chat_tool_calls,
    "openai-responses": openai.parse_response_tool_calls,
    "anthropic": anthropic.parse_tool_calls,
    "gemini": gemini.parse_tool_calls,
}
STOPS: Final = {
    "openai-chat": ("tool_calls", "length"),
    "openai-responses": ("completed", "incomplete"),
    "anthropic": ("tool_use", "max_tokens"),
    "gemini": ("STOP", "MAX_TOKENS"),
}
FORMS: Final[tuple[ProviderName, ...]] = (
    *("openai-chat", "openai-responses", "anthropic", "gemini", "gemini-openapi", "common"),
)
TEXTUAL: Final = ("openai-chat", "openai-responses", "anthropic")
"""Who may send arguments as JSON text: of Anthropic, servers that stand in for it."""

every = pytest.mark.parametrize("provider", READERS)
every_form = pytest.mark.parametrize("form", FORMS)


class Asked(msgspec.Struct):
    """One call as a model makes it."""

    name: str
    arguments: object
    id: str | None = "c1"


def message(provider: str, calls: Sequence[Asked], *, cut: bool = False) -> object:
    stop = STOPS[provider][cut]
    match provider:
        case "openai-chat":
            entries = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
            return {"choices": [{"finish_reason": stop, "message": {"role": "assistant", "tool_calls": entries}}]}
        case "openai-responses":
            items = [
                {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
                for call in calls
            ]
            return {"object": "response", "status": stop, "output": items}
        case "anthropic":
            uses = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in calls]
            return {"type": "message", "role": "assistant", "stop_reason": stop, "content": uses}
        case _:
            parts = [{"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in calls]
            return {"candidates": [{"finishReason": stop, "content": {"role": "model", "parts": parts}}]}


def asked(provider: str, *calls: Asked, cut: bool = False, manifest: Manifest | None = None) -> Turn:
    return READERS[provider](message(provider, calls, cut=cut), manifest=manifest)


def wired(provider: str, arguments: Json) -> object:
    return json.dumps(arguments) if provider.startswith("openai") else arguments


async def heard(turn: Turn, *tools: AnyTool) -> list[tuple[str | None, str]]:
    """The ids and the texts that the model gets; accepted by the SDK's own types."""
    async with open_supervisor(Toolbox(tools)) as supervisor:
        reply = turn.reply(await supervisor.execute_batch(turn.calls))
    accept(turn, reply)
    return answers(turn, reply)


def answers(turn: Turn, reply: list[Json]) -> list[tuple[str | None, str]]:
    def said(value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    found: list[tuple[object, str]] = []
    match turn.provider:
        case "openai-chat":
            found = [(each["tool_call_id"], said(each["content"])) for each in reply if each["role"] == "tool"]
        case "openai-responses":
            found = [(each["call_id"], said(each["output"])) for each in reply]
        case "anthropic":
            for block in cast("list[Json]", reply[0]["content"]):
                if block["type"] == "tool_result":
                    texts = [str(each["text"]) for each in cast("list[Json]", block["content"]) if "text" in each]
                    found.append((block["tool_use_id"], "\n".join(texts)))
        case "gemini":
            for part in cast("list[Json]", reply[0]["parts"]):
                response = cast("Json", part["functionResponse"])
                inner = cast("Json", response["response"])
                found.append((response.get("id"), said(next(iter(inner.values())))))
    return [(None if call_id is None else str(call_id), text) for call_id, text in found]


# ── 31 to 47: what a signature says, and what a value means ──────────────────────────────────────────────────────────

received: list[object] = []


class Stop(msgspec.Struct):
    """Where to get off."""

    station: str


@tool(effect="read-only")
async def ride(
    ctx: ToolContext,
    stop: Optional[Stop] = None,  # noqa: UP045  # as it is reported
    *,
    _p: int,
    model_config: str,
    schema: str,
    copy: bool,
    self_: int,
    cls: int,
) -> str:
    """Ride."""
    received.append((ctx.call_id, stop, _p, model_config, schema, copy, self_, cls))
    return "rode"


GIVEN: Final[Json] = {"_p": 1, "model_config": "m", "schema": "s", "copy": True, "self_": 2, "cls": 3}


@requirement("offering.parsed", "compiling.keyword-names")
@every_form
async def test_awkward_names_reach_every_provider_and_come_back_and_the_context_does_not(form: ProviderName) -> None:
    received.clear()
    manifest = Toolbox([ride]).to_provider(form)
    provider = {"gemini-openapi": "gemini", "common": "openai-chat"}.get(form, form)
    arguments = dict(manifest.write("ride", {**GIVEN, "stop": {"station": "north"}}))
    told = cast("Json", manifest.offered[0].schema["properties"])

    turn = asked(provider, Asked("ride", wired(provider, arguments)), manifest=manifest)
    assert (await heard(turn, ride))[0][1] == "rode"
    refused = asked(provider, Asked("ride", wired(provider, {**arguments, "ctx": {}})), manifest=manifest)
    assert "`ctx`" in (await heard(refused, ride))[0][1]

    assert len(told) == 7
    assert "ctx" not in json.dumps(list(told))
    assert received == [("c1", Stop("north"), *GIVEN.values())]


@tool(effect="read-only")
async def wait(days: Annotated[int, msgspec.Meta(ge=1, le=7, description="How many days.")]) -> str:
    """Wait."""
    return f"{days!r}"


@requirement("compiling.losses", "providers.words-say-where")
@every_form
async def test_a_limit_is_told_to_every_provider_and_asked_for_here(form: ProviderName) -> None:
    manifest = Toolbox([wait]).to_provider(form, strict=True)
    provider = {"gemini-openapi": "gemini", "common": "openai-chat"}.get(form, form)
    told = str(manifest.offered[0].schema)

    [(_, text)] = await heard(asked(provider, Asked("wait", wired(provider, {"days": 9}))), wait)

    assert "How many days." in told
    assert "'maximum': 7" in told or "maximum: 7" in told
    assert "`days`" in text
    assert "7" in text


@tool(effect="read-only")
async def read(topic: str = "", *, flag: bool = False, count: int = 0, tags: list[str] | None = None) -> str:
    """Read."""
    received.append((topic, flag, count, tags))
    return f"read {topic!r} {flag!r} {count!r} {tags!r}"


@requirement("providers.words-say-where", "providers.round-trip")
@every
async def test_a_misspelt_argument_is_named_with_the_right_one_and_nothing_runs(provider: str) -> None:
    received.clear()

    [(_, text)] = await heard(asked(provider, Asked("read", wired(provider, {"topik": "x"}))), read)

    assert "`topik`" in text
    assert "`topic`" in text
    assert received == []


@requirement("providers.round-trip")
@every
@pytest.mark.parametrize("text", ["12345", "true", "null", "[1]", '{"a": 1}', ""])
async def test_a_text_that_looks_like_json_stays_a_text(provider: str, text: str) -> None:
    received.clear()

    await heard(asked(provider, Asked("read", wired(provider, {"topic": text}))), read)

    assert received == [(text, False, 0, None)]


@requirement("providers.round-trip")
@every
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"tags": '["a"]'}, "tags"),
        ({"flag": "banana"}, "flag"),
        ({"flag": "false"}, "flag"),
        ({"flag": 1}, "flag"),
        ({"count": True}, "count"),
        ({"count": 3.5}, "count"),
        ({"count": "3"}, "count"),
    ],
    ids=["list", "banana", "false", "one", "true", "half", "digits"],
)
async def test_nothing_is_read_as_another_type(provider: str, arguments: Json, name: str) -> None:
    received.clear()

    [(_, text)] = await heard(asked(provider, Asked("read", wired(provider, arguments))), read)

    assert received == []
    assert f"`{name}`" in text


@tool(effect="read-only")
async def twice(number: int) -> int:
    """Double a number."""
    received.append(number)
    return number * 2


@requirement("providers.round-trip", "providers.gemini-exact")
@every
@pytest.mark.parametrize("number", [9007199254740993, 2**62, -(2**63), 3.0], ids=str)
async def test_a_whole_number_is_exact_both_ways(provider: str, number: float) -> None:
    received.clear()

    [(_, text)] = await heard(asked(provider, Asked("twice", wired(provider, {"number": number}))), twice)

    assert received == [int(number)]
    assert type(received[0]) is int
    assert text == str(int(number) * 2)


# ── 48, 54, 55, 56: arguments that are none ──────────────────────────────────────────────────────────────────────────

HOSTILE: Final[dict[str, str]] = {
    "deep": "[" * 20_000 + "]" * 20_000,
    "deep inside": '{"topic":' + "[" * 20_000,
    "digits": '{"count": ' + "9" * 10_000 + "}",
    "twice": '{"topic": "a", "topic": "b"}',
    "NaN": '{"count": NaN}',
    "infinite": '{"count": -Infinity}',
    "too large": '{"count": 1e400}',
    "behind": '{"topic": "a"} and so on',
    "two": '{"topic": "a"}{"topic": "b"}',
    "mark": '\ufeff{"topic": "a"}',
    "space": " " * 5_000_000,
    "cut": '{"topic": "Par',
    "list": "[1]",
    "text": '"x"',
    "number": "5",
    "single quotes": "{'topic': 'a'}",
}


@requirement("providers.hostile-json", "providers.malformed-never-runs", "providers.round-trip")
@pytest.mark.parametrize("provider", TEXTUAL)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_arguments_are_an_answer_and_the_next_call_runs(provider: str, text: str) -> None:
    received.clear()

    turn = asked(provider, Asked("read", text), Asked("read", '{"topic": "b"}', "c2"))
    (broken, words), (whole, next_one) = await heard(turn, read)

    assert (broken, whole) == ("c1", "c2")
    assert words.startswith("The tool 'read' did not run")
    assert next_one == "read 'b' False 0 None"
    assert received == [("b", False, 0, None)]


@requirement("providers.hostile-json", "providers.round-trip")
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@pytest.mark.parametrize(
    "arguments",
    [[1], 5, True, {"count": math.nan}, {"count": math.inf}, {1: 2}, {"topic": {"a", "b"}}],
    ids=["list", "number", "flag", "nan", "inf", "key", "set"],
)
async def test_decoded_arguments_that_are_no_json_object_are_an_answer(provider: str, arguments: object) -> None:
    received.clear()

    [(_, words)] = await heard(asked(provider, Asked("read", arguments)), read)

    assert words.startswith("The tool 'read' did not run")
    assert received == []


@tool(effect="read-only")
async def now() -> str:
    """Tell the time."""
    return "noon"


@requirement("providers.nothing-is-an-empty-object", "providers.round-trip")
@pytest.mark.parametrize(
    ("provider", "nothing"),
    [*((provider, text) for provider in TEXTUAL for text in ("", "  ", None, "null", "{}")), ("gemini", None)],
)
async def test_nothing_is_no_arguments(provider: str, nothing: str | None) -> None:
    turn = asked(provider, Asked("now", nothing), Asked("wait", nothing, "c2"))

    (_, time), (_, refused) = await heard(turn, now, wait)

    assert time == "noon"
    assert "`days` is required and missing" in refused


@requirement("history.arguments", "providers.malformed-never-runs")
@every
@pytest.mark.parametrize("broken", ['{"city":"Par', '"x"', "[1]", '{} {"a"'], ids=["cut", "text", "list", "behind"])
async def test_a_malformed_call_leaves_a_history_that_every_request_may_have(provider: str, broken: str) -> None:
    said = message(provider, [Asked("read", broken)])
    turn = READERS[provider](said)
    async with open_supervisor(Toolbox([read])) as supervisor:
        results = await supervisor.execute_batch(turn.calls)

    history = extend_history([], said, turn, results)

    assert turn.calls[0].defect is not None
    assert check_history(history, provider=turn.provider) == ()
    assert_legal(provider, history)


@requirement("providers.truncated-refused", "providers.round-trip")
@every
@pytest.mark.parametrize("last", ['{"topic": "a"}', '{"topic": "/a'], ids=["closed", "open"])
async def test_the_last_call_of_a_cut_message_never_runs(provider: str, last: str) -> None:
    received.clear()
    value: object = last if provider.startswith("openai") else {"topic": "a"}
    calls = [Asked("read", wired(provider, {"topic": "first"})), Asked("read", value, "c2")]

    (_, first), (_, cut) = await heard(asked(provider, *calls, cut=True), read)

    assert first == "read 'first' False 0 None"
    assert "cut short" in cut
    assert received == [("first", False, 0, None)]


# ── 49, 59, 60, 61, 63: which result is whose ────────────────────────────────────────────────────────────────────────


@requirement("providers.duplicate-ids", "providers.call-order", "providers.round-trip")
@every
@pytest.mark.parametrize("ids", [("x", "x"), ("x", "y"), (None, None)], ids=["one", "two", "none"])
async def test_two_calls_of_one_tool_are_two_runs_and_two_results_in_order(
    provider: str, ids: tuple[str | None, str | None]
) -> None:
    said = [Asked("twice", wired(provider, {"number": at}), call_id) for at, call_id in enumerate(ids, 1)]
    for _ in range(2):  # the next turn may say the same id again
        received.clear()
        turn = asked(provider, *said)

        results = await heard(turn, twice)

        assert [text for _, text in results] == ["2", "4"]
        assert sorted(map(str, received)) == ["1", "2"]
        if ids[0] is not None:
            assert [call_id for call_id, _ in results] == list(ids)
        elif provider != "gemini":
            assert [call_id for call_id, _ in results] == list(turn.made_ids.values())


@requirement("history.ids")
@every
def test_a_long_id_has_one_short_form_in_call_and_result(provider: str) -> None:
    long = "call_" + "x" * 70 + "|fc_1"
    said = [Asked("now", wired(provider, {}), long), Asked("now", wired(provider, {}), f"{long}2")]
    turn = asked(provider, *said)
    history = list(repair_history([*_said(provider, said)], not_run=[long]).messages)

    text = json.dumps(history)

    assert check_history(history, provider=turn.provider) == ()
    if provider != "gemini":
        assert long not in text
        assert {text.count(call_id) for call_id in _ids(provider, history)} == {2}
        assert len(set(_ids(provider, history))) == 2
    else:
        assert text.count(f'"{long}"') == 2


def _said(provider: str, calls: Sequence[Asked]) -> list[object]:
    whole = cast("Json", message(provider, calls))
    match provider:
        case "openai-chat":
            return [cast("list[Json]", whole["choices"])[0]["message"]]
        case "openai-responses":
            return cast("list[object]", whole["output"])
        case "anthropic":
            return [{"role": "assistant", "content": whole["content"]}]
        case _:
            return [cast("list[Json]", whole["candidates"])[0]["content"]]


def _ids(provider: str, history: Sequence[object]) -> list[str]:
    first = cast("Json", history[0])
    match provider:
        case "openai-chat":
            return [str(call["id"]) for call in cast("list[Json]", first["tool_calls"])]
        case "openai-responses":
            return [str(item["call_id"]) for item in cast("list[Json]", history) if item["type"] == "function_call"]
        case _:
            return [str(use["id"]) for use in cast("list[Json]", first["content"])]


@requirement("providers.every-call-answered", "providers.honest-words", "providers.call-order")
@every
async def test_slow_quick_refused_and_cancelled_calls_are_answered_in_call_order(provider: str) -> None:
    order: list[str] = []
    quick_done = trio.Event()

    @tool(effect="read-only")
    async def slow() -> str:
        """Wait for the other one."""
        await quick_done.wait()
        order.append("slow")
        return "slow done"

    @tool(effect="read-only")
    async def quick() -> str:
        """Be done."""
        order.append("quick")
        quick_done.set()
        return "quick done"

    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
    async def stuck() -> None:
        """Never end."""
        order.append("stuck")
        await trio.sleep_forever()

    calls = [Asked(name, wired(provider, {}), name) for name in ("slow", "quick", "steal", "stuck")]
    turn = asked(provider, *calls)
    async with open_supervisor(Toolbox([slow, quick, stuck])) as supervisor:
        executions = [supervisor.start(call) for call in turn.calls]
        results = [await execution.result() for execution in executions[:3]]
        executions[3].abort("the user left")
        reply = turn.reply([await executions[3].result(), *reversed(results)])

    texts = dict(answers(turn, reply))
    assert order[-1] == "slow"
    assert [call_id for call_id, _ in answers(turn, reply)] == ["slow", "quick", "steal", "stuck"]
    assert (texts["slow"], texts["quick"]) == ("slow done", "quick done")
    assert "did not run: there is no such tool" in texts["steal"]
    assert "It may have taken effect" in texts["stuck"]


@requirement("providers.honest-words", "providers.round-trip")
@every
async def test_a_denial_and_a_pause_say_who_decides_and_that_nothing_ran(provider: str) -> None:
    received.clear()

    def judge(request: PolicyRequest) -> Ask | Deny:
        number = request.arguments["number"]
        return Deny("never an odd number") if number == 1 else Ask("the owner has to agree")

    @tool(requires_approval=True)
    async def triple(number: int) -> int:
        """Triple a number."""
        received.append(number)
        return number * 3

    calls = [
        Asked("twice", wired(provider, {"number": 1}), "denied"),
        Asked("twice", wired(provider, {"number": 2}), "asked"),
        Asked("triple", wired(provider, {"number": 3}), "human"),
    ]
    turn = asked(provider, *calls)
    ruled = Toolbox([twice], policy=judge)
    async with (
        open_supervisor(ruled) as judged,
        open_supervisor(Toolbox([triple]), approval_handler=lambda _: Deny("not on a Friday")) as by_hand,
    ):
        results = [*await judged.execute_batch(turn.calls[:2]), *await by_hand.execute_batch(turn.calls[2:])]
    reply = turn.reply(results)
    accept(turn, reply)

    denied, paused, human = (text for _, text in answers(turn, reply))
    assert "did not run" in denied
    assert "never an odd number" in denied
    assert "has not run yet" in paused
    assert "the owner has to agree" in paused
    assert "did not run" in human
    assert "not on a Friday" in human
    assert received == []


# ── 53, 64, 67, 68: what a tool gives ────────────────────────────────────────────────────────────────────────────────


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}, output="annotation")
async def count() -> dict[str, int]:
    """Answer something else than it promises."""
    return {"n": cast("int", "wrong")}


@tool(effect="read-only")
async def odd() -> object:
    """Answer what no JSON can be."""
    return object()


@tool(effect="read-only")
async def blank(kind: str) -> object:
    """Answer nothing, or fail without a word."""
    if kind == "error":
        raise ValueError
    nothing: dict[str, object] = {"None": None, "text": "", "list": []}
    return nothing[kind]


@requirement("providers.honest-words", "providers.never-empty")
@every
async def test_a_result_that_is_none_says_that_the_work_was_done(provider: str) -> None:
    calls = [Asked(name, wired(provider, {}), name) for name in ("count", "odd")]

    (_, broken), (_, other) = await heard(asked(provider, *calls), count, odd)

    assert "It has taken effect; what failed came afterwards. Do not repeat it." in broken
    assert "OUTPUT" in broken
    assert "OUTPUT" in other or "object" in other
    assert "0x" not in other


@requirement("providers.never-empty")
@every
async def test_nothing_and_an_error_without_words_have_words_under_the_right_id(provider: str) -> None:
    kinds = ["None", "text", "list", "error"]
    calls = [Asked("blank", wired(provider, {"kind": kind}), kind) for kind in kinds]

    results = await heard(asked(provider, *calls), blank)

    assert [call_id for call_id, _ in results] == kinds
    assert all(text.strip() for _, text in results)
    assert "ValueError" in results[3][1]


@tool(effect="read-only")
async def look(at: str) -> tuple[str, ImageContent]:
    """Take a picture."""
    return f"this is {at}", PICTURE


@requirement("providers.media", "providers.call-order")
@every
async def test_a_text_beside_a_picture_stays_a_text_and_the_picture_a_picture(provider: str) -> None:
    calls = [Asked("look", wired(provider, {"at": at}), at) for at in ("north", "south")]
    turn = asked(provider, *calls)
    async with open_supervisor(Toolbox([look])) as supervisor:
        reply = turn.reply(await supervisor.execute_batch(turn.calls))
    accept(turn, reply)

    whole = json.dumps(reply)
    assert whole.count("this is north") == whole.count("this is south") == 1
    data = "iVBORw0KGgpub3QgcmVhbGx5"
    assert whole.count(data) == 2
    assert not any(data in text for _, text in answers(turn, reply) if provider != "openai-responses")
    assert [len(reply), provider] in ([3, "openai-chat"], [2, "openai-responses"], [1, "anthropic"], [2, "gemini"])
