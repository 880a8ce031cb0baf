"""A chat in the terminal whose model may send money, if you agree: what runs is what you were shown, or nothing.

``python -m examples.chat`` talks to you until you say ``bye``; ``python -m examples.chat --rehearsed`` types a whole
conversation by itself. The model is a few rules: exchange `reply_to` for the client of a real one, and the rest stays.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast

import trio

from armory_trio import ApprovalRequest, Deny, RequestContext, Supervisor, Toolbox, open_supervisor, tool
from armory_trio.providers import anthropic, extend_history

Json = Mapping[str, object]
USER: Final = RequestContext(principal="you", tenant="home", owner="chat")
REHEARSED: Final = ("what have I got?", "pay Ada 20", "y", "pay Ben 300", "e", '{"to": "Ben", "euros": 30}', "pay the casino 50", "n", "bye")  # fmt: skip


class Terminal(Protocol):
    """Where the person sits."""

    async def ask(self, prompt: str) -> str | None:
        """Show *prompt* and answer one line; None at the end of the input."""
        ...


class Keyboard:
    """The terminal that the program was started from."""

    def __init__(self) -> None:
        self._lines = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115  # without a lock that the exit would wait for

    async def ask(self, prompt: str) -> str | None:
        """Wait for a line in a thread, so that everything else goes on. Cancelled: the thread is left to itself."""
        print(prompt, end="", flush=True)
        line = await trio.to_thread.run_sync(self._lines.readline, abandon_on_cancel=True)
        return line.decode(errors="replace").strip() if line else None


class Rehearsal:
    """Types what it was given, line by line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = iter(lines)

    async def ask(self, prompt: str) -> str | None:
        """The next line, shown as if somebody typed it."""
        await trio.lowlevel.checkpoint()
        line = next(self._lines, None)
        print(prompt, line or "", sep="")
        return line


def make_toolbox(account: dict[str, int]) -> Toolbox:
    """Looking is free, sending is asked about."""

    @tool(effect="read-only")
    async def balance() -> int:
        """How many euros are left."""
        return account["euros"]

    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}, requires_approval=True)
    async def send_money(to: str, euros: int) -> str:
        """Send somebody money."""
        await trio.sleep(0.1)  # the bank
        account["euros"] -= euros
        return f"{to} got {euros} euros"

    return Toolbox([balance, send_money])


class Desk:
    """Asks the person at the terminal about calls that need it, one after the other."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._turn = trio.Lock()

    async def ask(self, request: ApprovalRequest) -> object:
        """True lets it run as shown, other arguments let those run, and everything else denies."""
        async with self._turn:
            print(f"  the model wants {request.tool_name} {dict(request.arguments)}")
            match await self._terminal.ask("  run it? y yes, e edit, anything else no: "):
                case "y":
                    return True
                case "e":
                    return read_arguments(await self._terminal.ask("  arguments as JSON: "))
                case _:
                    return Deny("the user said no")


def read_arguments(line: str | None) -> object:
    """What the person typed as arguments. Whether they are legal is looked at by the tool's contract."""
    try:
        return json.loads(line or "")
    except ValueError:
        return Deny("the user mistyped the arguments")


def reply_to(history: Sequence[Json]) -> Json:
    """The model, in the form of Anthropic's API: a few rules, which tell what the tools said."""
    last = history[-1]["content"]
    if not isinstance(last, str):
        results = cast("Sequence[Json]", last)
        return said("; ".join(text_of(result) for result in results))
    if match := re.search(r"pay (?:the )?(\w+) (\d+)", last):
        return wants("send_money", {"to": match[1], "euros": int(match[2])}, len(history))
    if re.search(r"balance|have", last):
        return wants("balance", {}, len(history))
    return said("I know my balance, and I can pay: say 'pay Ada 20'.")


def said(text: str) -> Json:
    """A message of the model that ends its turn."""
    return {"role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": text}]}


def wants(name: str, arguments: Json, number: int) -> Json:
    """A message of the model that calls a tool."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
    return {"role": "assistant", "stop_reason": "tool_use", "content": [call]}


def text_of(block: Json) -> str:
    """The words of a text block, or of a tool result."""
    inner = block.get("text", block.get("content", ""))
    return inner if isinstance(inner, str) else " ".join(map(text_of, cast("Sequence[Json]", inner)))


async def answer(supervisor: Supervisor, history: Sequence[Json]) -> Sequence[Json]:
    """The model's turn: as many rounds of calls as it likes. Answers the history with all of it."""
    while True:
        message = reply_to(history)
        turn = anthropic.parse_tool_calls(message)
        results = await supervisor.execute_batch(turn.calls, request_context=USER)
        history = cast("Sequence[Json]", extend_history(history, message, turn, results))
        if not turn.calls:
            print(f"model: {' '.join(map(text_of, cast('Sequence[Json]', message['content'])))}")
            return history


async def chat(terminal: Terminal) -> int:
    """Talk until the person has enough. Answers the exit code."""
    history: Sequence[Json] = []
    async with open_supervisor(make_toolbox({"euros": 1000}), approval_handler=Desk(terminal).ask) as supervisor:
        while (line := await terminal.ask("you: ")) not in (None, "bye"):
            history = await answer(supervisor, [*history, {"role": "user", "content": line}])
        report = await supervisor.shutdown("drain")
    print("\n".join(["", *report.lines()]))
    return report.exit_code


def main() -> int:
    """Read the arguments and talk."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.chat", description="Chat with a model that may send money."
    )
    parser.add_argument("--rehearsed", action="store_true", help="type a whole conversation instead of asking you")
    asked = parser.parse_args()
    try:
        return trio.run(chat, Rehearsal(REHEARSED) if asked.rehearsed else Keyboard())
    except KeyboardInterrupt:  # as good a goodbye as any; what ran was aborted
        print()
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
