from __future__ import annotations

import base64
import copy
import gc
import hashlib
import hmac
import json
import logging
import pickle
import re
import traceback
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Final

import attrs
import cattrs
import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import DefinitionError, JsonError
from armory_trio.authority import KeyRef
from armory_trio.authority.signing import (
    KeyResolver,
    Keyring,
    Purpose,
    Signature,
    SignatureCode,
    SignatureError,
    SigningKey,
    sign,
    sign_with,
    verify,
    verify_with,
)
from armory_trio.definitions import canonical_bytes
from tests.requirements import requirement

SECRET: Final = b"the-secret-that-nobody-may-ever-see"
DOCUMENT: Final = {"tool": "charge", "arguments": {"cents": 100}, "note": "fünf €"}
DOMAIN: Final = "tenant:acme"
NEW: Final = SigningKey("2026-09", SECRET)
OLD: Final = SigningKey("2026-08", b"old")
KEYS: Final = Keyring({DOMAIN: [NEW, OLD], "tenant:beta": [SigningKey("2026-09", b"beta")]})


def signed(key: SigningKey = NEW, purpose: Purpose = "approval", domain: str = DOMAIN) -> Signature:
    return sign_with(key, purpose, DOCUMENT, domain=domain)


async def code_of(
    signature: Signature | str,
    *,
    keys: KeyResolver = KEYS,
    purpose: Purpose = "approval",
    document: object = DOCUMENT,
    domain: str = DOMAIN,
) -> SignatureCode | None:
    """The code with which *signature* is refused, or None when it counts."""
    try:
        await verify(keys, purpose, document, signature, domain=domain)
    except SignatureError as error:
        return error.code
    return None


# ── What is signed ───────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("signing.golden")
@pytest.mark.parametrize(
    ("key", "message", "mac"),
    [
        (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            b"\xaa" * 131,
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        (
            b"test-secret",
            (
                b'{"action":{"message":"Approve charge","type":"approval"},"arguments":{"cents":100},"callId":"tool-call-1",'
                b'"metadata":{"mutates":true},"policyPauseTier":"registry","reason":"Operator approval required",'
                b'"toolName":"charge-card"}'
            ),
            "cec748f4f119d43691ced0a269c64972ebb7c6158eb2cc09c932aa575abc0716",
        ),
    ],
)
def test_the_mac_is_hmac_sha256(key: bytes, message: bytes, mac: str) -> None:
    assert SigningKey("k", key).mac(message).hex() == mac


@requirement("signing.golden", "signing.purposes")
def test_the_layout_of_what_is_signed_is_fixed() -> None:
    label = b"armory-trio\x001\x00approval\x00tenant:acme\x002026-09\x00"
    by_hand = hmac.new(SECRET, label + canonical_bytes(DOCUMENT, mode="interop"), hashlib.sha256).digest()

    assert signed().mac == base64.urlsafe_b64encode(by_hand).decode().rstrip("=")
    assert signed().text == "v1:YLuUNquaWoZwRiaAPi-w4n83a_h4RgpT0wucEVtwIgs:2026-09"


@requirement("signing.canonical")
def test_equal_documents_have_one_signature() -> None:
    reordered = json.loads(json.dumps(dict(reversed(DOCUMENT.items()))))
    reordered["arguments"]["cents"] = 100.0

    verify_with(NEW, "approval", reordered, signed(), domain=DOMAIN)


@requirement("signing.canonical")
def test_what_readers_could_take_for_different_things_is_not_signed() -> None:
    with pytest.raises(JsonError):
        sign_with(NEW, "approval", {"id": 2**53}, domain=DOMAIN)


@requirement("signing.purposes")
async def test_a_signature_counts_for_its_purpose_domain_and_key_only() -> None:
    same_bytes = Keyring({"other": [SigningKey("2026-09", SECRET), SigningKey("2026-08", SECRET)]})
    renamed = msgspec.structs.replace(signed(), key_id="2026-08")

    assert await code_of(signed()) is None
    assert await code_of(signed(), purpose="grant") == "mismatch"
    assert await code_of(signed(), domain="tenant:beta") == "mismatch"
    assert await code_of(signed(), keys=same_bytes, domain="other") == "mismatch"
    assert await code_of(renamed, keys=same_bytes, domain="other") == "mismatch"
    assert await code_of(signed(), domain="tenant:nobody") == "unknown-key"


@requirement("signing.purposes")
async def test_a_signature_without_a_label_counts_for_nothing() -> None:
    bare = NEW.mac(canonical_bytes(DOCUMENT, mode="interop"))

    assert await code_of(Signature(1, base64.urlsafe_b64encode(bare).decode().rstrip("="), NEW.id)) == "mismatch"


@requirement("signing.purposes")
async def test_a_signature_of_another_version_does_not_count() -> None:
    assert await code_of(msgspec.structs.replace(signed(), version=2)) == "unknown-version"


_LEAVES: Final = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text("aé😀")
_DOCUMENTS: Final = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner))


@requirement("signing.tampering")
@given(_DOCUMENTS, _DOCUMENTS)
def test_a_signature_counts_for_its_document_and_for_no_other(one: object, other: object) -> None:
    signature = sign_with(NEW, "grant", one, domain=DOMAIN)
    verify_with(NEW, "grant", one, signature, domain=DOMAIN)

    if canonical_bytes(one, mode="interop") != canonical_bytes(other, mode="interop"):
        with pytest.raises(SignatureError, match="mismatch"):
            verify_with(NEW, "grant", other, signature, domain=DOMAIN)


@requirement("signing.tampering")
async def test_no_other_mac_counts_not_even_one_that_decodes_to_the_same_bytes() -> None:
    mac, alphabet = signed().mac, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for place in (0, 20, 42):
        for letter in alphabet.replace(mac[place], ""):
            forged = msgspec.structs.replace(signed(), mac=mac[:place] + letter + mac[place + 1 :])
            assert await code_of(forged) == "mismatch"


@requirement("signing.tampering")
@pytest.mark.parametrize(
    "text",
    [
        "forged",
        "",
        None,
        5,
        "v1:short:2026-09",
        "v0:" + "A" * 43 + ":k",
        "v1:" + "A" * 43 + ":",
        "v1:" + "A" * 43 + ":a key",
        "v1:" + "A" * 43 + ":k\n",
        "v1:" + "é" * 43 + ":k",
        "\ud800",
    ],
)
async def test_what_is_no_signature_is_refused_with_its_shape(text: str) -> None:
    assert await code_of(text) == "malformed"


@requirement("signing.tampering")
@pytest.mark.parametrize("mac", ["", "é" * 43, "\ud800", "A" * 44])
def test_a_signature_made_by_hand_is_no_way_around(mac: str) -> None:
    with pytest.raises(SignatureError, match="mismatch"):
        verify_with(NEW, "approval", DOCUMENT, Signature(1, mac, NEW.id), domain=DOMAIN)


@requirement("signing.constant-time")
def test_macs_are_compared_in_constant_time_whether_they_agree_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def watching(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("armory_trio.authority._signing.hmac.compare_digest", watching)
    right, wrong = signed(), msgspec.structs.replace(signed(), mac="A" * 43)
    verify_with(NEW, "approval", DOCUMENT, right, domain=DOMAIN)
    with pytest.raises(SignatureError):
        verify_with(NEW, "approval", DOCUMENT, wrong, domain=DOMAIN)

    assert compared == [(right.mac.encode(), right.mac.encode()), (right.mac.encode(), b"A" * 43)]


# ── Which key ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("signing.rotation")
async def test_one_key_signs_and_all_that_are_left_verify() -> None:
    before = Keyring({DOMAIN: [OLD]})
    after = Keyring({DOMAIN: [NEW]})
    old = await sign(before, "approval", DOCUMENT, domain=DOMAIN)
    new = await sign(KEYS, "approval", DOCUMENT, domain=DOMAIN)

    assert (old.key_id, new.key_id) == ("2026-08", "2026-09")
    assert [await code_of(old, keys=keys) for keys in (before, KEYS, after)] == [None, None, "unknown-key"]
    assert [await code_of(new.text, keys=keys) for keys in (before, KEYS, after)] == ["unknown-key", None, None]


@requirement("signing.domains")
async def test_keys_are_found_by_domain_and_id() -> None:
    beta = await sign(KEYS, "approval", DOCUMENT, domain="tenant:beta")

    assert beta.key_id == "2026-09"
    assert await code_of(beta, domain="tenant:beta") is None
    assert await code_of(beta) == "mismatch"
    with pytest.raises(SignatureError, match="no-signing-key: no key signs in the domain 'tenant:nobody'"):
        await sign(KEYS, "approval", DOCUMENT, domain="tenant:nobody")


@requirement("signing.domains")
def test_a_keyring_makes_the_macs_of_action_digests() -> None:
    document = b'{"arguments":{}}'

    assert KEYS.mac(document, KeyRef(DOMAIN, "2026-08")) == hmac.digest(b"old", document, "sha256")
    with pytest.raises(LookupError, match="no key '2026-08' in the domain 'tenant:beta'"):
        KEYS.mac(document, KeyRef("tenant:beta", "2026-08"))


class Vault:
    """Keys that have to be fetched."""

    async def signing_key(self, domain: str, /) -> SigningKey | None:
        return await self.key(domain, "2026-09")

    async def key(self, domain: str, key_id: str, /) -> SigningKey | None:
        await trio.lowlevel.checkpoint()
        return KEYS.key(domain, key_id)


@requirement("signing.resolver")
async def test_a_resolver_may_answer_later() -> None:
    signature = await sign(Vault(), "receipt", DOCUMENT, domain=DOMAIN)

    assert await code_of(signature, keys=Vault(), purpose="receipt") is None
    assert await code_of(signature, keys=Vault(), purpose="receipt", domain="nowhere") == "unknown-key"


class Answering:
    """A resolver with one answer for everything."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def signing_key(self, domain: str, /) -> SigningKey:
        return self.answer  # type: ignore[return-value]

    def key(self, domain: str, key_id: str, /) -> SigningKey:
        return self.answer  # type: ignore[return-value]


@requirement("signing.resolver")
async def test_a_resolver_that_answers_another_key_is_not_believed() -> None:
    assert await code_of(signed(), keys=Answering(OLD)) == "wrong-key"


@requirement("signing.resolver", "signing.secret")
@pytest.mark.parametrize("answer", [SECRET, SECRET.decode()])
async def test_a_bare_secret_is_no_key_and_is_not_quoted(answer: object) -> None:
    resolver = Answering(answer)
    with pytest.raises(SignatureError, match=r"^wrong-key: the resolver answered a (bytes|str), not a SigningKey$"):
        await verify(resolver, "approval", DOCUMENT, signed(), domain=DOMAIN)
    with pytest.raises(SignatureError, match="wrong-key"):
        await sign(resolver, "approval", DOCUMENT, domain=DOMAIN)


@requirement("signing.resolver")
async def test_what_a_resolver_raises_passes_through() -> None:
    class Broken(Answering):
        def key(self, domain: str, key_id: str, /) -> SigningKey:
            raise ConnectionError("the vault is down")

    with pytest.raises(ConnectionError):
        await code_of(signed(), keys=Broken(None))


@requirement("signing.text")
@given(
    st.integers(1, 9999),
    st.binary(min_size=32, max_size=32),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255),
)
def test_a_signature_is_one_line_and_can_be_read_back(version: int, mac: bytes, key_id: str) -> None:
    signature = Signature(version, base64.urlsafe_b64encode(mac).decode().rstrip("="), key_id)

    assert Signature.parse(signature.text) == signature
    assert msgspec.json.decode(msgspec.json.encode(signature), type=Signature) == signature


# ── Keys do not show ─────────────────────────────────────────────────────────────────────────────────────────────────


def reachable(root: object) -> list[object]:
    """Everything that can be reached from *root* by references, but for modules, functions and classes."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, ModuleType | FunctionType | type):
            continue
        seen[id(thing)] = thing
        waiting += gc.get_referents(thing)
    return list(seen.values())


def holds_secret(thing: object, secret: bytes) -> bool:
    """Whether *thing* is text or bytes with *secret* in it, in any of the spellings that a leak would have."""
    spellings = (secret, secret.hex().encode(), base64.b64encode(secret), base64.urlsafe_b64encode(secret))
    text = thing.encode("utf-8", "replace") if isinstance(thing, str) else thing
    return isinstance(text, bytes | bytearray) and any(spelling in text for spelling in spellings)


def fresh() -> tuple[bytes, SigningKey]:
    secret = b"-".join([b"secret", SECRET])
    return secret, SigningKey("2026-09", secret)


@requirement("signing.secret")
@pytest.mark.parametrize("shape", [bytes, bytes.decode, bytearray, memoryview])
def test_the_secret_is_in_no_object_that_a_key_or_a_ring_refers_to(shape: Callable[[bytes], bytes | str]) -> None:
    secret = b"-".join([b"secret", SECRET])
    key = SigningKey("2026-09", shape(secret))
    ring = Keyring({DOMAIN: [key]})
    ring.mac(b"used", KeyRef(DOMAIN, key.id))

    assert key in reachable(ring)
    assert [thing for thing in reachable(ring) if holds_secret(thing, secret)] == []
    assert [thing for thing in reachable([secret]) if holds_secret(thing, secret)] == [secret]  # it would be seen


@requirement("signing.secret")
@pytest.mark.parametrize("show", [repr, str, ascii, "{}".format, "%r".__mod__])
def test_no_text_of_a_key_or_a_ring_holds_the_secret(show: Callable[[object], str]) -> None:
    secret, key = fresh()

    assert "2026-09" in show(key)
    assert not holds_secret(show(key) + show(Keyring({DOMAIN: [key]})), secret)


@requirement("signing.secret")
def test_attributes_of_a_key_do_not_hold_the_secret() -> None:
    secret, key = fresh()

    for name in dir(key):
        assert not holds_secret(getattr(key, name, None), secret)
        assert not holds_secret(repr(getattr(key, name, None)), secret)
    with pytest.raises(TypeError):
        vars(key)


@requirement("signing.secret")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_key_is_not_pickled_alone_or_in_a_ring(protocol: int) -> None:
    _, key = fresh()

    for holder in (key, [key], Keyring({DOMAIN: [key]})):
        with pytest.raises(TypeError, match=r"a (SigningKey|Keyring) can't be pickled"):
            pickle.dumps(holder, protocol)


@requirement("signing.secret")
def test_a_copy_of_a_key_is_the_key() -> None:
    _, key = fresh()

    assert copy.copy(key) is copy.deepcopy(key) is key
    assert copy.deepcopy({"keys": [key]})["keys"][0] is key
    ring = Keyring({DOMAIN: [key]})
    assert copy.copy(ring) is copy.deepcopy(ring) is ring


@attrs.frozen
class Settings:
    key: SigningKey


@requirement("signing.secret")
def test_no_encoder_writes_a_key_down() -> None:
    secret, key = fresh()
    settings = Settings(key)

    for encode in (json.dumps, msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins):
        with pytest.raises(TypeError):
            encode(key)
    assert not holds_secret(json.dumps(key, default=repr), secret)
    assert [thing for thing in reachable(attrs.asdict(settings)) if holds_secret(thing, secret)] == []
    assert [thing for thing in reachable(cattrs.unstructure(settings)) if holds_secret(thing, secret)] == []


@requirement("signing.secret")
async def test_neither_logs_nor_errors_hold_the_secret(caplog: pytest.LogCaptureFixture) -> None:
    secret, key = fresh()
    ring = Keyring({DOMAIN: [key]})
    with pytest.raises(SignatureError) as refused:
        await verify(ring, "grant", DOCUMENT, sign_with(key, "approval", DOCUMENT, domain=DOMAIN), domain=DOMAIN)
    logging.getLogger("test").error("refused: %r %s", key, ring, exc_info=refused.value)
    told = "".join(traceback.TracebackException.from_exception(refused.value).format())
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(refused.value.__traceback__)][1:]

    assert "refused" in caplog.text and not holds_secret(caplog.text + told, secret)
    assert [thing for thing in reachable(frames) if holds_secret(thing, secret)] == []


@requirement("signing.secret", "signing.settings")
@pytest.mark.parametrize(
    ("id", "secret", "told"),
    [
        ("", "SECRET", "SigningKey: id: must be 1 to 255 printable ASCII characters without spaces"),
        ("two words", "SECRET", "SigningKey: id: must be 1 to 255"),
        (b"SECRET", "2026-09", "SigningKey: id: must be 1 to 255"),
        ("k", "", "SigningKey: secret: is empty"),
        ("k", b"", "SigningKey: secret: is empty"),
        ("k", None, "SigningKey: secret: must be bytes or text, not None"),
        ("k", ["SECRET"], "SigningKey: secret: must be bytes or text, not a list"),
        ("k", "SECRET\ud800", "SigningKey: secret: must be text that UTF-8 can say, or bytes"),
    ],
)
def test_a_key_made_wrongly_says_so_without_quoting_it(id: object, secret: object, told: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(told)) as refused:
        SigningKey(id, secret)  # type: ignore[arg-type]

    inside = [frame.f_locals for frame, _ in traceback.walk_tb(refused.value.__traceback__)][1:]
    assert "SECRET" not in str(refused.value) + repr(inside)


@requirement("signing.settings")
@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"two words": [NEW]}, "Keyring: domain: must be 1 to 255 printable ASCII characters"),
        ({DOMAIN: []}, f"Keyring: {DOMAIN}: must be a list of SigningKey objects, and not empty"),
        ({DOMAIN: NEW}, f"Keyring: {DOMAIN}: must be a list of SigningKey objects, not a SigningKey"),
        ({DOMAIN: "SECRET"}, f"Keyring: {DOMAIN}: must be a list of SigningKey objects, not a str"),
        ({DOMAIN: [b"SECRET"]}, f"Keyring: {DOMAIN}: must be a list of SigningKey objects, and one is a bytes"),
        ({DOMAIN: [NEW, SigningKey("2026-09", b"x")]}, f"Keyring: {DOMAIN}: has two keys of the id '2026-09'"),
        ({DOMAIN: [NEW], "b": [NEW]}, f"Keyring: b: shares the secret of '2026-09' with '{DOMAIN}'"),
        ({DOMAIN: [NEW], "b": [SigningKey("b", SECRET)]}, f"Keyring: b: shares the secret of 'b' with '{DOMAIN}'"),
        ([NEW], "Keyring: keys: must map domains to keys, not be a list"),
    ],
)
def test_a_ring_made_wrongly_says_so_without_quoting_a_key(keys: object, told: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(told)) as refused:
        Keyring(keys)  # type: ignore[arg-type]

    assert "SECRET" not in str(refused.value)


@requirement("signing.settings")
async def test_an_unknown_purpose_or_a_domain_without_a_name_is_a_mistake() -> None:
    with pytest.raises(DefinitionError, match="signature: purpose: 'approvals' is not one of approval, grant, receipt"):
        await sign(KEYS, "approvals", DOCUMENT, domain=DOMAIN)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="signature: domain: must be 1 to 255"):
        await verify(KEYS, "approval", DOCUMENT, signed(), domain="")
