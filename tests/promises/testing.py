"""What helps in testing tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "testing.seed": Requirement(
        "design 15, surroundings 6.1",
        "One seed gives one order of tasks, the same in every process; all orders that trio allows have a seed.",
    ),
    "testing.seed.restores": Requirement(
        "design 15",
        "After a seeded run trio's scheduler and its random numbers go on as if nothing had been.",
    ),
    "testing.seed.refuses": Requirement(
        "design 15",
        "A seeded run within a trio run or beside another one is refused, and so is a version of trio whose schedule "
        "cannot be chosen; either way in words.",
    ),
    "testing.seed.failure": Requirement(
        "design 15",
        "Whatever a scenario raises leaves with the seed that repeats it; of many schedules the first that fails is "
        "named.",
    ),
    "testing.seed.function": Requirement(
        "design 15",
        "What is no async function is refused with what would be right, and is no failure under some seed.",
    ),
    "testing.seed.hang": Requirement(
        "design 15",
        "A scenario in which everybody waits for ever fails instead of hanging.",
    ),
    "testing.ids": Requirement(
        "design 1, surroundings 6.1, armorer-core 1A",
        "Ids that nobody chose can be made the same in each run.",
    ),
    "testing.inline": Requirement(
        "design 15, surroundings 6.1",
        "A toolbox can be tested without threads: its `def` tools run on trio's thread, under its clock and seed, and "
        "what would block there says so.",
    ),
    "testing.mock": Requirement(
        "design 1, surroundings 6.1",
        "A mock tool answers, fails, streams and takes time as it was told, and keeps what it was called with.",
    ),
    "testing.mock.stand-in": Requirement(
        "design 1",
        "A mock tool can take the place of a tool, with its id, its contract and its declarations.",
    ),
    "testing.mock.wrong": Requirement(
        "design 1",
        "A mock tool that contradicts itself is refused where it is made.",
    ),
    "testing.sample": Requirement(
        "design 1",
        "There is a toolbox of tools that each do one thing a host has to cope with.",
    ),
    "testing.mock.told": Requirement(
        "surroundings 6.1",
        "A mock tool can be told what to do at any time, and be reset to what it did at first, without calls.",
    ),
    "testing.mock.sequence": Requirement(
        "surroundings 6.1",
        "A mock tool gives values and failures in turn; a sequence that is used up says so, or repeats its last "
        "answer.",
    ),
    "testing.mock.arguments": Requirement(
        "surroundings 6.1",
        "A mock tool answers by its arguments, from a list or by a function.",
    ),
    "testing.mock.stream": Requirement(
        "surroundings 6.1",
        "A mock tool streams with pauses and fails in the middle, as it was told.",
    ),
    "testing.record": Requirement(
        "surroundings 6.1, surroundings 9",
        "Every call that a supervisor is asked for is recorded in order with its result: nested, refused, not "
        "found, paused, cancelled and streamed ones too, by every door.",
    ),
    "testing.record.query": Requirement(
        "surroundings 6.1",
        "The history of a supervisor can be asked by tool, outcome, code, effect, owner, nesting and whether it "
        "ran, and be cleared.",
    ),
    "testing.record.assert": Requirement(
        "surroundings 6.1",
        "Assertions about the history of a supervisor say what was there when they fail.",
    ),
    "testing.record.late": Requirement(
        "design 7",
        "What is known about an effect only later is in the history, too.",
    ),
    "testing.record.quiet": Requirement(
        "design 6",
        "Recording changes nothing about the calls, and ends with its block.",
    ),
    "testing.script": Requirement(
        "design 4, surroundings 6.1",
        "A scripted model says its turns as complete messages of each provider, which the provider's own SDK accepts.",
    ),
    "testing.script.answers": Requirement(
        "design 13",
        "A scripted model reads its answers like the provider it stands for, and refuses what that one would refuse.",
    ),
    "testing.script.conversation": Requirement(
        "design 4",
        "A whole conversation between a scripted model and a supervisor can be played, and is answered as a "
        "transcript.",
    ),
    "testing.script.wrong": Requirement(
        "design 4",
        "Whatever goes wrong in a scripted conversation names the turn.",
    ),
    "testing.rules": Requirement(
        "surroundings 6.1",
        "Rules for every tool of a toolbox are checked all at once, and all tools that break them are listed with "
        "the reason.",
    ),
    "testing.rules.own": Requirement(
        "surroundings 6.1",
        "A rule of one's own can be written as a condition, also for some tools only.",
    ),
    "testing.plugin": Requirement(
        "design 4",
        "pytest finds the fixtures through an entry point; they work with pytest-trio, and a test that fails shows "
        "its calls.",
    ),
    "testing.plugin.light": Requirement(
        "design 4",
        "A test run that uses none of the fixtures does not load the library.",
    ),
    "testing.approver": Requirement(
        "design 12",
        "A scripted person answers questions in turn and keeps them; a question or an answer too many fails the test.",
    ),
    "testing.record.approvals": Requirement(
        "design 12", "What a person was asked about a call, and what came of it, is recorded with the call."
    ),
    "testing.stores": Requirement(
        "design 12",
        "What stores of approvals and grants have to do is public as cases, with one clock for both, and finds stores "
        "that do something else.",
    ),
}
