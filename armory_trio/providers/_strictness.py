"""Whether a strict schema is small enough for the provider that has to enforce it."""

from __future__ import annotations

from typing import Final

import attrs

from ._dialects import Ceiling
from ._loss import NotSayable
from ._references import as_list, as_schema

__all__ = ("Cost", "cost_of", "require_within")

_LONG: Final = 250
"""Strings of one enum from which on their length counts."""


@attrs.define
class Cost:
    """How large a written schema is.

    Args:
        properties: Members of objects, all together.
        depth: Objects in one another.
        characters: Of all names and choices.
        choices: Values of all enums.
        longest: Characters of the longest enum among those with many strings.
        optional: Members that may be left out.
        unions: Places that are one of several things.
    """

    properties: int = 0
    depth: int = 0
    characters: int = 0
    choices: int = 0
    longest: int = 0
    optional: int = 0
    unions: int = 0


def cost_of(schema: object) -> Cost:
    """How large *schema* is, which is written in a strict dialect."""
    cost = Cost()
    waiting: list[tuple[object, int]] = [(schema, 0)]
    while waiting:
        place, depth = waiting.pop()
        node = as_schema(place)
        properties = as_schema(node.get("properties"))
        inner = depth + ("properties" in node)
        cost.depth = max(cost.depth, inner)
        cost.properties += len(properties)
        cost.characters += sum(map(len, properties))
        cost.optional += len(properties.keys() - set(map(str, as_list(node.get("required")))))
        cost.unions += "anyOf" in node
        _add_choices(cost, as_list(node.get("enum")))
        definitions = as_schema(node.get("$defs"))
        cost.characters += sum(map(len, definitions))
        waiting += ((child, 0) for child in definitions.values())
        around = (*properties.values(), *as_list(node.get("anyOf")), *((node["items"],) if "items" in node else ()))
        waiting += ((child, inner) for child in around)
    return cost


def _add_choices(cost: Cost, values: object) -> None:
    choices = as_list(values)
    length = sum(len(value) for value in choices if isinstance(value, str))
    cost.choices += len(choices)
    cost.characters += length
    if len(choices) > _LONG:
        cost.longest = max(cost.longest, length)


def require_within(schema: object, ceiling: Ceiling) -> None:
    """Check that *schema* is small enough.

    Raises:
        NotSayable: It is not.
    """
    cost = cost_of(schema)
    for have, limit, what in (
        (cost.properties, ceiling.properties, "properties"),
        (cost.depth, ceiling.depth, "objects in one another"),
        (cost.characters, ceiling.characters, "characters of names and choices"),
        (cost.choices, ceiling.choices, "choices"),
        (cost.longest, ceiling.long_choices, "characters of choices in one place"),
    ):
        if limit is not None and have > limit:
            raise NotSayable("#", f"it has {have} {what}, and a strict schema at most {limit}")
