"""Whether a model asks for the same thing over and over. Pure: it is told what was called, and answers what to do.

What is judged is the current call and the unbroken run of calls that it continues, never the calls further back: one
different call, or one different result, and the count starts anew. Nobody else's calls are touched by it.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

import msgspec

from ..definitions import LoopPattern as LoopPattern  # noqa: PLC0414  # the package offers it as well
from ..definitions import ToolDefinition
from ..definitions._checks import count, names, shown
from ..definitions._declared import Declared
from ..errors import DefinitionError

LoopLevel = Literal["fine", "warn", "block"]

_SUBJECT: Final = "LoopDetection"
_LONGEST: Final = 16
"""Calls in the longest cycle that may be looked for: each length is compared for every call that is judged."""
_NAMED: Final = 6
"""Tools of a cycle that a message names."""


class LoopDetection(Declared, frozen=True, kw_only=True):
    """When a call that repeats itself is remarked upon, and when it is no longer run.

    Args:
        warn_at: The call of a run with which warnings begin, from 2 on; None for no warnings.
        block_at: The call of a run from which on calls are refused; None refuses none.
        longest_cycle: How many calls may make up what is repeated: 1 sees only one call again and again, 2 also two
            that take turns, 3 also three, up to 16.
        polling: Names or ids of tools that may be called again and again, beside those that say so themselves with
            ``metadata={"polling": True}``.
        owners: How many owners are remembered. The one that has called nothing for longest is forgotten first.

    Raises:
        DefinitionError: A value is not legal, or there is neither a warning nor a refusal.
    """

    warn_at: int | None = 10
    block_at: int | None = 20
    longest_cycle: int = 2
    polling: Collection[str] = frozenset[str]()
    owners: int = 1024

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "polling", frozenset(names(_SUBJECT, "polling", self.polling)))
        for field in ("warn_at", "block_at"):
            value: object = getattr(self, field)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 2):
                raise DefinitionError(_SUBJECT, field, f"must be a whole number from 2 on, or None, not {shown(value)}")
        if self.warn_at is None and self.block_at is None:
            raise DefinitionError(_SUBJECT, "warn_at", "is None, and so is block_at: nothing would ever be said")
        if self.warn_at is not None and self.block_at is not None and self.warn_at >= self.block_at:
            reason = f"{self.warn_at} is not below block_at={self.block_at}, so no warning would ever come; use None"
            raise DefinitionError(_SUBJECT, "warn_at", reason)
        count(_SUBJECT, "longest_cycle", self.longest_cycle)
        if self.longest_cycle > _LONGEST:
            raise DefinitionError(_SUBJECT, "longest_cycle", f"may be {_LONGEST} at most, not {self.longest_cycle}")
        count(_SUBJECT, "owners", self.owners)

    def watches(self, definition: ToolDefinition) -> bool:
        """Whether calls of this tool count: those of a tool that polls do not, and interrupt nothing either."""
        if definition.metadata.get("polling") is True:
            return False
        return not (self.polling and (definition.name in self.polling or definition.id.text in self.polling))

    def level(self, calls: int) -> LoopLevel:
        """What is done about a call that is number *calls* of its run."""
        if self.block_at is not None and calls >= self.block_at:
            return "block"
        return "warn" if self.warn_at is not None and calls >= self.warn_at else "fine"


class LoopVerdict(msgspec.Struct, frozen=True, eq=False):
    """What is to be done about one call.

    Args:
        level: ``fine`` and ``warn`` go on; a call that is ``block`` must not be run.
        calls: Which call of its run it is, 1 when it continues none. Counted as far as the detector remembers: at
            least to the larger threshold.
        pattern: What the run is: ``repeat``, ``ping-pong`` or a longer ``cycle``; None when it continues none.
        message: For the model and for people, when the level is not ``fine``; otherwise empty.
        entry: The detector's own note of the call, for `LoopDetector.record_result`.
    """

    level: LoopLevel
    calls: int
    pattern: LoopPattern | None
    message: str
    entry: _Entry


class LoopStatistics(msgspec.Struct, frozen=True):
    """What a detector has seen since it was made.

    Args:
        calls: Calls that it judged.
        warned: Those that it warned of.
        blocked: Those that it refused.
        owners: How many owners it remembers now.
    """

    calls: int
    warned: int
    blocked: int
    owners: int


class _Entry:
    """One call that was judged. Its result stays None while nobody knows it, and for good when it did not run."""

    __slots__ = ("name", "result", "same")

    def __init__(self, name: str, same: bytes) -> None:
        self.name: str = name
        self.same: bytes = same
        self.result: str | None = None


class LoopDetector:
    """Remembers the latest calls of each owner, and judges the next one.

    Its memory is bounded: of the latest ``owners`` owners it keeps about as many calls as the larger threshold, each
    as a digest. It belongs to one thread.

    Args:
        settings: When to warn and when to refuse.
    """

    __slots__ = ("_blocked", "_calls", "_depth", "_histories", "_warned", "settings")

    def __init__(self, settings: LoopDetection) -> None:
        self.settings: LoopDetection = settings
        self._depth = max(settings.warn_at or 0, settings.block_at or 0, 2 * settings.longest_cycle)
        self._histories: OrderedDict[str | None, deque[_Entry]] = OrderedDict()
        self._calls = self._warned = self._blocked = 0

    def __repr__(self) -> str:
        return f"<LoopDetector of {len(self._histories)} owners>"

    def check(self, name: str, arguments: str, *, owner_id: str | None = None) -> LoopVerdict:
        """Judge a call and remember it. The current call counts, and so do refused ones.

        Args:
            name: The name or id of the tool that it means, so that two spellings of one name are one.
            arguments: The ``exact`` canonical text of what the model sent, before defaults are filled in, or any other
                text that is equal for equal arguments, such as its digest.
            owner_id: Whose calls it follows. Calls without an owner follow each other.
        """
        history = self._history_of(owner_id)
        entry = _Entry(name, fingerprint(name, arguments))
        calls, length = _run(history, entry, self.settings.longest_cycle)
        history.append(entry)
        level = self.settings.level(calls)
        self._calls += 1
        self._warned += level == "warn"
        self._blocked += level == "block"
        pattern: LoopPattern | None = None if length == 0 else _PATTERNS.get(length, "cycle")
        message = "" if level == "fine" else _message(level, calls, list(history)[-length:])
        return LoopVerdict(level, calls, pattern, message, entry)

    def record_result(self, verdict: LoopVerdict, digest: str) -> None:
        """Tell how the call of *verdict* ended, in whatever order calls end. Another result than last time is progress.

        Args:
            verdict: What `check` answered for it.
            digest: Equal for equal results, such as the digest of its output or of the text of its error. Nothing
                needs to be told of a call that was refused or cancelled.
        """
        verdict.entry.result = digest

    def forget(self, owner_id: str | None) -> None:
        """Forget the calls of the owner *owner_id*, whose run is over."""
        self._histories.pop(owner_id, None)

    def statistics(self) -> LoopStatistics:
        """What it has seen so far."""
        return LoopStatistics(self._calls, self._warned, self._blocked, len(self._histories))

    def _history_of(self, owner_id: str | None) -> deque[_Entry]:
        history = self._histories.get(owner_id)
        if history is None:
            history = self._histories[owner_id] = deque(maxlen=self._depth)
            if len(self._histories) > self.settings.owners:
                self._histories.popitem(last=False)
        else:
            self._histories.move_to_end(owner_id)
        return history


_PATTERNS: Final[Mapping[int, LoopPattern]] = {1: "repeat", 2: "ping-pong"}


def fingerprint(name: str, arguments: str) -> bytes:
    """What calls of one tool with equal arguments have in common: SHA-256 of ``name:arguments``."""
    return hashlib.sha256(f"{name}:{arguments}".encode("utf-8", "surrogatepass")).digest()


def _run(history: Sequence[_Entry], current: _Entry, longest: int) -> tuple[int, int]:
    """How many calls the run has that *current* continues, and how many make up what is repeated; (1, 0) for no run.

    Of several readings the longer run counts, then the shorter cycle.
    """
    best = (1, 0)
    for length in range(1, longest + 1):
        calls = _calls_of_cycle(history, current, length)
        if calls > best[0]:
            best = (calls, length)
    return best


def _calls_of_cycle(history: Sequence[_Entry], current: _Entry, length: int) -> int:
    """How many calls back, *current* included, every call and every known result equals the one *length* before it."""
    cycle: list[_Entry] = [current]
    results: list[str | None] = [None] * length
    calls = 1
    for entry in reversed(history):
        place = calls % length
        if place == len(cycle):
            cycle.append(entry)
        elif entry.same != cycle[place].same:
            break
        if entry.result is not None:
            if results[place] not in (None, entry.result):
                break
            results[place] = entry.result
        calls += 1
    return calls if calls >= 2 * length and not _repeats_itself(cycle) else 1


def _repeats_itself(cycle: Sequence[_Entry]) -> bool:
    """Whether the calls of *cycle* are a shorter cycle several times over."""
    length = len(cycle)
    return any(
        all(cycle[place].same == cycle[place % part].same for place in range(part, length))
        for part in range(1, length // 2 + 1)
        if length % part == 0
    )


def _message(level: LoopLevel, calls: int, cycle: Sequence[_Entry]) -> str:
    tools = [repr(name) for name in dict.fromkeys(entry.name for entry in cycle)]
    told = ", ".join(tools[:_NAMED]) + (f" and {len(tools) - _NAMED} more" if len(tools) > _NAMED else "")
    if len(cycle) == 1:
        what = f"{told} was called {calls} times in a row with the same arguments, and nothing changed"
    else:
        rounds = "two calls take turns" if len(cycle) == 2 else f"{len(cycle)} calls are repeated in the same order"
        what = f"{rounds} ({told}), {calls} calls by now, and nothing changed"
    advice = "change the arguments or do something else"
    return f"loop: {what}; {'this one was not run: ' if level == 'block' else ''}{advice}"
