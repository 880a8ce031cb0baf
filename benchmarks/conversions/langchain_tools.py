"""LangChain: the converters of langchain-core."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# ruff: noqa: SLF001  # what is called before and after a request is theirs alone
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

import json

from langchain_core.messages import ToolMessage, convert_to_openai_messages
from langchain_core.output_parsers.openai_tools import parse_tool_calls
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from benchmarks.peers._worker import serve

from ._models import Trip, book_trip
from ._serving import repeated
from ._task import COMPLETION, RESULT

tool = StructuredTool.from_function(book_trip)
raw = COMPLETION["choices"][0]["message"]["tool_calls"]


def parse() -> object:
    """From the calls of the message to the arguments that the function gets."""
    [call] = parse_tool_calls(raw, return_id=True)
    return tool._parse_input(call["args"], call["id"])


def word() -> object:
    """From the value to the message."""
    return convert_to_openai_messages([ToolMessage(json.dumps(RESULT), tool_call_id="call_1")])


if __name__ == "__main__":
    apis = {
        "offer": "convert_to_openai_tool(model), strict",
        "again": "convert_to_openai_tool(tool), strict",
        "parse": "parse_tool_calls, then the tool's _parse_input",
        "parse_claude": "it has nothing for this",
        "word": "json.dumps, convert_to_openai_messages",
    }
    measures = {
        "offer": repeated(lambda: convert_to_openai_tool(Trip, strict=True)),
        "again": repeated(lambda: convert_to_openai_tool(tool, strict=True)),
        "parse": repeated(parse),
        "word": repeated(word),
    }
    serve("langchain-core", apis, measures)
