"""Keys from a file that nobody else can read. No secret is ever quoted, nor anything that may be one."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from typing import Final, cast

import msgspec

from ...definitions import parse_json
from ...definitions._checks import shown
from ...errors import DefinitionError, JsonError
from .._keys import Keyring, SigningKey

_MOST: Final = 1 << 20
"""Bytes of a file of keys; a thousand keys have a tenth of it."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WANTED: Final = '{"default": [{"id": "2026-09", "secret": "<base64>"}]}'
_ENVIRONMENT: Final = "env:"


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key as the file has it. The secret is base64, or ``env:`` and the variable that holds it as text."""

    id: str
    secret: str


def load_keyring(path: str | os.PathLike[str]) -> Keyring:
    """The keys of a file, such as ``armory-trio ledger`` signs with. It blocks for as long as the file takes to read.

    The file is JSON: for each security domain its keys, of which the first one signs, as in a `Keyring`:
    ``{"default": [{"id": "2026-09", "secret": "<base64>"}, {"id": "2026-03", "secret": "env:OLD_KEY"}]}``. A secret is
    base64, or ``env:`` and the environment variable that holds it as text.

    Args:
        path: The file. Only its owner may have rights on it: whoever reads a key can sign.

    Raises:
        DefinitionError: It can't be read, others may read it, or it does not hold keys. No secret is quoted.
    """
    name = _name(path)
    read = _read(name)
    try:
        document = msgspec.convert(parse_json(read), dict[str, list[_Key]])
    except JsonError as error:
        # What stands there may be a secret: neither it nor what surrounds it is told.
        raise _wrong(name, f"not strict JSON ({error.code}); keys look like {_WANTED}") from None
    except msgspec.ValidationError:
        raise _wrong(name, f"these are no keys; they look like {_WANTED}") from None
    if not document:
        raise _wrong(name, f"there are no keys in it; they look like {_WANTED}")
    found = {domain: [_key(name, domain, key) for key in keys] for domain, keys in document.items()}
    try:
        return Keyring(found)
    except DefinitionError as error:
        raise _wrong(name, f"{error.field} {error.reason}") from None


def _wrong(name: str, reason: str) -> DefinitionError:
    return DefinitionError("keyring", name, reason)


def _name(path: object) -> str:
    wrong = f"must be the path of a file, not {shown(path)}"
    name = os.fsdecode(cast("str | os.PathLike[str]", path)) if isinstance(path, str | os.PathLike) else ""
    if not name.strip() or "\0" in name:
        # A number would be a file that is open, whatever it is.
        raise DefinitionError("keyring", "path", wrong)
    return name


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as file:  # noqa: PTH123  # a descriptor that a shell made is named /dev/fd/N
            mode = os.fstat(file.fileno()).st_mode
            if mode & _OTHERS:
                told = f"others than its owner have rights on it (mode {stat.S_IMODE(mode):04o})"
                raise _wrong(name, f"{told}, and whoever reads a key can sign; chmod 600 it")
            found = file.read(_MOST + 1)
    except OSError as error:
        raise _wrong(name, f"the keys can't be read: {error.strerror or error}") from error
    if len(found) > _MOST:
        raise _wrong(name, f"it has more than {_MOST} bytes, so it is no file of keys")
    return found


def _key(name: str, domain: str, key: _Key) -> SigningKey:
    secret = _secret(name, f"the secret of {key.id!r} in {domain!r}", key.secret)
    try:
        return SigningKey(key.id, secret)
    except DefinitionError as error:
        raise _wrong(name, f"{error.field} {error.reason}") from None


def _secret(name: str, what: str, said: str) -> bytes | str:
    if said.startswith(_ENVIRONMENT):
        variable = said.removeprefix(_ENVIRONMENT)
        secret = os.environ.get(variable, "")
        if not secret:
            raise _wrong(name, f"{what} is to be in the environment variable {variable!r}, which is not set")
        return secret
    try:
        return base64.b64decode(said, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(name, f"{what} is neither base64 nor {_ENVIRONMENT}NAME") from None
