from __future__ import annotations

import json
from enum import StrEnum
from typing import Final, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, JsonError, RequestContext
from tests.requirements import requirement

NAMES: Final = (
    "principal",
    "tenant",
    "owner",
    "authorization_revision",
    "audience",
    "agent",
    "run",
    "session",
    "request",
)
FULL: Final = RequestContext(
    principal="ada",
    tenant="acme",
    owner="run-7",
    delegation=("root", "planner"),
    capabilities=frozenset({"read", "write"}),
    authorization_revision="7",
    audience="tenant",
    agent="clerk",
    run="run-7",
    session="s-1",
    request="r-1",
)

WORDS: Final = st.sampled_from(["a", "b", "c", "public", "tenant", "operator"])
CONTEXTS: Final = st.builds(
    RequestContext,
    delegation=st.none() | st.lists(WORDS, max_size=3).map(tuple),
    capabilities=st.none() | st.frozensets(WORDS),
    **dict.fromkeys(NAMES, st.none() | WORDS),
)


class Who(StrEnum):
    ADA = "ada"


# ── What it holds ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("context.names")
@pytest.mark.parametrize("field", NAMES)
@pytest.mark.parametrize("value", ["", " ", 7, b"ada", ["ada"], "\ud800"])
def test_what_is_no_name_is_refused_with_its_field(field: str, value: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        msgspec.structs.replace(RequestContext(), **{field: value})

    assert (caught.value.subject, caught.value.field) == ("RequestContext", field)


@requirement("context.names")
@pytest.mark.parametrize("field", ["delegation", "capabilities"])
@pytest.mark.parametrize(("value", "place"), [("ada", ""), (7, ""), (["ada", ""], "[1]"), ([None], "[0]")])
def test_what_is_no_list_of_names_is_refused_with_its_place(field: str, value: object, place: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        msgspec.structs.replace(RequestContext(), **{field: value})

    assert caught.value.field == field + place


@requirement("context.names")
def test_a_name_of_any_script_is_one() -> None:
    assert RequestContext(principal="Zoë", tenant="東京").principal == "Zoë"


@requirement("context.frozen")
def test_nothing_can_be_set() -> None:
    with pytest.raises(AttributeError):
        FULL.tenant = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  # the point of it


@requirement("context.frozen")
def test_it_keeps_what_it_was_made_of() -> None:
    chain, capabilities = ["root"], {"read"}
    context = RequestContext(
        principal=Who.ADA,
        delegation=cast("tuple[str, ...]", chain),
        capabilities=cast("frozenset[str]", capabilities),
    )
    chain.append("mallory")
    capabilities.add("write")

    assert context == RequestContext(principal="ada", delegation=("root",), capabilities=frozenset({"read"}))
    assert type(context.principal) is str
    assert {context: 1}[RequestContext("ada", None, None, ("root",), frozenset({"read"}))] == 1


@requirement("context.no-credentials")
@pytest.mark.parametrize("member", ["credentials", "token", "password", "trace"])
def test_json_that_brings_credentials_is_refused(member: str) -> None:
    with pytest.raises(JsonError, match=f"unknown field `{member}`") as caught:
        RequestContext.from_json({"principal": "ada", member: "hunter2"})

    assert "hunter2" not in str(caught.value)


@requirement("context.no-credentials")
def test_there_is_no_place_for_more_than_names() -> None:
    assert set(RequestContext.__struct_fields__) == {*NAMES, "delegation", "capabilities"}
    assert not hasattr(FULL, "__dict__")


# ── Narrowing ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("context.narrowed")
def test_only_the_capabilities_that_both_have_are_left() -> None:
    narrow = FULL.narrow(capabilities=["read", "delete"])

    assert narrow == msgspec.structs.replace(FULL, capabilities=frozenset({"read"}))
    assert FULL.narrow(capabilities=[]).capabilities == frozenset()
    assert FULL.narrow() == FULL


@requirement("context.narrowed")
def test_where_nothing_was_said_of_capabilities_none_can_be_had() -> None:
    assert RequestContext().narrow(capabilities=["read"]).capabilities == frozenset()
    assert RequestContext().narrow().capabilities is None


@requirement("context.narrowed")
@pytest.mark.parametrize(
    ("audience", "narrower"),
    [
        ("operator", "operator"),
        ("operator", "tenant"),
        ("operator", "public"),
        ("tenant", "tenant"),
        ("tenant", "public"),
        ("public", "public"),
        ("partners", "partners"),
        ("partners", "public"),
        (None, "public"),
    ],
)
def test_an_audience_can_be_made_smaller(audience: str | None, narrower: str) -> None:
    assert RequestContext(audience=audience).narrow(audience=narrower) == RequestContext(audience=narrower)


@requirement("context.narrowed")
@pytest.mark.parametrize(
    ("audience", "wider"),
    [
        ("public", "tenant"),
        ("public", "operator"),
        ("tenant", "operator"),
        ("tenant", "partners"),
        ("partners", "tenant"),
        (None, "tenant"),
        (None, "partners"),
    ],
)
def test_an_audience_never_grows(audience: str | None, wider: str) -> None:
    with pytest.raises(DefinitionError, match=f"RequestContext: audience: '{wider}' is not within"):
        RequestContext(audience=audience).narrow(audience=wider)


@requirement("context.narrowed")
def test_a_single_word_is_no_list_of_capabilities() -> None:
    with pytest.raises(DefinitionError, match="capabilities: must be a list of names, not 'read'"):
        FULL.narrow(capabilities="read")


@requirement("context.nested")
def test_what_a_nested_call_leaves_out_stays() -> None:
    assert FULL.narrow_to(RequestContext()) == FULL
    assert FULL.narrow_to(FULL) == FULL


@requirement("context.nested")
@pytest.mark.parametrize("field", ["principal", "tenant", "owner", "authorization_revision", "agent", "run", "session"])
@pytest.mark.parametrize("outer", [FULL, RequestContext()], ids=["another", "one where none was"])
def test_a_nested_call_cannot_act_for_somebody_else(field: str, outer: RequestContext) -> None:
    asked = msgspec.structs.replace(RequestContext(), **{field: "other"})

    with pytest.raises(DefinitionError, match="is not within the context that this one is made of") as caught:
        outer.narrow_to(asked)

    assert caught.value.field == field


@requirement("context.nested")
def test_the_chain_of_a_nested_call_has_that_of_the_outer_one_as_its_beginning() -> None:
    assert FULL.narrow_to(FULL.delegate("writer")).delegation == ("root", "planner", "writer")
    for chain in ((), ("root",), ("planner", "root"), ("writer", "root", "planner")):
        with pytest.raises(DefinitionError, match="RequestContext: delegation: "):
            FULL.narrow_to(RequestContext(delegation=chain))


@requirement("context.nested")
def test_a_nested_call_may_be_a_request_of_its_own() -> None:
    assert FULL.narrow_to(RequestContext(request="r-2")) == msgspec.structs.replace(FULL, request="r-2")


@requirement("context.narrowed", "context.nested")
@given(CONTEXTS, CONTEXTS)
def test_narrowing_adds_nothing_and_doing_it_twice_changes_nothing(
    context: RequestContext, asked: RequestContext
) -> None:
    try:
        narrow = context.narrow_to(asked)
    except DefinitionError:
        return

    assert (narrow.capabilities or frozenset()) <= (context.capabilities or frozenset())
    assert (narrow.delegation or ())[: len(context.delegation or ())] == (context.delegation or ())
    for field in set(NAMES) - {"audience", "request"}:
        assert getattr(narrow, field) == getattr(context, field)
    assert narrow.narrow_to(asked) == narrow
    assert context.narrow_to(narrow) == narrow


@requirement("context.delegate")
def test_who_is_delegated_to_stands_last() -> None:
    assert FULL.delegate("writer") == msgspec.structs.replace(FULL, delegation=("root", "planner", "writer"))
    assert RequestContext(principal="ada").delegate("agent").delegate("agent").delegation == ("agent", "agent")
    assert RequestContext(principal="ada").delegate("agent").principal == "ada"


@requirement("context.delegate")
def test_nobody_is_no_delegate() -> None:
    with pytest.raises(DefinitionError, match=r"delegation\[0\]: must be a name"):
        RequestContext().delegate("")


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("context.json")
@given(CONTEXTS)
def test_it_comes_back_equal_from_json(context: RequestContext) -> None:
    assert RequestContext.from_json(json.loads(json.dumps(context.to_json()))) == context


@requirement("context.json")
def test_json_says_only_what_was_said_and_always_alike() -> None:
    assert RequestContext().to_json() == {}
    assert RequestContext(delegation=()).to_json() == {"delegation": []}
    assert RequestContext.from_json({"delegation": []}) != RequestContext.from_json({})
    capabilities = [f"c{n}" for n in range(9)]
    assert RequestContext(capabilities=frozenset(capabilities)).to_json() == {"capabilities": capabilities}


@requirement("context.json")
@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"tenant": 7}, "unsupported-type at request_context: Expected `str | null`, got `int`"),
        ({"tenant": " "}, "unsupported-type at request_context.tenant: must be a name"),
        ({"delegation": ["ada", ""]}, "must be a name"),
        ([], "Expected `object`, got `array`"),
        ({"tenant": object()}, "unsupported-type at"),
    ],
)
def test_json_that_is_something_else_is_refused_with_its_place(document: dict[str, object], message: str) -> None:
    with pytest.raises(JsonError, match=message.replace("|", r"\|")):
        RequestContext.from_json(document)
