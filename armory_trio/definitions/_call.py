"""What goes in and what comes out: calls, results, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Final, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import force_setattr

from ..errors import ArmoryError
from ._checks import shown
from ._content import Content, words_of
from ._minting import IDS
from ._pending import PendingApproval, RequiredAction

R = TypeVar("R", covariant=True)

Outcome = Literal["success", "error", "action_required"]
"""What the caller is told."""

Effect = Literal["none", "completed", "unknown"]
"""What the world may have seen. Never guessed: see the table in docs/effects.md."""

Category = Literal[
    "validation",
    "permission",
    "not_found",
    "unavailable",
    "conflict",
    "transient",
    "timeout",
    "cancelled",
    "internal",
]

LoopPattern = Literal["repeat", "ping-pong", "cycle"]
"""In what way a model goes round in circles."""

DEFAULT_CODES: Final[Mapping[Category, str]] = {
    "validation": "INVALID_ARGUMENTS",
    "permission": "POLICY_DENIED",
    "not_found": "NOT_FOUND",
    "unavailable": "TOOL_UNAVAILABLE",
    "conflict": "CONFLICT",
    "transient": "TRANSIENT_ERROR",
    "timeout": "TIMEOUT",
    "cancelled": "CANCELLED",
    "internal": "INTERNAL_ERROR",
}
"""The code of a `ToolFailure` that names only its category."""


class CallDefect(msgspec.Struct, frozen=True, gc=False):
    """Why a model's tool call cannot be trusted to mean what it says. Such a call never runs.

    Args:
        code: ``MALFORMED_CALL`` (not a legal call) or ``TRUNCATED_CALL`` (the model was cut off).
        message: What was wrong and where, in words for the model.
        text: The offending text as it came, cut to a readable length.
    """

    code: Literal["MALFORMED_CALL", "TRUNCATED_CALL"]
    message: str
    text: str | None = None


class ToolCall(msgspec.Struct, frozen=True):
    """A request to run one tool.

    Args:
        name: A tool's name, or its full id.
        arguments: The JSON object of arguments.
        id: The caller's name for this call. An absent or empty one is minted.
        defect: Set by the provider parsers on a call that was broken in transit; it is answered with an
            error result in its place and never runs.
    """

    name: str
    arguments: Mapping[str, object] = {}
    id: str = ""
    defect: CallDefect | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and isinstance(self.id, str)):  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]  # a Struct takes anything
            raise TypeError(f"ToolCall(name={self.name!r}, id={self.id!r}): both are strings")
        if not self.id:
            force_setattr(self, "id", f"call-{IDS.prefix}-{next(IDS.numbers)}")


def no_call(value: object) -> TypeError:
    """That *value* is no call, but a name, a tool, a mapping or something else."""
    return TypeError(f"{shown(value)} is no ToolCall; give ToolCall(name, arguments)")


class ToolError(msgspec.Struct, frozen=True, gc=False):
    """Why a call did not succeed.

    Args:
        category: The kind, one of `Category`.
        code: The precise reason; see the table in docs/outcomes.md.
        message: Words that a model can act on.
        retryable: Whether the same call may be sent again without doing its effect twice.
        details: JSON-like facts, such as ``{"issues": [...]}`` for invalid arguments.
    """

    category: Category
    code: str
    message: str
    retryable: bool = False
    details: Mapping[str, object] | None = None


class EffectRecord(msgspec.Struct, frozen=True, gc=False):
    """One window in which a tool changed the world.

    Args:
        label: What the tool called it.
        target: What was changed, if the tool said.
        state: ``open`` (the tool never closed it), ``completed``, ``nothing-happened`` (by the tool's word, or
            never entered) or ``unknown`` (left by an exception).
    """

    label: str
    target: str | None
    state: Literal["open", "completed", "nothing-happened", "unknown"]


class Idempotency(msgspec.Struct, frozen=True, gc=False):
    """What the ledger says about a call.

    Args:
        outcome: ``fresh``: it ran now. ``deduped``: it ran before, and this is how that ended. ``joined``: it ran at the
            same time for somebody else. ``unknown-outcome``: it was begun before, and nobody knows how that ended.
            ``authorization-required``: it ran before, under other rules. ``conflict``: the key was used for other
            arguments, or it was decided that it must not be tried again. ``fence-lost``: it ran now, and the ledger
            keeps what another attempt came to.
        key: The key of the call; None when it is only recorded to be found after a crash.
        attempt_id: The attempt in the ledger that this is about.
        recorded: Whether the ledger knows how it ended.
    """

    outcome: Literal[
        "fresh", "deduped", "joined", "unknown-outcome", "authorization-required", "conflict", "fence-lost"
    ]
    key: str | None = None
    attempt_id: str | None = None
    recorded: bool = True


class ToolResult(msgspec.Struct, Generic[R], frozen=True):
    """How one call ended: what the caller is told, and what the world may have seen.

    Args:
        execution_id: The execution in the supervisor's snapshots.
        call_id: The id of the `ToolCall`.
        tool_name: The name of the tool that ran, or the name that was asked for.
        outcome: ``success``, ``error`` or ``action_required``.
        value: What the tool returned; None unless the outcome is ``success``.
        content: The same for a model, never empty.
        error: Set exactly when the outcome is ``error``.
        action: Set exactly when the outcome is ``action_required``.
        effect: What the world may have seen; not derived from the outcome.
        effects: The effect windows, in the order of their opening.
        chunks: What a stream had yielded when it failed; empty otherwise.
        attempts: How often the body was entered (0: it never ran).
        duration: Seconds from the start of the body to its outcome, 0 when it never ran.
        input_digest: SHA-256 of the arguments as they were sent, if the tool declares ``digests``.
        output_digest: SHA-256 of the value of a success, likewise.
        pending_approval: What to keep and hand back once a person agreed, if that is what the action is.
        executed_arguments_edited: Whether other arguments ran than were sent: a hook or a person edited them.
        idempotency: What the ledger says about the call; None when it has no key.
    """

    execution_id: str
    call_id: str
    tool_name: str
    outcome: Outcome
    value: R | None = None
    content: tuple[Content, ...] = ()
    error: ToolError | None = None
    action: RequiredAction | None = None
    effect: Effect = "none"
    effects: tuple[EffectRecord, ...] = ()
    chunks: tuple[object, ...] = ()
    attempts: int = 0
    duration: float = 0.0
    input_digest: str | None = None
    output_digest: str | None = None
    pending_approval: PendingApproval | None = None
    executed_arguments_edited: bool = False
    idempotency: Idempotency | None = None

    def unwrap(self) -> R:
        """The value of a success.

        Raises:
            ToolExecutionError: The outcome is not ``success``; the error carries this result.
        """
        if self.outcome != "success":
            raise ToolExecutionError(self)
        return self.value  # type: ignore[return-value]  # a success has the value that its tool returned

    @property
    def text(self) -> str:
        """All the words of the content, a blank line between blocks; what is bytes is named, not included."""
        return "\n\n".join(words_of(block) for block in self.content)


def _check_kind(field: str, value: object, kind: type | UnionType, wanted: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"ToolFailure {field} is {value!r}; give {wanted}")


class ToolFailure(ArmoryError):
    """Raised by a tool to say exactly what happened.

    Args:
        message: Words for the model.
        category: The kind, one of `Category`.
        code: The precise reason; by default that of the category.
        retryable: Whether the call may be sent again. None leaves it to the rules; True never overrides an effect
            that is ``unknown`` or ``completed``.
        effect: What the world has seen, when the tool knows. None leaves it to the rules.
        details: JSON-like facts for the result.
    """

    __module__ = "armory_trio"

    def __init__(
        self,
        message: str,
        *,
        category: Category = "internal",
        code: str | None = None,
        retryable: bool | None = None,
        effect: Effect | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        if category not in DEFAULT_CODES:
            raise ValueError(f"ToolFailure category {category!r} is not one of {', '.join(DEFAULT_CODES)}")
        if effect not in (None, "none", "completed", "unknown"):
            raise ValueError(f"ToolFailure effect {effect!r} is not one of none, completed, unknown")
        _check_kind("message", message, str, "text")
        _check_kind("code", code, str | None, "text, or None for that of its category")
        _check_kind("retryable", retryable, bool | None, "True, False, or None to leave it to the rules")
        _check_kind("details", details, Mapping | None, "a mapping, or None")
        self.message = message
        self.category: Category = category
        self.code: str = code or DEFAULT_CODES[category]
        self.retryable = retryable
        self.effect: Effect | None = effect
        self.details = details


class ToolExecutionError(ArmoryError):
    """A result was unwrapped that is no success. ``result`` is the whole `ToolResult`."""

    __module__ = "armory_trio"

    def __init__(self, result: ToolResult[object]) -> None:
        if result.error is not None:
            reason = f"{result.error.code}: {result.error.message}"
        else:
            reason = f"needs {result.action.type}" if result.action is not None else result.outcome
        super().__init__(f"{result.tool_name}: {reason}")
        self.result = result


class BatchError(ArmoryError):
    """A fail-fast batch was stopped by one of its calls.

    Args:
        index: The position of the call that failed first.
        result: Its result.
        results: All results in call order; those that never ran say ``NOT_STARTED``.
    """

    __module__ = "armory_trio"

    def __init__(self, index: int, result: ToolResult[object], results: Sequence[ToolResult[object]]) -> None:
        reason = result.error.message if result.error is not None else result.outcome
        super().__init__(f"call {index} ({result.tool_name}) failed: {reason}")
        self.index = index
        self.result = result
        self.results: tuple[ToolResult[object], ...] = tuple(results)
