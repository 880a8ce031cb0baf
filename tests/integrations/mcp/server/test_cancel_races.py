"""Cancels that meet the answer, over what clients really use: pipes, and sessions of streamable HTTP."""

from __future__ import annotations

import gc
import json
import random
from collections.abc import Iterator
from typing import Final, cast

import httpx2
import pytest
import trio

from tests.integrations.mcp.server.test_cancelling import TIMINGS
from tests.integrations.mcp.server.test_http import Raw, call, over_http, session
from tests.integrations.mcp.server.test_lines import HELLO, READY, lines_to
from tests.integrations.mcp.server.test_lines import call as call_line
from tests.integrations.mcp.server.test_lines import line as line_of
from tests.requirements import requirement

# The HTTP client leaves generators of its own to the garbage collector when a stream is cut off.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

SOON: Final = 0.02
"""Seconds within which both happen."""


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What the client left behind goes here, and not in somebody else's test."""
    yield
    gc.collect()


def cancel(number: int) -> dict[str, object]:
    """Nobody waits for the answer to *number* any more."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


class Race:
    """When a call ends, and when it is cancelled: often in the same moment, and every tenth never ends by itself."""

    def __init__(self, dice: random.Random, number: int) -> None:
        self.lasts = 3600.0 if number % 10 == 0 else dice.choice([0.0, 0.0, 0.005, dice.random() * SOON])
        self.cancelled_after = dice.choice([0.0, min(self.lasts, SOON), dice.random() * SOON])


@requirement("mcp-server.cancel.race")
async def test_over_pipes_a_call_that_is_cancelled_has_one_answer_or_none() -> None:
    dice = random.Random(11)  # noqa: S311  # repeatable, not secret
    async with lines_to() as (pipes, supervisor, _):
        await pipes.say(line_of(HELLO) + line_of(READY))
        await pipes.replies(1)
        replies = list[dict[str, object]]()
        last = trio.Event()

        async def listen() -> None:
            while not replies or replies[-1]["id"] != "last":
                replies.extend(await pipes.replies(1))
            last.set()

        async def call_and_cancel(number: int, race: Race) -> None:
            await trio.sleep(number * 0.001)
            await pipes.say(call_line(number, "nap", seconds=race.lasts))
            await trio.sleep(race.cancelled_after)
            await pipes.say(line_of(cancel(number)) * dice.choice([1, 1, 2]))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            async with trio.open_nursery() as calling:
                for number in range(TIMINGS):
                    calling.start_soon(call_and_cancel, number, Race(dice, number))
            await supervisor.wait_idle()
            await pipes.say(call_line("last"))
            await last.wait()
        answered = [each["id"] for each in replies]

    assert sorted(set(map(str, answered))) == sorted(map(str, answered))
    assert not set(range(0, TIMINGS, 10)).intersection(cast("list[int]", answered))
    assert all("result" in each for each in replies)


@requirement("mcp-server.cancel.race")
async def test_over_http_a_call_that_is_cancelled_has_one_answer() -> None:
    dice = random.Random(13)  # noqa: S311  # repeatable, not secret
    answers = dict[int, list[dict[str, object]]]()

    async def request(raw: Raw, number: int, race: Race) -> None:
        response = await raw.post(call(number, "nap", seconds=race.lasts))
        found = [entry.removeprefix("data: ") for entry in response.text.splitlines() if entry.startswith("data: {")]
        answers[number] = [cast("dict[str, object]", json.loads(entry)) for entry in found]

    async def race_on(raw: Raw, numbers: range) -> None:
        for number in numbers:
            race = Race(dice, number)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(request, raw, number, race)
                await trio.sleep(race.cancelled_after)
                sent: httpx2.Response = await raw.post(cancel(number))
                assert sent.status_code == 202

    async with over_http() as (url, supervisor), session(url) as raw:
        with trio.fail_after(600):
            async with trio.open_nursery() as nursery:
                for lane in range(5):
                    nursery.start_soon(race_on, raw, range(lane + 1, TIMINGS + 1, 5))
        last = await raw.post(call(TIMINGS + 1, "add", a=1, b=2))
        await supervisor.wait_idle()

    assert sorted(answers) == list(range(1, TIMINGS + 1))
    assert [number for number, found in answers.items() if [each.get("id") for each in found] != [number]] == []
    codes = [cast("dict[str, object]", each["error"])["code"] for [each] in answers.values() if "error" in each]
    assert set(codes) == {-32800} and len(codes) >= TIMINGS // 10
    assert '"3"' in last.text
