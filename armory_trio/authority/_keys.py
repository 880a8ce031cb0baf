"""Secret keys that sign and never show: who holds one can use it, and cannot read it.

What is kept is the state of an HMAC that has taken the key in. The bytes of the key are in no attribute of any object.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn, Protocol, Self, TypeGuard, cast, final

from ..definitions._checks import a_kind, shown
from ..errors import DefinitionError
from ._actions import KeyRef

_WANTED: Final = "1 to 255 printable ASCII characters without spaces"
_SAME: Final = b"armory-trio\0the same key"
"""Keys that answer this alike are one. It has no version where those of signatures stand, so it is the MAC of none."""


def reference(subject: str, field: str, value: object) -> str:
    """Refuse *value* unless it names a security domain or a key: 1 to 255 printable ASCII characters, no spaces."""
    if not _is_reference(value):
        raise DefinitionError(subject, field, f"must be {_WANTED}, not {shown(value)}")
    return value


def _is_reference(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and re.fullmatch("[!-~]{1,255}", value) is not None


class _Unwritable:
    """Is never pickled, and a copy of it is the same object."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{a_kind(self)} can't be pickled: make it from the secrets where it is needed")


@final
class SigningKey(_Unwritable):
    """A secret key of HMAC-SHA256. It can't be read back, compared by value, pickled or encoded.

    A copy of it is the same object.

    Args:
        id: What the key is called: 1 to 255 printable ASCII characters without spaces. It stands in signatures.
        secret: The key: bytes, or text that is taken as UTF-8. 32 random bytes are a good one.

    Raises:
        DefinitionError: The id is no name, or the secret is empty or of another type. It is never quoted.
    """

    __slots__ = ("_id", "_keyed")

    def __init__(self, id: str, secret: bytes | str) -> None:
        self._id = "?"
        keyed, wrong = _keyed(secret)
        named = _is_reference(id)
        del secret  # so that no traceback that shows local variables can hold it
        if not named:
            del id  # the two may have been exchanged
            raise DefinitionError("SigningKey", "id", f"must be {_WANTED}")
        if keyed is None:
            raise DefinitionError("SigningKey", "secret", wrong)
        self._id = id
        self._keyed = keyed

    @property
    def id(self) -> str:
        """What the key is called."""
        return self._id

    def mac(self, message: bytes) -> bytes:
        """HMAC-SHA256 of *message*, 32 bytes."""
        state = self._keyed.copy()
        state.update(message)
        return state.digest()

    def __repr__(self) -> str:
        return f"<SigningKey {self._id}>"


def _keyed(secret: object) -> tuple[hmac.HMAC | None, str]:
    """The HMAC that has taken *secret* in, or None and what is wrong with it."""
    if isinstance(secret, str):
        try:
            secret = secret.encode()
        except UnicodeEncodeError:
            return None, "must be text that UTF-8 can say, or bytes"
    if not isinstance(secret, bytes | bytearray | memoryview):
        return None, f"must be bytes or text, not {a_kind(secret)}"
    raw = bytes(cast("bytes", secret))
    return (hmac.new(raw, digestmod="sha256"), "") if raw else (None, "is empty")


class KeyResolver(Protocol):
    """Finds keys by security domain and id, such as in a vault. Both may answer later, with an awaitable.

    Answers are `SigningKey` objects, so that no secret has to be handed about. A key must be found by both: domains
    that share a key are not apart from each other.
    """

    def signing_key(self, domain: str, /) -> SigningKey | Awaitable[SigningKey | None] | None:
        """The key that signs in *domain* now, or None when nothing can be signed there."""
        ...

    def key(self, domain: str, key_id: str, /) -> SigningKey | Awaitable[SigningKey | None] | None:
        """The key of that id, if signatures of it still count in *domain*, else None."""
        ...


@final
class Keyring(_Unwritable):
    """Keys of a process, by security domain. In each the first one signs, and all verify.

    To rotate, put a new key in front; when nothing signed by the old one has to count any longer, leave it out.

    Args:
        keys: The keys of each domain.

    Raises:
        DefinitionError: A domain has no name or no keys, two of its keys have one id, or it shares a secret with
            another domain.
    """

    __slots__ = ("_domains",)

    def __init__(self, keys: Mapping[str, Iterable[SigningKey]]) -> None:
        domains: dict[str, Mapping[str, SigningKey]] = {}
        homes: dict[bytes, str] = {}
        for domain, listed in _mapping(keys).items():
            reference("Keyring", "domain", domain)
            found: dict[str, SigningKey] = {}
            for key in _listed(domain, listed):
                if key.id in found:
                    raise DefinitionError("Keyring", domain, f"has two keys of the id {key.id!r}")
                shared = homes.setdefault(key.mac(_SAME), domain)
                if shared != domain:
                    raise DefinitionError("Keyring", domain, f"shares the secret of {key.id!r} with {shared!r}")
                found[key.id] = key
            domains[domain] = MappingProxyType(found)
        self._domains: Mapping[str, Mapping[str, SigningKey]] = MappingProxyType(domains)

    def signing_key(self, domain: str, /) -> SigningKey | None:
        """The first key of *domain*; None when there is no such domain."""
        return next(iter(self._domains.get(domain, {}).values()), None)

    def key(self, domain: str, key_id: str, /) -> SigningKey | None:
        """The key of that id in *domain*, or None."""
        return self._domains.get(domain, {}).get(key_id)

    def mac(self, message: bytes, key: KeyRef) -> bytes:
        """HMAC-SHA256 of *message* with the key that is meant: what action digests are made with.

        Raises:
            LookupError: There is no such key.
        """
        found = self.key(key.security_domain, key.secret_id)
        if found is None:
            raise LookupError(f"no key {key.secret_id!r} in the domain {key.security_domain!r}")
        return found.mac(message)

    def __repr__(self) -> str:
        return f"<Keyring {', '.join(f'{domain}: {list(keys)}' for domain, keys in self._domains.items())}>"


def _mapping(keys: object) -> Mapping[str, object]:
    if not isinstance(keys, Mapping):
        raise DefinitionError("Keyring", "keys", f"must map domains to keys, not be {a_kind(keys)}")
    return cast("Mapping[str, object]", keys)


def _listed(domain: str, listed: object) -> list[SigningKey]:
    wanted = "must be a list of SigningKey objects"  # what was given in place of one may be a secret: it isn't quoted
    if not isinstance(listed, list | tuple):
        raise DefinitionError("Keyring", domain, f"{wanted}, not {a_kind(listed)}")
    found = cast("list[object] | tuple[object, ...]", listed)
    if not found:
        raise DefinitionError("Keyring", domain, f"{wanted}, and not empty")
    for given in found:
        if not is_key(given):
            raise DefinitionError("Keyring", domain, f"{wanted}, and one is {a_kind(given)}")
    return cast("list[SigningKey]", list(found))


def is_key(value: object) -> TypeGuard[SigningKey]:
    """Whether *value* is a key, not a secret that somebody forgot to wrap."""
    return type(value) is SigningKey
