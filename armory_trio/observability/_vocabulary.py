"""What spans, metrics and log lines are called, and which words of a call may be told to the world.

What is told is what the host or the engine wrote: names of tools, codes, ids, numbers. What a caller, a model or a tool
says in words (arguments, results, reasons, messages, labels) has no place here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias, cast

from ..definitions import RequestContext
from ..errors import DefinitionError

Identity: TypeAlias = Literal["owner", "agent", "conversation"]
"""On whose behalf a call is made, as far as it may be told: the owner; the agent and the session of its request context."""

IDENTITIES: Final[tuple[Identity, ...]] = ("owner", "agent", "conversation")

OTHER: Final = "_OTHER"
"""In place of a name or a code that may not be told, as the conventions spell it."""

# -- attributes

OPERATION: Final = "gen_ai.operation.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
CALL_ID: Final = "gen_ai.tool.call.id"
AGENT: Final = "gen_ai.agent.id"
CONVERSATION: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"

EXECUTION_ID: Final = "armory.tool.execution.id"
TOOL_ID: Final = "armory.tool.id"
NAME_TIER: Final = "armory.tool.name.tier"
OWNER: Final = "armory.tool.owner.id"
BATCH: Final = "armory.tool.batch.id"
PLACEMENT: Final = "armory.tool.placement"
OUTCOME: Final = "armory.tool.outcome"
CATEGORY: Final = "armory.tool.error.category"
EFFECT: Final = "armory.tool.effect"
STATE: Final = "armory.tool.state"
ATTEMPTS: Final = "armory.tool.attempts"
CHUNKS: Final = "armory.tool.chunks"
QUEUED: Final = "armory.tool.queue.duration"
ABORTED_BY: Final = "armory.tool.abort.source"
HONOURED: Final = "armory.tool.abort.honoured"
CLEANUP: Final = "armory.tool.cleanup"
LEDGER: Final = "armory.tool.ledger.outcome"
WAIT: Final = "armory.tool.wait.kind"
INPUT_DIGEST: Final = "armory.tool.input.digest"
OUTPUT_DIGEST: Final = "armory.tool.output.digest"
UNFINISHED: Final = "armory.tool.unfinished"

ATTRIBUTES: Final[Mapping[str, str]] = {
    OPERATION: "always `execute_tool`",
    TOOL_NAME: "the name of the tool; `_OTHER` when there is none of the name that was called",
    TOOL_TYPE: "always `function`",
    TOOL_DESCRIPTION: "what its definition says, if anything",
    CALL_ID: "the id of the call",
    AGENT: 'the agent of the request context; only with `identify=["agent"]`',
    CONVERSATION: 'the session of the request context; only with `identify=["conversation"]`',
    ERROR_TYPE: "the code of the error, also of one that is no failure of the tool: a denial, a cancellation",
    EXECUTION_ID: "the id of the execution",
    TOOL_ID: "the full id of the tool, with namespace and version",
    NAME_TIER: "how a misspelt name was understood, if it was",
    OWNER: 'the owner; only with `identify=["owner"]`',
    BATCH: "the id of its batch, if it has one",
    PLACEMENT: "`task`, `thread` or `process`",
    OUTCOME: "`success`, `error` or `action_required`",
    CATEGORY: "the category of the error",
    EFFECT: "what the world may have seen: `none`, `completed` or `unknown`",
    STATE: "the final state: `terminal` or `unknown-effect`",
    ATTEMPTS: "how often the body was entered",
    CHUNKS: "how many chunks it yielded, if any",
    QUEUED: "seconds from admission to the first line of the body; absent if it never began",
    ABORTED_BY: "who asked it to stop, if anybody did",
    HONOURED: "whether it stopped because of that",
    CLEANUP: "how cleaning up after that went",
    LEDGER: "what the ledger said of the call, if it was asked",
    INPUT_DIGEST: "the digest of the arguments, of tools that declare it",
    OUTPUT_DIGEST: "the digest of the result, of tools that declare it",
    UNFINISHED: "true on a span that was ended by `stop()`, before its execution",
}
"""Every attribute of a span, and what it says."""

EVENTS: Final[Mapping[str, str]] = {
    "armory.tool.started": "the body was entered: `armory.tool.attempt`",
    "armory.tool.wait_began": "it waits: `armory.tool.kind`",
    "armory.tool.wait_ended": "that is over: `armory.tool.kind`, `armory.tool.seconds`",
    "armory.tool.approval_requested": "a person is asked: `armory.tool.tier`, `armory.tool.kind`",
    "armory.tool.approval_resolved": "the question was answered: `armory.tool.decision`",
    "armory.tool.grant_used": "a grant answered it: `armory.tool.uses_remaining`",
    "armory.tool.loop_warned": "the call repeats what came before it: `armory.tool.calls`, `armory.tool.pattern`",
    "armory.tool.refused": "it was answered without running: `armory.tool.error.category`, `error.type`",
    "armory.tool.stream_opened": "the first chunk came",
    "armory.tool.stream_closed": "the stream ended: `armory.tool.chunks`, `armory.tool.complete`",
    "armory.tool.effect_opened": "the world changes from here on",
    "armory.tool.effect_closed": "that is over: `armory.tool.state`",
    "armory.tool.abort_requested": "somebody asked it to stop: `armory.tool.source`",
    "armory.tool.cleanup_pending": "its body was cancelled, and is still there: `armory.tool.allowed`, in seconds",
    "armory.tool.cleanup_overdue": "it is still there after that time",
    "armory.tool.outcome_decided": "the caller was released: `armory.tool.outcome`, `armory.tool.effect`, "
    "`armory.tool.error.category`, `error.type`",
}
"""Every event of a span, when it is, and its attributes."""

METRICS: Final[Mapping[str, str]] = {
    "gen_ai.execute_tool.duration": "histogram, `s`: from admission until the state is final, as the span",
    "armory.tool.queue.duration": "histogram, `s`: from admission to the first line of the body",
    "armory.tool.wait.duration": "histogram, `s`: how long one wait took, of which the tool or the engine has told",
    "armory.tool.cleanups.overdue": "counter, `{call}`: bodies that were given up, since they did not end in time",
    "armory.tool.calls": "counter, `{call}`: calls whose state is final",
    "armory.tool.chunks": "counter, `{chunk}`: chunks of streams",
    "armory.ledger.answers": "counter, `{answer}`: what the ledger said of calls that asked it",
    "armory.executions.live": "gauge, `{execution}`: executions that are not over",
    "armory.limit.used": "gauge, `{slot}`: slots in use; those of owners and batches are left out",
    "armory.limit.size": "gauge, `{slot}`: slots in all",
    "armory.events.lost": "counter, `{event}`: events that did not reach readers that were too slow",
}
"""Every metric, and what it measures."""

LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "gen_ai.execute_tool.duration": (OPERATION, TOOL_NAME, TOOL_TYPE, ERROR_TYPE),
    "armory.tool.queue.duration": (TOOL_NAME,),
    "armory.tool.wait.duration": (TOOL_NAME, WAIT),
    "armory.tool.cleanups.overdue": (TOOL_NAME,),
    "armory.tool.calls": (TOOL_NAME, OUTCOME, CATEGORY),
    "armory.tool.chunks": (TOOL_NAME,),
    "armory.ledger.answers": (TOOL_NAME, LEDGER),
    "armory.executions.live": ("armory.state",),
    "armory.limit.used": ("armory.limit.name",),
    "armory.limit.size": ("armory.limit.name",),
    "armory.events.lost": (),
}
"""The labels of every metric."""

NO_FAILURE: Final = frozenset(("cancelled", "permission"))
"""Categories of errors that are no failure of the tool: somebody stopped it, or said no."""

CODES_AT_MOST: Final = 64
"""Codes that metrics tell apart, of which the engine has some forty: what else tools make up is `OTHER`."""

_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


LONGEST_TEXT: Final = 300
"""Characters of a text that is shown: names, ids, owners and messages may be of any length."""


def clipped(text: str) -> str:
    """*text*, at most so long that a line, a span or a page of such texts has a bound."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def code_of(code: str) -> str:
    """*code*, unless it is spelled like no code: then a tool may have put anything there."""
    return code if _CODE.fullmatch(code) else OTHER


class Codes:
    """The codes that metrics tell apart: the first ones that came."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, code: str) -> str:
        """*code*, or what stands for those that come after too many others."""
        found = code_of(code)
        if found in self._known:
            return found
        if len(self._known) >= CODES_AT_MOST:
            return OTHER
        self._known.add(found)
        return found


def check_identities(subject: str, given: Collection[Identity]) -> frozenset[Identity]:
    """*given*, if these are identities.

    Raises:
        DefinitionError: One of them is none, or they come as a single word.
    """
    wanted = ", ".join(IDENTITIES)
    found = cast("Collection[object]", given)
    if isinstance(found, str) or not isinstance(found, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
        raise DefinitionError(subject, "identify", f"is {found!r}; give a list of some of {wanted}")
    for each in found:
        if each not in IDENTITIES:
            raise DefinitionError(subject, "identify", f"names {each!r}; there are {wanted}")
    return frozenset(given)


def identity_of(asked: frozenset[Identity], owner: str | None, context: RequestContext | None) -> dict[Identity, str]:
    """What may be told of on whose behalf a call is made."""
    if not asked:
        return {}
    said: dict[Identity, str | None] = {"owner": owner}
    if context is not None:
        said |= {"agent": context.agent, "conversation": context.session}
    return {name: clipped(value) for name, value in said.items() if value is not None and name in asked}
