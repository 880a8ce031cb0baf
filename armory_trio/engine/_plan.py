"""A tool, compiled once for the engine: what the way of a call looks up for each call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec.structs import force_setattr

from ..definitions import Placement, Tool, ToolCall, ToolDefinition, ToolOptions
from ..definitions._policy import AfterExecute, after_execute_of
from ..toolbox import Toolbox

if TYPE_CHECKING:
    from ..authority.policy import Rules
    from ..definitions import Middleware
    from ._loading import Need

Names = tuple[str, ...] | Callable[[Mapping[str, object]], Iterable[str]]

_PER_TOOL: Final = "tool:"
GROUP: Final = "group:"
THREADS: Final = "threads"
PROCESSES: Final = "processes"


class Plan(msgspec.Struct, frozen=True, eq=False):
    """What the engine needs to know of one tool.

    Args:
        needs: The names of the limits that each call needs a slot of.
        size: The size of the tool's own limit, if it has one.
        targets: What an exclusive tool writes, the same for every owner.
        read_only: Whether its effect is always ``none``.
        interruptible: False when the tool must never be cancelled.
        recorded: Whether the ledger has to know of calls that have no key.
        middleware: What stands around the body, outermost first.
        check_output: Refuses a value that is not what the tool promised.
        awaits: Whether the arguments have to be validated by something that waits.
        digests: Of what its results carry a digest: ``input``, ``output``, both or neither.
        on_deprecated: Whom to tell of each call, because the tool is deprecated and somebody asked for it.
        toolbox: Where the tool was found; what the tool sees of it, even when another takes its place meanwhile.
        rules: What calls of it are judged by; None when nobody has anything to say about any of them.
        auditors: Who is told how its calls ended.
        reduces: Whether its reducer makes the value of its chunks, and not what stands around it.

    What follows from these:
        touches: Whether it can read or write anything that has a name, or has targets.
        timed: Whether a call has a time limit of its own, even if its caller names none.
        keyed: Whether a call of it may have a key that its caller does not give, or must have one.
        bare: Whether nothing stands around the body: no middleware, nothing to load.
        begin: Begins the body of a bare async function; None for every other.
        asks_nobody: Whether a call that brings no key runs without the ledger, rules or a person being asked.
        needs_room: Whether each call needs a slot, or touches something.
    """

    tool: Tool[..., object]
    toolbox: Toolbox
    name: str
    id: str
    kind: Literal["async", "def", "async-generator", "generator"]
    placement: Placement
    invoke: Callable[[object, object], object]
    validate: Callable[[Mapping[str, object]], object]
    wants_context: bool
    timeout: float | None
    grace: float
    needs: tuple[str, ...]
    size: int | None
    reads: Names
    writes: Names
    targets: frozenset[str]
    availability: Callable[[Mapping[str, object]], bool | Awaitable[bool]] | None
    read_only: bool
    effect_windows: bool
    interruptible: bool
    key_required: bool
    recorded: bool
    middleware: tuple[Middleware, ...]
    check_output: Callable[[object], object] | None
    awaits: bool
    digests: frozenset[str]
    on_deprecated: Callable[[Tool[..., object], ToolCall], object] | None
    own_limit: str
    rules: Rules | None
    auditors: tuple[AfterExecute, ...]
    reduces: bool = True
    touches: bool = False
    timed: bool = False
    keyed: bool = False
    bare: bool = False
    begin: Callable[[object, object], Awaitable[object]] | None = None
    asks_nobody: bool = False
    needs_room: bool = False

    def __post_init__(self) -> None:
        options, load = self.tool.options, self.tool.load
        touches = bool(self.reads or self.writes or self.targets)
        keyed = self.key_required or options.idempotency_key is not None
        bare = load is None and not self.middleware
        force_setattr(self, "touches", touches)
        force_setattr(self, "timed", self.timeout is not None or options.idle_timeout is not None)
        force_setattr(self, "keyed", keyed)
        force_setattr(self, "bare", bare)
        force_setattr(self, "begin", self.invoke if bare and self.kind == "async" else None)
        force_setattr(self, "asks_nobody", self.rules is None and not (keyed or self.recorded))
        force_setattr(self, "needs_room", touches or bool(self.needs))


_ALONE: Final = frozenset(("itself",))
"""What an exclusive tool without targets excludes: other calls of the same tool."""


def _exclusive_targets(definition: ToolDefinition) -> frozenset[str]:
    if definition.semantics.concurrency != "exclusive":
        return frozenset()
    targets = definition.effect.targets if definition.effect is not None else ()
    return frozenset(f"target {target.kind}:{target.id}" for target in targets) or _ALONE


def _needs(options: ToolOptions, groups: Container[str], *, own: str | None) -> tuple[str, ...]:
    needs = [GROUP + group for group in options.groups if group in groups]
    if own is not None:
        needs.append(own)
    if options.placement == "thread":
        needs.append(THREADS)
    elif options.placement == "process":
        needs.append(PROCESSES)
    return tuple(needs)


def compile_plan(
    tool: Tool[..., object], toolbox: Toolbox, *, groups: Container[str], records: bool, label: str = ""
) -> Plan:
    """Read *tool*, which was found in *toolbox*, once. Of the groups that it is in, only *groups* have a bound.

    The ledger *records* calls without a key, or does not. A *label* tells its own limit from that of another tool that
    had its id before.
    """
    definition, options = tool.definition, tool.options
    timeout = toolbox.default_timeout if options.timeout is None else options.timeout
    targets, own = _exclusive_targets(definition), _PER_TOOL + tool.id.text + label
    size, semantics = 1 if targets == _ALONE else options.concurrency, definition.semantics
    read_only = definition.classification.effect_class == "read-only"
    return Plan(
        tool=tool,
        toolbox=toolbox,
        name=tool.name,
        id=tool.id.text,
        kind=tool.kind,
        placement=options.placement,
        invoke=tool.invoke,
        validate=tool.contract.validate,
        wants_context=tool.wants_context,
        timeout=timeout,
        grace=options.grace,
        needs=_needs(options, groups, own=None if size is None else own),
        size=size,
        reads=options.reads,
        writes=options.writes,
        targets=targets - _ALONE,
        availability=options.availability,
        read_only=read_only,
        effect_windows=definition.effect_windows,
        interruptible=semantics.cancellation != "unsupported",
        key_required=semantics.idempotency == "required",
        recorded=records and not read_only,
        middleware=tool.middleware or (),
        check_output=tool.check_output,
        awaits=tool.contract.awaits,
        digests=options.digests,
        on_deprecated=toolbox.on_deprecated if definition.deprecated else None,
        own_limit=own,
        rules=rules_of(tool, toolbox),
        auditors=auditors_of(tool, toolbox),
    )


def needs_of(plan: Plan) -> Iterator[Need]:
    """What has to be loaded for calls of *plan*, besides what is for all calls."""
    if plan.placement == "process":
        yield "process"
    if plan.middleware:
        yield "middleware"
    if plan.keyed or plan.recorded:
        yield "key"
    if plan.rules is not None or plan.auditors:
        yield "rules"


def rules_of(tool: Tool[..., object], toolbox: Toolbox) -> Rules | None:
    """What calls of *tool* are judged by in *toolbox*; None when nobody has anything to say about any of them."""
    own = tool.options.policy
    open_to_all = toolbox.gates is None and toolbox.approval_policy is None and toolbox.policy is None and own is None
    if open_to_all and not tool.definition.requires_approval:
        return None
    from ..authority.policy import Rules, standing  # noqa: PLC0415  # only who has rules pays for them

    rules = Rules(
        gates=toolbox.gates,
        approval_policy=toolbox.approval_policy,
        policy=toolbox.policy,
        tool_policy=own,
        composed=tool.composed,
    )
    told = bool(auditors_of(tool, toolbox))
    return None if not rules.hooked and not told and standing(rules, tool.definition) == () else rules


def auditors_of(tool: Tool[..., object], toolbox: Toolbox) -> tuple[AfterExecute, ...]:
    """Who is told how calls of *tool* ended in *toolbox*: its policy, then the tool's own."""
    found = [after_execute_of(policy, "policy") for policy in (toolbox.policy, tool.options.policy)]
    return tuple(told for told in found if told is not None)


def resources(names: Names, arguments: Mapping[str, object], owner: str | None) -> frozenset[str]:
    """The resources that *names* stands for, scoped by owner.

    Raises:
        TypeError: A function of the user's answered something else than names.
    """
    found = names(arguments) if callable(names) else names
    if isinstance(found, str):
        raise TypeError(f"reads and writes answer a list of names, not the text {found!r}")
    return frozenset(f"{owner or ''}/{_name(name)}" for name in found)


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"reads and writes answer names, not {given!r}")
    return given
