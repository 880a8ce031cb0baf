"""Code of a host's that is told at once what happens, where a reader of events is told later: telemetry."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol

from ..definitions import RequestContext, ToolDefinition, ToolResult
from ._events import Happening, OfExecution
from ._lifecycle import Snapshot

_log: Final = logging.getLogger("armory_trio.engine")


class Observed(Protocol):
    """An execution, as a probe sees it: what a snapshot shows, and what only the host may see.

    Args:
        name: The tool that was called; what the model wrote as long as no tool was found for it.
        started_by: The execution that started it as a top-level one.
        admitted_at: When it came in, in seconds on trio's clock.
        started_at: When its body was entered.
        request_context: On whose behalf it runs.
        metadata: What the call came with besides.
        trace: What the call says that telemetry hangs it below.
        definition: What its tool is; None as long as none was found for it.
        placement: Where its body runs: ``task``, ``thread`` or ``process``.
        result: Its result, from the moment that the outcome is decided until the state is final.
    """

    @property
    def id(self) -> str: ...
    @property
    def call_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def owner(self) -> str | None: ...
    @property
    def started_by(self) -> str | None: ...
    @property
    def batch_id(self) -> str | None: ...
    @property
    def admitted_at(self) -> float: ...
    @property
    def started_at(self) -> float | None: ...
    @property
    def request_context(self) -> RequestContext | None: ...
    @property
    def metadata(self) -> object: ...
    @property
    def trace(self) -> object: ...
    @property
    def definition(self) -> ToolDefinition | None: ...
    @property
    def placement(self) -> str: ...
    @property
    def result(self) -> ToolResult[object] | None: ...
    def snapshot(self) -> Snapshot:
        """What it looks like now."""
        ...


class Probe(Protocol):
    """Is told what happens, in the turn of the scheduler and in the task in which it does.

    It must not wait. What it raises harms nobody; the first time it is logged, by its type alone.
    """

    def happened(self, event: Happening, execution: Observed | None) -> None:
        """*event* happened to *execution*; None when it is no execution's. It comes without payload."""
        ...

    def entered(self, execution: Observed) -> None:
        """The task of *execution* begins; called in it.

        Context variables that are set here are those of its hooks, its middleware, its body and its threads.
        """
        ...

    def closed(self) -> None:
        """The supervisor is closed, or the probe is detached: it is told nothing more. Called once."""
        ...


class Attached:
    """A probe in the place of a reader of events."""

    __slots__ = ("_closed", "_complained", "_live", "_probe", "include_payloads", "lost")

    def __init__(self, probe: Probe, live: Mapping[str, Observed]) -> None:
        self._probe = probe
        self._live = live
        self._closed = False
        self._complained = False
        self.include_payloads = False
        self.lost = 0

    def offer(self, event: Happening) -> None:
        """Tell the probe of *event*."""
        execution = self._live.get(event.execution_id) if isinstance(event, OfExecution) else None
        try:
            self._probe.happened(event, execution)
        except Exception as exc:  # code of the host's: no call has to suffer for it
            self._complain(exc)

    def enter(self, execution_id: str) -> None:
        """Tell the probe that the task of an execution begins, unless that was stopped before."""
        execution = self._live.get(execution_id)
        if execution is None:
            return
        try:
            self._probe.entered(execution)
        except Exception as exc:  # likewise
            self._complain(exc)

    def close(self) -> None:
        """Tell the probe, once, that nothing more happens."""
        if self._closed:
            return
        self._closed = True
        try:
            self._probe.closed()
        except Exception as exc:  # likewise
            self._complain(exc)

    def _complain(self, exc: Exception) -> None:
        if self._complained:
            return  # once says it; what is wrong with one event is wrong with thousands
        self._complained = True
        with suppress(Exception):  # a handler of the host's, perhaps the one that failed the probe
            _log.warning("the probe %s raised %s", type(self._probe).__qualname__, type(exc).__qualname__)
