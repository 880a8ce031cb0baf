"""The way of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "engine.never-more-authority": Requirement(
        "design 6, 12",
        "What a running tool calls or starts acts for the same principal and tenant, with no more authority.",
    ),
    "engine.fuzzy": Requirement(
        "design 3, 16, armorer-core 2G, armorer-core 8C, armorer-core 11",
        "A misspelt name is understood only when the host says so; one that could be two names both.",
    ),
    "engine.live-toolbox": Requirement(
        "design 16",
        "A live toolbox can be exchanged while a supervisor runs: running executions keep what they were resolved to.",
    ),
    "engine.deprecated": Requirement(
        "surroundings 3.8, armorer-core 1E, armorer-core 2G, armorer-core 8C, armorer-core 11",
        "The host is told of each call of a deprecated tool; whatever it does then, the call goes on.",
    ),
    "engine.loops": Requirement(
        "field case 89, armorer-core 2G, armorer-core 8A, armorer-core 11",
        "A call that repeats itself without progress is warned of and then refused, for each owner on its own.",
    ),
    "engine.awaited-validators": Requirement(
        "armorer-core 1F, armorer-core 11",
        "A validator that waits is awaited before the tool may run, under all limits of the call.",
    ),
    "engine.digests": Requirement(
        "armorer-core 1M, armorer-core 3A, armorer-core 11", "A result carries the digests that its tool declares."
    ),
    "engine.hints": Requirement("armorer-core 1L", "A refusal of arguments says how each of them could be mended."),
    "engine.by-full-id": Requirement(
        "design 3, armorer-core 2C, armorer-core 10, armorer-core 11",
        "A call by full id is a call of that tool like one by name, and its result carries the plain name.",
        divergence="Elsewhere the tool takes the whole call for its arguments.",
    ),
    "engine.queue-time": Requirement(
        "design 6, armorer-core 1O, armorer-core 11",
        "Time in the queue counts neither in the duration of a call nor before its start is told.",
    ),
    "engine.result-frozen": Requirement(
        "design 7, armorer-core 3A",
        "A result is a value that nobody can change.",
        divergence="Elsewhere results are changed after the fact.",
    ),
    "engine.arguments-untouched": Requirement(
        "design 3, armorer-core 2F, armorer-core 11",
        "Whatever a tool does to its arguments, those of its caller stay as they were.",
    ),
    "engine.reason-said": Requirement(
        "design 8, armorer-core 3D, armorer-core 11", "An abort whose reason is blank says that none was given."
    ),
    "engine.passing": Requirement(
        "design 7, armorer-core 3C, armorer-core 10, armorer-core 11",
        "A connection that broke or could not be had, and a name that cannot be looked up now, are transient by the type "
        "and the number of the exception, in every place.",
        divergence="Elsewhere words in the message decide.",
    ),
    "engine.state-queued": Requirement("design 6", "The state queued is reached through the public face."),
    "engine.state-active": Requirement("design 6", "The state active is reached through the public face."),
    "engine.state-waiting": Requirement("design 6", "The state waiting is reached through the public face."),
    "engine.state-streaming": Requirement("design 6", "The state streaming is reached through the public face."),
    "engine.state-abort-requested": Requirement(
        "design 6, armorer-core 2G", "The state abort-requested is reached through the public face."
    ),
    "engine.state-cleanup-pending": Requirement(
        "design 6", "The state cleanup-pending is reached through the public face."
    ),
    "engine.state-terminal": Requirement("design 6", "The state terminal is reached through the public face."),
    "engine.state-unknown-effect": Requirement(
        "design 6", "The state unknown-effect is reached through the public face."
    ),
    "engine.late-end": Requirement(
        "design 6", "A body that ends after it was given up is recorded, and frees its slot then."
    ),
    "engine.not-started": Requirement(
        "design 7, armorer-core 3D, armorer-core 11",
        "A call that was stopped before its body began is NOT_STARTED, with effect none.",
    ),
    "engine.results-not-kept": Requirement(
        "design 6", "What the supervisor keeps of an ended execution is no result: that belongs to its caller."
    ),
    "engine.places-alike": Requirement(
        "design 11",
        "What a tool gives comes to the same wherever it runs, with middleware that passes it on and without, and with a "
        "key and without.",
    ),
    "engine.failures-not-kept": Requirement(
        "design 2",
        "What a call that failed or was stopped worked with is let go at once; no circle keeps it until the garbage "
        "collector comes.",
    ),
    "engine.codes": Requirement(
        "design 7, llm-core 2.5, llm-core 7.1, llm-core 8, armorer-core 1J, armorer-core 2G, armorer-core 3A, armorer-core 3B, armorer-core 3C, armorer-core 11",
        "Every way to end that exists has its category, code, retryability and words.",
    ),
    "engine.siblings": Requirement(
        "field case 1, 4, 21, armorer-core 2H",
        "An error is data on its own call; its siblings run on, and the batch returns when all are over.",
    ),
    "engine.caller-cancelled": Requirement(
        "design 8, field case 3",
        "A caller that is cancelled takes its call along: no more work of a tool that can be interrupted.",
    ),
    "engine.abort-answers": Requirement(
        "design 8, field case 9, armorer-core 11",
        "An abort answers what it did, and the handle can be waited for until one specific state.",
    ),
    "engine.groups-unwrapped": Requirement(
        "field case 16", "A one-leaf group is reported as its leaf, several leaves are all named, cancellations never."
    ),
    "engine.swallowed-cancel": Requirement(
        "design 7, field case 18",
        "A tool that swallows the cancel is still cancelled; its late value is kept in the record.",
    ),
    "engine.concurrency": Requirement(
        "design 9, field case 19, armorer-core 2A, armorer-core 11",
        "However many calls, no more bodies run than the limits say; results are in call order.",
    ),
    "engine.fail-fast": Requirement(
        "design 9, field case 21, armorer-core 2H, armorer-core 8A, armorer-core 10, armorer-core 11",
        "A fail-fast batch stops its other calls, which say why and whether they had started.",
    ),
    "engine.wording": Requirement(
        "field case 22, armorer-core 1Q, armorer-core 11",
        "A call that was cut off and one that never ran differ in state and in the words for the model.",
    ),
    "engine.nested": Requirement(
        "design 6, field case 25", "A nested call carries its parent's id, owner and deadline, and is aborted with it."
    ),
    "engine.whose-timeout": Requirement(
        "design 7, field case 26, surroundings 9, armorer-core 3C, armorer-core 10",
        "The tool's own TimeoutError, a limit of the engine and a lost connection are told apart.",
    ),
    "engine.reads-writes": Requirement(
        "design 9, field case 27", "Calls that write the same thing go in order of admission; others overlap with them."
    ),
    "engine.budget": Requirement(
        "field case 28, armorer-core 2D, armorer-core 2G, armorer-core 2K, armorer-core 10, armorer-core 11",
        "A budget is reserved before anything starts, and given back by calls that never ran.",
    ),
    "engine.unknown-tool": Requirement(
        "field case 28, armorer-core 2G", "A misspelt name is that call's error, with near names; its siblings run."
    ),
    "engine.awaitables": Requirement(
        "field case 29", "Whatever form of awaitable a tool answers, the model gets its value."
    ),
    "engine.harmless": Requirement("design 7, armorer-core 3C", "Nothing that a tool raises harms anyone else."),
    "engine.keyboard-interrupt": Requirement(
        "design 7", "KeyboardInterrupt is no call's failure: it leaves the supervisor bare and aborts everything."
    ),
    "engine.over": Requirement("design 7", "From the decision on, the context of a tool starts nothing new."),
    "engine.unreadable-result": Requirement(
        "design 7",
        "A result, or an exception, whose own code raises while it is read is that call's failure: invalid output of a "
        "completed call, or an internal error.",
    ),
    "engine.needs-trio": Requirement("design 17", "Opened where trio does not run, a supervisor says what to do."),
    "engine.order": Requirement(
        "design 16, field case 63, armorer-core 2H", "Results come in call order, events in order of completion."
    ),
    "engine.calls-by-id": Requirement(
        "field case 49, armorer-core 4B", "Two calls of one tool are two executions, even with the same call id."
    ),
    "engine.grace": Requirement(
        "design 8", "A tool with a grace sees the abort first; a value returned within it is a success."
    ),
    "engine.clocks": Requirement(
        "design 8, llm-core 8, armorer-core 11",
        "timeout, deadline and idle_timeout each count what they say, and stand still for a person.",
    ),
    "engine.batch-whole": Requirement(
        "design 9, armorer-core 2A, armorer-core 2H",
        "A batch is admitted whole or raises, and can be aborted by its id.",
    ),
    "engine.crowd": Requirement(
        "design 14", "Very many waiting executions are admitted, inspected and aborted in one process."
    ),
    "engine.calls-of-hooks": Requirement(
        "design 6, design 9",
        "A hook may make calls: they are nested in the call that it decides about, which needs its own room all the "
        "same.",
    ),
    "engine.batch-in-order": Requirement(
        "design 9, armorer-core 2H.52",
        "A call of a sequential batch is judged and begun only when the one before has ended, however long a hook or "
        "a person takes to decide about that one.",
    ),
    "engine.batch-id": Requirement(
        "design 9", "A host may name a batch and abort it by that name; two live batches never share one."
    ),
    "engine.batch-stops-honestly": Requirement(
        "design 8, 9, armorer-core 3D",
        "Whoever aborts several calls is told what that did to each, and each says that reason.",
    ),
    "engine.queue-bound-exact": Requirement(
        "design 9", "A batch is refused exactly when more of its calls would wait than the queue bound has room for."
    ),
    "engine.started-outlives": Requirement(
        "design 6", "A started execution runs to its end whatever becomes of who started it and of its handle."
    ),
    "engine.started-by": Requirement(
        "design 6", "What a tool started is no child of it, but can be listed and aborted by what started it."
    ),
    "engine.current-supervisor": Requirement(
        "design 17", "A running tool can get hold of the supervisor that runs it; nobody else can."
    ),
    "engine.capacity-cycle": Requirement(
        "design 9", "A nested call whose wait would never end is refused, with the cycle named."
    ),
    "engine.options": Requirement(
        "design 17, armorer-core 1J, armorer-core 2A, armorer-core 2H",
        "A wrong option of a call raises at the door and names what would be right.",
    ),
    "engine.direct": Requirement(
        "design 5, armorer-core 1N", "A tool can be called as a function of the host, without limits or refusals."
    ),
    "engine.bug": Requirement(
        "design 6, armorer-core 2G",
        "A failure of the engine ends the one execution that it hit; the supervisor lives and reports it.",
    ),
    "engine.elicit": Requirement(
        "design 8, 12, armorer-core 1K",
        "A question to a person is answered, declined, timed out or withdrawn, each once.",
    ),
    "engine.elicit.defaults": Requirement(
        "MCP conformance suite, elicitation-sep1034-client-defaults",
        "What a person left out of an accepted answer is the default that the question's schema names, before the answer is "
        "checked.",
    ),
    "engine.uninterruptible": Requirement(
        "design 5", "A tool that declares cancellation unsupported is never cancelled; its caller is released."
    ),
    "engine.availability": Requirement(
        "design 3, armorer-core 1N, armorer-core 2G, armorer-core 11",
        "A tool that is not available here does not run, also when its hook raises or is awaited.",
    ),
    "engine.storm": Requirement(
        "design 6",
        "Whatever is called, aborted, left and shut down in any mixture: nothing stays live, no slot stays in use, each "
        "execution settles once, and revisions only grow.",
    ),
    "engine.cancelled-anywhere": Requirement(
        "design 8, armorer-core 2M", "A supervisor cancelled at any step of the scheduler ends with everything settled."
    ),
    "engine.abort-kept": Requirement(
        "design 14",
        "Stopping many at once keeps nothing of the engine's stack for each of them; while very many are asked, the garbage "
        "collector waits, and is then as it was.",
    ),
    "engine.deep-nesting": Requirement(
        "design 6", "Calls nested deeper than Python's stack are shown and stopped like any other."
    ),
    "engine.user-code-raises": Requirement(
        "design 7, armorer-core 2G",
        "Whatever a hook, a result or the text of an exception raises ends its own call only.",
    ),
    "engine.across-supervisors": Requirement(
        "design 6",
        "A call that comes back through another supervisor is nested: it borrows slots, and cannot shut down.",
    ),
    "engine.left-behind-waits": Requirement(
        "design 7", "What waits on the context of an execution that has ended is let go."
    ),
    "engine.cancelled-reader": Requirement(
        "design 8, field case 25", "A stream that is opened under a cancelled scope never starts."
    ),
    "engine.timers-bounded": Requirement(
        "design 8, armorer-core 11", "However often a clock is stopped, an execution keeps one idle timer."
    ),
}
