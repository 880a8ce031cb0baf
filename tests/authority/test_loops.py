from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, tool
from armory_trio.authority import LoopDetection, LoopDetector, LoopLevel, LoopVerdict
from armory_trio.authority._loops import fingerprint
from armory_trio.definitions import canonical_text
from tests.requirements import requirement


def text(arguments: object) -> str:
    return canonical_text(arguments, mode="exact")


def ask(detector: LoopDetector, call: str, result: str | None = "same", owner: str | None = None) -> LoopVerdict:
    """Judge the call of one letter, and end it at once unless it was refused or *result* is None."""
    verdict = detector.check(call, text({"of": call}), owner_id=owner)
    if verdict.level != "block" and result is not None:
        detector.record_result(verdict, result)
    return verdict


def levels(detector: LoopDetector, calls: Iterable[str], result: str | None = "same") -> list[LoopLevel]:
    return [ask(detector, call, result).level for call in calls]


# ── The same call again and again ────────────────────────────────────────────────────────────────────────────────────


@requirement("loops.repeat")
def test_the_same_call_is_warned_of_and_then_refused() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2, block_at=4))

    assert levels(detector, "aaaaa") == ["fine", "warn", "warn", "block", "block"]


@requirement("loops.repeat")
def test_by_default_the_tenth_call_is_warned_of_and_the_twentieth_refused() -> None:
    detector = LoopDetector(LoopDetection())

    assert levels(detector, "a" * 21) == ["fine"] * 9 + ["warn"] * 10 + ["block"] * 2


@requirement("loops.repeat")
def test_a_threshold_that_is_none_never_answers() -> None:
    assert levels(LoopDetector(LoopDetection(warn_at=2, block_at=None)), "a" * 40) == ["fine"] + ["warn"] * 39
    assert levels(LoopDetector(LoopDetection(warn_at=None, block_at=3)), "aaaa") == ["fine", "fine", "block", "block"]


@requirement("loops.repeat")
def test_the_verdict_says_what_was_seen() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2, block_at=3))
    first, second, third = (ask(detector, "a") for _ in range(3))

    assert (first.level, first.calls, first.pattern, first.message) == ("fine", 1, None, "")
    assert (second.level, second.calls, second.pattern) == ("warn", 2, "repeat")
    assert second.message == (
        "loop: 'a' was called 2 times in a row with the same arguments, and nothing changed; "
        "change the arguments or do something else"
    )
    assert (third.level, third.calls, third.pattern) == ("block", 3, "repeat")
    assert third.message.startswith("loop: 'a' was called 3 times in a row")
    assert "this one was not run" in third.message


@requirement("loops.arguments")
def test_arguments_are_compared_by_value_whatever_the_order_of_their_keys() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2))
    detector.check("sum", text({"a": 1, "b": {"c": None, "d": [1, 2]}}))

    assert detector.check("sum", text({"b": {"d": [1, 2], "c": None}, "a": 1})).level == "warn"
    assert detector.check("sum", text({"b": {"d": [2, 1], "c": None}, "a": 1})).level == "fine"
    assert detector.check("sum", text({"b": {"d": [2, 1]}, "a": 1})).level == "fine"
    assert detector.check("add", text({"b": {"d": [2, 1]}, "a": 1})).level == "fine"


@requirement("loops.arguments")
def test_what_calls_have_in_common_is_the_digest_of_their_name_and_arguments() -> None:
    found = fingerprint("sum", text({"b": 2, "a": 1})).hex()

    assert found.startswith("ccadec49")
    assert found.endswith("1edcf")


@requirement("loops.arguments")
@pytest.mark.parametrize("arguments", [{"a": 10**400}, {"a": "\ud800"}, {"a": 1e300}, {}])
def test_every_json_value_can_be_judged(arguments: object) -> None:
    detector = LoopDetector(LoopDetection(warn_at=2))

    assert [detector.check("a", text(arguments)).calls for _ in range(3)] == [1, 2, 3]


# ── Progress ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("loops.recovery")
def test_other_arguments_end_the_run() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2, block_at=3))

    assert levels(detector, "aab") == ["fine", "warn", "fine"]
    assert levels(detector, "aaaa") == ["fine", "warn", "block", "block"]
    assert levels(detector, "ca") == ["fine", "fine"]


@requirement("loops.recovery")
def test_a_call_that_goes_on_after_a_refusal_is_still_the_same_run() -> None:
    detector = LoopDetector(LoopDetection(warn_at=None, block_at=4))

    assert levels(detector, "ababab") == ["fine", "fine", "fine", "block", "block", "block"]


@requirement("loops.progress")
def test_results_that_differ_never_trip() -> None:
    detector = LoopDetector(LoopDetection(warn_at=3, block_at=4, longest_cycle=4))

    assert {ask(detector, "a", f"result {n}").level for n in range(100)} == {"fine"}
    assert {ask(detector, "a", f"result {n % 2}").level for n in range(100)} == {"fine"}
    assert {ask(detector, "ab"[n % 2], f"result {n}").level for n in range(100)} == {"fine"}
    assert {ask(detector, "ab"[n % 2], f"result {n // 2 % 2}").level for n in range(100)} == {"fine"}


@requirement("loops.progress")
def test_the_fourth_equal_call_with_an_equal_result_is_refused_where_three_are_allowed() -> None:
    detector = LoopDetector(LoopDetection(warn_at=None, block_at=4))

    assert levels(detector, "aaaa") == ["fine", "fine", "fine", "block"]


@requirement("loops.progress")
def test_one_new_result_starts_the_count_anew() -> None:
    detector = LoopDetector(LoopDetection(warn_at=3, block_at=9))
    ask(detector, "a", "pending")
    ask(detector, "a", "pending")
    assert ask(detector, "a", "done").calls == 3

    assert [ask(detector, "a", "done").calls for _ in range(3)] == [2, 3, 4]


@requirement("loops.progress")
def test_calls_that_run_at_once_count_until_their_results_are_known() -> None:
    detector = LoopDetector(LoopDetection(warn_at=3, block_at=9))
    verdicts = [detector.check("a", "{}") for _ in range(4)]
    assert [verdict.calls for verdict in verdicts] == [1, 2, 3, 4]

    for number, verdict in reversed(list(enumerate(verdicts))):
        detector.record_result(verdict, f"result {number}")
    assert detector.check("a", "{}").calls == 2


@requirement("loops.progress")
def test_a_call_without_a_result_hides_no_change_between_its_neighbours() -> None:
    detector = LoopDetector(LoopDetection(warn_at=5, block_at=9))
    ask(detector, "a", "one")
    ask(detector, "a", None)
    ask(detector, "a", "two")

    assert detector.check("a", "x").calls == 1
    ask(detector, "a", "one")
    ask(detector, "a", None)
    ask(detector, "a", "two")
    assert ask(detector, "a").calls == 3


# ── Two that take turns, and more ────────────────────────────────────────────────────────────────────────────────────


@requirement("loops.ping-pong")
def test_two_calls_that_take_turns_are_a_loop() -> None:
    detector = LoopDetector(LoopDetection(warn_at=4, block_at=10))
    verdicts = [ask(detector, "ab"[n % 2]) for n in range(11)]

    assert [verdict.level for verdict in verdicts] == ["fine"] * 3 + ["warn"] * 6 + ["block"] * 2
    assert {verdict.pattern for verdict in verdicts[3:]} == {"ping-pong"}
    assert verdicts[-1].message.startswith(
        "loop: two calls take turns ('b', 'a'), 11 calls by now, and nothing changed"
    )


@requirement("loops.ping-pong")
def test_two_of_anything_are_no_turns_yet() -> None:
    assert levels(LoopDetector(LoopDetection(warn_at=2)), "aba") == ["fine"] * 3


@requirement("loops.ping-pong")
def test_two_calls_of_one_tool_take_turns_too() -> None:
    detector = LoopDetector(LoopDetection(warn_at=4))
    verdicts = [detector.check("read", text({"page": n % 2})) for n in range(4)]

    assert verdicts[-1].pattern == "ping-pong"
    assert "('read')" in verdicts[-1].message


@requirement("loops.ping-pong")
@pytest.mark.parametrize("calls", ["abcdefghijklmnopqrstuvwxyz", "abcabcabcabcabcabc", "abacadaeafagahai", "aabbaabb"])
def test_varied_calls_are_no_ping_pong(calls: str) -> None:
    assert set(levels(LoopDetector(LoopDetection(warn_at=4, block_at=8)), calls)) == {"fine"}


@requirement("loops.cycles")
def test_longer_cycles_are_seen_when_asked_for() -> None:
    detector = LoopDetector(LoopDetection(warn_at=6, block_at=9, longest_cycle=3))
    verdicts = [ask(detector, call) for call in "abcabcabca"]

    assert [verdict.level for verdict in verdicts] == ["fine"] * 5 + ["warn"] * 3 + ["block"] * 2
    assert verdicts[-1].pattern == "cycle"
    assert "3 calls are repeated in the same order" in verdicts[-1].message


@requirement("loops.cycles")
def test_a_cycle_longer_than_the_thresholds_is_seen_after_its_second_round() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2, block_at=3, longest_cycle=16))
    calls = "abcdefghijklmnop" * 2

    assert levels(detector, calls) == ["fine"] * 31 + ["block"]
    assert "and 10 more" in ask(detector, "a").message


@requirement("loops.cycles")
def test_the_simplest_reading_is_told() -> None:
    detector = LoopDetector(LoopDetection(warn_at=4, longest_cycle=4))

    assert [ask(detector, "a").pattern for _ in range(8)][1:] == ["repeat"] * 7
    assert [ask(detector, call).pattern for call in "bcbcbcbc"][3:] == ["ping-pong"] * 5


# ── Who is touched ───────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("loops.only-the-run")
def test_equal_calls_among_many_others_are_no_loop() -> None:
    detector = LoopDetector(LoopDetection())

    for n in range(100):
        assert detector.check("list_files" if n % 5 == 0 else "read", text({"n": n if n % 5 else 0})).level == "fine"


@requirement("loops.only-the-run")
def test_a_refused_call_blocks_no_other() -> None:
    detector = LoopDetector(LoopDetection(warn_at=None, block_at=3))

    assert levels(detector, "aaaa")[-1] == "block"
    assert levels(detector, "b") == ["fine"]


@requirement("loops.owners")
def test_each_owner_is_judged_by_its_own_calls() -> None:
    detector = LoopDetector(LoopDetection(warn_at=3))
    owners = ["run-1", "run-2", None]

    rounds = [[ask(detector, "a", owner=owner).level for owner in owners] for _ in range(3)]
    assert rounds == [["fine"] * 3, ["fine"] * 3, ["warn"] * 3]


@requirement("loops.owners")
def test_an_owner_that_is_forgotten_starts_anew() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2))
    ask(detector, "a", owner="run-1")
    detector.forget("run-1")
    detector.forget("nobody")

    assert ask(detector, "a", owner="run-1").level == "fine"
    assert detector.statistics().owners == 1


@requirement("loops.bounded")
def test_the_owner_that_called_nothing_for_longest_is_forgotten_first() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2, owners=2))
    for owner in ("one", "two", "one", "three"):
        ask(detector, "a", owner=owner)

    assert detector.statistics().owners == 2
    assert ask(detector, "a", owner="one").level == "warn"
    assert ask(detector, "a", owner="two").level == "fine"


@requirement("loops.bounded")
def test_what_is_remembered_of_an_owner_is_bounded() -> None:
    detector = LoopDetector(LoopDetection(warn_at=3, block_at=5, longest_cycle=2))
    late = [detector.check("a", f"{n}") for n in range(1_000)]
    [history] = detector._histories.values()  # pyright: ignore[reportPrivateUsage]  # it is what is tested

    assert len(history) == 5
    detector.record_result(late[0], "long forgotten, and no harm in it")
    assert ask(detector, "b").level == "fine"


@requirement("loops.statistics")
def test_the_detector_counts_what_it_did() -> None:
    detector = LoopDetector(LoopDetection(warn_at=2, block_at=4))
    levels(detector, "aaaaab")
    statistics = detector.statistics()

    assert (statistics.calls, statistics.warned, statistics.blocked, statistics.owners) == (6, 2, 2, 1)
    assert repr(detector) == "<LoopDetector of 1 owners>"


# ── Polling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@tool
async def job_status(job: str) -> str:
    return "running"


@requirement("loops.polling")
def test_a_tool_that_polls_says_so_itself_or_is_named() -> None:
    polls = tool(job_status.function, metadata={"polling": True})
    versioned = tool(job_status.function, version="2")
    named = LoopDetection(polling=["job_status"])
    by_id = LoopDetection(polling=["default:job_status@2"])

    assert LoopDetection().watches(job_status.definition)
    assert not LoopDetection().watches(polls.definition)
    assert not named.watches(job_status.definition)
    assert by_id.watches(job_status.definition)
    assert not by_id.watches(versioned.definition)
    assert LoopDetection().watches(tool(job_status.function, metadata={"polling": False}).definition)


# ── Settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("loops.settings")
@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({"warn_at": 1}, "warn_at", "from 2 on"),
        ({"block_at": True}, "block_at", "from 2 on"),
        ({"block_at": 3.0}, "block_at", "from 2 on"),
        ({"warn_at": None, "block_at": None}, "warn_at", "nothing would ever be said"),
        ({"warn_at": 20}, "warn_at", "is not below block_at=20"),
        ({"longest_cycle": 0}, "longest_cycle", "from 1 on"),
        ({"longest_cycle": 17}, "longest_cycle", "16 at most"),
        ({"owners": 0}, "owners", "from 1 on"),
        ({"polling": "job_status"}, "polling", "list of names"),
        ({"polling": [""]}, "polling[0]", "is blank"),
    ],
)
def test_wrong_settings_are_refused_with_their_place(settings: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        LoopDetection(**settings)  # type: ignore[arg-type]  # the mistake under test
    assert (caught.value.subject, caught.value.field) == ("LoopDetection", field)
    assert words in caught.value.reason


# ── Against the plain reading ────────────────────────────────────────────────────────────────────────────────────────

CALLS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, "x", "x", "y"])), max_size=30)


def plainly(calls: Sequence[tuple[str, str | None]], current: str, length: int) -> int:
    """The longest tail, with *current*, in which equal places of the cycle hold one call and at most one result."""
    best = 1
    for size in range(1, len(calls) + 2):
        tail = [*calls[len(calls) - size + 1 :], (current, None)]
        places = [tail[place::length] for place in range(length)]
        if any(len({call for call, _ in place}) > 1 for place in places):
            break
        if any(len({result for _, result in place} - {None}) > 1 for place in places):
            break
        distinct = {tail[-1 - place][0] for place in range(min(length, size))}
        if size >= 2 * length and len(distinct) == length:
            best = size
    return best


@requirement("loops.repeat", "loops.ping-pong", "loops.progress")
@given(CALLS, st.sampled_from("ab"))
def test_the_count_is_the_longest_tail_that_repeats_itself(calls: list[tuple[str, str | None]], current: str) -> None:
    detector = LoopDetector(LoopDetection(warn_at=49, block_at=50, longest_cycle=2))
    for call, result in calls:
        ask(detector, call, result)

    assert ask(detector, current).calls == max(plainly(calls, current, 1), plainly(calls, current, 2))
