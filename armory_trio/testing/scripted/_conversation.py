"""Playing a whole conversation between a scripted model and a supervisor."""

from __future__ import annotations

from typing import Unpack

import msgspec

from ...definitions import ToolCall, ToolResult
from ...engine import CallOptions, Supervisor
from ...engine._opening import require_supervisor
from ...providers import Provider
from ._model import ScriptedModel
from ._script import Json


class TranscriptTurn(msgspec.Struct, frozen=True):
    """One turn of a conversation: what the model said, what came of it, and what it was answered.

    Args:
        number: Which turn, from 1.
        response: The whole response of the model.
        calls: The calls that were read out of it.
        results: Their results, in the same order.
        replies: The messages that answered them.
    """

    number: int
    response: Json
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult[object], ...]
    replies: tuple[Json, ...]


class Transcript(msgspec.Struct, frozen=True):
    """A whole conversation.

    Args:
        provider: In whose form it was held.
        turns: The turns of the model.
        history: All messages, the user's first, as a host would have sent them next.
    """

    provider: Provider
    turns: tuple[TranscriptTurn, ...]
    history: tuple[Json, ...]

    @property
    def results(self) -> tuple[ToolResult[object], ...]:
        """The results of all turns, in order."""
        return tuple(result for turn in self.turns for result in turn.results)

    def __str__(self) -> str:
        lines: list[str] = []
        for turn in self.turns:
            lines.append(f"turn {turn.number}{'' if turn.calls else ': no calls'}")
            for call, result in zip(turn.calls, turn.results, strict=True):
                ending = result.outcome if result.error is None else result.error.code
                lines.append(f"  {call.name} {dict(call.arguments)!r}: {ending}, effect {result.effect}")
        return "\n".join(lines)


async def run_scripted(
    model: ScriptedModel, supervisor: Supervisor, *, prompt: str = "Begin.", **options: Unpack[CallOptions]
) -> Transcript:
    """Play the whole script of *model*, with its calls run by *supervisor*, as a host would.

    Each turn is parsed by `armory_trio.providers`, its calls run as one batch, and its results answered in the
    provider's form. The conversation ends with the first turn that calls nothing.

    Args:
        model: A model that has not played yet.
        supervisor: Runs the calls.
        prompt: What the user says first.
        options: For every call; see `CallOptions`.

    Cancelled: the calls that run are aborted.

    Raises:
        DefinitionError: *supervisor* is none.
        ScriptError: A line of the script failed, the script goes on after its end, or ends in a turn with calls.

    Whatever else is raised on the way leaves as it is, with a note that names the turn.
    """
    require_supervisor("run_scripted", supervisor)
    history: list[Json] = [model.ask(prompt)]
    turns: list[TranscriptTurn] = []
    calling = True
    while calling:
        response = model.respond(history)
        try:
            turn = model.parse(response)
            history.extend(model.said(response))
            results = await supervisor.execute_batch(turn.calls, **options)
            replies = turn.reply(results)
        except Exception as exc:
            exc.add_note(f"This was in turn {model.played} of the script ({model.provider}).")
            raise
        history.extend(replies)
        turns.append(TranscriptTurn(model.played, response, turn.calls, tuple(results), tuple(replies)))
        calling = bool(turn.calls)
    model.assert_finished()
    return Transcript(model.provider, tuple(turns), tuple(history))
