"""What `from armory_trio import ...` offers: made by hand, documented, and typed to the end."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
from typing_extensions import is_protocol

import armory_trio
from armory_trio.content.guardrails import Guard, PromptInjection
from armory_trio.content.truncation import Cap, StreamTruncator
from armory_trio.kits.background import BackgroundKit
from armory_trio.kits.search import SearchKit
from armory_trio.middleware import Cache, Fence, Guardrails, RateLimit, Truncate, WarnOfDeprecated
from armory_trio.providers import PartialJson
from armory_trio.providers.openai import ChatAssembler
from armory_trio.storage.memory import MemoryApprovals, MemoryBuckets, MemoryGrants, MemoryJournal, MemoryLedger
from armory_trio.storage.sql import open_store
from armory_trio.testing import ScriptedApprover, ScriptedModel, StoreClock, mock_tool
from armory_trio.toolbox.search import SearchIndex
from scripts.fresh_venv import verify_types
from tests.public_names import LIST
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


PLAIN: Final = frozenset(
    {
        *("ArmoryToolset", "ClaudeTools", "McpServer", "Planner", "ToolDecorator"),
    }
)
"""Public classes that print as an address only. Nothing is to be added."""


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


def _held() -> Iterator[type]:
    """The public classes of which a user can hold an object."""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        module, _, name = line.rpartition(".")
        offered: object = getattr(importlib.import_module(module), name)
        if not inspect.isclass(offered) or inspect.isabstract(offered) or is_protocol(offered):
            continue
        yield offered


def test_whatever_a_user_can_hold_says_what_it_is_when_it_is_printed() -> None:
    plain = {held.__name__ for held in _held() if not any("__repr__" in vars(kind) for kind in held.__mro__[:-1])}

    assert plain == PLAIN


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        (Cache(90, max_entries=3), "<Cache of 90 seconds: 0 hits, 0 misses>"),
        (Fence(), "<Fence 'untrusted-tool-output'>"),
        (Guardrails(arguments=Guard(detectors=[PromptInjection()])), "<Guardrails of arguments>"),
        (RateLimit(5, per=10), "<RateLimit of 5 calls, another each 2 s>"),
        (WarnOfDeprecated(), "<WarnOfDeprecated>"),
        (MemoryApprovals(), "<MemoryApprovals: 0 approvals>"),
        (MemoryGrants(), "<MemoryGrants: 0 grants>"),
        (MemoryLedger(), "<MemoryLedger: 0 attempts>"),
        (MemoryBuckets(), "<MemoryBuckets: 0 buckets>"),
        (MemoryJournal(), "<MemoryJournal: 0 entries>"),
        (SearchIndex(()), "<SearchIndex of 0 tools>"),
        (BackgroundKit(), "<BackgroundKit in 'default'>"),
        (SearchKit(), "<SearchKit default:search_tools>"),
        (ChatAssembler(), "<ChatAssembler: 0 calls>"),
        (ScriptedApprover([True]), "<ScriptedApprover: 0 questions asked, 1 answer left>"),
        (ScriptedApprover(bool), "<ScriptedApprover: 0 questions asked, a function>"),
        (ScriptedModel("gemini", ["Hello."]), "<ScriptedModel gemini: 0 turns played, 1 left>"),
        (mock_tool("pay", result=1), "<MockTool default:pay (async)>"),
        (StoreClock(7.0), "<StoreClock 7.0>"),
        (StreamTruncator(Cap(bytes=1000, keep="head")), "head"),
        (Truncate(), "<Truncate ResultCaps(result=Cap("),
    ],
)
def test_what_is_printed_tells_it_from_others_of_its_kind(thing: object, told: str) -> None:
    assert told in repr(thing)


def test_a_traceback_names_an_error_as_it_is_imported() -> None:
    errors = [held for held in _held() if issubclass(held, BaseException)]
    hidden = [error for error in errors if "._" in error.__module__]

    assert len(errors) > 40
    assert hidden == []
    assert [getattr(importlib.import_module(error.__module__), error.__name__) for error in errors] == errors


async def test_an_open_store_and_its_parts_say_where_they_are(tmp_path: Path) -> None:
    where = str(tmp_path / "store.db")
    async with open_store(where) as store:
        told = [store, store.approvals, store.grants, store.ledger, store.journal, store.buckets]

        assert list(map(repr, told)) == [
            f"SqlStore(where={where!r})",
            *(f"<Sql{part} in {where!r}>" for part in ("Approvals", "Grants", "Ledger", "Journal", "Buckets")),
        ]


def test_what_a_model_has_written_is_not_printed() -> None:
    reader = PartialJson()
    reader.feed('{"card": "4111')

    assert repr(reader) == "<PartialJson: string>"


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
