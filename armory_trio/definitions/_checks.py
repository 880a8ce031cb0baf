"""What the parts of a declaration must look like. Each check answers the clean value or raises `DefinitionError`.

The classes that use these checks name themselves as the subject. `named` puts the tool in their place, so that the
person who reads the error sees which tool and which of its declarations was wrong.
"""

from __future__ import annotations

import math
import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Final, cast

from ..errors import DefinitionError

_SHOWN: Final = 60
"""Characters of a wrong value that an error quotes: enough to recognise it, short enough for one line."""

_STORED: Final = ("approvals", "grants", "ledger", "journal", "buckets")
"""The parts of a store that is open, as `armory_trio.storage.sql.SqlStore` names them."""

_VOWELS: Final = frozenset("AEIOUaeiou")

_LONGEST: Final = 1_000
"""Characters of a word that may be a misspelling. A longer one is none, and each of them costs time."""


@contextmanager
def named(subject: str, prefix: str = "") -> Generator[None]:
    """Say *subject* in every `DefinitionError` of the block, with *prefix* before its field."""
    try:
        yield
    except DefinitionError as error:
        raise type(error)(subject, f"{prefix}{error.field}", error.reason) from error.__cause__


def shown(value: object) -> str:
    """*value* as an error quotes it; one that can't be shown, by its type."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # code of the caller's own: what is to be said is that the value is wrong
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def with_article(word: str) -> str:
    """*word* with the article that it is read with, by its first letter."""
    return f"an {word}" if word[:1] in _VOWELS else f"a {word}"


def a_kind(value: object) -> str:
    """What *value* is, by its type: ``None``, ``an int``, ``a Toolbox``. Nothing of the value itself."""
    return "None" if value is None else with_article(type(value).__name__)


def lacking(value: object, member: str, part: str) -> str:
    """That *value* has no *member*; and what was meant instead, such as the *part* of it that has."""
    return f"{a_kind(value)} has no {member}{_meant(value, part)}"


def _meant(value: object, part: str) -> str:
    if hasattr(value, part):
        return f"; give its {part}"
    if isinstance(value, AbstractAsyncContextManager):
        return f"; enter it first, async with ... as opened, and give opened.{part}"
    if part in _STORED and isinstance(value, str | os.PathLike):
        return f"; open a store there, with open_store of armory_trio.storage.sql, and give its {part}"
    return ""


def one_by_one(value: object, field: str) -> str:
    """What to do about a *value* that holds several, where each is an argument; nothing if it holds none."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return f"; give what it holds one by one, as *{field}" if several else ""


def told(error: BaseException) -> str:
    """Type and text of *error*; only its type if it has no text, or its text can't be told."""
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  # code of the caller's own: what is to be said is that it failed
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def near(word: str, words: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Those of *words* that look most like *word*, best first, *limit* at most; none when nothing comes close.

    Upper and lower case, and the separators of compound names, make no difference.
    """
    if len(word) > _LONGEST:
        return ()
    folded: dict[str, list[str]] = {}
    for candidate in words:
        folded.setdefault(_folded(candidate), []).append(candidate)
    import difflib  # noqa: PLC0415  # only a misspelling pays for it

    close = difflib.get_close_matches(_folded(word), folded, n=limit, cutoff=0.6)
    return tuple(candidate for key in close for candidate in folded[key])[:limit]


def _folded(word: str) -> str:
    return word.casefold().translate(_SEPARATORS)


_SEPARATORS: Final = str.maketrans(dict.fromkeys("_./ ", "-"))


def one_of(subject: str, field: str, value: object, legal: Iterable[str]) -> None:
    """Refuse *value* unless it is one of the words *legal*."""
    words = tuple(legal)
    if isinstance(value, str) and value in words:
        return
    hint = near(value, words, 1) if isinstance(value, str) else ()
    meant = f" (did you mean {hint[0]!r}?)" if hint else ""
    raise DefinitionError(subject, field, f"{shown(value)} is not one of {', '.join(words)}{meant}")


def flag(subject: str, field: str, value: object) -> None:
    """Refuse *value* unless it is True or False."""
    if not isinstance(value, bool):
        raise DefinitionError(subject, field, f"must be True or False, not {shown(value)}")


def instance(subject: str, field: str, value: object, kind: type) -> None:
    """Refuse *value* unless it is None or a *kind*."""
    if value is not None:
        required(subject, field, value, kind)


def required(subject: str, field: str, value: object, kind: type) -> None:
    """Refuse *value* unless it is a *kind*."""
    if not isinstance(value, kind):
        raise DefinitionError(subject, field, f"must be {with_article(kind.__name__)}, not {shown(value)}")


def text(subject: str, field: str, value: object, *, blank: bool = True) -> None:
    """Refuse *value* unless it is text; with ``blank=False`` also when nothing is in it."""
    if not isinstance(value, str):
        raise DefinitionError(subject, field, f"must be text, not {shown(value)}")
    if not blank and not value.strip():
        raise DefinitionError(subject, field, "is blank")


def seconds(subject: str, field: str, value: object, *, zero: bool, optional: bool = False) -> float:
    """Refuse *value* unless it is a finite number of seconds above zero, or from zero on with ``zero=True``.

    With ``optional=True`` the error says that None would do, too, which the caller has looked for.
    """
    wanted = f"a number of seconds {'from 0 on' if zero else 'above 0'}{', or None for no limit' if optional else ''}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DefinitionError(subject, field, f"must be {wanted}, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise DefinitionError(subject, field, f"must be {wanted}, not {shown(value)}")
    return number


def instant(subject: str, field: str, value: object) -> float:
    """Refuse *value* unless it is an instant: a number of seconds since 1970. An infinite one is after all others."""
    wanted = "seconds since 1970, such as store.now() - 30 * 24 * 3600"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DefinitionError(subject, field, f"must be {wanted}, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        raise DefinitionError(subject, field, f"must be {wanted}, not {shown(value)}")
    return number


def past(subject: str, field: str, value: object, now: float) -> float:
    """Refuse *value* unless it is an instant that is not after *now*: what is forgotten up to then is over."""
    number = instant(subject, field, value)
    if not number <= now:
        told = f"the time of the store is {now!r}" if not math.isnan(now) else "the clock of the store says no time"
        raise DefinitionError(subject, field, f"must not be in the future, as {shown(value)} is: {told}")
    return number


def count(subject: str, field: str, value: object, *, least: int = 1) -> None:
    """Refuse *value* unless it is a whole number from *least* on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise DefinitionError(subject, field, f"must be a whole number from {least} on, not {shown(value)}")


def members(subject: str, field: str, value: object, wanted: str) -> list[object]:
    """What the list *value* holds. Text and mappings are no lists, though they can be iterated."""
    found = _listed(value)
    if found is None:
        raise DefinitionError(subject, field, f"must be a list of {wanted}, not {shown(value)}")
    return found


def _listed(value: object) -> list[object] | None:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return None
    try:
        return list(cast("Iterable[object]", value))
    except Exception:  # noqa: BLE001  # code of the caller's own: a list that can't be read is none
        return None


def some_of(subject: str, field: str, value: object, legal: Iterable[str]) -> frozenset[str]:
    """Refuse *value* unless it is a list of some of the words *legal*; none of them is fine."""
    words = tuple(legal)
    found = members(subject, field, value, f"words, such as [{words[0]!r}]")
    for word in found:
        one_of(subject, field, word, words)
    return frozenset(str(word) for word in found)


def filters(subject: str, given: Mapping[str, object]) -> None:
    """Refuse what is looked for unless each of *given* is text, or None, which leaves it open."""
    for field, value in given.items():
        if value is not None and not isinstance(value, str):
            raise DefinitionError(subject, field, f"must be text, or None for any, not {shown(value)}")


def names(subject: str, field: str, value: object) -> tuple[str, ...]:
    """A list of names without repetitions, in the order given. Each is trimmed, and none may be blank."""
    found: dict[str, None] = {}
    for index, name in enumerate(members(subject, field, value, "names, such as ('db',)")):
        text(subject, f"{field}[{index}]", name, blank=False)
        found[str(name).strip()] = None
    return tuple(found)
