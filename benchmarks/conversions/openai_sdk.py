"""OpenAI's SDK: the helpers for tools that are pydantic models."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

from openai import pydantic_function_tool
from openai.lib._parsing._completions import parse_chat_completion
from openai.types.chat import ChatCompletion

from benchmarks.peers._worker import serve

from ._models import Trip
from ._serving import repeated
from ._task import COMPLETION, DESCRIPTION, NAME

tool = pydantic_function_tool(Trip, name=NAME, description=DESCRIPTION)
completion = ChatCompletion.model_validate(COMPLETION)


def offer() -> object:
    """One tool."""
    return pydantic_function_tool(Trip, name=NAME, description=DESCRIPTION)


def parse() -> object:
    """What `chat.completions.parse` does with a response."""
    parsed = parse_chat_completion(chat_completion=completion, input_tools=[tool], response_format=None)
    return parsed.choices[0].message.tool_calls[0].function.parsed_arguments.legs


if __name__ == "__main__":
    nothing = "it has nothing for this"
    apis = {
        "offer": "pydantic_function_tool",
        "again": "pydantic_function_tool",
        "parse": "what chat.completions.parse does",
        "parse_claude": nothing,
        "word": nothing,
    }
    serve("openai", apis, {"offer": repeated(offer), "again": repeated(offer), "parse": repeated(parse)})
