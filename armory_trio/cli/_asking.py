"""Who approves the calls of a run: whoever sits at the terminal, nobody, or everything is approved unasked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, cast

import attrs
import trio

from ..definitions import ApprovalRequest, PauseTier, parse_json, thaw_json
from ..engine._keywords import ApprovalHandler
from ..errors import ArmoryError, JsonError
from ._settings import RunSettings
from ._streams import Streams, plain
from ._terminal import Terminal, open_terminal

_ASKED_BY: Final[Mapping[PauseTier, str]] = {
    "capability": "the approval policy",
    "declared": "the tool, which always needs approval",
    "toolbox": "the policy of the toolbox",
    "tool": "the policy of the tool",
}
_PROMPT: Final = "Run it? y yes, n no, e edit the arguments [n] "
_EDIT: Final = "All of the arguments as a JSON object; an empty line goes back:\n"
_ALL: Final = sys.maxsize
"""Characters of a line of arguments that are shown: what is cut off can't be agreed to."""

_COLUMN: Final = 11


class NobodyThere(ArmoryError):
    """There was somebody to ask, and now there is not."""


@attrs.frozen
class Approver:
    """Who approves.

    Args:
        handler: Asks; None asks nobody.
        desk: Where is asked, if it is at a terminal.
        nobody: Why nobody is asked; empty if somebody is.
    """

    handler: ApprovalHandler | None
    desk: Desk | None = None
    nobody: str = ""


def find_approver(settings: RunSettings, streams: Streams) -> Approver:
    """Who approves in this run, as far as there is anybody."""
    if settings.approve == "all":
        return Approver(_approve)
    if settings.approve == "none":
        return Approver(None, nobody="--approve none")
    if settings.file in (None, "-") and os.isatty(streams.stdin):
        return Approver(None, nobody="the calls are read from the terminal")
    terminal = open_terminal()
    if isinstance(terminal, str):
        return Approver(None, nobody=terminal)
    desk = Desk(terminal)
    return Approver(desk.ask, desk)


def _approve(_request: ApprovalRequest) -> bool:
    return True


class Desk:
    """Asks at a terminal, one question after the other."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._turn = trio.Lock()
        self.aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
        """Keeps others from the terminal while somebody is asked."""

    async def ask(self, request: ApprovalRequest) -> object:
        """What the person answers: True, False, or other arguments. No answer at the end of the input is a no.

        Cancelled: the question is withdrawn, and the terminal says so.

        Raises:
            NobodyThere: Nobody can be asked at the terminal any more.
        """
        async with self._turn:
            if not self._terminal.in_front:
                raise NobodyThere("this runs in the background of its terminal")
            async with self.aside():
                answered = False
                try:
                    answer = await self._converse(request)
                    answered = True
                except OSError as error:
                    answered = True
                    raise NobodyThere(f"the terminal is gone: {error.strerror}") from error
                finally:
                    if not answered:
                        self._terminal.note("\narmory-trio: the question is withdrawn\n")
        return answer

    async def _converse(self, request: ApprovalRequest) -> object:
        terminal = self._terminal
        terminal.forget_typed()
        await terminal.say("".join(f"{line}\n" for line in question_lines(request)))
        while True:
            await terminal.say(_PROMPT)
            match (await terminal.line() or "n").lower():
                case "y" | "yes":
                    return True
                case "n" | "no":
                    return False
                case "e" | "edit":
                    arguments = await self._edited()
                    if arguments is not None:
                        return arguments
                case _:
                    pass  # asked again

    async def _edited(self) -> Mapping[str, object] | None:
        """Other arguments, typed over as many lines as it takes; None to go back to the question."""
        await self._terminal.say(_EDIT)
        text, wrong = "", ""
        while line := await self._terminal.line():
            text += f"{line}\n"
            try:
                arguments = parse_json(text)
            except JsonError as error:  # or there is more to come
                wrong = str(error)
                continue
            if isinstance(arguments, dict):
                return cast("dict[str, object]", arguments)
            wrong = "arguments are a JSON object, such as {}"
            break
        if wrong:
            await self._terminal.say(f"{plain(wrong)}\n")
        return None


def question_lines(request: ApprovalRequest) -> Iterator[str]:
    """What the person has to know, with nothing in it that steers a terminal. What could fill a screen comes first."""
    question = request.question
    yield ""
    yield "armory-trio: a call needs approval"
    document = json.dumps(thaw_json(request.arguments), ensure_ascii=False, indent=2)
    for index, line in enumerate(document.split("\n")):
        yield _row("arguments" if not index else "", line, _ALL)
    yield _row("tool", f"{request.tool_name} ({request.call_id})")
    targets = f" on {', '.join(request.targets)}" if request.targets else ""
    yield _row("effect", f"{request.effect or 'not declared'}{targets}")
    yield _row("reason", question.reason)
    if question.action.message != question.reason:
        yield _row("question", question.action.message)
    yield _row("asked by", _ASKED_BY[question.tier])
    if request.owner_id is not None:
        yield _row("for", request.owner_id)
    if request.parent_id is not None:
        yield _row("made by", f"a tool that runs ({request.parent_id})")


def _row(name: str, text: str, longest: int = 2_000) -> str:
    return f"  {name:<{_COLUMN}}{plain(text, longest)}".rstrip()
