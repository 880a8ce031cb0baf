"""armory_trio: a manifest, a turn, validated arguments, and a reply."""

from __future__ import annotations

import datetime as dt
from itertools import count as counting
from typing import Final, Literal

import msgspec

from armory_trio import ToolDefinition, ToolId, ToolResult, tool
from armory_trio.content import encode_content
from armory_trio.providers import anthropic, compile_tools, openai
from armory_trio.providers._manifest import compile_definition
from benchmarks._sample import Sample, Stopwatch
from benchmarks.peers._worker import serve

from ._serving import repeated
from ._task import ARGUMENTS, COMPLETION, RESULT


class Traveller(msgspec.Struct, forbid_unknown_fields=True):
    """Who travels."""

    name: str
    age: int
    email: str | None


class Leg(msgspec.Struct, forbid_unknown_fields=True):
    """One train."""

    origin: str
    target: str
    day: dt.date
    seat: Literal["window", "aisle"]


@tool(effect="read-only")
async def book_trip(traveller: Traveller, legs: list[Leg], budget: float, tags: dict[str, str]) -> str:
    """Book a trip."""
    return f"{traveller.name} {len(legs)} {budget} {len(tags)}"


MANIFEST: Final = compile_tools([book_trip], "openai-chat", strict=False)
CLAUDE: Final = {
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "book_trip", "input": ARGUMENTS}],
}
TURN: Final = openai.parse_chat_tool_calls(COMPLETION, manifest=MANIFEST)
numbers = counting()


def offer(count: int) -> Sample:
    """Compile as many contracts, none of which was compiled before."""
    known = book_trip.definition
    fresh = [ToolDefinition(ToolId(f"t{next(numbers)}"), known.description, known.input_schema) for _ in range(count)]
    watch = Stopwatch()
    for definition in fresh:
        compile_definition(definition, "openai-chat", strict=True)
    return watch.read(count)


def parse() -> object:
    """From the response to the arguments that the function gets."""
    [call] = openai.parse_chat_tool_calls(COMPLETION, manifest=MANIFEST).calls
    return book_trip.contract.validate(call.arguments)


def parse_claude() -> object:
    """The same of Anthropic's message, whose arguments are decoded already."""
    [call] = anthropic.parse_tool_calls(CLAUDE).calls
    return book_trip.contract.validate(call.arguments)


def word() -> object:
    """From the value to the message."""
    content = encode_content(RESULT)
    return TURN.reply([ToolResult("", "call_1", "book_trip", "success", RESULT, content, attempts=1)])


if __name__ == "__main__":
    apis = {
        "offer": "compile_definition",
        "again": "compile_tools(...).tools",
        "parse": "parse_chat_tool_calls, contract.validate",
        "parse_claude": "parse_tool_calls, contract.validate",
        "word": "encode_content, turn.reply",
    }
    measures = {
        "offer": offer,
        "again": repeated(lambda: compile_tools([book_trip], "openai-chat", strict=True).tools),
        "parse": repeated(parse),
        "parse_claude": repeated(parse_claude),
        "word": repeated(word),
    }
    serve("armory-trio", apis, measures)
