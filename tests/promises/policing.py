"""How the engine holds calls to what rules and hooks say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "policing.table": Requirement(
        "design 12, armorer-core 6A, armorer-core 6B",
        "Whatever gates, approval policy, declaration, hooks and grants there are, the strictest of them decides: the "
        "body runs only when nobody denies and every question is answered.",
    ),
    "policing.edits": Requirement(
        "design 3, design 12",
        "Arguments that a hook edits are validated and judged again, once; the result says that others ran than were sent.",
    ),
    "policing.shown": Requirement(
        "design 12, armorer-core 6F",
        "What hooks, people and descriptors are shown is what would run, with defaults filled in and values read.",
    ),
    "policing.frozen": Requirement(
        "design 3, armorer-core 6G.65", "To change anything that was shown changes nothing of what runs."
    ),
    "policing.waiting": Requirement(
        "design 6, design 8",
        "A call whose policy hook answers later is queued and waits for `policy`; aborted or out of time meanwhile, it "
        "cancels the hook, and its body never begins.",
    ),
    "policing.raises": Requirement(
        "design 12, armorer-core 6A",
        "Whatever a hook raises denies its own call and harms no other, but a KeyboardInterrupt ends the program.",
    ),
    "policing.from-inside": Requirement(
        "design 8, design 9",
        "A hook may abort its own call, close admission and make calls: nothing hangs, and no limit is passed.",
    ),
    "policing.narrowing": Requirement(
        "design 12, armorer-core 6H",
        "The tool's hook, the body and the calls that it makes have the capabilities that the toolbox's hook left, and "
        "never more.",
    ),
    "policing.context": Requirement(
        "design 12",
        "Hooks find the toolbox's policy context and the tool's in one mapping, where the tool's wins; no call says "
        "anything in it, and a function that fails to answer denies.",
    ),
    "policing.told": Requirement(
        "design 12, armorer-core 6A",
        "Who asked to be told is told once how each judged call ended, whatever way that was, the toolbox's policy "
        "before the tool's; of a call that was never judged nobody is.",
    ),
    "policing.told.harmless": Requirement(
        "design 12",
        "What is told changes nothing: not what it raises, nor what it answers, nor how long it takes, of which it has "
        "five seconds.",
    ),
    "policing.told.shutdown": Requirement(
        "design 8", "A supervisor that shuts down lets those be told who are to be told, before it is left."
    ),
    "policing.exchanged": Requirement(
        "design 12, design 16.9",
        "A call that waits while the toolbox is exchanged for one with another policy is judged by that one before its "
        "body begins, and keeps its place unless a person is asked.",
    ),
    "policing.exchanged.answers": Requirement(
        "design 12",
        "What was agreed to under revisions of toolbox, policy or approvals that are no longer in force counts for "
        "nothing.",
    ),
    "policing.doors": Requirement(
        "design 3, design 12", "No way in leads past the rules, but a host's direct call of its own function."
    ),
    "policing.headless": Requirement("armorer-core 6C", "Under a headless policy no call ever waits for somebody."),
    "policing.sequence": Requirement(
        "design 9, armorer-core 2H.52",
        "No member of a sequential batch passes one before it about which a hook or a person has still to decide.",
    ),
}
