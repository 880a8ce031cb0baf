"""What a host may serve besides tools: resources and prompts, by functions of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs
from mcp import types

from ._request import McpRequest

ListResources = Callable[[McpRequest, types.PaginatedRequestParams], Awaitable[types.ListResourcesResult]]
ReadResource = Callable[
    [McpRequest, types.ReadResourceRequestParams], Awaitable[types.ReadResourceResult | types.InputRequiredResult]
]
ListTemplates = Callable[[McpRequest, types.PaginatedRequestParams], Awaitable[types.ListResourceTemplatesResult]]
ListPrompts = Callable[[McpRequest, types.PaginatedRequestParams], Awaitable[types.ListPromptsResult]]
GetPrompt = Callable[
    [McpRequest, types.GetPromptRequestParams], Awaitable[types.GetPromptResult | types.InputRequiredResult]
]
Complete = Callable[[McpRequest, types.CompleteRequestParams], Awaitable[types.CompleteResult]]


@attrs.frozen(kw_only=True, eq=False)
class Resources:
    """Functions that serve resources. They get the request and its parameters, and answer in the types of the SDK.

    They are code of the host's: no policy, limits or ledger stands before them. An ``MCPError`` reaches the client; of
    any other exception it learns nothing.

    Args:
        list: Answers ``resources/list``.
        read: Answers ``resources/read``; to clients of protocol 2026-07-28 also with a question, whose answer comes with
            their next request. What it hands out as its state is its own to check.
        templates: Answers ``resources/templates/list``; None if there are none.
    """

    list: ListResources
    read: ReadResource
    templates: ListTemplates | None = None


@attrs.frozen(kw_only=True, eq=False)
class Prompts:
    """Functions that serve prompts, as `Resources` are served.

    Args:
        list: Answers ``prompts/list``.
        get: Answers ``prompts/get``, or asks first, as ``read`` of `Resources` does.
        complete: Answers ``completion/complete``, for prompts and resource templates; None if there is nothing.
    """

    list: ListPrompts
    get: GetPrompt
    complete: Complete | None = None
