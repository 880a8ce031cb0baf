"""Whether the official SDKs accept a reply, and keep all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from anthropic.types import MessageParam
from google.genai import types as genai
from openai.types.chat import ChatCompletionToolMessageParam, ChatCompletionUserMessageParam
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import TypeAdapter

from armory_trio.providers import Turn

T = TypeVar("T")
Json = dict[str, object]

_TOOL_MESSAGE = TypeAdapter(ChatCompletionToolMessageParam)
_USER_MESSAGE = TypeAdapter(ChatCompletionUserMessageParam)
_OUTPUT = TypeAdapter(FunctionCallOutput)
_MESSAGE = TypeAdapter(MessageParam)


def accept(turn: Turn, reply: list[Json]) -> None:
    """Assert that the SDK of the turn's provider takes *reply* and that nothing in it is lost on the way."""
    for message in reply:
        match turn.provider:
            case "openai-chat":
                if message["role"] == "user":
                    _same(_USER_MESSAGE, message)
                else:
                    _same(_TOOL_MESSAGE, message)
            case "openai-responses":
                _same(_OUTPUT, message)
            case "anthropic":
                _same(_MESSAGE, message)
            case "gemini":
                content = genai.Content.model_validate(message)
                assert content.model_dump(mode="json", by_alias=True, exclude_none=True) == message


def _same(adapter: TypeAdapter[T], message: Json) -> None:
    assert _settled(adapter.validate_python(message)) == message


def _settled(value: object) -> object:
    """*value* with the lazy lists of the validator read, which is when their entries are checked."""
    if isinstance(value, Mapping):
        return {key: _settled(entry) for key, entry in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_settled(entry) for entry in cast("Iterable[object]", value)]
    return value
