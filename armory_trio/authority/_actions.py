"""What exactly would be done: one text for equal actions, and the digest that binds decisions to it. Pure.

Keys never come here: whoever holds them answers a MAC of the bytes that it is given, and nothing else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from hmac import compare_digest
from typing import Final, cast

import msgspec

from ..definitions import RequestContext, ToolDefinition, canonical_text, schema_digest, sha256_hex
from ..definitions._checks import a_kind, shown
from ..errors import JsonError

PROFILE: Final = "llm-core.action/v1"
"""The layout of action documents, as they name it themselves."""

ALGORITHM: Final = "hmac-sha-256"

_REFERENCE: Final = "[!-~]{1,255}"
_DIGEST: Final = "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
"""32 bytes in base64url. The last character has two bits to spare, which must be 0: one digest, one text."""
_SHA256: Final = "[0-9a-f]{64}"
_DEFAULT: Final = "default:"


class ActionDocument(msgspec.Struct, frozen=True, gc=False):
    """An action in its canonical form: equal actions have equal texts, and any difference that counts shows in it.

    Args:
        text: The canonical text, RFC 8785. Made by `bind_action`.
    """

    text: str

    @property
    def message(self) -> bytes:
        """What is signed: the UTF-8 bytes of the text, and nothing else."""
        return self.text.encode()

    @property
    def sha256(self) -> str:
        """SHA-256 of the message, as 64 hexadecimal digits. Anybody can make one; a decision needs an `ActionDigest`."""
        return sha256_hex(self.text)

    def to_json(self) -> dict[str, object]:
        """The document as a JSON object, the caller's to change."""
        return msgspec.json.decode(self.text, type=dict[str, object])


class KeyRef(msgspec.Struct, frozen=True, gc=False):
    """Which key is meant, without the key.

    Args:
        security_domain: Within which keys are told apart, such as a tenant. It is not part of what is signed, so two
            domains must never share a key.
        secret_id: The name of the key there. A key that follows another has another name.

    Raises:
        ValueError: One of them is not 1 to 255 printable ASCII characters without spaces.
    """

    security_domain: str
    secret_id: str

    def __post_init__(self) -> None:
        _check_reference("security_domain", self.security_domain)
        _check_reference("secret_id", self.secret_id)


Mac = Callable[[bytes, KeyRef], bytes]
"""Whoever holds the keys: answers the 32 bytes of HMAC-SHA-256 of a message, with the key that is meant."""


class ActionDigest(msgspec.Struct, frozen=True, gc=False):
    """What a decision about an action refers to: policy, approval and receipt carry the same one.

    Args:
        secret_id: The key that it was made with.
        value: The MAC in base64url without padding, 43 characters.

    Raises:
        ValueError: The value is no such text, or the name of the key is none.
    """

    secret_id: str
    value: str

    def __post_init__(self) -> None:
        _check_reference("secret_id", self.secret_id)
        if not _is(self.value, _DIGEST):
            raise ValueError(f"value is {shown(self.value)}; it must be 32 bytes in base64url, 43 characters")

    @classmethod
    def of(cls, mac: bytes, secret_id: str) -> ActionDigest:
        """The digest for a MAC that was made elsewhere, such as by a service that has to be awaited.

        Raises:
            TypeError: *mac* is not 32 bytes.
            ValueError: *secret_id* is no name of a key.
        """
        if not isinstance(cast("object", mac), bytes) or len(mac) != 32:
            raise TypeError("a MAC must be the 32 bytes of HMAC-SHA-256")
        return cls(secret_id, base64.urlsafe_b64encode(mac).rstrip(b"=").decode())

    def to_json(self) -> dict[str, object]:
        """The JSON object that stands in approvals and receipts."""
        return {"algorithm": ALGORITHM, "keyRef": {"secretId": self.secret_id}, "value": self.value}

    @classmethod
    def from_json(cls, document: object) -> ActionDigest:
        """Read what `to_json` wrote.

        Raises:
            ValueError: It is something else.
        """
        match document:
            case {"keyRef": {"secretId": str(secret)}, "value": str(value)}:
                digest = cls(secret, value)
                if digest.to_json() == document:
                    return digest
            case _:
                pass
        wanted = '{"algorithm": "hmac-sha-256", "keyRef": {"secretId": ...}, "value": ...}'
        raise ValueError(f"an action digest must be {wanted}, not {shown(document)}")


def bind_action(
    definition: ToolDefinition,
    arguments: object,
    request_context: RequestContext | None = None,
    *,
    input_schema_digest: str | None = None,
) -> ActionDocument:
    """Say what exactly would be done: which tool, to what, with which arguments, and with whose authority.

    Two actions are equal when their tool's id, version, input schema, effect class, targets and semantics, their
    arguments, and their tenant, principal and chain of delegation are. Nothing else is in it: no call, run, session or
    request, no key, no description, no decision, no time and no credential.

    Args:
        definition: The tool. One without a version is bound as such, with ``null``.
        arguments: The validated arguments as JSON, defaults filled in.
        request_context: On whose behalf; None binds to nobody.
        input_schema_digest: SHA-256 of the input schema, 64 hexadecimal digits, if it is known already.

    Raises:
        JsonError: The arguments hold something that not every reader takes for the same, such as an integer of 2**53.
            It carries the path within the arguments, and says how to pass it instead.
        ValueError: *input_schema_digest* is no digest.
        TypeError: *definition* or *request_context* is something else.
    """
    _check_parts(definition, request_context)
    digest = _schema_digest(definition) if input_schema_digest is None else input_schema_digest
    if not _is(digest, _SHA256):
        raise ValueError(f"input_schema_digest is {shown(digest)}; give 64 hexadecimal digits in lower case")
    effect, classification = definition.effect, definition.classification
    document: dict[str, object] = {
        "arguments": arguments,
        "authority": _authority(request_context),
        "contractProfile": PROFILE,
        "effect": {
            "class": classification.effect_class,
            "targets": [] if effect is None else [target.wire() for target in effect.targets],
        },
        "execution": definition.semantics.wire(),
        "tool": {
            "id": definition.id.text.partition("@")[0].removeprefix(_DEFAULT),
            "inputSchemaDigest": {"algorithm": "sha-256", "value": digest},
            "version": definition.id.version,
        },
    }
    try:
        return ActionDocument(canonical_text(document, mode="interop"))
    except JsonError as error:
        root, *path = error.path
        raise JsonError(error.code, tuple(path), error.detail, root=str(root)) from error


def action_digest(document: ActionDocument, mac: Mac, key: KeyRef) -> ActionDigest:
    """The digest of an action, made with the key that *key* means.

    Args:
        document: What `bind_action` answered.
        mac: Whoever holds the keys. What it raises is passed on.
        key: Which one.

    Raises:
        TypeError: *mac* answered something else than 32 bytes, or *document* or *key* is something else.
    """
    _check_signed(document, key)
    return ActionDigest.of(mac(document.message, key), key.secret_id)


def verify_action_digest(document: ActionDocument, digest: object, mac: Mac, key: KeyRef) -> bool:
    """Whether *digest* was made of this very action with this very key.

    After a key was replaced, its digests verify with the old reference and never with the new one: pass the one that
    stands in the digest, if it is one that you still trust.

    Args:
        document: What would be done now, bound anew.
        digest: An `ActionDigest` or its JSON form. Anything else, and a digest of another key, is False and *mac* is
            not asked.
        mac: Whoever holds the keys. What it raises is passed on.
        key: The key that is trusted.

    Raises:
        TypeError: *mac* answered something else than 32 bytes, or *document* or *key* is something else.
    """
    _check_signed(document, key)
    try:
        given = digest if isinstance(digest, ActionDigest) else ActionDigest.from_json(digest)
    except ValueError:
        return False
    if given.secret_id != key.secret_id:
        return False
    return compare_digest(given.value, action_digest(document, mac, key).value)


def _authority(context: RequestContext | None) -> dict[str, object]:
    if context is None:
        return {}
    said: dict[str, object] = {
        "delegationChain": None if context.delegation is None else list(context.delegation),
        "principalId": context.principal,
        "tenantId": context.tenant,
    }
    return {name: value for name, value in said.items() if value is not None}


def _schema_digest(definition: ToolDefinition) -> str:
    try:
        return schema_digest(definition.input_schema)
    except JsonError:  # a bound of 2**63, say: only its digest goes into the document
        return sha256_hex(canonical_text(definition.input_schema, mode="exact"))


def _check_parts(definition: object, request_context: object) -> None:
    if not isinstance(definition, ToolDefinition):
        raise TypeError(f"bind_action takes a ToolDefinition, not {shown(definition)}; a tool has one: .definition")
    if not isinstance(request_context, RequestContext | None):
        raise TypeError(f"request_context is {shown(request_context)}; give a RequestContext or None")


def _check_signed(document: object, key: object) -> None:
    if not isinstance(document, ActionDocument):
        raise TypeError(f"document is {shown(document)}; give what bind_action answered")
    if not isinstance(key, KeyRef):
        raise TypeError(f"key is {a_kind(key)}; give a KeyRef")


def _check_reference(field: str, value: object) -> None:
    if not _is(value, _REFERENCE):
        raise ValueError(f"{field} is {shown(value)}; give 1 to 255 printable ASCII characters without spaces")


def _is(value: object, pattern: str) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None
