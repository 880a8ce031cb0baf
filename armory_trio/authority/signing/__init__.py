"""Signatures that say what they are for, and keys that never show.

Loaded by those who use it: ``armory_trio.authority`` does not load it.
"""

from .._keys import KeyResolver as KeyResolver
from .._keys import Keyring as Keyring
from .._keys import SigningKey as SigningKey
from .._signing import VERSIONS as VERSIONS
from .._signing import Purpose as Purpose
from .._signing import Signature as Signature
from .._signing import SignatureCode as SignatureCode
from .._signing import SignatureError as SignatureError
from .._signing import sign as sign
from .._signing import sign_with as sign_with
from .._signing import verify as verify
from .._signing import verify_with as verify_with
from ._key_file import load_keyring as load_keyring
