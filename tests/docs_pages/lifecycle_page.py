"""Draw the table of states for docs/lifecycle.md.

``python -m tests.docs_pages.lifecycle_page`` puts what it draws into the page, in place of what was drawn before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from armory_trio.engine._lifecycle import FINAL, TRANSITIONS, Event, State
from tests.docs import ROOT

PAGE: Final = ROOT / "docs" / "lifecycle.md"
_HEADER: Final = "| state | event → next state |\n|---|---|\n"
_DIAGRAM: Final = re.compile(r"```mermaid\n.*?```\n", re.DOTALL)
_TABLE: Final = re.compile(re.escape(_HEADER) + r"(\|.*\n)+")


def diagram() -> str:
    """The table of states as a Mermaid diagram; events that lead from one state to the same other one share an arrow."""
    lines = ["stateDiagram-v2", "    direction TB"]
    lines += [f'    state "{state}" as {_alias(state)}' for state in TRANSITIONS if _alias(state) != state]
    lines.append("    [*] --> queued: admit")
    for state, row in TRANSITIONS.items():
        lines += [
            f"    {_alias(state)} --> {_alias(after)}: {', '.join(events)}"
            for after, events in by_next(row).items()
            if after != state
        ]
    lines += [f"    {_alias(state)} --> [*]" for state in TRANSITIONS if state in FINAL]
    return "\n".join(("```mermaid", *lines, "```")) + "\n"


def table() -> str:
    """The table of states as a table in Markdown, with a row for every state."""
    return _HEADER + "".join(
        f"| `{state}` | {'<br>'.join(_cell(row)) or 'nothing'} |\n" for state, row in TRANSITIONS.items()
    )


def by_next(row: Mapping[Event, State]) -> dict[State, list[Event]]:
    """The events of one row, by the state that they lead to."""
    found: dict[State, list[Event]] = {}
    for event, after in row.items():
        found.setdefault(after, []).append(event)
    return found


def redrawn(page: str) -> str:
    """*page* with its diagram and its table as they should be.

    Raises:
        ValueError: It has no diagram or no table to replace, or several of one.
    """
    for pattern, drawn in ((_DIAGRAM, diagram()), (_TABLE, table())):
        places = list(pattern.finditer(page))
        if len(places) != 1:
            raise ValueError(
                f"the page has {len(places)} places for what begins with {drawn.splitlines()[0]!r}, not one"
            )
        page = page[: places[0].start()] + drawn + page[places[0].end() :]
    return page


def _alias(state: State) -> str:
    return state.replace("-", "_")  # Mermaid takes no hyphens in names


def _cell(row: Mapping[Event, State]) -> Iterator[str]:
    for after, events in by_next(row).items():
        yield f"{', '.join(f'`{event}`' for event in events)} → `{after}`"


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
