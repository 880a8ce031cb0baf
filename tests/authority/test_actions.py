from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal, cast

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import JsonError, RequestContext, Risk, Semantics, ToolDefinition, ToolId, tool
from armory_trio.authority import ActionDigest, ActionDocument, KeyRef, action_digest, bind_action, verify_action_digest
from armory_trio.definitions import EffectDeclaration, EffectTarget, freeze_json, parse_json
from armory_trio.definitions._effects import parse_effect
from tests.requirements import requirement


class KeyEntry(msgspec.Struct, frozen=True, rename="camel"):
    security_domain: str
    secret_id: str
    hex: str


class SchemaEntry(msgspec.Struct, frozen=True, rename="camel"):
    schema_json: str
    sha256: str
    pinned: bool


class Execution(msgspec.Struct, frozen=True, rename="camel"):
    concurrency: Literal["shared", "exclusive"]
    cancellation: Literal["unsupported", "cooperative", "provider-acknowledged"]
    idempotency: Literal["not-supported", "required", "provider-enforced"]
    retry_after_start: Literal["never", "requires-conformance"]


class ToolEntry(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    version: str
    description: str
    schema: str
    effect: dict[str, object]
    execution: Execution


class ActionEntry(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    tool: int
    request_context: dict[str, object]
    arguments_json: str
    security_domain: str
    secret_id: str
    canonical: str
    sha256: str
    digest: str
    same_as: list[str] = []
    differs_from: list[str] = []


class DigestValue(msgspec.Struct, frozen=True):
    value: str
    accepted: bool


class Vectors(msgspec.Struct, frozen=True, rename="camel"):
    keys: list[KeyEntry]
    schemas: dict[str, SchemaEntry]
    tools: list[ToolEntry]
    actions: list[ActionEntry]
    digest_values: list[DigestValue]


VECTORS: Final = msgspec.convert(
    json.loads((Path(__file__).parents[1] / "data" / "action_vectors.json").read_text("utf-8")), Vectors
)
BY_ID: Final = {vector.id: vector for vector in VECTORS.actions}
BY_LOCALE: Final = "m33-targets-collation"
"""The one vector whose targets stand in the order of a locale."""

COMPARED: Final = [vector for vector in VECTORS.actions if vector.id != BY_LOCALE]
SECRETS: Final = {KeyRef(key.security_domain, key.secret_id): bytes.fromhex(key.hex) for key in VECTORS.keys}


def sign(message: bytes, key: KeyRef) -> bytes:
    return hmac.digest(SECRETS[key], message, "sha256")


def never(_message: bytes, key: KeyRef) -> bytes:
    raise AssertionError(f"{key} was asked for")


def definition_of(entry: ToolEntry) -> ToolDefinition:
    said = entry.execution
    return ToolDefinition(
        ToolId(entry.id, version=entry.version),
        entry.description,
        cast("Mapping[str, object]", parse_json(VECTORS.schemas[entry.schema].schema_json)),
        effect=parse_effect(entry.effect),
        semantics=Semantics(said.concurrency, said.cancellation, said.idempotency, said.retry_after_start),
    )


def bound(vector: ActionEntry) -> ActionDocument:
    entry = VECTORS.tools[vector.tool]
    schema = VECTORS.schemas[entry.schema]
    return bind_action(
        definition_of(entry),
        parse_json(vector.arguments_json),
        RequestContext.from_json(vector.request_context),
        input_schema_digest=schema.sha256 if schema.pinned else None,
    )


def key_of(vector: ActionEntry) -> KeyRef:
    return KeyRef(vector.security_domain, vector.secret_id)


def digest_of(vector: ActionEntry) -> ActionDigest:
    return action_digest(bound(vector), sign, key_of(vector))


# ── The vectors ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("actions.vectors")
@pytest.mark.parametrize("vector", COMPARED, ids=lambda vector: vector.id)
def test_the_document_is_that_of_the_vectors_byte_for_byte(vector: ActionEntry) -> None:
    document = bound(vector)

    assert document.text == vector.canonical
    assert document.message == vector.canonical.encode()
    assert document.sha256 == vector.sha256


@requirement("actions.vectors", "actions.digest")
@pytest.mark.parametrize("vector", COMPARED, ids=lambda vector: vector.id)
def test_the_digest_is_that_of_the_vectors(vector: ActionEntry) -> None:
    digest = digest_of(vector)

    assert digest == ActionDigest(vector.secret_id, vector.digest)
    assert verify_action_digest(bound(vector), digest, sign, key_of(vector))
    assert verify_action_digest(bound(vector), digest.to_json(), sign, key_of(vector))


@requirement("actions.target-order")
def test_targets_stand_in_order_of_code_units_where_the_vector_has_that_of_a_locale() -> None:
    vector = BY_ID[BY_LOCALE]
    ours, theirs = bound(vector).to_json(), cast("dict[str, object]", parse_json(vector.canonical))
    mine, listed = (cast("dict[str, list[dict[str, str]]]", each["effect"])["targets"] for each in (ours, theirs))

    assert mine == sorted(listed, key=lambda target: (target["kind"], target["id"]))
    assert mine != listed
    assert {**ours, "effect": None} == {**theirs, "effect": None}


@requirement("actions.what-counts", "actions.what-does-not")
@pytest.mark.parametrize("vector", VECTORS.actions, ids=lambda vector: vector.id)
def test_actions_are_equal_exactly_when_the_vectors_say_so(vector: ActionEntry) -> None:
    for other in vector.same_as:
        assert bound(vector) == bound(BY_ID[other])
    for other in vector.differs_from:
        assert digest_of(vector) != digest_of(BY_ID[other])


@requirement("actions.digest-form")
@pytest.mark.parametrize("vector", VECTORS.digest_values, ids=lambda vector: vector.value[-3:])
def test_a_digest_has_one_spelling(vector: DigestValue) -> None:
    # Elsewhere the two spare bits of the last character may be anything.
    if vector.accepted and vector.value[-1] in "AEIMQUYcgkosw048":
        assert ActionDigest("vault:a", vector.value).value == vector.value
    else:
        with pytest.raises(ValueError, match=r"^value is '.*'; it must be 32 bytes in base64url, 43 characters$"):
            ActionDigest("vault:a", vector.value)


# ── What is bound ────────────────────────────────────────────────────────────────────────────────────────────────────

SCHEMA: Final = {"type": "object", "properties": {"amount": {"type": "integer"}}}
SCHEMA_DIGEST: Final = hashlib.sha256(b'{"properties":{"amount":{"type":"integer"}},"type":"object"}').hexdigest()
PAY: Final = ToolDefinition(
    ToolId("pay", version="1.0.0"),
    "Pay.",
    SCHEMA,
    effect=EffectDeclaration("external-write", (EffectTarget("service", "bank"),)),
)
ADA: Final = RequestContext(principal="ada", tenant="acme")
ARGUMENTS: Final = {"amount": 100}
KEY: Final = KeyRef("tenant:acme", "vault:action-signing/current")
ROTATED: Final = KeyRef("tenant:acme", "vault:action-signing/2026-09")
BETA: Final = KeyRef("tenant:beta", "vault:action-signing/current")


@requirement("actions.what-counts")
@pytest.mark.parametrize(
    "changed",
    [
        attrs.evolve(PAY, id=ToolId("pay", version="1.0.1")),
        attrs.evolve(PAY, id=ToolId("pay")),
        attrs.evolve(PAY, id=ToolId("pay", "bank", "1.0.0")),
        attrs.evolve(PAY, id=ToolId("bank:pay", version="1.0.0")),
        attrs.evolve(PAY, input_schema={**SCHEMA, "additionalProperties": False}),
        attrs.evolve(PAY, effect=EffectDeclaration("destructive", (EffectTarget("service", "bank"),))),
        attrs.evolve(PAY, effect=EffectDeclaration("external-write", (EffectTarget("tenant", "bank"),))),
        attrs.evolve(PAY, effect=EffectDeclaration("external-write", (EffectTarget("service", "bank"),) * 2)),
        attrs.evolve(PAY, semantics=Semantics(retry_after_start="requires-conformance")),
    ],
    ids=["version", "no version", "namespace", "name", "schema", "class", "target", "target twice", "semantics"],
)
def test_another_tool_is_another_action(changed: ToolDefinition) -> None:
    assert bind_action(changed, ARGUMENTS, ADA) != bind_action(PAY, ARGUMENTS, ADA)


@requirement("actions.what-counts")
def test_a_tool_of_a_namespace_is_never_taken_for_one_without() -> None:
    inside = bind_action(attrs.evolve(PAY, id=ToolId("pay", "bank", "1.0.0")), ARGUMENTS)
    outside = bind_action(attrs.evolve(PAY, id=ToolId("bank:pay", version="1.0.0")), ARGUMENTS)

    assert inside.to_json()["tool"] != outside.to_json()["tool"]
    assert '"id":"bank:pay"' in inside.text
    assert '"id":"bank%3Apay"' in outside.text


@requirement("actions.what-counts")
@pytest.mark.parametrize(
    ("arguments", "context"),
    [
        ({"amount": 101}, ADA),
        ({"amount": "100"}, ADA),
        ({"amount": 100, "note": None}, ADA),
        (ARGUMENTS, None),
        (ARGUMENTS, RequestContext(principal="ada")),
        (ARGUMENTS, RequestContext(principal="ada", tenant="other")),
        (ARGUMENTS, msgspec.structs.replace(ADA, delegation=())),
        (ARGUMENTS, ADA.delegate("agent:planner")),
    ],
)
def test_other_arguments_or_another_authority_are_another_action(
    arguments: dict[str, object], context: RequestContext | None
) -> None:
    assert bind_action(PAY, arguments, context) != bind_action(PAY, ARGUMENTS, ADA)


@requirement("actions.what-does-not")
@pytest.mark.parametrize(
    ("definition", "arguments", "context"),
    [
        (
            attrs.evolve(PAY, description="Pay somebody.", title="Pay!", tags=("money",), examples=("pay",)),
            ARGUMENTS,
            ADA,
        ),
        (attrs.evolve(PAY, requires_approval=True, metadata={"team": "billing"}), ARGUMENTS, ADA),
        (PAY, freeze_json(ARGUMENTS), ADA),
        (PAY, {"amount": 100.0}, ADA),
        (
            PAY,
            ARGUMENTS,
            RequestContext(
                principal="ada",
                tenant="acme",
                owner="run-7",
                capabilities=frozenset({"pay"}),
                authorization_revision="7",
                audience="operator",
                agent="clerk",
                run="run-7",
                session="s",
                request="r",
            ),
        ),
    ],
    ids=["description", "approval", "frozen", "number", "context"],
)
def test_what_only_surrounds_an_action_makes_no_other_one(
    definition: ToolDefinition, arguments: object, context: RequestContext
) -> None:
    assert bind_action(definition, arguments, context) == bind_action(PAY, ARGUMENTS, ADA)


@requirement("actions.stricter-class")
def test_what_is_bound_is_what_the_tool_counts_as() -> None:
    @tool
    async def undeclared(amount: int) -> None:
        """Nobody said what it does."""

    disputed = attrs.evolve(PAY, effect=EffectDeclaration("read-only"), risk=Risk(dangerous=True))

    assert bind_action(undeclared.definition, ARGUMENTS).to_json()["effect"] == {
        "class": "external-write",
        "targets": [],
    }
    assert bind_action(disputed, ARGUMENTS).to_json()["effect"] == {"class": "destructive", "targets": []}


JSON_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@requirement("actions.document")
@given(JSON_VALUES)
def test_a_document_says_everything_in_one_text(arguments: object) -> None:
    document = bind_action(PAY, arguments, ADA.delegate("agent:planner"))

    assert document.to_json() == {
        "arguments": arguments,
        "authority": {"delegationChain": ["agent:planner"], "principalId": "ada", "tenantId": "acme"},
        "contractProfile": "llm-core.action/v1",
        "effect": {"class": "external-write", "targets": [{"id": "bank", "kind": "service"}]},
        "execution": {
            "cancellation": "cooperative",
            "concurrency": "shared",
            "idempotency": "not-supported",
            "retryAfterStart": "never",
        },
        "tool": {
            "id": "pay",
            "inputSchemaDigest": {"algorithm": "sha-256", "value": SCHEMA_DIGEST},
            "version": "1.0.0",
        },
    }


@requirement("actions.document")
@pytest.mark.parametrize("levels", [64, 250])
def test_a_document_may_be_deep(levels: int) -> None:
    arguments: object = 0
    for _ in range(levels):
        arguments = [arguments]

    assert bind_action(PAY, arguments).to_json()["arguments"] == arguments


@requirement("actions.document")
def test_later_changes_of_the_arguments_do_not_change_the_document() -> None:
    arguments: dict[str, object] = {"items": [1]}
    document = bind_action(PAY, arguments)
    arguments["items"] = []
    document.to_json().clear()

    assert document.to_json()["arguments"] == {"items": [1]}
    with pytest.raises(AttributeError):
        document.text = "{}"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  # the point of it


# ── What is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("actions.refusals")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": [{"cents": 2**53}]}, r"unsafe-integer at arguments.order\[0\].cents: .*pass it as a string"),
        ({"rate": 1e300}, "unsafe-integer at arguments.rate: .*pass it as a string"),
        ({"rate": float("nan")}, "non-finite-number at arguments.rate: .*say it in a string"),
        ({"rate": Decimal("0.1")}, "unsupported-type at arguments.rate: .*write it as int, float or text"),
        ({"name": "\ud800"}, "lone-surrogate at arguments.name: .*half a character"),
        (2**53, "unsafe-integer at arguments: .*pass it as a string"),
    ],
)
def test_what_other_readers_would_take_for_something_else_is_refused_with_its_place(
    arguments: object, message: str
) -> None:
    with pytest.raises(JsonError, match=message):
        bind_action(PAY, arguments)


@requirement("actions.refusals")
def test_the_path_of_a_refusal_leads_through_the_arguments() -> None:
    with pytest.raises(JsonError) as caught:
        bind_action(PAY, {"order": [{"cents": 2**53}]})

    assert caught.value.path == ("order", 0, "cents")


@requirement("actions.refusals")
def test_a_schema_that_only_python_can_say_is_bound_all_the_same() -> None:
    large = attrs.evolve(PAY, input_schema={"type": "object", "properties": {"n": {"maximum": 2**63}}})
    larger = attrs.evolve(PAY, input_schema={"type": "object", "properties": {"n": {"maximum": 2**63 + 1}}})

    assert bind_action(large, ARGUMENTS) == bind_action(large, ARGUMENTS)
    assert bind_action(large, ARGUMENTS) != bind_action(larger, ARGUMENTS)


@requirement("actions.refusals")
@pytest.mark.parametrize("digest", ["", "A" * 64, "a" * 63, "a" * 64 + "\n", b"a" * 64])
def test_a_schema_digest_that_is_none_is_refused(digest: str) -> None:
    with pytest.raises(ValueError, match="give 64 hexadecimal digits in lower case"):
        bind_action(PAY, ARGUMENTS, input_schema_digest=digest)


@requirement("actions.refusals")
def test_something_else_in_place_of_a_definition_or_a_context_is_refused() -> None:
    @tool(effect="read-only")
    async def look() -> None:
        """Look."""

    with pytest.raises(TypeError, match=r"bind_action takes a ToolDefinition.*\.definition"):
        bind_action(cast("ToolDefinition", look), {})
    with pytest.raises(TypeError, match="give a RequestContext or None"):
        bind_action(PAY, {}, cast("RequestContext", {"tenant": "acme"}))


# ── The digest ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("actions.digest")
def test_what_is_signed_is_the_text_alone() -> None:
    asked: list[tuple[bytes, KeyRef]] = []

    def note(message: bytes, key: KeyRef) -> bytes:
        asked.append((message, key))
        return sign(message, key)

    document = bind_action(PAY, ARGUMENTS, ADA)
    action_digest(document, note, KEY)

    assert asked == [(document.text.encode(), KEY)]


@requirement("actions.digest")
def test_a_mac_that_was_awaited_elsewhere_makes_the_same_digest() -> None:
    document = bind_action(PAY, ARGUMENTS, ADA)

    assert ActionDigest.of(sign(document.message, KEY), KEY.secret_id) == action_digest(document, sign, KEY)


@requirement("actions.digest")
@pytest.mark.parametrize("answer", [b"", b"x" * 31, b"x" * 33, "x" * 32, None])
def test_a_mac_of_another_form_is_refused(answer: object) -> None:
    with pytest.raises(TypeError, match="32 bytes of HMAC-SHA-256"):
        action_digest(bind_action(PAY, ARGUMENTS), lambda _message, _key: cast("bytes", answer), KEY)


@requirement("actions.digest")
def test_only_a_bound_action_and_the_name_of_a_key_make_a_digest() -> None:
    document = bind_action(PAY, ARGUMENTS)

    for text in (document.text, document.message, document.to_json()):
        with pytest.raises(TypeError, match="give what bind_action answered"):
            action_digest(cast("ActionDocument", text), never, KEY)
    with pytest.raises(TypeError, match="key is a str; give a KeyRef"):
        verify_action_digest(document, {}, never, cast("KeyRef", "vault:secret"))


@requirement("actions.digest")
def test_who_has_no_key_says_so_and_nothing_is_verified() -> None:
    unknown = KeyRef("tenant:nobody", KEY.secret_id)
    document = bind_action(PAY, ARGUMENTS)

    with pytest.raises(KeyError):
        verify_action_digest(document, action_digest(document, sign, KEY), sign, unknown)


@requirement("actions.verify")
def test_a_digest_of_another_action_does_not_verify() -> None:
    digest = action_digest(bind_action(PAY, ARGUMENTS, ADA), sign, KEY)

    assert verify_action_digest(bind_action(PAY, {"amount": 100}, ADA), digest, sign, KEY)
    assert not verify_action_digest(bind_action(PAY, {"amount": 101}, ADA), digest, sign, KEY)
    assert not verify_action_digest(bind_action(PAY, ARGUMENTS), digest, sign, KEY)


@requirement("actions.verify")
def test_after_a_rotation_the_old_digest_verifies_with_the_old_key_only() -> None:
    document = bind_action(PAY, ARGUMENTS, ADA)
    old, new = action_digest(document, sign, KEY), action_digest(document, sign, ROTATED)

    assert old != new
    assert verify_action_digest(document, old, sign, KEY)
    assert not verify_action_digest(document, old, never, ROTATED)
    assert not verify_action_digest(document, ActionDigest(ROTATED.secret_id, old.value), sign, ROTATED)


@requirement("actions.verify")
def test_the_key_of_another_domain_is_another_key() -> None:
    document = bind_action(PAY, ARGUMENTS, ADA)

    assert not verify_action_digest(document, action_digest(document, sign, KEY), sign, BETA)


@requirement("actions.verify", "actions.digest-form")
@pytest.mark.parametrize(
    "digest",
    [
        None,
        "",
        {},
        [],
        {"algorithm": "hmac-sha-256", "value": "A" * 43},
        {"algorithm": "hmac-sha-1", "keyRef": {"secretId": KEY.secret_id}, "value": "A" * 43},
        {"algorithm": "hmac-sha-256", "keyRef": {"secretId": KEY.secret_id}, "value": "A" * 42},
        {"algorithm": "hmac-sha-256", "keyRef": {"secretId": KEY.secret_id}, "value": 7},
        {"algorithm": "hmac-sha-256", "keyRef": {"secretId": KEY.secret_id, "extra": 1}, "value": "A" * 43},
        {"algorithm": "hmac-sha-256", "keyRef": {"secretId": KEY.secret_id}, "value": "A" * 43, "extra": 1},
        {"algorithm": "hmac-sha-256", "keyRef": {"secretId": "with space"}, "value": "A" * 43},
    ],
)
def test_what_is_no_digest_does_not_verify_and_no_key_is_asked_for(digest: object) -> None:
    assert not verify_action_digest(bind_action(PAY, ARGUMENTS), digest, never, KEY)
    with pytest.raises(ValueError, match=r"an action digest must be|must be 32 bytes|give 1 to 255"):
        ActionDigest.from_json(digest)


@requirement("actions.digest-form")
@given(st.binary(min_size=32, max_size=32))
def test_a_digest_comes_back_from_json(mac: bytes) -> None:
    digest = ActionDigest.of(mac, "vault:a")

    assert ActionDigest.from_json(json.loads(json.dumps(digest.to_json()))) == digest


@requirement("actions.key-names")
@pytest.mark.parametrize("name", ["", " ", "a b", "a\n", "é", "a" * 256, None, b"a"])
def test_a_key_has_a_printable_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"^security_domain is .*; give 1 to 255 printable ASCII characters"):
        KeyRef(name, "a")
    with pytest.raises(ValueError, match=r"^secret_id is "):
        KeyRef("a", name)
    with pytest.raises(ValueError, match=r"^secret_id is "):
        ActionDigest(name, "A" * 43)


@requirement("actions.key-names")
def test_no_key_shows_in_anything() -> None:
    document = bind_action(PAY, ARGUMENTS, ADA)
    digest = action_digest(document, sign, KEY)

    secret = SECRETS[KEY].decode()
    assert all(secret not in text for text in (repr(document), repr(digest), repr(KEY), json.dumps(digest.to_json())))
