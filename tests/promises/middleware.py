"""Code around tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "middleware.order": Requirement(
        "design 16.11, surroundings 3.2, armorer-core 2B",
        "The middleware that is listed first is outermost.",
        divergence="Elsewhere the last one is; fences would then be closed before the text in them is cut.",
    ),
    "middleware.call": Requirement(
        "design 3", "A middleware sees the validated call, defaults filled in, and can change nothing of it."
    ),
    "middleware.answers": Requirement(
        "design 3, 7",
        "What the outermost middleware answers is the value; one that does not go on keeps the tool idle.",
    ),
    "middleware.raises": Requirement(
        "design 7", "What a middleware raises or swallows decides the outcome, and never what the world has seen."
    ),
    "middleware.definition": Requirement(
        "design 5, surroundings 3.2, armorer-core 2B",
        "What is no middleware is refused when the toolbox is made, and the error says what would be one.",
    ),
    "middleware.bind": Requirement(
        "design 12, surroundings 3.2, armorer-core 2B",
        "A middleware with a `bind` decides once for each tool what stands around it, or that nothing does.",
    ),
    "middleware.once": Requirement(
        "design 12, surroundings 3.2, armorer-core 2B, armorer-core 2D, armorer-core 10",
        "Middleware is bound to a tool when it enters its first toolbox that has any; no other toolbox takes it off or "
        "puts another one on.",
    ),
    "middleware.everywhere": Requirement(
        "design 3, surroundings 3.2, surroundings 3.7, surroundings 8, surroundings 9, armorer-core 2B, armorer-core 10",
        "However a tool was made and through whatever door it is called, its middleware stands around it.",
        divergence="Elsewhere a toolbox calls the raw function of a tool past its middleware.",
    ),
    "middleware.stages": Requirement(
        "design 10",
        "The chunks of a generator tool go through the stages of its middleware from the inside out, wherever it runs; "
        "a stage that raises fails its own call and nothing else.",
    ),
    "middleware.stream-around": Requirement(
        "design 10",
        "A middleware may stand around a whole stream, and one that does not answer its chunks has kept it from running.",
    ),
    "middleware.no-peeking": Requirement(
        "design 3", "Nobody sees a part of a value that a middleware was promised as a whole before it has it."
    ),
    "middleware.attempts": Requirement(
        "design 3, 6",
        "Going on again is another attempt of the same execution, refused when something may have happened before, when "
        "it was asked to stop, when the supervisor takes no new work, and when a reader has chunks of it already.",
    ),
    "middleware.call-next": Requirement(
        "design 3", "`call_next` is for one task at a time, and dead once the outcome of its call is decided."
    ),
    "middleware.stopped": Requirement(
        "design 7, 8",
        "Stopped inside a middleware, a call says truly whether its tool had begun and whether it took effect.",
    ),
    "middleware.own-scope": Requirement(
        "design 7, 8",
        "A middleware may stop waiting for its tool: what can be stopped is gone before it goes on, what cannot be ends "
        "the execution and is watched to its end, and what must never be cancelled is not.",
    ),
    "middleware.too-late": Requirement(
        "design 7, 8",
        "A tool whose middleware was cancelled before it went on is not begun, not even one that must never be "
        "cancelled: it has done nothing.",
    ),
    "middleware.stray": Requirement(
        "design 2", "A tool that its middleware let go of is stopped, and gone, before its execution ends."
    ),
    "middleware.cancelled-at-every-await": Requirement(
        "design 15",
        "Each of our middlewares can be stopped at each of its awaits, and the next call finds it in order.",
    ),
    "middleware.state": Requirement(
        "design 2", "What a middleware remembers belongs to one run of trio; a toolbox may be used in another one."
    ),
    "fence.values": Requirement(
        "surroundings 3.7, surroundings 9, surroundings 12.5",
        "All words that an untrusted tool gives are fenced, in structures too, by delimiters that cannot be forged.",
        divergence="Elsewhere structures without a field of a certain name are not fenced, and delimiters can be guessed.",
    ),
    "fence.only": Requirement(
        "surroundings 3.7, armorer-core 1D", "Only tools whose risk says untrusted output are fenced."
    ),
    "fence.errors": Requirement(
        "surroundings 3.7, surroundings 9",
        "What such a tool says when it fails is fenced, and means the same; our words are not.",
    ),
    "fence.streams": Requirement(
        "surroundings 3.7",
        "Streams are fenced across the borders of chunks, closed when they fail, and so is their value.",
    ),
    "fence.order": Requirement(
        "design 16.11, surroundings 3.7, surroundings 9",
        "Text is cut inside the fence, and no combination of toolboxes takes the fence off or doubles it.",
    ),
    "fence.definition": Requirement("design 5", "A fence or a cap that cannot work is refused when it is set up."),
    "truncate.values": Requirement(
        "surroundings 3.6",
        "Values and errors are cut to caps of their own, keep their meaning, and are not touched if they fit.",
    ),
    "truncate.streams": Requirement(
        "surroundings 3.1, surroundings 3.6, surroundings 9",
        "A stream is cut as it flows, its source is read to its end, and its value is cut too.",
    ),
    "guardrails.arguments": Requirement(
        "surroundings 3.9", "Flagged arguments refuse a call before its tool runs, as `permission` `GUARDRAIL_BLOCKED`."
    ),
    "guardrails.results": Requirement(
        "surroundings 3.9, surroundings 9, surroundings 12.5",
        "A flagged result is blocked, warned of or sanitised, its effect is told, and no log quotes it.",
        divergence="Elsewhere guardrails cannot look at the results of tools.",
    ),
    "guardrails.errors": Requirement(
        "surroundings 3.9", "What a tool says when it fails is looked at like its results."
    ),
    "guardrails.streams": Requirement(
        "surroundings 3.9", "A stream is looked at as a whole, and nothing of it is shown before, but to warn."
    ),
    "guardrails.failures": Requirement(
        "surroundings 3.9",
        "A detector that fails flags what it looks at, unless its guard says otherwise.",
        divergence="Elsewhere what a detector could not look at goes on, and nobody is told.",
    ),
    "guardrails.definition": Requirement("design 5", "Guardrails that make no sense are refused, naming the argument."),
    "cache.same": Requirement(
        "surroundings 3.3, surroundings 9, surroundings 12.5, armorer-core 10",
        "The same call is the same tool of the same toolbox with the same arguments, by their canonical text.",
        divergence="Elsewhere keys inside of arguments do not count, and calls get the results of others.",
    ),
    "cache.authority": Requirement(
        "surroundings 3.3, surroundings 9, armorer-core 10",
        "A cache answers nobody with what it found for somebody of other authority.",
    ),
    "cache.ttl": Requirement("surroundings 3.3", "A value is good for its time from the beginning of its call."),
    "cache.bounded": Requirement(
        "surroundings 3.3, surroundings 12.5",
        "A cache keeps a bounded number of values; what is no longer good makes room first, then what nobody asked for.",
    ),
    "cache.copies": Requirement(
        "surroundings 3.3", "Everybody gets a copy of a kept value; what cannot be copied is not kept."
    ),
    "cache.values": Requirement(
        "surroundings 3.3",
        "Only values are kept: no failures, no streams, and nothing of tools that may change something, unless told.",
    ),
    "cache.single-flight": Requirement(
        "surroundings 3.3",
        "The same call at a time runs once: who joins stops nobody, and who leads and fails hands over.",
    ),
    "cache.no-deadlock": Requirement(
        "design 9", "No call waits for another's value while that one needs what the waiting one's callers hold."
    ),
    "cache.definition": Requirement(
        "design 5, surroundings 3.3", "A cache that makes no sense is refused, naming the argument."
    ),
    "timeout.ends": Requirement(
        "surroundings 3.5, surroundings 9, armorer-core 10",
        "What takes too long is cancelled, in every place as far as that goes, and ends as `timeout` `TIMEOUT`.",
        divergence="Elsewhere the work goes on, and the failure is no timeout.",
    ),
    "timeout.covers": Requirement(
        "design 3, surroundings 3.5",
        "A `Timeout` covers everything further in: all attempts of a retry, or each, as it is listed.",
    ),
    "timeout.definition": Requirement(
        "design 5", "A limit is seconds above 0, or a function that answers them for each tool; else it is refused."
    ),
    "rate-limit.refuses": Requirement(
        "surroundings 3.4, surroundings 12.5",
        "What comes too often is refused before it begins, as `transient` `RATE_LIMITED` with the seconds to wait.",
        divergence="Elsewhere a fixed window lets twice as many through around its edge, and the error says no time.",
    ),
    "rate-limit.by": Requirement(
        "surroundings 3.4", "A bucket belongs to one tool, owner or tenant, or to what a function answers."
    ),
    "rate-limit.waits": Requirement(
        "surroundings 3.4",
        "Who may wait is served in order of arrival, is refused at once if it would take too long, and takes nothing if "
        "it gives up.",
    ),
    "rate-limit.bounded": Requirement(
        "surroundings 3.4", "The number of buckets is bounded, and coming under many names does not buy more calls."
    ),
    "rate-limit.never-more": Requirement(
        "surroundings 3.4", "No stretch of time sees more calls begin than the burst and what was refilled meanwhile."
    ),
    "rate-limit.definition": Requirement(
        "design 5, surroundings 3.4, armorer-core 10",
        "A rate limit that makes no sense is refused, naming the argument.",
    ),
    "rate-limit.shared": Requirement(
        "design 12",
        "Hosts that share a store share the buckets of one name: all together begin no more than the limit says.",
        divergence="Elsewhere a limit counts in one process, and each further process multiplies it.",
    ),
    "rate-limit.shared-order": Requirement(
        "design 12",
        "Within a host those who wait for a shared bucket are served in order of arrival, with one question to the store "
        "for all of them, and who gives up takes nothing.",
    ),
    "rate-limit.unavailable": Requirement(
        "design 12",
        "While the store can't be asked a call is refused as `unavailable` before it begins, or let through, or counted by "
        "its host alone: as the limit says.",
    ),
    "rate-limit.stores": Requirement(
        "design 12", "Every store of buckets passes the published suite: in memory, in a file, on a server."
    ),
    "rate-limit.swept": Requirement("design 12", "Buckets that are full again are not kept."),
    "deprecation.told": Requirement(
        "surroundings 3.8, armorer-core 1E", "Each call of a deprecated tool is told before it runs, and runs as ever."
    ),
    "deprecation.only": Requirement(
        "surroundings 3.8, armorer-core 1E", "Of deprecation is told only where a tool is deprecated."
    ),
    "retry.middleware": Requirement(
        "design 3, surroundings 4.7",
        "A failed call is tried again as the policy says if its effect is none, wherever it runs, and counts its attempts.",
    ),
    "retry.by-key": Requirement(
        "design 3, design 7",
        "A transient failure or a timeout of a call with a key, whose tool declares that the far side knows it by that, may "
        "be sent and is tried again whatever its effect; the attempt that was answered says what became of it.",
    ),
    "retry.ends": Requirement(
        "design 8, surroundings 4.7",
        "A drain, an abort and the timeout of the call each put an end to the trying, also while it waits.",
    ),
    "retry.delays": Requirement(
        "surroundings 4.7, surroundings 9, armorer-core 1T",
        "The delays of a retry policy are fixed or double, are capped, and are spread by a full jitter that a seed fixes.",
    ),
    "retry.after": Requirement(
        "surroundings 4.7",
        "A failure may ask for a longer wait; one that asks for more than the longest is not retried.",
    ),
    "retry.which": Requirement(
        "surroundings 4.7, surroundings 9",
        "Retried is what may succeed another time, and what is named; never a denial, invalid arguments or a cancellation.",
        divergence="Elsewhere everything is retried, denials and cancellations included.",
    ),
    "retry.definition": Requirement(
        "design 5, surroundings 4.7, armorer-core 1T",
        "A retry policy that makes no sense is refused, naming the argument.",
    ),
}
