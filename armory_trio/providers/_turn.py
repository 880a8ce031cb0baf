"""What a model asked for in one message, and the way back: each result to the call that it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol

import msgspec

from ..definitions import CallDefect, ToolCall, ToolResult
from ..errors import ArmoryError
from ._arguments import read_arguments
from ._declined import WITHDRAWN
from ._doors import require_results, require_way_back
from ._text import encodable, shortened

__all__ = (
    "UNREADABLE",
    "Answer",
    "Dialect",
    "Found",
    "Json",
    "OtherCall",
    "Provider",
    "RawCall",
    "ReplyError",
    "Turn",
    "WayBack",
    "WireCall",
    "build_turn",
    "cut_off",
)

Provider = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""Whose messages are read and answered. A toolbox can be offered in the form of each `ProviderName`."""

Json = dict[str, object]
"""One JSON object on its way to a provider."""


class WayBack(Protocol):
    """What was offered to the model, and so what its calls mean: a `Manifest`."""

    def called(self, wire: str) -> str:
        """What the tool that the provider calls *wire* is called here."""
        ...

    def read(self, wire: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """What is meant by the *arguments* of a call of *wire*."""
        ...


class RawCall(msgspec.Struct, frozen=True):
    """A tool call as a message holds it, before anything in it is believed.

    Args:
        wire_id: The provider's id; None or empty when it sent none.
        name: Whatever stands in the place of the name.
        arguments: Whatever stands in the place of the arguments: JSON text or a decoded value.
        defect: Known already to be broken, whatever the arguments say.
        echo: What the answer has to repeat beside the id.
    """

    wire_id: str | None
    name: object
    arguments: object
    defect: CallDefect | None = None
    echo: Mapping[str, object] = {}


class OtherCall(msgspec.Struct, frozen=True):
    """A call in the message that is no function call, such as one that the provider runs itself.

    It is not ours to run or to answer. When the provider expects the host to answer it (OpenAI's custom tools, for
    one), its answer goes beside those of `Turn.reply`.

    Args:
        type: What sort of call it is, in the provider's word.
        id: The provider's id, if it has one.
        name: The name of the tool, if it has one.
        path: Where it stands in the message.
        is_cut: Whether the message ended in it, so that what it asks for may be cut short: it must not be run.
    """

    type: str
    id: str | None
    name: str | None
    path: str
    is_cut: bool = False


class WireCall(msgspec.Struct, frozen=True):
    """How the provider knows a call.

    Args:
        call_id: The id of our `ToolCall`, unique in its turn.
        wire_id: The provider's own id, which may be missing or used twice.
        name: The name that the model wrote, before it was mapped back.
        echo: What the answer has to repeat beside the id.
        is_withdrawn: Whether the model that made it was replaced by another one in the middle of the message, so that
            neither the call nor an answer to it is sent back.
    """

    call_id: str
    wire_id: str | None
    name: str
    echo: Mapping[str, object] = {}
    is_withdrawn: bool = False

    @property
    def reply_id(self) -> str:
        """The id for the answer: the provider's where there is one."""
        return self.wire_id or self.call_id


Answer = tuple[WireCall, ToolResult[object]]


class ReplyError(ArmoryError):
    """The results do not answer the calls of the turn one to one. Nothing was formatted.

    Args:
        missing: The calls without a result.
        repeated: Ids of calls that have several.
        unexpected: Ids in results that no call of this turn has.
    """

    __module__ = "armory_trio.providers"

    def __init__(self, missing: Sequence[WireCall], repeated: Sequence[str], unexpected: Sequence[str]) -> None:
        parts = [f"no result for the call {call.call_id!r} of {call.name!r}" for call in missing]
        parts += [f"several results for the call {call_id!r}" for call_id in repeated]
        parts += [f"a result for {call_id!r}, which is no call of this turn" for call_id in unexpected]
        super().__init__("; ".join(parts) + "; give exactly one result for each call in turn.calls")
        self.missing: tuple[str, ...] = tuple(call.call_id for call in missing)
        self.repeated: tuple[str, ...] = tuple(repeated)
        self.unexpected: tuple[str, ...] = tuple(unexpected)


class Turn(msgspec.Struct, frozen=True):
    """The tool calls of one message.

    Run ``calls`` (the broken ones too: they end as error results and never run), then extend the history by
    ``reply(results)``.

    Args:
        provider: Whose message it was.
        calls: The calls in the order of the message, each with an id of its own.
        others: Calls of other types, left alone.
        stop_reason: Why the model stopped, in the provider's own word, when the message says so.
        wire: How the provider knows each call, in the same order.
        render: What turns answers into this provider's messages.
    """

    provider: Provider
    calls: tuple[ToolCall, ...]
    others: tuple[OtherCall, ...]
    stop_reason: str | None
    wire: tuple[WireCall, ...]
    render: Callable[[Sequence[Answer]], list[Json]]

    @property
    def made_ids(self) -> Mapping[int, str]:
        """The ids that we made because the provider sent none, by position in ``calls``.

        Write them into the message that you keep as history, where the provider's format has ids at all.
        """
        return {index: call.call_id for index, call in enumerate(self.wire) if call.wire_id is None}

    def reply(self, results: Iterable[ToolResult[object]]) -> list[Json]:
        """The messages that answer this turn, to be appended to the history; none for a turn without calls.

        Results may come in any order; they are matched by ``call_id`` and sent in the order of the calls.

        Raises:
            ReplyError: A call has no result or several, or a result belongs to no call of this turn.
            DefinitionError: *results* is no list of results.
        """
        matched = _matched(self.wire, require_results("turn.reply", results))
        answers = [(call, result) for call, result in matched if not call.is_withdrawn]
        return self.render(answers) if answers else []


_CUT: Final = (
    "The reply ended before it was complete ({reason}), so this call may be cut short. Send the whole call again, with "
    "shorter arguments if they are long."
)


UNREADABLE: Final = CallDefect(
    "MALFORMED_CALL", "The provider says that a call of this message is malformed. Send the calls again, well formed."
)
"""What is wrong with every call of a message of which the provider says this, for it does not say which call it means."""


def cut_off(reason: str, arguments: object = None) -> CallDefect:
    """The defect of a call that was still being written when the model stopped."""
    text = shortened(arguments) if isinstance(arguments, str) else None
    return CallDefect("TRUNCATED_CALL", _CUT.format(reason=shortened(reason)), text)


class Found(msgspec.Struct, frozen=True):
    """Where the calls of a message are.

    Args:
        entries: What may be calls, in order.
        path: Where ``entries`` stand in the message.
        stop_reason: Why the model stopped, in the provider's own word.
        cut: The same when it means that the message was cut off.
        defect: What is wrong with every call of the message.
        others: Calls of other types that stand elsewhere.
        defects: What is wrong with single entries, by their place in ``entries``, whatever they say themselves.
        unfinished: The places of calls of other types that may have more to them.
        void: The places of entries that count for nothing, since another model took over behind them.
    """

    entries: Sequence[object]
    path: str
    stop_reason: str | None = None
    cut: str | None = None
    defect: CallDefect | None = None
    others: tuple[OtherCall, ...] = ()
    defects: Mapping[int, CallDefect] = {}
    unfinished: Collection[int] = ()
    void: frozenset[int] = frozenset()


class Dialect(msgspec.Struct, frozen=True):
    """How one provider writes calls and reads answers.

    Args:
        provider: Its name.
        read: One entry, where it stands, and why the message was cut off, if it was and this entry was the last.
            None is an entry that is no call.
        render: Answers into messages.
        is_filler: Whether an entry says nothing, so that the entry before it may be the one that was cut.
    """

    provider: Provider
    read: Callable[[object, str, str | None], RawCall | OtherCall | None]
    render: Callable[[Sequence[Answer]], list[Json]]
    is_filler: Callable[[object], bool] | None = None


def build_turn(
    found: Found, dialect: Dialect, names: Mapping[str, str] | None, manifest: WayBack | None = None
) -> Turn:
    """The turn of what was *found*: calls read, ids made unique, names and arguments mapped back.

    Raises:
        MessageError: An entry is not of the right shape.
        DefinitionError: *names* or *manifest* is not the way back from this provider.
    """
    require_way_back(dialect.provider, names, manifest)
    last = len(found.entries) - 1
    while dialect.is_filler is not None and last >= 0 and dialect.is_filler(found.entries[last]):
        last -= 1
    read = [
        dialect.read(entry, f"{found.path}[{at}]", found.cut if at == last else None)
        for at, entry in enumerate(found.entries)
    ]
    defects = {**found.defects, **dict.fromkeys(found.void, WITHDRAWN)}
    raw = [_doubted(call, defects.get(at)) for at, call in enumerate(read) if isinstance(call, RawCall)]
    withdrawn = [at in found.void for at, call in enumerate(read) if isinstance(call, RawCall)]
    open_ended = {*found.unfinished, *([] if found.cut is None else [last])}
    others = [_ended(call, at in open_ended) for at, call in enumerate(read) if isinstance(call, OtherCall)]
    ids = _unique_ids([call.wire_id for call in raw])
    believed = [_believed(call, call_id, found.defect) for call, call_id in zip(raw, ids, strict=True)]
    calls = tuple(_meant(call, names or {}, manifest) for call in believed)
    wire = tuple(
        WireCall(made.id, call.wire_id or None, _said(call.name), call.echo, is_withdrawn)
        for call, made, is_withdrawn in zip(raw, calls, withdrawn, strict=True)
    )
    return Turn(dialect.provider, calls, (*found.others, *others), found.stop_reason, wire, dialect.render)


def _ended(call: OtherCall, is_cut: bool) -> OtherCall:  # noqa: FBT001 - as in the line that calls it
    return msgspec.structs.replace(call, is_cut=True) if is_cut else call


def _said(name: object) -> str:
    return encodable(name) if isinstance(name, str) else ""


def _doubted(raw: RawCall, defect: CallDefect | None) -> RawCall:
    return raw if defect is None else msgspec.structs.replace(raw, defect=defect)


def _meant(call: ToolCall, names: Mapping[str, str], manifest: WayBack | None) -> ToolCall:
    """*call*, which has the provider's words, in ours."""
    name = names.get(call.name, call.name if manifest is None else manifest.called(call.name))
    if manifest is None or call.defect is not None:
        return call if name == call.name else msgspec.structs.replace(call, name=name)
    return msgspec.structs.replace(call, name=name, arguments=manifest.read(call.name, call.arguments))


def _believed(raw: RawCall, call_id: str, doubt: CallDefect | None) -> ToolCall:
    arguments, broken = read_arguments(raw.arguments)
    name = raw.name if isinstance(raw.name, str) else ""
    nameless = None if name else CallDefect("MALFORMED_CALL", "The call names no tool. Name one that was offered.")
    defect = raw.defect or doubt or nameless or broken
    return ToolCall(name, {} if defect else arguments, call_id, defect)


def _unique_ids(wire_ids: Sequence[str | None]) -> list[str]:
    """Each provider id once; a second use gets a suffix, a missing one stays empty, so that one is minted."""
    taken = {wire_id for wire_id in wire_ids if wire_id}
    seen: dict[str, int] = {}
    ids: list[str] = []
    for wire_id in wire_ids:
        if not wire_id:
            ids.append("")
            continue
        use = seen.get(wire_id, 0) + 1
        candidate = wire_id if use == 1 else f"{wire_id}#{use}"
        while use > 1 and candidate in taken:
            use += 1
            candidate = f"{wire_id}#{use}"
        seen[wire_id] = use
        taken.add(candidate)
        ids.append(candidate)
    return ids


def _matched(wire: Sequence[WireCall], results: Sequence[ToolResult[object]]) -> list[Answer]:
    known = {call.call_id for call in wire}
    by_id: dict[str, ToolResult[object]] = {}
    repeated: list[str] = []
    for result in results:
        if result.call_id in by_id and result.call_id not in repeated:
            repeated.append(result.call_id)
        by_id[result.call_id] = result
    missing = [call for call in wire if call.call_id not in by_id]
    unexpected = [call_id for call_id in by_id if call_id not in known]
    repeated = [call_id for call_id in repeated if call_id in known]
    if missing or repeated or unexpected:
        raise ReplyError(missing, repeated, unexpected)
    return [(call, by_id[call.call_id]) for call in wire]
