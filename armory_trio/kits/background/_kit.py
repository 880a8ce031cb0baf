"""The tools of the kit, and what a host does with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Annotated, Final, NoReturn
from weakref import WeakKeyDictionary

import trio
from msgspec import Meta

from ...definitions import BlockingContext, Content, EffectMapping, Tool, ToolCall, ToolContext, ToolFailure, tool
from ...definitions._checks import required, shown
from ...engine import AbortAnswer, Execution, Supervisor, current_supervisor
from ...engine._opening import require_supervisor
from ...errors import AdmissionClosed, DefinitionError
from ._calls import BackgroundAbort, BackgroundCall, content_from, status_of
from ._desk import AnyContext, Desk, Job, Scope, scope_of
from ._notices import Notices
from ._options import BackgroundOptions

_DEFAULTS: Final = BackgroundOptions()
_MOMENT: Final = 0.05
"""Seconds that a cancelled call gets to end before the answer is given: as long as a cancelled caller waits."""

_TO_ANSWER: Final = 0.1
"""Seconds before its own deadline at which a wait gives up, so that it still answers instead of being stopped."""

_LEEWAY: Final = 60.0
"""Seconds that a call of ``await_background`` may take beyond its wait."""

_NAMED_AT_MOST: Final = 10

_STARTS_AND_STOPS: Final[EffectMapping] = {
    "class": "reversible",
    "targets": [{"kind": "resource", "id": "background-calls"}],
}
"""What starting and cancelling change by themselves; what a background call changes is its own effect."""

_Id = Annotated[str, "The id that start_background gave."]
_Report = BackgroundCall | list[BackgroundCall | Content]
"""A call that is not over; or one that is, followed by the content of its result."""


class BackgroundKit:
    """Lets a model start calls, do something else, and come back for them.

    One kit may be used with any number of supervisors. Add ``kit.tools`` to their toolboxes.

    Args:
        allow: Says of a tool whether it may be started in the background; by default every tool may.
        tags: If any are given, only tools with one of these tags may.
        options: How many, how long kept, how much shown.

    The tools of the kit itself are never started in the background.

    Raises:
        DefinitionError: An option is wrong.
    """

    def __init__(
        self,
        *,
        allow: Callable[[Tool[..., object]], bool] | None = None,
        tags: Collection[str] = (),
        options: BackgroundOptions = _DEFAULTS,
    ) -> None:
        if isinstance(tags, str):
            raise DefinitionError("BackgroundKit", "tags", f"is the text {tags!r}; give a list of tags")
        given: object = allow
        if given is not None and (not callable(given) or inspect.iscoroutinefunction(given)):
            what = "a function that says of a tool whether it may (True or False, at once), or None for every tool"
            raise DefinitionError("BackgroundKit", "allow", f"is {given!r}; give {what}")
        required("BackgroundKit", "options", options, BackgroundOptions)
        self._allow = allow
        self._tags = frozenset(tags)
        self._options = options
        self._desks: WeakKeyDictionary[Supervisor, Desk] = WeakKeyDictionary()
        self._asking = tool(namespace=options.namespace, tags=("background",), effect="read-only")
        self._acting = self._asking(effect=_STARTS_AND_STOPS)
        self.tools: tuple[Tool[..., object], ...] = (
            self._start_tool(),
            self._check_tool(),
            self._await_tool(),
            self._cancel_tool(),
            self._list_tool(),
        )
        """``start_background``, ``check_background``, ``await_background``, ``cancel_background``, ``list_background``."""

    # -- for a host

    def __repr__(self) -> str:
        return f"<BackgroundKit in {self._options.namespace!r}>"

    def notices(self, supervisor: Supervisor, *, owner_id: str | None = None) -> Notices:
        """What has ended and what will end, for ``async for``; of one owner, or of everybody.

        Each end is told once, whoever reads. See `Notices`.

        Raises:
            DefinitionError: *supervisor* is none.
        """
        require_supervisor("BackgroundKit.notices", supervisor)
        return Notices(self._desk(supervisor), supervisor, owner_id)

    def executions(self, supervisor: Supervisor, *, owner_id: str | None = None) -> list[Execution]:
        """The handles of the background calls that run or are kept; of one owner, or of everybody.

        Raises:
            DefinitionError: *supervisor* is none.
        """
        require_supervisor("BackgroundKit.executions", supervisor)
        return [job.execution for job in self._desk(supervisor).every(owner_id)]

    def _desk(self, supervisor: Supervisor) -> Desk:
        desk = self._desks.get(supervisor)
        if desk is None:
            desk = self._desks[supervisor] = Desk(self._options)
            supervisor.when_closed(desk.close)
        return desk

    # -- the tools

    def _start_tool(self) -> Tool[..., object]:
        @self._acting(placement="task")
        def start_background(
            ctx: BlockingContext,
            name: Annotated[str, "The tool to call."],
            arguments: Annotated[dict[str, object] | None, "Its arguments, as for a direct call."] = None,
        ) -> BackgroundCall:
            """Call a tool in the background: return at once with an id, while the call runs on.

            Use it for work that takes long and whose result is not needed right away. Do not start it twice: come back
            with check_background or await_background and the id.
            """
            supervisor = current_supervisor()
            desk = self._desk(supervisor)
            self._require_allowed(supervisor, name)
            scope = scope_of(ctx)
            self._require_room(desk, scope)
            return self._begin(ctx, supervisor, desk, ToolCall(name, arguments or {}))

        return start_background

    def _check_tool(self) -> Tool[..., object]:
        @self._asking(placement="task")
        def check_background(
            ctx: BlockingContext,
            id: _Id,
            offset: Annotated[int, Meta(ge=0, description="Where to read on: the next_offset of a long result.")] = 0,
        ) -> _Report:
            """Tell how far a background call is, without waiting; and its result, once it is over."""
            return self._report(self._find(ctx, id), offset)

        return check_background

    def _await_tool(self) -> Tool[..., object]:
        longest = self._options.max_wait

        # A time limit of its own, so that a general one for tools does not cut the wait short.
        @self._asking(timeout=longest + _LEEWAY)
        async def await_background(
            ctx: ToolContext,
            id: _Id,
            seconds: Annotated[
                float | None, Meta(ge=0, description=f"Wait at most so long; by default, and at most, {longest:g}.")
            ] = None,
        ) -> _Report:
            """Wait until a background call is over, and give its result.

            When it is not over in time, or a deadline of yours comes first, it runs on, and the answer says how far it is.
            """
            job = self._find(ctx, id)
            note = None
            if job.ended_at is None:
                note = await _wait(ctx, job.execution, longest if seconds is None else min(seconds, longest))
            return self._report(job, 0, note)

        return await_background

    def _cancel_tool(self) -> Tool[..., object]:
        @self._acting
        async def cancel_background(
            ctx: ToolContext, id: _Id, reason: Annotated[str, "Why it is not needed any more."] = "not needed any more"
        ) -> BackgroundAbort:
            """Ask a background call to stop, and tell what that did.

            A call that has begun may already have changed something. One that cannot be interrupted may run to its end.
            """
            execution = self._find(ctx, id).execution
            answer = execution.abort(reason)
            with trio.move_on_after(_MOMENT):
                await execution.settled()
            return _aborted(execution, answer)

        return cancel_background

    def _list_tool(self) -> Tool[..., object]:
        @self._asking(placement="task")
        def list_background(ctx: BlockingContext) -> list[BackgroundCall]:
            """List your background calls: those that run, and those that have ended and whose result is still kept."""
            desk = self._desk(current_supervisor())
            return [_described(job) for job in desk.of(scope_of(ctx))]

        return list_background

    # -- starting

    def _require_allowed(self, supervisor: Supervisor, name: str) -> None:
        found = supervisor.toolbox.get(name)
        if found is None or self._is_allowed(found):
            return  # an unknown name is refused by the call itself, with names that come near
        allowed = [each.name for each in supervisor.toolbox if self._is_allowed(each)]
        shown = ", ".join(allowed[:_NAMED_AT_MOST]) or "none"
        more = f" and {len(allowed) - _NAMED_AT_MOST} more" if len(allowed) > _NAMED_AT_MOST else ""
        raise ToolFailure(
            f"{found.name!r} does not run in the background: call it directly. Tools that do: {shown}{more}",
            category="permission",
            code="NOT_IN_BACKGROUND",
            effect="none",
        )

    def _is_allowed(self, found: Tool[..., object]) -> bool:
        if any(found is own for own in self.tools) or (self._tags and self._tags.isdisjoint(found.definition.tags)):
            return False
        return self._allow is None or self._allow(found) is True

    def _require_room(self, desk: Desk, scope: Scope) -> None:
        most = self._options.per_owner
        if desk.running_of(scope) >= most:
            raise ToolFailure(
                f"{most} background calls are running already, which is the most there may be; "
                f"wait for one with await_background, or stop one with cancel_background",
                category="unavailable",
                code="OVERLOADED",
                retryable=True,
                effect="none",
            )

    def _begin(self, ctx: BlockingContext, supervisor: Supervisor, desk: Desk, call: ToolCall) -> BackgroundCall:
        try:
            execution = supervisor.start(
                call, owner_id=ctx.owner_id, metadata=ctx.metadata, timeout=self._options.timeout
            )
        except AdmissionClosed as exc:
            raise ToolFailure(
                f"nothing was started: {exc}", category="unavailable", code="ADMISSION_CLOSED", effect="none"
            ) from exc
        if execution.snapshot.attempts == 0 and execution.snapshot.outcome is not None:
            _refuse_likewise(execution)
        job = Job(execution, execution.snapshot.tool_name, ctx.owner_id, scope_of(ctx))
        desk.add(job)
        return _described(job)

    # -- reading

    def _find(self, ctx: AnyContext, identity: str) -> Job:
        desk = self._desk(current_supervisor())
        scope = scope_of(ctx)
        job = desk.find(scope, identity)
        if job is None:
            known = [each.id for each in desk.of(scope)]
            hint = f"yours are {', '.join(known[-_NAMED_AT_MOST:])}" if known else "you have none"
            raise ToolFailure(
                f"there is no background call {shown(identity)}, or its result is no longer kept; {hint}",
                category="not_found",
                code="NOT_FOUND",
                effect="none",
            )
        return job

    def _report(self, job: Job, offset: int, note: str | None = None) -> _Report:
        result = job.result
        if result is None:
            return _described(job, note=note)
        job.seen = True
        content, left = content_from(result, offset, self._options.max_text)
        read_on = offset + self._options.max_text if left else None
        return [_described(job, next_offset=read_on, omitted=left, note=note), *content]


async def _wait(ctx: ToolContext, execution: Execution, seconds: float) -> str | None:
    """Wait for *execution*, at most until there is just time to answer, and say why not when it would never end."""
    if ctx.deadline is not None:
        seconds = max(0.0, min(seconds, ctx.deadline - trio.current_time() - _TO_ANSWER))
    with execution.joined() as cycle:
        if cycle is not None:
            return f"not waited for, since it would never end: {cycle}. Finish this call and check later."
        async with ctx.waiting(f"background call {execution.id}"):
            with trio.move_on_after(seconds):
                await execution.settled()
    return None


def _refuse_likewise(execution: Execution) -> NoReturn:
    """The call was refused at once: so was starting it, for the same reason."""
    result = execution.privileged_snapshot().result
    error = None if result is None else result.error
    assert error is not None
    raise ToolFailure(
        f"nothing was started: {error.message}",
        category=error.category,
        code=error.code,
        retryable=error.retryable,
        effect="none",
        details=error.details,
    )


def _described(
    job: Job, *, next_offset: int | None = None, omitted: int = 0, note: str | None = None
) -> BackgroundCall:
    shot = job.execution.snapshot
    until = trio.current_time() if shot.settled_at is None else shot.settled_at
    over = job.ended_at is not None
    return BackgroundCall(
        id=shot.execution_id,
        tool=shot.tool_name,
        status=status_of(shot),
        seconds=round(until - shot.admitted_at, 3),
        percent=None if over or shot.progress is None else shot.progress.percent,
        progress=None if over or shot.progress is None else shot.progress.message,
        waits_for=None if over else shot.declared_wait or shot.waits_for,
        code=shot.error_code,
        effect=shot.effect if over else "none",
        next_offset=next_offset,
        omitted=omitted,
        note=note,
    )


def _aborted(execution: Execution, answer: AbortAnswer) -> BackgroundAbort:
    shot = execution.snapshot
    honoured = None if shot.abort is None else shot.abort.honoured
    if answer == "not-started":
        honoured, note = True, "It had not begun, and it never will."
    elif answer == "already-ended":
        note = "It was over already; nothing was stopped."
    elif shot.settled_at is None:
        note = "It was asked to stop and has not ended yet; check again."
    elif honoured:
        note = "It has stopped."
    else:
        note = "It had finished its work all the same."
    return BackgroundAbort(
        id=shot.execution_id,
        answer=answer,
        status=status_of(shot),
        honoured=honoured,
        effect=shot.effect,
        note=note,
    )
