"""What `tools` and `search` show of a toolbox: a table for people, one JSON object a line for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..content import encode_json
from ..definitions import Tool
from ..errors import DefinitionError
from ..toolbox import Toolbox
from ._exit import Unusable
from ._streams import plain

if TYPE_CHECKING:  # who lists tools does not pay for searching them
    from ..toolbox.search import Match


def definitions(tools: Iterable[Tool[..., object]]) -> list[str]:
    """One JSON definition a line."""
    return [encode_json(tool.definition.to_json(), ascii=True) for tool in tools]


def table(tools: Iterable[Tool[..., object]]) -> list[str]:
    """Ids, effect classes and the first line of what each tool does, in columns."""
    return _columns([(tool.id.text, tool.definition.classification.effect_class, _first_line(tool)) for tool in tools])


def find(toolbox: Toolbox, query: str, *, limit: int) -> tuple[Match, ...]:
    """The tools that fit *query*, best first, with reasons.

    Raises:
        Unusable: A package of the extra ``search`` is not installed.
    """
    try:
        return toolbox.search(query, limit=limit, explain=True)
    except DefinitionError as error:
        raise Unusable(f"{error.field} {error.reason}") from error


def found_table(matches: Sequence[Match], *, explain: bool) -> list[str]:
    """Scores, ids and what each tool does; with *explain* also why it was found."""
    rows: list[tuple[str, ...]] = []
    for match in matches:
        rows.append((f"{match.score:.2f}", match.tool.id.text, _first_line(match.tool)))
        if explain:
            rows.extend(("", "", f"  {reason}") for reason in match.reasons)
    return _columns(rows)


def found_lines(matches: Sequence[Match]) -> list[str]:
    """One JSON object a line: the score, the reasons and the definition."""
    return [
        encode_json(
            {
                "score": match.score,
                "reasons": [str(reason) for reason in match.reasons],
                "definition": match.tool.definition.to_json(),
            },
            ascii=True,
        )
        for match in matches
    ]


def _first_line(tool: Tool[..., object]) -> str:
    return tool.description.strip().partition("\n")[0]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    return [plain(f"{first:<{widths[0]}}  {second:<{widths[1]}}  {words}").rstrip() for first, second, words in rows]
