"""Histories that a provider takes: checking and repairing a transcript's calls and results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, cast

import msgspec

from ..definitions import ToolResult
from ..definitions._checks import flag
from ._detect import detect_provider, is_envelope
from ._history_characters import fault_of, sendable
from ._history_known import Known, known_of
from ._history_layouts import LAYOUTS
from ._history_parts import CallAt, Change, Fault, Layout, Made
from ._history_plan import Ask, Plan, plan_of
from ._message import GEMINI_ANSWER, GEMINI_CALL, MessageError, field, has, is_list, is_record, word, word_or_none
from ._turn import Json, Provider

__all__ = ("Repair", "check_history", "repair_history")

_LIST: Final = "a list of messages, or of items"

_INSIDE: Final = "a message, or an item, and not the response that it came in (extend_history takes it out)"

_REWRITE: Final = "write all of them in one form, or leave the others out"

_UNKNOWN: Final = (
    "No result of this call of the tool {name!r} was recorded. It is not known whether it ran, or what it changed. Do "
    "not simply repeat it; check first what happened."
)
_NOT_RUN: Final = "The tool {name!r} did not run: the call was never started. Nothing was changed."
_MALFORMED: Final = (
    "The tool {name!r} did not run: the arguments were not one JSON object. Nothing was changed. Send the call again "
    "with one complete JSON object as its arguments."
)


class Repair(msgspec.Struct, frozen=True):
    """A legal history, and what was done for it.

    Args:
        messages: The messages. Those that were legal are the very same objects.
        done: The faults that there were; each says in ``remedy`` what was done.
    """

    messages: list[object]
    done: tuple[Fault, ...]


def check_history(
    history: Sequence[object], *, provider: Provider | None = None, pending: bool = False
) -> tuple[Fault, ...]:
    """What is wrong with the calls and results of a history, in order; nothing when it is legal.

    Args:
        history: The list that is sent to the provider: decoded JSON or the SDK's own types. It is not changed.
        provider: Whose it is; by default what its messages look like.
        pending: Whether the calls of the last message may still wait for their results.

    Raises:
        MessageError: *history* is no list of messages of this provider.
    """
    flag("check_history", "pending", pending)
    layout = _layout_of(history, provider)
    if layout is None:
        return _halves(history)
    return tuple(plan_of(history, layout, pending=pending).faults)


def repair_history(
    history: Sequence[object],
    *,
    provider: Provider | None = None,
    pending: bool = False,
    results: Iterable[ToolResult[object]] = (),
    not_run: Collection[str] = (),
) -> Repair:
    """A legal history, made of *history* with as little change as that takes.

    A result that is missing is one of *results* where that has it; "did not run" where the call is in *not_run*, or has
    arguments that could not run; else an error which says that nobody knows how the call ended.

    Args:
        history: As for `check_history`. Neither the list nor anything in it is changed.
        provider: As for `check_history`.
        pending: As for `check_history`; such calls get no results.
        results: What is known of calls without a result, by their provider's ids.
        not_run: The provider's ids of calls that certainly did not run.

    Raises:
        MessageError: *history* is no list of messages of this provider.
        HistoryError: *results* or *not_run* speaks of a call that is not in *history*, or says two things of one.
        DefinitionError: They are no lists, or an entry is no result or no id.
    """
    layout = _layout_of(history, provider)
    flag("repair_history", "pending", pending)
    plan = None if layout is None else plan_of(history, layout, pending=pending)
    known = known_of(plan, results, not_run)
    if plan is None:
        return Repair([sendable(node) for node in history], _halves(history))
    if not plan.faults:
        return Repair(list(history), ())
    return Repair(_Writer(plan, known).written(), tuple(plan.faults))


def _halves(messages: Sequence[object]) -> tuple[Fault, ...]:
    """What is wrong with a history without calls, which is nobody's."""
    found = (fault_of(node, position) for position, node in enumerate(messages))
    return tuple(fault for fault in found if fault is not None)


def _layout_of(messages: object, provider: Provider | None) -> Layout | None:
    """The layout of *provider*, or of the one whose messages show whose they are; None when none does."""
    if not is_list(messages):
        raise MessageError("$", messages, _LIST)
    for position, node in enumerate(messages):
        if not is_record(node):
            raise MessageError(f"$[{position}]", node, "a message")
        if is_envelope(node):
            raise MessageError(f"$[{position}]", node, _INSIDE)
        word(node, f"$[{position}]", "role")
    if provider is None:
        provider = _owner_of_all(messages)
        return None if provider is None else LAYOUTS[provider]
    if not isinstance(cast("object", provider), str) or provider not in LAYOUTS:
        raise MessageError("$", provider, f"one of {', '.join(LAYOUTS)} as the provider")
    _require_own(messages, provider)
    return LAYOUTS[provider]


def _require_own(messages: Sequence[object], provider: Provider) -> None:
    """Refuse calls in the form of another provider: read as *provider*'s, they would seem to be none."""
    for at, node in enumerate(messages):
        for owner in _owners_of(node):
            if owner != provider and not (owner == "openai-chat" and _is_unclaimed(node)):
                wanted = f"calls and results in the form of {provider}, not of {owner}; {_REWRITE}"
                raise MessageError(f"$[{at}]", node, wanted)


def _is_unclaimed(node: object) -> bool:
    """Whether *node* only calls itself a tool's: it may be anybody's."""
    return not has(node, "tool_call_id") and not has(node, "tool_calls")


def _owner_of_all(messages: Sequence[object]) -> Provider | None:
    """Whose the calls and results of *messages* are; where there are none, whose the messages look like.

    Raises:
        MessageError: They are of several providers.
    """
    owner: Provider | None = None
    for position, node in enumerate(messages):
        for found in _owners_of(node):
            if owner not in (None, found):
                wanted = f"calls and results in the form of {owner}, as before it, and not of {found}; {_REWRITE}"
                raise MessageError(f"$[{position}]", node, wanted)
            owner = found
    for node in messages:
        owner = owner or _likeness_of(node)
    return owner


def _likeness_of(node: object) -> Provider | None:
    if is_list(field(node, "parts")):
        return "gemini"
    return "openai-chat" if is_list(field(node, "tool_calls")) else detect_provider(node)


def _owners_of(node: object) -> Iterator[Provider]:
    """Whose message *node* is, when it has calls or results, or what is no list in their place."""
    content, parts, calls = (field(node, name) for name in ("content", "parts", "tool_calls"))
    is_geminis = parts is not None and (
        not is_list(parts) or any(field(part, *GEMINI_CALL, *GEMINI_ANSWER) is not None for part in parts)
    )
    if is_geminis:
        yield "gemini"
    if (word_or_none(node, "type") or "").endswith(("_call_output", "_call")):
        yield "openai-responses"
    kinds = {word_or_none(block, "type") for block in content} if is_list(content) else set[str | None]()
    if kinds & {"tool_use", "tool_result"}:
        yield "anthropic"
    elif calls not in (None, [], ()) or (_is_a_tools(node) and not is_geminis):
        yield "openai-chat"


def _is_a_tools(node: object) -> bool:
    """Whether *node* is a message of a tool: items of the Responses API have roles, too, and say what they are."""
    return word_or_none(node, "role") == "tool" and (field(node, "type") is None or has(node, "tool_call_id"))


class _Writer:
    """Writes the repaired history of a plan."""

    def __init__(self, plan: Plan, known: Known) -> None:
        self._plan = plan
        self._layout = plan.layout
        self._known = known
        self._moved: dict[int, set[int]] = {at: set(entries) for at, entries in plan.dropped.items()}
        self._renamed: dict[int, Change] = {}
        self._changes = plan.changes_by_message()
        for ask in plan.asks:
            for call, answer in zip(ask.calls, ask.answers, strict=True):
                if answer is None:
                    continue
                if self._is_moved(ask, call, answer.position):
                    self._moved.setdefault(answer.position, set()).add(answer.entry)
                elif (call.position, call.entry) in plan.changes:
                    self._renamed[answer.position] = plan.changes[call.position, call.entry]

    def _is_moved(self, ask: Ask, call: CallAt, position: int) -> bool:
        return position < call.position if self._layout.is_flat else ask.regroup

    def written(self) -> list[object]:
        """All messages, with the results of each ask behind it."""
        asks = {ask.last: ask for ask in self._plan.asks}
        written: list[object] = []
        used: set[int] = set()
        for position in range(len(self._plan.messages)):
            node = None if position in used else self._message(position)
            if node is not None:
                written.append(node)
            ask = asks.get(position)
            if ask is None or not (ask.regroup or self._layout.is_flat):
                continue
            answers, extras = self._answers(ask)
            if answers:
                behind = self._behind(position)
                after = None if behind is None else self._message(behind)
                group, is_within = self._layout.group(answers, extras, after)
                written += group
                used |= {behind} if is_within and behind is not None else set()
        return written

    def _message(self, position: int) -> object | None:
        """The message at *position* without what goes or moves, and with its calls changed."""
        node = self._plan.messages[position]
        changes = self._changes.get(position)
        if changes:
            node = self._layout.with_calls(node, changes)
        if position in self._renamed and self._layout.is_flat:
            node = self._layout.with_answer(node, self._renamed[position])
        moved = self._moved.get(position)
        left = node if moved is None else self._layout.without(node, frozenset(moved))
        return sendable(left) if position in self._plan.halved else left

    def _behind(self, position: int) -> int | None:
        """The next message of which something is left."""
        later = range(position + 1, len(self._plan.messages))
        return next((at for at in later if at not in self._moved or self._message(at) is not None), None)

    def _answers(self, ask: Ask) -> tuple[list[object], list[Json]]:
        """The results of *ask* that do not stand where they are to stay."""
        answers: list[object] = []
        extras: list[Json] = []
        for call, answer in zip(ask.calls, ask.answers, strict=True):
            change = self._plan.changes.get((call.position, call.entry), Change())
            if answer is None:
                if ask is not self._plan.pending:
                    made = self._made(call, change)
                    answers.append(made.node)
                    extras += made.extras
            elif self._is_moved(ask, call, answer.position):
                is_changed = change.call_id is not None or change.name is not None
                moved = self._layout.with_answer(answer.node, change) if is_changed else answer.node
                answers.append(sendable(moved) if answer.position in self._plan.halved else moved)
        return answers, extras

    def _made(self, call: CallAt, change: Change) -> Made:
        """A result for *call*, which has none: what is known of how it ended."""
        call_id = change.call_id or call.wire_id
        told = msgspec.structs.replace(call, name=change.name or call.name)
        known = self._known.result_of(call)
        if known is not None:
            return self._layout.formatted(told, call_id, known)
        words = _UNKNOWN
        if self._known.has_not_run(call):
            words = _NOT_RUN
        elif call.is_broken:
            words = _MALFORMED
        return Made(self._layout.in_words(told, call_id, words.format(name=call.name)))
