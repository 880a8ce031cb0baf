"""The keys that receipts are signed with, from a file that nobody else can read. No secret is ever quoted."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from typing import Final

import msgspec

from ..authority.signing import Keyring, SigningKey
from ..definitions import parse_json
from ..errors import DefinitionError, JsonError
from ._exit import Unusable

VARIABLE: Final = "ARMORY_TRIO_KEYS"
_MOST: Final = 1 << 20
"""Bytes of a file of keys; a thousand keys have a tenth of it."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WANTED: Final = '{"default": [{"id": "2026-09", "secret": "<base64>"}]}'
_ENVIRONMENT: Final = "env:"


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key as the file has it. The secret is base64, or ``env:`` and the variable that holds it as text."""

    id: str
    secret: str


def load_keys(option: str | None) -> Keyring:
    """The keys of the file that the option or the environment names.

    Raises:
        Unusable: No file is named, others may read it, or it does not hold keys.
    """
    name = option or os.environ.get(VARIABLE, "")
    if not name.strip():
        raise Unusable(f"no keys to sign with: give --keys FILE, or set {VARIABLE} to the name of the file")
    text = _read(name)
    try:
        document = msgspec.convert(parse_json(text), dict[str, list[_Key]])
    except JsonError as error:
        # What stands there may be a secret: neither it nor what surrounds it is told.
        raise Unusable(f"{name}: not strict JSON ({error.code}); keys look like {_WANTED}") from None
    except msgspec.ValidationError:
        raise Unusable(f"{name}: these are no keys; they look like {_WANTED}") from None
    try:
        return Keyring({domain: [_key(name, domain, key) for key in keys] for domain, keys in document.items()})
    except DefinitionError as error:
        raise Unusable(f"{name}: {error.field} {error.reason}") from None


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as file:  # noqa: PTH123  # a descriptor that a shell made is named /dev/fd/N
            mode = os.fstat(file.fileno()).st_mode
            if mode & _OTHERS:
                told = f"others than its owner have rights on it (mode {stat.S_IMODE(mode):04o})"
                raise Unusable(f"{name}: {told}, and whoever reads a key can sign; chmod 600 it")
            text = file.read(_MOST + 1)
    except OSError as error:
        raise Unusable(f"{name}: the keys can't be read: {error.strerror or error}") from error
    if len(text) > _MOST:
        raise Unusable(f"{name}: it has more than {_MOST} bytes, so it is no file of keys")
    return text


def _key(name: str, domain: str, key: _Key) -> SigningKey:
    return SigningKey(key.id, _secret(f"{name}: the secret of {key.id!r} in {domain!r}", key.secret))


def _secret(what: str, text: str) -> bytes | str:
    if text.startswith(_ENVIRONMENT):
        variable = text.removeprefix(_ENVIRONMENT)
        secret = os.environ.get(variable, "")
        if not secret:
            raise Unusable(f"{what} is to be in the environment variable {variable!r}, which is not set")
        return secret
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Unusable(f"{what} is neither base64 nor {_ENVIRONMENT}NAME") from None
