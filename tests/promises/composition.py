"""Tools made of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "composition.steps": Requirement(
        "design 6, surroundings 4.1, surroundings 9",
        "Each step of a composed tool is an execution of its own below that of the whole.",
    ),
    "composition.kinds": Requirement(
        "design 4, surroundings 4.1",
        "Tools of every kind of function and of contract, and composed ones, can be composed.",
    ),
    "composition.once": Requirement(
        "design 12, armorer-core 7D.17, armorer-core 7H.49",
        "A tool, or each tool of a toolbox that may change something, can be wrapped so that it does what one key stands"
        " for once.",
    ),
    "composition.call": Requirement("design 5, surroundings 4.1", "Host code may call a composed tool as a function."),
    "composition.middleware": Requirement("design 12", "A step keeps the middleware that is bound to it."),
    "composition.defined": Requirement(
        "design 5, surroundings 4.2", "What cannot be composed is refused where it is composed."
    ),
    "composition.names": Requirement(
        "design 13, surroundings 4.1, surroundings 4.2, surroundings 9",
        "A composed tool has a name that every provider takes, made of those of its parts unless one is given.",
        divergence="Elsewhere it is called `pipe(a, b)`, which no provider takes.",
    ),
    "composition.strictest": Requirement(
        "design 5, surroundings 4.1, surroundings 9, surroundings 12.6",
        "A composed tool is as dangerous as its most dangerous part, and read-only only if all are; permissions, targets, "
        "tags and metadata are together.",
        divergence="Elsewhere the risk is lost, and a dangerous tool passes where none may.",
    ),
    "composition.whole": Requirement(
        "design 5, surroundings 4.1",
        "A deprecated part makes the whole deprecated, and one that needs a key makes the whole need one.",
    ),
    "composition.availability": Requirement(
        "design 3, surroundings 4.1, surroundings 9",
        "A composed tool is available where all its parts are; a hook that raises says no.",
    ),
    "composition.approval": Requirement(
        "design 12",
        "A step that needs an approval asks itself, with what it will run with; the whole does not ask, too.",
    ),
    "composition.failure": Requirement(
        "design 7, surroundings 4.1, surroundings 4.2, surroundings 4.6",
        "What a step failed with is what the whole fails with: category, code, retryable and details; in a pipe and in "
        "parallel the error says which step it was.",
        divergence="Elsewhere only the message survives, as an internal error.",
    ),
    "composition.effect": Requirement("design 7", "The effect of a composed tool is the strongest of its steps."),
    "composition.pause": Requirement(
        "design 12, surroundings 4.1, surroundings 9, surroundings 12.6",
        "A step that needs an action of somebody's ends the whole with its result, and no later step runs.",
        divergence="Elsewhere such a pause becomes an empty success, or is fed to the next step.",
    ),
    "composition.abort": Requirement(
        "design 8, surroundings 4.1, surroundings 4.2, surroundings 4.7",
        "Whoever stops the whole stops its steps, within their grace; none begins afterwards, and the end is a "
        "cancellation, no failure of a step.",
    ),
    "composition.cancelled-at-every-await": Requirement(
        "design 15", "A composed tool may be cancelled at each await, and leaves no step running."
    ),
    "composition.deadline": Requirement(
        "design 8, surroundings 4.1", "Steps share the deadline of the whole, and keep their own timeouts."
    ),
    "composition.limits": Requirement(
        "design 9", "A composed tool and its steps, of the same tool, too, never wait for each other's place."
    ),
    "composition.events": Requirement(
        "design 6, surroundings 4.2, surroundings 4.6, surroundings 4.7, surroundings 12.6",
        "Events tell which step begins, is complete or failed.",
    ),
    "composition.pipe": Requirement(
        "design 4, surroundings 4.1, surroundings 4.2, surroundings 12.6",
        "A pipe gives what each step answers to the next one, which validates it: a mapping by name, anything else as its "
        "first required parameter.",
        divergence="Elsewhere a dict that looks like a call is taken for one.",
    ),
    "composition.bind": Requirement(
        "design 4, surroundings 4.3, surroundings 12.6",
        "A bound argument leaves the schema and reaches the tool in each call.",
    ),
    "composition.bind.closed": Requirement(
        "design 5, surroundings 4.3",
        "A caller who gives a bound argument is refused like for any unknown one, and is not told what is bound.",
        divergence="Elsewhere it is silently ignored.",
    ),
    "composition.bind.checked": Requirement(
        "design 5, surroundings 4.3, surroundings 12.6",
        "Unknown names and illegal values are refused when they are bound.",
        divergence="Elsewhere values are only checked in a call.",
    ),
    "composition.when": Requirement(
        "design 4, surroundings 4.5, surroundings 12.6",
        "A predicate chooses between two tools; without the second one the arguments are the value.",
    ),
    "composition.tap": Requirement(
        "design 4, surroundings 4.4",
        "An observer sees the value of a success and does not change it, also when it fails, unless it is asked to.",
        divergence="Elsewhere a failing observer fails a call that has taken effect.",
    ),
    "composition.mapping": Requirement(
        "design 4, surroundings 4.8",
        "Functions map what goes into a tool, which validates it, and what comes out of it.",
    ),
    "composition.parallel": Requirement(
        "design 4, surroundings 4.6, surroundings 12.6",
        "Several tools run at once with those of the arguments that they have; values come in the order of the tools.",
    ),
    "composition.parallel.on-error": Requirement(
        "design 16, surroundings 4.6, surroundings 9",
        "When one fails the others go on and the error names which, or they are stopped, or all ends are collected, as "
        "it was asked for.",
        divergence="Elsewhere the others run on after the call has ended.",
    ),
    "composition.retry": Requirement(
        "design 3, surroundings 4.7, surroundings 12.6, armorer-core 1T",
        "A call that failed in passing is made again, as often and after as long as the policy says; a refusal is not.",
        divergence="Elsewhere everything is retried: refusals, cancellations, and what has changed something.",
    ),
    "composition.like-any": Requirement(
        "design 4, surroundings 4.1, surroundings 9, surroundings 12.6",
        "A composed tool runs by its name, for models of every provider and among middleware, is queried, and is "
        "written down and read back.",
        divergence="Elsewhere `pipe` and `parallel` fail in every toolbox, and fences and risk are lost.",
    ),
    "composition.passed-on": Requirement(
        "design 6, surroundings 4.1, surroundings 9",
        "A step has the context, owner, authority and metadata of the whole, and may ask whom the whole may ask.",
        divergence="Elsewhere only the signal, the timeout and the stream are passed on.",
    ),
    "composition.retry.never": Requirement(
        "design 8, surroundings 4.7",
        "Nothing is retried after an effect, while the supervisor drains, or when the wait would outlast the deadline.",
    ),
}
