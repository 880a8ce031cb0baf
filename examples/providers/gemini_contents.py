"""Gemini: a plain list of contents is the history through a whole tool loop, taken up after a crash.

``python -m examples.providers.gemini_contents`` runs it with a model that is scripted. With a real one, ``model`` is
``client.models.generate_content(model=..., contents=history, config=...)``, and the rest stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from armory_trio import open_supervisor
from armory_trio.providers import extend_history, repair_history
from armory_trio.providers.gemini import parse_tool_calls

from ._office import TOOLBOX, require_legal

Json = dict[str, object]


def response(*parts: Json, reason: str = "STOP") -> Json:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason}]}


def function_call(name: str, **arguments: object) -> Json:
    return {"functionCall": {"name": name, "args": arguments}}


SCRIPT = (
    response(
        {"text": "Let me look again."}, function_call("read", path="fern.txt"), function_call("read", path="moss.txt")
    ),
    response(function_call("count_words", text="Moss has no roots."), function_call("count_words", words="?")),
    response({"text": "Four words on moss."}),
)

LEFT_BY_A_CRASH: list[Json] = [
    {"role": "user", "parts": [{"text": "How many words are on the shelf about moss?"}]},
    {"role": "model", "parts": [function_call("read", path="moss.txt")]},
]
"""What was stored when the process went down: nobody knows whether the call ran."""


async def model(history: Sequence[object], said: int) -> Json:
    """What a provider answers: here the next response of the script, if the history is one that it takes."""
    require_legal(history, "gemini")
    await trio.lowlevel.checkpoint()
    return SCRIPT[said]


async def run() -> list[object]:
    """The loop. Answers the history as it is at the end."""
    repair = repair_history(LEFT_BY_A_CRASH)
    for fault in repair.done:
        print(f"   {fault.path}: {fault.words}; {fault.remedy}")
    history = repair.messages
    async with open_supervisor(TOOLBOX) as supervisor:
        for said in range(len(SCRIPT)):
            message = await model(history, said)
            turn = parse_tool_calls(message)
            results = await supervisor.execute_batch(turn.calls)
            history = extend_history(history, message, turn, results)
            if not turn.calls:
                break
    return history


def main() -> None:
    for content in trio.run(run):
        print(content)


if __name__ == "__main__":
    main()
