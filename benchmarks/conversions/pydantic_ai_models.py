"""pydantic-ai: what its model class for Chat Completions does before and after a request."""

# The package is only there in the environment that is made for it, so nothing here can be checked beside ours.
# ruff: noqa: SLF001  # what is called before and after a request is theirs alone
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

import asyncio
from itertools import count as counting

from openai.types.chat import ChatCompletion
from pydantic_ai import Tool
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.peers._worker import serve

from ._models import book_trip
from ._serving import repeated, timed
from ._task import COMPLETION, NAME, RESULT

model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="k"))
tool = Tool(book_trip)
completion = ChatCompletion.model_validate(COMPLETION)
numbers = counting()


def again() -> object:
    """The tools of one request, of a definition that is known."""
    parameters = model.customize_request_parameters(ModelRequestParameters(function_tools=[tool.tool_def]))
    return [model._map_tool_definition(each, {}) for each in parameters.function_tools]


def offer() -> object:
    """The same, from the function on."""
    parameters = ModelRequestParameters(function_tools=[Tool(book_trip).tool_def])
    customized = model.customize_request_parameters(parameters)
    return [model._map_tool_definition(each, {}) for each in customized.function_tools]


def parse() -> object:
    """From the response to the arguments that the function gets."""
    [part] = model._process_response(completion).parts
    return tool.function_schema.validator.validate_json(part.args)


async def _words(count: int) -> None:
    for _ in range(count):
        request = ModelRequest([ToolReturnPart(NAME, RESULT, tool_call_id="call_1")])
        [_ async for _ in model._map_user_message(request)]


if __name__ == "__main__":
    nothing = "it has nothing for this"
    apis = {
        "offer": "Tool(function), customize_request_parameters, _map_tool_definition",
        "again": "customize_request_parameters, _map_tool_definition",
        "parse": "_process_response, then the tool's validator",
        "parse_claude": nothing,
        "word": "ToolReturnPart, _map_user_message",
    }
    measures = {
        "offer": repeated(offer),
        "again": repeated(again),
        "parse": repeated(parse),
        "word": timed(lambda count: asyncio.run(_words(count))),
    }
    serve("pydantic-ai-slim", apis, measures)
