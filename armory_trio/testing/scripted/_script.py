"""The script of a model: what it says turn by turn, whoever's API it speaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import msgspec

from ...definitions import require_json
from ...definitions._checks import shown
from ...definitions._declared import Declared
from ...errors import ArmoryError

Json: TypeAlias = dict[str, object]
"""One JSON object that travels between a host and a provider."""


class ScriptError(ArmoryError):
    """A conversation did not go as its script says: the host's side is wrong, or the script.

    Args:
        turn: Which turn of the script, from 1; one more than there are when it is over.
        of: How many it has.
        provider: Whose API the model speaks.
        reason: What went wrong.
    """

    __module__ = "armory_trio.testing"

    def __init__(self, turn: int, of: int, provider: str, reason: str) -> None:
        place = f"turn {turn} of {of}" if turn <= of else f"after turn {of} of {of}"
        super().__init__(f"{place} ({provider}): {reason}")
        self.turn = turn
        self.reason = reason


class ScriptedCall(Declared, frozen=True):
    """A tool call that the model makes.

    Args:
        name: The tool, by the name that the model was told.
        arguments: A JSON object; or a text, which is sent as it is, so that it may be broken.
        id: The provider's id. None lets the script number it; a Gemini model then sends none.

    Raises:
        JsonError: The arguments are no JSON.
    """

    name: str
    arguments: Mapping[str, object] | str = {}
    id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.arguments, str):
            require_json(self.arguments, root="arguments")


class ScriptedTurn(Declared, frozen=True):
    """One message of the model.

    Args:
        text: What it says before it calls.
        calls: What it asks for; the conversation ends with a turn that asks for nothing.
        cut: Whether the provider's limit of tokens stopped it, so that its last call may be cut short.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    cut: bool = False


class ToolAnswer(msgspec.Struct, frozen=True):
    """What the model was told of one call, read out of the host's message.

    Args:
        call_id: The id that the host answered with; empty where the provider's form has none.
        name: The tool, by the name that the model called.
        text: All words of the answer, as the provider would show them to the model.
        failed: Whether it was marked as an error; None where the provider's form has no mark for that.
    """

    call_id: str
    name: str
    text: str
    failed: bool | None


Said: TypeAlias = str | ScriptedCall | ScriptedTurn | Sequence[str | ScriptedCall]
"""One turn as it is written: a text, a call, several of them, or all of it."""

Line: TypeAlias = Said | Callable[[tuple[ToolAnswer, ...]], Said]
"""The same, or a function that makes it of the answers to the calls of the turn before."""


class NoLine(Exception):
    """What stands in a script is no turn."""


def turn_of(line: object, answers: tuple[ToolAnswer, ...]) -> ScriptedTurn:
    """The turn that *line* means after these *answers*.

    Raises:
        NoLine: It is no line of a script.
    """
    return _written(line(answers) if callable(line) else line)


def _written(said: object) -> ScriptedTurn:
    match said:
        case ScriptedTurn():
            return said
        case str():
            return ScriptedTurn(said)
        case ScriptedCall():
            return ScriptedTurn(calls=(said,))
        case list() | tuple():
            return _together(cast("Sequence[object]", said))
        case _:
            raise NoLine(f"{shown(said)} is no turn; give a text, a ScriptedCall, a list of them, or a ScriptedTurn")


def _together(parts: Sequence[object]) -> ScriptedTurn:
    wrong = [part for part in parts if not isinstance(part, str | ScriptedCall)]
    if wrong:
        raise NoLine(f"{shown(wrong[0])} is no part of a turn; give texts and ScriptedCalls")
    texts = [part for part in parts if isinstance(part, str)]
    return ScriptedTurn("\n".join(texts), tuple(part for part in parts if isinstance(part, ScriptedCall)))
