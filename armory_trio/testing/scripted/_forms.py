"""How each provider writes what a model says, and what it takes for an answer: a provider's side, in small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, cast

from ...definitions import canonical_text, thaw_json
from ...providers import Provider, Turn, anthropic, gemini, openai
from ._script import Json, ScriptedCall, ScriptedTurn, ToolAnswer

MODEL: Final = "scripted"
"""What the made-up responses call their model."""


class WrongAnswer(Exception):
    """A host's message is not what the provider takes for an answer to the calls."""


class Form(Protocol):
    """One provider's form of messages."""

    id_prefix: str
    """What stands before the number in the ids of calls; empty where a provider sends none."""

    def ask(self, prompt: str) -> Json:
        """A message of the user's."""
        ...

    def response(self, turn: ScriptedTurn, number: int) -> Json:
        """The whole response with *turn*, whose calls have ids."""
        ...

    def said(self, response: Json) -> list[Json]:
        """What of *response* a host appends to its history."""
        ...

    def parse(self, response: Json, names: Mapping[str, str]) -> Turn:
        """The calls in *response*, as `armory_trio.providers` reads them."""
        ...

    def answers(self, calls: Sequence[ScriptedCall], messages: Sequence[Mapping[str, object]]) -> list[ToolAnswer]:
        """What *messages*, which follow the *calls*, answer to them, in the order of the answers.

        Raises:
            WrongAnswer: The provider would refuse them.
        """
        ...


class ChatForm:
    """OpenAI Chat Completions."""

    id_prefix = "call_"

    def ask(self, prompt: str) -> Json:
        return {"role": "user", "content": prompt}

    def response(self, turn: ScriptedTurn, number: int) -> Json:
        message: Json = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _text_of(call)}}
                for call in turn.calls
            ]
        reason = "length" if turn.cut else "tool_calls" if turn.calls else "stop"
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "finish_reason": reason, "logprobs": None, "message": message}],
        }

    def said(self, response: Json) -> list[Json]:
        [choice] = cast("list[Json]", response["choices"])
        return [cast("Json", choice["message"])]

    def parse(self, response: Json, names: Mapping[str, str]) -> Turn:
        return openai.parse_chat_tool_calls(response, names=names)

    def answers(self, calls: Sequence[ScriptedCall], messages: Sequence[Mapping[str, object]]) -> list[ToolAnswer]:
        found: list[ToolAnswer] = []
        for message in messages:
            if message.get("role") != "tool":
                break  # the API wants all of them directly after the calls
            call_id = _id(message, "tool_call_id")
            found.append(ToolAnswer(call_id, _name(calls, call_id), _words(message.get("content")), None))
        return _complete(calls, found, "a message with role 'tool' directly after the calls")


class ResponsesForm:
    """OpenAI Responses."""

    id_prefix = "call_"

    def ask(self, prompt: str) -> Json:
        return {"role": "user", "content": prompt}

    def response(self, turn: ScriptedTurn, number: int) -> Json:
        output: list[Json] = []
        if turn.text or not turn.calls:
            content: list[Json] = [{"type": "output_text", "text": turn.text, "annotations": []}]
            message: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
            output.append({**message, "content": content})
        for at, call in enumerate(turn.calls, start=1):
            status = "incomplete" if turn.cut and at == len(turn.calls) else "completed"
            item: Json = {"type": "function_call", "id": f"fc_{number}_{at}", "call_id": call.id, "name": call.name}
            output.append({**item, "arguments": _text_of(call), "status": status})
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "model": MODEL,
            "status": "incomplete" if turn.cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if turn.cut else None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }

    def said(self, response: Json) -> list[Json]:
        return list(cast("list[Json]", response["output"]))

    def parse(self, response: Json, names: Mapping[str, str]) -> Turn:
        return openai.parse_response_tool_calls(response, names=names)

    def answers(self, calls: Sequence[ScriptedCall], messages: Sequence[Mapping[str, object]]) -> list[ToolAnswer]:
        found: list[ToolAnswer] = []
        for item in messages:
            if item.get("type") == "function_call_output":
                call_id = _id(item, "call_id")
                found.append(ToolAnswer(call_id, _name(calls, call_id), _words(item.get("output")), None))
        return _complete(calls, found, "an item of type 'function_call_output'")


class AnthropicForm:
    """Anthropic Messages."""

    id_prefix = "toolu_"

    def ask(self, prompt: str) -> Json:
        return {"role": "user", "content": prompt}

    def response(self, turn: ScriptedTurn, number: int) -> Json:
        content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text or not turn.calls else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": _object_of(call)} for call in turn.calls
        ]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": content,
            "stop_reason": "max_tokens" if turn.cut else "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def said(self, response: Json) -> list[Json]:
        return [{"role": "assistant", "content": response["content"]}]

    def parse(self, response: Json, names: Mapping[str, str]) -> Turn:
        return anthropic.parse_tool_calls(response, names=names)

    def answers(self, calls: Sequence[ScriptedCall], messages: Sequence[Mapping[str, object]]) -> list[ToolAnswer]:
        wanted = "a 'tool_result' block in the user message directly after the calls"
        blocks = _of_next_user(messages, "content")
        found: list[ToolAnswer] = []
        others = False
        for block in blocks:
            if block.get("type") != "tool_result":
                others = True
            elif others:
                raise WrongAnswer("a 'tool_result' block stands behind other content; put all of them first")
            else:
                call_id = _id(block, "tool_use_id")
                text, failed = _words(block.get("content")), block.get("is_error") is True
                found.append(ToolAnswer(call_id, _name(calls, call_id), text, failed))
        return _complete(calls, found, wanted)


class GeminiForm:
    """Gemini."""

    id_prefix = ""

    def ask(self, prompt: str) -> Json:
        return {"role": "user", "parts": [{"text": prompt}]}

    def response(self, turn: ScriptedTurn, number: int) -> Json:
        parts: list[Json] = [{"text": turn.text}] if turn.text or not turn.calls else []
        for call in turn.calls:
            known = {} if call.id is None else {"id": call.id}
            parts.append({"functionCall": {**known, "name": call.name, "args": _object_of(call)}})
        content = {"role": "model", "parts": parts}
        return {
            "candidates": [{"index": 0, "content": content, "finishReason": "MAX_TOKENS" if turn.cut else "STOP"}],
            "modelVersion": MODEL,
            "responseId": f"response-{number}",
        }

    def said(self, response: Json) -> list[Json]:
        [candidate] = cast("list[Json]", response["candidates"])
        return [cast("Json", candidate["content"])]

    def parse(self, response: Json, names: Mapping[str, str]) -> Turn:
        return gemini.parse_tool_calls(response, names=names)

    def answers(self, calls: Sequence[ScriptedCall], messages: Sequence[Mapping[str, object]]) -> list[ToolAnswer]:
        parts = _of_next_user(messages, "parts")
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        found: list[ToolAnswer] = []
        for response in _records(responses):
            said = response.get("response")
            known_as, name = response.get("id"), str(response.get("name"))
            failed = any("error" in told for told in _records([said]))
            found.append(ToolAnswer(known_as if isinstance(known_as, str) else "", name, _words(said), failed))
        names = [(call.id or "", call.name) for call in calls]
        if [(answer.call_id, answer.name) for answer in found] != names:
            # Without ids the API tells them apart by their order and names alone.
            raise WrongAnswer(
                "expected one 'functionResponse' part for each call, in their order, in the user content directly after"
                f" them: {_list(call.name for call in calls)}; found {_list(answer.name for answer in found)}"
            )
        return found


FORMS: Final[Mapping[Provider, Callable[[], Form]]] = {
    "openai-chat": ChatForm,
    "openai-responses": ResponsesForm,
    "anthropic": AnthropicForm,
    "gemini": GeminiForm,
}


def _text_of(call: ScriptedCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else _encoded(call.arguments)


def _object_of(call: ScriptedCall) -> object:
    return call.arguments if isinstance(call.arguments, str) else thaw_json(call.arguments)


def _complete(calls: Sequence[ScriptedCall], found: list[ToolAnswer], form: str) -> list[ToolAnswer]:
    """*found*, if it answers each of the *calls* once, in any order."""
    wanted, given = [call.id or "" for call in calls], [answer.call_id for answer in found]
    faults = [f"no answer to the call {call.id!r} of {call.name!r}" for call in calls if call.id not in given]
    faults += [f"several answers to {each!r}" for each in dict.fromkeys(given) if given.count(each) > 1]
    faults += [f"an answer to {each!r}, which is no call of this turn" for each in given if each not in wanted]
    if faults:
        raise WrongAnswer(f"{'; '.join(faults)}. An answer is {form}")
    return found


def _id(message: Mapping[str, object], field: str) -> str:
    value = message.get(field)
    if not isinstance(value, str):
        raise WrongAnswer(f"an answer has {value!r} as its {field!r}; give the id of the call")
    return value


def _name(calls: Sequence[ScriptedCall], call_id: str) -> str:
    return next((call.name for call in calls if call.id == call_id), "")


def _of_next_user(messages: Sequence[Mapping[str, object]], field: str) -> list[Mapping[str, object]]:
    """The parts of the message that comes next, if it is the user's."""
    if not messages or messages[0].get("role") != "user":
        return []
    return _records(messages[0].get(field))


def _records(value: object) -> list[Mapping[str, object]]:
    entries = cast("Iterable[object]", value) if isinstance(value, list | tuple) else ()
    return [cast("Mapping[str, object]", entry) for entry in entries if isinstance(entry, Mapping)]


def _words(content: object) -> str:
    """What a model reads in the content of an answer: texts as they are, structures as JSON, pictures by their type."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        inner = list(cast("Mapping[str, object]", content).values())
        return inner[0] if len(inner) == 1 and isinstance(inner[0], str) else _encoded(inner[0] if inner else {})
    blocks = _records(content)
    texts = [str(block["text"]) if "text" in block else f"[{block.get('type')}]" for block in blocks]
    return "\n\n".join(texts)


def _encoded(value: object) -> str:
    return canonical_text(value, mode="exact")


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
