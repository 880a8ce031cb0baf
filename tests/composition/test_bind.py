"""Arguments that are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

import pytest
from msgspec import Meta
from pydantic import BaseModel, Field

from armory_trio import DefinitionError, InvalidArguments, define_tool, tool
from armory_trio.composition import bind, pipe
from armory_trio.definitions.contracts import admitted
from tests.composition.tools import add, run, stringify
from tests.requirements import requirement


@requirement("composition.bind")
async def test_bound_arguments_are_not_in_the_schema_and_reach_the_tool() -> None:
    made = bind(add, {"a": 1}, name="add_one")

    assert list(made.input_schema["properties"]) == ["b"]  # type: ignore[call-overload]  # it is an object
    assert made.input_schema["required"] == ("b",)
    assert (await run(made, {"b": 2})).value == 3
    assert await made(2) == 3
    assert (await run(bind(add, {"a": 1, "b": 2}), {})).value == 3


@requirement("composition.bind.closed")
async def test_a_caller_who_gives_a_bound_argument_is_refused_like_for_any_unknown_one() -> None:
    made = bind(stringify, {"prefix": "Sum"})

    for sent in ({"n": 1, "prefix": "Mine"}, {"n": 1, "prefixx": "Mine"}):
        result = await run(made, sent)
        [_, wrong] = sent
        assert result.error is not None
        assert result.error.details is not None
        assert result.error.details["issues"] == [
            {"path": wrong, "code": "unknown", "message": f"`{wrong}` is not a known argument; known here: n"}
        ]


@requirement("composition.bind.closed")
async def test_all_that_is_wrong_with_the_other_arguments_is_told_at_once() -> None:
    result = await run(bind(add, {"a": 1}), {"a": 5, "b": "two"})

    assert result.error is not None and result.error.details is not None
    issues = result.error.details["issues"]
    assert [(issue["path"], issue["code"]) for issue in cast("list[dict[str, str]]", issues)] == [
        ("a", "unknown"),
        ("b", "type"),
    ]


class Window(BaseModel):
    width: int = Field(alias="w", ge=1)
    height: int = 5


async def draw(window: Window) -> str:
    return f"{window.width}x{window.height}"


async def whole(arguments: Mapping[str, object]) -> str:
    return str(sorted(arguments.items()))


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}, "m": {"type": "integer"}},
    "required": ["n", "m"],
    "examples": [{"n": 1, "m": 2}],
}


def is_three(sent: Mapping[str, object]) -> bool:
    return sent["n"] == 3


@requirement("composition.bind", "composition.kinds")
async def test_every_contract_can_be_bound() -> None:
    model = define_tool(name="draw", input=Window, execute=draw)
    raw = define_tool(name="raw", input=SCHEMA, execute=whole)
    pair = define_tool(name="pair", input={"schema": SCHEMA, "validate": is_three}, execute=whole)

    assert (await run(bind(model, {"w": 3}), {"height": 2})).value == "3x2"
    assert (await run(bind(raw, {"n": 3}), {"m": 4})).value == "[('m', 4), ('n', 3)]"
    assert "examples" not in bind(raw, {"n": 3}).input_schema
    assert (await run(bind(pair, {"n": 3}), {"m": 4})).value == "[('m', 4), ('n', 3)]"
    assert (await run(bind(pair, {"n": 4}), {"m": 4})).error is not None


@requirement("composition.bind", "composition.kinds")
async def test_contracts_that_have_to_be_awaited_can_be_bound() -> None:
    async def allowed(sent: Mapping[str, object]) -> bool:
        return sent.get("n") == 3

    awaited = define_tool(name="awaited", input={"schema": SCHEMA, "validate": allowed}, execute=whole)
    contract = bind(awaited, {"n": 3}).contract
    sent = await admitted(contract, {"m": 4})

    assert contract.dump(contract.validate(sent)) == {"m": 4}
    with pytest.raises(InvalidArguments, match="`n` is not a known argument; known here: m"):
        contract.validate(await admitted(contract, {"m": 4, "n": 3}))
    with pytest.raises(InvalidArguments, match="refused"):
        await bind(awaited, {"n": 4}).contract.validate_async({"m": 1})


@requirement("composition.kinds")
async def test_what_a_parser_takes_reaches_a_step_as_it_came() -> None:
    def in_cents(sent: Mapping[str, object]) -> object:
        return {"cents": int(str(sent["euros"])) * 100}

    async def pay(order: Mapping[str, object]) -> object:
        return order["cents"]

    schema = {
        "type": "object",
        "properties": {"euros": {"type": "string"}, "note": {"type": "string"}},
        "required": ["euros"],
    }
    parsing = define_tool(name="pay", input={"schema": schema, "parse": in_cents}, execute=pay)

    assert (await run(bind(parsing, {"note": "thanks"}), {"euros": "5"})).value == 500
    assert (await run(pipe(bind(parsing, {"note": "thanks"}), bind(add, {"a": 1})), {"euros": "5"})).value == 501


@requirement("composition.bind.checked")
@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ({"zeta": 1, "a": 1, "beta": 2}, "'add' has no argument beta, zeta; it has a, b"),
        ({"a": "one"}, "`a`"),
        ([("a", 1)], "must be a mapping of names to values"),
        ({1: 2}, "bound key 1: must be text"),
    ],
)
def test_what_cannot_be_bound_is_refused_where_it_is_bound(bound: Mapping[str, object], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        bind(add, bound)


@requirement("composition.bind.checked")
def test_values_are_checked_by_the_constraints_of_the_tool() -> None:
    @tool
    async def page(size: Annotated[int, Meta(ge=1, le=100)], query: str) -> str:
        return query

    with pytest.raises(DefinitionError, match=r"bind: bound: `size`: .*100"):
        bind(page, {"size": 500})
    assert bind(page, {"size": 50}).name == "bind-page"


@requirement("composition.bind.checked")
def test_a_validator_that_fails_without_the_other_arguments_is_asked_in_each_call() -> None:
    def needs_both(sent: Mapping[str, object]) -> bool:
        return sent["n"] == sent["m"]

    pair = define_tool(name="pair", input={"schema": SCHEMA, "validate": needs_both}, execute=whole)

    assert bind(pair, {"n": 1}).name == "bind-pair"


@requirement("composition.bind.checked")
def test_a_schema_out_of_which_nothing_can_be_taken_is_refused() -> None:
    either = {"anyOf": [{"required": ["n"]}, {"required": ["m"]}], **SCHEMA}

    with pytest.raises(DefinitionError, match="the schema of 'either' combines others"):
        bind(define_tool(name="either", input=either, execute=whole), {"n": 1})


@requirement("composition.bind")
async def test_an_open_schema_takes_other_arguments_too() -> None:
    made = bind(define_tool(name="free", input={**SCHEMA, "additionalProperties": True}, execute=whole), {"extra": 1})

    assert (await run(made, {"n": 1, "m": 2})).value == "[('extra', 1), ('m', 2), ('n', 1)]"
    refused = await run(made, {"n": 1, "m": 2, "extra": 3})
    assert refused.error is not None and "`extra` is not a known argument" in refused.error.message


@requirement("composition.bind")
def test_the_contract_tells_and_takes_only_what_callers_give() -> None:
    contract = bind(add, {"a": 1}).contract
    validated = contract.validate({"b": 2})

    assert contract.named(validated) == contract.dump(validated) == {"b": 2}
    with pytest.raises(InvalidArguments, match="object"):
        contract.validate(cast("Mapping[str, object]", ["b"]))


@requirement("composition.bind.closed")
async def test_bound_twice_both_are_kept_from_callers() -> None:
    result = await run(bind(bind(add, {"a": 1}), {"b": 2}), {"a": 1, "b": 2})

    assert result.error is not None
    assert result.error.message == (
        "`b` is not a known argument; known here: none; `a` is not a known argument; known here: none"
    )
