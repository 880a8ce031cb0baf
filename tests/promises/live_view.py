"""The live view of a running host, and ``armory-trio top``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "live.frame": Requirement(
        "design 4, design 6",
        "A frame shows who the host is, how many executions are in which state, what starts, ends and fails a second, the "
        "limits in use and in line, and a page of executions with their ages.",
    ),
    "live.discreet": Requirement(
        "design 6, design 13",
        "A viewer sees what an operator may see of a snapshot: no arguments, results, authority or reasons to abort.",
    ),
    "live.query": Requirement(
        "design 2", "A viewer chooses by state, tool, owner and text, sorts by any column, and gets one page."
    ),
    "live.marks": Requirement(
        "design 8", "What does not stop, what nobody knows the effect of, and what stays long in a state is marked."
    ),
    "live.detail": Requirement(
        "design 6",
        "Of one execution everything is told: who called it and whom it calls, its limits, times and events.",
    ),
    "live.counts": Requirement(
        "design 6", "What ends faster than anybody looks is counted as unseen, and leaves nothing behind."
    ),
    "live.free": Requirement(
        "design 2, design 6", "While nobody looks, a view that is served costs nothing; no execution ever waits for it."
    ),
    "live.pace": Requirement("design 6", "Looking takes a twentieth of the host's time at most, and lets others run."),
    "live.private": Requirement(
        "design 13", "The socket is for its own user: a private folder, mode 0600, and a look at who connects."
    ),
    "live.paths": Requirement(
        "design 13", "What a dead host left is replaced or removed; the socket of one that lives is never taken."
    ),
    "live.handshake": Requirement("design 13", "Both sides say which protocol they talk before anything else."),
    "live.hostile": Requirement(
        "design 13",
        "Garbage, endless lines, floods, silence and viewers that do not read cost a bounded amount, and only themselves.",
    ),
    "live.viewers": Requirement("design 6", "Several viewers look at once, each at what it asked for."),
    "live.abort": Requirement(
        "design 8, field case feature 2",
        "A viewer asks one execution to stop and is told what that did, unless the host allows none.",
    ),
    "live.ends": Requirement(
        "design 8", "However the block of the host is left, viewers are told and the socket is gone."
    ),
    "live.client": Requirement(
        "design 8", "A view that is cancelled, or whose host is gone, says so and leaves nothing."
    ),
    "cli.top.once": Requirement(
        "design 13, field case 101", "One frame is printed as text or JSON, in any locale, with a code that tells."
    ),
    "cli.top.json": Requirement(
        "design 13, field case 101", "Frames are printed as lines of JSON until a signal comes."
    ),
    "cli.top.finds": Requirement(
        "design 13", "The one host that runs is found; several are listed, and none is said to be none."
    ),
    "cli.top.words": Requirement("design 13", "Wrong options and filters get one line that says what would be right."),
    "cli.top.screen": Requirement(
        "design 13", "On a terminal the host is shown live, in 80 columns and in 40, and follows its size."
    ),
    "cli.top.keys": Requirement(
        "design 13",
        "Keys choose, sort, filter, pause, show everything about one execution, and abort it after a question.",
    ),
    "cli.top.restores": Requirement(
        "design 13", "The terminal is given back as it was, however the view ends; the code says how that was."
    ),
    "cli.top.gone": Requirement(
        "design 13", "When the host goes the last frame stays, and the view waits for it to come back."
    ),
    "cli.top.hostile": Requirement(
        "design 13, field case 101",
        "Names and messages cannot steer the terminal, and one that has few characters gets only those.",
    ),
    "cli.top.many": Requirement("design 14", "Ten thousand executions are shown page by page."),
}
