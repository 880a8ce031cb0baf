"""What a host gives to a parser, an assembler or a history and can't have meant is refused at the door."""

from __future__ import annotations

import copy
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final, cast

import pytest

from armory_trio import Toolbox, ToolCall, define_tool, tool
from armory_trio.errors import DefinitionError
from armory_trio.providers import (
    ArgumentsGrew,
    Assembler,
    AssemblyLimits,
    AssemblyOver,
    HistoryError,
    MessageError,
    PartialJson,
    anthropic,
    check_history,
    collect_results,
    compile_toolbox,
    compile_tools,
    extend_history,
    gemini,
    openai,
    repair_history,
)
from armory_trio.providers.gemini import ContentAssembler
from armory_trio.providers.openai import ChatAssembler
from armory_trio.toolbox import Manifest, ProviderName
from tests.requirements import requirement

from ._histories import Json, Round, chat
from ._histories import gemini as contents
from ._results import failure, success
from ._streams import WIRES, Wire, runnable, said

EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES.keys())


@tool(effect="read-only")
async def look_up(query: str) -> str:
    """Find a guest."""
    return query


def execute(arguments: dict[str, object]) -> object:
    return arguments


TOOLBOX: Final = Toolbox([look_up])
READERS: Final[dict[str, tuple[Callable[..., object], Callable[..., object]]]] = {
    "openai-chat": (openai.parse_chat_tool_calls, openai.ChatAssembler),
    "openai-responses": (openai.parse_response_tool_calls, openai.ResponseAssembler),
    "anthropic": (anthropic.parse_tool_calls, anthropic.MessageAssembler),
    "gemini": (gemini.parse_tool_calls, gemini.ContentAssembler),
}
OWNERS: Final[dict[ProviderName, str]] = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "gemini-openapi": "gemini",
    "common": "openai-chat",
}


def both(provider: str, **options: object) -> list[Callable[[], object]]:
    parse, make = READERS[provider]
    return [partial(parse, [], **options), partial(make, **options)]


@requirement("providers.doors")
@pytest.mark.parametrize("provider", READERS)
@pytest.mark.parametrize("owner", OWNERS)
def test_the_manifest_of_another_provider_is_refused(provider: str, owner: ProviderName) -> None:
    manifest = TOOLBOX.to_provider(owner)
    for read in both(provider, manifest=manifest):
        if OWNERS[owner] == provider:
            read()
            continue
        with pytest.raises(DefinitionError, match=f"{provider} .*manifest: was made for {owner}"):
            read()


@requirement("providers.doors")
@pytest.mark.parametrize("provider", READERS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"manifest": TOOLBOX}, "manifest: must be a Manifest"),
        ({"manifest": {"look_up": "look_up"}}, "manifest: must be a Manifest"),
        ({"names": "look_up"}, "names: must be a mapping"),
        ({"names": ["look_up"]}, "names: must be a mapping"),
        ({"names": {"f": look_up}}, "names.*: must be text"),
        ({"names": {1: "f"}}, "names: must be text, not 1"),
    ],
    ids=["toolbox", "dict", "text", "list", "tool", "number"],
)
def test_what_is_no_way_back_is_refused(provider: str, options: dict[str, object], words: str) -> None:
    for read in both(provider, **options):
        with pytest.raises(DefinitionError, match=words):
            read()


@requirement("providers.doors")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ChatAssembler(limits=cast("AssemblyLimits", 5)), "limits: must be AssemblyLimits, not 5"),
        (lambda: ChatAssembler(limits=cast("AssemblyLimits", None)), "limits: must be AssemblyLimits, not None"),
        (lambda: AssemblyLimits(calls=0), "AssemblyLimits: calls: .*from 1 on, not 0"),
        (lambda: AssemblyLimits(call_bytes=cast("int", "1k")), "call_bytes: .*not '1k'"),
        (lambda: AssemblyLimits(message_bytes=-1), "message_bytes: .*not -1"),
        (lambda: ChatAssembler(choice=-1), "choice: must be a whole number from 0 on, not -1"),
        (lambda: ChatAssembler(choice=cast("int", "0")), "choice: .*not '0'"),
        (lambda: ChatAssembler(choice=True), "choice: .*not True"),
        (lambda: ChatAssembler(tools="look_up"), "tools: must be a list of names, not 'look_up'"),
        (lambda: ChatAssembler(tools=cast("list[str]", TOOLBOX.to_openai().tools)), r"tools\[0\]: must be text"),
        (lambda: ContentAssembler(candidate=cast("int", None)), "candidate: .*not None"),
        (lambda: ContentAssembler(model=cast("str", 3)), "model: must be text, not 3"),
        (lambda: gemini.parse_tool_calls([], model=cast("str", ["gemini-3"])), "model: must be text"),
        (lambda: check_history([], pending=cast("bool", "no")), "pending: must be True or False"),
        (lambda: repair_history([], pending=cast("bool", None)), "pending: must be True or False"),
        (lambda: Toolbox.from_openai([], names=cast("dict[str, str]", ["f"])), "names: must be a mapping"),
        (lambda: TOOLBOX.to_openai(tools="look_up"), "tools: must be a list of tools.*not 'look_up'"),
        (lambda: compile_tools(cast("Toolbox", look_up), "common"), "tools: must be a list of tools"),
        (lambda: compile_tools(cast("Toolbox", ["look_up"]), "common"), r"tools\[0\]: must be a tool, not 'look_up'"),
        (lambda: compile_tools([look_up], "common", strict=cast("bool", 1)), "strict: must be True, False or 'auto'"),
        (lambda: compile_toolbox(cast("Toolbox", [look_up]), "common"), "toolbox: must be a Toolbox"),
        (lambda: TOOLBOX.to_openai().called(cast("str", b"f")), "wire: must be text, not b'f'"),
        (lambda: TOOLBOX.to_openai().read(cast("str", ["f"]), {}), "wire: must be text"),
        (lambda: TOOLBOX.to_openai().read("look_up", cast("Json", "{}")), "arguments: must be a mapping.*not '{}'"),
        (lambda: TOOLBOX.to_openai().write(cast("str", None), {}), "name: must be text, not None"),
        (lambda: TOOLBOX.to_openai().write("look_up", cast("Json", [1])), "arguments: must be a mapping"),
        (lambda: PartialJson().feed(cast("str", b"{}")), "PartialJson: text: must be text, not b'{}'"),
        (lambda: PartialJson().feed(cast("str", None)), "text: must be text, not None"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_option_of_the_wrong_type_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        make()


@requirement("offering.choice")
@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("look_down",), {}, "'look_down' is not offered"),
        ((["look_up"],), {}, r"names: must be text, not \['look_up'\]"),
        ((look_up,), {}, "names: must be text"),
        ((), {"mode": ""}, "mode: '' is not one of"),
        ((), {"mode": True}, "mode: True is not one of"),
        ((), {"parallel": "no"}, "parallel: must be True or False, not 'no'"),
    ],
    ids=["unknown", "list", "tool", "blank", "flag", "text"],
)
@pytest.mark.parametrize("owner", OWNERS)
def test_only_what_was_offered_can_be_chosen(
    owner: ProviderName, names: tuple[str, ...], options: dict[str, object], words: str
) -> None:
    manifest = TOOLBOX.to_provider(owner)

    with pytest.raises(DefinitionError, match=words):
        manifest.choose(*names, **options)  # type: ignore[arg-type]  # mistakes


@requirement("compiling.kept")
@pytest.mark.parametrize("owner", OWNERS)
def test_nothing_that_is_done_to_what_was_offered_reaches_the_next_manifest(owner: ProviderName) -> None:
    manifest: Manifest = TOOLBOX.to_provider(owner)
    before = copy.deepcopy(manifest.tools)
    for entry in manifest.tools:
        entry.clear()
    schema = cast("Json", manifest.offered[0].schema)
    with pytest.raises(TypeError):
        schema["type"] = "string"
    with pytest.raises(TypeError):
        cast("Json", schema["properties"])["query"] = {}
    with pytest.raises(AttributeError):
        cast("list[object]", schema["required"]).append("x")

    assert manifest.tools == TOOLBOX.to_provider(owner).tools == before


# --- assemblers


@requirement("assembly.one-message")
@EVERY
def test_an_assembler_whose_turn_was_asked_for_takes_nothing_more(wire: Wire) -> None:
    events = wire.events([said("x", "f", {"a": 1})], wire.stop, "")
    assembler: Assembler = wire.assembler()
    for event in events:
        assembler.feed(event)
    turn = assembler.finish()

    for late in (*events, {}, None):
        with pytest.raises(AssemblyOver, match="make a new assembler for each message"):
            assembler.feed(late)

    assert assembler.finish() is turn
    assert runnable(turn) == [("f", {"a": 1})]
    assert len(assembler.previews) == 1


@requirement("assembly.one-message")
@EVERY
def test_the_message_of_an_assembler_ends_it_as_its_turn_does(wire: Wire) -> None:
    assembler: Assembler = wire.assembler()
    whole = assembler.message()

    with pytest.raises(AssemblyOver):
        assembler.feed(wire.events([said("x", "f", {})], wire.stop, "")[0])

    assert assembler.message() == whole


@requirement("assembly.foreign-events")
@pytest.mark.parametrize("make", [ChatAssembler, ContentAssembler], ids=["choices", "candidates"])
def test_a_stream_without_the_choice_that_was_asked_for_is_an_error_and_not_an_empty_turn(
    make: Callable[..., Assembler],
) -> None:
    provider, option = ("openai-chat", "choice") if make is ChatAssembler else ("gemini", "candidate")
    [what] = [name for name in ("choices", "candidates") if name in WIRES[provider].events([], None, "x")[0]]
    assembler, silent = make(**{option: 3}), make(**{option: 3})
    for at in (1, 0):
        for event in WIRES[provider].events([said("x", "f", {})], WIRES[provider].stop, ""):
            chosen = cast("list[Json]", event[what])
            assembler.feed({**event, what: [{**each, "index": at} for each in chosen]})

    for ask in (assembler.finish, assembler.message):
        with pytest.raises(MessageError, match=rf"\$\.{what}: expected one with the index 3; .* have 0, 1"):
            ask()
    assert silent.finish().calls == ()  # nothing came at all: the connection was lost before


@requirement("assembly.preview")
@EVERY
def test_a_preview_of_a_call_that_is_not_there_says_which_are(wire: Wire) -> None:
    assembler: Assembler = wire.assembler()
    with pytest.raises(IndexError, match="no call at the position 0; none has come yet"):
        assembler.preview(0)
    news = [each for event in wire.events([said("x", "f", {"a": 1})], None, "") for each in assembler.feed(event)]

    assert any(isinstance(each, ArgumentsGrew) for each in news)
    assert assembler.preview(0).name == "f"
    for position in (1, -1, cast("int", "0"), False):
        with pytest.raises(IndexError, match="there are 0 to 0"):
            assembler.preview(position)


@requirement("providers.shapes", "providers.message-error")
def test_a_member_of_an_enum_has_a_name_and_is_no_function() -> None:
    with pytest.raises(MessageError, match="function: expected an object"):
        openai.parse_chat_tool_calls([{"id": "x", "function": Colour.RED}])


class Colour(Enum):
    RED = 1


class Slotted:
    """A message of an SDK that keeps its fields in slots."""

    __slots__ = ("content", "role", "tool_calls")

    def __init__(self) -> None:
        self.role = "assistant"
        self.tool_calls = cast("list[Json]", MESSAGE["tool_calls"])


@requirement("providers.shapes", "history.continued")
def test_an_object_with_slots_is_read_like_any_other() -> None:
    message = Slotted()
    turn = openai.parse_chat_tool_calls(message)

    history = extend_history([], message, turn, [DONE])

    assert history[0] == {"role": "assistant", "tool_calls": MESSAGE["tool_calls"]}
    assert check_history(history) == ()


# --- histories

LOST: Final = chat([Round("hi", "ok", [("t1", "pay", {}), ("t2", "pay", {})])])[:-2]
DONE: Final = success(ToolCall("pay", id="t1"), "paid")


@requirement("history.known")
@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"not_run": ["t7"]}, "not_run: 't7' is no call of this history; its calls are 't1', 't2'"),
        ({"results": [success(ToolCall("pay", id="t7"), "ok")]}, "results: 't7' is no call of this history"),
        ({"results": [DONE, DONE]}, "results: several results for the call 't1'"),
        ({"results": [DONE], "not_run": ["t1"]}, "not_run: the call 't1' did run"),
    ],
    ids=["not run", "foreign", "twice", "both"],
)
def test_what_is_said_of_no_call_or_twice_of_one_is_refused(known: dict[str, object], words: str) -> None:
    with pytest.raises(HistoryError, match=words) as caught:
        repair_history(LOST, **known)  # type: ignore[arg-type]  # mistakes

    assert caught.value.faults == ()


@requirement("history.known")
@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"not_run": "t1"}, "not_run: must be a list of ids of calls, not 't1'"),
        ({"not_run": [ToolCall("pay", id="t1")]}, r"not_run\[0\]: must be text"),
        ({"not_run": None}, "not_run: must be a list"),
        ({"results": DONE}, "results: must be a list of ToolResult"),
        ({"results": {"t1": DONE}}, "results: must be a list of ToolResult"),
        ({"results": ["paid"]}, r"results\[0\]: must be a ToolResult .*collect_results.*not 'paid'"),
    ],
    ids=["text", "call", "None", "result", "mapping", "entry"],
)
def test_what_is_known_has_to_be_a_list(known: dict[str, object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        repair_history(LOST, **known)  # type: ignore[arg-type]  # mistakes


@requirement("history.known")
def test_where_no_call_is_or_none_has_an_id_nothing_can_be_said_of_one() -> None:
    without_ids = contents([Round("hi", "ok", [("a", "f", {})])], ids=False)[:-1]

    with pytest.raises(HistoryError, match="which has no calls"):
        repair_history([{"role": "user", "content": "hi"}], not_run=["t1"])
    with pytest.raises(HistoryError, match="whose calls have no ids"):
        repair_history(without_ids, not_run=["a"])


@requirement("history.known")
def test_an_id_that_two_waiting_calls_have_says_nothing() -> None:
    round_ = Round("hi", "ok", [("t1", "pay", {})])
    history = [message for message in chat([round_, round_]) if message["role"] != "tool"]

    with pytest.raises(HistoryError, match="2 calls that have no result are called 't1'"):
        repair_history(history, not_run=["t1"])


@requirement("history.known", "history.repair")
def test_what_was_said_once_may_be_said_again_of_the_repaired_history() -> None:
    long = "bad|" + "x" * 60
    history = chat([Round("hi", "ok", [("t1", "pay", {}), (long, "pay", {})])])[:-2]
    failed = failure(ToolCall("pay", id="t1"), "timeout", "TIMEOUT", "too slow")

    repair = repair_history(history, results=[failed], not_run=[long])
    again = repair_history(repair.messages, results=[failed], not_run=[long])

    assert again.messages == repair.messages
    assert again.done == ()
    assert "did not run" in str(repair.messages[-1])


MESSAGE: Final[Json] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}],
}


@requirement("history.continued")
def test_the_message_of_another_turn_is_refused_though_it_has_as_many_calls() -> None:
    turn = openai.parse_chat_tool_calls(MESSAGE)
    other = copy.deepcopy(MESSAGE)
    cast("list[Json]", other["tool_calls"])[0]["id"] = "t2"

    with pytest.raises(MessageError, match="the call 't1' of 'pay', as in the turn"):
        extend_history([], other, turn, [DONE])


@requirement("history.continued")
def test_an_answer_among_the_others_that_answers_nothing_is_refused() -> None:
    turn = openai.parse_chat_tool_calls(MESSAGE)
    answer = {"role": "tool", "tool_call_id": "t9", "content": "?"}

    with pytest.raises(HistoryError, match="'t9', which no call here has asked for"):
        extend_history([], MESSAGE, turn, [DONE], others=[answer])
    with pytest.raises(HistoryError, match="a second result"):
        extend_history([], MESSAGE, turn, [DONE], others=[{**answer, "tool_call_id": "t1"}])
    for options in ({"turn": MESSAGE}, {"others": "?"}, {"results": DONE}):
        given: dict[str, object] = {"turn": turn, "results": [DONE], **options}
        with pytest.raises(DefinitionError, match=next(iter(options))):
            extend_history([], MESSAGE, **given)  # type: ignore[arg-type]  # mistakes


@requirement("history.collected")
@pytest.mark.parametrize(
    ("pending", "words"),
    [
        (None, "pending: must be a list of results"),
        ("t1", "pending: must be"),
        ([DONE, "t1"], r"pending\[1\]: must be"),
    ],
    ids=["None", "text", "entry"],
)
async def test_only_results_and_what_will_have_one_can_be_collected(pending: object, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        await collect_results(pending)  # type: ignore[arg-type]  # mistakes


@requirement("providers.every-call-answered")
@pytest.mark.parametrize(
    "results", [DONE, "t1", {"t1": DONE}, [None], ["paid"]], ids=["result", "id", "mapping", "None", "text"]
)
def test_what_is_no_list_of_results_is_no_reply(results: object) -> None:
    with pytest.raises(DefinitionError, match=r"turn\.reply: results"):
        openai.parse_chat_tool_calls(MESSAGE).reply(results)  # type: ignore[arg-type]  # mistakes


@requirement("history.faults", "offering.names")
def test_a_name_is_repaired_to_the_one_under_which_the_tool_is_offered() -> None:
    write = define_tool(name="fs.write", description="Write.", input={}, execute=execute)
    [offered] = compile_tools([write], "openai-chat").offered

    repair = repair_history(chat([Round("hi", "ok", [("t1", "fs.write", {})])]))

    calls = cast("list[dict[str, Json]]", cast("Json", repair.messages[2])["tool_calls"])
    assert calls[0]["function"]["name"] == offered.wire != "fs.write"
