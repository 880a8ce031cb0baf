"""Approvals and grants in the engine: what people agree to, and what runs because of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "approving.once": Requirement(
        "design 12, armorer-core 6G.60",
        "An approval lets one body begin, however many resume with it, one after the other or all at a time.",
    ),
    "approving.window": Requirement(
        "design 12, armorer-core 6G.58",
        "What has expired or was revoked lets nothing run, also when that happens between the resume and the body.",
    ),
    "approving.scope": Requirement(
        "design 12, armorer-core 6G.59",
        "Only on the behalf on which a call was made can it go on: anybody else, and whoever may do less, is refused. "
        "Whoever may do more goes on with what there was.",
    ),
    "approving.drift": Requirement(
        "design 12, armorer-core 6H.78",
        "An approval is void once the toolbox, the policy, the rules of approval, the catalogue or the tool changed.",
    ),
    "approving.rules": Requirement(
        "design 12",
        "Whatever tool goes on because a person agreed to a step within it begins, and passes over what its steps did, "
        "only under the rules, definitions, arguments and authority under which it began before; whenever they change.",
    ),
    "approving.rules.unsaid": Requirement(
        "design 12",
        "A descriptor of an older version that does not say under which rules a composed tool began is refused as such.",
    ),
    "approving.keys": Requirement(
        "design 12, armorer-core 6E.39",
        "Another key lets nothing run; an old key does as long as the host keeps it behind the new one.",
    ),
    "approving.restart": Requirement(
        "design 12",
        "A descriptor survives JSON and the supervisor that issued it: another one with its keys and stores goes on.",
    ),
    "approving.unconsumed": Requirement(
        "design 12, armorer-core 6G.66",
        "A call that was resumed and ends before its body begins leaves its approval as it was.",
    ),
    "approving.consumed": Requirement("design 12", "A body that began has used its approval up, however it ends."),
    "approving.stores": Requirement(
        "design 12",
        "A store that fails or hangs, at whatever operation, makes no body run that nobody allowed, none twice, and "
        "keeps nobody waiting for more than 5 s an operation.",
    ),
    "approving.arguments": Requirement(
        "design 12, armorer-core 6F.47",
        "Other arguments are validated and judged on their own: nothing that was agreed counts for them.",
    ),
    "approving.tiers": Requirement(
        "armorer-core 6F.44",
        "Several questions come one after the other; each answer counts for that question alone, word for word.",
    ),
    "approving.call": Requirement("design 12", "A resumed call has the id of the call that waited, and its arguments."),
    "approving.restore": Requirement(
        "armorer-core 6G.67",
        "What a store has lost can be recorded again; what it knows as used or revoked stays so.",
    ),
    "approving.unsigned": Requirement(
        "armorer-core 6D.33", "Without keys a pause can be looked at and never resumed, restored or revoked."
    ),
    "approving.forgery": Requirement(
        "design 12, armorer-core 6E.34",
        "A descriptor with one member changed, added or left out, however deep, lets nothing run.",
    ),
    "approving.handler": Requirement(
        "design 12, armorer-core 6F.50",
        "Of what an approval handler answers only True lets a call run, and whatever else it does refuses.",
    ),
    "approving.handler.edits": Requirement(
        "design 12, armorer-core 6F.47",
        "What a person writes in place of the arguments runs if just that would run; else they are asked once more.",
    ),
    "approving.handler.ends": Requirement(
        "design 8, design 12",
        "A question is withdrawn when its time runs out, its call is stopped, or no new work is taken; nothing ran.",
    ),
    "approving.handler.clocks": Requirement(
        "design 12", "While a person is asked, the work clocks of all callers stand still, and no slot is held."
    ),
    "approving.handler.batch": Requirement("design 12", "Calls that ask at a time are all put to the person at once."),
    "approving.seen": Requirement(
        "design 17", "Events tell that a person is asked and what came of it; snapshots say that a call waits for that."
    ),
    "approving.child": Requirement(
        "design 12",
        "A parent that hands on a pause unread waits as well, and resuming runs the child alone; one that reads it goes on.",
    ),
    "approving.composed": Requirement(
        "design 12",
        "A composed tool goes on from the step that waited: no step runs twice, and its effect is that of all of them.",
    ),
    "approving.places": Requirement(
        "design 12",
        "A tool of one's own that names its steps goes on as composed ones do; what can't be kept or has changed is told.",
    ),
    "approving.middleware": Requirement(
        "design 12", "Middleware neither rewords, retries, caches nor cuts a pause, and none of it costs the approval."
    ),
    "approving.grants": Requirement(
        "design 12, armorer-core 6I.84",
        "A grant answers the approval policy for the calls that it fits, as often as it says, and no hook and no denial.",
    ),
    "approving.grants.limits": Requirement(
        "design 12, armorer-core 6I.90",
        "A grant that was revoked, has expired, or is for another run, session, person, definition or policy is as none.",
    ),
    "approving.grants.uses": Requirement(
        "design 12, armorer-core 6I.93",
        "A use is spent when the body begins, and given back when it does not.",
    ),
    "approving.grants.stores": Requirement(
        "design 12", "A store of grants that fails or hangs is as one without grants, or refuses; nothing runs unasked."
    ),
    "approving.machine": Requirement(
        "design 15",
        "Whatever comes in whatever order, no call runs twice, nothing that was denied or revoked runs, and an approval "
        "runs exactly the arguments that were shown.",
    ),
    "approving.secrets": Requirement(
        "design 12", "No byte of a key can be reached from anything that the engine hands out, logs or raises."
    ),
}
