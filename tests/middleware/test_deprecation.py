"""`WarnOfDeprecated`: who is told of what, and that nothing else changes."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import pytest

from armory_trio import DefinitionError, Lifecycle, LogWritten, MiddlewareCall, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.definitions import ToolId
from armory_trio.middleware import WarnOfDeprecated
from tests.engine.tools import add
from tests.requirements import requirement


@tool(effect="read-only", lifecycle=Lifecycle("it is slow", message="gone in May", replaced_by=ToolId("add")))
async def old(a: int) -> int:
    """Do it the old way."""
    return a


@requirement("deprecation.told")
async def test_each_call_of_a_deprecated_tool_is_told_before_it_runs() -> None:
    told: list[tuple[str, int, str]] = []

    def tell(call: MiddlewareCall, words: str) -> None:
        told.append((call.id, call.attempts, words))

    toolbox = Toolbox([old, add], middleware=[WarnOfDeprecated(tell)])
    async with open_supervisor(toolbox) as supervisor, supervisor.events(LogWritten, include_payloads=True) as events:
        result = await supervisor.execute(ToolCall("old", {"a": 1}, id="c-1"))
        await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))
        written = await anext(events)

    words = "the tool default:old is deprecated; it is slow; gone in May; use default:add instead"
    assert result.value == 1
    assert told == [("c-1", 0, words)]
    assert isinstance(written, LogWritten)
    assert (written.level, written.message, written.call_id) == ("warning", words, "c-1")


@requirement("deprecation.only")
def test_it_stands_only_around_deprecated_tools() -> None:
    toolbox = Toolbox([old, add], middleware=[WarnOfDeprecated()])

    assert [len(each.middleware or ()) for each in toolbox] == [1, 0]


@requirement("deprecation.told")
@pytest.mark.parametrize("raised", [ValueError("not now"), SystemExit(1), asyncio.CancelledError()])
async def test_what_is_told_never_costs_a_call(raised: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    def tell(call: MiddlewareCall, words: str) -> None:
        raise raised

    with caplog.at_level(logging.ERROR, "armory_trio.middleware"):
        async with open_supervisor(Toolbox([old], middleware=[WarnOfDeprecated(tell)])) as supervisor:
            result = await supervisor.execute(ToolCall("old", {"a": 1}))

    assert result.value == 1
    assert [record.name for record in caplog.records] == ["armory_trio.middleware"]


@requirement("deprecation.told")
def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(DefinitionError, match="tell: must be a function of the call and the words, not 'print'"):
        WarnOfDeprecated(cast("object", "print"))  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="tell: must be a plain function of the call and the words; nobody waits"):
        WarnOfDeprecated(tell_later)


async def tell_later(call: MiddlewareCall, words: str) -> None:
    """Would never be awaited."""
