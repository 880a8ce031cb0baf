"""A model that says what its script says, in the form of a provider, and reads what it is answered like that one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ...definitions._checks import one_of, shown
from ...definitions._plurals import counted
from ...errors import DefinitionError
from ...providers import Provider, Turn
from ._forms import FORMS, WrongAnswer
from ._script import Json, Line, NoLine, ScriptedCall, ScriptedTurn, ScriptError, ToolAnswer, turn_of

_SUBJECT: Final = "ScriptedModel"
_NO_NAMES: Final[Mapping[str, str]] = {}


class ScriptedModel:
    """Plays a script in the form of one provider's complete messages. No network, no SDK.

    Give `respond` the whole history, as a host would send it; it answers the whole response. It holds the host to what
    that provider asks for: what the model said has to stand in the history, and directly after it one answer for each
    call.

    Args:
        provider: ``openai-chat``, ``openai-responses``, ``anthropic`` or ``gemini``.
        script: The turns in order. Each is a text, a `ScriptedCall`, a list of texts and calls, a `ScriptedTurn`, or a
            function that is given the `ToolAnswer` of each call before and answers one of these; it may assert
            what it was told.
        names: What the tools are called here, by the name that the model knows; for `parse`.

    Raises:
        DefinitionError: There is no such provider, or the script has no turns.
    """

    def __init__(self, provider: Provider, script: Iterable[Line], *, names: Mapping[str, str] = _NO_NAMES) -> None:
        one_of(_SUBJECT, "provider", provider, tuple(FORMS))
        self.provider: Provider = provider
        self.answers: list[tuple[ToolAnswer, ...]] = []
        """What it was told before each turn that it has played; nothing before the first."""
        self._form = FORMS[provider]()
        self._script = tuple(script)
        self._names = names
        self._calls = 0
        self._last: ScriptedTurn | None = None
        self._said: list[Json] = []
        if not self._script:
            raise DefinitionError(_SUBJECT, "script", "has no turns; give at least one")

    def __repr__(self) -> str:
        return f"<ScriptedModel {self.provider}: {counted(self.played, 'turn')} played, {self.left} left>"

    @property
    def played(self) -> int:
        """How many turns it has played."""
        return len(self.answers)

    @property
    def left(self) -> int:
        """How many turns it has still to play."""
        return len(self._script) - self.played

    def ask(self, prompt: str) -> Json:
        """A message of the user's, in the provider's form, to begin a history with."""
        return self._form.ask(prompt)

    def respond(self, history: Sequence[Mapping[str, object]]) -> Json:
        """The whole response to *history*: the next turn of the script.

        Args:
            history: All messages so far, as decoded JSON.

        Raises:
            ScriptError: The script is over; the history lacks what the model said, or an answer to one of its calls;
                or the line of the script is none, or raised (``__cause__`` is what).
        """
        answers = self._read(history)
        if not self.left:
            told = "".join(f"\n- {answer.name}: {answer.text}" for answer in answers)
            reason = f"the model is asked again, but the script is over{f'. It was told{told}' if told else ''}"
            raise self._error(reason)
        try:
            turn = turn_of(self._script[self.played], answers)
        except NoLine as exc:
            raise self._error(str(exc)) from None
        except Exception as exc:
            raise self._error(f"it raised {type(exc).__name__}: {exc}") from exc
        turn = msgspec.structs.replace(turn, calls=tuple(map(self._numbered, turn.calls)))
        response = self._form.response(turn, self.played + 1)
        self.answers.append(answers)
        self._last, self._said = turn, self._form.said(response)
        return response

    def said(self, response: Json) -> list[Json]:
        """The part of *response* that belongs in the history: the message, or the items of the Responses API."""
        return self._form.said(response)

    def parse(self, response: Json) -> Turn:
        """The calls in *response*, by the provider's parser in `armory_trio.providers`."""
        return self._form.parse(response, self._names)

    def assert_finished(self) -> None:
        """The whole script was played.

        Raises:
            ScriptError: Turns are left.
        """
        if self.left:
            raise self._error(f"the conversation ended before it; {counted(self.left, 'turn')} left unplayed")

    def _numbered(self, call: ScriptedCall) -> ScriptedCall:
        self._calls += 1
        if call.id is not None or not self._form.id_prefix:
            return call
        return msgspec.structs.replace(call, id=f"{self._form.id_prefix}{self._calls}")

    def _read(self, history: Sequence[Mapping[str, object]]) -> tuple[ToolAnswer, ...]:
        """What the history answers to the calls of the turn before."""
        for index, message in enumerate(history):
            if not isinstance(message, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a test need not be typed
                raise self._error(f"history[{index}] is {shown(message)}; give decoded JSON, as dicts")
        if self._last is None:
            return ()
        after = _after(history, self._said)
        if after is None:
            raise self._error("the history does not hold what the model said in the turn before; append it first")
        if not self._last.calls:
            return ()
        try:
            return tuple(self._form.answers(self._last.calls, after))
        except WrongAnswer as exc:
            raise self._error(f"the calls of the turn before are not answered: {exc}") from None

    def _error(self, reason: str) -> ScriptError:
        return ScriptError(self.played + 1, len(self._script), self.provider, reason)


def _after(
    history: Sequence[Mapping[str, object]], said: Sequence[Mapping[str, object]]
) -> Sequence[Mapping[str, object]] | None:
    """What stands in *history* behind *said*, or None. A host may keep more of a message than it has to."""
    for end in range(len(history), len(said) - 1, -1):
        kept = history[end - len(said) : end]
        if all(_holds(entry, message) for entry, message in zip(kept, said, strict=True)):
            return history[end:]
    return None


def _holds(kept: Mapping[str, object], message: Mapping[str, object]) -> bool:
    return all(field in kept and kept[field] == value for field, value in message.items())
