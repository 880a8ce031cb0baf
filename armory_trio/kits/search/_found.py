"""What the search tool answers, and how it is kept small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ...definitions import thaw_json
from ...toolbox.search import Match
from ._options import SearchOptions

_FRAME: Final = 120
"""Characters that an answer has around its tools, at most."""

_SCHEMA_LEFT_OUT: Final = "Too long to show here."


class FoundTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that was found.

    Args:
        name: What to call it by.
        description: What it does, maybe cut.
        score: How well it fits, compared with the others of this answer.
        tags: Its tags.
        input_schema: JSON Schema of its arguments, if these were asked for and there is room.
        note: Why there is no schema.
    """

    name: str
    description: str
    score: float
    tags: tuple[str, ...] = ()
    input_schema: Mapping[str, object] | None = None
    note: str | None = None


class FoundTools(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a search found.

    Args:
        tools: The tools, best first.
        omitted: How many more were found for which there was no room.
        note: What to do when nothing was found.
    """

    tools: tuple[FoundTool, ...]
    omitted: int = 0
    note: str | None = None


def fitted(matches: Iterable[Match], options: SearchOptions, *, schemas: bool) -> FoundTools:
    """*matches* as an answer of at most ``options.max_text`` characters: the best keep their schemas."""
    room = options.max_text - _FRAME
    shown: list[FoundTool] = []
    omitted = 0
    for match in matches:
        for described in _descriptions(match, options, schemas=schemas):
            size = len(msgspec.json.encode(described).decode()) + 1
            if size <= room and not omitted:
                shown.append(described)
                room -= size
                break
        else:
            omitted += 1
    note = None if shown or omitted else "Nothing fits. Say it in other words, or more generally."
    return FoundTools(tools=tuple(shown), omitted=omitted, note=note)


def _descriptions(match: Match, options: SearchOptions, *, schemas: bool) -> Iterable[FoundTool]:
    """Ways to describe a tool, the fullest first."""
    definition = match.tool.definition
    brief = FoundTool(
        name=definition.name,
        description=_shortened(definition.description, options.max_description),
        score=float(f"{match.score:.3g}"),
        tags=definition.tags,
    )
    if schemas:
        yield msgspec.structs.replace(brief, input_schema=_thawed(definition.input_schema))
        brief = msgspec.structs.replace(brief, note=_SCHEMA_LEFT_OUT)
    yield brief
    yield msgspec.structs.replace(brief, description=_shortened(brief.description, 40), tags=())


def _shortened(text: str, most: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _thawed(schema: Mapping[str, object]) -> Mapping[str, object]:
    return {key: thaw_json(value) for key, value in schema.items()}
