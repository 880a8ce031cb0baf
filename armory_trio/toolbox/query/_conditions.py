"""Conditions: values that say which tools are meant, and that can be put together with ``&``, ``|`` and ``~``.

A condition has three answers for a tool: yes, no, and that nobody can tell, because code of the host's raised. The
third one is carried through every combination, so a tool of which nobody can tell is never included by a negation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import NoReturn, Unpack, final

import attrs

from ...definitions._checks import shown
from ...definitions._value import Value
from ...errors import DefinitionError
from .._resolution import AnyTool
from ._asking import SUBJECT, Answer
from ._criteria import Criteria, Criterion, read_criteria
from ._text import Text, text_score


class Condition(Value, ABC):
    """Which tools are meant. Immutable; two of the same content are equal."""

    __slots__ = ()

    @abstractmethod
    def decide(self, tool: AnyTool) -> Answer:
        """Whether *tool* is meant; None when nobody can tell."""

    @abstractmethod
    def relevance(self, tool: AnyTool) -> float:
        """How much of the texts that are looked for *tool* has; 0 when none are."""

    def matches(self, tool: AnyTool) -> bool:
        """Whether *tool* is known to be meant."""
        return self.decide(tool) is True

    def __and__(self, other: Condition) -> Condition:
        return all_of(self, other) if _is_condition(other) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return any_of(self, other) if _is_condition(other) else NotImplemented

    def __invert__(self) -> Condition:
        return self.part if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        """A condition is no answer: Python's ``and``, ``or`` and ``not`` would drop a part of it without a word."""
        raise TypeError("a condition has no truth value; combine with &, | and ~, and ask with .matches(tool)")


@final
@attrs.frozen(init=False, eq=False, repr=False)
class Query(Condition):
    """All of some criteria. ``Query()`` means every tool.

    Args:
        criteria: Those of `Criteria`, by name.

    Raises:
        DefinitionError: There is no such criterion, or what was given for it is not legal.
    """

    criteria: tuple[Criterion[object], ...]

    def __init__(self, **criteria: Unpack[Criteria]) -> None:
        found = sorted(read_criteria(criteria), key=lambda criterion: criterion.name)
        object.__setattr__(self, "criteria", tuple(found))

    def __repr__(self) -> str:
        told = ", ".join(f"{criterion.name}={shown(criterion.wanted)}" for criterion in self.criteria)
        return f"Query({told})"

    def decide(self, tool: AnyTool) -> Answer:
        """Whether *tool* is meant; None when nobody can tell."""
        return _conjunction(criterion.holds(tool) for criterion in self.criteria)

    def relevance(self, tool: AnyTool) -> float:
        """How much of its text *tool* has."""
        texts = (criterion.wanted for criterion in self.criteria)
        return sum(text_score(tool, text).score for text in texts if isinstance(text, Text))


@final
@attrs.frozen(eq=False, repr=False)
class AllOf(Condition):
    """All of these. Of no conditions: every tool."""

    parts: tuple[Condition, ...]

    def decide(self, tool: AnyTool) -> Answer:
        """Whether *tool* is meant; None when nobody can tell."""
        return _conjunction(part.decide(tool) for part in self.parts)

    def relevance(self, tool: AnyTool) -> float:
        """The sum of its parts."""
        return sum(part.relevance(tool) for part in self.parts)


@final
@attrs.frozen(eq=False, repr=False)
class AnyOf(Condition):
    """At least one of these."""

    parts: tuple[Condition, ...]

    def decide(self, tool: AnyTool) -> Answer:
        """Whether *tool* is meant; None when nobody can tell."""
        return _negation(_conjunction(_negation(part.decide(tool)) for part in self.parts))

    def relevance(self, tool: AnyTool) -> float:
        """The sum of its parts."""
        return sum(part.relevance(tool) for part in self.parts)


@final
@attrs.frozen(eq=False, repr=False)
class Not(Condition):
    """Tools that are known not to be these."""

    part: Condition

    def decide(self, tool: AnyTool) -> Answer:
        """Whether *tool* is meant; None when nobody can tell."""
        return _negation(self.part.decide(tool))

    def relevance(self, tool: AnyTool) -> float:  # noqa: ARG002  # its siblings look at the tool
        """Nothing: what is excluded ranks nobody."""
        return 0.0


def all_of(*conditions: Condition) -> Condition:
    """Tools that all *conditions* mean; every tool, when there are none. The same as ``&``.

    Raises:
        DefinitionError: One of them is no condition.
    """
    return AllOf(_parts("all_of", conditions, AllOf))


def any_of(*conditions: Condition) -> Condition:
    """Tools that at least one of *conditions* means. The same as ``|``.

    Raises:
        DefinitionError: One of them is no condition, or there are none, so no tool could ever be meant.
    """
    if not conditions:
        raise DefinitionError(SUBJECT, "any_of", "of no conditions no tool could ever be meant; give at least one")
    return AnyOf(_parts("any_of", conditions, AnyOf))


def not_(*conditions: Condition) -> Condition:
    """Tools that none of *conditions* means. ``not_(one)`` is the same as ``~one``.

    Raises:
        DefinitionError: One of them is no condition.
    """
    parts = _parts("not_", conditions, AnyOf)
    return ~parts[0] if len(parts) == 1 else Not(AnyOf(parts))


def _is_condition(value: object) -> bool:
    return isinstance(value, Condition)


def _parts(field: str, conditions: Iterable[object], kind: type[AllOf | AnyOf]) -> tuple[Condition, ...]:
    """*conditions*, with those of the same *kind* taken apart: a long chain does not nest."""
    parts: list[Condition] = []
    for index, condition in enumerate(conditions):
        if isinstance(condition, kind):
            parts.extend(condition.parts)
        elif isinstance(condition, Condition):
            parts.append(condition)
        else:
            reason = f"{shown(condition)} is no condition; write Query(...), or combine conditions"
            raise DefinitionError(SUBJECT, f"{field}[{index}]", reason)
    return tuple(parts)


def _conjunction(answers: Iterable[Answer]) -> Answer:
    """No when any says no; else unknown when any is; else yes."""
    together: Answer = True
    for answer in answers:
        if answer is False:
            return False
        if answer is None:
            together = None
    return together


def _negation(answer: Answer) -> Answer:
    return None if answer is None else not answer
