"""The first part: what a model asked for in a transcript, run against this checkout and answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
import trio

from armory_trio import (
    AdmissionClosed,
    ExecutionStarted,
    Limits,
    Report,
    Supervisor,
    ToolCall,
    ToolResult,
    open_supervisor,
)
from armory_trio.kits.coding import FileSlice, GlobResult, GrepMatch, GrepResult, GrepSummary, Jail, coding_toolbox
from armory_trio.providers import Turn, anthropic

from .screen import Screen, Style, shortened
from .transcript import Message, Round, Transcript, load_transcript, spoken
from .waiting import wait_for_change
from .watching import LiveView

CHECKOUT: Final = Path(__file__).parents[2]
_CHUNKS_SHOWN: Final = 12
_DRAIN_FOR: Final = 20.0

Results = Sequence[ToolResult[object]]


class Answered(msgspec.Struct, frozen=True):
    """One round, when it is over."""

    round: Round
    results: tuple[ToolResult[object], ...]
    reply: tuple[Message, ...]


class Conversation(msgspec.Struct, frozen=True):
    """Everything, when it is over.

    Args:
        history: The messages as they would go to the provider.
        late_admitted: Whether a message that came during the drain was let in all the same.
        report: The supervisor's own account.
    """

    answered: tuple[Answered, ...]
    history: tuple[Message, ...]
    late_admitted: bool
    report: Report

    @property
    def as_promised(self) -> bool:
        """Whether the door was closed when it should be, and nothing is left unfinished or unknown."""
        return not self.late_admitted and self.report.exit_code == 0


async def run_agent(screen: Screen, *, verbose: bool = False, root: Path = CHECKOUT) -> bool:
    """Run the transcript and print what happens. True when it went as promised."""
    conversation = await Agent(screen, verbose=verbose).run(load_transcript(), root)
    return conversation.as_promised


class Agent:
    """Runs a transcript: the host's side of a conversation.

    Args:
        screen: Where it is told.
        verbose: Whether to show the answers to the model, too.
    """

    def __init__(self, screen: Screen, *, verbose: bool = False) -> None:
        self._screen = screen
        self._verbose = verbose
        self._late_admitted = False

    async def run(self, transcript: Transcript, root: Path) -> Conversation:
        """Answer every message of *transcript*, whose calls explore *root*."""
        self._screen.heading("An agent explores this checkout")
        self._screen.say(f"user: {transcript.prompt}")
        history: list[Message] = [{"role": "user", "content": transcript.prompt}]
        answered: list[Answered] = []
        with Jail(root) as jail:
            toolbox = coding_toolbox(jail).extend(wait_for_change)
            async with open_supervisor(toolbox, limits=Limits(concurrent=3), drain_for=_DRAIN_FOR) as supervisor:
                for number, one in enumerate(transcript.rounds, start=1):
                    self._announce(f"{number}. {one.title}", one)
                    done = await self._answer(supervisor, one)
                    history += [{"role": "assistant", "content": one.message["content"]}, *done.reply]
                    answered.append(done)
        report = supervisor.report
        assert report is not None  # it is set by leaving the block
        self._close(history, report)
        return Conversation(tuple(answered), tuple(history), self._late_admitted, report)

    async def _answer(self, supervisor: Supervisor, one: Round) -> Answered:
        turn = one.turn
        for number, call in enumerate(turn.calls, start=1):
            arguments = msgspec.json.encode(call.arguments).decode()
            self._screen.say(f"  #{number} {call.name} {shortened(arguments, 100)}")
        view = LiveView(self._screen, turn.calls)
        async with trio.open_nursery() as nursery:
            await nursery.start(view.follow, supervisor)
            results = await self._run(supervisor, one, turn.calls)
        reply = turn.reply(results)
        self._show_results(results, view)
        self._show_reply(reply)
        return Answered(one, tuple(results), tuple(reply))

    async def _run(self, supervisor: Supervisor, one: Round, calls: Sequence[ToolCall]) -> Results:
        match one.host:
            case "together":
                return await supervisor.execute_batch(calls, owner_id="agent")
            case "deadline":
                deadline = trio.current_time() + one.seconds
                self._screen.say(f"  the host gives them {one.seconds:g} s")
                return await supervisor.execute_batch(calls, owner_id="agent", deadline=deadline)
            case "stream":
                return [await self._stream(supervisor, call) for call in calls]
            case "drain":
                return await self._drain(supervisor, one, calls)

    async def _stream(self, supervisor: Supervisor, call: ToolCall) -> ToolResult[object]:
        """Print the chunks of one call as they come."""
        began, count = trio.current_time(), 0
        async with supervisor.stream(call, owner_id="agent") as stream:
            async for chunk in stream:
                count += 1
                if count <= _CHUNKS_SHOWN or isinstance(chunk, GrepSummary):
                    self._screen.say(f"  chunk {count:3} at {trio.current_time() - began:.3f} s  {_chunk_words(chunk)}")
                elif count == _CHUNKS_SHOWN + 1:
                    self._screen.say("  ...")
            return stream.result

    async def _drain(self, supervisor: Supervisor, one: Round, calls: Sequence[ToolCall]) -> Results:
        """End the supervisor while *calls* run; a message that comes now is too late."""
        async with supervisor.events(ExecutionStarted) as started:
            executions = [supervisor.start(call, owner_id="agent") for call in calls]
            waited_for = {execution.id for execution in executions}
            while waited_for:
                event = await anext(started)
                if isinstance(event, ExecutionStarted):
                    waited_for.discard(event.execution_id)
        supervisor.close_admission("the host is leaving")
        self._screen.say(f"  the drain begins; {supervisor.active} executions are running", style="warn")
        if one.late is not None:
            await self._too_late(supervisor, anthropic.parse_tool_calls(one.late))
        report = await supervisor.shutdown("drain")
        self._screen.say(f"  the drain is over: {'; '.join(report.lines())}", style="warn")
        return [await execution.result() for execution in executions]

    async def _too_late(self, supervisor: Supervisor, turn: Turn) -> None:
        names = ", ".join(call.name for call in turn.calls)
        try:
            await supervisor.execute_batch(turn.calls, owner_id="agent")
        except AdmissionClosed as error:
            self._screen.say(f"  another message asks for {names}: AdmissionClosed, {error}", style="warn")
        else:
            self._late_admitted = True

    # ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────

    def _announce(self, title: str, one: Round) -> None:
        self._screen.say()
        self._screen.say(title, style="title")
        self._screen.say(f"assistant: {spoken(one.message)}")

    def _show_results(self, results: Results, view: LiveView) -> None:
        for number, result in enumerate(results, start=1):
            self._screen.say(
                f"  #{number} {_end_of(result)}, effect {result.effect}, {result.duration:.3f} s: "
                f"{shortened(_gist(result), 110)}",
                style=_style_of(result),
            )
            self._screen.say(f"     seen: {view.trail(result.call_id)}", style="dim")

    def _show_reply(self, reply: Sequence[Message]) -> None:
        blocks = [block for message in reply for block in cast("list[Message]", message["content"])]
        errors = sum(block.get("is_error") is True for block in blocks)
        size = len(msgspec.json.encode(reply))
        self._screen.say(f"  reply: {len(blocks)} tool results, {errors} of them errors, {size:,} bytes")
        if self._verbose:
            for block in blocks:
                self._screen.say(f"    {shortened(msgspec.json.encode(block).decode(), 400)}", style="dim")

    def _close(self, history: Sequence[Message], report: Report) -> None:
        size = len(msgspec.json.encode(history))
        self._screen.say()
        self._screen.say(f"The conversation has {len(history)} messages, {size:,} bytes, and can be sent on.")
        for line in report.lines():
            self._screen.say(f"supervisor: {line}")


def _chunk_words(chunk: object) -> str:
    match chunk:
        case GrepMatch(path=path, line=line, text=text):
            return shortened(f"{path}:{line}: {text}", 90)
        case GrepSummary(files_scanned=files, truncated=truncated):
            return f"summary: {files} files searched{', there is more' if truncated else ''}"
        case _:
            return shortened(repr(chunk), 90)


def _end_of(result: ToolResult[object]) -> str:
    error = result.error
    return result.outcome if error is None else f"{result.outcome} {error.category} {error.code}"


def _style_of(result: ToolResult[object]) -> Style:
    if result.error is None:
        return "good"
    return "warn" if result.error.category in ("timeout", "cancelled") else "bad"


def _gist(result: ToolResult[object]) -> str:
    if result.error is not None:
        return result.error.message
    match result.value:
        case GrepResult(matches=matches, files_scanned=files, truncated=truncated):
            return f"{len(matches)}{' or more' if truncated else ''} matches in {files} files"
        case FileSlice(content=content, start_line=first, end_line=after, total_lines=total):
            lines = f"lines {first + 1} to {after}" + (f" of {total}" if total is not None else "")
            return f"{lines}: {content}"
        case GlobResult(paths=paths):
            return f"{len(paths)} paths: {', '.join(paths)}"
        case _:
            return result.text
