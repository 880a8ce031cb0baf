"""What `from armory_trio import ...` offers: made by hand, documented, and typed to the end."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Final

import msgspec
import pytest

import armory_trio
from scripts.fresh_venv import verify_types
from tests.test_on_demand import offered_by

ROOT: Final = Path(__file__).parents[1]
FACE: Final = ast.parse((ROOT / "armory_trio" / "__init__.py").read_text(encoding="utf-8"))
OFFERED: Final = offered_by(FACE)
NAMES: Final = sorted(OFFERED)
PROMISED: Final = (
    *("tool", "define_tool", "ToolCall", "ToolResult", "ToolError", "ToolFailure", "ToolContext", "ToolDefinition"),
    *("Tool", "ToolId", "Toolbox", "combine_toolboxes", "open_supervisor", "Supervisor", "serve_until_signal"),
    *("Limits", "Budget", "Retention", "CallOptions", "RequestContext", "Execution", "Snapshot", "Report"),
    *("ExecutionAdmitted", "ExecutionRefused", "ExecutionStarted", "ProgressReported", "StreamOpened", "ChunkEmitted"),
    *("StreamClosed", "LogWritten", "CustomEmitted", "EffectOpened", "EffectClosed", "AbortRequested"),
    *("OutcomeDecided", "ExecutionSettled", "AdmissionWasClosed", "Lagged"),
)
"""Names that users have been told of; what is listed here is never renamed or dropped without a word in CHANGELOG.md."""


class _Counts(msgspec.Struct, rename="camel"):
    with_known_type: int
    with_ambiguous_type: int
    with_unknown_type: int


class _Completeness(msgspec.Struct, rename="camel"):
    completeness_score: float
    exported_symbol_counts: _Counts
    other_symbol_counts: _Counts


class _Verified(msgspec.Struct, rename="camel"):
    type_completeness: _Completeness


def test_every_name_comes_through_the_door_of_its_room() -> None:
    assert [name for name, room in OFFERED.items() if "." in room or room.startswith("_")] == []


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_name_is_offered(name: str) -> None:
    assert name in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_class_and_function_says_what_it_is(name: str) -> None:
    offered: object = getattr(armory_trio, name)

    if inspect.isclass(offered) or inspect.isroutine(offered):
        # What attrs and msgspec make up from the fields says nothing.
        assert (inspect.getdoc(offered) or f"{name}(").split("\n")[0].startswith(f"{name}(") is False


def test_every_error_is_offered_and_is_an_armory_error() -> None:
    errors = importlib.import_module("armory_trio.errors")
    names: tuple[str, ...] = errors.__all__

    assert sorted(set(names) - set(NAMES)) == []
    assert all(issubclass(getattr(errors, name), armory_trio.ArmoryError) for name in names)


def test_every_type_checker_knows_the_type_of_everything_that_is_reachable() -> None:
    verified = msgspec.json.decode(verify_types("--outputjson"), type=_Verified).type_completeness

    for counts in (verified.exported_symbol_counts, verified.other_symbol_counts):
        assert (counts.with_ambiguous_type, counts.with_unknown_type) == (0, 0)
    assert verified.completeness_score == 1
    assert verified.exported_symbol_counts.with_known_type > 1000
