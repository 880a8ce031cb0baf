"""How a tool is to be run, and the words in which a tool is declared."""

# Annotations are not postponed here: a TypedDict would compile each of them again when the package is imported.

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypedDict, cast, get_args

import attrs

from .._on_demand import in_words
from ..errors import DefinitionError
from ._checks import count, flag, instance, named, names, near, one_of, seconds, shown
from ._definition import Lifecycle
from ._effects import EffectSpec, Risk, Semantics
from ._policy import Policy, PolicyContext, after_execute_of, policy_context
from ._value import Value

if TYPE_CHECKING:  # loaded by who uses them
    from ._process import Process
    from ._reconciling import Reconcile
else:
    (Process,) = in_words("armory_trio.definitions._process", "Process")
    (Reconcile,) = in_words("armory_trio.definitions._reconciling", "Reconcile")

Kind = Literal["async", "def", "async-generator", "generator"]
Placement = Literal["task", "thread", "process"]
Names = Iterable[str] | Callable[[Mapping[str, object]], Iterable[str]]
"""Names, or a function that answers them for the validated arguments of one call."""

Availability = Callable[[Mapping[str, object]], bool | Awaitable[bool]]
Side = Literal["input", "output"]


class Digests(TypedDict, total=False):
    """Of what the results of a tool carry digests. A side that is not said is on."""

    input: bool
    output: bool


IdempotencyKey = Callable[[Mapping[str, object]], str | None]
"""Answers from the validated arguments of a call, as plain JSON values, which calls are the same."""

Reducer = Callable[[list[object]], object]
"""Makes the value of a generator tool out of its chunks."""

_SUBJECT: Final = "tool"
_SIDES: Final[tuple[Side, ...]] = ("input", "output")
_FROZEN: Final = tuple(map(frozenset, ((), ("input",), ("output",), _SIDES)))


class Running(TypedDict, total=False):
    """What may be declared about how a tool is run, whatever it is made of. See `ToolOptions`."""

    timeout: float | None
    idle_timeout: float | None
    grace: float
    cleanup_timeout: float | None
    concurrency: int | None
    groups: Iterable[str]
    reads: Names
    writes: Names
    placement: Placement | Process
    availability: Availability
    policy: Policy | None
    policy_context: PolicyContext | None
    idempotency_key: IdempotencyKey | None
    reconcile: Reconcile | None
    reconcile_timeout: float
    digests: bool | Digests
    buffer: int


class Declarations(Running, total=False):
    """What may be declared with a tool, beside the ``reducer`` of a generator.

    These are for `ToolDefinition`, those of `Running` for `ToolOptions`. ``metadata`` may be a function that answers it.
    ``lenient=True`` takes numbers, booleans and containers also as strings. ``output`` is what the tool promises to
    give: a type, a JSON Schema, or the word ``"annotation"`` for what its return annotation says.
    """

    name: str
    namespace: str
    version: str
    title: str
    description: str
    tags: Iterable[str]
    examples: Iterable[object]
    metadata: Mapping[str, object] | Callable[[], Mapping[str, object]]
    risk: Risk
    effect: EffectSpec
    effect_windows: bool
    lifecycle: Lifecycle
    semantics: Semantics
    requires_approval: bool
    lenient: bool
    output: object


LEGAL: Final = (*Declarations.__annotations__, "reducer")
"""The names of all declarations."""


def refuse_unknown(subject: str, declared: Iterable[str], legal: Iterable[str] = LEGAL) -> None:
    """Refuse a declaration that does not exist, naming the one that was probably meant.

    Raises:
        DefinitionError: One of *declared* is not *legal*.
    """
    words = tuple(legal)
    for field in declared:
        if field not in words:
            hint = near(str(field), words, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else f"; there are {', '.join(words)}"
            raise DefinitionError(subject, str(field), f"there is no such declaration{meant}")


def _reads(value: Names) -> tuple[str, ...] | Callable[[Mapping[str, object]], Iterable[str]]:
    return value if callable(value) else names(_SUBJECT, "reads", value)


def _writes(value: Names) -> tuple[str, ...] | Callable[[Mapping[str, object]], Iterable[str]]:
    return value if callable(value) else names(_SUBJECT, "writes", value)


def _digests(value: object) -> frozenset[Side]:
    if issubclass(type(value), frozenset) and value in _FROZEN:
        return cast("frozenset[Side]", value)
    if value is None or isinstance(value, bool):
        return frozenset(_SIDES) if value else frozenset()
    if not isinstance(value, Mapping):
        wanted = "True, False or a mapping such as {'input': True, 'output': False}"
        raise DefinitionError(_SUBJECT, "digests", f"must be {wanted}, not {shown(value)}")
    said = cast("Mapping[object, object]", value)
    for side, answer in said.items():
        one_of(_SUBJECT, "digests", side, _SIDES)
        flag(_SUBJECT, f"digests.{side}", answer)
    return frozenset(side for side in _SIDES if said.get(side, True))


def _groups(value: object) -> tuple[str, ...]:
    return names(_SUBJECT, "groups", value)


def _policy_context(value: PolicyContext | None) -> PolicyContext | None:
    return policy_context(_SUBJECT, value)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ToolOptions(Value):
    """How a tool is to be run. Times are seconds.

    Args:
        timeout: How long its own work may take, over all attempts; None for ever.
        idle_timeout: How long it may show no progress, log nothing and yield nothing; None for ever.
        grace: How long it may go on after it was asked to stop, before it is cancelled.
        cleanup_timeout: How long it may take to end once it was cancelled, before it is given up. None leaves that
            to the supervisor.
        concurrency: How many calls of it may run at a time; None for any number.
        groups: Limits that it shares with other tools, by their name in the supervisor's ``Limits``.
        reads: What it looks at, within its owner: calls that write one of these wait for it.
        writes: What it changes, within its owner: calls that read or write one of these wait for it.
        placement: ``task`` runs it in the execution's own task, ``thread`` in a worker thread, ``process`` in a worker
            process.
        process: What else was declared of its worker process; None when it runs in none.
        availability: Says from the toolbox's context whether it can be used here. One that raises says no.
        policy: Asked before each call of it, after the toolbox's; or told how each ended. See `PolicyHook`.
        policy_context: What its policy finds in the request, over the toolbox's: named values, copied shallowly, or a
            function that answers them. It must not wait.
        idempotency_key: Answers from the validated arguments what call counts as the same: two with one key do their
            effect once. None where a call has none. See `armory_trio.ledger.full_input_key` and its like.
        reconcile: Asked about an attempt with a key of which nobody knows how it ended, before that is told: it asks the
            far side, and answers what that knows, or None. Async or not; it runs in the call's own task.
        reconcile_timeout: How long that may wait for an answer, before it counts as not able to tell.
        digests: Of what its results carry digests: ``input`` (the arguments as they were sent), ``output`` (the value).
        reducer: Makes the value of a generator tool out of its chunks; without one the value is their list.
        buffer: How many chunks a generator tool may be ahead of its reader.

    Raises:
        DefinitionError: A value is not one of these.
    """

    timeout: float | None = None
    idle_timeout: float | None = None
    grace: float = 0.0
    cleanup_timeout: float | None = None
    concurrency: int | None = None
    groups: tuple[str, ...] = attrs.field(default=(), converter=_groups)
    reads: tuple[str, ...] | Callable[[Mapping[str, object]], Iterable[str]] = attrs.field(default=(), converter=_reads)
    writes: tuple[str, ...] | Callable[[Mapping[str, object]], Iterable[str]] = attrs.field(
        default=(), converter=_writes
    )
    placement: Placement = "task"
    process: Process | None = None
    availability: Availability | None = None
    policy: Policy | None = attrs.field(default=None, repr=False)
    policy_context: PolicyContext | None = attrs.field(default=None, converter=_policy_context, repr=False)
    idempotency_key: IdempotencyKey | None = attrs.field(default=None, repr=False)
    reconcile: Reconcile | None = attrs.field(default=None, repr=False)
    reconcile_timeout: float = 30.0
    digests: frozenset[Side] = attrs.field(default=frozenset[Side](), converter=_digests)
    reducer: Reducer | None = None
    buffer: int = 64

    def __attrs_post_init__(self) -> None:
        for field in ("timeout", "idle_timeout"):
            if getattr(self, field) is not None:
                seconds(_SUBJECT, field, getattr(self, field), zero=False, optional=True)
        seconds(_SUBJECT, "grace", self.grace, zero=True)
        if self.cleanup_timeout is not None:
            seconds(_SUBJECT, "cleanup_timeout", self.cleanup_timeout, zero=True)
        seconds(_SUBJECT, "reconcile_timeout", self.reconcile_timeout, zero=False)
        if self.concurrency is not None:
            count(_SUBJECT, "concurrency", self.concurrency)
        count(_SUBJECT, "buffer", self.buffer)
        one_of(_SUBJECT, "placement", self.placement, get_args(Placement))
        if self.process is not None:
            from ._process import Process  # noqa: PLC0415  # only who uses processes pays for it

            instance(_SUBJECT, "process", self.process, Process)
        for field in ("availability", "reducer", "idempotency_key", "reconcile"):
            value: object = getattr(self, field)
            if value is not None and not callable(value):
                raise DefinitionError(_SUBJECT, field, f"must be a function, not {shown(value)}")
        if self.policy is not None:
            with named(_SUBJECT):
                after_execute_of(self.policy, "policy")


OPTION_NAMES: Final = tuple(attribute.name for attribute in attrs.fields(ToolOptions) if attribute.name != "process")


def _place(given: dict[str, object], usual: Placement) -> None:
    """Take ``placement=Process(...)`` apart into the word and what was said with it."""
    placement = given.setdefault("placement", usual)
    if isinstance(placement, str) and placement != "process":
        return
    from ._process import Process  # noqa: PLC0415  # only who uses processes pays for it

    if isinstance(placement, Process):
        given.update(placement="process", process=placement)
    elif isinstance(placement, str):
        given["process"] = Process()


def options_for(subject: str, kind: Kind, declared: Mapping[str, object]) -> ToolOptions:
    """The options that *declared* names, with the placement that a function of this *kind* needs.

    Raises:
        DefinitionError: A value is not legal, or makes no sense for this kind of function.
    """
    blocking = kind in ("def", "generator")
    given = {field: declared[field] for field in OPTION_NAMES if field in declared}
    _place(given, "thread" if blocking else "task")
    with named(subject):
        options = ToolOptions(**given)  # type: ignore[arg-type]  # the class checks each of them
        if options.placement == "thread" and not blocking:
            raise DefinitionError(_SUBJECT, "placement", "an async function runs in a task; write def to use a thread")
        for field in ("reducer", "buffer"):
            if field in declared and "generator" not in kind:
                raise DefinitionError(_SUBJECT, field, "only a generator has chunks; this function has none")
    return options
