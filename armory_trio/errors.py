"""Every exception that the library raises on purpose, but for those that carry a result.

`ToolFailure`, `ToolExecutionError` and `BatchError` live beside the values that they carry,
in `armory_trio.definitions`.
"""

from __future__ import annotations

from typing import Literal

__all__ = (
    "AdmissionClosed",
    "ApprovalError",
    "ArmoryError",
    "BudgetExceeded",
    "DefinitionError",
    "DuplicateToolError",
    "ElicitationUnavailable",
    "EmbeddingError",
    "ExecutionAborted",
    "ExecutionOver",
    "GrantError",
    "InternalError",
    "JsonError",
    "LoadFailed",
    "Overloaded",
    "RepeatRefused",
    "ShutdownFromInside",
    "StoreUnavailable",
    "TransitionError",
)


class ArmoryError(Exception):
    """Base class: catch this to catch anything that we raise on purpose."""


class DefinitionError(ArmoryError):
    """A tool, toolbox or option was declared wrongly. Raised when it is defined, never when it is called.

    Args:
        subject: What was being defined, such as ``tool 'add'``.
        field: The declaration at fault, such as ``timeout``.
        reason: What is wrong, and what would be right.
    """

    def __init__(self, subject: str, field: str, reason: str) -> None:
        super().__init__(f"{subject}: {field}: {reason}")
        self.subject = subject
        self.field = field
        self.reason = reason


class DuplicateToolError(DefinitionError):
    """Two different tools claim one id. Give one of them another name, namespace or version."""


class JsonError(ArmoryError):
    """A value or a text is not the strict JSON that was asked for.

    Args:
        code: One of the fixed words of `armory_trio.definitions`, such as ``duplicate-key``.
        path: Keys and indices from the root to the place.
        detail: What stood there, and what would be right.
        root: What the message calls the value or text that the path starts from.
    """

    def __init__(self, code: str, path: tuple[str | int, ...], detail: str, *, root: str = "$") -> None:
        # A key that is no plain word is quoted in ASCII: it may hold dots, or surrogates that no log can encode.
        where = "".join(f".{step}" if str(step).isidentifier() else f"[{step!a}]" for step in path)
        super().__init__(f"{code} at {root}{where}: {detail}")
        self.code = code
        self.path = path
        self.detail = detail


class AdmissionClosed(ArmoryError):
    """The supervisor is draining or closed, so it takes no new work.

    Calls that were admitted before still run to their end, and so do their nested calls.
    """


class Overloaded(ArmoryError):
    """The queue bound cannot hold the whole batch. Nothing of it was admitted; try again later."""


class BudgetExceeded(ArmoryError):
    """The budget cannot pay for the whole batch. Nothing of it was admitted."""


class ShutdownFromInside(ArmoryError):
    """A running tool asked its own supervisor to wait for it to end, which could never happen."""


class ExecutionAborted(ArmoryError):
    """What ``ctx.check()`` raises in a tool whose execution has been asked to stop. Let it travel."""


class ExecutionOver(ArmoryError):
    """A tool used its context after its outcome was decided, so nothing new may start."""


class LoadFailed(ArmoryError):
    """The function of a lazy tool could not be loaded, so it was not entered. The next call tries again."""


class ElicitationUnavailable(ArmoryError):
    """A tool asked the user something, and the call carries no way to ask."""


AuthorityCode = Literal[
    "invalid-binding",
    "invalid-signature",
    "invalid-scope",
    "expired",
    "revoked",
    "in-flight",
    "already-consumed",
    "not-found",
    "mismatch",
]
"""Why an approval or a grant does not count."""


class ApprovalError(ArmoryError):
    """An approval does not count. Nothing was run because of it.

    Args:
        code: One of `AuthorityCode`.
        detail: What was wrong, and what would be right. Nothing secret.
    """

    def __init__(self, code: AuthorityCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: AuthorityCode = code
        self.detail = detail


class GrantError(ArmoryError):
    """A grant is not legal, or is not there.

    Args:
        code: One of `AuthorityCode`.
        detail: What was wrong, and what would be right. Nothing secret.
    """

    def __init__(self, code: AuthorityCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: AuthorityCode = code
        self.detail = detail


class EmbeddingError(ArmoryError):
    """An embedder answered something else than one vector for each text, all of one length."""


class RepeatRefused(ArmoryError):
    """A middleware asked for another attempt of a tool that may have changed something, or was asked to stop."""


class StoreUnavailable(ArmoryError):
    """A store of approvals, grants or attempts can't be reached, read or written.

    Args:
        where: The store: a path, or a server and its database. Never a user or a password.
        reason: What is wrong, and what would be right.
        maybe_done: Whether what was asked for may have been done all the same: the answer was lost, not the question.
    """

    def __init__(self, where: str, reason: str, *, maybe_done: bool = False) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason
        self.maybe_done = maybe_done


class TransitionError(ArmoryError):
    """An execution was sent an event that its state does not accept. A bug of the engine."""


class InternalError(ArmoryError):
    """A task of the engine itself died. This is a bug of ours: ``__cause__`` holds what killed it."""
