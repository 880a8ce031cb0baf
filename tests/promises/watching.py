"""Snapshots, subscriptions and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._promise import Requirement

PROMISES: Final[Mapping[str, Requirement]] = {
    "watching.snapshot-facts": Requirement(
        "design 6", "A snapshot shows who called what, when, where, and how far it is."
    ),
    "watching.snapshot-immutable": Requirement("design 6", "A snapshot never changes."),
    "watching.snapshot-discreet": Requirement(
        "design 6, armorer-core 11",
        "A snapshot holds no arguments, results, credentials or authority.",
        divergence="Snapshots elsewhere carry the result; ours can be shown to anybody who may see that the call exists.",
    ),
    "watching.progress": Requirement(
        "design 6, armorer-core 1K", "Progress shows in the snapshot and is a revision of its own."
    ),
    "watching.declared-waits": Requirement(
        "design 6, armorer-core 1K", "Of several declared waits one that is still open is shown."
    ),
    "watching.inspect": Requirement(
        "design 6", "`inspect` and `locate` show the newest snapshots, of the executions that were asked for, in order."
    ),
    "watching.limits": Requirement(
        "design 9, field case feature 3",
        "A look at the limits tells how many slots are used, and how many wait for one.",
    ),
    "watching.inspect-privileged": Requirement("design 6", "Only the privileged looks show arguments."),
    "watching.ends": Requirement(
        "design 6",
        "Subscriptions and readers of events come to their end, having read everything, once the block of the supervisor "
        "was left.",
    ),
    "watching.authority-kept": Requirement(
        "design 12, armorer-core 6H.78, armorer-core 6H.79",
        "A privileged look shows on whose behalf a call ran and under which revisions, also after its end for as long "
        "as it is kept; an ordinary one never does.",
    ),
    "watching.retention": Requirement(
        "design 6, armorer-core 10", "Ended executions are kept up to a count and an age; a handle keeps its own."
    ),
    "watching.begins-with-live": Requirement(
        "design 6",
        "A subscription begins with everything that is live, and with nothing that is over.",
    ),
    "watching.newest-only": Requirement(
        "design 6",
        "Each step shows the newest snapshot of the next changed execution; `missed` says what was overtaken.",
    ),
    "watching.selection": Requirement("design 6", "A subscription shows only the executions that it selected."),
    "watching.many": Requirement("design 6", "Any number of subscribers follow at their own paces."),
    "watching.last-revision": Requirement(
        "design 6", "A subscriber sees the last revision of every execution that it selected, unless it was forgotten."
    ),
    "watching.strictly-growing": Requirement("design 6", "The revisions of one execution grow strictly."),
    "watching.counters": Requirement("design 6", "`missed` and `forgotten` count exactly what was not shown."),
    "watching.stalled-costs-nothing": Requirement(
        "design 6", "A stalled subscriber holds nothing up, and keeps nothing alive that is over and forgotten."
    ),
    "watching.checkpoints": Requirement(
        "design 6",
        "A step is a checkpoint when it has caught up, or every 64 steps; whatever else waits is always one.",
    ),
    "watching.decided-in-grace": Requirement(
        "design 6", "An outcome that is decided while a grace runs is a revision of its own."
    ),
    "watching.cancelled-step": Requirement("design 6", "A cancelled wait or step loses nothing and changes nothing."),
    "watching.events": Requirement(
        "design 6, armorer-core 4B", "Typed events come in the order in which things happened, in one numbering."
    ),
    "watching.waits": Requirement(
        "design 6",
        "Each wait of an execution is told when it begins and when it ends, with what is waited for as the snapshot shows "
        "it and how long it took; who does not look pays nothing for that.",
    ),
    "watching.overdue": Requirement(
        "design 6, design 8",
        "A body that is still there after it was cancelled is told of, and told of again when its time is over.",
    ),
    "watching.owner": Requirement(
        "design 6, armorer-core 4B",
        "Every event of a call carries its owner, absent when neither the call nor its context names one.",
    ),
    "watching.ways-to-end": Requirement(
        "design 6, armorer-core 1P, armorer-core 2G, armorer-core 2K, armorer-core 3E, armorer-core 4B, armorer-core 4C, armorer-core 8A, armorer-core 8C",
        "Each way to end a call tells the same events in the same order, from its admission to its end.",
    ),
    "watching.whose-event": Requirement(
        "design 6, armorer-core 4B, armorer-core 10",
        "What a tool tells carries the execution that tells it, whatever else the same tool is doing.",
        divergence="Elsewhere calls of one tool that run at once repeat each other's events as their own.",
    ),
    "watching.payloads": Requirement(
        "design 6, armorer-core 1U, armorer-core 2M, armorer-core 4B, armorer-core 11",
        "Chunks, checkpoints and data go only to readers who ask for payloads.",
    ),
    "watching.lagged": Requirement(
        "design 6, armorer-core 4E",
        "A reader that falls behind loses the oldest events, and is told where and how many.",
    ),
    "watching.revision-rule": Requirement(
        "design 6", "When an event is delivered, a look shows at least the revision that it names."
    ),
    "watching.exactly-once": Requirement(
        "design 6, armorer-core 2G, armorer-core 4B, armorer-core 4C, armorer-core 10",
        "OutcomeDecided and ExecutionSettled come exactly once for each execution, in this order.",
    ),
}
