"""Chunks of Chat Completions as the servers of this world send them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from openai.types.chat import ChatCompletionChunk

from armory_trio.providers import ArgumentsGrew, CallBegan, CallRefused, MessageError, OtherCall, StreamNews
from armory_trio.providers.openai import ChatAssembler, parse_chat_tool_calls
from tests.requirements import requirement

from ._streams import assembled, chat_chunk, chat_delta, chat_events, codes, runnable, said

Json = dict[str, object]
END = chat_chunk({}, "tool_calls")

A: Json = {"path": "a"}
B: Json = {"path": "b"}
TEXT_A, TEXT_B = '{"path": "a"}', '{"path": "b"}'
BOTH: list[tuple[str, Json]] = [("read", A), ("read", B)]
TWO: list[tuple[str, Json]] = [("read", A), ("write", B)]

READABLE: dict[str, tuple[list[Json], list[tuple[str, Json]]]] = {
    "id and name in the first chunk only": (
        [chat_delta(0, "x", "read", ""), chat_delta(0, None, None, '{"path": '), chat_delta(0, None, None, '"a"}')],
        [("read", A)],
    ),
    "id and name in every chunk": (
        [chat_delta(0, "x", "read", '{"path"'), chat_delta(0, "x", "read", ': "a"'), chat_delta(0, "x", "read", "}")],
        [("read", A)],
    ),
    "the name again before the arguments begin": (
        [chat_delta(0, "x", "read", ""), chat_delta(0, "x", "read", TEXT_A)],
        [("read", A)],
    ),
    "the name in two pieces": (
        [chat_delta(0, "x", "re", None), chat_delta(0, None, "ad", None), chat_delta(0, None, None, TEXT_A)],
        [("read", A)],
    ),
    "the name ever longer": (
        [chat_delta(0, "x", "re", None), chat_delta(0, None, "read", None), chat_delta(0, None, None, TEXT_A)],
        [("read", A)],
    ),
    "the id in a later chunk": (
        [chat_delta(0, None, "read", '{"path"'), chat_delta(0, "x", None, ': "a"}')],
        [("read", A)],
    ),
    "the tokens used last, without choices": (
        [chat_delta(0, "x", "read", TEXT_A), END, {"object": "chat.completion.chunk", "usage": {"total_tokens": 5}}],
        [("read", A)],
    ),
    "empty id and empty name in later chunks": (
        [chat_delta(0, "x", "read", ""), chat_delta(0, "", "", TEXT_A)],
        [("read", A)],
    ),
    "every call under index 0, with ids": (
        [chat_delta(0, "x", "read", TEXT_A), chat_delta(0, "y", "read", TEXT_B)],
        BOTH,
    ),
    "every call under index 0, in pieces": (
        [
            *(chat_delta(0, "x", "read", ""), chat_delta(0, None, None, TEXT_A)),
            *(chat_delta(0, "y", "read", ""), chat_delta(0, None, None, TEXT_B)),
        ],
        BOTH,
    ),
    "every call under index 0, without ids": (
        [chat_delta(0, None, "read", TEXT_A), chat_delta(0, None, "write", TEXT_B)],
        TWO,
    ),
    "no index, with ids": (
        [
            *(chat_delta(None, "x", "read", ""), chat_delta(None, None, None, TEXT_A)),
            *(chat_delta(None, "y", "read", ""), chat_delta(None, None, None, TEXT_B)),
        ],
        BOTH,
    ),
    "no index, the id each time, mixed": (
        [
            *(chat_delta(None, "x", "read", '{"path"'), chat_delta(None, "y", "write", '{"path"')),
            *(chat_delta(None, "y", None, ': "b"}'), chat_delta(None, "x", None, ': "a"}')),
        ],
        TWO,
    ),
    "neither id nor index, one after the other": (
        [
            *(chat_delta(None, None, "read", ""), chat_delta(None, None, None, TEXT_A)),
            *(chat_delta(None, None, "read", ""), chat_delta(None, None, None, TEXT_B)),
        ],
        BOTH,
    ),
    "neither id nor index, side by side in each chunk": (
        [
            chat_chunk(
                {"tool_calls": [{"function": {"name": name, "arguments": '{"path"'}} for name in ("read", "write")]}
            ),
            chat_chunk({"tool_calls": [{"function": {"arguments": rest}} for rest in (': "a"}', ': "b"}')]}),
        ],
        TWO,
    ),
    "the index of a later piece is wrong, and there is one call": (
        [chat_delta(0, "x", "read", '{"path"'), chat_delta(1, None, None, ': "a"}')],
        [("read", A)],
    ),
    "the index of a later piece is wrong, and it has the id": (
        [
            *(chat_delta(0, "x", "read", '{"path"'), chat_delta(1, "y", "write", TEXT_B)),
            chat_delta(7, "x", None, ': "a"}'),
        ],
        TWO,
    ),
    "indices that begin at 1 and skip": (
        [chat_delta(1, "x", "read", TEXT_A), chat_delta(5, "y", "write", TEXT_B)],
        TWO,
    ),
    "one id for two calls with an index each": (
        [chat_delta(0, "x", "read", TEXT_A), chat_delta(1, "x", "read", TEXT_B)],
        BOTH,
    ),
    "the whole call again at the end": (
        [
            *(chat_delta(0, "x", "read", ""), chat_delta(0, None, None, TEXT_A)),
            chat_chunk({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "read", "arguments": TEXT_A}}]}),
        ],
        [("read", A)],
    ),
    "no arguments at all": (
        [chat_delta(0, "x", "read", None), chat_delta(1, "y", "write", "")],
        [("read", {}), ("write", {})],
    ),
    "null for the index, the id, the name and the arguments": (
        [
            chat_delta(0, "x", "read", TEXT_A),
            chat_chunk({"tool_calls": [{"index": None, "id": None, "function": {"name": None, "arguments": None}}]}),
        ],
        [("read", A)],
    ),
    "arguments that are an object": (
        [chat_chunk({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "read", "arguments": dict(A)}}]})],
        [("read", A)],
    ),
    "an entry without a function in between": (
        [chat_delta(0, "x", "read", TEXT_A), chat_chunk({"tool_calls": [{"index": 0}]})],
        [("read", A)],
    ),
}


@requirement("assembly.sent-again")
def test_the_whole_call_once_more_behind_the_end_takes_nothing_back() -> None:
    call = chat_delta(0, "x", "read", TEXT_A)

    assert runnable(assembled(ChatAssembler(), [call, END, call])) == [("read", A)]


@requirement("assembly.matching")
@pytest.mark.parametrize(("events", "expected"), READABLE.values(), ids=READABLE.keys())
def test_what_has_one_reading_is_read(events: list[Json], expected: list[tuple[str, Json]]) -> None:
    turn = assembled(ChatAssembler(), [*events, END])

    assert runnable(turn) == expected
    assert len(turn.calls) == len(expected)


UNDECIDABLE: dict[str, tuple[list[Json], int]] = {
    "two open calls under one index": (
        [
            chat_delta(0, "x", "read", '{"path"'),
            chat_delta(0, "y", "write", '{"path"'),
            chat_delta(0, None, None, ': "a"}'),
        ],
        2,
    ),
    "a piece with neither id nor index while two calls are open": (
        [
            chat_delta(0, "x", "read", '{"path"'),
            chat_delta(1, "y", "write", '{"path"'),
            chat_delta(None, None, None, ': "a"}'),
        ],
        2,
    ),
    "a piece under an index that no call has": (
        [
            chat_delta(0, "x", "read", '{"path"'),
            chat_delta(1, "y", "write", '{"path"'),
            chat_delta(2, None, None, ': "a"}'),
        ],
        2,
    ),
    "the id of one call and the index of another": (
        [chat_delta(0, "x", "read", TEXT_A), chat_delta(1, "y", "write", TEXT_B), chat_delta(1, "x", None, " ")],
        2,
    ),
    "a new id without a name at the index of a call": (
        [chat_delta(0, "x", "read", TEXT_A), chat_delta(0, "z", None, "}")],
        1,
    ),
    "another name at the index of a call that is open": (
        [chat_delta(0, None, "read", '{"path"'), chat_delta(0, None, "write", ': "a"}')],
        2,
    ),
    "another name under the id of a call that is open": (
        [chat_delta(0, "x", "read", '{"path"'), chat_delta(0, "x", "write", ': "a"}')],
        1,
    ),
    "one id, another index and a name, while the call is open": (
        [
            chat_delta(0, "x", "read", '{"path"'),
            chat_delta(1, "x", "read", TEXT_B),
            chat_delta(0, None, None, ': "a"}'),
        ],
        2,
    ),
    "another tool while nothing of the first one's arguments has come": (
        [chat_delta(None, None, "read", ""), chat_delta(None, None, "write", TEXT_B)],
        2,
    ),
    "an object and then other arguments": (
        [
            chat_chunk({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "read", "arguments": dict(A)}}]}),
            chat_delta(0, None, None, TEXT_B),
        ],
        1,
    ),
    "an object twice, in two chunks without more": (
        [chat_delta(0, "x", "read", TEXT_A), chat_delta(0, None, None, TEXT_A)],
        1,
    ),
    "an empty object twice, as if it was sent again": (
        [chat_delta(0, "x", "read", "{}"), chat_delta(0, "x", "read", "{}")],
        1,
    ),
    "a piece that no call began": ([chat_delta(0, None, None, TEXT_A)], 1),
}


@requirement("assembly.undecidable-refused")
@pytest.mark.parametrize(("events", "count"), UNDECIDABLE.values(), ids=UNDECIDABLE.keys())
def test_what_has_several_readings_runs_in_none_of_them(events: list[Json], count: int) -> None:
    turn = assembled(ChatAssembler(), [*events, END])

    assert codes(turn) == ["MALFORMED_CALL"] * count


@requirement("assembly.undecidable-refused")
def test_only_the_calls_that_a_fragment_could_belong_to_are_refused() -> None:
    events = [
        *(chat_delta(0, "x", "read", TEXT_A), chat_delta(1, "y", "write", '{"pa'), chat_delta(2, "z", "read", '{"pa')),
        chat_delta(None, None, None, 'th": "b"}'),
    ]

    turn = assembled(ChatAssembler(), [*events, END])

    assert runnable(turn) == [("read", A)]
    assert codes(turn) == [None, "MALFORMED_CALL", "MALFORMED_CALL"]
    refused = turn.calls[1].defect
    assert refused is not None
    assert "it has neither an id nor an index" in refused.message or "its index is that of no call" in refused.message


@requirement("assembly.matching")
def test_the_offered_names_decide_what_a_name_in_two_equal_halves_is() -> None:
    events = [chat_delta(0, "x", "go", ""), chat_delta(0, None, "go", ""), chat_delta(0, None, None, "{}"), END]

    assert runnable(assembled(ChatAssembler(tools=["gogo"]), events)) == [("gogo", {})]
    assert runnable(assembled(ChatAssembler(tools=["go"]), events)) == [("go", {})]
    assert runnable(assembled(ChatAssembler(), events)) == [("go", {})]
    assert codes(assembled(ChatAssembler(tools=["go", "gogo"]), events)) == ["MALFORMED_CALL"]


CALLS = [said("x", "read", A), said("y", "write", B)]


@requirement("assembly.broken-off")
def test_a_stream_that_breaks_off_runs_only_what_something_came_after() -> None:
    events = chat_events(CALLS, None)

    turn = assembled(ChatAssembler(), events)

    assert runnable(turn) == [("read", A)]
    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert turn.stop_reason is None
    cut = turn.calls[1].defect
    assert cut is not None
    assert "the stream broke off" in cut.message


@requirement("assembly.broken-off")
def test_a_stream_that_breaks_off_never_runs_a_call_whose_arguments_may_still_come() -> None:
    events = [chat_delta(0, "x", "read", ""), chat_delta(1, "y", "write", TEXT_B)]

    assert codes(assembled(ChatAssembler(), events)) == ["TRUNCATED_CALL", "TRUNCATED_CALL"]


@requirement("assembly.broken-off")
@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter", "error"])
def test_a_cut_message_refuses_the_call_that_the_last_fragment_was_for(reason: str) -> None:
    mixed = [chat_delta(0, "x", "read", ""), chat_delta(1, "y", "write", TEXT_B), chat_delta(0, None, None, TEXT_A)]

    turn = assembled(ChatAssembler(), [*mixed, chat_chunk({}, reason)])

    assert codes(turn) == ["TRUNCATED_CALL", "TRUNCATED_CALL"]
    assert turn.stop_reason == reason


@requirement("assembly.broken-off")
def test_the_closing_word_of_the_event_stream_is_an_end_as_well() -> None:
    events: list[object] = [*chat_events(CALLS, None), "[DONE]"]

    assert runnable(assembled(ChatAssembler(), events)) == [("read", A), ("write", B)]


@requirement("assembly.broken-off")
def test_an_error_in_the_stream_is_the_reason_that_the_model_reads() -> None:
    events: list[object] = [*chat_events(CALLS, None), {"error": {"message": "overloaded", "code": 529}}, "[DONE]"]

    turn = assembled(ChatAssembler(), events)

    assert codes(turn) == [None, "TRUNCATED_CALL"]
    assert "the provider sent an error: overloaded" in str(turn.calls[1].defect)


@requirement("assembly.broken-off")
def test_after_an_event_that_cannot_be_read_the_calls_so_far_are_refused() -> None:
    assembler = ChatAssembler()
    for event in chat_events(CALLS[:1], None):
        assembler.feed(event)

    with pytest.raises(MessageError):
        assembler.feed({"choices": [{"delta": {"tool_calls": [7]}}]})

    assembler.feed(chat_delta(1, "y", "write", TEXT_B))
    assert codes(assembled(assembler, [END])) == ["MALFORMED_CALL", None]


@requirement("assembly.news")
def test_each_event_says_what_is_new() -> None:
    assembler = ChatAssembler()
    news: list[StreamNews] = []
    for event in [*chat_events([said("x", "read", A, 7)], None), chat_delta(0, "z", None, "}")]:
        news += assembler.feed(event)

    *growth, refused = news
    assert growth == [CallBegan(0, "read", "x"), ArgumentsGrew(0, '{"path"'), ArgumentsGrew(0, ': "a"}')]
    assert isinstance(refused, CallRefused)
    assert assembler.feed(END) == ()


@requirement("assembly.preview")
def test_a_call_can_be_shown_while_it_comes() -> None:
    assembler = ChatAssembler()
    shown: list[object] = []
    for event in chat_events([said("x", "read", '{"path": "abc", "n": 12}', 4)], None):
        assembler.feed(event)
        if assembler.previews:
            shown.append(str(assembler.preview(0).arguments))

    assert shown == [
        *("None", "{}", "{}", "{'path': 'ab'}", "{'path': 'abc'}", "{'path': 'abc'}"),
        "{'path': 'abc', 'n': 12}",
    ]
    assert assembler.preview(0).name == "read"


@requirement("assembly.message")
def test_the_message_for_the_history_has_the_text_and_legal_calls() -> None:
    events = [
        *chat_events([said("x", "read", A), said("y", "write", '{"path": ')], None, "Let me see."),
        chat_chunk(
            {"tool_calls": [{"index": 2, "function": {"name": "list", "arguments": ""}, "extra_content": {"s": 1}}]}
        ),
        chat_chunk({"reasoning_content": "hm"}),
        END,
    ]
    assembler = ChatAssembler()
    turn = assembled(assembler, events)

    message = assembler.message()

    made = turn.made_ids[2]
    assert message == {
        "role": "assistant",
        "content": "Let me see.",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "read", "arguments": TEXT_A}},
            {"id": "y", "type": "function", "function": {"name": "write", "arguments": "{}"}},
            {
                "id": made,
                "type": "function",
                "function": {"name": "list", "arguments": "{}"},
                "extra_content": {"s": 1},
            },
        ],
    }
    assert [call.id for call in parse_chat_tool_calls(message).calls] == ["x", "y", made]
    assert assembler.finish() is turn


@requirement("assembly.matching")
def test_the_types_of_the_sdk_and_of_its_helper_are_read_alike() -> None:
    events = [ChatCompletionChunk.model_validate(event) for event in chat_events(CALLS)]
    helper = [SimpleNamespace(type="chunk", chunk=event, snapshot=None) for event in events]
    derived = SimpleNamespace(
        type="tool_calls.function.arguments.delta", name="read", index=0, arguments="{", arguments_delta="{"
    )

    assert runnable(assembled(ChatAssembler(), events)) == [("read", A), ("write", B)]
    assert runnable(assembled(ChatAssembler(), [*helper[:2], derived, *helper[2:]])) == [("read", A), ("write", B)]


@requirement("assembly.matching")
def test_only_the_choice_that_goes_on_is_read() -> None:
    other = chat_chunk({"tool_calls": [{"index": 0, "id": "q", "function": {"name": "no", "arguments": "{}"}}]})
    other["choices"][0]["index"] = 1  # type: ignore[index]  # built above

    assert runnable(assembled(ChatAssembler(), [other, *chat_events(CALLS)])) == [("read", A), ("write", B)]
    (call,) = assembled(ChatAssembler(choice=1), [other, *chat_events(CALLS)]).calls
    assert call.name == "no"


@requirement("assembly.same-turn")
def test_calls_of_other_types_are_listed() -> None:
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "sel"}}
    more = {"index": 0, "custom": {"input": "ect"}}
    legacy = chat_chunk({"function_call": {"name": "old", "arguments": "{}"}})
    assembler = ChatAssembler()

    turn = assembled(assembler, [chat_chunk({"tool_calls": [custom]}), chat_chunk({"tool_calls": [more]}), legacy, END])

    assert turn.calls == ()
    assert turn.others == (
        OtherCall("function_call", None, "old", "$.function_call"),
        OtherCall("custom", "c", "sql", "$.tool_calls[0]"),
    )
    assert assembler.message() == {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "old", "arguments": "{}"},
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select"}}],
    }


WRONG: list[tuple[object, str]] = [
    (None, "$"),
    ("data", "$"),
    (7, "$"),
    ({}, "$"),
    ({"type": "content_block_start", "index": 0}, "$"),
    ({"type": "response.created"}, "$"),
    ({"candidates": []}, "$"),
    ({"choices": 3}, "$.choices"),
    ({"choices": [3]}, "$.choices[0]"),
    ({"choices": [{"delta": 3}]}, "$.choices[0].delta"),
    ({"choices": [{"delta": {"tool_calls": {}}}]}, "$.choices[0].delta.tool_calls"),
    ({"choices": [{"delta": {"tool_calls": [{"id": 3}]}}]}, "$.choices[0].delta.tool_calls[0].id"),
    ({"type": "chunk"}, "$.chunk"),
]


@requirement("assembly.foreign-events")
@pytest.mark.parametrize(
    ("event", "path"),
    WRONG,
    ids=str,
)
def test_what_is_no_chunk_is_an_error_with_its_place(event: object, path: str) -> None:
    with pytest.raises(MessageError) as caught:
        ChatAssembler().feed(event)

    assert caught.value.path == path


@requirement("assembly.foreign-events")
@pytest.mark.parametrize("event", [{"choices": []}, {"choices": None}, {"type": "ping"}, chat_chunk({})], ids=str)
def test_chunks_without_anything_for_us_are_welcome(event: object) -> None:
    assert ChatAssembler().feed(event) == ()
