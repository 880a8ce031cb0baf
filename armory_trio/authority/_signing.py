r"""Signatures of JSON documents: HMAC-SHA256 over a label that says what they are for.

What is signed is, each but the last ended by a zero byte: ``armory-trio``, the version of the purpose, the purpose, the
security domain, the id of the key, and the canonical text of the document (``interop``, UTF-8). So a signature of one
purpose, domain or key counts for no other.
"""

from __future__ import annotations

import base64
import hmac
import inspect
import re
from collections.abc import Awaitable, Mapping
from typing import Final, Literal, cast, get_args

import msgspec

from ..definitions._canonical import canonical_bytes
from ..definitions._checks import a_kind, one_of, shown
from ..errors import ArmoryError
from ._keys import KeyResolver, SigningKey, is_key, reference

Purpose = Literal["approval", "grant", "receipt"]
"""What a signature is for."""

SignatureCode = Literal["malformed", "unknown-version", "unknown-key", "mismatch", "no-signing-key", "wrong-key"]

VERSIONS: Final[Mapping[Purpose, int]] = {"approval": 1, "grant": 1, "receipt": 1}
"""The version of each purpose. It is raised when what its documents mean changes; older signatures count no more."""

_TEXT: Final = "v([1-9][0-9]{0,3}):([A-Za-z0-9_-]{43}):([!-~]{1,255})"


class SignatureError(ArmoryError):
    """A document could not be signed, or its signature does not count.

    Args:
        code: ``malformed``: the text is no signature. ``unknown-version``: it is of another version. ``unknown-key``:
            its key is unknown in this domain, or retired. ``mismatch``: the document, the purpose, the domain or the
            key is another one. ``no-signing-key``: nothing can be signed in this domain. ``wrong-key``: the resolver
            answered something else than the key that was asked for.
        detail: What was wrong, and what would be right. Nothing secret.
    """

    __module__ = "armory_trio.authority.signing"

    def __init__(self, code: SignatureCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: SignatureCode = code
        self.detail = detail


class Signature(msgspec.Struct, frozen=True):
    """What a key says of a document.

    Args:
        version: The version of its purpose.
        mac: 43 characters of base64url without padding.
        key_id: The id of the key.
    """

    version: int
    mac: str
    key_id: str

    @property
    def text(self) -> str:
        """One line of ASCII: ``v1:<mac>:<key id>``."""
        return f"v{self.version}:{self.mac}:{self.key_id}"

    @classmethod
    def parse(cls, text: object) -> Signature:
        """Read what `text` wrote.

        Raises:
            SignatureError: It is no signature (``malformed``).
        """
        found = re.fullmatch(_TEXT, text) if isinstance(text, str) else None
        if found is None:
            raise SignatureError("malformed", f"must be v<version>:<43 characters>:<key id>, not {shown(text)}")
        return cls(int(found[1]), found[2], found[3])


def sign_with(key: SigningKey, purpose: Purpose, document: object, *, domain: str) -> Signature:
    """Sign the JSON value *document*.

    Args:
        key: The key.
        purpose: What the signature is for.
        document: What is signed. Without its signature, if it is to carry that.
        domain: The security domain, such as ``tenant:acme``.

    Raises:
        DefinitionError: The purpose is unknown, or the domain is no name.
        JsonError: The document can't be said in canonical JSON that every reader understands alike.
    """
    version = _version(purpose)
    return Signature(version, _mac(key, version, purpose, document, domain), key.id)


def verify_with(key: SigningKey, purpose: Purpose, document: object, signature: Signature, *, domain: str) -> None:
    """Return if *signature* is that of *document* by *key*; compared in constant time.

    Raises:
        SignatureError: It is not (``mismatch``, ``unknown-version``).
        DefinitionError: The purpose is unknown, or the domain is no name.
        JsonError: As for `sign_with`.
    """
    version = _version(purpose)
    if signature.version != version:
        detail = f"a signature for {purpose!r} is of version {version}, not {signature.version}"
        raise SignatureError("unknown-version", detail)
    expected = _mac(key, version, purpose, document, domain)
    same = hmac.compare_digest(expected.encode(), signature.mac.encode("utf-8", "surrogatepass"))
    if not same or signature.key_id != key.id:
        raise SignatureError(
            "mismatch", f"this is not the signature of key {key.id!r} for this {purpose} in {domain!r}"
        )


async def sign(keys: KeyResolver, purpose: Purpose, document: object, *, domain: str) -> Signature:
    """Sign with the key that signs in *domain* now. Takes no checkpoint unless the resolver answers later.

    Raises:
        SignatureError: There is none (``no-signing-key``, ``wrong-key``). What the resolver raises passes through.
        DefinitionError, JsonError: As for `sign_with`.
    """
    _version(purpose)
    key = await _found(keys.signing_key(reference("signature", "domain", domain)))
    if key is None:
        raise SignatureError("no-signing-key", f"no key signs in the domain {domain!r}")
    return sign_with(key, purpose, document, domain=domain)


async def verify(
    keys: KeyResolver, purpose: Purpose, document: object, signature: Signature | str, *, domain: str
) -> None:
    """Return if *signature* is that of *document*. Takes no checkpoint unless the resolver answers later.

    Args:
        keys: Where its key is found.
        purpose: What it must be for.
        document: What must have been signed.
        signature: The signature, or its text.
        domain: The security domain in which it must have been made.

    Raises:
        SignatureError: It does not count. What the resolver raises passes through.
        DefinitionError, JsonError: As for `sign_with`.
    """
    _version(purpose)
    claimed = Signature.parse(signature.text if isinstance(signature, Signature) else signature)
    key = await _found(keys.key(reference("signature", "domain", domain), claimed.key_id))
    if key is None:
        raise SignatureError("unknown-key", f"the key {claimed.key_id!r} does not verify in the domain {domain!r}")
    if key.id != claimed.key_id:
        raise SignatureError("wrong-key", f"the resolver answered {key.id!r} for the key {claimed.key_id!r}")
    verify_with(key, purpose, document, claimed, domain=domain)


def _version(purpose: Purpose) -> int:
    one_of("signature", "purpose", purpose, get_args(Purpose))
    return VERSIONS[purpose]


def _mac(key: SigningKey, version: int, purpose: Purpose, document: object, domain: str) -> str:
    reference("signature", "domain", domain)
    label = "\0".join(("armory-trio", str(version), purpose, domain, key.id, "")).encode()
    return base64.urlsafe_b64encode(key.mac(label + canonical_bytes(document, mode="interop"))).rstrip(b"=").decode()


async def _found(answer: SigningKey | Awaitable[SigningKey | None] | None) -> SigningKey | None:
    found = cast("object", (await answer) if inspect.isawaitable(answer) else answer)
    if found is None or is_key(found):
        return found
    # It may be a bare secret: only its type is told.
    raise SignatureError("wrong-key", f"the resolver answered {a_kind(found)}, not a SigningKey")
