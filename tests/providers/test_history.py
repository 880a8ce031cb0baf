"""Checking and repairing the calls and results of a history."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Final, cast

import pytest
from anthropic.types import MessageParam
from google.genai import types as genai
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam
from pydantic import TypeAdapter

from armory_trio import ToolCall
from armory_trio.providers import Fault, MessageError, Provider, check_history, repair_history
from tests.requirements import requirement

from ._histories import FORMS, Json, Round, anthropic, chat, damaged, gemini, responses, rounds
from ._legal import assert_legal
from ._results import PICTURE, failure, success

Form = tuple[Provider, Callable[[list[Round]], list[Json]]]

EVERY = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
ONE = [Round("hi", "ok", [("a", "f", {"n": 1}), ("b", "g", {"n": 2})]), Round("and?", "done", [])]


def kinds(faults: tuple[Fault, ...]) -> list[str]:
    return [fault.kind for fault in faults]


@requirement("history.legal-untouched")
@EVERY
@given(data=st.data())
def test_a_legal_history_has_no_faults_and_stays_as_it_is(form: Form, data: st.DataObject) -> None:
    provider, build = form
    history = build(data.draw(rounds()))

    assert_legal(provider, history)
    assert check_history(history, provider=provider) == check_history(history) == ()
    repair = repair_history(history, provider=provider)
    assert repair.done == ()
    assert all(new is old for new, old in zip(repair.messages, history, strict=True))
    assert repair.messages is not history


@requirement("history.repair", "history.faults")
@EVERY
@given(data=st.data())
def test_a_damaged_history_is_legal_after_one_repair(form: Form, data: st.DataObject) -> None:
    provider, build = form
    history = data.draw(damaged(provider, build(data.draw(rounds()))))
    before = copy.deepcopy(history)

    faults = check_history(history, provider=provider)
    repair = repair_history(history, provider=provider)

    assert history == before
    assert repair.done == faults
    assert_legal(provider, repair.messages)
    assert check_history(repair.messages, provider=provider) == ()
    assert repair_history(repair.messages, provider=provider).messages == repair.messages
    json.dumps(repair.messages)
    if not faults:
        assert_legal(provider, history)
    assert all(fault.path.startswith(f"$[{fault.position}]") and fault.words and fault.remedy for fault in faults)


@requirement("history.repair")
@EVERY
@given(data=st.data())
def test_no_result_of_a_call_that_is_still_there_gets_lost(form: Form, data: st.DataObject) -> None:
    """Whatever is moved about: a result that was there answers its call afterwards, unless it came twice."""
    provider, build = form
    history: list[Json] = build(data.draw(rounds()))
    shuffled = [dict(message) for message in history]
    at = data.draw(st.integers(0, max(0, len(shuffled) - 1)))
    moved = shuffled.pop(at) if shuffled else {}
    is_result = "done id" in json.dumps(moved) and "id_" in json.dumps(moved)
    shuffled.insert(data.draw(st.integers(at, len(shuffled))), moved)

    repaired = json.dumps(repair_history(shuffled, provider=provider).messages)

    if is_result and provider != "gemini":
        wanted = {word for word in json.dumps(moved).split('"') if word.startswith("done id")}
        assert all(word in repaired for word in wanted)


def broken(provider: Provider) -> dict[str, tuple[list[Json], list[str]]]:
    """The history of *provider* with one accident, and the faults that it has."""
    build = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}[provider]
    whole = build(ONE)
    cases: dict[str, tuple[list[Json], list[str]]] = {}
    if provider == "openai-chat":
        system, user, model, first, second, *rest = whole
        cases["one is missing"] = ([system, user, model, first, *rest], ["missing-result"])
        cases["all are missing"] = ([system, user, model, *rest], ["missing-result"] * 2)
        cases["the other order"] = ([system, user, model, second, first, *rest], ["result-order"])
        cases["a message in between"] = ([system, user, model, user, first, second, *rest], ["misplaced-result"])
        cases["before the call"] = ([system, first, user, model, second, *rest], ["misplaced-result"])
        cases["twice"] = ([system, user, model, first, first, second, *rest], ["repeated-result"])
        cases["no call"] = ([system, user, first, *rest], ["orphan-result"])
        nameless: Json = {"role": "tool", "content": "done a"}
        cases["no id"] = ([system, user, model, nameless, second, *rest], ["missing-id"])
    if provider == "anthropic":
        user, model, results, *rest = whole
        blocks = cast("list[Json]", results["content"])
        first, second, text = blocks
        cases["one is missing"] = ([user, model, {"role": "user", "content": [first, text]}, *rest], ["missing-result"])
        cases["all are missing"] = ([user, model, {"role": "user", "content": "and?"}, *rest], ["missing-result"] * 2)
        cases["the other order"] = (
            [user, model, {"role": "user", "content": [second, first, text]}, *rest],
            ["result-order"],
        )
        cases["text first"] = (
            [user, model, {"role": "user", "content": [text, first, second]}, *rest],
            ["misplaced-result"],
        )
        cases["two messages"] = (
            [user, model, {"role": "user", "content": [first]}, {"role": "user", "content": [second, text]}, *rest],
            ["misplaced-result"],
        )
        cases["the model's role"] = (
            [user, model, {"role": "assistant", "content": [first, second]}, *rest],
            ["misplaced-result"],
        )
        cases["twice"] = (
            [user, model, {"role": "user", "content": [first, second, first]}, *rest],
            ["repeated-result"],
        )
        cases["no call"] = ([user, {"role": "user", "content": [first, text]}, *rest], ["orphan-result"])
    if provider == "openai-responses":
        user, thought, call_a, call_b, first, second, *rest = whole
        cases["one is missing"] = ([user, thought, call_a, call_b, first, *rest], ["missing-result"])
        cases["before the call"] = ([first, user, thought, call_a, call_b, second, *rest], ["misplaced-result"])
        cases["twice"] = ([*whole, first], ["repeated-result"])
        cases["no call"] = ([user, thought, call_a, first, second, *rest], ["orphan-result"])
        cases["one id twice"] = ([*whole, call_a, first], ["repeated-id"])
    if provider == "gemini":
        user, model, results, *rest = whole
        first, second = cast("list[Json]", results["parts"])
        cases["one is missing"] = ([user, model, {"role": "user", "parts": [first]}, *rest], ["missing-result"])
        cases["all are missing"] = ([user, model, *rest], ["missing-result"] * 2)
        cases["the other order"] = ([user, model, {"role": "user", "parts": [second, first]}, *rest], ["result-order"])
        cases["two contents"] = (
            [user, model, {"role": "user", "parts": [first]}, {"role": "user", "parts": [second]}, *rest],
            ["misplaced-result"],
        )
        cases["twice"] = ([user, model, {"role": "user", "parts": [first, second, second]}, *rest], ["repeated-result"])
        cases["no call"] = ([user, results, *rest], ["orphan-result"] * 2)
    return cases


PROVIDERS: list[Provider] = ["openai-chat", "openai-responses", "anthropic", "gemini"]
CASES = {f"{provider}: {name}": (provider, *case) for provider in PROVIDERS for name, case in broken(provider).items()}


@requirement("history.faults", "history.repair")
@pytest.mark.parametrize(("provider", "history", "expected"), CASES.values(), ids=CASES.keys())
def test_each_accident_is_named_and_repaired(provider: Provider, history: list[Json], expected: list[str]) -> None:
    assert kinds(check_history(history)) == expected

    repaired = repair_history(history).messages

    assert_legal(provider, repaired)
    if expected in (["result-order"], ["misplaced-result"], ["repeated-result"], ["missing-id"]):
        build = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}[provider]
        results = [entry for entry in json.dumps(repaired).split('"') if entry.startswith("done ")]
        assert results == [entry for entry in json.dumps(build(ONE)).split('"') if entry.startswith("done ")]


WORDS: dict[Provider, list[Json]] = {
    "openai-chat": [{"role": "tool", "tool_call_id": "b", "content": "{}"}],
    "openai-responses": [{"type": "function_call_output", "call_id": "b", "output": "{}"}],
    "anthropic": [],
    "gemini": [],
}


def told(history: list[object], call_id: str) -> str:
    """What the model reads as the result of a call."""
    for message in cast("list[Json]", history):
        for entry in (
            message,
            *cast("list[Json]", message.get("content") if isinstance(message.get("content"), list) else []),
            *cast("list[Json]", message.get("parts", [])),
        ):
            if call_id in (entry.get("tool_call_id"), entry.get("tool_use_id")) or (
                entry.get("call_id") == call_id and entry.get("type") == "function_call_output"
            ):
                return json.dumps(entry)
            response = entry.get("functionResponse")
            if isinstance(response, dict) and cast("Json", response).get("id") == call_id:
                return json.dumps(entry)
    raise LookupError(call_id)


def with_lost_results(provider: Provider, arguments: object = None) -> list[Json]:
    build = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}[provider]
    history = [message for message in build(ONE[:1]) if "done " not in json.dumps(message)]
    if arguments is None:
        return history
    text = json.dumps(history)
    for written in ('"{\\"n\\": 2}"', '{"n": 2}'):
        text = text.replace(written, json.dumps(arguments))
    return cast("list[Json]", json.loads(text))


@requirement("history.missing")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_missing_result_says_what_is_known(provider: Provider) -> None:
    history = with_lost_results(provider)
    known = failure(ToolCall("f", id="a"), "timeout", "TIMEOUT", "too slow")

    nobody_knows = repair_history(history).messages
    not_run = repair_history(history, not_run=["b"]).messages
    from_host = repair_history(history, results=[known]).messages

    for repaired in (nobody_knows, not_run, from_host):
        assert_legal(provider, repaired)
    assert "It is not known whether it ran, or what it changed." in told(nobody_knows, "b")
    assert "did not run: the call was never started. Nothing was changed." in told(not_run, "b")
    assert "It is not known" in told(not_run, "a")
    assert "ran out of time (TIMEOUT)" in told(from_host, "a")
    assert "It may have taken effect." in told(from_host, "a")


@requirement("history.missing", "history.arguments")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("arguments", ['{"n": ', [1], "x", '{"a": 1}{}'])
def test_a_call_whose_arguments_are_no_object_did_not_run_and_is_legal_now(
    provider: Provider, arguments: object
) -> None:
    history = with_lost_results(provider, arguments)

    repair = repair_history(history)

    assert "arguments" in kinds(repair.done)
    assert_legal(provider, repair.messages)
    assert "did not run: the arguments were not one JSON object" in told(repair.messages, "b")


@requirement("history.missing")
def test_known_results_with_pictures_go_where_the_provider_takes_them() -> None:
    known = success(ToolCall("f", id="a"), "cap", PICTURE)
    for provider in PROVIDERS:
        repaired = repair_history([*with_lost_results(provider)], results=[known]).messages

        assert_legal(provider, repaired)
        assert "cap" in told(repaired, "a")
        assert "iVBORw0KGgpub" in json.dumps(repaired)


@requirement("history.missing")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_that_may_still_wait_are_no_fault(provider: Provider) -> None:
    history = with_lost_results(provider)

    assert check_history(history, pending=True) == ()
    assert kinds(check_history(history)) == ["missing-result"] * 2
    more: Json = {"role": "user", "content": "hm", "parts": [{"text": "hm"}]}
    assert kinds(check_history([*history, more], pending=True)) == ["missing-result"] * 2
    assert repair_history(history, pending=True).messages == history


@requirement("history.ids")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_id_of_another_provider_is_short_and_the_same_on_both_sides(provider: Provider) -> None:
    build = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}[provider]
    long = "call_" + "x" * 60 + "|fc_" + "y" * 14
    history = build([Round("hi", "ok", [(long, "f", {}), (long + "z", "f", {})])])

    repair = repair_history(history)

    assert kinds(repair.done) == ([] if provider == "gemini" else ["illegal-id"] * 2)
    assert_legal(provider, repair.messages)
    again = repair_history(history).messages
    assert repair.messages == again
    text = json.dumps(repair.messages)
    assert text.count("done ") == 2


@requirement("history.ids")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_that_share_an_id_are_two_afterwards_and_keep_their_results(provider: Provider) -> None:
    build = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}[provider]
    history = build([Round("hi", "ok", [("x", "f", {}), ("y", "f", {})])])
    twins = cast("list[Json]", json.loads(json.dumps(history).replace('"y"', '"x"')))

    repair = repair_history(twins)

    assert kinds(repair.done) == ["repeated-id"]
    assert_legal(provider, repair.messages)
    assert "done x" in told(repair.messages, "x")
    assert "done y" in told(repair.messages, "x_2")


@requirement("history.ids")
def test_an_id_may_come_again_in_a_later_message_where_the_provider_takes_that() -> None:
    twice = [Round("hi", "ok", [("x", "f", {})]), Round("hi", "ok", [("x", "f", {})])]

    assert check_history(chat(twice)) == check_history(gemini(twice)) == ()
    assert kinds(check_history(anthropic(twice))) == kinds(check_history(responses(twice))) == ["repeated-id"]
    assert_legal("anthropic", repair_history(anthropic(twice)).messages)
    assert_legal("openai-responses", repair_history(responses(twice)).messages)


@requirement("history.faults")
def test_a_call_in_a_message_that_is_not_the_models_is_left_out() -> None:
    use: Json = {"type": "tool_use", "id": "x", "name": "f", "input": {}}
    history: list[Json] = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "?"}]},
    ]

    repair = repair_history(history)

    assert kinds(repair.done) == ["role", "orphan-result"]
    assert repair.messages == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


@requirement("history.faults", "history.repair")
def test_a_list_of_calls_without_any_is_left_out_and_so_is_a_message_that_says_nothing_else() -> None:
    system, user, model, *answers = chat(ONE[:1])
    silent: Json = {"role": "assistant", "content": None, "tool_calls": []}
    refusing: Json = {"role": "assistant", "content": None, "refusal": "no", "tool_calls": []}
    empty: list[Json] = [{**message, "tool_calls": []} for message in (system, user)]
    history: list[Json] = [*empty, silent, refusing, model, {**answers[0], "tool_calls": []}, *answers[1:]]

    repair = repair_history(history)

    assert kinds(repair.done) == ["no-calls"] * 5
    assert [fault.path for fault in repair.done] == [f"$[{at}].tool_calls" for at in (0, 1, 2, 3, 5)]
    assert repair.messages == [
        *(system, user, {"role": "assistant", "content": None, "refusal": "no"}, model),
        *answers,
    ]
    assert check_history(repair.messages) == ()
    assert kinds(check_history([silent])) == ["no-calls"]
    assert repair_history([silent]).messages == []


@requirement("history.repair")
@pytest.mark.parametrize("pending", [True, False])
def test_a_result_behind_a_list_without_calls_stands_right_behind_its_own_calls(pending: bool) -> None:
    _, user, model, *answers = chat(ONE[:1])
    silent: Json = {"role": "assistant", "content": None, "tool_calls": []}

    repair = repair_history([user, model, silent, *answers[:2]], pending=pending)

    assert kinds(repair.done) == ["no-calls"]
    assert repair.messages == [user, model, *answers[:2]]


@requirement("history.faults", "history.repair")
@pytest.mark.parametrize("named", [{}, {"name": None}, {"name": ""}, {"name": 7}])
def test_a_result_that_does_not_say_its_tool_is_told_and_named_where_the_provider_wants_that(named: Json) -> None:
    history = gemini(ONE[:1], ids=False)
    [first, second] = cast("list[Json]", history[2]["parts"])
    answer = cast("Json", second["functionResponse"])
    nameless = {"functionResponse": {**{key: each for key, each in answer.items() if key != "name"}, **named}}

    repair = repair_history([*history[:2], {"role": "user", "parts": [first, nameless]}, *history[3:]])

    assert kinds(repair.done) == ["name"]
    assert repair.messages == history
    assert check_history(repair.messages) == ()


@requirement("history.any-json")
@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("openai-chat", {"role": "assistant", "content": "hi", "tool_calls": "[]"}),
        ("openai-chat", {"role": "assistant", "content": "hi", "tool_calls": {}}),
        ("gemini", {"role": "model", "parts": "hi"}),
    ],
)
def test_what_is_no_list_of_calls_is_an_error_with_its_place(provider: Provider, message: Json) -> None:
    with pytest.raises(MessageError, match=r"^\$\[0\]\.(tool_calls|parts): expected a list"):
        check_history([message], provider=provider)


@requirement("history.any-json")
def test_a_history_of_two_providers_is_an_error_also_where_it_is_said_whose_it_is() -> None:
    mixed: list[Json] = [*chat(ONE), *anthropic(ONE)]
    place = len(chat(ONE)) + 1
    expected = rf"^\$\[{place}\]: expected calls and results in the form of openai-chat, "

    with pytest.raises(MessageError, match=expected):
        repair_history(mixed)
    for ask in (check_history, repair_history):
        with pytest.raises(MessageError, match=expected):
            ask(mixed, provider="openai-chat")
    with pytest.raises(
        MessageError, match=r"^\$\[1\]: expected calls and results in the form of gemini, not of anthropic"
    ):
        check_history(anthropic(ONE), provider="gemini")


STRANGERS: Final[list[tuple[Provider, Json]]] = [
    ("openai-chat", anthropic(ONE)[1]),
    ("openai-chat", anthropic(ONE)[2]),
    ("openai-chat", gemini(ONE)[2]),
    ("openai-chat", {"role": "assistant", "content": [{"type": "tool_use"}], "tool_calls": chat(ONE)[2]["tool_calls"]}),
    ("openai-chat", {**gemini(ONE)[2], "role": "tool"}),
    ("openai-responses", chat(ONE)[2]),
    ("openai-responses", chat(ONE)[3]),
    ("anthropic", chat(ONE)[3]),
    ("anthropic", responses(ONE)[2]),
    ("anthropic", {"role": "tool", "content": None, "tool_calls": chat(ONE)[2]["tool_calls"]}),
    ("gemini", responses(ONE)[4]),
]


@requirement("history.any-json")
@pytest.mark.parametrize(("provider", "stranger"), STRANGERS)
def test_a_call_or_a_result_in_the_form_of_another_provider_is_an_error_beside_the_own(
    provider: Provider, stranger: Json
) -> None:
    _, build = FORMS[provider]
    history = build(ONE)
    expected = rf"^\$\[{len(history)}\]: expected calls and results in the form of {provider}, not of "

    with pytest.raises(MessageError, match=expected):
        check_history([*history, stranger], provider=provider)


@requirement("history.repair")
def test_an_answer_in_parts_of_a_tool_is_geminis() -> None:
    user, model, answers, *rest = gemini(ONE)

    assert check_history([user, model, {**answers, "role": "tool"}, *rest]) == ()


@requirement("history.repair")
def test_what_the_user_says_next_stands_behind_the_results_in_one_message() -> None:
    history = with_lost_results("anthropic")

    *_, last = cast("list[Json]", repair_history([*history, {"role": "user", "content": "never mind"}]).messages)

    blocks = cast("list[Json]", last["content"])
    assert [block["type"] for block in blocks] == ["tool_result", "tool_result", "text"]
    assert blocks[-1]["text"] == "never mind"
    TypeAdapter(MessageParam).validate_python(last)


@requirement("history.repair")
def test_messages_of_the_sdks_are_read_and_repaired() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}
    message = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]})
    content = genai.Content.model_validate({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]})

    repaired = repair_history([{"role": "user", "content": "hi"}, message]).messages
    assert_legal("openai-chat", repaired)
    for entry in repaired:
        TypeAdapter[object](ChatCompletionMessageParam).validate_python(entry)
    assert message.tool_calls is not None

    contents = repair_history([content]).messages
    assert contents[0] is content
    genai.Content.model_validate(contents[1])


@requirement("history.faults")
def test_other_kinds_of_calls_need_their_results_as_well() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select"}}
    history: list[Json] = [{"role": "assistant", "content": None, "tool_calls": [custom]}]
    item = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select"}

    assert kinds(check_history(history)) == kinds(check_history([item])) == ["missing-result"]
    assert repair_history([item]).messages[1] == {
        "type": "custom_tool_call_output",
        "call_id": "c",
        "output": "No result of this call of the tool 'sql' was recorded. It is not known whether it ran, or what it "
        "changed. Do not simply repeat it; check first what happened.",
    }
    assert_legal("openai-chat", repair_history(history).messages)


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "a", "b", "user", "assistant", "tool", "model", "{}"])
)
_JUNK: st.SearchStrategy[object] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "id",
                    "function",
                    "name",
                    "arguments",
                    "type",
                    "tool_call_id",
                    "tool_use_id",
                    "input",
                    "call_id",
                    "output",
                    "parts",
                    "functionCall",
                    "functionResponse",
                    "args",
                    "response",
                ]
            ),
            inner
            | st.sampled_from(
                ["tool_use", "tool_result", "function", "custom", "function_call", "function_call_output"]
            ),
            max_size=5,
        )
    ),
    max_leaves=15,
)


@requirement("history.any-json")
@pytest.mark.parametrize("provider", [*PROVIDERS, None])
@given(st.lists(_JUNK, max_size=5))
def test_any_json_is_a_checked_history_or_an_error_of_ours(provider: Provider | None, junk: list[object]) -> None:
    before = copy.deepcopy(junk)
    try:
        faults = check_history(junk, provider=provider)
    except MessageError:
        return

    repair = repair_history(junk, provider=provider)

    assert junk == before
    assert repair.done == faults
    assert check_history(repair.messages, provider=provider) == ()


@requirement("history.any-json")
@pytest.mark.parametrize("broken", [{"tool_calls": "x"}, {"role": "user", "parts": "x"}, {"role": []}])
def test_what_could_be_read_only_beside_a_result_that_goes_is_an_error_from_the_beginning(broken: Json) -> None:
    others: list[Json] = [{"tool_calls": None}, {"role": "user", "parts": []}]
    for message in others:
        with pytest.raises(MessageError, match=r"^\$\[[12]\]"):
            repair_history([message, broken, {"type": "function_call_output"}])


WRONG: list[tuple[object, str]] = [
    (None, "$"),
    ({}, "$"),
    (["x"], "$[0]"),
    ([{"role": "assistant", "tool_calls": 5}], "$[0].tool_calls"),
    ([{"role": "assistant", "tool_calls": [None]}], "$[0].tool_calls[0]"),
    ([{"role": "tool", "tool_call_id": 5}], "$[0].tool_call_id"),
    ([{"role": "assistant", "content": [{"type": "tool_use", "id": 5}]}], "$[0].content[0].id"),
    ([{"role": "model", "parts": 5}, {"parts": []}], "$[0].parts"),
    ([{"type": "function_call", "call_id": 5}], "$[0].call_id"),
]


@requirement("history.any-json")
@pytest.mark.parametrize(
    ("history", "path"),
    WRONG,
    ids=str,
)
def test_what_is_no_history_is_an_error_with_its_place(history: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        check_history(cast("list[object]", history))

    assert caught.value.path == path


@requirement("history.repair")
@pytest.mark.parametrize("stray", ["no call", "an earlier call"])
def test_calls_before_what_a_user_says_wait_no_longer_though_a_stray_result_stood_in_it(stray: str) -> None:
    user, model, results, *_ = anthropic(ONE)
    asks: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}
    first, second, text = cast("list[Json]", results["content"])
    if stray == "no call":
        first, second = second, {**first, "tool_use_id": "z"}
        history = [user, model, results, asks, {"role": "user", "content": [second, text]}]
    else:
        history = [user, model, {"role": "user", "content": [first]}, asks, {"role": "user", "content": [second, text]}]

    repaired = repair_history(history, provider="anthropic", pending=True).messages

    assert_legal("anthropic", repaired)
    assert check_history(repaired, pending=True) == ()
    assert text in cast("list[Json]", cast("Json", repaired[-1])["content"])


@requirement("history.repair")
def test_a_blank_text_behind_a_missing_result_is_no_block_of_its_own() -> None:
    use: Json = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    history: list[Json] = [{"role": "assistant", "content": [use]}, {"role": "user", "content": " \n"}]

    (_, last) = repair_history(history).messages

    blocks = cast("list[Json]", cast("Json", last)["content"])
    assert [block["type"] for block in blocks] == ["tool_result"]


@requirement("history.repair")
def test_a_call_of_gemini_and_its_answer_get_the_same_legal_name() -> None:
    call: Json = {"functionCall": {"id": "a", "name": "bad name", "args": {}}}
    answer: Json = {"functionResponse": {"id": "a", "name": "bad name", "response": {"output": "x"}}}

    model, user = repair_history([{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]).messages

    called = cast("list[dict[str, Json]]", cast("Json", model)["parts"])[0]["functionCall"]["name"]
    assert called == cast("list[dict[str, Json]]", cast("Json", user)["parts"])[0]["functionResponse"]["name"]
    assert called != "bad name"


@requirement("history.repair", "history.missing")
@pytest.mark.parametrize("provider", ["openai-chat", "gemini"])
def test_of_two_rounds_with_one_id_the_nearer_one_has_the_result(provider: Provider) -> None:
    two = [Round("one", "ok", [("a", "f", {"n": 1})]), Round("two", "ok", [("a", "f", {"n": 2})])]
    history = chat(two) if provider == "openai-chat" else gemini(two)
    lost = next(at for at, message in enumerate(history) if "done a" in json.dumps(message))

    repaired = repair_history([*history[:lost], *history[lost + 1 :]]).messages

    assert_legal(provider, repaired)
    assert "not known whether it ran" in json.dumps(repaired[lost])
    assert "done a" in json.dumps(repaired[-1])


@requirement("history.ids", "history.repair")
def test_an_id_that_the_repair_makes_is_never_that_of_another_call() -> None:
    """Of two calls with one id the second becomes x_2, which is the id of the answer to a call without one."""

    def call(name: str, **given: str) -> Json:
        return {"functionCall": {**given, "name": name, "args": {}}}

    def answer(name: str, call_id: str) -> Json:
        return {"functionResponse": {"id": call_id, "name": name, "response": {"output": name}}}

    model = {"role": "model", "parts": [call("f", id="x"), call("f", id="x"), call("g")]}
    user = {"role": "user", "parts": [answer("f", "x"), answer("f", "x"), answer("g", "x_2")]}

    repaired = repair_history([model, user]).messages

    assert_legal("gemini", repaired)
    assert check_history(repaired) == ()


ENVELOPES: dict[str, object] = {
    "a response of Chat": {"choices": [{"message": {"role": "assistant", "content": "hi"}}]},
    "a choice": {"finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}},
    "a response of Responses": {"id": "r", "object": "response", "output": []},
    "a streamed response": {"output": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]},
    "a response of Gemini": {"candidates": [{"content": {"parts": []}}]},
    "a candidate": {"finishReason": "STOP", "content": {"parts": [{"text": "hi"}]}},
    "a response of an SDK": genai.GenerateContentResponse(candidates=[genai.Candidate(index=0)]),
}


@requirement("history.any-json", "history.repair")
@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES.keys())
@pytest.mark.parametrize("provider", [*PROVIDERS, None])
def test_a_whole_response_in_a_history_is_an_error_and_its_results_are_not_thrown_away(
    provider: Provider | None, envelope: object
) -> None:
    history = [{"role": "user", "content": "hi"}, envelope]

    for ask in (check_history, repair_history):
        with pytest.raises(MessageError, match="not the response that it came in") as caught:
            ask(history, provider=provider)
        assert caught.value.path == "$[1]"


@requirement("history.legal-untouched")
def test_a_history_without_calls_is_nobodys_and_legal() -> None:
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]

    assert check_history(history) == ()
    assert repair_history(history).messages == history
    with pytest.raises(MessageError, match="one of openai-chat"):
        check_history(history, provider="openai")  # type: ignore[arg-type]  # a mistake


@requirement("history.repair")
def test_a_long_history_takes_time_in_proportion_to_its_length() -> None:
    """Two thousand rounds, every second result lost: quadratic work would not end within the test's time."""
    many = [Round("hi", "ok", [(f"id_{at}", "f", {})]) for at in range(2_000)]
    for provider, build in (
        ("openai-chat", chat),
        ("anthropic", anthropic),
        ("gemini", gemini),
        ("openai-responses", responses),
    ):
        history = build(many)
        kept = [message for at, message in enumerate(history) if "done " not in json.dumps(message) or at % 4]

        assert_legal(provider, repair_history(kept).messages)


@requirement("history.repair")
@pytest.mark.parametrize("form", [gemini, anthropic], ids=["gemini", "anthropic"])
def test_calls_wait_no_longer_when_words_would_stand_behind_results_that_are_put_together(
    form: Callable[[list[Round]], list[Json]],
) -> None:
    provider: Provider = "gemini" if form is gemini else "anthropic"
    *before, user, model, results = form([Round("hi", "", [(name, name, {}) for name in "abc"])])[:3]
    entries = "parts" if provider == "gemini" else "content"
    first, second = cast("list[Json]", results[entries])[:2]
    words: Json = {"text": "x"} if provider == "gemini" else {"type": "text", "text": "x"}
    answered = {**results, "role": "user" if provider == "gemini" else "assistant", entries: [second, first, words]}
    history: list[Json] = [*before, user, model, answered]

    repair = repair_history(history, provider=provider, pending=True)

    assert "missing-result" in kinds(repair.done)
    assert check_history(repair.messages, provider=provider, pending=True) == ()
    assert_legal(provider, repair.messages)


@requirement("history.repair")
def test_calls_wait_on_when_results_alone_are_put_together() -> None:
    user, model, results = gemini([Round("hi", "", [(name, name, {}) for name in "abc"])])[:3]
    first, second = cast("list[Json]", results["parts"])[:2]

    repair = repair_history([user, model, {**results, "parts": [second, first]}], provider="gemini", pending=True)

    assert kinds(repair.done) == ["result-order"]
    assert check_history(repair.messages, provider="gemini", pending=True) == ()
