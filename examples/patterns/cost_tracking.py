"""Cost tracking: what each tool and each owner has spent, and a quota that nobody exceeds.

The price stands in the tool's metadata, so a middleware finds it there. The quota is reserved before the tool runs:
calls that run at once cannot overdraw it together.
"""

from __future__ import annotations

from collections import Counter

import trio

from armory_trio import CallNext, MiddlewareCall, Toolbox, ToolCall, ToolContext, ToolFailure, open_supervisor, tool
from examples.patterns._clock import run


@tool(effect="read-only", metadata={"cents": 5})
async def translate(text: str) -> str:
    """Translate a text."""
    await trio.sleep(0.1)
    return text.upper()


@tool(effect="read-only", metadata={"cents": 40})
async def paint(subject: str) -> str:
    """Paint a picture."""
    await trio.sleep(2)
    if subject == "nothing":
        raise ValueError("there is nothing to paint")
    return f"a picture of {subject}"


class Ledger:
    """Counts cents by tool and by owner."""

    def __init__(self, quota: int, alert: int) -> None:
        self.by_tool: Counter[str] = Counter()
        self.by_owner: Counter[str] = Counter()
        self._quota, self._alert = quota, alert

    async def __call__(self, call: MiddlewareCall, ctx: ToolContext, call_next: CallNext) -> object:
        """Charge for the call; give the money back if the tool fails. Cancelled: it is spent."""
        cents, owner = call.tool.definition.metadata.get("cents", 0), ctx.owner_id or "nobody"
        assert isinstance(cents, int)
        if self.by_owner[owner] + cents > self._quota:
            left = self._quota - self.by_owner[owner]
            message = f"{call.tool.name} costs {cents} cents, and {left} are left"
            raise ToolFailure(message, category="conflict", code="QUOTA_EXCEEDED", effect="none")
        self._charge(call.tool.name, owner, cents, ctx)
        try:
            return await call_next()
        except Exception:
            self._charge(call.tool.name, owner, -cents, ctx)
            raise

    def _charge(self, name: str, owner: str, cents: int, ctx: ToolContext) -> None:
        before = self.by_owner[owner]
        self.by_tool[name] += cents
        self.by_owner[owner] += cents
        if before < self._alert <= self.by_owner[owner]:
            print(f"{owner} has spent {self.by_owner[owner]} cents")
            ctx.log("warning", "the quota is nearly spent")


async def main() -> None:
    ledger = Ledger(quota=100, alert=85)
    calls = [ToolCall("paint", {"subject": subject}) for subject in ("nothing", "a tree", "a bee")]
    async with open_supervisor(Toolbox([translate, paint], middleware=[ledger])) as supervisor:
        for result in await supervisor.execute_batch(calls, owner_id="ada", mode="sequential"):
            print(result.text.splitlines()[0])
        results = await supervisor.execute_batch([*calls[1:], ToolCall("translate", {"text": "hi"})], owner_id="bob")
        print([result.outcome for result in results])
        refused = await supervisor.execute(ToolCall("paint", {"subject": "the sea"}), owner_id="bob")
        assert refused.error is not None
        print(f"{refused.error.code}: {refused.error.message}")
    print(dict(ledger.by_tool), dict(ledger.by_owner))


if __name__ == "__main__":
    run(main)
