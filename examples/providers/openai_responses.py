"""The Responses API: a plain list of items is the history through a whole tool loop.

``python -m examples.providers.openai_responses`` runs it with a model that is scripted. With a real one, ``model`` is
``client.responses.create(model=..., input=history, tools=...)``, and the rest stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from armory_trio import open_supervisor
from armory_trio.providers import extend_history
from armory_trio.providers.openai import parse_response_tool_calls

from ._office import TOOLBOX, require_legal

Json = dict[str, object]


def function_call(call_id: str, name: str, arguments: str) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, "status": "completed"}


def response(*output: Json, status: str = "completed") -> Json:
    return {"object": "response", "status": status, "output": list(output)}


SCRIPT = (
    response(
        {"type": "reasoning", "id": "rs_1", "summary": []},
        function_call("call_1", "read", '{"path": "moss.txt"}'),
        function_call("call_2", "read", '{"path": "fern.txt"'),
    ),
    response(function_call("call_3", "read", '{"path": "fern.txt"}')),
    response({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Both are old."}]}),
)


async def model(history: Sequence[object], said: int) -> Json:
    """What a provider answers: here the next response of the script, if the history is one that it takes."""
    require_legal(history, "openai-responses")
    await trio.lowlevel.checkpoint()
    return SCRIPT[said]


async def run() -> list[object]:
    """The loop. Answers the history as it is at the end."""
    history: list[object] = [{"role": "user", "content": "What is on the shelf about moss and ferns?"}]
    async with open_supervisor(TOOLBOX) as supervisor:
        for said in range(len(SCRIPT)):
            message = await model(history, said)
            turn = parse_response_tool_calls(message)
            results = await supervisor.execute_batch(turn.calls)
            history = extend_history(history, message, turn, results)
            if not turn.calls:
                break
    return history


def main() -> None:
    for item in trio.run(run):
        print(item)


if __name__ == "__main__":
    main()
