# The part of the Claude Agent SDK that we use, for checkers where the package is not installed: it is a large one.

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Literal, NotRequired, Self, TypeAlias, TypedDict

from mcp.server import Server

from .types import HookEvent

__version__: str

class ToolPermissionContext:
    tool_use_id: str | None
    agent_id: str | None
    decision_reason: str | None
    def __init__(self, *, tool_use_id: str | None = None) -> None: ...

class PermissionResultAllow:
    behavior: Literal["allow"]
    updated_input: dict[str, Any] | None
    def __init__(self, *, updated_input: dict[str, Any] | None = None) -> None: ...

class PermissionResultDeny:
    behavior: Literal["deny"]
    message: str
    def __init__(self, *, message: str = "", interrupt: bool = False) -> None: ...

PermissionResult: TypeAlias = PermissionResultAllow | PermissionResultDeny
CanUseTool: TypeAlias = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]

class PreToolUseHookInput(TypedDict):
    hook_event_name: Literal["PreToolUse"]
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str

class StopHookInput(TypedDict):
    hook_event_name: Literal["Stop"]

HookInput: TypeAlias = PreToolUseHookInput | StopHookInput

class HookContext(TypedDict):
    signal: Any | None

class PreToolUseHookSpecificOutput(TypedDict):
    hookEventName: Literal["PreToolUse"]
    permissionDecision: NotRequired[Literal["allow", "deny", "ask", "defer"]]
    permissionDecisionReason: NotRequired[str]

class HookJSONOutput(TypedDict):
    hookSpecificOutput: NotRequired[PreToolUseHookSpecificOutput]

HookCallback: TypeAlias = Callable[[HookInput, str | None, HookContext], Awaitable[HookJSONOutput]]

class HookMatcher:
    matcher: str | None
    hooks: list[HookCallback]
    on_failure: Literal["continue", "block"] | None
    def __init__(
        self,
        matcher: str | None = None,
        hooks: list[HookCallback] = ...,
        timeout: float | None = None,
        on_failure: Literal["continue", "block"] | None = None,
    ) -> None: ...

class McpSdkServerConfig(TypedDict):
    type: Literal["sdk"]
    name: str
    instance: Server[Any]

class TextBlock:
    text: str

class ToolUseBlock:
    id: str
    name: str
    input: dict[str, Any]
    def __init__(self, id: str, name: str, input: dict[str, Any]) -> None: ...

class ToolResultBlock:
    tool_use_id: str
    content: str | list[dict[str, Any]] | None
    is_error: bool | None
    def __init__(
        self, tool_use_id: str, content: str | list[dict[str, Any]] | None = None, is_error: bool | None = None
    ) -> None: ...

class AssistantMessage:
    content: list[TextBlock | ToolUseBlock]

class UserMessage:
    content: str | list[TextBlock | ToolUseBlock | ToolResultBlock]

class ResultMessage:
    result: str | None
    is_error: bool

Message: TypeAlias = AssistantMessage | UserMessage | ResultMessage

class ClaudeAgentOptions:
    def __init__(
        self,
        *,
        mcp_servers: dict[str, McpSdkServerConfig] = ...,
        allowed_tools: list[str] = ...,
        tools: list[str] | None = None,
        can_use_tool: CanUseTool | None = None,
        hooks: dict[HookEvent, list[HookMatcher]] | None = None,
        env: dict[str, str] = ...,
        cwd: str | None = None,
        setting_sources: list[Literal["user", "project", "local"]] | None = None,
        model: str | None = None,
        max_turns: int | None = None,
        system_prompt: str | None = None,
    ) -> None: ...

class Transport(ABC):
    @abstractmethod
    async def connect(self) -> None: ...
    @abstractmethod
    async def write(self, data: str) -> None: ...
    @abstractmethod
    def read_messages(self) -> AsyncIterator[dict[str, Any]]: ...
    @abstractmethod
    async def close(self) -> None: ...
    @abstractmethod
    def is_ready(self) -> bool: ...
    @abstractmethod
    async def end_input(self) -> None: ...

class ClaudeSDKClient:
    def __init__(self, options: ClaudeAgentOptions | None = None, transport: Transport | None = None) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, kind: object, exc: object, traceback: object) -> bool: ...
    async def query(self, prompt: str) -> None: ...
    async def interrupt(self) -> None: ...
    def receive_response(self) -> AsyncIterator[Message]: ...

def query(
    *,
    prompt: str | AsyncIterable[dict[str, Any]],
    options: ClaudeAgentOptions | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[Message]: ...
