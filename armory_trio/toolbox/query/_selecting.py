"""Asking a catalogue: which of its tools are meant, and which part of them is answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Unpack, overload

import msgspec

from ...definitions._checks import flag, shown
from ...errors import DefinitionError
from .._listing import listed
from .._resolution import AnyTool
from ..inspection import ToolSummary, inspect_tool
from ._asking import SUBJECT, Answer
from ._conditions import Condition, Query
from ._criteria import Criteria


class QueryResult(msgspec.Struct, frozen=True, eq=False):
    """The tools that a query found, or one page of them. Can be iterated, counted and indexed like their tuple.

    Args:
        tools: The tools of this page.
        total: How many tools were found on all pages.
        offset: How many of them come before this page.
        undecided: Tools of which nobody could tell, because a predicate raised; they are not among the found ones.
    """

    tools: tuple[AnyTool, ...]
    total: int
    offset: int
    undecided: tuple[AnyTool, ...]

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    @overload
    def __getitem__(self, index: int) -> AnyTool: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AnyTool, ...]: ...
    def __getitem__(self, index: int | slice) -> AnyTool | tuple[AnyTool, ...]:
        return self.tools[index]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each tool."""
        return tuple(tool.name for tool in self.tools)

    @property
    def ids(self) -> tuple[str, ...]:
        """The full id of each tool."""
        return tuple(tool.id.text for tool in self.tools)

    @property
    def summaries(self) -> tuple[ToolSummary, ...]:
        """A few words about each tool, which encode as JSON. For more use `inspect_tool`."""
        return tuple(inspect_tool(tool, "summary") for tool in self.tools)


def query_tools(
    tools: AnyTool | Iterable[AnyTool],
    condition: Condition | None = None,
    /,
    *,
    offset: int = 0,
    limit: int | None = None,
    ranked: bool = False,
    **criteria: Unpack[Criteria],
) -> QueryResult:
    """Which of *tools* are meant. Synchronous, and without side effects but those of the host's predicates.

    Args:
        tools: A toolbox, a tool, or any iterable of tools.
        condition: What is asked of them, with the *criteria* as well.
        offset: How many of the found tools to leave out at the front.
        limit: How many to answer at most; None for all of them, 0 for none.
        ranked: Put those first that have more of the text that is looked for; among equals, and without it, the order
            is that of *tools*.
        criteria: Those of `Criteria`, by name.

    Raises:
        DefinitionError: An argument is not legal, or a predicate is async.
    """
    asked = _asked(condition, Query(**criteria))
    _require_number("offset", offset)
    if limit is not None:
        _require_number("limit", limit)
    flag(SUBJECT, "ranked", ranked)
    answers: list[tuple[AnyTool, Answer]] = [(tool, asked.decide(tool)) for tool in listed(SUBJECT, tools)]
    found = [tool for tool, answer in answers if answer is True]
    if ranked:
        found.sort(key=asked.relevance, reverse=True)
    return QueryResult(
        tuple(found[offset:] if limit is None else found[offset : offset + limit]),
        len(found),
        offset,
        tuple(tool for tool, answer in answers if answer is None),
    )


def _asked(condition: object, query: Query) -> Condition:
    if condition is None:
        return query
    if not isinstance(condition, Condition):
        reason = f"must be a condition, such as Query(tags_any=['math']), not {shown(condition)}"
        raise DefinitionError(SUBJECT, "condition", reason)
    return condition & query if query.criteria else condition


def _require_number(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DefinitionError(SUBJECT, field, f"must be a whole number from 0 on, not {shown(value)}")
