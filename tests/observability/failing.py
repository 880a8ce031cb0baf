"""Tools that end in every way there is, with a secret in whatever they touch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Final, NoReturn

import trio

from armory_trio import Process, Tool, ToolContext, ToolFailure, tool
from armory_trio.definitions import EffectMapping

SECRET: Final = "Zy7-swordfish-4417"
"""What must not be told to anybody."""

BANK: Final[EffectMapping] = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}


class HttpError(Exception):
    """An error that carries a request, as those of HTTP clients do."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__(f"403 for a request with {headers}")
        self.headers = headers


class Unencodable:
    """A result that cannot be shown, and says a secret about that."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        raise RuntimeError(self.secret)


def raise_chained(secret: str) -> NoReturn:
    """Raise an error with a cause, a context and a note."""
    try:
        _connect(secret)
    except ConnectionError as exc:
        error = ValueError(f"{secret} was refused")
        error.add_note(secret)
        raise error from exc


def _connect(secret: str) -> NoReturn:
    try:
        _request(secret)
    except HttpError as exc:
        raise ConnectionError(secret) from exc


def _request(secret: str) -> NoReturn:
    raise HttpError({"authorization": f"Bearer {secret}"})


@tool(effect=BANK)
async def returns(secret: str) -> object:
    """End well."""
    return {"secret": secret}


@tool(effect=BANK)
async def raises(secret: str) -> None:
    """Raise."""
    raise_chained(secret)


@tool(effect=BANK)
async def raises_a_group(secret: str) -> None:
    """Raise a group."""
    raise ExceptionGroup(secret, [ValueError(secret), HttpError({"cookie": secret})])


@tool(effect=BANK)
async def fails(secret: str) -> None:
    """Say exactly what happened."""
    raise ToolFailure(secret, category="conflict", code=f"REFUSED {secret}", details={"secret": secret})


@tool(effect=BANK)
async def exits(secret: str) -> None:
    """Try to end the program."""
    raise SystemExit(secret)


@tool(effect=BANK)
async def cancelled_by_asyncio(secret: str) -> None:
    """Raise what asyncio raises."""
    raise asyncio.CancelledError(secret)


@tool(effect=BANK)
async def unencodable(secret: str) -> object:
    """Answer what cannot be shown."""
    return Unencodable(secret)


@tool(effect=BANK, output=int)
async def answers_wrong(secret: str) -> object:
    """Answer what was not promised."""
    return secret


@tool(effect=BANK)
async def too_few(secret: int) -> int:
    """Take a number, and get none."""
    return secret


@tool(effect=BANK, timeout=0.01)
async def too_late(secret: str) -> str:
    """Take too long."""
    await trio.sleep(60)
    return secret


@tool(effect=BANK)
async def stopped(secret: str) -> None:
    """Raise while it is being stopped."""
    try:
        await trio.sleep_forever()
    finally:
        raise_chained(secret)


@tool(effect=BANK)
def in_a_thread(secret: str) -> None:
    """Raise in a thread."""
    raise_chained(secret)


@tool(effect=BANK, placement=Process())
def in_a_process(secret: str) -> None:
    """Raise in a process."""
    raise_chained(secret)


class Unpicklable:
    """A result that does not get out of its process, and says a secret about that."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def __reduce__(self) -> NoReturn:
        raise RuntimeError(self.secret)


class Unreadable(Exception):
    """An error that cannot be shown, and says a secret about that."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    def __reduce__(self) -> NoReturn:
        raise RuntimeError(SECRET)


def raise_groups(secret: str) -> NoReturn:
    """Raise a group in a group, with notes."""
    inner = ExceptionGroup(secret, [Unreadable(secret), HttpError({"cookie": secret})])
    outer = ExceptionGroup(secret, [inner, ValueError(secret)])
    for group in (inner, outer):
        group.add_note(secret)
    raise outer


@tool(effect=BANK)
async def raises_in_a_nursery(secret: str) -> None:
    """Raise in two tasks of its own."""

    async def fail() -> None:
        raise_groups(secret)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        nursery.start_soon(fail)


@tool(effect=BANK)
async def unreadable(secret: str) -> None:
    """Raise what cannot be shown."""
    raise Unreadable(secret)


@tool(effect=BANK)
def exits_in_a_thread(secret: str) -> None:
    """Try to end the program, in a thread."""
    raise SystemExit(secret)


@tool(effect=BANK, timeout=0.01, cleanup_timeout=0.01)
def too_late_in_a_thread(secret: str) -> None:
    """Raise in a thread that was given up."""
    time.sleep(0.1)
    raise_groups(secret)


@tool(effect=BANK, placement=Process())
def groups_in_a_process(secret: str) -> None:
    """Raise groups in a process."""
    raise_groups(secret)


@tool(effect=BANK, placement=Process())
def exits_in_a_process(secret: str) -> None:
    """Try to end the program, in a process."""
    raise SystemExit(secret)


@tool(effect=BANK, placement=Process())
def unpicklable_in_a_process(secret: str) -> object:
    """Answer what does not get out of the process."""
    return Unpicklable(secret)


@tool(effect=BANK, placement=Process())
def streams_in_a_process(secret: str) -> Iterator[str]:
    """Raise after a chunk, in a process."""
    yield secret
    raise_groups(secret)


def _reduce(chunks: Sequence[str]) -> NoReturn:
    raise_chained(chunks[0])


@tool(effect=BANK, reducer=_reduce)
async def reduced(secret: str) -> AsyncIterator[str]:
    """Yield what cannot be made into a value."""
    yield secret


@tool(effect=BANK)
async def streams(secret: str) -> AsyncIterator[str]:
    """Raise after a chunk."""
    yield secret
    raise_chained(secret)


@tool(effect=BANK)
def streams_in_a_thread(secret: str) -> Iterator[str]:
    """Raise after a chunk, in a thread."""
    yield secret
    raise_chained(secret)


@tool(effect=BANK, effect_windows=True)
async def in_a_window(secret: str, ctx: ToolContext) -> None:
    """Raise while the world changes."""
    async with ctx.effect(secret, target=f"bank:{secret}"):
        raise_chained(secret)


@tool(effect=BANK)
async def nests(secret: str, ctx: ToolContext) -> object:
    """Call another one, which raises."""
    return (await ctx.call("raises", {"secret": secret})).unwrap()


@tool(effect=BANK, requires_approval=True)
async def asks(secret: str) -> str:
    """Need a person, and have none."""
    return secret


WAYS: Final[tuple[tuple[Tool[..., object], str | None], ...]] = (
    (returns, None),
    (raises, "INTERNAL_ERROR"),
    (raises_a_group, "INTERNAL_ERROR"),
    (fails, f"REFUSED {SECRET}"),
    (exits, "INTERNAL_ERROR"),
    (cancelled_by_asyncio, "INTERNAL_ERROR"),
    (unencodable, "OUTPUT_INVALID"),
    (answers_wrong, "OUTPUT_INVALID"),
    (too_few, "INVALID_ARGUMENTS"),
    (too_late, "TIMEOUT"),
    (stopped, "CANCELLED"),
    (in_a_thread, "INTERNAL_ERROR"),
    (in_a_process, "INTERNAL_ERROR"),
    (raises_in_a_nursery, "INTERNAL_ERROR"),
    (unreadable, "INTERNAL_ERROR"),
    (exits_in_a_thread, "INTERNAL_ERROR"),
    (too_late_in_a_thread, "TIMEOUT"),
    (groups_in_a_process, "INTERNAL_ERROR"),
    (exits_in_a_process, "INTERNAL_ERROR"),
    (unpicklable_in_a_process, "OUTPUT_INVALID"),
    (streams_in_a_process, "INTERNAL_ERROR"),
    (reduced, "INTERNAL_ERROR"),
    (streams, "INTERNAL_ERROR"),
    (streams_in_a_thread, "INTERNAL_ERROR"),
    (in_a_window, "INTERNAL_ERROR"),
    (nests, "INTERNAL_ERROR"),
    (asks, "APPROVAL_UNAVAILABLE"),
)
"""Each with the code that it ends with."""

TOOLS: Final = tuple(each for each, _ in WAYS)
