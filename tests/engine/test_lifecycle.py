"""The table of states, tried in full: every event in every state."""

from __future__ import annotations

import pytest

from armory_trio.engine._lifecycle import EVENTS, FINAL, STATES, TRANSITIONS, Event, Lifecycle, State
from armory_trio.errors import TransitionError
from tests.requirements import requirement

BEFORE: dict[State, tuple[Event, ...]] = {
    "queued": (),
    "active": ("start",),
    "waiting": ("start", "wait"),
    "streaming": ("start", "stream"),
    "abort-requested": ("start", "abort"),
    "cleanup-pending": ("start", "abort", "overdue"),
    "terminal": ("settle",),
    "unknown-effect": ("start", "end-unknown"),
}
"""How each state is reached."""


class Watched:
    """A log that is read, and counts what it is told."""

    active = True

    def publish(self, published: Life, /) -> None:
        published.announced += 1


class Life(Lifecycle):
    """A life that knows how often it was published."""

    announced = 0


def in_state(state: State) -> Life:
    life = Life(Watched())
    for event in BEFORE[state]:
        life.apply(event)
    assert life.state == state
    return life


@requirement("lifecycle.table")
def test_every_state_has_a_row_and_every_event_a_use() -> None:
    assert set(TRANSITIONS) == set(STATES)
    assert {event for row in TRANSITIONS.values() for event in row} == set(EVENTS)
    assert {after for row in TRANSITIONS.values() for after in row.values()} <= set(STATES)


@requirement("lifecycle.table")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("event", EVENTS)
def test_every_event_in_every_state_steps_as_the_table_says_or_changes_nothing(state: State, event: Event) -> None:
    life = in_state(state)
    revision, waits = life.revision, life.waits

    if event in TRANSITIONS[state]:
        life.apply(event)
        assert life.state == TRANSITIONS[state][event]
    else:
        with pytest.raises(TransitionError, match=f"'{event}' while '{state}'"):
            life.apply(event)
        assert (life.state, life.revision, life.waits) == (state, revision, waits)


@requirement("lifecycle.table")
def test_every_state_is_reachable_from_the_first() -> None:
    reached: set[State] = set()
    todo: list[State] = ["queued"]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo.extend(TRANSITIONS[state].values())

    assert reached == set(STATES)


@requirement("lifecycle.refused-never-ran")
def test_a_body_that_ran_can_never_look_as_if_it_had_been_refused() -> None:
    assert [state for state in STATES if "settle" in TRANSITIONS[state]] == ["queued"]
    assert all("queued" not in row.values() for row in TRANSITIONS.values())


@requirement("lifecycle.revisions")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("event", EVENTS)
def test_a_published_step_adds_one_to_the_revision_and_a_counted_one_nothing(state: State, event: Event) -> None:
    life = in_state(state)
    if event not in TRANSITIONS[state]:
        return
    before = life.revision, life.announced

    life.apply(event)

    counted = state in ("abort-requested", "cleanup-pending") and life.state == state
    assert (life.revision - before[0], life.announced - before[1]) == ((0, 0) if counted else (1, 1))


@requirement("lifecycle.waits")
def test_the_last_of_several_waits_leads_back_to_the_state_before_them() -> None:
    life = in_state("active")
    life.apply("wait")
    life.apply("wait")
    life.apply("resume")
    assert life.state == "waiting"

    life.apply("resume-last")

    assert (life.state, life.waits) == ("active", 0)


@requirement("lifecycle.waits")
@pytest.mark.parametrize("events", [("stream", "wait", "resume-last"), ("wait", "stream", "resume-last")])
def test_a_wait_round_or_before_the_first_chunk_leads_back_to_streaming(events: tuple[Event, ...]) -> None:
    life = in_state("active")

    for event in events:
        life.apply(event)

    assert life.state == "streaming"


@requirement("lifecycle.abort-is-sticky")
@pytest.mark.parametrize("event", ["wait", "stream", "abort"])
def test_nothing_but_its_end_leads_out_of_an_abort(event: Event) -> None:
    life = in_state("abort-requested")

    life.apply(event)

    assert life.state == "abort-requested"
    assert set(TRANSITIONS["abort-requested"].values()) == {"abort-requested", "cleanup-pending"} | FINAL
