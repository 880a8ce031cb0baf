"""Authority as a host meets it: the behaviours of the catalogues that no part alone can prove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "authorities.pipeline": Requirement(
        "armorer-core 1P, armorer-core 2G",
        "A call is validated, judged, loaded and run in this order, and told last; what is refused or paused is not even "
        "loaded.",
    ),
    "authorities.events": Requirement(
        "armorer-core 1P, armorer-core 4C",
        "A denied call is told as refused, a paused one as asked about and then decided; nothing is told of a body.",
    ),
    "authorities.provider": Requirement(
        "armorer-core 1P, armorer-core 6A, armorer-core 10, armorer-core 11",
        "What answers the policy context is asked once for each judgement, also of calls that fail; tools add to it.",
        divergence="Elsewhere it is asked again when the call fails, and what it raises then escapes.",
    ),
    "authorities.auditors": Requirement(
        "armorer-core 1P, armorer-core 4C, armorer-core 10, armorer-core 11",
        "Auditors are told of cancelled calls as of others, all of them, though one of them fails.",
        divergence="Elsewhere nobody is told of cancelled calls, and one who fails keeps the others from being told.",
    ),
    "authorities.options": Requirement(
        "armorer-core 2A", "An option about authority that makes no sense is refused where the supervisor is opened."
    ),
    "authorities.unwrap": Requirement(
        "armorer-core 1J, armorer-core 10",
        "To unwrap a pause raises an error that carries the result and its descriptor.",
    ),
    "authorities.result": Requirement(
        "armorer-core 3A",
        "A pause has an action and a descriptor, and neither value nor error; a success says whether other arguments ran "
        "than were sent.",
    ),
    "authorities.codes": Requirement(
        "armorer-core 3B", "Every code with which an approval or a grant is refused stands on the pages about them."
    ),
    "authorities.tiers": Requirement(
        "armorer-core 10, armorer-core 11, surroundings 9",
        "Gates and the approval policy hold in a supervisor what their tables say, and the stricter one decides.",
    ),
    "authorities.composed": Requirement(
        "surroundings 4.1, surroundings 12.6",
        "Gates and rules that hold for a tool hold for whatever is composed of it.",
        divergence="Elsewhere a wrapper hides what is in it, and runs where that may not.",
    ),
    "authorities.fail-closed": Requirement(
        "armorer-core 10", "In a supervisor, too, a decision that contradicts itself, or that nobody knows, denies."
    ),
    "authorities.headless": Requirement(
        "armorer-core 10", "A headless policy compares names exactly: near ones are not on its list."
    ),
    "authorities.purposes": Requirement(
        "armorer-core 10", "The signature of an approval is none of a grant, nor the other way round."
    ),
    "authorities.charge-card": Requirement(
        "armorer-core 6D, armorer-core 6F, armorer-core 10, armorer-core 11",
        "A descriptor says what would run; resumed elsewhere it runs once; with other arguments only what the policy "
        "allows on its own runs, and what is not valid leaves the approval as it was.",
    ),
    "authorities.deny-later": Requirement(
        "armorer-core 6F, armorer-core 11",
        "Hooks are asked again when a call is resumed, and one that denies now decides.",
    ),
    "authorities.input": Requirement(
        "armorer-core 6F", "A hook may ask for what is missing, and what the person fills in comes as other arguments."
    ),
    "authorities.spoof": Requirement(
        "armorer-core 6H",
        "On whose behalf a call is made stands beside what hosts keep for their policies, and nothing there replaces it.",
    ),
    "authorities.grant-vector": Requirement(
        "armorer-core 6I, armorer-core 10, armorer-core 11",
        "The published example of a grant does what it says: it counts for its session and its resources, its uses are "
        "counted beside its signature, and it skips no hook.",
    ),
    "authorities.stopped": Requirement(
        "armorer-core 11, llm-core 8",
        "Who is stopped while a hook decides or a person is asked runs nothing, whenever the answer comes.",
    ),
    "authorities.digest": Requirement(
        "llm-core 4.5, llm-core 7.1", "An approval carries the digest of the action, and counts for no other action."
    ),
    "authorities.window": Requirement(
        "llm-core 4.5, llm-core 7.2", "An approval counts until just before the instant at which it expires."
    ),
    "authorities.delegation": Requirement(
        "llm-core 4.8", "Policies see the chain of delegation, and an approval counts for that chain alone."
    ),
    "authorities.requires-approval": Requirement(
        "llm-core 7.3",
        "A tool that requires approval never runs where there is nobody to ask; one that does not never asks.",
    ),
    "authorities.only-true": Requirement(
        "llm-core 7.3", "The handler may be sync or async and is told the tool and its arguments; only True approves."
    ),
    "authorities.asked-once": Requirement(
        "llm-core 7.3",
        "The handler is asked once for a call, after it was found valid, about exactly what runs.",
    ),
}
