"""The parts of the view that know neither terminal nor host: filters, tables, keys, and the board that they change."""

from __future__ import annotations

import errno
import os
import pty
import termios

import msgspec
import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from armory_trio.cli import _top_tty
from armory_trio.cli._top_board import AbortIt, Ask, Board, Quit, Wish
from armory_trio.cli._top_frame import rows_for, screen
from armory_trio.cli._top_query import filtered
from armory_trio.cli._top_screen import ansi
from armory_trio.cli._top_text import Pen, duration, rate
from armory_trio.cli._top_tty import Tty, keys_of
from armory_trio.observability.live import (
    Frame,
    LiveAbort,
    LiveDetail,
    LiveEvent,
    LiveExecution,
    LiveHost,
    LiveLimit,
    LiveProgress,
    LiveRates,
    LiveTotals,
    Query,
)
from tests.requirements import requirement

from .live_hosts import EVIL

# ── Filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.top.words")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", Query()),
        (" state=active,state=queued ", Query(states=("active", "queued"))),
        ("tool=db_*, owner=run-7", Query(tools=("db_*",), owners=("run-7",))),
        ("crawl state=stuck", Query(text="crawl", states=("stuck",))),
        ("owner=a=b", Query(owners=("a=b",))),
    ],
)
def test_words_are_understood_as_a_query(words: str, expected: Query) -> None:
    assert filtered(Query(offset=7), words) == expected


@requirement("cli.top.words")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("state=running", "'running' is no state; they are queued, active, "),
        ("colour=red", "'colour' is no field; they are state=, tool= and owner="),
        ("tool=", "tool= names nothing; as tool=db_*"),
        ("one two", "'one' and 'two': one text at most"),
        ("x" * 201, "at most 200 characters"),
        (",".join(f"tool=t{number}" for number in range(17)), "at most 16 alternatives for tool="),
    ],
    ids=["state", "field", "empty", "two texts", "long", "many"],
)
def test_words_that_make_no_query_say_what_would_be_right(words: str, told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("*", r"\*")):
        filtered(Query(), words)


# ── Keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("cli.top.keys")
@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("kq?", ["k", "q", "?"]),
        (
            "\x1b[A\x1b[B\x1bOC\x1b[5~\x1b[6~\x1b[H\x1b[F",
            ["up", "down", "right", "page-up", "page-down", "home", "end"],
        ),
        ("\r\n\x7f\x08\x03\x15\x1a", ["enter", "enter", "backspace", "backspace", "ctrl-c", "ctrl-u", "ctrl-z"]),
        ("\x1b", ["esc"]),
        ("\x1bq", ["esc", "q"]),
        ("\x1b[", ["esc", "["]),
        ("\x1b[1;5C\x1b[200~x", ["x"]),
        ("\x1b[A\x1b", ["up", "esc"]),
        ("é\x00\x01", ["é"]),
    ],
    ids=["characters", "sequences", "control", "escape", "escape and more", "half", "unknown", "both", "other"],
)
def test_bytes_of_a_terminal_are_keys(typed: str, keys: list[str]) -> None:
    assert list(keys_of(typed)) == keys


@requirement("cli.top.keys")
async def test_keys_come_whole_however_their_bytes_do() -> None:
    screen_side, terminal_side = pty.openpty()
    with trio.fail_after(60), Tty(terminal_side, "utf-8") as tty:
        os.close(terminal_side)
        for pieces, keys in (
            ((b"\x1b", b"[", b"A"), ["up"]),
            ((b"\x1b",), ["esc"]),
            ((b"\xc3", b"\xa9"), ["\u00e9"]),
            ((b"\x00", b"q"), ["q"]),
        ):
            got: list[str] = []
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_type, screen_side, pieces)
                got += await tty.keys()
            assert got == keys
        os.close(screen_side)
        assert await tty.keys() == []


@requirement("cli.top.restores")
async def test_a_terminal_that_takes_nothing_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_top_tty, "_LAST_WORDS", 0.05)
    screen_side, terminal_side = pty.openpty()
    before = termios.tcgetattr(terminal_side)
    with trio.fail_after(60):
        with Tty(terminal_side, "ascii") as tty:
            assert tty.size == (80, 24)  # as long as it does not know
            with trio.move_on_after(0.1) as scope:
                await tty.show("\u2192" * 1_000_000)
        assert scope.cancelled_caught
    assert termios.tcgetattr(terminal_side) == before
    os.close(terminal_side)
    assert os.read(screen_side, 4_096).startswith(b"\x1b[?1049h\x1b[?25l\x1b[2J\\u2192")
    os.close(screen_side)


@requirement("cli.top.restores")
def test_a_signal_that_comes_while_the_terminal_is_set_up_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real, tried = termios.tcsetattr, list[int]()

    def interrupted(fd: int, when: int, attributes: list[int | list[bytes | int]]) -> None:
        tried.append(fd)
        if len(tried) % 2:
            raise termios.error(errno.EINTR, "Interrupted system call")
        real(fd, when, attributes)

    outside, inside = pty.openpty()
    try:
        before = termios.tcgetattr(inside)
        monkeypatch.setattr(termios, "tcsetattr", interrupted)
        with Tty(inside, "utf-8"):
            assert termios.tcgetattr(inside) != before
        assert termios.tcgetattr(inside) == before
    finally:
        os.close(outside)
        os.close(inside)
    assert len(tried) == 4


async def _type(screen_side: int, pieces: tuple[bytes, ...]) -> None:
    for piece in pieces:
        await trio.testing.wait_all_tasks_blocked()
        os.write(screen_side, piece)


# ── What is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


def execution(number: int, **changes: object) -> LiveExecution:
    """An execution of a frame."""
    plain = LiveExecution(
        execution_id=f"exe-{number}",
        state="active",
        tool_name="crawl",
        owner_id=f"run-{number}",
        age=100.0 + number,
        in_state=5.0,
        attempts=1,
        progress=LiveProgress(percent=45, message="page 3"),
    )
    return msgspec.structs.replace(plain, **changes)


def frame(*shown: LiveExecution, matched: int | None = None, **changes: object) -> Frame:
    """A frame."""
    plain = Frame(
        re=1,
        at=0.0,
        host=LiveHost(name="host", machine="box", pid=42, uptime=3723.0, admission="open", viewers=2, allow_abort=True),
        totals=LiveTotals(live=3, states={"active": 2, "queued": 1}, started=0, ended=0, failed=0, unseen=0),
        rates=LiveRates(started=12.5, ended=11.0, failed=0.25, unseen=0.0, over=10.0),
        limits=(LiveLimit(name="group:web", used=2, size=2, waiting=1),),
        limits_left_out=3,
        matched=len(shown) if matched is None else matched,
        offset=0,
        executions=shown,
        detail=None,
    )
    return msgspec.structs.replace(plain, **changes)


def board(*shown: LiveExecution, matched: int | None = None, **changes: object) -> Board:
    """A board that shows a frame."""
    made = Board(Query(limit=18))
    made.show(frame(*shown, matched=matched, **changes))
    return made


def texts(shown: Board, width: int = 80, height: int = 24, encoding: str = "utf-8") -> list[str]:
    """The lines of its screen, without styles."""
    return [line.plain for line in screen(shown, Pen(encoding), width, height)]


@requirement("cli.top.screen")
def test_a_screen_of_eighty_columns_tells_all_there_is() -> None:
    stuck = execution(2, state="cleanup-pending", mark="stuck", abort=LiveAbort(source="caller", ago=3.0))
    waits = execution(3, state="queued", waits_for="capacity:group:web", queue_position=7, progress=None, mark="slow")
    lines = texts(board(execution(1, chunks=3, attempts=2), stuck, waits))

    assert lines[0].rstrip() == "host pid 42 on box  up 1h02  admission open  2 viewers"
    assert lines[1].rstrip() == "live 3  started 12.5/s  ended 11.0/s  failed 0.2/s"
    assert lines[2].rstrip() == "active 2  queued 1"
    assert lines[3].rstrip() == "limits: group:web 2/2 +1 wait  and 3 more"
    assert lines[4].split() == ["STATE", "TOOL", "OWNER", "AGE", "IN-ST", "WAITS", "FOR,", "PROGRESS"]
    assert lines[5].startswith("> active          crawl  run-1    1m41   5.0s 45%, page 3, 3 chunks,")
    assert lines[6].startswith(" !cleanup-pending crawl  run-2    1m42   5.0s stopped by caller, 45%")
    assert lines[7].startswith(" ~queued          crawl  run-3    1m43   5.0s #7 for capacity:group")
    assert lines[-1].startswith("1-3 of 3  ? help  enter detail  k abort  / filter  q quit")


@requirement("cli.top.screen")
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 24), (40, 8), (20, 3), (200, 50), (1, 1), (63, 10)])
@pytest.mark.parametrize("mode", ["look", "help", "filter", "confirm", "detail", "nothing", "many"])
def test_every_screen_has_as_many_lines_and_cells_as_there_are(mode: str, width: int, height: int) -> None:
    wide = execution(1, owner_id="\u5bff\u53f8" * 30, tool_name="t" * 300)
    shown = board(*[wide] * (30 if mode == "many" else 2)) if mode != "nothing" else Board(Query())
    for key in {"help": "?", "filter": "/", "confirm": "k", "detail": "\r"}.get(mode, ""):
        shown.key("enter" if key == "\r" else key)
    if mode == "detail":
        shown.show(frame(wide, detail=LiveDetail(execution=wide)))
    lines = texts(shown, width, height)

    assert [cell_len(line) for line in lines] == [width] * height


@requirement("cli.top.screen")
@pytest.mark.parametrize("height", [4, 5, 6, 7])
def test_the_lowest_screens_show_what_is_chosen(height: int) -> None:
    lines = texts(board(*map(execution, range(1, 30)), matched=29), 20, height)

    assert any(line.startswith("> active") for line in lines)
    assert lines[0].startswith("host")


@requirement("cli.top.screen")
def test_forty_columns_hold_state_tool_and_time() -> None:
    lines = texts(board(execution(1, state="abort-requested", tool_name="a_tool_with_a_long_name" * 3)), 40)

    assert lines[1].rstrip() == "live 3  +12.5/s -11.0/s !0.2/s"
    assert lines[4].split() == ["STATE", "TOOL", "IN-ST"]
    assert lines[5].startswith("> aborting ")
    assert lines[5].endswith("…   5.0s")


@requirement("cli.top.screen")
def test_wide_screens_have_columns_for_chunks_tries_and_ids() -> None:
    lines = texts(board(execution(1, chunks=3)), 160)

    assert lines[4].split()[5:] == ["CHUNKS", "TRIES", "EXECUTION", "WAITS", "FOR,", "PROGRESS"]
    assert lines[5].split()[5:] == ["3", "1", "exe-1", "45%,", "page", "3"] or "exe-1" in lines[5]


@requirement("cli.top.hostile")
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252", "iso-8859-15"])
def test_nothing_that_is_shown_steers_the_terminal_or_is_more_than_it_has(encoding: str) -> None:
    evil = execution(
        1,
        tool_name=EVIL,
        owner_id=EVIL + "x" * 500,
        waits_for=EVIL,
        declared_wait=EVIL,
        progress=LiveProgress(percent=1, message=EVIL),
        error_code=EVIL,
        outcome="error",
        capacity=(EVIL,),
    )
    shown = board(evil, limits=(LiveLimit(name=EVIL, used=1, size=1, waiting=0),))
    shown.show(frame(evil, host=msgspec.structs.replace(frame().host, name=EVIL, machine=EVIL)))
    screens = [texts(shown, 200, 20, encoding)]
    shown.key("enter")
    events = (LiveEvent(ago=1.0, kind=EVIL, words=EVIL),)
    shown.show(frame(evil, detail=LiveDetail(execution=evil, ancestors=(evil,), children=(evil,), events=events)))
    screens.append(texts(shown, 200, 60, encoding))
    shown.key("k")
    shown.news = EVIL
    screens.append(texts(shown, 200, 60, encoding))
    text = "".join(line for lines in screens for line in lines)

    assert text.isprintable()
    assert text.encode(encoding)
    assert "\\x1b[2J\\u202eevil\\x07" in text
    assert ("\u2192" in text) is (encoding == "utf-8")


_ODD = "\x00\x1b\x9b\u200d\u200f\u202e\u2066\u2028\ufe0f\u0301\u3164\ufeff\ue000\U000e0041"
_WIDE = "\u4e00\uff21\uac00\U0001f600\U0001f468\u200d\U0001f469"
_NAMES = st.text(st.one_of(st.characters(), st.sampled_from(_ODD + _WIDE)), max_size=120)


@requirement("cli.top.hostile", "cli.top.screen")
@given(name=_NAMES, width=st.integers(1, 200), encoding=st.sampled_from(["ascii", "cp1252", "utf-8"]))
@example(name="\u4e00" * 500, width=81, encoding="utf-8")
@example(name="e\u0301" * 200, width=80, encoding="utf-8")
@example(name="\ud800\udc00\udfff", width=80, encoding="utf-8")
def test_whatever_a_name_is_made_of_each_line_fills_its_cells_and_none_more(
    name: str, width: int, encoding: str
) -> None:
    odd = execution(
        1, tool_name=name, owner_id=name, waits_for=name, error_code=name, execution_id=name, declared_wait=name
    )
    shown = board(odd, execution(2), limits=(LiveLimit(name=name, used=1, size=1, waiting=0),))
    shown.show(frame(odd, execution(2), host=msgspec.structs.replace(frame().host, name=name, machine=name)))
    looks = [texts(shown, width, 24, encoding)]
    shown.key("enter")
    shown.show(frame(odd, detail=LiveDetail(execution=odd, events=(LiveEvent(ago=1.0, kind=name, words=name),))))
    looks.append(texts(shown, width, 24, encoding))

    for lines in looks:
        assert len(lines) == 24
        assert {cell_len(line) for line in lines} == {width}
        assert "".join(lines).isprintable()
        assert "\n".join(lines).encode(encoding)


@requirement("cli.top.hostile")
def test_without_colors_there_are_none_and_marks_are_characters() -> None:
    lines = screen(board(execution(1, mark="stuck")), Pen("utf-8"), 80, 24)

    assert "\x1b[" not in "".join(ansi(lines, 80, is_colored=False))
    assert "\x1b[" in "".join(ansi(lines, 80, is_colored=True))
    assert ">!active" in ansi(lines, 80, is_colored=False)[5]


@requirement("cli.top.screen")
@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0.04, "0.0s"),
        (9.96, "10.0s"),
        (59.4, "59s"),
        (100.0, "1m40"),
        (3_599.9, "59m59"),
        (3_600.0, "1h00"),
        (359_999.0, "99h59"),
        (1e9, "11574d"),
        (-5.0, "-5.0s"),
    ],
)
def test_durations_are_short(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown
    assert len(shown) <= 6


def test_rates_are_short() -> None:
    assert (rate(0.04), rate(99.9), rate(12_345.6)) == ("0.0/s", "99.9/s", "12346/s")


# ── What keys do ─────────────────────────────────────────────────────────────────────────────────────────────────────


def press(shown: Board, *keys: str) -> Wish:
    """Press *keys*; answers what the last one asks for."""
    wish: Wish = None
    for key in keys:
        wish = shown.key(key)
    return wish


@requirement("cli.top.keys")
def test_an_abort_is_asked_about_and_means_the_one_that_was_chosen() -> None:
    shown = board(execution(1), execution(2))

    press(shown, "down", "k")
    assert texts(shown)[-1].startswith("abort crawl (exe-2)? y yes, any other key no")
    shown.show(frame(execution(3), execution(4)))  # meanwhile everything has changed
    assert press(shown, "y") == AbortIt("exe-2")
    assert press(shown, "k", "n") is None
    assert press(shown, "k", "enter") is None
    assert shown.mode == "look"


@requirement("cli.top.keys")
def test_there_is_nothing_to_abort_where_nothing_runs_or_nobody_may() -> None:
    empty = board()
    forbidden = board(execution(1), host=msgspec.structs.replace(frame().host, allow_abort=False))

    assert press(empty, "k", "y") is None
    assert press(forbidden, "k") is None
    assert forbidden.news == "this host lets nobody abort from here"
    assert press(forbidden, "y") is None


@requirement("cli.top.keys")
def test_the_choice_follows_its_execution() -> None:
    shown = board(execution(1), execution(2), execution(3))
    press(shown, "down")
    shown.show(frame(execution(9), execution(3), execution(2), execution(1)))
    assert shown.cursor == 2
    shown.show(frame(execution(9)))
    assert shown.cursor == 0


@requirement("cli.top.keys", "cli.top.many")
def test_moving_past_the_end_of_a_page_asks_for_the_next_one() -> None:
    shown = Board(Query(limit=10))
    shown.show(frame(*map(execution, range(10)), matched=95))

    assert press(shown, *["down"] * 9) is None
    assert press(shown, "down") == Ask()
    assert (shown.query.offset, shown.cursor) == (1, 9)
    shown.show(frame(*map(execution, range(1, 11)), matched=95, offset=1))
    assert shown.cursor == 9
    assert press(shown, "page-down") == Ask()
    assert (shown.query.offset, shown.cursor) == (11, 9)
    assert press(shown, "end") == Ask()
    assert (shown.query.offset, shown.cursor) == (85, 9)
    assert press(shown, "page-down") is None
    assert press(shown, "page-up") == Ask()
    assert (shown.query.offset, shown.cursor) == (75, 9)
    assert press(shown, "home") == Ask()
    assert (shown.query.offset, shown.cursor) == (0, 0)
    assert press(shown, "up", "page-up") is None


@requirement("cli.top.keys")
def test_keys_sort_and_turn_round() -> None:
    shown = board(execution(1))

    assert press(shown, "s") == Ask()
    assert (shown.query.sort, shown.news) == ("state", "sorted by state")
    assert press(shown, "S", "S") == Ask()
    assert shown.query.sort == "attempts"
    assert press(shown, "r") == Ask()
    assert shown.query.descending


@requirement("cli.top.keys")
def test_a_filter_is_typed_corrected_kept_and_taken_back() -> None:
    shown = board(execution(1))

    assert press(shown, "/", *"state=runnin", "enter") is None
    assert shown.news.startswith("'runnin' is no state")
    press(shown, "/", *"x", "backspace", "ctrl-u", *"tool=cx", "backspace", *"rawl", "left")
    assert texts(shown)[-1].startswith("filter: tool=crawl_")
    assert press(shown, "enter") == Ask()
    assert (shown.query.tools, shown.filter_words) == (("crawl",), "tool=crawl")
    assert "filter tool=crawl" in texts(shown)[-1]
    press(shown, "/", *"y", "esc")
    assert shown.filter_words == "tool=crawl"
    assert press(shown, "esc") == Ask()
    assert shown.query == Query(limit=18)


@requirement("cli.top.keys")
def test_a_pause_keeps_the_frame_unless_something_else_is_asked_for() -> None:
    shown = board(execution(1))
    press(shown, " ")
    shown.show(frame(execution(2)))
    assert "exe-1" in {each.execution_id for each in shown.frame.executions} if shown.frame else False
    assert texts(shown)[-1].startswith("PAUSED")
    press(shown, "s")
    shown.show(frame(execution(3)))
    shown.show(frame(execution(4)))
    assert shown.frame is not None and shown.frame.executions == (execution(3),)
    press(shown, " ")
    shown.show(frame(execution(5)))
    assert shown.frame.executions == (execution(5),)


@requirement("cli.top.keys", "live.detail")
def test_everything_about_one_execution_is_shown_scrolled_and_left() -> None:
    shown = board(execution(1), execution(2))
    assert press(shown, "down", "enter") == Ask()
    assert shown.query.detail == "exe-2"
    assert any("exe-2 is not known" in line for line in texts(shown))
    child, events = execution(7), tuple(LiveEvent(ago=float(n), kind="Progress", words=f"no {n}") for n in range(40))
    told = LiveDetail(
        execution=execution(2, abort=LiveAbort(source="deadline", ago=2.0, honoured=False), cleanup="failed"),
        ancestors=(execution(1),),
        children=(child,),
        children_left_out=4,
        limits=(LiveLimit(name="threads", used=1, size=40, waiting=0),),
        events=events,
        events_missed=True,
    )
    shown.show(frame(execution(1), execution(2), detail=told))
    text = "\n".join(line.rstrip() for line in texts(shown, 80, 40))

    for words in (
        "execution     exe-2",
        "state         active for 5.0s",
        "limits        threads 1/40",
        "abort         by deadline, 2.0s ago, not honoured",
        "cleanup       failed",
        "called by\n  exe-1  crawl  active for 5.0s",
        "calls\n  exe-7  crawl",
        "  and 4 more",
        "events since you look, some missed\n     39s ago  Progress  no 39",
    ):
        assert words in text
    press(shown, "end")
    assert "no 0" in "\n".join(texts(shown))
    assert press(shown, "k", "y") == AbortIt("exe-2")
    assert press(shown, "esc") == Ask()
    assert shown.query.detail is None


@requirement("cli.top.keys")
def test_help_is_shown_until_any_key_and_q_leaves() -> None:
    shown = board(execution(1))
    press(shown, "?")
    assert any("abort it; asks before it does" in line for line in texts(shown))
    assert press(shown, "q") is None
    assert press(shown, "q") == Quit()
    assert press(shown, "/", "ctrl-c") == Quit()


@requirement("cli.top.screen")
def test_a_screen_that_grows_asks_for_more() -> None:
    shown = board(execution(1))

    assert rows_for(24) == 18
    assert shown.resize(rows_for(24)) is None
    assert shown.resize(rows_for(50)) == Ask()
    assert shown.query.limit == 44
    assert rows_for(1) == 1
