"""Opening a supervisor: whose tasks there are, and the order in which they end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final, TypeVar, Unpack

import trio

from .._on_demand import in_words
from ..definitions import RequestContext, Tool, ToolResult
from ..definitions._checks import required, shown, with_article
from ..definitions._minting import IDS
from ..errors import DefinitionError
from ..toolbox import Toolbox
from ._abort import on_due
from ._admission import judge
from ._authority import freeze_authority
from ._concurrency import Latch, open_private_nursery
from ._core import CoreOf
from ._execution import Core
from ._loading import load_for
from ._options import ERROR_DETAILS, Budget, Limits, Retention, Settings, check_seconds
from ._room import set_limits
from ._supervisor import Supervisor

if TYPE_CHECKING:  # loaded by who has one
    from ..authority import LoopDetection
    from ..journal import JournalStore
    from ..toolbox import LiveToolbox, Resolution
    from ._keywords import AuthorityOptions, ErrorDetail
else:
    (LoopDetection,) = in_words("armory_trio.authority", "LoopDetection")
    (JournalStore,) = in_words("armory_trio.journal", "JournalStore")
    LiveToolbox, Resolution = in_words("armory_trio.toolbox", "LiveToolbox", "Resolution")
    AuthorityOptions, ErrorDetail = in_words("armory_trio.engine._keywords", "AuthorityOptions", "ErrorDetail")

_DEFAULT_LIMITS: Final = Limits()
_DEFAULT_RETENTION: Final = Retention()

R = TypeVar("R")


def _check_kinds(toolbox: object, loops: object, resolution: object, *given: object) -> None:
    if not isinstance(toolbox, Toolbox):
        from ..toolbox import LiveToolbox  # noqa: PLC0415  # only who exchanges toolboxes pays for it

        _require_kind("toolbox", toolbox, LiveToolbox, "Toolbox or LiveToolbox")
    if loops is not None:
        from ..authority import LoopDetection  # noqa: PLC0415  # only who looks for loops pays for it

        _require_kind("loops", loops, LoopDetection, "LoopDetection or None")
    if resolution is not None:
        from ..toolbox import Resolution  # noqa: PLC0415  # only who lets names be guessed pays for it

        _require_kind("resolution", resolution, Resolution, "Resolution or None")
    for name, kind, value in zip(_KINDS, _KINDS.values(), given, strict=True):
        _require_kind(name, value, kind, kind.__name__ if isinstance(kind, type) else f"{kind[0].__name__} or None")


def _require_kind(name: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    if not isinstance(value, kind):
        raise DefinitionError("open_supervisor", name, f"is {shown(value)}; give {with_article(wanted)}")


def require_supervisor(subject: str, value: object) -> None:
    """Refuse *value* unless it is what `open_supervisor` gives.

    Raises:
        DefinitionError: It is something else, such as a toolbox, or the host of a program that does not run on trio.
    """
    if not isinstance(value, Supervisor):
        wanted = "what async with open_supervisor(...) gives; of an asyncio host that is host.supervisor, and host.call hands on that of threads"
        raise DefinitionError(subject, "supervisor", f"is {shown(value)}; give {wanted}")


_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "limits": Limits,
    "budget": (Budget, type(None)),
    "retention": Retention,
    "default_request_context": (RequestContext, type(None)),
}


@asynccontextmanager
async def open_supervisor(
    toolbox: Toolbox | LiveToolbox,
    *,
    limits: Limits = _DEFAULT_LIMITS,
    budget: Budget | None = None,
    retention: Retention = _DEFAULT_RETENTION,
    default_request_context: RequestContext | None = None,
    resolution: Resolution | None = None,
    loops: LoopDetection | None = None,
    error_detail: ErrorDetail = "message",
    cleanup_timeout: float = 30.0,
    drain_for: float = 30.0,
    journal: JournalStore | None = None,
    **authority: Unpack[AuthorityOptions],
) -> AsyncGenerator[Supervisor]:
    """Run tool calls for as long as the block lasts.

    Left normally, it drains: what was admitted runs to its end, at most *drain_for* seconds, then it is aborted. Left
    by an exception or cancelled from outside, everything is aborted at once; the exception leaves as it is, never in a
    group. Either way nothing of a call runs on afterwards but threads that cannot be stopped; an async tool that
    shields itself for ever holds the exit, and is named in the log. ``supervisor.report`` is set in any case.

    Args:
        toolbox: The catalogue that calls are resolved in. With a `LiveToolbox` that is what it holds when a call comes;
            what was admitted keeps the tool that it was resolved to.
        limits: How much may run at once.
        budget: What may be spent in all.
        retention: How long ended executions stay visible.
        default_request_context: On whose behalf calls are made that do not say so.
        resolution: Which misspelt names are understood; None for none.
        loops: When calls that repeat themselves are warned of, and when they are refused; None for never. The calls of
            each owner are judged on their own, and those that tools make are not.
        error_detail: What a model is shown of an exception that the tool did not declare: ``message`` (type and
            text) or ``declared`` (a generic line and the execution id).
        cleanup_timeout: Seconds that a body may take to end once it was cancelled, before it is given up.
        drain_for: Seconds that a drain may take.
        journal: Where every snapshot that a subscriber would see is written down, so that `replay` can show it when the
            process is gone.
        authority: Who may allow what; see `AuthorityOptions`.

    Raises:
        DefinitionError: An option is wrong.
        RuntimeError: Trio does not run here, but asyncio or nothing at all.
        InternalError: A task of the engine itself failed.
        KeyboardInterrupt: It was raised in a tool, or arrived there; everything was aborted.
    """
    _check_kinds(toolbox, loops, resolution, limits, budget, retention, default_request_context)
    check_seconds("open_supervisor", "cleanup_timeout", cleanup_timeout)
    check_seconds("open_supervisor", "drain_for", drain_for)
    if error_detail not in ERROR_DETAILS:
        raise DefinitionError("open_supervisor", "error_detail", f"is {error_detail!r}; give message or declared")
    settings = Settings(
        limits,
        budget,
        retention,
        error_detail,
        cleanup_timeout,
        drain_for,
        default_request_context,
        resolution,
        loops,
        freeze_authority(authority),
    )
    now = toolbox if isinstance(toolbox, Toolbox) else toolbox.toolbox
    _load_for_calls(now, exchanges=now is not toolbox, keeps_a_journal=journal is not None)
    core = _core_of(now, settings, journal)
    supervisor = Supervisor(core)
    with _followed(toolbox, core, supervisor.exchange):
        async with _tasks(supervisor, core):
            yield supervisor


def _followed(
    toolbox: Toolbox | LiveToolbox, core: Core, exchange: Callable[[Toolbox], None]
) -> AbstractContextManager[None]:
    if isinstance(toolbox, Toolbox):
        return nullcontext()
    from ._exchange import followed  # noqa: PLC0415  # only who exchanges toolboxes pays for it

    return followed(toolbox, core, exchange)


def _load_for_calls(toolbox: Toolbox, *, exchanges: bool, keeps_a_journal: bool) -> None:
    load_for("call")
    if toolbox.middleware:
        load_for("middleware")
    if exchanges:
        load_for("rules")  # what is queued is judged anew
    if keeps_a_journal:
        load_for("journal")


def _core_of(toolbox: Toolbox, settings: Settings, journal: JournalStore | None) -> Core:
    core: Core = CoreOf(toolbox, settings, prefix=f"exe-{IDS.of_supervisor()}")
    from ..content import encode_content  # noqa: PLC0415  # loaded by the first supervisor

    core.due, core.encode, core.hooks.judge = on_due, encode_content, judge
    set_limits(core)
    if journal is not None:
        from ._recording import Recorder, require_journal  # noqa: PLC0415  # only who has a journal pays for it

        require_journal(journal)
        core.journal = Recorder(core.log, journal, core.ledger.host)
    return core


@asynccontextmanager
async def _tasks(supervisor: Supervisor, core: Core) -> AsyncGenerator[None]:
    await core.ledger.look()
    async with open_private_nursery() as outer:
        ending = Latch()
        clock, leases, watch = trio.CancelScope(shield=True), trio.CancelScope(shield=True), trio.CancelScope()
        outer.start_soon(_keep_time, core, clock, name="armory_trio: timers")
        outer.start_soon(_keep_leases, core, leases, name="armory_trio: leases")
        with trio.CancelScope(shield=True):  # a shielded task that is started by a cancelled one would never be ours
            core.nursery = await outer.start(_own_bodies, ending, name="armory_trio: executions")
        outer.start_soon(_watch_for_cancellation, supervisor, watch, name="armory_trio: watch")
        if core.journal is not None:
            outer.start_soon(core.journal.run, name="armory_trio: journal")
        try:
            yield
            supervisor.close_admission("its block was left")
            await supervisor.shutdown("drain")
        finally:
            await supervisor.end(watch, ending)  # noqa: ASYNC102  # shields itself; bounded by what cannot be stopped
            for scope in (clock, leases):
                scope.cancel("the supervisor is closed")


async def _keep_time(core: Core, scope: trio.CancelScope) -> None:
    with scope:
        await core.timers.run()


async def _keep_leases(core: Core, scope: trio.CancelScope) -> None:
    with scope:
        await core.ledger.keep()


async def _own_bodies(ending: Latch, *, task_status: trio.TaskStatus[trio.Nursery]) -> None:
    # Shielded from whoever cancels the block of `open_supervisor`: bodies are only ever cancelled by their own scope,
    # after the reason was recorded.
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as bodies:
            task_status.started(bodies)
            await ending.wait()
            bodies.cancel_scope.cancel("the supervisor is closed")


async def _watch_for_cancellation(supervisor: Supervisor, scope: trio.CancelScope) -> None:
    # A cancellation from outside reaches this task in the same turn of the scheduler as it reaches anybody else.
    with scope:
        try:
            await trio.sleep_forever()
        finally:
            if not scope.cancel_called:
                supervisor.fall("the block of the supervisor was cancelled")


async def call_directly(tool: Tool[..., R], arguments: Mapping[str, object]) -> ToolResult[R]:
    """Run a tool as a function of the host: no policy, limits, ledger or middleware, but the same ends.

    Cancelled: the tool is.

    Raises:
        DefinitionError: *tool* is none.
    """
    required("call_directly", "tool", tool, Tool)
    bare = tool.bare
    async with open_supervisor(Toolbox([bare])) as supervisor:
        return await supervisor.run_directly(bare, arguments)
