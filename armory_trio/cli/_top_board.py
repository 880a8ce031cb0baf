"""What the screen is about: what keys change in it, and what they ask for. Pure."""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from ..observability.live import Frame, LiveDetail, Query, SortKey
from ._top_query import filtered

Mode = Literal["look", "filter", "confirm", "help"]

KEYS: Final = (
    ("up, down", "choose an execution; page up, page down, home, end"),
    ("enter", "everything about it; esc goes back"),
    ("k", "abort it; asks before it does"),
    ("/", "filter: state=active,tool=db_*,owner=run-7, or a text"),
    ("s, S", "sort by the next, the last column; r the other way round"),
    ("space", "pause, and go on"),
    ("?", "this help"),
    ("q", "quit"),
)
"""What keys do, for the help."""

_SORTS: Final[tuple[SortKey, ...]] = get_args(SortKey)
_TYPED: Final = 400


class Quit(msgspec.Struct, frozen=True):
    """Leave."""


class Ask(msgspec.Struct, frozen=True):
    """Ask the host for something else than before."""


class AbortIt(msgspec.Struct, frozen=True):
    """Ask an execution to stop."""

    execution_id: str


Wish = Quit | Ask | AbortIt | None


class Board:
    """What the screen is about.

    Args:
        query: What to show at first.
        filter_words: What that was made from.
    """

    def __init__(self, query: Query, filter_words: str = "") -> None:
        self.query: Query = query
        self.filter_words = filter_words
        self.frame: Frame | None = None
        self.detail: LiveDetail | None = None
        self.mode: Mode = "look"
        self.looks_at: str | None = None
        """The execution that everything is told about."""
        self.cursor: int = 0
        self.paused = False
        self.typed = ""
        self.news = ""
        """What has to be said, until the next key."""
        self.target_words = ""
        self._target = ""
        self._scroll = 0
        self._asked = True
        """Whether the next frame is the first that shows what was asked for."""

    # -- what comes

    def show(self, frame: Frame) -> None:
        """A frame has come."""
        if self.paused and not self._asked:
            return
        chosen = None if self._asked else self._chosen_id()
        self.frame, self._asked = frame, False
        if frame.detail is not None and frame.detail.execution.execution_id == self.looks_at:
            self.detail = frame.detail
        ids = [each.execution_id for each in frame.executions]
        if chosen in ids:
            self.cursor = ids.index(chosen)
        self.cursor = max(0, min(self.cursor, len(ids) - 1))

    def resize(self, rows: int) -> Wish:
        """There is room for so many executions."""
        if rows == self.query.limit:
            return None
        self.query = msgspec.structs.replace(self.query, limit=rows)
        return self._ask()

    def scrolled_to(self, lines: int, room: int) -> int:
        """How many of *lines* to leave out at the top, so that something is left in *room*."""
        self._scroll = max(0, min(self._scroll, lines - room))
        return self._scroll

    def _ask(self) -> Ask:
        self._asked = True
        return Ask()

    def _chosen_id(self) -> str | None:
        frame = self.frame
        if frame is None or not 0 <= self.cursor < len(frame.executions):
            return None
        return frame.executions[self.cursor].execution_id

    # -- keys

    def key(self, key: str) -> Wish:
        """*key* was pressed: a character, or a name such as ``up`` or ``enter``."""
        self.news = ""
        if key == "ctrl-c":
            return Quit()
        match self.mode:
            case "filter":
                return self._type(key)
            case "confirm":
                self.mode = "look"
                return AbortIt(self._target) if key in ("y", "Y") else None
            case "help":
                self.mode = "look"
                return None
            case "look":
                return self._look(key)

    def _look(self, key: str) -> Wish:
        match key:
            case "q":
                return Quit()
            case "?" | "h":
                self.mode = "help"
            case "/" if self.looks_at is None:
                self.mode, self.typed = "filter", self.filter_words
            case "k":
                self._confirm()
            case " " | "p":
                self.paused = not self.paused
            case "enter" | "right" if self.looks_at is None:
                return self._open()
            case "esc" | "left" | "backspace" if self.looks_at is not None:
                return self._close()
            case "esc" if self.filter_words:
                return self._filter("")
            case "s" | "S" | "r" if self.looks_at is None:
                return self._sort(key)
            case _:
                return self._move(key)
        return None

    def _confirm(self) -> None:
        frame = self.frame
        if self.looks_at is not None:
            self._target = self.looks_at
            self.target_words = self.looks_at
        elif frame is not None and (chosen := self._chosen_id()) is not None:
            self._target = chosen
            self.target_words = f"{frame.executions[self.cursor].tool_name} ({chosen})"
        else:
            self.news = "there is nothing to abort"
            return
        if frame is not None and not frame.host.allow_abort:
            self.news = "this host lets nobody abort from here"
            return
        self.mode = "confirm"

    def _open(self) -> Wish:
        self.looks_at, self.detail, self._scroll = self._chosen_id(), None, 0
        if self.looks_at is None:
            return None
        self.paused = False
        self.query = msgspec.structs.replace(self.query, detail=self.looks_at)
        return self._ask()

    def _close(self) -> Wish:
        self.looks_at = self.detail = None
        self.query = msgspec.structs.replace(self.query, detail=None)
        return self._ask()

    def _sort(self, key: str) -> Wish:
        query = self.query
        if key == "r":
            self.query = msgspec.structs.replace(query, descending=not query.descending, offset=0)
        else:
            place = _SORTS.index(query.sort) + (1 if key == "s" else -1)
            self.query = msgspec.structs.replace(query, sort=_SORTS[place % len(_SORTS)], offset=0)
            self.news = f"sorted by {self.query.sort}"
        self.cursor = 0
        return self._ask()

    def _type(self, key: str) -> Wish:
        match key:
            case "enter":
                return self._filter(self.typed)
            case "esc":
                self.mode = "look"
            case "backspace":
                self.typed = self.typed[:-1]
            case "ctrl-u":
                self.typed = ""
            case _ if len(key) == 1 and len(self.typed) < _TYPED:
                self.typed += key
            case _:
                pass
        return None

    def _filter(self, words: str) -> Wish:
        try:
            self.query = filtered(self.query, words)
        except ValueError as error:
            self.news = str(error)
            self.mode = "look"
            return None
        self.filter_words, self.cursor, self.mode = words.strip(), 0, "look"
        return self._ask()

    def _move(self, key: str) -> Wish:
        frame = self.frame
        page = max(1, self.query.limit)
        steps = {"up": -1, "down": 1, "page-up": -page, "page-down": page, "home": -(10**9), "end": 10**9}
        step = steps.get(key, 0)
        if self.looks_at is not None:
            self._scroll = max(0, self._scroll + step)
            return None
        if frame is None or not step:
            return None
        wanted = max(0, min(self.query.offset + self.cursor + step, frame.matched - 1))
        offset = self.query.offset
        if not offset <= wanted < offset + page:
            offset = max(0, wanted - page + 1 if step > 0 else wanted)
            if step in (page, -page):
                offset = max(0, min(self.query.offset + step, frame.matched - page))
        self.cursor = max(0, wanted - offset)
        if offset == self.query.offset:
            return None
        self.query = msgspec.structs.replace(self.query, offset=offset)
        return self._ask()
