"""Anthropic Messages, streamed: a plain list is the history through a whole tool loop, past a lost connection.

``python -m examples.providers.anthropic_messages`` runs it with a model that is scripted. With a real one, ``model`` is
``client.messages.create(model=..., max_tokens=..., messages=history, tools=..., stream=True)``, and the rest stays.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

import trio

from armory_trio import open_supervisor
from armory_trio.providers import extend_history
from armory_trio.providers.anthropic import MessageAssembler

from ._office import TOOLBOX, require_legal

Json = dict[str, object]


def text(index: int, words: str) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": words}},
        {"type": "content_block_stop", "index": index},
    ]


def tool_use(index: int, use_id: str, name: str, arguments: Json) -> list[Json]:
    written = json.dumps(arguments)
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in (written[:9], written[9:])]
    block: Json = {"type": "tool_use", "id": use_id, "name": name, "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def stopped(reason: str) -> list[Json]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]


BEGIN: Json = {"type": "message_start", "message": {"role": "assistant", "content": []}}
LOST: Json = {"type": "lost"}
"""Where the connection breaks."""

SCRIPT = (
    [
        *(BEGIN, *text(0, "Let me look.")),
        *(
            *tool_use(1, "toolu_1", "read", {"path": "moss.txt"}),
            *tool_use(2, "toolu_2", "read", {"path": "fern.txt"}),
            LOST,
        ),
    ],
    [BEGIN, *tool_use(0, "toolu_3", "read", {"path": "fern.txt"}), *stopped("tool_use")],
    [BEGIN, *text(0, "Both are old."), *stopped("end_turn")],
)


async def model(history: Sequence[object], said: int) -> AsyncIterator[Json]:
    """What a provider streams: here the next message of the script, if the history is one that it takes."""
    require_legal(history, "anthropic")
    for event in SCRIPT[said]:
        await trio.lowlevel.checkpoint()
        if event is LOST:
            raise ConnectionError("the connection was lost")
        yield event


async def read_message(history: Sequence[object], said: int) -> MessageAssembler:
    """One message, as far as it came: a call that may be cut short never runs, and the model is told."""
    assembler = MessageAssembler()
    try:
        async for event in model(history, said):
            assembler.feed(event)
    except ConnectionError as error:
        print(f"   {error}")
    return assembler


async def run() -> list[object]:
    """The loop. Answers the history as it is at the end."""
    history: list[object] = [{"role": "user", "content": "What is on the shelf about moss and ferns?"}]
    async with open_supervisor(TOOLBOX) as supervisor:
        for said in range(len(SCRIPT)):
            assembler = await read_message(history, said)
            turn = assembler.finish()
            results = await supervisor.execute_batch(turn.calls)
            history = extend_history(history, assembler.message(), turn, results)
            if not turn.calls:
                break
    return history


def main() -> None:
    for message in trio.run(run):
        print(message)


if __name__ == "__main__":
    main()
