"""What type checkers make of the testing kit. Nothing here runs: `test_typing` has both checkers read it."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_type

from armory_trio import Supervisor, Tool, Toolbox
from armory_trio.testing import (
    CallHistory,
    Line,
    MockTool,
    OpenRecorded,
    RecordedCall,
    Rule,
    ScriptedCall,
    ScriptedModel,
    ToolAnswer,
    Transcript,
    every,
    mock_tool,
    open_recorded,
    record_calls,
    run_scripted,
)


async def recording(toolbox: Toolbox) -> None:
    async with open_recorded(toolbox, drain_for=1) as (supervisor, calls):
        assert_type(supervisor, Supervisor)
        assert_type(calls, CallHistory)
        assert_type(calls[0], RecordedCall)
        assert_type(calls[:2], tuple[RecordedCall, ...])
        assert_type(calls.assert_called("a"), tuple[RecordedCall, ...])
        calls.of(outcome="failure")  # type: ignore[arg-type]
        with record_calls(supervisor) as again:
            assert_type(again, CallHistory)
    open_recorded(toolbox, drain="long")  # type: ignore[call-arg]
    open_recorded()  # type: ignore[call-arg]


async def with_the_fixture(armory_supervisor: OpenRecorded, toolbox: Toolbox) -> None:
    async with armory_supervisor(toolbox, drain_for=1) as (supervisor, calls):
        assert_type(supervisor, Supervisor)
        assert_type(calls, CallHistory)


def mocks(tool: Tool[..., int]) -> None:
    assert_type(mock_tool(tool, result=1).when({"a": 1}, 2).sequence(1, OSError), MockTool)
    mock_tool(tool).reject("no")  # type: ignore[arg-type]


async def scripts(supervisor: Supervisor) -> None:
    def last(answers: tuple[ToolAnswer, ...]) -> str:
        return answers[0].text

    script: Sequence[Line] = ["Hello.", ScriptedCall("a"), ["b", ScriptedCall("b")], last]
    model = ScriptedModel("gemini", script)
    assert_type(await run_scripted(model, supervisor, owner_id="ann"), Transcript)
    ScriptedModel("mistral", script)  # type: ignore[arg-type]
    ScriptedModel("gemini", [7])  # type: ignore[list-item]


def rules() -> None:
    assert_type(every("a tool is short", lambda tool: len(tool.name) < 9), Rule)
