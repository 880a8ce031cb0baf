"""The text of a document, JSON or YAML, as plain JSON values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Final, cast

import msgspec
import yaml

from ...definitions._checks import a_kind, shown
from ...errors import DefinitionError
from ._json import is_array, is_object

__all__ = ("SUBJECT", "DocumentSource", "read_document")

DocumentSource = Mapping[str, object] | str | bytes | Path
"""A document that is decoded already, its text in JSON or YAML, or the file that holds it."""

SUBJECT: Final = "OpenAPI document"

_VALUES: Final = 5_000_000
"""Values in one YAML document: the largest public ones have a tenth of that. Aliases that repeat each other have no end."""

_DEPTH: Final = 200
"""How deep a document may be nested, for whoever walks it."""


def read_document(source: object, name: str) -> Mapping[str, object]:
    """The document *source*, called *name* in errors, as plain JSON values.

    Raises:
        DefinitionError: It can't be read, is neither JSON nor YAML, or no object.
    """
    if isinstance(source, Path):
        try:
            source = source.read_bytes()
        except OSError as error:
            raise DefinitionError(SUBJECT, name, f"can't be read: {error.strerror or type(error).__name__}") from error
        except ValueError as error:
            raise DefinitionError(SUBJECT, name, "can't be read: no file can have this name") from error
    decoded = _decoded(source, name) if isinstance(source, str | bytes) else _Copy(name, None).of(source, 0)
    if not is_object(decoded):
        wanted = "an object, its text, or a pathlib.Path to it"
        found = f"the text {shown(source)}" if isinstance(decoded, str) else a_kind(decoded)
        raise DefinitionError(SUBJECT, name, f"must be {wanted}, not {found}")
    return decoded


def _decoded(text: str | bytes, name: str) -> object:
    try:
        plain = text.encode("utf-8") if isinstance(text, str) else text
        words = plain.decode("utf-8-sig")
    except UnicodeError as error:
        raise DefinitionError(SUBJECT, name, "is no UTF-8") from error
    if words.lstrip().startswith(("{", "[")):
        try:
            return msgspec.json.decode(words)
        except (msgspec.DecodeError, RecursionError):
            pass  # YAML in the flow style begins like this, too
    return _from_yaml(words, name)


def _from_yaml(words: str, name: str) -> object:
    try:
        loaded: object = yaml.load(words, _loader())  # noqa: S506  # a loader that makes nothing but JSON values
    except yaml.YAMLError as error:
        raise DefinitionError(SUBJECT, name, f"is neither JSON nor YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise DefinitionError(SUBJECT, name, f"is nested more than {_DEPTH} deep") from error
    except Exception as error:  # what it raises at a tag whose value makes no sense, or at a number of 5,000 digits
        raise DefinitionError(SUBJECT, name, f"is neither JSON nor YAML: {type(error).__name__}") from error
    return _Copy(name, _DEPTH).of(loaded, 0)


@cache
def _loader() -> type[yaml.SafeLoader]:
    """A safe loader for the values of JSON: ``no`` and ``2020-01-01`` are text, as YAML 1.2 has it."""
    fast = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    made = type("_JsonLoader", (fast,), {"yaml_implicit_resolvers": {}})
    add = cast("Callable[[str, re.Pattern[str], list[str]], None]", getattr(made, "add_implicit_resolver"))  # noqa: B009
    for tag, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
        ("merge", "<<", "<"),
    ):
        add(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
    return cast("type[yaml.SafeLoader]", made)


class _Copy:
    """A copy in which every key is text. It ends, whatever aliases repeat each other.

    Args:
        name: What the document is called in errors.
        deepest: How deep it may be nested; None if what lies deeper, where nobody looks, stays as it is.
    """

    def __init__(self, name: str, deepest: int | None) -> None:
        self._name = name
        self._deepest = deepest
        self._left = _VALUES

    def of(self, value: object, depth: int) -> object:
        self._left -= 1
        if self._deepest is None and depth > _DEPTH:
            return value
        if self._left < 0 or depth > _DEPTH:
            reason = f"holds more than {_VALUES} values" if self._left < 0 else f"is nested more than {_DEPTH} deep"
            raise DefinitionError(SUBJECT, self._name, reason)
        if isinstance(value, Mapping):
            members = cast("Mapping[object, object]", value)
            return {self._key(key): self.of(member, depth + 1) for key, member in members.items()}
        if is_array(value):
            return [self.of(member, depth + 1) for member in value]
        if isinstance(value, float) and not isfinite(value):
            raise DefinitionError(SUBJECT, self._name, f"holds the number {value}, which JSON has not")
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, date):  # YAML 1.1 has them, and a host may have read its document with a loader of that
            return value.isoformat()
        raise DefinitionError(SUBJECT, self._name, f"holds {a_kind(value)}, which JSON has not")

    def _key(self, key: object) -> str:
        """A key as JSON has it: the responses of a YAML document are often numbers."""
        if isinstance(key, str):
            return key
        if key is None or isinstance(key, int | float | date):
            return key.isoformat() if isinstance(key, date) else msgspec.json.encode(key).decode()
        raise DefinitionError(SUBJECT, self._name, f"has a key that is {a_kind(key)}, which JSON has not")
