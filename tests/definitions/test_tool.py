from __future__ import annotations

import functools
import inspect
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ParamSpec, TypedDict, TypeVar, cast

import attrs
import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    BlockingContext,
    DefinitionError,
    EffectDeclaration,
    EffectTarget,
    Lifecycle,
    Risk,
    Semantics,
    Tool,
    ToolContext,
    ToolExecutionError,
    ToolFailure,
    ToolId,
    ToolOptions,
    define_tool,
    is_tool,
    tool,
)
from armory_trio.definitions import InvalidArguments
from tests.requirements import requirement

P = ParamSpec("P")
R = TypeVar("R")


async def double(n: int) -> int:
    return 2 * n


class Doubler:
    """A doubler."""

    async def __call__(self, n: int) -> int:
        """Double it."""
        return 2 * n


def passing_on(function: Callable[P, Coroutine[object, object, R]]) -> Callable[P, Coroutine[object, object, R]]:
    """A decorator that is not async itself, like many that count or log."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Coroutine[object, object, R]:
        return function(*args, **kwargs)

    return wrapper


def waiting_for(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """A decorator that is async itself."""

    @functools.wraps(function)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return await function(*args, **kwargs)

    return wrapper


def answering_awaitable(n: int) -> Awaitable[int]:
    return double(n)


async def run(made: Tool[..., object], **arguments: object) -> object:
    """What the function answers in the end, called as the engine does."""
    value = made.invoke(made.contract.validate(arguments), None)
    if made.kind == "async":
        assert inspect.isawaitable(value)
    return await value if inspect.isawaitable(value) else value


# ── What sort of function it is ──────────────────────────────────────────────────────────────────────────────────────


LAMBDA: Callable[[int], Awaitable[int]] = lambda n: double(n)  # noqa: E731, PLW0108  # a lambda around it is the case
AWAITABLES: list[tuple[Callable[..., object], str]] = [
    (functools.partial(double), "async"),
    (functools.partial(functools.partial(double)), "async"),
    (Doubler(), "async"),
    (Doubler().__call__, "async"),
    (passing_on(double), "async"),
    (waiting_for(double), "async"),
    (functools.partial(passing_on(double)), "async"),
    # Only the call shows what these two answer.
    (LAMBDA, "def"),
    (answering_awaitable, "def"),
]


@requirement("definitions.tool.kinds")
@pytest.mark.parametrize(("function", "kind"), AWAITABLES)
async def test_every_form_of_awaitable_keeps_its_kind_and_gives_its_value(
    function: Callable[..., object], kind: str
) -> None:
    made = tool(function, name="double")
    assert made.kind == kind
    assert await run(made, n=21) == 42


@requirement("definitions.tool.kinds")
def test_generators_and_plain_functions_are_told_apart() -> None:
    def plain(n: int) -> int:
        return n

    def chunks(n: int) -> Iterator[int]:
        yield from range(n)

    async def chunks_later(n: int) -> AsyncIterator[int]:
        for i in range(n):
            yield i

    class Chunker:
        def __call__(self, n: int) -> Iterator[int]:
            yield n

    assert tool(plain).kind == "def"
    assert tool(functools.partial(plain)).kind == "def"
    assert tool(chunks).kind == tool(functools.partial(chunks)).kind == tool(Chunker()).kind == "generator"
    assert tool(chunks_later).kind == tool(functools.partial(chunks_later)).kind == "async-generator"
    assert list(cast("Iterator[int]", tool(chunks).invoke(tool(chunks).contract.validate({"n": 2}), None))) == [0, 1]


@requirement("definitions.tool.kinds")
async def test_a_decorator_that_answers_a_plain_value_is_taken_at_its_word() -> None:
    @functools.wraps(double)
    def now(n: int) -> int:
        return 3 * n

    made = tool(now)
    assert made.kind == "async"
    assert await run(made, n=2) == 6


@requirement("definitions.tool.placement")
def test_a_function_runs_where_its_kind_needs_it() -> None:
    def plain() -> int:
        return 1

    async def later() -> int:
        return 1

    def chunks() -> Iterator[int]:
        yield 1

    async def chunks_later() -> AsyncIterator[int]:
        yield 1

    assert [tool(f).options.placement for f in (plain, later, chunks, chunks_later)] == [
        "thread",
        "task",
        "thread",
        "task",
    ]
    assert tool(plain, placement="task").options.placement == "task"
    assert tool(chunks, placement="task").options.placement == "task"
    for function in (later, chunks_later):
        with pytest.raises(DefinitionError, match="placement: an async function runs in a task"):
            tool(function, placement="thread")


# ── What it says about itself ────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.tool.description")
def test_name_and_description_come_from_the_function() -> None:
    @tool
    async def add_numbers(a: int, b: int = 2) -> int:
        """Add two numbers together.

        Args:
            a: The first of them.
        """
        return a + b

    assert add_numbers.id == ToolId("add_numbers")
    assert add_numbers.name == "add_numbers"
    assert add_numbers.description == "Add two numbers together."
    assert add_numbers.input_schema == add_numbers.definition.input_schema
    assert add_numbers.definition.to_json()["input"] == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first of them."},
            "b": {"type": "integer", "default": 2},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


@requirement("definitions.tool.description")
def test_what_is_declared_comes_before_what_the_function_says() -> None:
    made = tool(double, name="Twice ½", namespace="math", version="1.0.0", description="Twice.", title="Two")
    assert made.id.text == "math:Twice%20%C2%BD@1.0.0"
    assert (made.name, made.description, made.definition.title) == ("Twice ½", "Twice.", "Two")


@requirement("definitions.tool.description")
@pytest.mark.parametrize(
    ("function", "name", "description"),
    [
        (functools.partial(double), "double", ""),
        (Doubler(), "Doubler", "Double it."),
        (functools.partial(Doubler()), "Doubler", "Double it."),
        (Doubler().__call__, "__call__", "Double it."),
        (functools.partial(passing_on(double)), "double", ""),
    ],
)
def test_name_and_description_are_seen_through_what_is_wrapped_around(
    function: Callable[..., object], name: str, description: str
) -> None:
    made = tool(function)
    assert (made.name, made.description) == (name, description)


@requirement("definitions.tool.description")
def test_classes_and_builtins_are_functions_like_others() -> None:
    class Greeting:
        """Greet."""

        def __init__(self, name: str) -> None:
            self.name = name

    greet = tool(Greeting)
    assert (greet.name, greet.description, greet.kind) == ("Greeting", "Greet.", "def")
    assert isinstance(greet.invoke(greet.contract.validate({"name": "Ann"}), None), Greeting)

    root = tool(math.sqrt)
    assert (root.name, root.origin, root.kind) == ("sqrt", "math:sqrt", "def")
    assert root.invoke(root.contract.validate({"x": 9}), None) == 3.0


@requirement("definitions.tool.description")
def test_a_partial_that_was_given_a_name_keeps_it() -> None:
    quick = functools.update_wrapper(functools.partial(double, n=2), Ledger.kind)
    assert tool(quick).name == "kind"


@requirement("definitions.tool.function")
def test_the_tool_says_where_it_was_written_and_looks_like_its_function() -> None:
    made = tool(double)
    assert made.function is double
    assert made.origin == f"{__name__}:double"
    assert tool(functools.partial(double)).origin == f"{__name__}:double"
    assert tool(Doubler()).origin == f"{__name__}:Doubler"
    assert repr(made) == "<Tool default:double (async)>"
    assert inspect.unwrap(made) is double
    assert list(inspect.signature(made).parameters) == ["n"]


@requirement("definitions.tool.constraints")
def test_what_an_annotation_says_is_shown_and_enforced_and_comes_before_the_docstring() -> None:
    @tool
    def forecast(days: Annotated[int, msgspec.Meta(ge=1, le=7, description="How far ahead.")]) -> str:
        """Forecast.

        Args:
            days: Something else.
        """
        return str(days)

    written = cast("dict[str, dict[str, object]]", forecast.definition.to_json()["input"])
    assert written["properties"]["days"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 7,
        "description": "How far ahead.",
    }
    with pytest.raises(InvalidArguments) as caught:
        forecast.contract.validate({"days": 9})
    assert "days" in str(caught.value)
    assert "7" in str(caught.value)


# ── The context ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.tool.context")
def test_a_context_under_postponed_annotations_is_hidden_and_filled_in() -> None:
    @dataclass
    class Local:
        n: int

    @tool
    async def look(ctx: ToolContext, local: Local | None = None) -> object:
        return ctx, local

    @tool
    def look_last(local: Local, context: BlockingContext) -> object:
        return context, local

    @tool
    def look_by_keyword(local: Local, *, context: ToolContext) -> object:
        return context, local

    marker = object()
    for made in (look, look_last, look_by_keyword):
        assert made.wants_context
        written = cast("dict[str, dict[str, object]]", made.definition.to_json()["input"])
        assert list(written["properties"]) == ["local"]
        for forged in ("ctx", "context"):
            with pytest.raises(InvalidArguments, match=forged):
                made.contract.validate({"local": {"n": 1}, forged: {}})
    for made in (look_last, look_by_keyword):
        assert made.invoke(made.contract.validate({"local": {"n": 1}}), marker) == (marker, Local(1))
    assert not tool(double).wants_context


@requirement("definitions.tool.context-kind")
def test_an_async_function_can_not_ask_for_the_blocking_context() -> None:
    async def wrong(n: int, ctx: BlockingContext) -> int:
        return n

    with pytest.raises(DefinitionError, match="'ctx': an async function awaits its context"):
        tool(wrong)


@requirement("definitions.tool.context")
def test_an_annotation_that_can_not_be_resolved_is_refused_by_name() -> None:
    async def wrong(n: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821  # the mistake under test
        return 1

    with pytest.raises(DefinitionError) as caught:
        tool(cast("Callable[..., object]", wrong))
    assert caught.value.subject == "tool 'wrong'"
    assert "'n'" in caught.value.field
    assert "Nowhere" in caught.value.reason


# ── Declarations ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.tool.declarations")
def test_a_tool_that_declares_nothing_is_bounded_by_nothing() -> None:
    made = tool(double)

    assert made.options == ToolOptions(placement="task")
    assert (made.options.timeout, made.options.idle_timeout, made.options.concurrency) == (None, None, None)
    assert (made.options.grace, made.options.groups, made.options.reads, made.options.writes) == (0, (), (), ())
    assert (made.options.availability, made.options.digests) == (None, frozenset[object]())
    assert (made.definition.tags, made.definition.examples, made.definition.metadata) == ((), (), {})
    assert (made.definition.risk, made.definition.effect, made.definition.requires_approval) == (None, None, False)


@requirement("definitions.tool.declarations")
def test_every_declaration_arrives() -> None:
    def ready(context: Mapping[str, object]) -> bool:
        return bool(context)

    def touched(arguments: Mapping[str, object]) -> list[str]:
        return [str(arguments["n"])]

    @tool(
        tags=["money"],
        examples=[{"n": 1}],
        metadata={"team": "billing"},
        risk=Risk(notes=("slow",)),
        effect={"class": "external-write", "targets": [{"kind": "service", "id": "stripe"}]},
        effect_windows=True,
        lifecycle=Lifecycle(deprecated=True),
        semantics=Semantics(idempotency="required"),
        requires_approval=True,
        timeout=5,
        idle_timeout=2.5,
        grace=1,
        cleanup_timeout=0,
        concurrency=3,
        groups=["db", "db", " net "],
        reads=["a"],
        writes=touched,
        availability=ready,
    )
    async def charge(n: int) -> int:
        return n

    definition = charge.definition
    assert definition.tags == ("money",)
    assert definition.to_json()["display"] == {
        "title": "charge",
        "description": "",
        "examples": [{"n": 1}],
    }
    assert definition.metadata == {"team": "billing"}
    assert definition.risk == Risk(notes=("slow",))
    assert definition.effect == EffectDeclaration("external-write", (EffectTarget("service", "stripe"),))
    assert definition.classification.effect_class == "external-write"
    assert definition.effect_windows
    assert definition.requires_approval
    assert definition.deprecated
    assert definition.semantics.idempotency == "required"
    assert charge.options == ToolOptions(
        timeout=5,
        idle_timeout=2.5,
        grace=1,
        cleanup_timeout=0,
        concurrency=3,
        groups=("db", "net"),
        reads=("a",),
        writes=touched,
        placement="task",
        availability=ready,
    )


WRONG: list[tuple[str, object, str]] = [
    ("name", 3, "must be text"),
    ("name", "  ", "is blank"),
    ("namespace", 3, "must be text"),
    ("version", 1.0, "must be text"),
    ("tags", "math", "must be a list"),
    ("metadata", {"dangerous": "very"}, "must be True or False"),
    ("effect", "destructive", "must state its targets"),
    ("effect", "read only", "did you mean 'read-only'"),
    ("lenient", "yes", "must be True or False"),
    ("timeout", -1, "above 0"),
    ("timeout", 0, "above 0"),
    ("timeout", float("nan"), "above 0"),
    ("timeout", float("inf"), "None for no limit"),
    ("timeout", 10**400, "above 0"),
    ("timeout", True, "above 0"),
    ("timeout", "5", "above 0"),
    ("idle_timeout", -0.5, "above 0"),
    ("grace", -1, "from 0 on"),
    ("grace", None, "from 0 on"),
    ("cleanup_timeout", -1, "from 0 on"),
    ("reconcile_timeout", 0, "above 0"),
    ("reconcile_timeout", None, "above 0"),
    ("concurrency", 0, "from 1 on"),
    ("concurrency", 1.5, "from 1 on"),
    ("concurrency", True, "from 1 on"),
    ("concurrency", "3", "from 1 on"),
    ("groups", "db", "must be a list of names"),
    ("groups", [1], "must be text"),
    ("groups", ["db", ""], "is blank"),
    ("groups", {"db": 4}, "must be a list of names"),
    ("reads", "a", "must be a list of names"),
    ("writes", [None], "must be text"),
    ("placement", "moon", "not one of task, thread, process"),
    ("placement", None, "not one of task, thread, process"),
    ("availability", True, "must be a function"),
    ("timeuot", 5, "did you mean 'timeout'"),
    ("xyzzy", 5, "there is no such declaration"),
]


@requirement("definitions.tool.wrong-declaration")
@pytest.mark.parametrize(("field", "value", "words"), WRONG, ids=[f"{field}={value}" for field, value, _ in WRONG])
def test_a_wrong_declaration_raises_at_definition_with_tool_and_field(field: str, value: object, words: str) -> None:
    declarations = {field: value}
    with pytest.raises(DefinitionError) as caught:
        tool(double, **declarations)  # type: ignore[call-overload]  # the mistake under test

    error = caught.value
    assert error.subject in {"tool 'double'", f"tool {value!r}", "tool"}
    assert error.subject != "tool" or field == "name"
    assert error.field.partition(".")[0].partition("[")[0] == field
    assert words in error.reason
    assert str(error) == f"{error.subject}: {error.field}: {error.reason}"


@requirement("definitions.tool.generator-options")
def test_a_reducer_and_a_buffer_are_for_generators() -> None:
    def total(chunks: list[int]) -> int:
        return sum(chunks)

    def chunks() -> Iterator[int]:
        yield 1

    summed = tool(reducer=total, buffer=1)
    made = summed(chunks)
    assert made.options.reducer is total
    assert made.options.buffer == 1
    assert summed(chunks, buffer=2).options.reducer is total
    assert define_tool(name="sum", execute=chunks, reducer=total).options.reducer is total
    assert tool(chunks).options.reducer is None
    assert tool(chunks).options.buffer == 64


@requirement("definitions.tool.generator-options")
def test_a_reducer_and_a_buffer_are_refused_elsewhere_and_checked() -> None:
    def chunks() -> Iterator[int]:
        yield 1

    with pytest.raises(DefinitionError, match="reducer: only a generator has chunks"):
        tool(reducer=len)(double)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DefinitionError, match="buffer: only a generator has chunks"):
        tool(double, buffer=5)
    for wrong in (0, -1, cast("int", 2.0), True):
        with pytest.raises(DefinitionError, match="buffer: must be a whole number"):
            tool(chunks, buffer=wrong)
    with pytest.raises(DefinitionError, match="reducer: must be a function"):
        define_tool(name="sum", execute=chunks, reducer="sum")  # type: ignore[call-overload]  # the mistake under test


@requirement("definitions.tool.presets")
def test_declarations_can_be_given_once_for_several_tools() -> None:
    reader = tool(tags=["files"], effect="read-only")
    slow_reader = reader(timeout=60)

    @reader
    def read(path: str) -> str:
        return path

    @slow_reader(tags=["archive"])
    def unpack(path: str) -> str:
        return path

    assert read.definition.tags == ("files",)
    assert read.options.timeout is None
    assert unpack.definition.tags == ("archive",)
    assert unpack.definition.classification.read_only
    assert unpack.options.timeout == 60


@requirement("definitions.tool.presets", "definitions.tool.wrong-declaration")
def test_a_declaration_that_does_not_exist_is_refused_before_there_is_a_function() -> None:
    with pytest.raises(DefinitionError, match="tool: tag: there is no such declaration; did you mean 'tags'"):
        tool(tag=["files"])  # type: ignore[call-overload]  # the mistake under test


@requirement("definitions.tool.wrong-declaration")
@pytest.mark.parametrize("what", [None, 3, "double", {"name": "x"}])
def test_what_is_no_function_is_refused(what: object) -> None:
    with pytest.raises(DefinitionError, match="tool: function: must be a function"):
        tool(what)  # type: ignore[call-overload]  # the mistake under test


@requirement("definitions.tool.wrong-declaration")
def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(DefinitionError, match="give it one with name="):
        tool(lambda: 1)
    assert tool(lambda: 1, name="one").name == "one"


@requirement("definitions.tool.wrong-declaration")
def test_a_tool_is_not_made_of_a_tool() -> None:
    with pytest.raises(DefinitionError, match="is a tool already"):
        tool(tool(double))


# ── Methods ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Ledger:
    def __init__(self) -> None:
        self.rows = [1, 2]

    async def total(self, factor: int) -> int:
        """Add up."""
        return factor * sum(self.rows)

    @classmethod
    def kind(cls, n: int) -> str:
        return f"{cls.__name__} {n}"

    @staticmethod
    def twice(n: int) -> int:
        return 2 * n


@requirement("definitions.tool.methods")
async def test_bound_class_and_static_methods_are_tools() -> None:
    total = tool(Ledger().total)
    assert (total.name, total.description, total.kind) == ("total", "Add up.", "async")
    assert await run(total, factor=2) == 6
    assert await run(tool(Ledger.kind), n=1) == "Ledger 1"
    assert await run(tool(Ledger.twice), n=1) == 2


@requirement("definitions.tool.methods")
def test_a_method_without_its_object_is_refused_with_the_way_to_do_it() -> None:
    with pytest.raises(DefinitionError) as caught:

        class Decorated:  # pyright: ignore[reportUnusedClass]  # it never comes to be
            @tool
            def method(self, n: int) -> int:
                return n

    assert caught.value.subject == "tool 'method'"
    assert "tool(instance.method)" in caught.value.reason
    with pytest.raises(DefinitionError, match=r"tool\(instance.total\)"):
        tool(Ledger.total)


@requirement("definitions.tool.methods")
def test_a_class_method_that_is_not_bound_yet_is_refused_with_the_way_to_do_it() -> None:
    with pytest.raises(DefinitionError, match=r"tool\(Decorated.make\)"):

        class Decorated:  # pyright: ignore[reportUnusedClass]  # it never comes to be
            @tool
            @classmethod
            def make(cls, n: int) -> int:
                return n


@requirement("definitions.tool.methods")
def test_self_and_cls_are_ordinary_names_where_they_are_ordinary_parameters() -> None:
    def compare(self: int, cls: int) -> int:
        return self - cls

    made = tool(compare)
    assert made.invoke(made.contract.validate({"self": 3, "cls": 1}), None) == 2


# ── define_tool ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Order(msgspec.Struct):
    item: str
    count: int = 1


@attrs.frozen
class Address:
    street: str


class Point(TypedDict):
    x: int


@requirement("definitions.tool.define")
async def test_define_tool_takes_a_class_a_schema_a_pair_or_the_executors_signature() -> None:
    def buy(order: Order) -> str:
        return f"{order.count} {order.item}"

    async def send(address: Address, ctx: ToolContext) -> tuple[str, object]:
        return address.street, ctx

    def place(point: Point) -> int:
        return point["x"]

    def raw(arguments: Mapping[str, object]) -> object:
        return arguments["q"]

    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    bought = define_tool(name="buy", input=Order, execute=buy)
    assert bought.kind == "def"
    assert await run(bought, item="tea") == "1 tea"

    sent = define_tool(name="send", input=Address, execute=send, timeout=3)
    assert sent.wants_context
    assert sent.options.timeout == 3
    value = sent.invoke(sent.contract.validate({"street": "Main"}), "the context")
    assert await cast("Awaitable[object]", value) == ("Main", "the context")

    assert await run(define_tool(name="place", input=Point, execute=place), x=4) == 4
    assert await run(define_tool(name="raw", input=schema, execute=raw), q="words") == "words"
    assert await run(define_tool(execute=double), n=2) == 4

    def check(arguments: Mapping[str, object]) -> Mapping[str, object]:
        return (
            {"valid": False, "issues": [{"path": "q", "code": "required"}]} if "q" not in arguments else {"valid": True}
        )

    pair = define_tool(name="pair", input={"schema": schema, "validate": check}, execute=raw, effect="read-only")
    assert await run(pair, q="words") == "words"
    with pytest.raises(InvalidArguments) as caught:
        pair.contract.validate({})
    assert [(issue.path, issue.code) for issue in caught.value.issues] == [("q", "required")]


@requirement("definitions.tool.define")
@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"input": int, "execute": double}, "input"),
        ({"input": {"type": "array"}, "execute": double}, "input"),
        ({"input": {"schema": {}, "validate": None}, "execute": double}, "input.validate"),
        ({"input": {"schema": {}, "validate": bool, "extra": 1}, "execute": double}, "extra"),
        ({"input": {"schema": {}, "validate": bool}, "execute": double, "lenient": True}, "lenient"),
        ({"input": Order, "execute": None}, "function"),
    ],
)
def test_wrong_parts_are_refused_with_their_field(parts: dict[str, object], field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        define_tool(name="made", **parts)  # type: ignore[call-overload]  # the mistake under test
    error = caught.value
    assert error.field.split()[0] == field
    assert error.subject == ("tool" if field == "function" else "tool 'made'")


@requirement("definitions.tool.define")
def test_leniency_is_a_declaration() -> None:
    with pytest.raises(InvalidArguments):
        tool(double).contract.validate({"n": "5"})
    lenient = tool(double, lenient=True)
    assert lenient.contract.named(lenient.contract.validate({"n": "5"})) == {"n": 5}


@requirement("definitions.tool.is-tool")
def test_is_tool_knows_a_tool() -> None:
    class LooksLikeOne:
        id = identity = name = description = definition = contract = "x"

        def __call__(self) -> None: ...

    assert is_tool(tool(double))
    others: list[object] = [double, LooksLikeOne(), "double", None, {}, Tool, tool]
    for other in others:
        assert not is_tool(other)


# ── Host code calls its tools ────────────────────────────────────────────────────────────────────────────────────────


@requirement("definitions.tool.call")
async def test_a_call_runs_the_function_and_returns_its_value() -> None:
    @tool
    async def later(a: int, b: int = 2) -> int:
        await trio.lowlevel.checkpoint()
        return a + b

    @tool
    def now(a: int) -> int:
        return a

    @tool
    async def chunks(n: int) -> AsyncIterator[int]:
        for i in range(n):
            yield i

    @tool
    def alone() -> str:
        return "done"

    assert await later(a=1) == 3
    assert await later(1, b=5) == 6
    assert await now(7) == 7
    assert await chunks(3) == [0, 1, 2]
    assert await alone() == "done"

    result = await later.call(1)
    assert (result.outcome, result.value, result.tool_name) == ("success", 3, "later")
    assert result.execution_id


@requirement("definitions.tool.call")
async def test_a_call_that_ends_otherwise_raises_with_the_result() -> None:
    @tool
    def fail(n: int) -> int:
        raise ToolFailure("no such row", category="not_found", effect="none")

    with pytest.raises(ToolExecutionError, match="no such row") as caught:
        await fail(1)
    assert caught.value.result.effect == "none"
    result = await fail.call(1)
    assert result.error is not None
    assert result.error.category == "not_found"


@requirement("definitions.tool.call")
async def test_a_call_with_wrong_arguments_never_runs() -> None:
    ran: list[int] = []

    @tool
    def note(number: int) -> None:
        ran.append(number)

    unchecked = cast("Tool[..., object]", note)
    with pytest.raises(ToolExecutionError, match="number"):
        await unchecked(number="five")
    result = await unchecked.call(numbr=5)
    assert (result.outcome, result.effect, result.attempts) == ("error", "none", 0)
    assert result.error is not None
    assert (result.error.category, result.error.code) == ("validation", "INVALID_ARGUMENTS")
    assert result.error.details is not None
    issues = cast("list[dict[str, str]]", result.error.details["issues"])
    assert {issue["path"] for issue in issues} == {"number", "numbr"}
    assert "did not run" in result.text
    assert ran == []


@requirement("definitions.tool.call-arguments")
async def test_a_call_takes_values_that_have_their_type_already() -> None:
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)

    @dataclass
    class Place:
        name: str

    @tool
    async def meet(when: datetime, where: Place, what: Order, who: set[str]) -> object:
        return when, where, what, who

    given = (noon, Place("here"), Order("tea"), {"Ann"})
    assert await meet(*given) == given
    assert await meet(when=noon, where=Place("here"), what=Order("tea"), who={"Ann"}) == given


@requirement("definitions.tool.call-arguments")
async def test_a_context_is_skipped_among_the_positional_arguments() -> None:
    @tool
    async def first(ctx: ToolContext, a: int, b: int) -> tuple[int, int, bool]:
        return a, b, ctx.execution_id != ""

    @tool
    def middle(a: int, ctx: BlockingContext, b: int) -> tuple[int, int, bool]:
        return a, b, ctx.execution_id != ""

    assert await first(1, 2) == (1, 2, True)
    middling = cast("Tool[..., object]", middle)  # checkers see the context of `middle`, as it does not come first
    assert await middling(1, 2) == (1, 2, True)


@requirement("definitions.tool.call-arguments")
async def test_too_many_arguments_and_repeated_ones_are_type_errors_as_for_a_function() -> None:
    made = cast("Tool[..., object]", tool(double))
    with pytest.raises(TypeError, match=r"double\(\) takes 1 positional arguments but 2 were given"):
        await made(1, 2)
    with pytest.raises(TypeError, match="more than one value for n"):
        await made.call(1, n=2)


@requirement("definitions.tool.call-arguments")
async def test_a_tool_of_a_class_takes_an_instance_or_its_fields() -> None:
    def buy(order: Order) -> str:
        return f"{order.count} {order.item}"

    def raw(arguments: dict[str, object]) -> object:
        return arguments["q"]

    made = define_tool(name="buy", input=Order, execute=buy)
    assert await made(Order("tea", 2)) == "2 tea"
    assert await made({"item": "tea"}) == "1 tea"
    assert await made(item="tea", count=3) == "3 tea"
    with pytest.raises(ToolExecutionError, match="count"):
        await made(Order("tea", cast("int", "many")))
    with pytest.raises(TypeError, match="one input, or its fields by name"):
        await made(Order("tea"), count=3)
    with pytest.raises(TypeError, match="one input, or its fields by name"):
        await made(Order("tea"), Order("tea"))

    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    assert await define_tool(name="raw", input=schema, execute=raw)({"q": "words"}) == "words"


@requirement("definitions.tool.call")
async def test_a_cancelled_call_cancels_its_tool() -> None:
    events: list[str] = []

    @tool
    async def wait() -> None:
        events.append("started")
        try:
            await trio.sleep_forever()
        finally:
            events.append("ended")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert events == ["started", "ended"]
