"""Claude Code, played: it speaks the protocol of the real one to the SDK, and its model makes the calls of a script."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, cast

import anyio
import msgspec
from claude_agent_sdk import Transport

Json = dict[str, object]

SESSION: Final = {"session_id": "session-1", "parent_tool_use_id": None, "uuid": "0"}


class Use(msgspec.Struct, frozen=True):
    """A tool use of the model: the name that Claude Code gives the tool, and the arguments."""

    name: str
    arguments: Mapping[str, object] = {}
    id: str = ""


class ScriptedCli(Transport):
    """Plays Claude Code for one client.

    Args:
        turn: What the model calls in its only turn, all at the same time.
        allowed: Names of tools that may be called without asking.

    Attributes:
        listed: What the servers list, by the name that Claude Code gives the tool.
        asked: What ``can_use_tool`` was asked about, and why.
        told: What the model reads of each use, by its id.
        failed: The ids of the uses that the model is told failed.
    """

    def __init__(
        self, turn: Sequence[Use], *, servers: Sequence[str] = ("armory",), allowed: Sequence[str] = ()
    ) -> None:
        self.turn = [msgspec.structs.replace(use, id=use.id or f"toolu_{n}") for n, use in enumerate(turn)]
        self.servers = servers
        self.allowed = allowed
        self.listed: dict[str, Json] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.told: dict[str, list[Json]] = {}
        self.failed: set[str] = set()
        self.over = anyio.Event()
        self._hooks: list[Json] = []
        self._waiting: dict[str, anyio.Event] = {}
        self._answers: dict[str, Json] = {}
        self._running: dict[int, str] = {}
        self._numbers = itertools.count(1)
        self._to_us, self._from_sdk = anyio.create_memory_object_stream[str](float("inf"))
        self._to_sdk, self._for_sdk = anyio.create_memory_object_stream[Json](float("inf"))

    # -- what the SDK calls

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        await self._to_us.send(data)

    async def read_messages(self) -> AsyncIterator[dict[str, object]]:
        async for message in self._for_sdk:
            yield message

    async def close(self) -> None:
        for stream in (self._to_us, self._for_sdk, self._to_sdk):
            stream.close()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        self._to_us.close()

    # -- what it does by itself

    async def play(self) -> None:
        """Live for as long as the client does."""
        with self._from_sdk, self._to_sdk:
            async with anyio.create_task_group() as tasks:
                async for line in self._from_sdk:
                    message = json.loads(line)
                    if message["type"] == "control_response":
                        answer = message["response"]
                        self._answers[answer["request_id"]] = answer
                        self._waiting.pop(answer["request_id"]).set()
                    elif message["type"] == "control_request":
                        tasks.start_soon(self._obey, message["request_id"], message["request"])
                    else:
                        tasks.start_soon(self._converse)
                tasks.cancel_scope.cancel()

    async def _obey(self, request_id: str, request: Json) -> None:
        if request["subtype"] == "initialize":
            hooks = cast("dict[str, list[Json]]", request["hooks"] or {})
            self._hooks = hooks.get("PreToolUse", [])
        elif request["subtype"] == "interrupt":
            await self.give_up()
        done = {"hook_on_failure_supported": True, "hooks_applied": True}
        response = {"subtype": "success", "request_id": request_id, "response": done}
        await self._to_sdk.send({"type": "control_response", "response": response})

    async def give_up(self) -> None:
        """Cancel what runs, as when the person presses Escape."""
        for number, server in list(self._running.items()):
            cancelled: Json = {"method": "notifications/cancelled", "params": {"requestId": number}}
            await self._ask({"subtype": "mcp_message", "server_name": server, "message": _rpc(cancelled)})

    async def _converse(self) -> None:
        for server in self.servers:
            await self._begin(server)
        content = [{"type": "tool_use", "id": u.id, "name": u.name, "input": dict(u.arguments)} for u in self.turn]
        said = {"role": "assistant", "model": "claude", "content": content}
        await self._to_sdk.send({"type": "assistant", "message": said, **SESSION})
        async with anyio.create_task_group() as tasks:
            for use in self.turn:
                tasks.start_soon(self._use, use)
        results = [
            {"type": "tool_result", "tool_use_id": u.id, "content": self.told[u.id], "is_error": u.id in self.failed}
            for u in self.turn
        ]
        await self._to_sdk.send({"type": "user", "message": {"role": "user", "content": results}, **SESSION})
        times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
        ended = {"type": "result", "subtype": "success", "is_error": False, "result": "done"}
        await self._to_sdk.send({**ended, **times, **SESSION})
        self.over.set()

    async def _begin(self, server: str) -> None:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "cli", "version": "0"}}
        await self._rpc(server, "initialize", hello)
        greeted = _rpc({"method": "notifications/initialized"})
        await self._ask({"subtype": "mcp_message", "server_name": server, "message": greeted})
        listed = cast("dict[str, list[Json]]", await self._rpc(server, "tools/list", {}))
        self.listed |= {f"mcp__{server}__{each['name']}": each for each in listed["tools"]}

    async def _use(self, use: Use) -> None:
        refusal = await self._permitted(use)
        if refusal is not None:
            self._tell(use, [{"type": "text", "text": refusal}], failed=True)
            return
        if not use.name.startswith("mcp__"):  # one of its own
            self._tell(use, [{"type": "text", "text": f"ran {use.name}"}], failed=False)
            return
        _, server, name = use.name.split("__", 2)
        meta = {"claudecode/toolUseId": use.id}
        params = {"name": name, "arguments": dict(use.arguments), "_meta": meta}
        answer = await self._rpc(server, "tools/call", params)
        if "content" in answer:
            self._tell(use, cast("list[Json]", answer["content"]), failed=answer.get("isError") is True)
        else:
            self._tell(use, [{"type": "text", "text": str(answer["message"])}], failed=True)

    def _tell(self, use: Use, content: list[Json], *, failed: bool) -> None:
        self.told[use.id] = content
        if failed:
            self.failed.add(use.id)

    async def _permitted(self, use: Use) -> str | None:
        asks, reason = use.name not in self.allowed, None
        for matcher in self._hooks:
            if matcher["matcher"] is None or re.fullmatch(str(matcher["matcher"]), use.name):
                for hook in cast("list[str]", matcher["hookCallbackIds"]):
                    decided = await self._hook(hook, use)
                    if decided.get("permissionDecision") == "deny":
                        return str(decided["permissionDecisionReason"])
                    if decided.get("permissionDecision") == "ask":
                        asks, reason = True, str(decided["permissionDecisionReason"])
        return await self._person(use, reason) if asks else None

    async def _hook(self, callback: str, use: Use) -> Json:
        given = {"hook_event_name": "PreToolUse", "tool_name": use.name, "tool_use_id": use.id, **SESSION}
        about = {"callback_id": callback, "input": {**given, "tool_input": dict(use.arguments)}, "tool_use_id": use.id}
        answer = await self._ask({"subtype": "hook_callback", **about})
        if answer["subtype"] == "error":  # as `on_failure="block"` has it
            return {"permissionDecision": "deny", "permissionDecisionReason": f"hook failed: {answer['error']}"}
        return cast("dict[str, Json]", answer["response"]).get("hookSpecificOutput", {})

    async def _person(self, use: Use, reason: str | None) -> str | None:
        self.asked.append((use.name, reason))
        about = {"tool_name": use.name, "input": dict(use.arguments), "tool_use_id": use.id, "decision_reason": reason}
        answer = await self._ask({"subtype": "can_use_tool", **about})
        if answer["subtype"] == "error":
            return f"Permission failed: {answer['error']}"
        decided = cast("Json", answer["response"])
        if decided["behavior"] == "deny":
            return str(decided["message"])
        cast("Json", use.arguments).clear()
        cast("Json", use.arguments).update(cast("Json", decided["updatedInput"]))
        return None

    # -- the two layers of the protocol

    async def _rpc(self, server: str, method: str, params: Mapping[str, object]) -> Json:
        number = next(self._numbers)
        self._running[number] = server
        message = _rpc({"id": number, "method": method, "params": dict(params)})
        answer = await self._ask({"subtype": "mcp_message", "server_name": server, "message": message})
        del self._running[number]
        response = cast("dict[str, Json]", cast("Json", answer["response"])["mcp_response"])
        return response["result"] if "result" in response else response["error"]

    async def _ask(self, request: Json) -> Json:
        request_id = f"cli-{next(self._numbers)}"
        answered = self._waiting[request_id] = anyio.Event()
        await self._to_sdk.send({"type": "control_request", "request_id": request_id, "request": request})
        await answered.wait()
        return self._answers.pop(request_id)


def _rpc(message: Json) -> Json:
    return {"jsonrpc": "2.0", **message}
