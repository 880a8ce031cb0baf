"""Tools and toolboxes that are wrapped so that they do things once."""

from __future__ import annotations

from typing import cast

import pytest

from armory_trio import DefinitionError, RequestContext, Tool, Toolbox, ToolCall, open_supervisor, tool
from armory_trio.composition import with_idempotency, with_toolbox_idempotency
from armory_trio.definitions import EffectMapping
from armory_trio.ledger import KeyRule, composite_key, field_key, namespaced_key
from armory_trio.middleware import Timeout
from tests.requirements import requirement

HER = RequestContext(principal="ann", tenant="acme")
BANK: EffectMapping = {"class": "external-write", "targets": [{"kind": "service", "id": "bank"}]}


def new_tools() -> tuple[list[object], list[Tool[..., object]]]:
    paid: list[object] = []

    @tool(effect=BANK)
    async def pay(order: int, cents: int = 1) -> int:
        paid.append((order, cents))
        return cents

    @tool(effect=BANK, idempotency_key=field_key("order"))
    async def refund(order: int, cents: int = 1) -> int:
        paid.append((order, -cents))
        return cents

    @tool(effect="read-only")
    async def total() -> int:
        return len(paid)

    return paid, [pay, refund, total]


async def outcomes(toolbox: Toolbox, *calls: ToolCall) -> list[str | None]:
    async with open_supervisor(toolbox, default_request_context=HER) as supervisor:
        results = [await supervisor.execute(call) for call in calls]
    return [None if result.idempotency is None else result.idempotency.outcome for result in results]


@requirement("composition.once")
async def test_a_wrapped_tool_does_once_what_its_key_stands_for() -> None:
    paid, (pay, _, _) = new_tools()
    once = with_idempotency(pay, field_key("order"))

    said = await outcomes(Toolbox([once]), ToolCall("pay", {"order": 1}), ToolCall("pay", {"order": 1}))

    assert (said, paid) == (["fresh", "deduped"], [(1, 1)])
    assert (once.definition, once.options.timeout) == (pay.definition, pay.options.timeout)
    assert pay.options.idempotency_key is None, "the tool itself is as it was"


@requirement("composition.once")
async def test_a_wrapped_tool_keeps_what_stands_around_it() -> None:
    paid, (pay, _, _) = new_tools()
    [bound] = Toolbox([pay], middleware=[Timeout(5)]).tools
    once = with_idempotency(bound)

    assert once.middleware is bound.middleware
    assert await outcomes(Toolbox([once]), *[ToolCall("pay", {"order": 1})] * 2) == ["fresh", "deduped"]
    assert paid == [(1, 1)]


@requirement("composition.once")
async def test_a_wrapped_toolbox_does_everything_once_that_may_change_something() -> None:
    paid, tools = new_tools()
    toolbox = Toolbox(tools, policy_revision="p7", default_timeout=3)
    once = with_toolbox_idempotency(toolbox)
    same = {"order": 1}

    said = await outcomes(
        once,
        *[ToolCall("pay", same)] * 2,
        ToolCall("pay", {"order": 1, "cents": 2}),
        *[ToolCall("refund", same), ToolCall("total"), ToolCall("total")],
    )

    assert said == ["fresh", "deduped", "fresh", "fresh", None, None]
    assert paid == [(1, 1), (1, 2), (1, -1)]
    assert (once.policy_revision, once.default_timeout, once.names) == ("p7", 3, toolbox.names)
    assert once.get("refund") is toolbox.get("refund"), "it has a key of its own"


@requirement("composition.once")
def test_what_can_not_be_wrapped_is_refused() -> None:
    _, (pay, _, _) = new_tools()

    async def later(arguments: object) -> str:
        return ""

    for key in (later, "order", None):
        with pytest.raises(DefinitionError, match="idempotency_key"):
            with_idempotency(pay, cast("type[str]", key))
    with pytest.raises(DefinitionError, match="Tool"):
        with_idempotency(cast("Tool[[], object]", "pay"))
    with pytest.raises(DefinitionError, match="Toolbox"):
        with_toolbox_idempotency(cast("Toolbox", [pay]))


@requirement("composition.once", "ledger.key.fields")
@pytest.mark.parametrize(
    "rule", [field_key("ordre"), composite_key("cents", "ordre"), namespaced_key("bank", field_key("ordre"))]
)
def test_a_key_of_an_argument_that_there_is_not_is_refused(rule: KeyRule) -> None:
    _, (pay, _, _) = new_tools()

    with pytest.raises(DefinitionError, match="did you mean 'order'"):
        with_idempotency(pay, rule)
    with pytest.raises(DefinitionError, match="did you mean 'order'"):

        @tool(effect=BANK, idempotency_key=rule)
        async def refund(order: int, cents: int = 1) -> None: ...
