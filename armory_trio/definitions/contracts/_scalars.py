"""Numbers and text under limits: what msgspec converts into, and the schema that says the same."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import msgspec

from ...errors import DefinitionError
from ._compiled import compile_schema
from ._limits import Limits, UnknownConstraint, limited, whole
from ._markers import DECIMAL_PATTERN, DecimalDecoder, Decoder, LimitedDecoder, TypeDecoder, marker

if TYPE_CHECKING:
    from ._compiled import SchemaValidator

Scalar = tuple[object, dict[str, object]]
"""The type for msgspec, and the schema."""

_LARGEST: Final = sys.float_info.max


def integer(limits: Limits) -> Scalar:
    """A whole number.

    Raises:
        UnknownConstraint: A limit is none for this type; so do the others below.
    """
    numeric = {name: whole(value) for name, value in limits.numeric.items()}
    return limited(int, numeric), {"type": "integer", **limits.words("number")}


def floating(limits: Limits) -> Scalar:
    """Any finite number."""
    numeric = dict(limits.numeric)
    limited(float, numeric)
    # msgspec lets infinities and NaN pass for a float; a comparison keeps both out.
    if "gt" not in numeric:
        numeric.setdefault("ge", -_LARGEST)
    if "lt" not in numeric:
        numeric.setdefault("le", _LARGEST)
    schema: dict[str, object] = {"type": "number", **limits.words("number")}
    if numeric.pop("multiple_of", None) is None:
        return limited(float, numeric), schema
    # msgspec divides floats, and says that 0.3 is no multiple of 0.1.
    return marker("Multiple", LimitedDecoder(TypeDecoder(limited(float, numeric)), limits.checks()[-1:])), schema


def decimal_number(limits: Limits) -> Scalar:
    """A decimal number, as a number or as text."""
    limited(float, limits.numeric)
    checks = limits.checks()
    decoder: Decoder = LimitedDecoder(DecimalDecoder(), checks) if checks else DecimalDecoder()
    words = limits.words("number")
    return marker("Decimal", decoder), {"type": ["number", "string"], "pattern": DECIMAL_PATTERN, **words}


def text(limits: Limits) -> Scalar:
    """Text. Its pattern is matched by the engine that reads schemas, which takes linear time for nearly all patterns."""
    sized, schema = limited(str, limits.sizes), {"type": "string", **limits.words("string")}
    if limits.pattern is None:
        return sized, schema
    return marker("Text", LimitedDecoder(TypeDecoder(sized), [_Pattern.of(limits.pattern)])), schema


class _Pattern(msgspec.Struct, frozen=True, eq=False):
    pattern: str
    validator: SchemaValidator

    @classmethod
    def of(cls, pattern: str) -> _Pattern:
        try:
            return cls(pattern, compile_schema({"pattern": pattern}, "pattern", formats=False))
        except DefinitionError:
            reason = "is no regular expression that a JSON Schema can say; it knows no (?P<name>...), \\A and \\Z"
            raise UnknownConstraint(f"the pattern {pattern!r} {reason}") from None

    def __call__(self, value: object) -> str | None:
        try:
            fits = self.validator.is_valid(value)
        except ValueError:
            return "half a character (a lone surrogate) stands in a text"
        return None if fits else f"Expected text that matches the pattern {self.pattern}"
