"""Words in the texts of a tool: how they are taken apart, compared and counted."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeGuard, cast, get_args

import attrs
import msgspec

from ...definitions import Tool
from ...definitions._checks import members, one_of, required, shown, text
from ...definitions._value import Value
from ...errors import DefinitionError
from .._schemas import schema_keys

TextMode = Literal["contains", "exact", "fuzzy"]
TextField = Literal["name", "description", "tags", "schema_keys", "metadata_keys"]

_SUBJECT: Final = "Text"
_FIELDS: Final[tuple[TextField, ...]] = get_args(TextField)
_WORD: Final = re.compile(r"U+(?!l)|U?l+|d+")
"""Words in a text of which each letter stands for the kind of character: an acronym, a word, a number."""
_ACCENT: Final = re.compile("[\u0300-\u036f]")
_LONGEST_WORD: Final = 64
"""Characters of a word that is compared letter by letter: no word is longer, and the time grows with the square."""
_LONGEST_TEXT: Final = 10_000
_MOST_WORDS: Final = 50
"""What is looked at of a text that is searched for: it may come from a model."""
_REMEMBERED: Final = 1_000
"""Characters of a text whose words are remembered: catalogues are asked again and again, and ask for little memory."""
_ROUNDING: Final = 1e-9


def _fields(value: object) -> tuple[TextField, ...]:
    given = members(_SUBJECT, "fields", value, f"the words {', '.join(_FIELDS)}")
    for index, field in enumerate(given):
        one_of(_SUBJECT, f"fields[{index}]", field, _FIELDS)
    return tuple(field for field in _FIELDS if field in given) or _FIELDS


def _weights(value: object) -> tuple[tuple[TextField, float], ...]:
    if value == ():
        return ()
    if not isinstance(value, Mapping):
        raise DefinitionError(_SUBJECT, "weights", f"must be a mapping of fields to numbers, not {shown(value)}")
    given = dict(cast("Mapping[TextField, object]", value))
    found: list[tuple[TextField, float]] = []
    for field, weight in given.items():
        one_of(_SUBJECT, "weights", field, _FIELDS)
        if not _is_number(weight) or not 0 <= weight < math.inf:
            raise DefinitionError(_SUBJECT, f"weights[{field!r}]", f"must be a number from 0 on, not {shown(weight)}")
        found.append((field, float(weight)))
    return tuple(sorted(found))


@attrs.frozen(eq=False, repr=False)
class Text(Value):
    """Words to look for. A tool that has any of them is found; the more of them it has, the higher it ranks.

    Compound names are taken apart as ``getHTTPFile_v2`` is into get, http, file, v and 2. Case and accents make no
    difference, and a word counts once. Blank text asks for nothing; text of which no word is left, such as ``!?``,
    finds nothing. Of a very long text the first fifty words are looked for.

    Args:
        words: The text.
        mode: ``contains`` takes a word that is part of a text, ``exact`` one that is a whole word or name in it,
            ``fuzzy`` one that looks like a word or name in it.
        fields: Where to look; by default, and when there are none, everywhere.
        threshold: How alike two words are in the mode ``fuzzy``, from 0 to 1, in the share of letters that agree.
        weights: What a word counts in a field, as a mapping; by default 1. With 0 the field is not looked at.

    Raises:
        DefinitionError: A value is not legal.
    """

    words: str
    mode: TextMode = attrs.field(default="contains", kw_only=True)
    fields: tuple[TextField, ...] = attrs.field(default=_FIELDS, kw_only=True, converter=_fields)
    threshold: float = attrs.field(default=0.7, kw_only=True)
    weights: tuple[tuple[TextField, float], ...] = attrs.field(default=(), kw_only=True, converter=_weights)

    def __attrs_post_init__(self) -> None:
        text(_SUBJECT, "words", self.words)
        one_of(_SUBJECT, "mode", self.mode, get_args(TextMode))
        if not _is_number(self.threshold) or not 0 <= self.threshold <= 1:
            raise DefinitionError(_SUBJECT, "threshold", f"must be a number from 0 to 1, not {shown(self.threshold)}")


class TextScore(msgspec.Struct, frozen=True):
    """How much of a text a tool has.

    Args:
        score: The weighted number of words that were found, in each field once; in the mode ``fuzzy`` each counts as
            much as it is alike.
        reasons: Where, in words: ``name``, ``description``, ``tags(math, fast)``, ``schema_keys(city)``,
            ``metadata_keys(team)``.
    """

    score: float
    reasons: tuple[str, ...]


def words_of(text: str) -> tuple[str, ...]:
    """The words of *text*, folded: compound names are taken apart, accents and case are left out."""
    return _remembered_words(text) if len(text) <= _REMEMBERED else _words(text)


def _words(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    kinds = "".join(map(_kind, plain))
    return tuple(plain[word.start() : word.end()].casefold() for word in _WORD.finditer(kinds))


_remembered_words: Final = lru_cache(maxsize=4096)(_words)


def text_score(tool: Tool[..., object], text: Text | str) -> TextScore:
    """How much of *text* is in *tool*. Nothing is in a blank text, so its score is 0.

    Raises:
        DefinitionError: *tool* is none.
    """
    required("text_score", "tool", tool, Tool)
    asked = text if isinstance(text, Text) else Text(text)
    wanted = tuple(dict.fromkeys(words_of(asked.words[:_LONGEST_TEXT])))[:_MOST_WORDS]
    weights = dict(asked.weights)
    score = 0.0
    reasons: list[str] = []
    for field in asked.fields:
        weight = weights.get(field, 1.0)
        found, entries = (
            _found(_texts_of(tool, field), wanted, asked, named=field != "description") if weight else (0, ())
        )
        if found:
            score += weight * found
            reasons.append(field if field in ("name", "description") else f"{field}({', '.join(entries)})")
    return TextScore(score, tuple(reasons))


def text_matches(tool: Tool[..., object], text: Text | str) -> bool:
    """Whether *tool* has any word of *text*. Every tool has a blank one.

    Raises:
        DefinitionError: *tool* is none.
    """
    required("text_matches", "tool", tool, Tool)
    asked = text if isinstance(text, Text) else Text(text)
    return not asked.words.strip() or text_score(tool, asked).score > 0


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    """``U`` for a capital, ``d`` for a digit, ``l`` for what else belongs to words, and a blank for what does not."""
    if character.isupper():
        return "U"
    if character.isnumeric():
        return "d"
    return "l" if character.isalpha() or unicodedata.category(character).startswith("M") else " "


def _texts_of(tool: Tool[..., object], field: TextField) -> Iterable[str]:
    if field == "name":
        return (tool.name,)
    if field == "description":
        return (tool.description,)
    if field == "tags":
        return tool.definition.tags
    return schema_keys(tool) if field == "schema_keys" else tool.definition.metadata


def _found(texts: Iterable[str], wanted: tuple[str, ...], asked: Text, *, named: bool) -> tuple[float, tuple[str, ...]]:
    """How many of the words *wanted* are in *texts*, each where it fits best, and the texts that have any.

    Args:
        texts: The texts of one field.
        wanted: The folded words.
        asked: How they are compared.
        named: Whether the texts are names, which count as one word too: ``fooid`` is in ``foo_id``.
    """
    best = dict.fromkeys(wanted, 0.0)
    having: list[str] = []
    for entry in texts:
        words = words_of(entry)
        alike = [_alike(word, words, asked, named=named) for word in wanted]
        if named and asked.mode != "contains" and len(wanted) > 1:
            whole = _alike("".join(wanted), words, asked, named=True)
            alike = [max(found, whole) for found in alike]
        if any(alike):
            having.append(entry)
        for word, found in zip(wanted, alike, strict=True):
            best[word] = max(best[word], found)
    return sum(best.values()), tuple(having)


def _alike(word: str, words: tuple[str, ...], asked: Text, *, named: bool) -> float:
    """How well *word* is found among *words*: from 0 for not at all to 1."""
    candidates = (*words, "".join(words)) if named and len(words) > 1 else words
    if asked.mode == "contains":
        return float(any(word in candidate for candidate in candidates))
    if asked.mode == "exact":
        return float(word in candidates)
    return max((similarity(word, candidate, at_least=asked.threshold) for candidate in candidates), default=0.0)


def similarity(one: str, other: str, *, at_least: float = 0.0) -> float:
    """The share of letters that agree: 1 less the edit distance, divided by the length of the longer word.

    What is below *at_least*, or longer than any word, is 0.
    """
    if one == other or max(len(one), len(other)) > _LONGEST_WORD:
        return float(one == other)
    return _similarity(one, other, at_least)


@lru_cache(maxsize=8192)
def _similarity(one: str, other: str, at_least: float) -> float:
    longest = max(len(one), len(other))
    allowed = (1 - at_least) * longest + _ROUNDING
    if abs(len(one) - len(other)) > allowed or len(set(one) - set(other)) > allowed:
        return 0.0  # each of these letters is an edit of its own
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, start=1):
        if min(row) > allowed:
            return 0.0
        diagonal, row[0] = row[0], number
        for place, there in enumerate(other, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (letter != there))
    return 1 - row[-1] / longest if row[-1] <= allowed else 0.0
