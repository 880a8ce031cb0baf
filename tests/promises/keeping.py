"""What is done once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "keeping.killed": Requirement(
        "design 12, design 15",
        "A process that is killed at any moment has no effect twice when it is asked again with the same keys, and what "
        "was done is never forgotten; where nobody can know, that is said.",
    ),
    "keeping.killed.receipts": Requirement(
        "design 12",
        "After whatever crash, a receipt that says retry lets what is unknown run once more, and nothing else.",
    ),
    "keeping.killed.recovered": Requirement(
        "design 12",
        "After whatever crash, what is listed as safe or never started has changed nothing, and runs once when it is "
        "released and asked for again.",
    ),
    "keeping.many-processes": Requirement(
        "design 12 and 15",
        "Of any number of processes that ask for the same keys at once one does what each stands for, and all the others "
        "are told what came of it, or that nobody knows.",
    ),
    "keeping.still": Requirement(
        "design 12",
        "A process that stood still beyond its lease, and goes on, changes nothing any more that the ledger has to know "
        "first, and is told that its lease was over; meanwhile nobody else does what it may have done.",
    ),
    "keeping.still.loop": Requirement(
        "design 12", "So it is for a process whose own loop stood still, with every call that was in it."
    ),
    "keeping.faults": Requirement(
        "design 7 and 12",
        "Whatever is wrong with the database, calls that may change something don't begin unless that is recorded, "
        "those that only read go on, nothing hangs, and the supervisor reports.",
    ),
    "keeping.faults.back": Requirement(
        "design 7 and 12",
        "When the database is well again everything goes on, and what ran and could not be recorded is unknown to the "
        "next supervisor.",
    ),
    "keeping.abandoned": Requirement(
        "design 12, armorer-core 7G.42",
        "What somebody decided to let be is a conflict for whoever asks for it again, and never runs; that it was given up "
        "is no word about what the world has seen of it.",
    ),
    "keeping.batches": Requirement(
        "design 12, armorer-core 7E.27",
        "A key that comes several times in one batch runs once, and the batch never waits for itself.",
        "The same key in one batch is waited for; there the second was answered with an unknown outcome.",
    ),
    "keeping.cancelled": Requirement(
        "design 12 and 15",
        "A caller, or a whole supervisor, that is cancelled at any await leaves nothing held and denies no effect.",
    ),
    "keeping.conflict": Requirement(
        "design 12", "A key that was used for other arguments, defaults filled in, is a conflict, and nothing runs."
    ),
    "keeping.content": Requirement(
        "design 12", "What can't be written down or read again is never answered as if nothing had happened."
    ),
    "keeping.deduped": Requirement(
        "design 12, armorer-core 7C",
        "What was done is answered again as it was, with the value read by the output contract, and nothing runs.",
    ),
    "keeping.deduped.error": Requirement(
        "design 12, armorer-core 7F.40",
        "An error after a completed effect is answered again as that error.",
        "Errors were never recorded there.",
    ),
    "keeping.doors": Requirement("design 12", "Every way to call a tool asks the ledger."),
    "keeping.doors.asyncio": Requirement("design 12 and 13", "A call from asyncio asks the ledger."),
    "keeping.doors.nested": Requirement(
        "design 12",
        "A nested call, by name, by tool or as a step, has the key of its own tool and not that of its caller.",
    ),
    "keeping.doors.resume": Requirement(
        "design 12, armorer-core 7E.33",
        "A call that waits for a person claims nothing; resumed, it does; an approval is not used up by a call that could not be recorded.",
    ),
    "keeping.doors.attempt": Requirement("design 12", "A result names the attempt that it is about."),
    "keeping.down.after": Requirement(
        "design 7 and 12",
        "What happened and can't be recorded is told as it happened, with recorded False, within bounds.",
    ),
    "keeping.down.base": Requirement("design 7 and 12", "Whatever a store raises ends in its own call."),
    "keeping.down.before": Requirement(
        "design 12",
        "A call that may change something and can't be recorded does not begin: LEDGER_UNAVAILABLE, safe to repeat, within 5 seconds.",
    ),
    "keeping.down.closing": Requirement("design 8 and 12", "A supervisor closes and reports whatever its ledger does."),
    "keeping.down.interrupt": Requirement(
        "design 7 and 12", "An interrupt leaves bare, and what it interrupted is kept as unknown."
    ),
    "keeping.down.read-only": Requirement(
        "design 12", "A call that changes nothing runs without the ledger, and its result says that it is not recorded."
    ),
    "keeping.down.nonsense": Requirement(
        "design 12, llm-core 4.4",
        "What a ledger can't mean, such as an answer about another key, is taken for no answer: nothing begins, and nobody "
        "is told what is somebody else's.",
    ),
    "keeping.down.retried": Requirement(
        "design 7 and 12",
        "That a body could not begin at first, since that could not be recorded, says nothing of what it does when a "
        "middleware lets it begin later.",
    ),
    "keeping.down.window": Requirement("design 7 and 12", "An effect window that can't be recorded is not entered."),
    "keeping.effect.none": Requirement(
        "design 12, armorer-core 7E.30",
        "An error that changed nothing leaves the key free, whatever its category.",
        "The category of an error decided there.",
    ),
    "keeping.effect.read-only": Requirement(
        "design 12", "A read-only call with a key is answered again when it succeeded, and runs again when it failed."
    ),
    "keeping.effect.unknown": Requirement(
        "design 12, armorer-core 7G",
        "An attempt with an unknown effect is kept, and whoever asks again is told so, until somebody decides.",
    ),
    "keeping.effect.windows": Requirement(
        "design 7 and 12",
        "Effect windows, each recorded as it opens and closes, say whether a failed attempt may run again.",
    ),
    "keeping.events": Requirement(
        "design 12", "A call with a key is decided once and settled once, in this order, as any other."
    ),
    "keeping.fence.completion": Requirement(
        "design 12",
        "Who lost the fence while it ran tells the real value, and says that the ledger keeps something else.",
        "The real value was replaced there by an unknown outcome.",
    ),
    "keeping.fence.start": Requirement(
        "design 12", "Who lost the fence before it began does not begin, asks anew and holds no slot meanwhile."
    ),
    "keeping.fence.window": Requirement("design 12", "Who lost the fence opens no effect window any more."),
    "keeping.joined": Requirement(
        "design 12",
        "The same call at the same time runs once, and everybody gets the result under ids of their own.",
        "The second one was answered with an unknown outcome there.",
    ),
    "keeping.joined.aborted": Requirement(
        "design 12", "Who waits for another call can stop, and never stops that call."
    ),
    "keeping.joined.apart": Requirement(
        "design 12", "Whoever joins gets a value of its own: nobody sees what another one does to his."
    ),
    "keeping.joined.capacity": Requirement(
        "design 12", "Waiting for a call that waits for what the waiter's caller holds is refused."
    ),
    "keeping.joined.crossed": Requirement(
        "design 12", "Two calls that would wait for each other's keys are told apart from those that only wait."
    ),
    "keeping.joined.cycle": Requirement(
        "design 12", "A call with the key of one of its own callers is refused, also through another supervisor."
    ),
    "keeping.joined.elsewhere": Requirement(
        "design 12, armorer-core 7G.41",
        "An attempt of another supervisor is waited for; when its host is gone, it is taken over if it never started, and unknown if it did.",
    ),
    "keeping.joined.heir": Requirement(
        "design 12", "A leader that ends before its body began hands over to the oldest of those who wait."
    ),
    "keeping.joined.leader-failed": Requirement(
        "design 12",
        "Those who wait get the failure of their leader once its body is gone; if its effect is unknown, they are told that.",
    ),
    "keeping.joined.started": Requirement(
        "design 12", "A call that a running tool starts for its own key waits for that tool and does not hold it up."
    ),
    "keeping.joined.waits": Requirement(
        "design 12", "Who waits for another call holds no slot, and its snapshot names that call."
    ),
    "keeping.keys.broken": Requirement(
        "design 12", "A key that can't be told or used ends its own call, or is a mistake of the host's; nothing runs."
    ),
    "keeping.keys.caller": Requirement("armorer-core 7E.21", "The caller's key makes two calls of a tool one."),
    "keeping.keys.edited": Requirement(
        "design 3",
        "The key and the recorded arguments are those that run, after all edits.",
        "Keys were made of raw arguments there.",
    ),
    "keeping.keys.invalid": Requirement(
        "armorer-core 7E.25", "A call that is refused before it may run claims nothing."
    ),
    "keeping.keys.none": Requirement(
        "armorer-core 7E.22", "A call whose tool answers no key, or a blank one, runs without one."
    ),
    "keeping.keys.required": Requirement("design 7", "A tool that requires a key does not run without one."),
    "keeping.keys.tenant": Requirement(
        "design 12, armorer-core 7E.23", "A key counts within a tenant, and is refused without one."
    ),
    "keeping.keys.tool": Requirement(
        "armorer-core 7E.21",
        "A tool makes its key of the validated arguments, defaults filled in; the caller's own comes first.",
    ),
    "keeping.keys.tool-scope": Requirement("armorer-core 7E.24", "The same key of another tool is another key."),
    "keeping.keys.who": Requirement("armorer-core 7E.24", "Principal, owner and run are no part of the key."),
    "keeping.lease": Requirement(
        "design 12",
        "The lease of an attempt is renewed from the claim to the end, in the queue too, whatever happens to others.",
    ),
    "keeping.lease.cap": Requirement("design 12", "No lease is renewed beyond the cap."),
    "keeping.lease.clock": Requirement(
        "design 12", "A clock that goes back or says no time makes nothing safe to repeat."
    ),
    "keeping.lease.options": Requirement(
        "design 12, armorer-core 7D.18",
        "A lease that is no length of time, or a ledger without all methods, is refused at the opening.",
    ),
    "keeping.memory": Requirement(
        "design 12", "A supervisor without a ledger keeps keys in memory as long as it is open."
    ),
    "keeping.middleware.answered": Requirement(
        "design 3 and 12", "A middleware that answers in place of the body gives the attempt back."
    ),
    "keeping.middleware.children": Requirement(
        "design 12", "What a middleware's own calls changed in place of the body is kept under the key."
    ),
    "keeping.middleware.joined": Requirement(
        "design 12", "Those who wait share what a middleware answered in place of the body."
    ),
    "keeping.middleware.retry": Requirement(
        "design 3 and 12", "Another try of a middleware is part of the same attempt in the ledger."
    ),
    "keeping.once": Requirement(
        "design 12 and 15",
        "Whatever clients, failures, stops and crashes do, nothing is done twice unless a receipt says so, and nothing that happened is denied.",
    ),
    "keeping.places": Requirement(
        "design 7 and 11", "Effect windows of tools in threads and processes are recorded before the body goes on."
    ),
    "keeping.places.inline": Requirement(
        "design 7",
        "A def tool on trio's thread can't open a window that has to be recorded, and says so; nothing happened.",
    ),
    "keeping.policy.replay": Requirement(
        "design 12, armorer-core 7F.37", "Policy is asked again before what was done is told again."
    ),
    "keeping.policy.revision": Requirement(
        "design 12, armorer-core 7F.36",
        "What was done under another policy revision is not told again: it waits for authorization.",
    ),
    "keeping.fence.again": Requirement(
        "design 12", "Before each entry into a body the ledger is asked whether the attempt is still ours."
    ),
    "keeping.fence.bounded": Requirement(
        "design 12", "However slow a store or a keeper of keys is, and however short the lease: a call ends."
    ),
    "keeping.joined.hosts": Requirement(
        "design 9 and 12", "Two hosts over one ledger never wait for each other's keys for ever: one is refused."
    ),
    "keeping.late": Requirement(
        "design 12", "A value that came after its caller had been let go is told to whoever asks again."
    ),
    "keeping.late.middleware": Requirement(
        "design 7 and 12",
        "A tool that returned and whose middleware was stopped before it answered, or before it saw that, has given no "
        "value: whoever asks again is told how the call ended.",
    ),
    "keeping.late.streams": Requirement(
        "design 10 and 12",
        "A stream that was stopped before its first chunk is told to whoever asks again as what it was, and not as one that "
        "came to its end with nothing.",
    ),
    "keeping.pauses": Requirement(
        "design 12",
        "A tool that waits for a person, in the middle of what it does, goes on in the place of the attempt that waited.",
    ),
    "keeping.pauses.arguments": Requirement(
        "design 3 and 12",
        "What a tool goes on with after a person agreed are the arguments that it began with, whatever its body did to its "
        "own meanwhile: a key still counts for them.",
    ),
    "keeping.callers": Requirement(
        "design 7 and 12",
        "A tool that changes nothing itself, and calls something that may, is not called safe to run again; nor does it"
        " call such a thing when its lease is over.",
    ),
    "keeping.reconcile": Requirement(
        "design 12",
        "Before anybody is told that nobody knows, the tool's own way to ask the far side is tried; what that answers is"
        " kept as a receipt, signed where there are keys.",
    ),
    "keeping.reconcile.cancelled": Requirement("design 12", "Who stops while the far side is asked decides nothing."),
    "keeping.reconcile.unable": Requirement(
        "design 12", "A far side that can't tell, or a way to ask it that fails, decides nothing."
    ),
    "keeping.reconcile.silent": Requirement(
        "design 12",
        "A far side that does not answer holds up neither a call nor a recovery for ever: it decides nothing, and one that"
        " is silent again and again is not asked about all the rest.",
    ),
    "keeping.recover": Requirement(
        "design 12",
        "A host may look again at what was left behind, let go what is safe, and have the far side asked about the rest.",
    ),
    "keeping.receipts.authorization": Requirement(
        "design 12, armorer-core 7F.36",
        "A signed receipt lets what was done under another policy revision be told again under that of today.",
        divergence="Elsewhere nobody can authorise it.",
    ),
    "keeping.receipts.completed": Requirement(
        "design 12", "A receipt that says completed is the answer from then on, its result read by the output contract."
    ),
    "keeping.receipts.unused": Requirement(
        "design 12",
        "A receipt that says retry is used when a body begins: an attempt that never began, since it was stopped, its host"
        " closed or the store failed, leaves it to the next call that brings it.",
    ),
    "keeping.receipts.heard": Requirement(
        "design 12",
        "A call whose receipt has no part in how things stand, since its attempt is gone, has ended by itself, or was "
        "decided about otherwise, is refused, and says so: it neither runs nor is told what it did not expect.",
    ),
    "keeping.receipts.needless": Requirement("design 12", "A receipt where nothing has to be decided changes nothing."),
    "keeping.receipts.refused": Requirement(
        "armorer-core 7G.42",
        "A receipt that is forged, unsigned, or about another attempt, tenant or arguments decides nothing.",
    ),
    "keeping.receipts.retry": Requirement(
        "armorer-core 7G.42",
        "A receipt that says retry lets exactly one other attempt take the place of the one that it names.",
    ),
    "keeping.receipts.tenant": Requirement(
        "armorer-core 7G.42", "A receipt of one tenant says nothing about another one."
    ),
    "keeping.recovered": Requirement(
        "design 12",
        "Opening a supervisor over a ledger lists what others left, and what is true of it; what somebody may be at is not listed.",
    ),
    "keeping.recovered.bounded": Requirement(
        "design 12", "A ledger that can't be read, or holds very much, keeps nobody from opening."
    ),
    "keeping.recovery-only": Requirement(
        "design 12",
        "With a ledger that is given, calls without a key are recorded to be found, unless they only read, and never answered from it.",
    ),
    "keeping.restart": Requirement("design 12", "Another supervisor over the same ledger knows what was done."),
    "keeping.snapshots": Requirement(
        "design 6",
        "A snapshot says that a call waits for the ledger, and that its outcome is decided while that is written down.",
    ),
    "keeping.stopped": Requirement(
        "design 8 and 12", "A call that is stopped at any moment ends once, and its key follows what happened."
    ),
    "keeping.stopped.left-behind": Requirement(
        "design 8 and 12", "A body that was given up holds its key until it ends, and is then recorded."
    ),
    "keeping.stopped.writing": Requirement("design 12", "While an end is written down nothing changes it any more."),
    "keeping.streams": Requirement(
        "design 10, armorer-core 7E.35",
        "A stream with a key is told again to a live reader, chunk by chunk.",
        "Live streams with a key were refused there.",
    ),
    "keeping.streams.ahead": Requirement(
        "design 10 and 12",
        "A reader stalls only its own stream: while others have joined that, the tool runs ahead of its reader by as much "
        "as is kept.",
    ),
    "keeping.streams.cap": Requirement(
        "design 10",
        "A stream that is too long, not collected, or without a JSON form is not kept, and its replay says so.",
    ),
    "keeping.streams.closing": Requirement("design 10", "A replay that nobody reads does not hold up a drain."),
    "keeping.streams.events": Requirement("design 10", "Chunks that are told again are told to those who watch."),
    "keeping.streams.failed": Requirement(
        "design 10", "A stream that failed after its effect is told again with its chunks and its error."
    ),
    "keeping.streams.joined": Requirement(
        "design 10 and 12", "A reader that joins gets the chunks when the leader has ended."
    ),
    "keeping.streams.left": Requirement(
        "design 10", "A stream that was left early is kept by its effect, and never as a value."
    ),
    "keeping.streams.pace": Requirement("design 10", "A reader of a replay sets the pace, and may leave it."),
}
