"""From a message through a supervisor and back to the model."""

from __future__ import annotations

import trio
import trio.testing

from armory_trio import Toolbox, tool
from armory_trio.engine import Supervisor, open_supervisor
from armory_trio.providers import Turn, anthropic, gemini, openai
from tests.requirements import requirement

from ._results import as_object, entries
from ._sdk import accept

Json = dict[str, object]

ran: list[str] = []


@tool(effect="read-only")
async def look(what: str = "all") -> str:
    """Look at something."""
    ran.append(what)
    return f"saw {what}"


@tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
async def pay() -> None:
    """Pay, which takes for ever after the money has left."""
    ran.append("money left")
    await trio.sleep_forever()


TOOLBOX = Toolbox([look, pay])


async def replied(supervisor: Supervisor, turn: Turn) -> list[Json]:
    reply = turn.reply(await supervisor.execute_batch(turn.calls))
    accept(turn, reply)
    return reply


def texts(message: Json) -> list[str]:
    return [str(entries(block)[0]["text"]) for block in entries(message)]


@requirement("providers.round-trip")
async def test_broken_calls_never_run_and_are_answered_in_their_places() -> None:
    ran.clear()
    message = [
        {"id": "a", "function": {"name": "look", "arguments": '{"what": "here"}'}},
        {"id": "b", "function": {"name": "look", "arguments": '{"what": "the'}},
        {"id": "c", "function": {"name": "look", "arguments": ""}},
        {"id": "d", "function": {"name": "look", "arguments": '"here"'}},
    ]

    async with open_supervisor(TOOLBOX) as supervisor:
        reply = await replied(supervisor, openai.parse_chat_tool_calls(message))

    assert sorted(ran) == ["all", "here"]
    assert [entry["tool_call_id"] for entry in reply] == ["a", "b", "c", "d"]
    assert [str(entry["content"]).partition(":")[0] for entry in reply] == [
        "saw here",
        "The tool 'look' did not run",
        "saw all",
        "The tool 'look' did not run",
    ]


@requirement("providers.round-trip", "providers.duplicate-ids")
async def test_calls_that_share_an_id_both_run_and_are_both_answered() -> None:
    uses = [{"type": "tool_use", "id": "x", "name": "look", "input": {"what": what}} for what in ("one", "two")]

    async with open_supervisor(TOOLBOX) as supervisor:
        [message] = await replied(supervisor, anthropic.parse_tool_calls(uses))
        [again] = await replied(supervisor, anthropic.parse_tool_calls(uses))

    assert texts(message) == texts(again) == ["saw one", "saw two"]
    assert [block["tool_use_id"] for block in entries(message)] == ["x", "x"]


@requirement("providers.round-trip", "providers.honest-words")
async def test_an_interrupted_payment_is_not_told_as_one_that_never_ran(autojump_clock: trio.testing.MockClock) -> None:
    ran.clear()
    turn = anthropic.parse_tool_calls([{"type": "tool_use", "id": name, "name": name} for name in ("pay", "steal")])

    async with open_supervisor(TOOLBOX) as supervisor:
        [message] = turn.reply(await supervisor.execute_batch(turn.calls, timeout=5.0))

    interrupted, unknown = texts(message)
    assert ran == ["money left"]
    assert interrupted.startswith("The tool 'pay' ran out of time (TIMEOUT).")
    assert interrupted.endswith("It may have taken effect. Do not simply repeat it; check first what happened.")
    assert unknown.startswith("The tool 'steal' did not run: there is no such tool (NOT_FOUND).")


@requirement("providers.round-trip", "providers.words-say-where")
async def test_the_model_reads_each_problem_of_its_arguments_once() -> None:
    parts = [{"functionCall": {"name": "look", "args": {"what": 5, "wat": 1}}}]

    async with open_supervisor(TOOLBOX) as supervisor:
        [content] = await replied(supervisor, gemini.parse_tool_calls(parts))

    [part] = entries(content, "parts")
    words = str(as_object(as_object(part["functionResponse"])["response"])["error"])
    assert words.count("`wat`") == words.count("`what`: expected") == 1
    assert words.splitlines()[-1] == "Nothing was changed. Correct the call and send it again."
