"""What a document says that could not be taken over, and how reading it stops where it makes no sense."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ("DocumentFault", "ImportLoss", "LossKind", "Losses")

LossKind = Literal["not-imported", "dropped", "widened", "assumed", "renamed"]
"""What became of it.

``not-imported``: the operation is no tool. ``dropped``: a part of it was left out. ``widened``: our own validation takes
more than the document says. ``assumed``: the document or the specification leaves it open, and this was taken to be
meant. ``renamed``: the tool has another name than the operation.
"""


class ImportLoss(msgspec.Struct, frozen=True):
    """One thing in the document that was not taken over as it stands.

    Args:
        pointer: Where it stands: a JSON pointer behind ``#``, and before that the document, if it is another one.
        operation: The method and path of the operation that it is part of, such as ``GET /pets``.
        kind: What became of it.
        why: The reason in words.
    """

    pointer: str
    operation: str
    kind: LossKind
    why: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.kind} {self.pointer}: {self.why}"


class DocumentFault(Exception):
    """A part of the document can't be read. Whoever reads an operation turns it into a loss."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer}: {why}")
        self.pointer = pointer
        self.why = why


class Losses:
    """The losses of one operation while it is read. The same one is told once."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self._found: dict[ImportLoss, None] = {}

    def add(self, pointer: str, kind: LossKind, why: str) -> None:
        """Say that something was not taken over as it stands."""
        self._found[ImportLoss(pointer, self.operation, kind, why)] = None

    @property
    def all(self) -> tuple[ImportLoss, ...]:
        """What was said, in order."""
        return tuple(self._found)
