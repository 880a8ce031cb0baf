"""What a history is made of: calls and results, each with its place in one provider's messages."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal

import msgspec

from ..definitions import ToolResult, sha256_hex
from ._dialects import TOOL_NAMES
from ._message import field
from ._names import Alphabet
from ._names import legal_name as name_within
from ._turn import Json, Provider

__all__ = ("CallAt", "Change", "Fault", "FaultKind", "Layout", "Made", "Place", "ResultAt", "legal_id", "legal_name")

FaultKind = Literal[
    "missing-result",
    "orphan-result",
    "repeated-result",
    "misplaced-result",
    "result-order",
    "missing-id",
    "illegal-id",
    "repeated-id",
    "arguments",
    "name",
    "role",
    "no-calls",
    "characters",
    "withdrawn",
]


Place = tuple[int, int]
"""The index of a message, and the index of an entry in it."""


class Fault(msgspec.Struct, frozen=True):
    """One thing for which a provider refuses a history, or for which a model misreads it.

    Args:
        kind: What sort of thing it is.
        position: The index of the message, or of the item, in the list.
        path: The place, such as ``$[3].content[0]``.
        call_id: The provider's id of the call that it is about, None when there is none.
        words: What is wrong.
        remedy: What `repair_history` does about it.
    """

    kind: FaultKind
    position: int
    path: str
    call_id: str | None
    words: str
    remedy: str


class CallAt(msgspec.Struct, frozen=True):
    """A call in a history.

    Args:
        position: The index of its message.
        entry: Its index in the message.
        path: Its place.
        wire_id: Its id, None when it has none.
        name: The tool.
        arguments: The arguments in the form that the provider takes, when what stands there is not one.
        is_illegal: Whether that is so.
        is_broken: Whether they are no JSON object in any form, so that the call can't have run.
        by_model: Whether its message is the model's, who alone can call.
    """

    position: int
    entry: int
    path: str
    wire_id: str | None
    name: str
    arguments: object = None
    is_illegal: bool = False
    is_broken: bool = False
    by_model: bool = True

    @property
    def is_function(self) -> bool:
        """Whether it is one of ours, and no call of another type that the host answers."""
        return self.arguments is not None


class ResultAt(msgspec.Struct, frozen=True):
    """A result in a history.

    Args:
        position: The index of its message.
        entry: Its index in the message.
        path: Its place.
        wire_id: The id of its call, None when it has none.
        name: The tool, where the provider repeats that.
        node: What stands there.
        by_user: Whether its message is one that may hold results.
    """

    position: int
    entry: int
    path: str
    wire_id: str | None
    name: str | None
    node: object
    by_user: bool = True


class Change(msgspec.Struct, frozen=True):
    """What becomes of a call; None leaves it as it is.

    Args:
        call_id: Its new id.
        name: Its new name.
        arguments: Its new arguments.
    """

    call_id: str | None = None
    name: str | None = None
    arguments: object = None


class Made(msgspec.Struct, frozen=True):
    """A result that was written for a call that had none.

    Args:
        node: The result in the provider's form.
        extras: What goes with it after all results: pictures, where they cannot stand inside.
    """

    node: Json
    extras: Sequence[Json] = ()


class Layout(ABC):
    """Where one provider wants calls and results to stand."""

    provider: ClassVar[Provider]
    id_limit: ClassVar[int | None]
    """The most characters of an id, None where ids are free."""

    id_everywhere: ClassVar[bool]
    """Whether an id is that of one call in the whole history, and not only in its message."""

    name_rule: ClassVar[Alphabet]
    """What a name has to be."""

    needs_ids: ClassVar[bool] = True
    needs_names: ClassVar[bool] = False
    """Whether a result says the name of its tool."""

    is_flat: ClassVar[bool] = False
    """Whether each call and each result is an item of its own, and a result may stand anywhere after its call."""

    speaking: ClassVar[tuple[str, ...]] = ()
    """The fields of a message that say something; without any, no request may have it."""

    def says_nothing(self, node: object) -> bool:
        """Whether nothing stands in a message."""
        return bool(self.speaking) and all(field(node, name) in (None, [], ()) for name in self.speaking)

    def has_no_calls(self, node: object) -> bool:  # noqa: ARG002  # only one provider minds
        """Whether a message has a list of calls without any, which is refused."""
        return False

    def void_in(self, node: object, position: int) -> Sequence[int]:  # noqa: ARG002  # likewise
        """The entries of a message that count for nothing, and that the provider does not take back."""
        return ()

    @abstractmethod
    def calls_of(self, node: object, position: int) -> list[CallAt]:
        """The calls in a message that count, in order."""

    @abstractmethod
    def results_of(self, node: object, position: int) -> list[ResultAt]:
        """The results in a message, in order."""

    @abstractmethod
    def with_calls(self, node: object, changes: Mapping[int, Change]) -> Json:
        """A copy of a message whose calls are changed, by their entries."""

    @abstractmethod
    def with_answer(self, result: object, change: Change) -> Json:
        """A copy of a result whose call has changed."""

    @abstractmethod
    def without(self, node: object, entries: frozenset[int]) -> object | None:
        """A copy of a message without some of its entries, None when nothing is left of it."""

    @abstractmethod
    def in_words(self, call: CallAt, call_id: str | None, words: str) -> Json:
        """An error result that says *words*."""

    @abstractmethod
    def formatted(self, call: CallAt, call_id: str | None, result: ToolResult[object]) -> Made:
        """A result that the host has."""

    @abstractmethod
    def group(
        self, results: Sequence[object], extras: Sequence[Json], after: object | None
    ) -> tuple[list[object], bool]:
        """The messages that answer the calls of one message, and whether *after*, the next one, is within them."""

    def is_in_place(self, places: Sequence[Place], position: int) -> bool:
        """Whether results at *places* stand right behind the message of their calls at *position*, in this order."""
        return list(places) == [(position + 1, entry) for entry in range(len(places))]


_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")
NAMELESS: Final = "unknown"
"""How a call that names no tool is called in a history."""

_DIGITS: Final = 12
"""Of the digest in a short id: among the calls of one history no two will ever be alike."""


def legal_id(wire_id: str, limit: int | None) -> str:
    """*wire_id*, or its short form: the same in every process, and another one for every other id."""
    if limit is None or (len(wire_id) <= limit and _UNFIT.search(wire_id) is None):
        return wire_id
    digest = sha256_hex(wire_id)[:_DIGITS]
    return f"{_UNFIT.sub('_', wire_id)[: limit - _DIGITS - 1]}_{digest}"


def legal_name(name: str, rule: Alphabet) -> str:
    """*name*, or what it is called where a history does not take it: the name under which such a tool is offered."""
    if rule.allows(name):
        return name
    return name_within(name, TOOL_NAMES) if name else NAMELESS
