"""The one canonicaliser: equal JSON values give one text, and that text gives a digest. Checked copies live here too.

There are two modes, and both sort keys by UTF-16 code unit and lay numbers out as ECMAScript does. ``interop`` is
RFC 8785 for values that every reader understands alike, and refuses the rest: for action documents and signatures.
``exact`` can say every JSON value, so what any parser may have let in: for keys and digests that stay in the house.

No value can exhaust the stack or the patience of this module: it never recurses, and refuses cycles and depth.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Final, Literal, cast, get_args

import msgspec

from ._json_values import MAX_DEPTH, JsonCode, Refusal, Step, Trail, plain_members, plain_value, sorted_keys
from ._sealing import is_sealed, sealed_object, unsealed
from ._strict_json import DEFAULT_LIMITS, JsonLimits, parse_json

__all__ = (
    "DEFAULT_LIMITS",
    "MAX_DEPTH",
    "JsonCode",
    "JsonLimits",
    "JsonMode",
    "canonical_bytes",
    "canonical_text",
    "freeze_json",
    "parse_json",
    "require_json",
    "schema_digest",
    "sha256_hex",
    "thaw_json",
)

JsonMode = Literal["interop", "exact"]
"""How a canonical text is written: for every reader, or for every value."""

_SAFE: Final = 2**53 - 1
_LARGEST: Final = 10**DEFAULT_LIMITS.max_digits - 1
_SURROGATE: Final = "[\ud800-\udfff]"

_CONTAINERS: Final = frozenset((dict, list))
_Entry = tuple[Step, object]


def canonical_text(value: object, *, mode: JsonMode) -> str:
    r"""The one text of a JSON value: no blanks, sorted keys, one spelling for every number and string.

    Both modes write an integral float below 1e16 as an integer, so 1 and 1.0 give one text, and -0.0 as 0.

    ``interop`` takes exactly None, bool, str, int, float, list and dict, and what `freeze_json` makes of them. It
    refuses subclasses, integers of 2**53 and more (floats too), and lone surrogates.

    ``exact`` also takes other mappings, and subclasses of str, int, float, list and tuple by their plain value. It
    writes integers in full, floats from 1e16 on as the shortest text with an exponent, and a lone surrogate as
    ``\udxxx``; two halves of one character that stand side by side are that character.

    Raises:
        JsonError: *value* is not JSON, or the mode refuses it. It carries one of the codes of `JsonCode` and the path.
        ValueError: *mode* is neither word.
    """
    rules = _all_rules()
    if mode not in _MODES:
        raise ValueError(f"mode must be 'interop' or 'exact', not {mode!r}")
    text = _write(value, rules[mode])
    if text.isascii() or not re.search(_SURROGATE, text):
        return text
    return _write(value, rules["locating"]) if mode == "interop" else _escape_surrogates(text)


def canonical_bytes(value: object, *, mode: JsonMode) -> bytes:
    """The UTF-8 bytes of `canonical_text`, which raises the same errors."""
    return canonical_text(value, mode=mode).encode()


def sha256_hex(text: str) -> str:
    """SHA-256 of the UTF-8 bytes of *text*, as 64 hexadecimal digits. A lone surrogate counts as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def schema_digest(schema: object) -> str:
    """The digest of a JSON Schema in action documents: SHA-256 of its ``interop`` text.

    Raises:
        JsonError: `canonical_text` refuses *schema*.
    """
    return sha256_hex(canonical_text(schema, mode="interop"))


def require_json(value: object, *, root: str = "$") -> None:
    """Check that *value* is JSON in the reading of the ``exact`` mode.

    Args:
        value: What to check.
        root: What the error's message calls *value*; the error's path starts below it.

    Raises:
        JsonError: It is not.
    """
    if not is_sealed(value):
        _copy(value, _same, _same, root)


def freeze_json(value: object, *, root: str = "$") -> object:
    """A copy of *value* that shares nothing with it and cannot be changed: mapping proxies, tuples and scalars.

    Subclasses are read by their plain value. Members keep their order, and numbers their type. An object that was frozen
    here before is returned as it is, at no cost.

    Args:
        value: JSON in the reading of the ``exact`` mode.
        root: What the error's message calls *value*; the error's path starts below it.

    Raises:
        JsonError: *value* is not JSON.
    """
    return value if is_sealed(value) else _copy(value, sealed_object, tuple, root)


def thaw_json(value: object) -> object:
    """A copy of *value* in plain dicts and lists, the caller's to change. It undoes `freeze_json`.

    Raises:
        JsonError: *value* is not JSON in the reading of the ``exact`` mode.
    """
    return unsealed(cast("Mapping[str, object]", value)) if is_sealed(value) else _copy(value, _same, _same, "$")


# --- going through a value


class _Rules(msgspec.Struct, frozen=True):
    """How one mode writes scalars, by exact type; strings once more, for keys; and whether it refuses subclasses."""

    scalars: dict[type, Callable[[object], str]]
    quote: Callable[[str], str]
    strict: bool


def _write(value: object, rules: _Rules) -> str:
    scalars, quote = rules.scalars, rules.quote
    out: list[str] = []
    trail = Trail()
    frames: list[tuple[Iterator[_Entry], str, int]] = []  # an outer container: what is left, how it ends, its start
    entries: Iterator[_Entry] = iter(((None, value),))
    closer, start = "", 0
    step: Step = None
    try:
        while True:
            for step, item in entries:
                lead = f",{quote(step)}:" if isinstance(step, str) else "" if step is None else ","
                write = scalars.get(type(item))
                if write is not None:
                    out.append(lead + write(item))
                    continue
                plain = item
                if type(item) not in _CONTAINERS:
                    plain = plain_value(item, strict=rules.strict)
                    write = scalars.get(type(plain))
                    if write is not None:
                        out.append(lead + write(plain))
                        continue
                members, brackets = _inside(plain, rules)
                trail.enter(step, item)
                frames.append((entries, closer, start))
                out.append(lead + brackets[0])
                entries, closer, start = members, brackets[1], len(out)
                break
            else:
                if not frames:
                    return "".join(out)
                if len(out) > start:  # every entry brought a comma, so the first has one too many
                    out[start] = out[start][1:]
                out.append(closer)
                entries, closer, start = frames.pop()
                trail.leave()
    except Refusal as refusal:
        raise trail.error(refusal, step, "$") from refusal.__cause__


def _inside(container: object, rules: _Rules) -> tuple[Iterator[_Entry], str]:
    if not isinstance(container, dict):
        return enumerate(cast("list[object]", container)), "[]"
    members = plain_members(cast("dict[object, object]", container), strict=rules.strict)
    if len(members) < 2:
        return iter(members.items()), "{}"
    return iter([(key, members[key]) for key in sorted_keys(members)]), "{}"


def _copy(
    value: object,
    seal_object: Callable[[dict[str, object]], object],
    seal_array: Callable[[list[object]], object],
    root: str,
) -> object:
    scalars = _all_rules()["exact"].scalars
    done: list[object] = []
    trail = Trail()
    frames: list[tuple[Iterator[_Entry], dict[str, object] | list[object], Step]] = []
    entries: Iterator[_Entry] = iter(((None, value),))
    target: dict[str, object] | list[object] = done
    step: Step = None
    try:
        while True:
            for step, item in entries:
                if type(item) is str:
                    _put(target, step, item)
                    continue
                plain = plain_value(item, strict=False)
                write = scalars.get(type(plain))
                if write is None:
                    members, copied = _begin(plain)
                    trail.enter(step, item)
                    frames.append((entries, target, step))
                    entries, target = members, copied
                    break
                if type(plain) is not str:
                    write(plain)  # what can be written may be kept
                _put(target, step, plain)
            else:
                if not frames:
                    return done[0]
                sealed = seal_object(target) if isinstance(target, dict) else seal_array(target)
                entries, target, step = frames.pop()
                trail.leave()
                _put(target, step, sealed)
    except Refusal as refusal:
        raise trail.error(refusal, step, root) from refusal.__cause__


def _begin(container: object) -> tuple[Iterator[_Entry], dict[str, object] | list[object]]:
    if isinstance(container, dict):
        members = plain_members(cast("dict[object, object]", container), strict=False)
        return iter(list(members.items())), {}
    return enumerate(list(cast("list[object]", container))), []


def _put(target: dict[str, object] | list[object], step: Step, value: object) -> None:
    if isinstance(target, list):
        target.append(value)
    else:
        target[str(step)] = value


def _same(container: object) -> object:
    return container


# --- scalars


def _interop_int(value: int) -> str:
    if -_SAFE <= value <= _SAFE:
        return str(value)
    right = "pass it as a string, since other readers would round it"
    raise Refusal("unsafe-integer", f"an integer beyond plus or minus {_SAFE}; {right}")


def _exact_int(value: int) -> str:
    if -_LARGEST <= value <= _LARGEST:
        try:
            return str(value)
        except ValueError as error:  # the host lowered sys.set_int_max_str_digits
            raise Refusal("too-many-digits", "an integer is over sys.get_int_max_str_digits()") from error
    raise Refusal("too-many-digits", f"an integer has more than {DEFAULT_LIMITS.max_digits} digits")


def _interop_float(value: float) -> str:
    if math.isfinite(value) and not -_SAFE <= value <= _SAFE:
        raise Refusal("unsafe-integer", f"{value!r} is an integer beyond plus or minus {_SAFE}; pass it as a string")
    return _exact_float(value)


def _exact_float(value: float) -> str:
    """Python's shortest text, in ECMAScript's layout.

    From 1e16 on it keeps its exponent: written out, the shortest digits would read as an integer that is a little off.
    """
    text = repr(value)
    if text.endswith(".0"):
        return text[:-2] if value else "0"
    if not math.isfinite(value):
        raise Refusal("non-finite-number", f"{text} is not JSON; pass None, or say it in a string")
    digits, mark, exponent = text.partition("e-")
    if not mark:
        return text
    if exponent not in ("05", "06"):
        return f"{digits}e-{exponent.lstrip('0')}"
    sign = "-" if value < 0 else ""
    return f"{sign}0.{'0' * (int(exponent) - 1)}{digits.lstrip('-').replace('.', '')}"


def _whole_text(value: str, quote: Callable[[str], str]) -> str:
    found = re.search(_SURROGATE, value)
    if found is None:
        return quote(value)
    place = f"U+{ord(found.group()):04X} at position {found.start()}"
    raise Refusal("lone-surrogate", f"{place} is half a character, which no other reader takes; leave it out")


def _escape_surrogates(text: str) -> str:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return re.sub(_SURROGATE, lambda found: f"\\u{ord(found.group()):04x}", whole)


def _null_text(_value: object) -> str:
    return "null"


def _rules(
    *, quote: Callable[[str], str], integer: Callable[[int], str], number: Callable[[float], str], strict: bool
) -> _Rules:
    by_type = {
        str: quote,
        int: integer,
        float: number,
        bool: {True: "true", False: "false"}.__getitem__,
        type(None): _null_text,
    }
    # Each is only ever called with a value of exactly the type that it stands under.
    return _Rules(cast("dict[type, Callable[[object], str]]", by_type), quote, strict)


@cache
def _all_rules() -> Mapping[str, _Rules]:
    """The rules of both modes; ``locating`` is as ``interop``, but looks into each string, so it knows where one is wrong."""
    from json.encoder import encode_basestring as quote  # noqa: PLC0415  # only who writes JSON pays for it

    return {
        "exact": _rules(quote=quote, integer=_exact_int, number=_exact_float, strict=False),
        "interop": _rules(quote=quote, integer=_interop_int, number=_interop_float, strict=True),
        "locating": _rules(
            quote=partial(_whole_text, quote=quote), integer=_interop_int, number=_interop_float, strict=True
        ),
    }


_MODES: Final = get_args(JsonMode)
