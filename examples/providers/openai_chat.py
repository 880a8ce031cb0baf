"""Chat Completions, streamed: a plain list is the history through a whole tool loop.

``python -m examples.providers.openai_chat`` runs it with a model that is scripted. With a real one, ``model`` is
``client.chat.completions.create(model=..., messages=history, tools=..., stream=True)``, and the rest stays.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import trio

from armory_trio import open_supervisor
from armory_trio.providers import ArgumentsGrew, CallBegan
from armory_trio.providers.openai import ChatAssembler

from ._office import TOOLBOX, require_legal

Json = dict[str, object]


def delta(**fields: object) -> Json:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def call(index: int, **function: str) -> Json:
    names: Json = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
    return delta(tool_calls=[{"index": index, **names, "function": function}])


def ends(reason: str) -> Json:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


SCRIPT = (
    [
        delta(role="assistant", content="Let me look at both."),
        call(0, name="read", arguments=""),
        call(0, arguments='{"path": "moss'),
        call(0, arguments='.txt"}'),
        call(1, name="read", arguments='{"path": "rose.txt"}'),
        ends("tool_calls"),
    ],
    [call(0, name="count_words", arguments='{"text": "Moss has no roots."'), ends("length")],
    [delta(role="assistant", content="Moss has no roots; there is nothing on roses."), ends("stop")],
)


async def model(history: Sequence[object], said: int) -> AsyncIterator[Json]:
    """What a provider streams: here the next message of the script, if the history is one that it takes."""
    require_legal(history, "openai-chat")
    for chunk in SCRIPT[said]:
        await trio.lowlevel.checkpoint()
        yield chunk


async def run() -> list[Json]:
    """The loop. Answers the history as it is at the end."""
    history: list[Json] = [{"role": "user", "content": "What is on the shelf about moss and roses?"}]
    async with open_supervisor(TOOLBOX) as supervisor:
        for said in range(len(SCRIPT)):
            assembler = ChatAssembler()
            async for chunk in model(history, said):
                for news in assembler.feed(chunk):
                    if isinstance(news, CallBegan | ArgumentsGrew):
                        shown = assembler.preview(news.position)
                        print(f"   {shown.name} {shown.arguments}")
            turn = assembler.finish()
            history.append(assembler.message())
            history.extend(turn.reply(await supervisor.execute_batch(turn.calls)))
            if not turn.calls:
                break
    return history


def main() -> None:
    for message in trio.run(run):
        print(f"{message['role']}: {message.get('content') or message.get('tool_calls')}")


if __name__ == "__main__":
    main()
