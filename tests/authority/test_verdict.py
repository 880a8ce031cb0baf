from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError
from armory_trio.authority.policy import Allow, Ask, Deny, Edit, Verdict, combine, read_decision
from tests.authority.policies import VERDICTS
from tests.requirements import requirement

# ── The lattice ──────────────────────────────────────────────────────────────────────────────────────────────────────


def point(verdict: Verdict) -> tuple[type, frozenset[str] | None]:
    """What a verdict does, without its words."""
    return type(verdict), None if isinstance(verdict, Deny) else verdict.capabilities


def strictness(verdict: Verdict) -> int:
    """0 for the strictest."""
    return 0 if isinstance(verdict, Deny) else 1 if isinstance(verdict, Ask) else 2


@requirement("verdict.lattice")
@given(VERDICTS, VERDICTS, VERDICTS)
def test_it_makes_no_difference_which_verdicts_are_joined_first(one: Verdict, two: Verdict, three: Verdict) -> None:
    assert combine(combine(one, two), three) == combine(one, combine(two, three)) == combine(one, two, three)


@requirement("verdict.lattice")
@given(VERDICTS, VERDICTS)
def test_the_order_of_verdicts_changes_nothing_but_whose_words_are_used(one: Verdict, two: Verdict) -> None:
    assert point(combine(one, two)) == point(combine(two, one))


@requirement("verdict.lattice")
@given(VERDICTS)
def test_a_verdict_joined_with_itself_or_with_nothing_is_itself(verdict: Verdict) -> None:
    assert combine(verdict, verdict) == verdict == combine(verdict) == combine(verdict, Allow())


@requirement("verdict.lattice")
@given(st.lists(VERDICTS), st.lists(VERDICTS))
def test_a_denial_absorbs_everything(before: list[Verdict], after: list[Verdict]) -> None:
    assert isinstance(combine(*before, Deny("stop"), *after), Deny)


@requirement("verdict.lattice")
@given(st.lists(VERDICTS))
def test_the_strictest_verdict_stands_and_the_first_of_several_gives_its_words(verdicts: list[Verdict]) -> None:
    joined = combine(*verdicts)

    by_strictness = sorted(verdicts, key=strictness)
    strictest = by_strictness[0] if by_strictness else Allow()
    assert type(joined) is type(strictest)
    if isinstance(joined, Deny | Ask) and isinstance(strictest, Deny | Ask):
        assert joined.reason == strictest.reason


@requirement("verdict.lattice")
def test_nothing_said_is_an_allowance() -> None:
    assert combine() == Allow()


@requirement("verdict.capabilities")
@given(st.lists(VERDICTS, min_size=1))
def test_only_capabilities_that_everybody_leaves_are_left(verdicts: list[Verdict]) -> None:
    joined = combine(*verdicts)

    for verdict in verdicts:
        if not isinstance(joined, Deny) and not isinstance(verdict, Deny) and verdict.capabilities is not None:
            assert joined.capabilities is not None and joined.capabilities <= verdict.capabilities


@requirement("verdict.unclear")
@pytest.mark.parametrize("stranger", [True, None, "allow", Edit({}), object()])
def test_what_is_no_verdict_denies_wherever_it_gets_in(stranger: Verdict) -> None:
    assert isinstance(combine(Allow(), stranger), Deny)


# ── Verdicts as values ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("verdict.defaults")
def test_verdicts_without_words_get_some() -> None:
    assert Deny().reason == Deny(" ").reason == "Policy denied"
    assert Ask().reason == "Tool execution requires approval"
    assert Ask(kind="input").reason == "Tool execution requires input"
    assert Ask("It is late").action() == {"type": "approval", "message": "It is late"}
    assert Ask("It is late", message="Go on?").message == "Go on?"


@requirement("verdict.defaults")
def test_what_a_verdict_was_made_of_can_be_changed_without_changing_it() -> None:
    schema: dict[str, object] = {"properties": {"why": {"type": "string"}}}
    arguments: dict[str, object] = {"paths": ["a"]}
    asked, edit = Ask(schema=schema), Edit(arguments)
    schema.clear()
    arguments["paths"] = ["b"]

    assert asked.action()["schema"] == {"properties": {"why": {"type": "string"}}}
    assert edit.arguments == {"paths": ("a",)}


@requirement("verdict.defaults")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Ask(kind="approve"), "Ask: kind: 'approve' is not one of approval, input (did you mean 'approval'?)"),  # type: ignore[arg-type]
        (lambda: Ask(5), "Ask: reason: must be text, not 5"),  # type: ignore[arg-type]
        (lambda: Ask(schema=[]), "Ask: schema: must be a JSON object, not []"),  # type: ignore[arg-type]
        (lambda: Deny(None), "Deny: reason: must be text, not None"),  # type: ignore[arg-type]
        (lambda: Allow("read"), "Allow: capabilities: must be a set of names, not 'read'"),  # type: ignore[arg-type]
        (lambda: Allow(frozenset([5])), "Allow: capabilities: must be text, not 5"),  # type: ignore[list-item]
        (lambda: Edit({"at": {5}}), "Edit: arguments: non-plain-object at arguments.at: builtins.set is no JSON type"),
        (lambda: Edit(["a"]), "Edit: arguments: must be a JSON object, not ['a']"),  # type: ignore[arg-type]
    ],
)
def test_a_verdict_made_wrongly_says_so(make: object, told: str) -> None:
    assert callable(make)
    with pytest.raises(DefinitionError) as refused:
        make()

    assert told in str(refused.value)


# ── Reading what a hook answered ─────────────────────────────────────────────────────────────────────────────────────


@requirement("verdict.reading")
@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (None, Allow()),
        (True, Allow()),
        (False, Deny()),
        (Ask("why"), Ask("why")),
        (Edit({"a": 1}), Edit({"a": 1})),
        ({"allow": True}, Allow()),
        ({"allow": False}, Deny()),
        ({"allow": False, "reason": "late"}, Deny("late")),
        ({"status": "allow"}, Allow()),
        ({"status": "deny", "reason": "late"}, Deny("late")),
        ({"status": "needs_approval"}, Ask()),
        ({"allow": False, "status": "needs_approval"}, Ask()),
        ({"status": "needs_input", "action": {"message": "Which?", "schema": {}}}, Ask("", "input", "Which?", {})),
        ({"allow": True, "status": None, "reason": None}, Allow()),
        ({"allow": True, "capabilities": ["read", "read"]}, Allow(frozenset({"read"}))),
        ({"allow": True, "capabilities": ["read", "*"]}, Allow()),
        ({"status": "needs_approval", "capabilities": []}, Ask(capabilities=frozenset())),
    ],
)
def test_an_answer_that_is_clear_is_understood(answer: object, decision: object) -> None:
    assert read_decision(answer) == decision


class Unreadable(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("secret")

    def __iter__(self) -> Iterator[str]:
        return iter(["allow"])

    def __len__(self) -> int:
        return 1


class Shapeless:
    def __getattribute__(self, name: str) -> object:
        raise RuntimeError("secret")


@requirement("verdict.unclear")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param("allow", "it is of type str", id="a word"),
        pytest.param(1, "it is of type int", id="a number that is like True"),
        pytest.param(["allow"], "it is of type list", id="a list"),
        pytest.param(Allow, "it is of type StructMeta", id="a class in place of its object"),
        pytest.param({}, "status: is missing, and so is allow", id="nothing"),
        pytest.param({"reason": "fine"}, "status: is missing, and so is allow", id="only a reason"),
        pytest.param({"allow": 1}, "allow: must be True or False, not 1", id="a number for a bool"),
        pytest.param({"allow": "yes"}, "allow: must be True or False, not 'yes'", id="a word for a bool"),
        pytest.param({"allow": True, "staus": "deny"}, "staus: is unknown (did you mean 'status'?)", id="misspelt"),
        pytest.param({"allow": True, 5: "deny"}, "key: is unknown; legal are allow, status", id="a key that is none"),
        pytest.param({"status": "alow"}, "'alow' is not one of allow, deny", id="unknown status"),
        pytest.param({"allow": True, "status": "soon"}, "'soon' is not one of", id="unknown status, allowed"),
        pytest.param({"allow": True, "status": ["deny"]}, "status: ['deny'] is not one of", id="a status in a list"),
        pytest.param({"status": "needs_approval", "action": "ask"}, "action: must be", id="an action that is none"),
        pytest.param({"status": "needs_input", "action": {"type": "approval"}}, "action.type: 'approval'", id="types"),
        pytest.param(
            {"status": "needs_input", "action": {"shema": {}}}, "action.shema: is unknown", id="in the action"
        ),
        pytest.param({"status": "needs_input", "action": {"schema": 5}}, "schema: must be a JSON object", id="schema"),
        pytest.param({"status": "allow", "action": {"message": "?"}}, "action: contradicts", id="an action for nobody"),
        pytest.param({"allow": True, "reason": 5}, "reason: must be text", id="a reason that is none"),
        pytest.param({"allow": True, "capabilities": "read"}, "capabilities: must be a list", id="capabilities"),
        pytest.param({"allow": True, "capabilities": [5]}, "capabilities: must be text", id="a capability"),
        pytest.param(Unreadable(), "reading it raised RuntimeError", id="a mapping that raises"),
        pytest.param(Shapeless(), "reading it raised RuntimeError", id="an object that raises"),
    ],
)
def test_an_answer_that_is_not_understood_denies_and_says_why(answer: object, told: str) -> None:
    decision = read_decision(answer)

    assert isinstance(decision, Deny)
    assert told in decision.reason and "secret" not in decision.reason


@requirement("verdict.contradiction")
@pytest.mark.parametrize("status", ["allow", "deny", "needs_approval", "needs_input"])
@pytest.mark.parametrize("allow", [True, False])
def test_allow_and_status_must_agree(status: str, *, allow: bool) -> None:
    decision = read_decision({"allow": allow, "status": status})

    if allow is (status == "allow"):
        assert decision == read_decision({"status": status})
    else:
        assert isinstance(decision, Deny)
        assert f"{allow} contradicts the status {status!r}" in decision.reason


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
_ANSWERS = st.dictionaries(
    st.sampled_from(["allow", "status", "reason", "action", "capabilities", "note"]),
    st.sampled_from([True, False, None, "allow", "deny", "needs_approval"]) | _JSON,
)


@requirement("verdict.unclear")
@given(_ANSWERS | _JSON)
def test_no_answer_of_any_shape_lets_a_call_pass_that_does_not_say_so(answer: object) -> None:
    decision = read_decision(answer)

    if isinstance(decision, Allow) and answer is not None and answer is not True:
        assert isinstance(answer, dict)
        said = cast("dict[str, object]", answer)
        assert said.get("allow", True) in (True, None) and said.get("status", "allow") in ("allow", None)
        assert said.get("allow") is True or said.get("status") == "allow"
        assert said.get("note") is None
