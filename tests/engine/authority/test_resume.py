"""Going on with a call that waited for a person: once, on the same behalf, under the same rules, for the same action."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, cast

import attrs
import msgspec
import pytest
import trio
import trio.testing

from armory_trio import (
    ApprovalError,
    Deny,
    LiveToolbox,
    PendingApproval,
    RequestContext,
    Revisions,
    Supervisor,
    Toolbox,
    ToolCall,
    ToolResult,
    open_supervisor,
)
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.errors import AdmissionClosed
from tests.requirements import requirement

from .bank import ANN, KEYS, PAY, SECRET, Book, Vault, bank, code_of, pay_tool, pending_of, says

DELEGATED: Final = msgspec.structs.replace(ANN, delegation=("ann",))
"""Ann, who had it done by somebody in her name."""


async def paused(vault: Vault, toolbox: Toolbox, call: ToolCall = PAY) -> PendingApproval:
    """The descriptor of a call that a supervisor, which is closed by now, left waiting."""
    async with vault.open(toolbox) as supervisor:
        return pending_of(await supervisor.execute(call))


async def refused(supervisor: Supervisor, pending: PendingApproval, who: RequestContext | None = None) -> str:
    """With which code it is refused to go on."""
    with pytest.raises(ApprovalError) as caught:
        await supervisor.resume_approval(pending, request_context=who)
    return caught.value.code


@requirement("approving.call", "approving.once")
async def test_a_call_that_waited_goes_on_with_its_own_id_and_arguments() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        waits = await supervisor.execute(PAY)
        pending = pending_of(waits)
        assert (waits.attempts, waits.effect, book.entries) == (0, "none", [])
        assert (pending.call_id, pending.tool_name, dict(pending.arguments)) == ("pay-1", "pay", dict(PAY.arguments))
        assert (pending.question.tier, pending.effect, pending.targets) == (
            "declared",
            "external-write",
            ("service:bank",),
        )

        result = await supervisor.resume_approval(pending)

    assert (result.outcome, result.value, result.effect, result.attempts) == ("success", "5 to bob", "completed", 1)
    assert (result.call_id, result.tool_name) == ("pay-1", "pay")
    assert result.execution_id != waits.execution_id
    assert not result.executed_arguments_edited
    assert book.entries == [("pay", {"to": "bob", "amount": 5})]


@requirement("approving.call")
async def test_defaults_are_part_of_what_is_shown_and_run() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("pay", {"to": "eve"})))
        assert dict(pending.arguments) == {"to": "eve", "amount": 1}

        await supervisor.resume_approval(pending)

    assert book.entries == [("pay", {"to": "eve", "amount": 1})]


@requirement("approving.once")
async def test_an_approval_that_was_used_counts_no_more() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        await supervisor.resume_approval(pending)

        assert await refused(supervisor, pending) == "already-consumed"
    async with vault.open(bank(book)) as supervisor:
        assert await refused(supervisor, pending) == "already-consumed"
        with pytest.raises(ApprovalError, match="already-consumed"):
            await supervisor.revoke_approval(pending)
    assert book.names() == ["pay"]


@requirement("approving.once")
@pytest.mark.parametrize("same_tick", [True, False])
async def test_of_32_that_resume_at_a_time_one_runs(same_tick: bool, autojump_clock: trio.testing.MockClock) -> None:
    book, vault = Book(), Vault()
    ended: list[ToolResult[object]] = []
    codes: list[str] = []

    async def resume(supervisor: Supervisor, pending: PendingApproval) -> None:
        try:
            ended.append(await supervisor.resume_approval(pending))
        except ApprovalError as exc:
            codes.append(exc.code)

    paying = Toolbox([pay_tool(book, seconds=1.0)])
    async with vault.open(paying) as one, vault.open(paying) as other:
        pending = pending_of(await one.execute(PAY))
        async with trio.open_nursery() as nursery:
            for index in range(32):
                if not same_tick:
                    await trio.sleep(0.1)
                nursery.start_soon(resume, (one, other)[index % 2], pending)

    assert book.names() == ["pay"]
    assert [result.value for result in ended] == ["5 to bob"]
    assert len(codes) == 31
    assert set(codes) <= {"in-flight", "already-consumed"}


@requirement("approving.window")
@pytest.mark.parametrize(("seconds", "counts"), [(299.0, True), (300.0, False), (100_000.0, False)])
async def test_an_approval_counts_for_its_lifetime(seconds: float, counts: bool) -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        vault.clock.now += seconds

        if counts:
            await supervisor.resume_approval(pending)
        else:
            assert await refused(supervisor, pending) == "expired"
            with pytest.raises(ApprovalError, match="expired"):
                await supervisor.restore_approval(pending)

    assert book.names() == ["pay"] * counts


@requirement("approving.window")
async def test_a_lifetime_is_that_of_the_supervisor() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book), approval_lifetime=5) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        assert pending.binding is not None
        assert pending.binding.expires_at - pending.binding.issued_at == 5
        vault.clock.now += 5
        assert await refused(supervisor, pending) == "expired"


@requirement("approving.window")
async def test_a_revoked_approval_lets_nothing_run() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        await supervisor.revoke_approval(pending)
        await supervisor.revoke_approval(pending.to_json())

        assert await refused(supervisor, pending) == "revoked"
    assert book.entries == []


@requirement("approving.scope")
@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("principal", "bob", "mismatch"),
        ("tenant", "globex", "mismatch"),
        ("agent", "other", "mismatch"),
        ("run", "run-2", "mismatch"),
        ("session", "session-2", "mismatch"),
        ("session", None, "mismatch"),
        ("audience", "public", "mismatch"),
        ("audience", None, "mismatch"),
        ("owner", "office", "mismatch"),
        ("owner", None, "mismatch"),
        ("delegation", None, "mismatch"),
        ("delegation", ("ann", "eve"), "mismatch"),
        ("delegation", ("eve",), "mismatch"),
        ("authorization_revision", "auth:2", "mismatch"),
        ("authorization_revision", None, "mismatch"),
        ("capabilities", frozenset({"read"}), "mismatch"),
        ("capabilities", frozenset[str](), "mismatch"),
        ("capabilities", None, "mismatch"),
        ("principal", None, "mismatch"),
        ("tenant", None, "mismatch"),
        ("agent", None, "mismatch"),
        ("run", None, "mismatch"),
    ],
)
async def test_nobody_else_goes_on_with_it(field: str, value: object, code: str) -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book), who=DELEGATED) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        somebody = msgspec.structs.replace(DELEGATED, **{field: value})

        assert await refused(supervisor, pending, somebody) == code

        assert book.entries == []
        assert await vault.state(pending) == "issued"
        assert (await supervisor.resume_approval(pending)).outcome == "success"


@requirement("approving.scope")
async def test_whoever_resumes_has_to_say_on_whose_behalf() -> None:
    book, vault = Book(), Vault()
    pending = await paused(vault, bank(book))
    async with vault.open(bank(book), who=None) as supervisor:
        assert await refused(supervisor, pending) == "invalid-binding"
        assert (await supervisor.resume_approval(pending, request_context=ANN)).outcome == "success"


@requirement("approving.scope")
@pytest.mark.parametrize(
    "wider",
    [
        msgspec.structs.replace(ANN, capabilities=frozenset({"pay", "read", "everything"})),
        msgspec.structs.replace(ANN, audience="operator"),
        msgspec.structs.replace(ANN, request="another request"),
    ],
)
async def test_whoever_may_do_more_goes_on_with_what_there_was(wider: RequestContext) -> None:
    book, vault = Book(), Vault()
    seen: list[RequestContext | None] = []

    def policy(request: object) -> None:
        seen.append(getattr(request, "request_context", None))

    toolbox = attrs.evolve(bank(book), policy=policy)
    async with vault.open(toolbox) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        await supervisor.resume_approval(pending, request_context=wider)

    before, after = seen
    assert before == ANN
    assert after is not None
    assert msgspec.structs.replace(after, request=None) == ANN
    assert book.names() == ["pay"]


def _changed(toolbox: Toolbox, changes: dict[str, str]) -> Toolbox:
    evolve = cast("Callable[..., Toolbox]", attrs.evolve)
    return evolve(toolbox, **changes)


@requirement("approving.drift")
@pytest.mark.parametrize(
    "changes",
    [{"revision": "toolbox:2"}, {"policy_revision": "policy:2"}, {"approval_revision": "approval:2"}],
    ids=str,
)
async def test_rules_of_another_revision_void_it(changes: dict[str, str]) -> None:
    book, vault = Book(), Vault()
    toolbox = bank(book)
    live = LiveToolbox(toolbox)
    async with open_supervisor(live, default_request_context=ANN, keys=KEYS, approvals=vault.approvals) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        live.swap(_changed(toolbox, changes))
        assert await refused(supervisor, pending) == "mismatch"
        with pytest.raises(ApprovalError, match="invalid-binding"):
            await supervisor.restore_approval(pending)
        live.swap(toolbox)
        assert (await supervisor.resume_approval(pending)).outcome == "success"
    async with vault.open(_changed(toolbox, changes)) as supervisor:
        assert await refused(supervisor, pending) == "mismatch"
    assert book.names() == ["pay"]


@requirement("approving.drift")
async def test_a_catalogue_of_another_revision_voids_it() -> None:
    book, vault = Book(), Vault()
    pending = await paused(vault, bank(book))
    async with vault.open(bank(book), revisions=Revisions(catalog="catalog:2")) as supervisor:
        assert await refused(supervisor, pending) == "mismatch"
    async with vault.open(bank(book), revisions=Revisions(redaction="redaction:2")) as supervisor:
        assert (await supervisor.resume_approval(pending)).outcome == "success"


@requirement("approving.drift")
async def test_a_tool_that_says_something_else_of_itself_voids_it() -> None:
    book, vault = Book(), Vault()
    pending = await paused(vault, bank(book))
    [other] = [each for each in bank(book).tools if each.name == "pay"]
    changed = attrs.evolve(other, definition=attrs.evolve(other.definition, description="Pay anybody anything."))
    async with vault.open(Toolbox([changed])) as supervisor:
        assert await refused(supervisor, pending) == "mismatch"
        with pytest.raises(ApprovalError, match="invalid-binding"):
            await supervisor.restore_approval(pending)
    async with vault.open(Toolbox([])) as supervisor:
        assert await refused(supervisor, pending) == "not-found"
    assert book.entries == []
    assert await vault.state(pending) == "issued"


@requirement("approving.keys")
async def test_another_key_of_the_same_name_lets_nothing_run() -> None:
    book, vault = Book(), Vault()
    pending = await paused(vault, bank(book))
    for keys in (
        Keyring({"default": [SigningKey("first", b"another secret")]}),
        Keyring({"default": [SigningKey("second", SECRET)]}),
        Keyring({"elsewhere": [SigningKey("first", SECRET)]}),
    ):
        async with vault.open(bank(book), keys=keys) as supervisor:
            assert await refused(supervisor, pending) == "invalid-signature"
            for forbidden in (supervisor.restore_approval, supervisor.revoke_approval):
                with pytest.raises(ApprovalError, match="invalid-signature"):
                    await forbidden(pending)
    assert await vault.state(pending) == "issued"
    assert book.entries == []


@requirement("approving.keys")
async def test_a_rotated_key_counts_until_it_is_left_out() -> None:
    book, vault = Book(), Vault()
    old, new = SigningKey("first", SECRET), SigningKey("second", b"a newer secret")
    pending = await paused(vault, bank(book))
    async with vault.open(bank(book), keys=Keyring({"default": [new]})) as supervisor:
        assert await refused(supervisor, pending) == "invalid-signature"
    async with vault.open(bank(book), keys=Keyring({"default": [new, old]})) as supervisor:
        assert (await supervisor.resume_approval(pending)).outcome == "success"


@requirement("approving.keys")
async def test_each_tenant_can_have_keys_of_its_own() -> None:
    book = Book()
    keys = Keyring({"acme": [SigningKey("k", b"a")], "globex": [SigningKey("k", b"g")]})
    vault = Vault(keys=keys)
    eve = msgspec.structs.replace(ANN, tenant="globex")
    async with vault.open(bank(book), security_domain=lambda tenant: tenant) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        assert await refused(supervisor, pending, eve) == "mismatch"
        assert (await supervisor.resume_approval(pending)).outcome == "success"
    async with vault.open(bank(book), security_domain="globex") as supervisor:
        assert await refused(supervisor, pending) == "invalid-signature"


@requirement("approving.restart")
async def test_json_and_a_restart_change_nothing() -> None:
    book, vault = Book(), Vault()
    kept = json.dumps((await paused(vault, bank(book))).to_json())
    async with vault.open(bank(book)) as supervisor:
        result = await supervisor.resume_approval(json.loads(kept))
    assert (result.value, book.names()) == ("5 to bob", ["pay"])


@requirement("approving.restart")
async def test_a_supervisor_that_takes_no_new_work_resumes_nothing() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        supervisor.close_admission()
        with pytest.raises(AdmissionClosed):
            await supervisor.resume_approval(pending)
    assert await vault.state(pending) == "issued"


@requirement("approving.restore")
async def test_what_a_store_lost_can_be_restored_once_and_used_once() -> None:
    book, vault = Book(), Vault()
    pending = await paused(vault, bank(book))
    emptied = Vault(clock=vault.clock)
    async with emptied.open(bank(book)) as supervisor:
        assert await refused(supervisor, pending) == "not-found"
        await supervisor.restore_approval(pending)
        await supervisor.restore_approval(pending.to_json())
        assert (await supervisor.resume_approval(pending)).outcome == "success"
        with pytest.raises(ApprovalError, match="already-consumed"):
            await supervisor.restore_approval(pending)
        assert await refused(supervisor, pending) == "already-consumed"
    assert book.names() == ["pay"]


@requirement("approving.restore")
async def test_what_was_revoked_is_not_restored() -> None:
    book, vault = Book(), Vault()
    async with vault.open(bank(book)) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        await supervisor.revoke_approval(pending)
        with pytest.raises(ApprovalError, match="revoked"):
            await supervisor.restore_approval(pending)
        assert await refused(supervisor, pending) == "revoked"


@requirement("approving.unsigned")
async def test_what_is_not_signed_can_only_be_looked_at() -> None:
    book, vault = Book(), Vault()
    asking = Toolbox([pay_tool(book, requires_approval=False)], policy=says({"status": "needs_approval"}))
    async with open_supervisor(asking, default_request_context=ANN) as supervisor:
        pending = pending_of(await supervisor.execute(PAY))
        assert (pending.binding, pending.signature, pending.id) == (None, None, "pay-1")
        for forbidden in (supervisor.resume_approval, supervisor.restore_approval, supervisor.revoke_approval):
            with pytest.raises(ApprovalError, match="invalid-signature"):
                await forbidden(pending)
    async with vault.open(asking) as supervisor:
        for forbidden in (supervisor.resume_approval, supervisor.restore_approval, supervisor.revoke_approval):
            with pytest.raises(ApprovalError, match="invalid-binding"):
                await forbidden(pending)
    async with open_supervisor(bank(book), default_request_context=ANN) as supervisor:
        assert code_of(await supervisor.execute(PAY)) == "APPROVAL_UNAVAILABLE"
    assert book.entries == []


@requirement("approving.unconsumed")
async def test_a_policy_that_denies_by_now_denies() -> None:
    book, vault = Book(), Vault()
    pending = await paused(vault, bank(book))
    async with vault.open(attrs.evolve(bank(book), policy=says(Deny("not today")))) as supervisor:
        result = await supervisor.resume_approval(pending)
        assert code_of(result) == "POLICY_DENIED"
    assert await vault.state(pending) == "issued"
    async with vault.open(bank(book)) as supervisor:
        assert (await supervisor.resume_approval(pending)).outcome == "success"
