from __future__ import annotations

import math
from collections.abc import Awaitable, Iterator, Mapping
from itertools import combinations
from typing import Final, cast

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from armory_trio import ApprovalError, DefinitionError, JsonError, PendingApproval, RequestContext, ToolId
from armory_trio.authority import Revisions, bind_action
from armory_trio.authority.approvals import (
    DEFAULT_LIFETIME,
    check_binding,
    new_binding,
    pause_of,
    question_of,
    scope_of,
    sign_pending,
    verify_pending,
)
from armory_trio.authority.policy import Ask, Pause
from armory_trio.authority.signing import KeyResolver, Keyring, SigningKey, sign_with
from armory_trio.definitions import (
    ApprovalBinding,
    ApprovalScope,
    ComposedStep,
    PauseTier,
    Question,
    RequiredAction,
    StepBinding,
    ToolDefinition,
)
from tests.authority.policies import defined
from tests.requirements import requirement

CONTEXT: Final = RequestContext(
    principal="ann",
    tenant="acme",
    owner="team",
    delegation=("ben", "cleo"),
    capabilities=frozenset({"read", "pay", "look"}),
    authorization_revision="auth:7",
    audience="tenant",
    agent="agent-1",
    run="run-1",
    session="session-1",
    request="request-1",
)
TOOL: Final = defined("external-write")
ARGUMENTS: Final = {"cents": 100, "to": "bob"}
OPTIONAL: Final = ("owner", "session", "delegation", "capabilities", "authorization_revision")
NOW: Final = 1_800_000_000.25
DOMAIN: Final = "tenant:acme"
NEW: Final = SigningKey("2026-09", b"new")
OLD: Final = SigningKey("2026-08", b"old")
KEYS: Final = Keyring({DOMAIN: [NEW, OLD], "tenant:beta": [SigningKey("2026-09", b"beta")]})
TRANSFER: Final = Question("toolbox", "a large sum", RequiredAction("approval", "Pay bob?", {"type": "object"}))
BOUND: Final = StepBinding(
    toolbox_revision="toolbox:1",
    policy_revision="policy:1",
    approval_revision="approval:1",
    catalog_revision="catalog:1",
    definitions={"look": "f" * 64},
    request_context={"principal": "ada"},
)


def scope(**changes: object) -> ApprovalScope:
    return structs.replace(scope_of(TOOL, ARGUMENTS, CONTEXT, Revisions()), **changes)


def binding(**changes: object) -> ApprovalBinding:
    return structs.replace(new_binding(scope(), now=NOW, nonce="nonce-1"), **changes)


def pending() -> PendingApproval:
    """One in which nothing is left out, so that everything in it can be changed."""
    beside = ComposedStep(
        call_id="call-2",
        tool_id="default:beside@1.0.0",
        tool_definition_revision="e" * 64,
        arguments={"to": "eve"},
        place="pay",
        results={"look": {"outcome": "success", "value": 2}},
        satisfied=(structs.replace(TRANSFER, tier="tool"),),
        tools={"look": "default:look@1.0.0"},
        request_context={"principal": "ada"},
        binding=BOUND,
        idempotency_key="order-7",
        attempt_id="attempt-1",
    )
    step = ComposedStep(
        call_id="call-0",
        tool_id="default:both@1.0.0",
        tool_definition_revision="d" * 64,
        arguments={"to": "bob"},
        place="1",
        results={"0": {"outcome": "success", "value": 1.5}},
        satisfied=(structs.replace(TRANSFER, tier="declared"),),
        tools={"0": "default:first@1.0.0"},
        waiting=(("2", (beside,)),),
        request_context={"principal": "ada"},
        binding=BOUND,
        idempotency_key="order-7",
        attempt_id="attempt-1",
    )
    return PendingApproval(
        call_id="call-1",
        tool_name="work",
        tool_id="default:work@1.0.0",
        arguments=ARGUMENTS,
        question=TRANSFER,
        effect="external-write",
        targets=("service:bank",),
        metadata={"team": "payments"},
        satisfied=(structs.replace(TRANSFER, tier="capability"),),
        within=(step,),
        binding=binding(),
        idempotency_key="order-8",
    )


async def signed() -> PendingApproval:
    return await sign_pending(KEYS, pending(), domain=DOMAIN)


async def code_of(given: PendingApproval, *, keys: KeyResolver = KEYS, domain: str = DOMAIN) -> str | None:
    """The code with which *given* is refused, or None when it counts."""
    try:
        await verify_pending(keys, given, domain=domain)
    except ApprovalError as error:
        return error.code
    return None


def refusal(given: ApprovalBinding, wanted: ApprovalScope | None, now: float = NOW) -> ApprovalError | None:
    try:
        check_binding(given, wanted, now)
    except ApprovalError as error:
        return error
    return None


# ── What it counts for ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("approvals.scope")
def test_a_scope_says_on_whose_behalf_under_which_rules_and_which_action() -> None:
    revisions = Revisions("catalog:3", "toolbox:4", "not this one", "policy:5", "approval:6")

    assert scope_of(TOOL, ARGUMENTS, CONTEXT, revisions) == ApprovalScope(
        principal="ann",
        tenant="acme",
        audience="tenant",
        agent="agent-1",
        run="run-1",
        toolbox_revision="toolbox:4",
        tool_definition_revision=TOOL.digest,
        policy_revision="policy:5",
        approval_revision="approval:6",
        catalog_revision="catalog:3",
        action_digest=bind_action(TOOL, ARGUMENTS, CONTEXT).sha256,
        owner="team",
        session="session-1",
        delegation=("ben", "cleo"),
        capabilities=("look", "pay", "read"),
        authorization_revision="auth:7",
    )


@requirement("approvals.scope")
@pytest.mark.parametrize("field", [field for field in RequestContext.__struct_fields__ if field != "request"])
def test_whatever_the_request_says_of_itself_is_in_the_scope(field: str) -> None:
    said: object = getattr(CONTEXT, field)
    other = f"{said}-2" if isinstance(said, str) else (*cast("tuple[str, ...]", said), "more")
    changed = structs.replace(CONTEXT, **{field: frozenset(other) if field == "capabilities" else other})

    assert scope_of(TOOL, ARGUMENTS, changed, Revisions()) != scope()


@requirement("approvals.scope")
def test_the_name_of_a_request_is_not_in_the_scope_since_the_person_answers_another_one() -> None:
    assert scope_of(TOOL, ARGUMENTS, structs.replace(CONTEXT, request="request-2"), Revisions()) == scope()


@requirement("approvals.scope")
def test_nothing_said_and_an_empty_list_are_different_scopes() -> None:
    bare = structs.replace(CONTEXT, capabilities=None, delegation=None)
    none = structs.replace(CONTEXT, capabilities=frozenset(), delegation=())

    found = [scope_of(TOOL, ARGUMENTS, context, Revisions()) for context in (bare, none)]

    assert [(each.capabilities, each.delegation) for each in found] == [(None, None), ((), ())]


@requirement("approvals.scope")
@pytest.mark.parametrize("arguments", [{"cents": 101, "to": "bob"}, {"cents": "100", "to": "bob"}, {"cents": 100}])
def test_other_arguments_are_another_action(arguments: dict[str, object]) -> None:
    assert scope_of(TOOL, arguments, CONTEXT, Revisions()).action_digest != scope().action_digest


@requirement("approvals.scope")
def test_another_description_is_another_tool() -> None:
    described = ToolDefinition(ToolId("work"), "does more", effect=TOOL.effect)

    found = scope_of(described, ARGUMENTS, CONTEXT, Revisions())

    assert (found.action_digest, found.tool_definition_revision) == (scope().action_digest, described.digest)
    assert described.digest != TOOL.digest


@requirement("approvals.scope", "approvals.signature.json")
def test_arguments_that_readers_take_differently_are_told_by_their_path() -> None:
    with pytest.raises(JsonError) as caught:
        scope_of(TOOL, {"ids": [1, 2**53]}, CONTEXT, Revisions())

    assert caught.value.path == ("ids", 1)


@requirement("approvals.scope.missing")
@pytest.mark.parametrize(
    "missing",
    [some for size in range(1, 6) for some in combinations(("principal", "tenant", "audience", "agent", "run"), size)],
)
def test_all_that_a_request_does_not_say_is_told_at_once(missing: tuple[str, ...]) -> None:
    context = structs.replace(CONTEXT, **dict.fromkeys(missing))

    with pytest.raises(ApprovalError) as caught:
        scope_of(TOOL, ARGUMENTS, context, Revisions())

    assert caught.value.code == "invalid-binding"
    assert caught.value.detail == f"the request context does not say: {', '.join(missing)}"


@requirement("approvals.scope.missing")
def test_without_a_request_context_everything_is_missing() -> None:
    with pytest.raises(ApprovalError, match=r"say: principal, tenant, audience, agent, run$"):
        scope_of(TOOL, ARGUMENTS, None, Revisions())


@requirement("approvals.revisions")
def test_revisions_have_names_from_the_start_but_for_a_tool_that_is_not_known_yet() -> None:
    assert structs.asdict(Revisions()) == {
        "catalog": "catalog:1",
        "toolbox": "toolbox:1",
        "tool_definition": "",
        "policy": "policy:1",
        "approval": "approval:1",
        "redaction": "redaction:1",
    }


@requirement("approvals.revisions")
@pytest.mark.parametrize("field", Revisions.__struct_fields__)
@pytest.mark.parametrize("wrong", [7, None, " ", "\ud800"])
def test_a_revision_that_is_no_text_is_refused(field: str, wrong: object) -> None:
    if (field, wrong) == ("tool_definition", " "):
        return
    with pytest.raises(DefinitionError) as caught:
        Revisions(**{field: cast("str", wrong)})

    assert (caught.value.subject, caught.value.field) == ("Revisions", field)


# ── For how long ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("approvals.binding")
def test_a_binding_ends_after_its_lifetime() -> None:
    assert new_binding(scope(), now=NOW, lifetime=60, nonce="n") == ApprovalBinding(scope(), NOW, NOW + 60, "n")
    assert binding().expires_at - binding().issued_at == DEFAULT_LIFETIME == 300


@requirement("approvals.binding")
@pytest.mark.parametrize(
    ("now", "lifetime"),
    [
        *((NOW, lifetime) for lifetime in (0, -1, math.nan, math.inf, True, "60", None, 10**400)),
        *((now, 60) for now in (math.nan, math.inf, -math.inf, None)),
        pytest.param(1.7e308, 1.7e308, id="an expiry beyond all numbers"),
        pytest.param(NOW, 1e-9, id="a lifetime that is lost beside the time"),
    ],
)
def test_there_is_no_binding_without_an_end(now: float, lifetime: float) -> None:
    with pytest.raises(ApprovalError) as caught:
        new_binding(scope(), now=now, lifetime=lifetime, nonce="n")

    assert caught.value.code == "invalid-binding"


@requirement("approvals.binding.checks")
def test_what_is_wrong_is_told_in_a_fixed_order() -> None:
    wrong: dict[str, object] = {
        "version": 2,
        "scope": scope(principal=" "),
        "nonce": "",
        "issued_at": math.nan,
        "expires_at": math.inf,
    }
    right: dict[str, object] = {"version": 1, "scope": scope(), "nonce": "n", "issued_at": 5.0, "expires_at": 5.0}
    told: list[str] = []
    for field, value in right.items():
        error = refusal(binding(**wrong), scope(tenant="beta"), math.nan)
        assert error is not None and error.code == "invalid-binding"
        told.append(error.detail)
        wrong[field] = value
    for changes, now in (({}, math.nan), ({}, 9.0), ({"expires_at": 9.0}, 9.0), ({"expires_at": 9.0}, 8.0)):
        error = refusal(binding(**{**wrong, **changes}), scope(tenant="beta"), now)
        assert error is not None
        told.append(str(error))

    assert told == [
        "its version is not 1",
        "scope.principal is blank, or no text",
        "nonce is blank, or no text",
        "issued_at is no time",
        "expires_at is no time",
        "invalid-binding: the clock says nan, which is no time",
        "invalid-binding: it expires no later than it was issued",
        "expired: it counts no more; ask again",
        "mismatch: tenant is not the same as when it was asked about",
    ]


@requirement("approvals.binding.checks")
@pytest.mark.parametrize("field", ApprovalScope.__struct_fields__)
def test_every_field_of_a_scope_must_be_what_it_says(field: str) -> None:
    wrong: list[object] = ["", " ", 7, [], ("a", " "), ["a"], ("a", 1)]
    if field in {"delegation", "capabilities"}:
        wrong[1] = "ab"
    if field not in OPTIONAL:
        wrong.append(None)

    codes = [error and error.code for error in (refusal(binding(scope=scope(**{field: bad})), None) for bad in wrong)]

    assert codes == ["invalid-binding"] * len(wrong)
    assert refusal(binding(scope=scope(**dict.fromkeys(OPTIONAL))), None) is None


@requirement("approvals.binding.checks")
@pytest.mark.parametrize(
    "changes",
    [
        {"version": True},
        {"version": 1.0},
        {"nonce": 7},
        {"nonce": " "},
        {"issued_at": None},
        {"expires_at": "later"},
        {"expires_at": 10**400},
        {"issued_at": True},
    ],
)
def test_a_binding_that_is_none_is_never_an_exception_of_another_kind(changes: dict[str, object]) -> None:
    error = refusal(binding(**changes), scope())

    assert error is not None and error.code == "invalid-binding"


@requirement("approvals.binding.window")
@pytest.mark.parametrize(
    ("now", "code"),
    [
        (NOW, None),
        (math.nextafter(NOW + 300, 0), None),
        (NOW + 300, "expired"),
        (NOW + 301, "expired"),
        (math.nextafter(NOW, 0), "invalid-binding"),
        (0.0, "invalid-binding"),
    ],
)
def test_an_approval_counts_from_its_issue_to_just_before_its_expiry(now: float, code: str | None) -> None:
    error = refusal(binding(), scope(), now)

    assert (error and error.code) == code


@requirement("approvals.binding.mismatch")
@pytest.mark.parametrize("field", ApprovalScope.__struct_fields__)
def test_another_scope_is_told_by_the_field_and_no_value(field: str) -> None:
    held: object = getattr(scope(), field)
    other = (*cast("tuple[str, ...]", held), "secret") if isinstance(held, tuple) else f"secret-{held}"
    for value in [other, None] if field in OPTIONAL else [other]:
        error = refusal(binding(), scope(**{field: value}))

        assert error is not None
        assert str(error) == f"mismatch: {field} is not the same as when it was asked about"


@requirement("approvals.binding.mismatch")
def test_of_several_fields_that_differ_the_first_is_told() -> None:
    error = refusal(binding(), scope(session="other", run="other", policy_revision="other"))

    assert error is not None and error.detail.startswith("run is not")


@requirement("approvals.binding.mismatch")
def test_without_a_scope_only_form_and_time_are_asked_about() -> None:
    assert refusal(binding(), None) is None


# ── Questions ────────────────────────────────────────────────────────────────────────────────────────────────────────

ASKS: Final = st.builds(
    Ask,
    st.sampled_from(["", "why", "other"]),
    st.sampled_from(["approval", "input"]),
    st.sampled_from(["", "Agree?"]),
    st.none() | st.just({"type": "object", "required": ["a", "b"], "maximum": 1.5}),
    st.none() | st.just(frozenset({"read"})),
)
TIERS: Final[tuple[PauseTier, ...]] = ("capability", "declared", "toolbox", "tool")


@requirement("approvals.questions")
@given(st.sampled_from(TIERS), ASKS)
def test_a_question_gives_back_the_pause_that_it_was_made_of(tier: PauseTier, ask: Ask) -> None:
    pause = Pause(tier, ask)
    descriptor = structs.replace(pending(), question=question_of(pause))
    text = msgspec.json.encode(descriptor.to_json())
    read = PendingApproval.from_json(cast("object", msgspec.json.decode(text)))

    assert read == descriptor
    assert pause_of(read.question).same_as(pause)
    assert question_of(pause_of(read.question)) == read.question


@requirement("approvals.questions")
@given(st.sampled_from(TIERS), ASKS, st.sampled_from(TIERS), ASKS)
def test_different_pauses_are_different_questions(one: PauseTier, first: Ask, other: PauseTier, second: Ask) -> None:
    pauses = Pause(one, first), Pause(other, second)

    assert pauses[0].same_as(pauses[1]) is (question_of(pauses[0]) == question_of(pauses[1]))


@requirement("approvals.questions")
@pytest.mark.parametrize(
    "question",
    [
        structs.replace(TRANSFER, action=RequiredAction("resolution", "What happened?")),
        structs.replace(TRANSFER, action=RequiredAction("authorization", "May I?")),
        structs.replace(TRANSFER, reason=" "),
        structs.replace(TRANSFER, action=RequiredAction("approval", "")),
        structs.replace(TRANSFER, action=RequiredAction("approval", "Pay?", {"a": object()})),
    ],
)
def test_a_question_that_no_policy_asks_is_refused(question: Question) -> None:
    with pytest.raises(ApprovalError) as caught:
        pause_of(question)

    assert caught.value.code == "invalid-binding"


# ── Signatures ───────────────────────────────────────────────────────────────────────────────────────────────────────


def mutants(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """*value* with one thing changed, everywhere where something can be, and where that is."""
    if isinstance(value, msgspec.Struct):
        for info in structs.fields(value):
            held: object = getattr(value, info.name)
            changed = [*mutants(held, f"{path}.{info.name}")]
            if not info.required:
                default: object = (
                    info.default
                    if info.default_factory is msgspec.NODEFAULT
                    else cast("object", info.default_factory())
                )
                if default != held:
                    changed.append((f"{path}.{info.name} left out", default))
            yield from ((place, structs.replace(value, **{info.encode_name: other})) for place, other in changed)
    elif isinstance(value, tuple):
        members = cast("tuple[object, ...]", value)
        if members:
            yield f"{path} twice", (*members, members[-1])
        for index, member in enumerate(members):
            for place, other in mutants(member, f"{path}[{index}]"):
                yield place, (*members[:index], other, *members[index + 1 :])
    elif isinstance(value, Mapping):
        members_of = cast("Mapping[str, object]", value)
        yield f"{path} more", {**members_of, "more": True}
        yield f"{path} less", dict(list(members_of.items())[1:])
        for key, member in members_of.items():
            yield from ((place, {**members_of, key: other}) for place, other in mutants(member, f"{path}.{key}"))
    elif isinstance(value, str):
        yield path, f"{value}x"
    else:
        assert isinstance(value, int | float), path
        yield path, value + 1


def structs_in(value: object) -> Iterator[msgspec.Struct]:
    if isinstance(value, msgspec.Struct):
        yield value
        for field in value.__struct_fields__:
            yield from structs_in(getattr(value, field))
    elif isinstance(value, tuple):
        for member in cast("tuple[object, ...]", value):
            yield from structs_in(member)


@requirement("approvals.signature")
async def test_whatever_is_changed_anywhere_in_a_descriptor_is_refused() -> None:
    genuine = await signed()
    changed = [(place, cast("PendingApproval", other)) for place, other in mutants(genuine)]

    codes = {place: await code_of(other) for place, other in changed}

    assert await code_of(genuine) is None
    assert {place: code for place, code in codes.items() if code != "invalid-signature"} == {}
    assert {".version", ".binding.version", ".question.action.message", ".within[0].satisfied[0].tier"} <= codes.keys()
    assert len(codes) == len(changed) > 60


@requirement("approvals.signature")
async def test_nothing_is_left_out_of_the_descriptor_in_which_everything_is_changed() -> None:
    found = list(structs_in(await signed()))
    kinds = {PendingApproval, ApprovalBinding, ApprovalScope, Question, RequiredAction, ComposedStep, StepBinding}

    assert {type(each) for each in found} == kinds
    assert [
        f"{type(each).__name__}.{field}"
        for each in found
        for field in each.__struct_fields__
        if getattr(each, field) in (None, (), {}, "")
    ] == ["ComposedStep.waiting"]  # of the innermost one: there is no end otherwise


@requirement("approvals.signature")
async def test_a_signed_descriptor_survives_json_and_what_is_shown_of_it_is_not_enough_to_make_one() -> None:
    genuine = await signed()
    text = msgspec.json.encode(genuine.to_json())
    read = PendingApproval.from_json(cast("object", msgspec.json.decode(text)))

    assert read == genuine
    assert await verify_pending(KEYS, read, domain=DOMAIN) == genuine
    assert structs.replace(genuine, signature=None) == pending()


@requirement("approvals.signature")
@pytest.mark.parametrize("given", ["forged", "", "v1::2026-09", 7, b"v1", "v2"])
async def test_what_is_no_signature_is_refused(given: object) -> None:
    genuine = await signed()
    text = cast("str", genuine.signature).replace("v1:", "v2:") if given == "v2" else given

    assert await code_of(structs.replace(genuine, signature=text)) == "invalid-signature"


@requirement("approvals.signature")
async def test_a_mac_has_one_text() -> None:
    genuine = await signed()
    version, mac, key = cast("str", genuine.signature).split(":")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    # 43 characters hold two bits more than the 32 bytes: these decode to the same bytes.
    spare = [mac[:-1] + alphabet[alphabet.index(mac[-1]) ^ bits] for bits in (1, 2, 3)]

    for other in [*spare, mac[:-1], mac + "=", mac.swapcase(), mac[1:] + mac[0], ""]:
        assert await code_of(structs.replace(genuine, signature=f"{version}:{other}:{key}")) == "invalid-signature"


@requirement("approvals.signature.missing")
async def test_what_is_not_signed_can_only_be_looked_at() -> None:
    assert await code_of(pending()) == "invalid-signature"
    assert await code_of(structs.replace(pending(), binding=None)) == "invalid-signature"


@requirement("approvals.signature.missing")
async def test_nothing_is_signed_without_a_binding() -> None:
    with pytest.raises(ApprovalError) as caught:
        await sign_pending(KEYS, structs.replace(pending(), binding=None), domain=DOMAIN)

    assert caught.value.code == "invalid-binding"


@requirement("approvals.signature.missing")
@pytest.mark.parametrize("changes", [{"binding": None}, {"version": 2}])
async def test_what_was_signed_by_another_way_and_is_not_ours_is_refused(changes: dict[str, object]) -> None:
    bare = structs.replace(pending(), **changes)
    text = sign_with(NEW, "approval", bare.document(), domain=DOMAIN).text

    assert await code_of(structs.replace(bare, signature=text)) == "invalid-binding"


@requirement("approvals.signature.keys")
async def test_an_old_key_counts_until_it_is_retired() -> None:
    before = await sign_pending(Keyring({DOMAIN: [OLD]}), pending(), domain=DOMAIN)
    again = await sign_pending(KEYS, before, domain=DOMAIN)

    assert await code_of(before) is None
    assert await code_of(before, keys=Keyring({DOMAIN: [NEW]})) == "invalid-signature"
    assert again.signature is not None and again.signature.endswith(":2026-09")
    assert await code_of(again, keys=Keyring({DOMAIN: [NEW]})) is None


@requirement("approvals.signature.keys")
async def test_another_key_of_the_same_name_another_domain_and_another_purpose_count_for_nothing() -> None:
    genuine = await signed()
    impostor = Keyring({DOMAIN: [SigningKey(NEW.id, b"another")]})
    grant = sign_with(NEW, "grant", pending().document(), domain=DOMAIN).text

    assert await code_of(genuine, keys=impostor) == "invalid-signature"
    assert await code_of(genuine, domain="tenant:beta") == "invalid-signature"
    assert await code_of(genuine, domain="tenant:gamma") == "invalid-signature"
    assert await code_of(structs.replace(genuine, signature=grant)) == "invalid-signature"


@requirement("approvals.signature.keys")
async def test_where_no_key_signs_nothing_is_signed() -> None:
    with pytest.raises(ApprovalError) as caught:
        await sign_pending(KEYS, pending(), domain="tenant:gamma")

    assert caught.value.code == "invalid-signature"


@requirement("approvals.signature.keys")
async def test_a_domain_that_is_none_is_a_mistake_of_the_host() -> None:
    with pytest.raises(DefinitionError):
        await sign_pending(KEYS, pending(), domain="two words")
    with pytest.raises(DefinitionError):
        await verify_pending(KEYS, await signed(), domain="two words")


@requirement("approvals.signature.json")
@pytest.mark.parametrize("value", [2**53, math.nan, "\ud800", object(), {1: 2}])
async def test_what_readers_take_differently_is_not_signed_and_verifies_as_nothing(value: object) -> None:
    odd = structs.replace(pending(), arguments={"value": value})

    with pytest.raises(JsonError):
        await sign_pending(KEYS, odd, domain=DOMAIN)
    assert await code_of(structs.replace(odd, signature=(await signed()).signature)) == "invalid-signature"


@requirement("approvals.signature.json")
async def test_what_was_signed_and_is_no_descriptor_verifies_as_nothing() -> None:
    odd = structs.replace(pending(), call_id=7)
    text = sign_with(NEW, "approval", odd.document(), domain=DOMAIN).text

    assert await code_of(structs.replace(odd, signature=text)) == "invalid-signature"


class Slow:
    """Answers later, and lets somebody change the descriptor meanwhile."""

    def __init__(self, arguments: dict[str, object]) -> None:
        self.arguments = arguments

    def signing_key(self, domain: str, /) -> Awaitable[SigningKey]:
        return self.key(domain, NEW.id)

    async def key(self, domain: str, key_id: str, /) -> SigningKey:
        await trio.lowlevel.checkpoint()
        self.arguments["cents"] = 1_000_000
        return NEW


@requirement("approvals.signature.snapshot")
async def test_a_descriptor_that_is_changed_while_it_is_signed_or_verified_is_what_it_was() -> None:
    arguments: dict[str, object] = dict(ARGUMENTS)
    mine = structs.replace(pending(), arguments=arguments)
    genuine = await sign_pending(Slow(arguments), mine, domain=DOMAIN)

    assert genuine.arguments == ARGUMENTS
    assert mine.arguments["cents"] == 1_000_000

    arguments.update(ARGUMENTS)
    verified = await verify_pending(Slow(arguments), structs.replace(genuine, arguments=arguments), domain=DOMAIN)
    arguments["to"] = "eve"

    assert verified == genuine


@requirement("approvals.signature.snapshot")
async def test_a_verification_that_is_cancelled_answers_nothing() -> None:
    genuine = await signed()
    with trio.CancelScope() as cancelled:
        cancelled.cancel()
        await verify_pending(Slow({}), genuine, domain=DOMAIN)
        pytest.fail("it answered")

    assert cancelled.cancelled_caught
