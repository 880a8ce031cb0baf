"""A tool, said in steps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Generic, TypeVar, cast, final, overload

from ..errors import DefinitionError
from ._checks import text
from ._definition import Lifecycle
from ._effects import EffectSpec, Risk, Semantics
from ._making import define_tool
from ._options import Availability, Digests, IdempotencyKey, Names, Placement
from ._policy import Policy, PolicyContext
from ._process import Process
from ._reconciling import Reconcile
from ._tool import Tool

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


@final
class ToolBuilder(Generic[R]):
    """Makes a tool in steps: ``ToolBuilder("add").description("...").input(Numbers).execute(add).build()``.

    Each step answers a new builder and leaves this one as it is, so a half-made one can be shared and finished in
    several ways. There is a step for every declaration of `Declarations`, with the same meaning and the same checks,
    which are made by `build`. Said twice, the later word counts.

    Args:
        name: What it is called.

    Raises:
        DefinitionError: The name is no text, or blank.
    """

    __slots__ = ("_parts",)

    def __init__(self, name: str, _parts: Mapping[str, object] | None = None) -> None:
        text("ToolBuilder", "name", name, blank=False)
        self._parts = {"name": name} if _parts is None else _parts

    def __repr__(self) -> str:
        return f"<ToolBuilder {self._parts['name']!r}: {', '.join(self._parts)}>"

    def _with(self, part: str, value: object) -> ToolBuilder[R]:
        return ToolBuilder[R](cast("str", self._parts["name"]), {**self._parts, part: value})

    def build(self) -> Tool[..., R]:
        """The tool.

        Raises:
            DefinitionError: ``execute`` was not said, or something that was said is wrong; the error names the tool
                and the step.
        """
        if "execute" not in self._parts:
            reason = "is missing: say .execute(function) before .build()"
            raise DefinitionError(f"tool {self._parts['name']!r}", "execute", reason)
        define = cast("Callable[..., Tool[..., R]]", define_tool)  # its overloads are for parts that are known
        return define(**self._parts)

    # -- the function

    @overload
    def execute(self, function: Callable[..., AsyncIterator[T]], /) -> ToolBuilder[list[T]]: ...
    @overload
    def execute(self, function: Callable[..., Iterator[T]], /) -> ToolBuilder[list[T]]: ...
    @overload
    def execute(self, function: Callable[..., Awaitable[T]], /) -> ToolBuilder[T]: ...
    @overload
    def execute(self, function: Callable[..., T], /) -> ToolBuilder[T]: ...
    def execute(self, function: Callable[..., object], /) -> object:
        """What it does; see the ``execute`` of `define_tool`."""
        return self._with("execute", function)

    def reducer(self, reducer: Callable[[list[T]], S], /) -> ToolBuilder[S]:
        """What makes the value of a generator out of its chunks. Say it after ``execute``."""
        return cast("ToolBuilder[S]", self._with("reducer", reducer))

    def input(self, input: object, /) -> ToolBuilder[R]:
        """What arguments it takes; see the ``input`` of `define_tool`."""
        return self._with("input", input)

    def output(self, output: object, /) -> ToolBuilder[R]:
        """What it promises to give: a type, a JSON Schema, or ``"annotation"``."""
        return self._with("output", output)

    # -- what it is

    def namespace(self, namespace: str, /) -> ToolBuilder[R]:
        """The namespace of its id."""
        return self._with("namespace", namespace)

    def version(self, version: str, /) -> ToolBuilder[R]:
        """The version of its id."""
        return self._with("version", version)

    def title(self, title: str, /) -> ToolBuilder[R]:
        """Its name for people."""
        return self._with("title", title)

    def description(self, description: str, /) -> ToolBuilder[R]:
        """What it does and when to use it, for the model."""
        return self._with("description", description)

    def tags(self, *tags: str) -> ToolBuilder[R]:
        """Words to find it by."""
        return self._with("tags", tags)

    def examples(self, *examples: object) -> ToolBuilder[R]:
        """Example arguments or sentences."""
        return self._with("examples", examples)

    def metadata(self, metadata: Mapping[str, object] | Callable[[], Mapping[str, object]], /) -> ToolBuilder[R]:
        """What the host wants to keep with it, or a function that answers it."""
        return self._with("metadata", metadata)

    def risk(self, risk: Risk, /) -> ToolBuilder[R]:
        """What to beware of."""
        return self._with("risk", risk)

    def effect(self, effect: EffectSpec, /) -> ToolBuilder[R]:
        """What it does to the world, and to what."""
        return self._with("effect", effect)

    def effect_windows(self, effect_windows: bool = True, /) -> ToolBuilder[R]:  # noqa: FBT001, FBT002  # a word to say
        """It marks the stretches in which it changes the world."""
        return self._with("effect_windows", effect_windows)

    def lifecycle(self, lifecycle: Lifecycle, /) -> ToolBuilder[R]:
        """Whether it should still be used."""
        return self._with("lifecycle", lifecycle)

    def semantics(self, semantics: Semantics, /) -> ToolBuilder[R]:
        """How it behaves under concurrency, cancellation and repetition."""
        return self._with("semantics", semantics)

    def requires_approval(self, requires_approval: bool = True, /) -> ToolBuilder[R]:  # noqa: FBT001, FBT002  # a word to say
        """A person has to agree to each call."""
        return self._with("requires_approval", requires_approval)

    def lenient(self, lenient: bool = True, /) -> ToolBuilder[R]:  # noqa: FBT001, FBT002  # a word to say
        """It takes numbers, booleans and containers also as strings."""
        return self._with("lenient", lenient)

    # -- how it is run

    def timeout(self, seconds: float | None, /) -> ToolBuilder[R]:
        """Seconds that its own work may take."""
        return self._with("timeout", seconds)

    def idle_timeout(self, seconds: float | None, /) -> ToolBuilder[R]:
        """Seconds that it may show no progress."""
        return self._with("idle_timeout", seconds)

    def grace(self, seconds: float, /) -> ToolBuilder[R]:
        """Seconds that it may go on after it was asked to stop."""
        return self._with("grace", seconds)

    def cleanup_timeout(self, seconds: float | None, /) -> ToolBuilder[R]:
        """Seconds that it may take to end once it was cancelled."""
        return self._with("cleanup_timeout", seconds)

    def concurrency(self, count: int | None, /) -> ToolBuilder[R]:
        """How many calls of it may run at a time."""
        return self._with("concurrency", count)

    def groups(self, *groups: str) -> ToolBuilder[R]:
        """Limits that it shares with other tools."""
        return self._with("groups", groups)

    def reads(self, names: Names, /) -> ToolBuilder[R]:
        """What it looks at, or a function of its arguments that says so."""
        return self._with("reads", names)

    def writes(self, names: Names, /) -> ToolBuilder[R]:
        """What it changes, or a function of its arguments that says so."""
        return self._with("writes", names)

    def placement(self, placement: Placement | Process, /) -> ToolBuilder[R]:
        """Where it runs."""
        return self._with("placement", placement)

    def availability(self, availability: Availability, /) -> ToolBuilder[R]:
        """What says whether it can be used here."""
        return self._with("availability", availability)

    def policy(self, policy: Policy | None, /) -> ToolBuilder[R]:
        """What is asked before each call of it, or told how each ended."""
        return self._with("policy", policy)

    def policy_context(self, context: PolicyContext | None, /) -> ToolBuilder[R]:
        """What its policy finds in the request, or a function that answers that."""
        return self._with("policy_context", context)

    def idempotency_key(self, function: IdempotencyKey | None, /) -> ToolBuilder[R]:
        """What answers from the validated arguments which calls are the same."""
        return self._with("idempotency_key", function)

    def reconcile(self, function: Reconcile | None, /) -> ToolBuilder[R]:
        """What asks the far side about an attempt of which nobody knows how it ended."""
        return self._with("reconcile", function)

    def reconcile_timeout(self, seconds: float, /) -> ToolBuilder[R]:
        """How long that may wait for an answer, before it counts as not able to tell."""
        return self._with("reconcile_timeout", seconds)

    def digests(self, digests: bool | Digests = True, /) -> ToolBuilder[R]:  # noqa: FBT001, FBT002  # a word to say
        """Of what its results carry digests."""
        return self._with("digests", digests)

    def buffer(self, count: int, /) -> ToolBuilder[R]:
        """How many chunks a generator may be ahead of its reader."""
        return self._with("buffer", count)
