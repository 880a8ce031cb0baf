"""What is said of a composed tool: all that was said of its parts, read strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    DefinitionError,
    EffectClass,
    EffectDeclaration,
    EffectTarget,
    Lifecycle,
    Risk,
    Semantics,
    Toolbox,
    define_tool,
    tool,
)
from armory_trio.composition import bind, parallel, pipe, postprocess, preprocess, retry, tap, when
from tests.composition.tools import AnyTool, add, double, increment, parse, run, write
from tests.requirements import requirement

CLASSES: Final[tuple[EffectClass, ...]] = get_args(EffectClass)
LEGAL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

ROUND_ONE: Final[Mapping[str, Callable[[AnyTool], AnyTool]]] = {
    "bind": lambda part: bind(part, {"n": 1}),
    "tap": lambda part: tap(part, print),
    "retry": retry,
    "preprocess": lambda part: preprocess(part, dict),
    "postprocess": lambda part: postprocess(part, str),
    "when": lambda part: when(bool, part),
}
ROUND_TWO: Final[Mapping[str, Callable[[AnyTool, AnyTool], AnyTool]]] = {
    "pipe": lambda first, second: pipe(first, second),  # noqa: PLW0108  # exactly two of them
    "when": lambda first, second: when(bool, first, second),
    "parallel": parallel,
    "tap": tap,
}


async def number(n: int) -> int:
    return n


def targets() -> st.SearchStrategy[list[EffectTarget]]:
    return st.lists(st.builds(EffectTarget, st.just("service"), st.sampled_from(("a", "b"))), min_size=1, max_size=2)


def effects() -> st.SearchStrategy[EffectDeclaration | None]:
    return st.none() | st.builds(EffectDeclaration, st.sampled_from(CLASSES), targets())


FLAGS: Final = st.sampled_from((None, True, False))
RISKS: Final = st.none() | st.builds(
    Risk,
    read_only=FLAGS,
    mutates=FLAGS,
    dangerous=FLAGS,
    untrusted_output=FLAGS,
    permissions=st.sets(st.sampled_from(("net", "disk"))),
    notes=st.sets(st.sampled_from(("slow", "costs"))),
)
TAGS: Final = st.sets(st.sampled_from(("readonly", "read-only", "mutating", "dangerous", "billing")))
METADATA: Final = st.dictionaries(
    st.sampled_from(("read_only", "mutates", "dangerous", "untrustedOutput")), st.booleans()
)


@st.composite
def parts(draw: st.DrawFn, name: str) -> AnyTool:
    bare = define_tool(name=name, execute=number)
    definition = attrs.evolve(
        bare.definition,
        tags=tuple(sorted(draw(TAGS))),
        metadata=draw(METADATA),
        effect=draw(effects()),
        risk=draw(RISKS),
    )
    return attrs.evolve(bare, definition=definition)


def strictness(part: AnyTool) -> int:
    return CLASSES.index(part.definition.classification.effect_class)


@requirement("composition.strictest")
@given(parts("first"), parts("second"), st.sampled_from(sorted(ROUND_TWO)))
def test_the_whole_is_as_dangerous_as_its_most_dangerous_part(first: AnyTool, second: AnyTool, word: str) -> None:
    made = ROUND_TWO[word](first, second).definition
    both = (first.definition, second.definition)

    assert CLASSES.index(made.classification.effect_class) == max(map(strictness, (first, second)))
    assert made.classification.read_only == all(part.classification.read_only for part in both)
    assert made.classification.classified == any(part.classification.classified for part in both) or (
        made.classification.effect_class == "external-write"
    )
    for field in ("mutates", "dangerous", "untrusted_output"):
        said = [getattr(part.risk, field) for part in both if part.risk is not None]
        disputed = field == "mutates" and any(part.classification.contradiction for part in both)
        assert disputed or (made.risk is not None and getattr(made.risk, field) is True) == (True in said)
    for field in ("permissions", "notes"):
        told = {word for part in both if part.risk is not None for word in getattr(part.risk, field)}
        assert set(getattr(made.risk, field) if made.risk is not None else ()) == told
    if made.effect is not None:
        assert set(made.effect.targets) == {
            target for part in both if part.effect is not None for target in part.effect.targets
        }


@requirement("composition.strictest")
@given(parts("part"), st.sampled_from(sorted(ROUND_ONE)))
def test_a_tool_around_one_other_counts_as_that_does(part: AnyTool, word: str) -> None:
    made = ROUND_ONE[word](part).definition
    classification = part.definition.classification

    assert made.classification.effect_class == classification.effect_class
    assert made.classification.tier == classification.tier
    assert made.tags == part.definition.tags
    assert dict(made.metadata) == dict(part.definition.metadata)


@requirement("composition.strictest")
def test_an_unclassified_part_keeps_a_harmless_one_from_making_the_whole_harmless() -> None:
    harmless = define_tool(name="look", execute=number, risk=Risk(read_only=True), tags=["readonly"])

    made = pipe(harmless, write)

    assert (made.definition.classification.effect_class, made.definition.classification.classified) == (
        "external-write",
        False,
    )
    assert "readonly" not in made.definition.tags


@requirement("composition.strictest")
def test_tags_and_metadata_of_all_parts_are_together() -> None:
    first = define_tool(name="first", execute=number, tags=["math"], metadata={"team": "a", "cost": 1})
    second = define_tool(name="second", execute=number, tags=["math", "slow"], metadata={"team": "b", "unit": "ms"})

    made = pipe(first, second, tags=["agent"], metadata={"unit": "s"}).definition

    assert made.tags == ("math", "slow", "agent")
    assert dict(made.metadata) == {"team": "a", "cost": 1, "unit": "s"}


@requirement("composition.whole")
def test_a_deprecated_part_makes_the_whole_deprecated_and_says_which() -> None:
    old = define_tool(name="old", execute=number, lifecycle=Lifecycle(deprecated="too slow", message="use new"))

    made = pipe(double, old, old).definition

    assert made.deprecated
    assert made.lifecycle.message == "'old', which it is made of, is deprecated: too slow: use new"
    assert not pipe(double, increment).definition.deprecated


@requirement("composition.whole")
def test_a_part_that_needs_a_key_makes_the_whole_need_one() -> None:
    keyed = define_tool(name="keyed", execute=number, semantics=Semantics(idempotency="required"))
    enforced = define_tool(name="enforced", execute=number, semantics=Semantics(idempotency="provider-enforced"))

    assert pipe(double, keyed).definition.semantics.idempotency == "required"
    assert pipe(double, enforced).definition.semantics.idempotency == "not-supported"
    assert retry(enforced).definition.semantics.idempotency == "provider-enforced"


@requirement("composition.approval")
async def test_the_step_that_needs_an_approval_asks_for_it_not_the_whole() -> None:
    entered: list[int] = []

    @tool(requires_approval=True)
    async def guarded(n: int) -> int:
        entered.append(n)
        return n

    made = pipe(double, guarded)
    result = await run(made, {"n": 1})

    assert not made.definition.requires_approval
    assert result.error is not None and result.error.code == "APPROVAL_UNAVAILABLE"
    assert result.error.message.startswith("step 1 (guarded)")
    assert entered == []


@requirement("composition.availability")
async def test_the_whole_is_available_where_all_its_parts_are() -> None:
    async def paid(context: Mapping[str, object]) -> bool:
        return context.get("plan") == "paid"

    def online(context: Mapping[str, object]) -> bool:
        return context.get("online") is True

    def careless(context: Mapping[str, object]) -> bool:
        return context["key"] is not None

    first = define_tool(name="first", execute=number, availability=online)
    second = define_tool(name="second", execute=number, availability=paid)
    third = define_tool(name="third", execute=number, availability=careless)
    toolbox = Toolbox([pipe(first, second), pipe(second, first, third), pipe(first, double)])
    never = define_tool(name="never", execute=number, availability=lambda context: False)
    assert list(await Toolbox([pipe(second, never)]).available({"plan": "paid"})) == []

    for context, names in (
        (
            {"online": True, "plan": "paid", "key": 1},
            ["pipe-first-second", "pipe-second-first-third", "pipe-first-double"],
        ),
        ({"online": True, "plan": "free", "key": 1}, ["pipe-first-double"]),
        ({"online": False, "plan": "paid", "key": 1}, []),
        ({"online": True, "plan": "paid"}, ["pipe-first-second", "pipe-first-double"]),
    ):
        assert [found.name for found in await toolbox.available(context)] == names


@requirement("composition.names")
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=5))
def test_default_names_are_legal_for_every_provider_and_tell_apart(names: list[str]) -> None:
    try:
        tools = [define_tool(name=name, execute=number) for name in names]
    except DefinitionError:  # half a character
        return
    made = pipe(double, *tools, double)

    assert LEGAL_NAME.fullmatch(made.name)


@requirement("composition.names")
def test_default_names_say_what_they_are_and_are_the_same_each_time() -> None:
    long = define_tool(name="a" * 60, execute=number)
    dotted, underscored = define_tool(name="fs.read", execute=number), define_tool(name="fs_read", execute=number)

    assert pipe(parse, double).name == "pipe-parse-double"
    assert [make(double).name for make in ROUND_ONE.values()] == [f"{word}-double" for word in ROUND_ONE]
    assert len(pipe(long, double).name) == 64
    assert pipe(long, double).name == pipe(long, double).name != pipe(long, increment).name
    assert pipe(dotted, double).name != pipe(underscored, double).name


@requirement("composition.names")
def test_whoever_composes_may_say_how_it_is_called() -> None:
    made = pipe(
        parse,
        double,
        name="twice",
        namespace="math",
        version="2",
        title="Twice a number",
        description="Reads a number and doubles it.",
    )

    assert str(made.id) == "math:twice@2"
    assert (made.definition.title, made.description) == ("Twice a number", "Reads a number and doubles it.")


@requirement("composition.names")
def test_what_nobody_says_comes_from_the_parts() -> None:
    there = define_tool(name="there", namespace="math", title="There", execute=number)

    assert bind(there, {}).definition.title == "There"
    assert bind(there, {}).id.namespace == retry(there).id.namespace == "math"
    assert pipe(there, double).id.namespace == "default"
    assert retry(double).description == double.description
    assert "double: Twice as much." in pipe(parse, double).description


@requirement("composition.defined")
def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"pipe: nmae: .*did you mean 'name'"):
        pipe(parse, double, nmae="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # that is the test
    with pytest.raises(DefinitionError, match=r"tap: on_eror: .*did you mean 'on_error'"):
        tap(double, print, on_eror="fail")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # that is the test
    with pytest.raises(DefinitionError, match="pipe: metadata: must be a mapping, not 3"):
        pipe(parse, double, metadata=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the test
    with pytest.raises(DefinitionError, match="pipe: name: is blank"):
        pipe(parse, double, name=" ")
    with pytest.raises(DefinitionError, match="retry: timeout: must be a number of seconds above 0"):
        retry(add, timeout=-1)


@requirement("composition.whole")
async def test_the_whole_promises_what_the_part_that_answers_promises() -> None:
    async def broken(n: int) -> int:
        return cast("int", f"not {n}")

    promising = define_tool(name="promising", execute=number, effect="read-only", output=int)
    breaking = define_tool(name="breaking", execute=broken, effect="read-only", output=int)
    promised = dict(promising.definition.output_schema or {})

    for made in (pipe(double, promising), retry(promising), when(bool, promising, breaking)):
        assert dict(made.definition.output_schema or {}) == promised != {}
        assert (await run(made, {"n": 1})).value == 1 + ("pipe" in made.name)
    for other in (pipe(promising, double), when(bool, promising), postprocess(promising, str)):
        assert other.definition.output_schema is None
    result = await run(pipe(double, breaking), {"n": 1})
    assert result.error is not None and result.error.code == "OUTPUT_INVALID"
    assert result.error.message.startswith("step 1 (breaking) failed")
