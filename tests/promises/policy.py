"""Who decides whether a call may run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "verdict.lattice": Requirement(
        "design 12, armorer-core 6B",
        "Verdicts form a lattice, Deny over Ask over Allow: joining them is associative and idempotent, a denial "
        "absorbs all, and their order decides only whose words are used.",
    ),
    "verdict.capabilities": Requirement("armorer-core 6H", "Joined verdicts leave the capabilities that each leaves."),
    "verdict.defaults": Requirement(
        "armorer-core 6A", "Verdicts get words where none were given, are values, and refuse what makes no sense."
    ),
    "verdict.reading": Requirement(
        "armorer-core 6A, armorer-core 11", "A hook may answer nothing, a bool, a verdict, or a decision as a mapping."
    ),
    "verdict.unclear": Requirement(
        "design 12, armorer-core 6A",
        "An answer that is not understood denies, and the reason says what was not.",
        divergence="Elsewhere an unknown status beside `allow` runs the tool, and unknown members are dropped.",
    ),
    "verdict.contradiction": Requirement(
        "design 12, armorer-core 6A",
        "A decision whose `allow` and `status` contradict each other denies.",
        divergence="Elsewhere `allow` beside the status `deny` runs the tool, and beside a pause it pauses.",
    ),
    "gates.read-only": Requirement(
        "design 12, armorer-core 2J",
        "`read_only=True` and `allow_mutation=False` let only tools pass that count as read-only.",
        divergence="Elsewhere a tool about which nobody said anything passes.",
    ),
    "gates.dangerous": Requirement(
        "design 12, armorer-core 2J", "`allow_dangerous=False` keeps out what is destructive or privileged."
    ),
    "gates.one-classifier": Requirement(
        "design 5, armorer-core 2J",
        "Gates and the approval policy read one classification, in which the stricter reading stands.",
        divergence="Elsewhere each has a reading of its own, and they disagree.",
    ),
    "gates.settings": Requirement("design 5", "Gates that are neither open nor shut are refused."),
    "capability.table": Requirement(
        "design 12, armorer-core 6B",
        "What is done about each tier in each mode stands in a table; a tier may have a mode of its own, and an "
        "unclassified tool asks in every mode but `deny`.",
    ),
    "capability.texts": Requirement("armorer-core 6B", "Its verdict names the tool, the tier and the mode."),
    "capability.settings": Requirement("design 5", "An approval policy is a value, and refuses unknown words."),
    "headless.deny-by-default": Requirement(
        "armorer-core 6C",
        "Without anybody to ask, only tools run whose exact name or id is listed and not on the deny list.",
        divergence="Ids may be listed, too.",
    ),
    "headless.never-asks": Requirement(
        "armorer-core 6C",
        "What would ask is denied, and so is what a gate does not decide at once.",
    ),
    "headless.reasons": Requirement(
        "armorer-core 6C, armorer-core 11",
        "All of it is looked at; the reason is that of the list, then of the gate, in one short line, then of the tier.",
    ),
    "headless.settings": Requirement("design 5", "A headless policy that makes no sense is refused."),
    "judging.silence": Requirement("design 12", "Without a policy nothing asks and nothing is denied."),
    "judging.order": Requirement(
        "design 3, design 12, armorer-core 6A",
        "Gates, the approval policy, the declaration, the toolbox's hook and the tool's hook have their say in this "
        "order; the first denial ends it, and all questions are kept.",
    ),
    "judging.declared": Requirement("design 12", "A tool that requires approval asks, whatever a hook allows."),
    "judging.ask-hides-no-deny": Requirement(
        "design 12, armorer-core 6A, armorer-core 11", "A question never keeps a later tier from denying."
    ),
    "judging.hook-raises": Requirement(
        "design 12, armorer-core 6A",
        "A hook that raises denies; what it raised is for the host, not for the model.",
        divergence="Elsewhere it is an internal error.",
    ),
    "judging.async": Requirement(
        "armorer-core 6A",
        "Hooks may be async; a judgement without one waits for nothing, and a cancelled one decides nothing.",
    ),
    "judging.frozen": Requirement("design 3", "A hook can't change the arguments that it is shown."),
    "judging.narrowing": Requirement(
        "design 12, armorer-core 6H", "A hook may only take capabilities away, and the next one sees what is left."
    ),
    "judging.edit": Requirement(
        "design 3",
        "A hook may ask for other arguments, once; they are judged from the start. Asking for the same changes nothing.",
    ),
    "judging.satisfied": Requirement(
        "armorer-core 6F",
        "An answer counts for the same question of the same tier, word for word, and for no other.",
    ),
    "judging.granted": Requirement(
        "design 12, armorer-core 6I",
        "A grant answers the question of the approval policy and no other.",
        divergence="Elsewhere a grant also skips the hooks, and their denials.",
    ),
    "judging.settings": Requirement("design 5", "What is no policy is refused with its place."),
}
