"""What a grant is, how it is signed, and which calls it counts for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, get_args, get_type_hints

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import GrantError, JsonError, RequestContext
from armory_trio.authority.grants import (
    GRANT_VERSION,
    Grant,
    GrantDelegation,
    GrantRequest,
    GrantScope,
    fits,
    sign_grant,
    verify_grant,
    why_not,
)
from armory_trio.authority.signing import KeyResolver, Keyring, Purpose, SigningKey, sign
from armory_trio.definitions import canonical_text
from tests.requirements import requirement

NOW: Final = 1_000.0
DOMAIN: Final = "tenant:acme"
NEW: Final = SigningKey("2026-09", b"new secret")
OLD: Final = SigningKey("2026-08", b"old secret")
KEYS: Final = Keyring({DOMAIN: [NEW, OLD], "tenant:beta": [SigningKey("2026-09", b"beta")]})

GRANT: Final = Grant(
    id="grant:1",
    principal="ann",
    tenant="acme",
    owner="team",
    agent="coder",
    tool_name="read_file",
    tool_definition_revision="d1",
    scope="run",
    run="run-1",
    session="session-1",
    resource_pattern="reports/*",
    argument_constraints={"mode": "text", "limits": {"lines": 10, "bytes": None}},
    issued_at=900.0,
    expires_at=2_000.0,
    max_uses=5,
    policy_revision="policy:1",
)
CONTEXT: Final = RequestContext(
    principal="ann", tenant="acme", owner="team", agent="coder", run="run-1", session="session-1"
)
REQUEST: Final = GrantRequest(
    context=CONTEXT,
    tool_name="read_file",
    tool_definition_revision="d1",
    policy_revision="policy:1",
    arguments={"resource": "reports/q1", "mode": "text", "limits": {"bytes": None, "lines": 10.0}, "more": 1},
    nested=False,
)


def changed(**changes: object) -> Grant:
    return msgspec.structs.replace(GRANT, **changes)


def asked(context: Mapping[str, object] | None = None, /, **changes: object) -> GrantRequest:
    mine = msgspec.structs.replace(CONTEXT, **(context or {}))
    return msgspec.structs.replace(REQUEST, context=mine, **changes)


def with_arguments(**arguments: object) -> GrantRequest:
    return asked(arguments={**REQUEST.arguments, **arguments})


def simple(**changes: object) -> Grant:
    """A grant that demands nothing of the arguments."""
    return changed(resource_pattern=None, argument_constraints=None, **changes)


# ── What a grant must look like ──────────────────────────────────────────────────────────────────────────────────────


@requirement("grants.legal")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[
            (field, value)
            for field in ("id", "principal", "tenant", "agent", "tool_name")
            for value in ("", " ", None, 5, "half a character \ud800")
        ],
        *[
            (field, value)
            for field in ("tool_definition_revision", "policy_revision", "owner", "run", "session")
            for value in ("", 5)
        ],
        *[
            (field, value)
            for field in ("issued_at", "expires_at")
            for value in (float("nan"), float("inf"), -1.0, 2.0**53, 10**400, True, "1000", None)
        ],
        ("expires_at", 900.0),
        ("expires_at", 899.0),
        *[(field, value) for field in ("max_uses", "version") for value in (0, -1, 1.0, True, "1", 2**53, None)],
        ("resource_pattern", ""),
        ("resource_pattern", 5),
        ("argument_constraints", ["mode"]),
        ("argument_constraints", "mode"),
        ("argument_constraints", {"mode": object()}),
        ("argument_constraints", {"mode": float("nan")}),
        ("argument_constraints", {"id": 2**53}),
        ("argument_constraints", {5: "five"}),
        ("delegation", "sometimes"),
        ("delegation", None),
        ("signature", ""),
        ("signature", b"v1"),
    ],
)
def test_an_illegal_grant_is_never_made(field: str, value: object) -> None:
    with pytest.raises(GrantError, match=field) as refused:
        changed(**{field: value})

    assert refused.value.code == "invalid-binding"
    if _is_json(value):
        with pytest.raises(GrantError) as refused:
            Grant.from_json({**GRANT.to_json(), field: value})
        assert refused.value.code == "invalid-binding"


def _is_json(value: object) -> bool:
    try:
        canonical_text(value, mode="exact")
    except JsonError:
        return False
    return True


@requirement("grants.scopes", "grants.legal")
@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "run", "run": None},
        {"scope": "session", "session": None},
        {"scope": "everywhere"},
        {"scope": "Principal"},
        {"scope": None},
        {"scope": ["run"]},
    ],
)
def test_a_scope_that_does_not_exist_or_does_not_say_what_it_reaches_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(GrantError) as made:
        changed(**changes)
    with pytest.raises(GrantError) as read:
        Grant.from_json({**GRANT.to_json(), **changes})

    assert (made.value.code, read.value.code) == ("invalid-scope", "invalid-scope")


@requirement("grants.scopes")
def test_a_scope_demands_no_more_than_it_reaches() -> None:
    alone: dict[str, object] = {"run": None, "session": None}

    assert changed(**{**alone, "scope": "principal"}).run is None
    assert changed(**{**alone, "scope": "run", "run": "r"}).session is None
    assert changed(**{**alone, "scope": "session", "session": "s"}).run is None


@requirement("grants.frozen")
def test_a_grant_shares_nothing_with_what_it_was_made_of() -> None:
    limits: dict[str, object] = {"lines": [10]}
    made = changed(argument_constraints={"limits": limits})
    before = made.to_json()
    limits["lines"] = 11
    made.to_json()["principal"] = "eve"
    made.document()["principal"] = "eve"

    assert made.to_json() == before
    with pytest.raises(TypeError):
        made.argument_constraints["limits"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        made.principal = "eve"  # type: ignore[misc]


@requirement("grants.frozen")
@pytest.mark.parametrize("grant", [GRANT, simple(scope="principal", run=None, session=None, owner=None)])
async def test_a_grant_survives_json(grant: Grant) -> None:
    signed = await sign_grant(KEYS, grant, domain=DOMAIN)
    read = Grant.from_json(json.loads(json.dumps(signed.to_json())))

    assert read == signed
    assert read.to_json() == signed.to_json()
    await verify_grant(KEYS, read, domain=DOMAIN)


@requirement("grants.frozen", "grants.legal")
@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "grant",
        {},
        {**GRANT.to_json(), "uses_remaining": 5},
        {name: value for name, value in GRANT.to_json().items() if name != "tenant"},
        {name: value for name, value in GRANT.to_json().items() if name != "scope"},
        float("nan"),
    ],
)
def test_what_is_no_grant_is_not_read(document: object) -> None:
    with pytest.raises(GrantError, match="invalid-binding: is no grant: "):
        Grant.from_json(document)


@requirement("grants.legal")
def test_whole_seconds_are_seconds() -> None:
    assert changed(issued_at=900, expires_at=2_000) == GRANT
    assert changed(issued_at=900, expires_at=2_000).to_json()["issued_at"] == 900.0


# ── Signatures ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def signed_with(keys: KeyResolver = KEYS, grant: Grant = GRANT) -> Grant:
    return await sign_grant(keys, grant, domain=DOMAIN)


async def refusal(grant: Grant, *, keys: KeyResolver = KEYS, domain: str = DOMAIN) -> str | None:
    """Code and first word with which the signature of *grant* is refused, or None when it counts."""
    try:
        await verify_grant(keys, grant, domain=domain)
    except GrantError as error:
        return f"{error.code}: {error.detail.partition(':')[0]}"
    return None


def another(field: str) -> object:
    """A legal value of *field* that is not the one of `GRANT`."""
    value, hint = getattr(GRANT, field), get_type_hints(Grant)[field]
    words = [word for word in get_args(hint) if isinstance(word, str)]
    if words:
        return next(word for word in words if word != value)
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, int | float):
        return value + 1
    assert value == GRANT.argument_constraints
    return {"mode": "binary"}


SIGNED_FIELDS: Final = [field for field in Grant.__struct_fields__ if field != "signature"]


@requirement("grants.signed")
@pytest.mark.parametrize("field", SIGNED_FIELDS)
async def test_the_signature_covers_every_field(field: str) -> None:
    signed = await signed_with()
    assert await refusal(signed) is None

    forged = msgspec.structs.replace(signed, **{field: another(field)})
    assert forged != signed
    assert await refusal(forged) == "invalid-signature: mismatch"
    assert await refusal(Grant.from_json({**signed.to_json(), field: another(field)})) == "invalid-signature: mismatch"


@requirement("grants.signed")
@pytest.mark.parametrize("field", ["owner", "session", "resource_pattern", "argument_constraints"])
async def test_what_is_left_out_is_covered_too(field: str) -> None:
    without = msgspec.structs.replace(await signed_with(), **{field: None})

    assert await refusal(without) == "invalid-signature: mismatch"


@requirement("grants.signed")
@pytest.mark.parametrize("limits", [{"lines": True, "bytes": None}, {"lines": 10}, {"lines": "10", "bytes": None}])
async def test_constraints_are_covered_to_their_depth(limits: object) -> None:
    forged = msgspec.structs.replace(await signed_with(), argument_constraints={"mode": "text", "limits": limits})

    assert await refusal(forged) == "invalid-signature: mismatch"


@requirement("grants.signed")
async def test_what_is_signed_is_everything_but_the_signature() -> None:
    signed = await signed_with()

    assert sorted(signed.document()) == sorted(SIGNED_FIELDS)
    assert signed.document() == GRANT.document()
    assert signed.signature == "v1:mYO7h699u6D2DE02ETNR3b9jXGC8XB0NqOCMBH4wUJA:2026-09"
    assert await sign_grant(KEYS, signed, domain=DOMAIN) == signed


@requirement("grants.signed")
async def test_a_signature_counts_for_one_key_domain_and_purpose() -> None:
    before, after = Keyring({DOMAIN: [OLD]}), Keyring({DOMAIN: [NEW]})
    old = await signed_with(before)

    assert [await refusal(old, keys=keys) for keys in (before, KEYS)] == [None, None]
    assert await refusal(old, keys=after) == "invalid-signature: unknown-key"
    imposter = await signed_with(Keyring({DOMAIN: [SigningKey("2026-09", b"guessed")]}))
    assert await refusal(imposter) == "invalid-signature: mismatch"
    assert await refusal(await signed_with(), domain="tenant:beta") == "invalid-signature: mismatch"
    assert await refusal(await signed_with(), domain="tenant:nobody") == "invalid-signature: unknown-key"


@requirement("grants.signed")
@pytest.mark.parametrize("purpose", ["approval", "receipt"])
async def test_a_signature_for_something_else_is_none_of_a_grant(purpose: Purpose) -> None:
    foreign = await sign(KEYS, purpose, GRANT.document(), domain=DOMAIN)

    assert await refusal(changed(signature=foreign.text)) == "invalid-signature: mismatch"


@requirement("grants.signed")
@pytest.mark.parametrize("signature", ["forged", "v1:short:2026-09", "v2:" + "A" * 43 + ":2026-09", "\ud800"])
async def test_what_is_no_signature_is_refused(signature: str) -> None:
    assert (await refusal(changed(signature=signature)) or "").startswith("invalid-signature: ")
    assert await refusal(GRANT) == "invalid-signature: is not signed"


class Vault:
    """Keys that have to be fetched."""

    async def signing_key(self, domain: str, /) -> SigningKey | None:
        return await self.key(domain, "2026-09")

    async def key(self, domain: str, key_id: str, /) -> SigningKey | None:
        await trio.lowlevel.checkpoint()
        if domain == "tenant:down":
            raise ConnectionError("the vault is down")
        return KEYS.key(domain, key_id)


@requirement("grants.signed")
async def test_keys_may_be_fetched_and_what_goes_wrong_there_is_not_hidden() -> None:
    signed = await sign_grant(Vault(), GRANT, domain=DOMAIN)

    assert await refusal(signed, keys=Vault()) is None
    with pytest.raises(GrantError, match="invalid-signature: could not be signed: no-signing-key"):
        await sign_grant(Vault(), GRANT, domain="tenant:nobody")
    with pytest.raises(ConnectionError):
        await sign_grant(Vault(), GRANT, domain="tenant:down")
    with pytest.raises(ConnectionError):
        await verify_grant(Vault(), signed, domain="tenant:down")


# ── Which calls it counts for ────────────────────────────────────────────────────────────────────────────────────────


@requirement("grants.people", "grants.definition", "grants.scopes", "grants.resource", "grants.constraints")
def test_a_grant_counts_for_what_it_says() -> None:
    assert why_not(GRANT, REQUEST, NOW) is None


@requirement("grants.people")
@pytest.mark.parametrize(
    ("grant", "context", "reason"),
    [
        (GRANT, {"principal": "eve"}, "it is for another principal"),
        (GRANT, {"principal": None}, "the call has no principal"),
        (GRANT, {"tenant": "other"}, "it is for another tenant"),
        (GRANT, {"tenant": None}, "the call has no tenant"),
        (GRANT, {"owner": "others"}, "it is for another owner"),
        (GRANT, {"owner": None}, "it is for work that belongs to somebody"),
        (changed(owner=None), {}, "it is for another owner"),
        (changed(owner=None), {"owner": None}, None),
        (GRANT, {"agent": "reviewer"}, "it is for another agent"),
        (GRANT, {"agent": None}, "the call has no agent"),
        (GRANT, {"agent": "*"}, "it is for another agent"),
        (changed(agent="*"), {"agent": "reviewer"}, None),
        (changed(agent="*"), {"agent": None}, None),
    ],
)
def test_a_grant_counts_for_its_people_only(grant: Grant, context: dict[str, object], reason: str | None) -> None:
    assert why_not(grant, asked(context), NOW) == reason


@requirement("grants.scopes")
@pytest.mark.parametrize(
    ("grant", "context", "reason"),
    [
        (GRANT, {"run": "run-2"}, "it is for another run"),
        (GRANT, {"run": None}, "the call has no run"),
        (GRANT, {"session": "session-2"}, None),
        (GRANT, {"session": None}, None),
        (changed(scope="session"), {"session": "session-2"}, "it is for another session"),
        (changed(scope="session"), {"session": None}, "the call has no session"),
        (changed(scope="session"), {"run": "run-2"}, None),
        (changed(scope="principal"), {"run": "run-2", "session": "session-2"}, None),
        (changed(scope="principal"), {"run": None, "session": None}, None),
    ],
)
def test_a_grant_reaches_as_far_as_its_scope(grant: Grant, context: dict[str, object], reason: str | None) -> None:
    assert why_not(grant, asked(context), NOW) == reason


@requirement("grants.definition")
def test_a_changed_tool_or_policy_voids_the_grant() -> None:
    void = "the definition of the tool is not the one that it was issued for"

    assert why_not(GRANT, asked(tool_definition_revision="d2"), NOW) == void
    assert why_not(GRANT, asked(policy_revision="policy:2"), NOW) == "the policy has changed since it was issued"
    assert why_not(GRANT, asked(tool_name="write_file"), NOW) == "it is for another tool"


@requirement("grants.definition")
def test_a_grant_of_another_version_counts_for_nothing() -> None:
    assert why_not(changed(version=GRANT_VERSION + 1), REQUEST, NOW) == "it is of version 2, not 1"


@requirement("grants.expiry")
@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (1_999.999, None),
        (2_000.0, "it has expired"),
        (2_000.001, "it has expired"),
        (float("inf"), "it has expired"),
        (float("nan"), "it has expired"),
        (0.0, None),
    ],
)
def test_a_grant_counts_up_to_the_instant_at_which_it_expires(now: float, reason: str | None) -> None:
    assert why_not(GRANT, REQUEST, now) == reason


@requirement("grants.resource")
@pytest.mark.parametrize("resource", ["reports/", "reports/a/b\nc", "reports/../plans"])
def test_the_wildcard_stands_for_any_text(resource: str) -> None:
    assert why_not(GRANT, with_arguments(resource=resource), NOW) is None


@requirement("grants.resource")
def test_a_pattern_demands_a_resource_that_fits() -> None:
    unfit, none = (
        "the argument 'resource' does not fit its pattern",
        "the call has no argument 'resource' that is text",
    )

    assert why_not(GRANT, with_arguments(resource="plans/reports/q1"), NOW) == unfit
    for value in (None, 5, ["reports/q1"], True):
        assert why_not(GRANT, with_arguments(resource=value), NOW) == none
        assert why_not(changed(resource_pattern="*"), with_arguments(resource=value), NOW) == none
        assert why_not(changed(resource_pattern=None), with_arguments(resource=value), NOW) is None
    without = {name: value for name, value in REQUEST.arguments.items() if name != "resource"}
    assert why_not(changed(resource_pattern="*"), asked(arguments=without), NOW) == none


@requirement("grants.constraints")
@pytest.mark.parametrize(
    ("wanted", "given", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        ("text", "Text", False),
        (None, None, True),
        (None, False, False),
        ("\u00e9", "e\u0301", False),
        ([1, 2], [2, 1], False),
        ([1, {"a": 1, "b": [None]}], [1.0, {"b": [None], "a": 1}], True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({}, [], False),
        ([], [], True),
        (1, 2**70, False),
        ("x", "\ud800", False),
        (1, float("nan"), False),
        (1, object(), False),
    ],
)
def test_a_constrained_argument_must_be_equal_as_json(wanted: object, given: object, *, same: bool) -> None:
    grant = changed(argument_constraints={"mode": wanted})

    reason = None if same else "the argument 'mode' is not the one that it was issued for"
    assert why_not(grant, with_arguments(mode=given), NOW) == reason


@requirement("grants.constraints")
def test_an_argument_that_is_missing_is_not_null() -> None:
    grant = changed(argument_constraints={"force": None})

    assert why_not(grant, REQUEST, NOW) == "the argument 'force' is missing"
    assert why_not(grant, with_arguments(force=None), NOW) is None
    assert why_not(changed(argument_constraints={}), REQUEST, NOW) is None


@requirement("grants.delegation")
@pytest.mark.parametrize(
    ("chain", "nested", "reason"),
    [
        (None, False, None),
        ((), False, None),
        (None, True, "it does not count for calls that a tool makes"),
        (("helper",), False, "it does not count for those to whom work was handed on"),
        (("helper",), True, "it does not count for calls that a tool makes"),
    ],
)
def test_nested_calls_and_delegates_need_a_grant_that_says_so(
    chain: tuple[str, ...] | None, *, nested: bool, reason: str | None
) -> None:
    request = asked({"delegation": chain}, nested=nested)

    assert why_not(GRANT, request, NOW) == reason
    assert why_not(changed(delegation="inherits-to-children"), request, NOW) is None


@requirement("grants.reasons")
def test_reasons_are_told_in_one_order() -> None:
    broken = asked(
        {"principal": None, "tenant": None, "owner": "x", "agent": "x", "run": "x"},
        tool_name="x",
        tool_definition_revision="x",
        policy_revision="x",
        arguments={"mode": "x"},
        nested=True,
    )
    told: list[str] = []
    mends: list[dict[str, object]] = [
        {},
        {"policy_revision": "x"},
        {"tool_definition_revision": "x"},
        {"tool_name": "x"},
    ]
    grant = changed(version=2)
    told.append(why_not(grant, broken, 3_000.0) or "")
    grant = changed()
    told.append(why_not(grant, broken, 3_000.0) or "")
    for mend in mends:
        grant = msgspec.structs.replace(grant, **mend)
        told.append(why_not(grant, broken, NOW) or "")
    for field in ("principal", "tenant", "owner", "agent", "run"):
        context = msgspec.structs.replace(broken.context, **{field: getattr(CONTEXT, field)})
        broken = msgspec.structs.replace(broken, context=context)
        told.append(why_not(grant, broken, NOW) or "")
    for arguments in ({"resource": "x"}, {"resource": "reports/"}, REQUEST.arguments):
        broken = msgspec.structs.replace(broken, arguments=arguments)
        told.append(why_not(grant, broken, NOW) or "")

    assert told == [
        "it is of version 2, not 1",
        "it has expired",
        "the policy has changed since it was issued",
        "the definition of the tool is not the one that it was issued for",
        "it is for another tool",
        "the call has no principal",
        "the call has no tenant",
        "it is for another owner",
        "it is for another agent",
        "it is for another run",
        "the call has no argument 'resource' that is text",
        "the argument 'resource' does not fit its pattern",
        "the argument 'mode' is missing",
        "it does not count for calls that a tool makes",
    ]


_FEW: Final = st.sampled_from(["a", "b"])
_MAYBE: Final = st.none() | _FEW
_ARGUMENTS: Final = st.dictionaries(
    st.sampled_from(["resource", "mode"]), st.sampled_from(["a", "ab", None, 1, 1.0, True])
)


@st.composite
def grants(draw: st.DrawFn) -> Grant:
    return changed(
        principal=draw(_FEW),
        owner=draw(_MAYBE),
        agent=draw(st.sampled_from(["a", "*"])),
        scope=draw(st.sampled_from(get_args(GrantScope))),
        run=draw(_FEW),
        session=draw(_FEW),
        resource_pattern=draw(st.none() | st.sampled_from(["a*", "*"])),
        argument_constraints=draw(st.none() | _ARGUMENTS),
        delegation=draw(st.sampled_from(get_args(GrantDelegation))),
    )


@st.composite
def requests(draw: st.DrawFn) -> GrantRequest:
    names: dict[str, object] = {field: draw(_MAYBE) for field in ("principal", "owner", "agent", "run", "session")}
    chain = draw(st.sampled_from([None, (), ("helper",)]))
    return asked({**names, "delegation": chain}, arguments=draw(_ARGUMENTS), nested=draw(st.booleans()))


@requirement("grants.people", "grants.scopes", "grants.constraints", "grants.delegation", "grants.reasons")
@given(grants(), requests())
def test_a_grant_counts_exactly_when_every_one_of_its_demands_is_met(grant: Grant, request: GrantRequest) -> None:
    context = request.context
    resource = request.arguments.get("resource")
    met = (
        grant.principal == context.principal
        and grant.owner == context.owner
        and grant.agent in {"*", context.agent}
        and (grant.scope != "run" or grant.run == context.run)
        and (grant.scope != "session" or grant.session == context.session)
        and (
            grant.resource_pattern is None
            or (isinstance(resource, str) and resource.startswith(grant.resource_pattern.rstrip("*")))
        )
        and {
            (name, canonical_text(value, mode="exact")) for name, value in (grant.argument_constraints or {}).items()
        }.issubset((name, canonical_text(value, mode="exact")) for name, value in request.arguments.items())
        and (grant.delegation == "inherits-to-children" or not (request.nested or context.delegation))
    )

    assert (why_not(grant, request, NOW) is None) == met


# ── Patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_table(pattern: str, text: str) -> bool:
    """The same as `fits`, by asking of each beginning of the text whether it fits each beginning of the pattern."""
    row = [True] + [False] * len(text)
    for wild in pattern:
        above, row = row, [row[0] and wild == "*"]
        for place, letter in enumerate(text):
            row.append((above[place + 1] or row[place]) if wild == "*" else (above[place] and letter == wild))
    return row[-1]


@requirement("grants.resource")
@given(st.text("ab*\n", max_size=8), st.text("ab*\n", max_size=8))
def test_a_pattern_fits_what_a_table_of_all_beginnings_says(pattern: str, text: str) -> None:
    assert fits(pattern, text) == by_table(pattern, text)


@requirement("grants.resource")
@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=5), st.data())
def test_a_pattern_fits_whatever_stands_for_its_wildcards(pieces: list[str], data: st.DataObject) -> None:
    gaps = [data.draw(st.text("ab\n/", max_size=4)) for _ in pieces[1:]]
    text = pieces[0] + "".join(gap + piece for gap, piece in zip(gaps, pieces[1:], strict=True))

    assert fits("*".join(pieces), text)


@requirement("grants.resource")
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("*", "", True),
        ("**", "x", True),
        ("a", "a", True),
        ("a", "ab", False),
        ("a", "A", False),
        ("aba*aba", "aba", False),
        ("a*a", "a", False),
        ("a*b*c", "a-c-b", False),
        ("a*b*c*d", "a-c-b-d", False),
        ("a*b*b*a", "a-b-a", False),
        ("a*b*b", "ab", False),
        ("?.[a]", "x.a", False),
        (r"\*", r"\anything", True),
    ],
)
def test_a_pattern_is_literal_but_for_its_wildcard(pattern: str, text: str, *, expected: bool) -> None:
    assert fits(pattern, text) is expected


@requirement("grants.resource")
def test_no_pattern_makes_the_comparison_try_again_and_again() -> None:
    # Whoever backtracks here has more ways to try than there are atoms.
    assert not fits("*a" * 5_000 + "*b", "a" * 20_000)
    assert fits("*a" * 5_000 + "*", "a" * 20_000)
