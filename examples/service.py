"""A service that ends when it is told to: the first signal drains, the second aborts, and it says what became of what.

``python -m examples.service`` takes orders until SIGTERM or Ctrl-C; ``--orders 3`` ends by itself after three of them, and
``--bank 60`` makes the bank so slow that a drain can't finish: send a second signal, and see what is said then.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable

import trio

from armory_trio import (
    AdmissionClosed,
    Limits,
    Report,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    serve_until_signal,
    tool,
)


def make_toolbox(bank: float) -> Toolbox:
    """The tools of the service; the *bank* takes so many seconds for a payment."""

    @tool(effect="read-only")
    async def price(order: int) -> int:
        """What an order costs, in cents."""
        await trio.sleep(0.05)
        return order * 100

    @tool(effect={"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]})
    async def pay(order: int, ctx: ToolContext) -> str:
        """Pay an order."""
        cents = (await ctx.call("price", {"order": order})).unwrap()
        print(f"order {order}: the bank is asked for {cents} cents", flush=True)
        await trio.sleep(bank)
        return "paid"

    return Toolbox([price, pay])


async def one_order(supervisor: Supervisor, order: int) -> None:
    """Work on one order. However it ends, this is a result and no exception."""
    try:
        result = await supervisor.execute(ToolCall("pay", {"order": order}, id=f"order {order}"))
    except AdmissionClosed:
        print(f"order {order}: not taken, somebody else has to", flush=True)
    else:
        words = result.value if result.error is None else f"{result.error.code}, effect {result.effect}"
        print(f"order {order}: {words}", flush=True)


async def take_orders(supervisor: Supervisor, orders: Iterable[int]) -> None:
    """Where the work comes from. Here it is counted; in a real service it is a queue or a socket."""
    async with trio.open_nursery() as nursery:
        for order in orders:
            if supervisor.closed:
                break  # what was begun is finished, and the next order is left where it is
            nursery.start_soon(one_order, supervisor, order)
            await trio.sleep(0.1)
    await supervisor.shutdown("drain")


def told(report: Report) -> list[str]:
    """What an operator should know: the report, and by name whatever somebody has to look at."""
    lost = [f"look at the bank: {shot.call_id} ({shot.tool_name})" for shot in report.unknown_effects]
    return [*report.lines(), *lost, f"exit code {report.exit_code}"]


async def serve(orders: Iterable[int], bank: float) -> int:
    """Serve until a signal or the end of *orders*. Answers the exit code."""
    limits = Limits(concurrent=8, queued=100)
    async with (
        open_supervisor(make_toolbox(bank), limits=limits, cleanup_timeout=5) as supervisor,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(take_orders, supervisor, orders)
        report = await serve_until_signal(supervisor, drain_for=25)
    print("\n".join(told(report)), flush=True)
    return report.exit_code


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m examples.service", description="Pay orders until a signal comes.")
    parser.add_argument("--orders", type=int, help="end after so many; without it only a signal ends it")
    parser.add_argument("--bank", type=float, default=0.3, help="how many seconds a payment takes (default: 0.3)")
    asked = parser.parse_args()
    orders = itertools.count(1) if asked.orders is None else range(1, asked.orders + 1)
    return trio.run(serve, orders, asked.bank)


if __name__ == "__main__":
    raise SystemExit(main())
