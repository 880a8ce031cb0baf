"""A history and the next round of it: what the model said, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import trio

from ..definitions import ToolResult
from ..definitions._checks import members, shown
from ..definitions._plurals import counted
from ..engine import Execution, Stream
from ..errors import DefinitionError
from ._history import repair_history
from ._history_known import HistoryError
from ._history_layouts import LAYOUTS
from ._history_parts import CallAt, Change, Layout
from ._message import MessageError, as_json, field, has, is_list, is_record, items, require_record
from ._turn import Provider, Turn, WireCall

__all__ = ("collect_results", "extend_history")

_UNHEARD: Final = ("orphan-result", "repeated-result")
"""Faults of an answer for which it would be left out, so that the model never reads it."""

_HARMLESS: Final = ("characters", "no-calls", "withdrawn")
"""Faults that are repaired without a word wherever they are: the same is said, and nothing is lost."""

_NOTHING: Final[Mapping[str, object]] = {}
_SHAPES = "the message of the turn: whole, one choice or candidate of it, or its items"


def extend_history(
    history: Sequence[object],
    message: object,
    turn: Turn,
    results: Iterable[ToolResult[object]],
    *,
    others: Sequence[object] = (),
) -> list[object]:
    """A new list: *history*, the model's message, and the reply to it. It is legal for the turn's provider.

    In the message made ids are written in, and ids, names and arguments that the provider would refuse are made legal;
    the results agree with them.

    Args:
        history: What was sent for this message. It is not changed.
        message: What the model said: what the parser was given, or what an assembler's ``message()`` answers.
        turn: The turn of *message*.
        results: One result for each of ``turn.calls``, in any order.
        others: Your answers to those of ``turn.others`` that the provider expects you to answer, in its form.

    Raises:
        ReplyError: A call has no result or several, or a result belongs to no call of this turn.
        HistoryError: *history* is not legal as it stands; `repair_history` makes it so. Or one of *others* answers no
            call, or one that is answered already.
        DefinitionError: *turn*, *results* or *others* has the wrong type.
        MessageError: *message* is none of these, or not that of *turn*; or *history* is no list of messages.
    """
    if not isinstance(cast("object", turn), Turn):
        raise DefinitionError("extend_history", "turn", f"must be what a parser answers, not {shown(turn)}")
    if not is_list(history):
        raise MessageError("$", history, "a list of messages, or of items, as the history")
    if not is_list(others):
        raise DefinitionError("extend_history", "others", f"must be a list of messages, not {shown(others)}")
    reply = turn.reply(results)
    said = _with_ids(_entries(message, turn.provider), turn)
    repair = repair_history([*history, *said, *reply, *others], provider=turn.provider)
    last = len(history) + len(said) + len(reply)
    wrong = [fault for fault in repair.done if fault.position < len(history) and fault.kind not in _HARMLESS]
    wrong += [fault for fault in repair.done if fault.position >= last and fault.kind in _UNHEARD]
    if wrong:
        raise HistoryError(wrong)
    return repair.messages


async def collect_results(
    pending: Iterable[ToolResult[object] | Execution | Stream],
) -> list[ToolResult[object]]:
    """The results of calls that may still run, in the order given: for `Turn.reply` and `extend_history`.

    Executions and open streams are waited for side by side; chunks of a stream that nobody has read are read and dropped
    here, for its result has them all. Cancelled: nothing is lost, the calls run on, and it may be asked again.

    Raises:
        DefinitionError: *pending* is no list, or an entry is none of these.
    """
    entries = _pending(pending)
    results: list[ToolResult[object] | None] = [None] * len(entries)

    async def collect(at: int, entry: ToolResult[object] | Execution | Stream) -> None:
        if isinstance(entry, Stream):
            async for _ in entry:
                pass
            results[at] = entry.result
        else:
            results[at] = await entry.result() if isinstance(entry, Execution) else entry

    await trio.lowlevel.checkpoint()
    async with trio.open_nursery() as nursery:
        for at, entry in enumerate(entries):
            nursery.start_soon(collect, at, entry, name=f"collect result {at}")
    return [result for result in results if result is not None]


def _pending(pending: object) -> list[ToolResult[object] | Execution | Stream]:
    entries = members("collect_results", "pending", pending, "results, executions and streams")
    for at, entry in enumerate(entries):
        if not isinstance(entry, ToolResult | Execution | Stream):
            wanted = f"must be a ToolResult, an Execution or a Stream, not {shown(entry)}"
            raise DefinitionError("collect_results", f"pending[{at}]", wanted)
    return cast("list[ToolResult[object] | Execution | Stream]", entries)


def _entries(message: object, provider: Provider) -> list[object]:
    """What of *message* stands in a history: nothing of one that says nothing, for no provider takes that back."""
    layout = LAYOUTS[provider]
    return [entry for each in _unpacked(message, provider) if (entry := _spoken(each, layout)) is not None]


def _spoken(entry: object, layout: Layout) -> object | None:
    """*entry* without a list of calls that has none; None when it says nothing."""
    if not is_record(entry):
        return entry
    if layout.has_no_calls(entry):
        return layout.without(entry, frozenset())
    return None if layout.says_nothing(entry) else entry


def _unpacked(message: object, provider: Provider) -> list[object]:
    if is_list(message):
        whole = {"anthropic": "assistant", "gemini": "model"}
        inner = "content" if provider == "anthropic" else "parts"
        return [{"role": whole[provider], inner: list(message)}] if provider in whole else _unwrapped(message, provider)
    node = require_record(message, "$", _SHAPES)
    match provider:
        case "openai-chat":
            if has(node, "choices"):
                choices = items(field(node, "choices"), "$.choices", "a list with one choice")
                node = _only(choices, "$.choices") if choices else _NOTHING
            return [as_json(field(node, "message") if has(node, "message") else node)]
        case "openai-responses":
            return _unwrapped(field(node, "output") if has(node, "output") else [node], provider)
        case "anthropic":
            return [{"role": "assistant", "content": field(node, "content")}]
        case "gemini":
            if has(node, "candidates"):
                candidates = items(field(node, "candidates"), "$.candidates", "a list with one candidate")
                node = _only(candidates, "$.candidates") if candidates else _NOTHING
            content = field(node, "content") if has(node, "content") else node
            return [{"role": "model", **as_json(_NOTHING if content is None else content)}]


def _unwrapped(entries: object, provider: Provider) -> list[object]:
    found = list(items(entries, "$.output", "a list of output items"))
    return found if provider == "openai-responses" else [{"role": "assistant", "content": None, "tool_calls": found}]


def _only(entries: Sequence[object], path: str) -> object:
    if len(entries) != 1:
        raise MessageError(path, entries, "one entry; pass the one that the conversation goes on with")
    return entries[0]


def _with_ids(said: Sequence[object], turn: Turn) -> list[object]:
    """*said* with the ids that were made for its calls."""
    layout = LAYOUTS[turn.provider]
    made: Mapping[int, str] = turn.made_ids if layout.needs_ids else {}
    left = [at for at, call in enumerate(turn.wire) if not call.is_withdrawn]
    written: list[object] = []
    count = 0
    for position, node in enumerate(said):
        changes: dict[int, Change] = {}
        for call in layout.calls_of(require_record(node, f"$[{position}]", _SHAPES), position):
            if call.is_function:
                at = left[count] if count < len(left) else len(turn.wire)
                if at < len(turn.wire) and not _is_same(call, turn.wire[at]):
                    wanted = f"the call {turn.wire[at].reply_id!r} of {turn.wire[at].name!r}, as in the turn"
                    raise MessageError(call.path, node, wanted)
                if at in made:
                    changes[call.entry] = Change(call_id=made[at])
                count += 1
        written.append(layout.with_calls(node, changes) if changes else node)
    if count != len(left):
        raise MessageError("$", said, f"the message of the turn, which has {counted(len(left), 'call', 'calls')}")
    return written


def _is_same(call: CallAt, wire: WireCall) -> bool:
    """Whether *call* is the one that the turn has in its place: one with another id would be answered by nobody."""
    return call.wire_id == wire.wire_id or (wire.wire_id is None and call.wire_id == wire.call_id)
