"""The page about the states shows the table that the engine uses."""

from __future__ import annotations

import pytest

from armory_trio.engine._lifecycle import EVENTS, STATES, TRANSITIONS
from tests.docs_pages.lifecycle_page import PAGE, by_next, diagram, redrawn, table


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_shows_the_table_of_the_engine() -> None:
    assert redrawn(_page()) == _page(), "it is stale: run `python -m tests.docs_pages.lifecycle_page`"


def test_every_step_of_the_table_is_drawn_once_in_each_form() -> None:
    moves = [(state, after) for state, row in TRANSITIONS.items() for after in by_next(row)]
    arrows = [line for line in diagram().splitlines() if " --> " in line and "[*]" not in line]
    cells = [cell for line in table().splitlines()[2:] for cell in line.split("|")[2].split("<br>") if "→" in cell]

    assert len(arrows) == sum(state != after for state, after in moves)
    assert len(cells) == len(moves)
    assert sum(cell.count("`") // 2 - 1 for cell in cells) == sum(map(len, TRANSITIONS.values()))


@pytest.mark.parametrize("word", [*STATES, *EVENTS])
def test_every_state_and_every_event_is_explained(word: str) -> None:
    drawn = table()
    explained = _page().replace(drawn, "")

    assert f"| `{word}` | " in explained


def test_what_was_drawn_before_is_replaced() -> None:
    stale = (
        _page()
        .replace("[*] --> queued: admit", "[*] --> active: magic")
        .replace("| `terminal` | nothing |", "| `x` | y |")
    )

    assert stale != _page()
    assert redrawn(stale) == redrawn(_page())


@pytest.mark.parametrize("page", ["no diagram", "twice"])
def test_a_page_without_one_place_to_draw_in_is_refused(page: str) -> None:
    text = _page().replace("```mermaid", "```text") if page == "no diagram" else _page() * 2

    with pytest.raises(ValueError, match=r"the page has [02] places for what begins with '```mermaid'"):
        redrawn(text)
