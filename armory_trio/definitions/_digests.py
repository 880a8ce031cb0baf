"""Digests of what goes into a call and of what comes out: equal JSON, equal digest."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import JsonError
from ._canonical import canonical_text, sha256_hex


def input_digest(arguments: Mapping[str, object]) -> str:
    """SHA-256 of the exact canonical text of the arguments of a call, as 64 hexadecimal digits.

    The order of members makes no difference, nor do ``1`` and ``1.0``; ``1`` and ``"1"`` do.

    Raises:
        JsonError: They are not JSON.
    """
    return sha256_hex(canonical_text(arguments, mode="exact"))


def output_digest(value: object) -> str:
    """SHA-256 of the exact canonical text of what a tool gave, as 64 hexadecimal digits.

    Of an instance of a class that is its JSON form; of a stream its chunks are a list, so where one ends and the next
    begins counts.

    Raises:
        JsonError: It has no JSON form.
    """
    from .contracts._writing import UNWRITABLE, written  # noqa: PLC0415  # only who asks for a digest pays for it

    try:
        plain = written(value)
    except UNWRITABLE as error:
        raise JsonError("unsupported-type", (), f"the value has no JSON form: {error}") from error
    return sha256_hex(canonical_text(plain, mode="exact"))
