"""Which result answers which call, and what is wrong with that."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..definitions._plurals import counted
from ._history_characters import fault_of, has_half
from ._history_parts import CallAt, Change, Fault, FaultKind, Layout, Place, ResultAt, legal_id, legal_name

__all__ = ("Ask", "Plan", "plan_of")


class Ask:
    """The calls that are answered together: those of one message, or a run of items."""

    __slots__ = ("answers", "calls", "regroup")

    def __init__(self, calls: list[CallAt]) -> None:
        self.calls = calls
        self.answers: list[ResultAt | None] = [None] * len(calls)
        self.regroup = False
        """Whether its results have to be written anew, right behind it."""

    @property
    def first(self) -> int:
        return self.calls[0].position

    @property
    def last(self) -> int:
        return self.calls[-1].position


class Plan:
    """What is wrong with a history, and all that its repair has to know."""

    __slots__ = ("asks", "changes", "dropped", "faults", "halved", "layout", "messages", "pending", "uses", "wanted")

    def __init__(self, messages: Sequence[object], layout: Layout) -> None:
        self.messages = messages
        self.layout = layout
        self.faults: list[Fault] = []
        self.asks: list[Ask] = []
        self.dropped: dict[int, set[int]] = {}
        """Entries that go, by message; none of them, where an empty list of calls goes."""

        self.changes: dict[Place, Change] = {}
        """What becomes of calls."""

        self.wanted: list[tuple[Ask, int]] = []
        """The calls whose results are missing."""

        self.uses: dict[str, int] = {}
        """How often an id was given another form, because it was taken."""

        self.halved: set[int] = set()
        """The messages with characters of which only one half is there."""

        self.pending: Ask | None = None
        """The calls that may still wait for their results."""

    def changes_by_message(self) -> dict[int, dict[int, Change]]:
        """What becomes of calls: by message, and by entry in it."""
        found: dict[int, dict[int, Change]] = {}
        for (position, entry), change in self.changes.items():
            found.setdefault(position, {})[entry] = change
        return found

    def blame(self, kind: FaultKind, at: CallAt | ResultAt, words: str, remedy: str) -> None:
        self.faults.append(Fault(kind, at.position, at.path, at.wire_id, words, remedy))

    def drop(self, at: CallAt | ResultAt) -> None:
        self.dropped.setdefault(at.position, set()).add(at.entry)


def plan_of(messages: Sequence[object], layout: Layout, *, pending: bool) -> Plan:
    """Read *messages* and find what is wrong with them.

    Raises:
        MessageError: A message is not of the shape of this provider.
    """
    plan = Plan(messages, layout)
    results: list[ResultAt] = []
    has_results: list[bool] = []
    for position, node in enumerate(messages):
        found = layout.results_of(node, position)
        _take_calls(plan, layout.calls_of(node, position), after_result=bool(has_results and has_results[-1]))
        results += found
        has_results.append(bool(found))
    _find_empty(plan)
    _find_void(plan)
    _match(plan, results)
    if pending and plan.asks and _may_wait(plan):
        plan.pending = plan.asks[-1]
    _find_missing(plan)
    _check_ids(plan)
    _check_calls(plan)
    _check_answers(plan)
    _check_characters(plan)
    if plan.pending is not None and plan.pending.regroup and _leaves_words(plan, plan.pending):
        return plan_of(messages, layout, pending=False)  # what is put behind the results goes on without the others
    plan.faults.sort(key=lambda fault: fault.position)
    return plan


def _take_calls(plan: Plan, calls: Sequence[CallAt], *, after_result: bool) -> None:
    by_model = [call for call in calls if call.by_model]
    for call in calls:
        if not call.by_model:
            plan.blame("role", call, f"a call of {call.name!r} in a message that is not the model's", "left out")
            plan.drop(call)
    if not by_model:
        return
    if plan.layout.is_flat and plan.asks and not after_result and not _is_answered(plan, by_model[0].position):
        plan.asks[-1].calls += by_model
        plan.asks[-1].answers += [None] * len(by_model)
    else:
        plan.asks.append(Ask(by_model))


def _find_empty(plan: Plan) -> None:
    for position, node in enumerate(plan.messages):
        if plan.layout.has_no_calls(node):
            words = "a list of calls that has none, which this provider does not take"
            remedy = "the list is left out, and a message that says nothing else"
            plan.faults.append(Fault("no-calls", position, f"$[{position}].tool_calls", None, words, remedy))
            plan.dropped.setdefault(position, set())


def _find_void(plan: Plan) -> None:
    for position, node in enumerate(plan.messages):
        void = plan.layout.void_in(node, position)
        if void:
            words = f"{counted(len(void), 'block', 'blocks')} of a model that another one replaced within the message"
            plan.faults.append(Fault("withdrawn", position, f"$[{position}]", None, words, "left out"))
            plan.dropped.setdefault(position, set()).update(void)


def _is_answered(plan: Plan, position: int) -> bool:
    """Whether a result stands between the last run of calls and *position*."""
    between = range(plan.asks[-1].last + 1, position)
    return any(plan.layout.results_of(plan.messages[at], at) for at in between)


_Slots = dict[str, list[tuple[int, int]]]
"""By id: the calls that have it, as the index of an ask and the index in it."""


def _match(plan: Plan, results: Sequence[ResultAt]) -> None:
    slots: _Slots = {}
    for index, ask in enumerate(plan.asks):
        for at, call in enumerate(ask.calls):
            if call.wire_id is not None:
                slots.setdefault(call.wire_id, []).append((index, at))
    firsts = [ask.first for ask in plan.asks]
    early = [result for result in results if not _matched_before(plan, slots, firsts, result)]
    unplaced = [result for result in early if not _matched_after(plan, slots, firsts, result)]
    for result in unplaced:
        index = bisect_right(firsts, result.position) - 1
        is_foreign = result.wire_id not in slots
        if index < 0 or not is_foreign or not _matched_by_order(plan.asks[index], result):
            _drop_result(plan, slots, result)


def _may_wait(plan: Plan) -> bool:
    """Whether nothing stands behind the last calls but results that stay there, once that is gone which goes anyway."""
    stays: set[int] = set()
    going = {at: set(entries) for at, entries in plan.dropped.items()}
    for ask in plan.asks:
        for answer in ask.answers:
            if answer is not None and (plan.layout.is_flat or ask is plan.asks[-1]):
                stays.add(answer.position)
            elif answer is not None:
                going.setdefault(answer.position, set()).add(answer.entry)
    later = range(plan.asks[-1].last + 1, len(plan.messages))
    return all(at in stays or (at in going and _vanishes(plan, at, going[at])) for at in later)


def _leaves_words(plan: Plan, ask: Ask) -> bool:
    """Whether something stays where the results of *ask* are taken out, to be put together."""
    taken: dict[int, set[int]] = {}
    for answer in filter(None, ask.answers):
        taken.setdefault(answer.position, set()).add(answer.entry)
    return any(not _vanishes(plan, at, entries | set(plan.dropped.get(at, ()))) for at, entries in taken.items())


def _vanishes(plan: Plan, at: int, entries: set[int]) -> bool:
    return plan.layout.without(plan.messages[at], frozenset(entries)) is None


def _matched_before(plan: Plan, slots: _Slots, firsts: Sequence[int], result: ResultAt) -> bool:
    """Give *result* to a call that has its id: of the nearest calls before it."""
    having = slots.get(result.wire_id or "", [])
    behind = bisect_left(having, (bisect_right(firsts, result.position), 0))
    if not behind:
        return False
    nearest = having[behind - 1][0]
    return _given(plan, having[bisect_left(having, (nearest, 0)) : behind], result)


def _matched_after(plan: Plan, slots: _Slots, firsts: Sequence[int], result: ResultAt) -> bool:
    """Give *result*, which stands before every call that has its id, to the first of them without one."""
    having = slots.get(result.wire_id or "", [])
    is_early = bool(having) and firsts[having[0][0]] > result.position
    return is_early and _given(plan, having, result)


def _given(plan: Plan, places: Sequence[tuple[int, int]], result: ResultAt) -> bool:
    for index, at in places:
        if plan.asks[index].answers[at] is None:
            plan.asks[index].answers[at] = result
            return True
    return False


def _matched_by_order(ask: Ask, result: ResultAt) -> bool:
    """Give a result without an id, or for a call without one, to the next call that it fits."""
    for at, call in enumerate(ask.calls):
        is_free = ask.answers[at] is None and (result.wire_id is None or call.wire_id is None)
        if is_free and result.name in (None, call.name):
            ask.answers[at] = result
            return True
    return False


def _drop_result(plan: Plan, slots: _Slots, result: ResultAt) -> None:
    if result.wire_id is not None and result.wire_id in slots:
        words = f"a second result for the call {result.wire_id!r}"
        plan.blame("repeated-result", result, words, "left out; the first one stays, which the model has read")
    else:
        words = f"a result for {result.wire_id or result.name or 'no call'!r}, which no call here has asked for"
        plan.blame("orphan-result", result, words, "left out")
    plan.drop(result)


def _find_missing(plan: Plan) -> None:
    for ask in plan.asks:
        for at, answer in enumerate(ask.answers):
            if answer is not None or ask is plan.pending:
                continue
            call = ask.calls[at]
            words = f"the call {call.wire_id or at!r} of {call.name!r} has no result"
            plan.blame("missing-result", call, words, "a result is added that says what is known")
            plan.wanted.append((ask, at))
            ask.regroup = True


def _check_ids(plan: Plan) -> None:
    taken = {call.wire_id for ask in plan.asks for call in ask.calls}
    seen: set[str] = set()
    for ask in plan.asks:
        if not plan.layout.id_everywhere:
            seen = set()
        for at, call in enumerate(ask.calls):
            answer = ask.answers[at]
            call_id = _id_of(plan, call, seen, taken)
            if call_id != call.wire_id and call_id is not None:
                taken.add(call_id)
                _change(plan, call, Change(call_id=call_id))
                ask.regroup = ask.regroup or answer is not None
            if call_id is not None:
                seen.add(call_id)
            elif answer is not None and answer.wire_id is not None:
                plan.blame("missing-id", call, f"the call of {call.name!r} has no id, and its result has one", "added")
                added = _free(plan, answer.wire_id, taken)
                ask.regroup = ask.regroup or added != answer.wire_id
                taken.add(added)
                _change(plan, call, Change(call_id=added))
            if answer is not None and answer.wire_id is None and plan.layout.needs_ids:
                plan.blame("missing-id", answer, "a result without the id of its call", "the id is written in")
                _change(plan, call, Change(call_id=call_id))
                ask.regroup = True


def _id_of(plan: Plan, call: CallAt, seen: set[str], taken: set[str | None]) -> str | None:
    """The id that *call* should have."""
    if call.wire_id is None:
        if not plan.layout.needs_ids:
            return None
        made = _free(plan, f"call_{call.position}_{call.entry}", taken)
        plan.blame("missing-id", call, f"the call of {call.name!r} has no id", f"{made!r} is made and written in")
        return made
    legal = legal_id(call.wire_id, plan.layout.id_limit)
    if legal != call.wire_id:
        plan.blame("illegal-id", call, f"this provider does not take the id {call.wire_id!r}", f"it is {legal!r} now")
    if legal in seen:
        again = _free(plan, legal, taken)
        plan.blame(
            "repeated-id", call, f"another call has the id {call.wire_id!r}, too", f"this one's is {again!r} now"
        )
        return again
    return legal


def _free(plan: Plan, wanted: str, taken: set[str | None]) -> str:
    """*wanted*, or with the first number behind it that no other id is."""
    candidate = wanted
    while candidate in taken:
        number = plan.uses[wanted] = plan.uses.get(wanted, 1) + 1
        candidate = legal_id(f"{wanted}_{number}", plan.layout.id_limit)
    return candidate


def _check_calls(plan: Plan) -> None:
    for ask, call, answer in _calls_of(plan):
        if call.is_illegal:
            words = f"the arguments of the call {call.wire_id!r} of {call.name!r} are not one JSON object in its form"
            plan.blame("arguments", call, words, "they are one now: an empty one, where nothing else can be meant")
            _change(plan, call, Change(arguments=call.arguments))
        name = legal_name(call.name, plan.layout.name_rule)
        if name != call.name:
            plan.blame("name", call, f"this provider does not take the name {call.name!r}", f"it is {name!r} now")
            _change(plan, call, Change(name=name))
            ask.regroup = ask.regroup or (answer is not None and answer.name is not None)
        if answer is not None and answer.name is None and plan.layout.needs_names:
            plan.blame("name", answer, "a result without the name of its tool", "the name is written in")
            _change(plan, call, Change(name=name))
            ask.regroup = True


def _calls_of(plan: Plan) -> Iterator[tuple[Ask, CallAt, ResultAt | None]]:
    for ask in plan.asks:
        for call, answer in zip(ask.calls, ask.answers, strict=True):
            yield ask, call, answer


def _change(plan: Plan, call: CallAt, change: Change) -> None:
    place = (call.position, call.entry)
    known = plan.changes.get(place, Change())
    plan.changes[place] = Change(
        change.call_id or known.call_id,
        change.name or known.name,
        known.arguments if change.arguments is None else change.arguments,
    )


_BEHIND: Final = "right behind the message of the calls"


def _check_answers(plan: Plan) -> None:
    place_of = _PlaceOf(plan)
    for ask in plan.asks:
        given = [(call, answer) for call, answer in zip(ask.calls, ask.answers, strict=True) if answer is not None]
        if plan.layout.is_flat:
            for call, answer in given:
                if answer.position < call.position:
                    plan.blame("misplaced-result", answer, "a result that stands before its call", "moved behind it")
            continue
        places = [place_of(answer) for _, answer in given]
        position = place_of(ask.calls[0])[0]
        if plan.layout.is_in_place(places, position) and all(answer.by_user for _, answer in given):
            continue
        ask.regroup = True
        is_order = plan.layout.is_in_place(sorted(places), position) and all(answer.by_user for _, answer in given)
        if is_order:
            words = "the results do not stand in the order of their calls"
            plan.blame("result-order", given[0][1], words, "they stand in that order now")
        else:
            words = f"a result that does not stand {_BEHIND}, before anything else"
            plan.blame("misplaced-result", given[0][1], words, "moved there")


def _check_characters(plan: Plan) -> None:
    """Look at what is left of each message: arguments and names of calls are changed anyway where they are not legal."""
    changes = plan.changes_by_message()
    for position, node in enumerate(plan.messages):
        if not has_half(node):
            continue
        changed = plan.layout.with_calls(node, changes[position]) if position in changes else node
        dropped = plan.dropped.get(position)
        left = changed if dropped is None else plan.layout.without(changed, frozenset(dropped))
        fault = fault_of(left, position, is_whole=not dropped)
        if fault is not None:
            plan.faults.append(fault)
            plan.halved.add(position)


class _PlaceOf:
    """Where calls and results stand once that is gone which goes anyway."""

    __slots__ = ("_dropped", "_vanished")

    def __init__(self, plan: Plan) -> None:
        self._dropped: Mapping[int, list[int]] = {at: sorted(entries) for at, entries in plan.dropped.items()}
        self._vanished = sorted(
            at
            for at, entries in plan.dropped.items()
            if plan.layout.without(plan.messages[at], frozenset(entries)) is None
        )

    def __call__(self, at: CallAt | ResultAt) -> Place:
        entry = at.entry - bisect_right(self._dropped.get(at.position, ()), at.entry)
        return at.position - bisect_right(self._vanished, at.position), entry
