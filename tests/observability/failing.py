"""Tools that end in every way there is, with a secret in whatever they touch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
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
    (streams, "INTERNAL_ERROR"),
    (streams_in_a_thread, "INTERNAL_ERROR"),
    (in_a_window, "INTERNAL_ERROR"),
    (nests, "INTERNAL_ERROR"),
    (asks, "APPROVAL_UNAVAILABLE"),
)
"""Each with the code that it ends with."""

TOOLS: Final = tuple(each for each, _ in WAYS)
