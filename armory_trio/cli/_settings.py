"""What the user asked for, checked and frozen."""

from __future__ import annotations

from typing import Final, Literal, TypedDict

import attrs

from ..authority.policy import ApprovalMode

InputKind = Literal["auto", "calls", "openai", "openai-responses", "anthropic", "gemini"]
OutputFormat = Literal["result", "openai", "openai-responses", "anthropic", "gemini"]
ErrorDetail = Literal["message", "declared"]
Approver = Literal["ask", "all", "none"]

INPUTS: Final[tuple[InputKind, ...]] = ("auto", "calls", "openai", "openai-responses", "anthropic", "gemini")
DETAILS: Final[tuple[ErrorDetail, ...]] = ("message", "declared")
FORMATS: Final[tuple[OutputFormat, ...]] = ("result", "openai", "openai-responses", "anthropic", "gemini")
APPROVERS: Final[tuple[Approver, ...]] = ("ask", "all", "none")
MODES: Final[tuple[ApprovalMode, ...]] = ("never", "on-mutation", "always", "deny")
MEBIBYTE: Final = 1024 * 1024


class ToolOptions(TypedDict):
    """Where the tools come from."""

    words: tuple[str, ...]
    toolbox: tuple[str, ...]
    manifest: tuple[str, ...]
    kit: str | None
    root: str | None
    debug: bool


@attrs.frozen(kw_only=True)
class RunSettings:
    """How the calls of one run are made and their results written.

    Args:
        file: The file to read; None or ``-`` is standard input.
        deadline: Seconds from the start for everything.
        approve: Who approves what needs that: whoever sits at the terminal, nobody, or everything is approved.
        approval_timeout: Seconds that a call waits for an answer; None for as long as it takes.
        live: Whether a live view is shown; None decides by the terminal.
        debug: Whether errors come with their traceback.
    """

    file: str | None
    input: InputKind
    format: OutputFormat
    concurrency: int
    queue: int
    unordered: bool
    fail_fast: bool
    timeout: float | None
    deadline: float | None
    drain_for: float
    cleanup_timeout: float
    owner: str | None
    approve: Approver
    approval_timeout: float | None
    error_detail: ErrorDetail
    max_bytes: int
    live: bool | None
    debug: bool

    @property
    def window(self) -> int:
        """So many calls may be running, waiting or unwritten; then reading pauses."""
        return self.concurrency + self.queue
