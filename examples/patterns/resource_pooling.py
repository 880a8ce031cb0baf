"""Resource pooling: a few connections that many calls share. The pool comes with the toolbox's context.

It never holds more than its size, also while a connection is being made, and a call that is cancelled gives back what
it borrowed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from armory_trio import Toolbox, ToolCall, ToolContext, open_supervisor, tool
from examples.patterns._clock import run


class Connection:
    """What is expensive to make."""

    @classmethod
    async def connect(cls) -> Connection:
        """Make one. Cancelled: there is none."""
        await trio.sleep(1)
        print("connected")
        return cls()

    async def query(self, text: str) -> str:
        """Ask something. Cancelled: nothing is answered."""
        await trio.sleep(0.5)
        return f"rows of {text}"

    def close(self) -> None:
        """Give it up."""
        print("closed")


class Pool:
    """Connections, made when one is needed and kept when it is not."""

    def __init__(self, size: int) -> None:
        self._places = trio.Semaphore(size)
        self._idle: list[Connection] = []

    @asynccontextmanager
    async def borrow(self) -> AsyncGenerator[Connection, None]:
        """A connection for the block. Waits for one. Cancelled: none is lost."""
        async with self._places:
            connection = self._idle.pop() if self._idle else await Connection.connect()
            try:
                yield connection
            finally:
                self._idle.append(connection)

    def close(self) -> None:
        """Close all that are idle."""
        while self._idle:
            self._idle.pop().close()


@tool(effect="read-only")
async def rows(table: str, ctx: ToolContext) -> str:
    """The rows of a table."""
    pool = ctx.context["pool"]
    assert isinstance(pool, Pool)
    async with pool.borrow() as connection:
        return await connection.query(table)


async def main() -> None:
    pool = Pool(size=2)
    async with open_supervisor(Toolbox([rows], context={"pool": pool})) as supervisor:
        calls = [ToolCall("rows", {"table": name}) for name in ("a", "b", "c", "d", "e")]
        results = await supervisor.execute_batch(calls, timeout=10)
        print([result.value for result in results])
        late = await supervisor.execute(calls[0], timeout=0.1)
        assert late.error is not None
        print(late.error.code)
        print((await supervisor.execute(calls[0])).value)
    pool.close()


if __name__ == "__main__":
    run(main)
