"""What was asked of a supervisor, as a test looks at it: in order, by question, and by assertions that say what was there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, overload

import msgspec

from ..definitions import Effect, Outcome, ToolCall, ToolResult
from ..definitions._plurals import counted
from ..engine import ApprovalRequested, ApprovalResolved, Snapshot

_SHOWN: Final = 200
"""Characters of arguments, values and messages in one line of a listing."""

_LISTED: Final = 50
"""Calls that a failed assertion lists: the last ones."""


class RecordedCall(msgspec.Struct, frozen=True):
    """One call that a supervisor was asked for, however it ended.

    Args:
        call: The call as it came in, with the arguments that were sent.
        result: How it ended; None while the outcome is not decided. Once the state is final, its effect is too.
        snapshot: What the execution looked like when the history was asked: ids, owner, state, times.
        approvals: The questions to a person about it, and what came of them, in order.
    """

    call: ToolCall
    result: ToolResult[object] | None
    snapshot: Snapshot
    approvals: tuple[ApprovalRequested | ApprovalResolved, ...] = ()

    @property
    def name(self) -> str:
        """The name of the tool, or the name that was asked for when there is no such tool."""
        return self.snapshot.tool_name

    @property
    def arguments(self) -> Mapping[str, object]:
        """What was sent."""
        return self.call.arguments

    @property
    def ran(self) -> bool:
        """Whether the body was entered."""
        return self.snapshot.attempts > 0

    @property
    def outcome(self) -> Outcome | None:
        """What the caller was told; None while it is not decided."""
        return self.snapshot.outcome

    @property
    def code(self) -> str | None:
        """The code of its error; None when it has none."""
        return self.snapshot.error_code

    @property
    def effect(self) -> Effect:
        """What the world may have seen, as far as is known."""
        return self.snapshot.effect

    @property
    def nested(self) -> bool:
        """Whether a running tool made this call, and waited for it."""
        return self.snapshot.parent_id is not None

    def means(self, name_or_id: str) -> bool:
        """Whether its tool has this name or id, or it was asked for by it."""
        return name_or_id in (self.call.name, self.snapshot.tool_name, self.snapshot.tool_id)

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={_shown(value)}" for name, value in self.arguments.items())
        inside = f" inside of {self.snapshot.parent_id}" if self.nested else ""
        decided = [event.decision for event in self.approvals if isinstance(event, ApprovalResolved)]
        return f"{self.name}({_cut(arguments)}){inside}: {', '.join([*decided, self._ending()])}"

    def _ending(self) -> str:
        result = self.result
        if result is None:
            return self.snapshot.state
        if result.outcome == "success":
            told = f"success, {_shown(result.value)}"
        elif result.error is not None:
            told = f"{result.error.code}, {_line(result.error.message)}"
        else:
            told = f"needs {result.action.type}" if result.action is not None else result.outcome
        return f"{told}{f', effect {self.effect}' if self.ran else ', never ran'}"


class CallHistory(Sequence[RecordedCall]):
    """The calls of a supervisor in the order in which they came in, nested ones too. Made by `record_calls`.

    A sequence that grows while tools run. The ``assert_...`` methods raise `AssertionError` with a list of what was
    there, and answer the calls that they looked at. A name may be a tool's name or its id.
    """

    def __init__(self) -> None:
        self._entries: list[Callable[[], RecordedCall]] = []

    def add(self, look: Callable[[], RecordedCall]) -> None:
        """Append a call; *look* answers what it looks like now. For whoever records."""
        self._entries.append(look)

    def clear(self) -> None:
        """Forget all calls. What still runs is not recorded any more, but for what it calls from now on."""
        self._entries.clear()

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """All of them, as they are now."""
        return tuple(look() for look in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[RecordedCall]:
        return iter(self.calls)

    @overload
    def __getitem__(self, index: int) -> RecordedCall: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RecordedCall, ...]: ...
    def __getitem__(self, index: int | slice) -> RecordedCall | tuple[RecordedCall, ...]:
        return self.calls[index]

    def __str__(self) -> str:
        if not self._entries:
            return "no calls"
        return "\n".join(f"{number}. {call}" for number, call in enumerate(self, start=1))

    def __repr__(self) -> str:
        return f"<CallHistory: {counted(len(self), 'call')}>"

    def of(
        self,
        name: str | None = None,
        *,
        outcome: Outcome | None = None,
        code: str | None = None,
        effect: Effect | None = None,
        owner_id: str | None = None,
        nested: bool | None = None,
        ran: bool | None = None,
    ) -> tuple[RecordedCall, ...]:
        """The calls that have all that is asked for, in order. What is left out may be anything.

        Args:
            name: The name or id of the tool.
            outcome: What the caller was told.
            code: The code of the error.
            effect: What the world may have seen.
            owner_id: Who owned it.
            nested: Whether a running tool made it.
            ran: Whether its body was entered.
        """
        wanted = {"outcome": outcome, "code": code, "effect": effect, "nested": nested, "ran": ran}
        asked = {fact: value for fact, value in wanted.items() if value is not None}
        return tuple(
            call
            for call in self
            if (name is None or call.means(name))
            and (owner_id is None or call.snapshot.owner_id == owner_id)
            and all(getattr(call, fact) == value for fact, value in asked.items())
        )

    def assert_called(self, name: str, *, times: int | None = None) -> tuple[RecordedCall, ...]:
        """*name* was asked for, whether or not it ran: at least once, or exactly so many *times*."""
        __tracebackhide__ = True
        return self._assert_count(name, "called", self.of(name), times)

    def assert_ran(self, name: str, *, times: int | None = None) -> tuple[RecordedCall, ...]:
        """The body of *name* was entered: in at least one call, or in exactly so many."""
        __tracebackhide__ = True
        return self._assert_count(name, "run", self.of(name, ran=True), times)

    def assert_called_with(
        self, name: str, arguments: Mapping[str, object], *, partial: bool = False
    ) -> tuple[RecordedCall, ...]:
        """*name* was asked for with these *arguments* at least once; answers all calls of it that were.

        Args:
            name: The name or id of the tool.
            arguments: What was sent, defaults not filled in.
            partial: Whether other arguments may have been sent beside these.
        """
        __tracebackhide__ = True
        called = self.assert_called(name)
        found = tuple(call for call in called if _fits(call.arguments, arguments, partial=partial))
        if not found:
            sent = "".join(f"\n- {_shown(dict(call.arguments))}" for call in called)
            among = "with arguments that contain" if partial else "with"
            raise AssertionError(
                f"{name!r} was never called {among} {_shown(dict(arguments))}, but with{sent}\n{self._listing()}"
            )
        return found

    def assert_not_called(self, *names: str) -> None:
        """None of *names* was asked for; without names, nothing was."""
        __tracebackhide__ = True
        self._assert_none(names, "called", self.calls)

    def assert_not_run(self, *names: str) -> None:
        """The body of none of *names* was entered; without names, no body was."""
        __tracebackhide__ = True
        self._assert_none(names, "run", self.of(ran=True))

    def assert_outcome(self, name: str, outcome: Outcome, *, code: str | None = None) -> tuple[RecordedCall, ...]:
        """*name* was asked for, and all its calls ended with *outcome*; with *code* their errors have that, too."""
        __tracebackhide__ = True
        called = self.assert_called(name)
        wanted = outcome if code is None else f"{outcome} {code}"
        wrong = [call for call in called if call.outcome != outcome or (code is not None and call.code != code)]
        self._assert_all(name, f"ended as {wanted}", wrong)
        return called

    def assert_effect(self, name: str, effect: Effect) -> tuple[RecordedCall, ...]:
        """*name* was asked for, and *effect* is what the world may have seen of each of its calls."""
        __tracebackhide__ = True
        called = self.assert_called(name)
        self._assert_all(name, f"had the effect {effect!r}", [call for call in called if call.effect != effect])
        return called

    def assert_order(self, *names: str) -> None:
        """*names* were asked for in this order, each after the one before; other calls may lie between them."""
        __tracebackhide__ = True
        calls = iter(self.calls)
        for position, name in enumerate(names):
            if not any(call.means(name) for call in calls):
                after = f" after {', '.join(map(repr, names[:position]))}" if position else ""
                raise AssertionError(f"{name!r} was not called{after}. {self._listing()}")

    def _assert_count(
        self, name: str, verb: str, found: tuple[RecordedCall, ...], times: int | None
    ) -> tuple[RecordedCall, ...]:
        __tracebackhide__ = True
        if times is None and not found:
            raise AssertionError(f"{name!r} was never {verb}. {self._listing()}")
        if times is not None and len(found) != times:
            told = f"{counted(len(found), 'time')}, not {counted(times, 'time')}"
            raise AssertionError(f"{name!r} was {verb} {told}. {self._listing()}")
        return found

    def _assert_none(self, names: Sequence[str], verb: str, calls: Sequence[RecordedCall]) -> None:
        __tracebackhide__ = True
        found = [call for call in calls if not names or any(map(call.means, names))]
        if found:
            told = ", ".join(dict.fromkeys(repr(call.name) for call in found))
            raise AssertionError(f"{told} should not have been {verb}. {self._listing()}")

    def _assert_all(self, name: str, wanted: str, wrong: Sequence[RecordedCall]) -> None:
        __tracebackhide__ = True
        if wrong:
            told = "".join(f"\n- {call}" for call in wrong)
            raise AssertionError(f"not every call of {name!r} {wanted}:{told}\n{self._listing()}")

    def _listing(self) -> str:
        if not self._entries:
            return "No calls were recorded."
        lines = str(self).split("\n")
        some = f", the last {_LISTED}" if len(lines) > _LISTED else ""
        return "\n".join([f"{counted(len(self), 'call')} recorded{some}:", *lines[-_LISTED:]])


def _fits(sent: Mapping[str, object], wanted: Mapping[str, object], *, partial: bool) -> bool:
    if partial:
        return all(name in sent and sent[name] == value for name, value in wanted.items())
    return dict(sent) == dict(wanted)


def _shown(value: object) -> str:
    try:
        return _cut(repr(value))
    except Exception:  # noqa: BLE001  # code of the value's own: the listing is about more than this value
        return f"<{type(value).__name__}>"


def _line(text: str) -> str:
    """*text* in one line."""
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text) - _SHOWN} more characters)"
