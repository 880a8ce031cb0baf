"""Keys made of the arguments of a call: what a tool gives as its ``idempotency_key``.

Each is a function of the validated arguments as JSON, defaults filled in. Equal arguments give equal keys, however they
were written down. A ledger adds the tenant and the tool, so that a key only has to tell the calls of one tool apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, overload

import attrs

from ..definitions._canonical import canonical_text, sha256_hex
from ..definitions._checks import names, shown, text
from ..errors import DefinitionError

KeyRule = Callable[[Mapping[str, object]], str]
"""From the validated arguments of a call to its key."""

_MISSING: Final = '""'
"""What stands for a field that is not there: what the systems that we learned from write for it."""

_EMPTY: Final = "empty"
"""What stands for an empty text, whose own JSON is taken by `_MISSING`. It is no JSON, so nothing else is written so."""


def full_input_key(arguments: Mapping[str, object] | None) -> str:
    """A key of everything that the call was given: 64 hexadecimal digits. Two calls are one if nothing differs.

    Raises:
        JsonError: The arguments are not JSON.
    """
    return sha256_hex(canonical_text(arguments, mode="exact"))


def field_key(name: str) -> KeyRule:
    """A key of one argument, such as an order number: 64 hexadecimal digits.

    An argument that is missing, one that is null and one that is an empty text are three keys; 1 and ``"1"`` are two.

    Args:
        name: Which argument.

    Returns:
        The rule. Its ``fields`` are the names of the arguments that it reads.

    Raises:
        DefinitionError: The name is blank or no text.
    """
    return _FieldKey(_fields("field_key", (name,)))


def composite_key(*names: str) -> KeyRule:
    """A key of several arguments in this order: 64 hexadecimal digits. They are told apart as `field_key` does it.

    Args:
        names: Which arguments.

    Returns:
        The rule. Its ``fields`` are the names of the arguments that it reads.

    Raises:
        DefinitionError: There are no names, one is blank or no text, or one is there twice.
    """
    return _CompositeKey(_fields("composite_key", names))


@overload
def namespaced_key(namespace: str, key: str) -> str: ...
@overload
def namespaced_key(namespace: str, key: KeyRule) -> KeyRule: ...
def namespaced_key(namespace: str, key: str | KeyRule) -> str | KeyRule:
    """The key of *key* within a namespace, such as that of tools which do the same thing in several ways.

    It is a canonical JSON array of the two, so no two pairs give one key, whatever is in them.

    Args:
        namespace: What the keys belong to.
        key: A key, or a rule that makes one.

    Returns:
        A key for a key, a rule for a rule.

    Raises:
        DefinitionError: The namespace is blank or no text, or *key* is neither text nor a function.
    """
    text("namespaced_key", "namespace", namespace, blank=False)
    if isinstance(key, str):
        return _within(namespace, key)
    if not callable(key):
        raise DefinitionError("namespaced_key", "key", f"must be text or a function of the arguments, not {shown(key)}")
    return _NamespacedKey(namespace, key)


# They are classes, so that they show what they are, and two that do the same are equal.


@attrs.frozen
class _FieldKey:
    fields: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, object]) -> str:
        return sha256_hex(_said(arguments, self.fields[0]))


@attrs.frozen
class _CompositeKey:
    fields: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, object]) -> str:
        return sha256_hex(f"[{','.join(_said(arguments, name) for name in self.fields)}]")


@attrs.frozen
class _NamespacedKey:
    namespace: str
    rule: KeyRule

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the arguments that its rule reads, as far as that says so."""
        return tuple(getattr(self.rule, "fields", ()))

    def __call__(self, arguments: Mapping[str, object]) -> str:
        return _within(self.namespace, self.rule(arguments))


def _said(arguments: Mapping[str, object], name: str) -> str:
    if name not in arguments:
        return _MISSING
    said = canonical_text(arguments[name], mode="exact")
    return _EMPTY if said == _MISSING else said


def _within(namespace: str, key: str) -> str:
    return canonical_text([namespace, key], mode="exact")


def _fields(subject: str, given: tuple[str, ...]) -> tuple[str, ...]:
    found = names(subject, "names", given)
    if not given:
        raise DefinitionError(subject, "names", "are missing: name the arguments that make the key")
    if len(found) < len(given):
        raise DefinitionError(subject, "names", "has a name twice")
    return found
