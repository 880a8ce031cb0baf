"""Descriptors that somebody changed, in any one place, and handed back."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Final, cast

import attrs
import pytest
import trio

from armory_trio import (
    ApprovalError,
    Ask,
    JsonError,
    PendingApproval,
    Toolbox,
    ToolCall,
    tool,
)
from armory_trio.authority.approvals import MemoryApprovals
from armory_trio.authority.signing import SigningKey
from armory_trio.composition import pipe
from tests.requirements import requirement

from .bank import PAYS, Book, Vault, look_tool, pending_of, says

Path = tuple[str | int, ...]

_ABSENT: Final = object()
_OTHERS: Final[dict[type, tuple[object, ...]]] = {
    bool: (None,),
    int: (0, 2, -1, 1.5, "1", None, True),
    float: (0.0, 9e9, None, "0"),
    str: ("", "x", None, 1, "*"),
    type(None): ("x", 0, [], {}),
    list: ([], None, {}, "x"),
    dict: ({}, None, [], "x"),
}


def _toolbox(book: Book) -> Toolbox:
    @tool(
        requires_approval=True,
        policy=says(Ask("What for?", kind="input", schema={"type": "object"})),
        effect=PAYS,
        metadata={"bank": {"branch": 7}},
    )
    async def pay(to: str, amount: int = 1, *, notes: list[dict[str, str]] = []) -> str:  # noqa: B006  # a default that is shown
        """Pay somebody."""
        book.write("pay", to=to, amount=amount)
        await trio.lowlevel.checkpoint()
        return "paid"

    inner = pipe(look_tool(book), pay, name="inner")
    return Toolbox([pipe(look_tool(book, "first"), inner, name="outer")])


async def _descriptor(vault: Vault, book: Book) -> dict[str, object]:
    """One in which every member holds something: the second question of a tool within two others."""
    async with vault.open(_toolbox(book)) as supervisor:
        first = pending_of(await supervisor.execute(ToolCall("outer", {"to": "bob", "amount": 5}, id="call-1")))
        second = pending_of(await supervisor.resume_approval(first))
    assert (len(second.within), len(second.satisfied), len(second.targets)) == (2, 1, 1)
    return second.to_json()


def _paths(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            yield from _paths(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            yield from _paths(member, (*path, index))


def _changed(document: dict[str, object], path: Path, value: object) -> dict[str, object]:
    made = copy.deepcopy(document)
    *above, last = path
    place: dict[str | int, object] = cast("dict[str | int, object]", made)
    for step in above:
        place = cast("dict[str | int, object]", place[step])
    if value is _ABSENT:
        del place[last]
    else:
        place[last] = value
    return made


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _forgeries(document: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    for path, value in _paths(document):
        named = ".".join(map(str, path))
        genuine = value
        candidates: list[object] = [*_OTHERS[type(value)], _ABSENT]
        if isinstance(value, bool):
            candidates.append(not value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            candidates.append(value + 1)
        if isinstance(value, str):
            candidates += [value + " ", value[:-1], value.upper() if value.upper() != value else value.lower()]
        if isinstance(value, list):
            members = cast("list[object]", value)
            candidates += [members + members[-1:], [*members, "x"]]
        if isinstance(value, dict):
            candidates.append({**cast("dict[str, object]", value), "more": 1})
        for other in candidates:
            if not _same(other, genuine):
                yield f"{named} = {other!r}", _changed(document, path, other)
    yield "more = 1", {**document, "more": 1}


def _says_the_same(document: dict[str, object], forged: dict[str, object]) -> bool:
    """Whether nothing was changed: what is left out and was the default, or the number 1 as 1.0."""
    try:
        return PendingApproval.from_json(forged).to_json() == PendingApproval.from_json(document).to_json()
    except JsonError:
        return False


@requirement("approving.forgery")
@pytest.mark.parametrize("operation", ["resume_approval", "restore_approval", "revoke_approval"])
async def test_a_descriptor_with_any_one_member_changed_lets_nothing_run(operation: str) -> None:
    book, vault = Book(), Vault()
    genuine = await _descriptor(vault, book)
    before = list(book.entries)
    assert "pay" not in book.names()
    tried: list[str] = []
    async with vault.open(_toolbox(book)) as supervisor:
        for name, forged in _forgeries(genuine):
            if _says_the_same(genuine, forged):
                continue
            try:
                await getattr(supervisor, operation)(forged)
            except ApprovalError:
                tried.append(name)
            else:
                pytest.fail(f"{operation} took {name}")
        assert book.entries == before
        assert {path for path, _ in _paths(genuine)} >= {
            ("within", 0, "results", "0", "value", "to"),
            ("binding", "scope", "run"),
        }
        assert len(tried) > 400
        assert (await supervisor.resume_approval(genuine)).outcome == "success"
    assert book.names()[len(before) :] == ["pay"]


@requirement("approving.forgery")
async def test_a_descriptor_signed_for_another_call_does_not_lend_its_signature() -> None:
    book, vault = Book(), Vault()
    one, other = await _descriptor(vault, book), await _descriptor(vault, book)
    before = list(book.entries)
    async with vault.open(_toolbox(book)) as supervisor:
        for member in one:
            if one[member] == other[member]:
                continue
            with pytest.raises(ApprovalError, match="invalid-signature"):
                await supervisor.resume_approval({**one, member: other[member]})
    assert book.entries == before


@requirement("approving.forgery")
async def test_a_forged_descriptor_is_refused_even_where_the_store_knows_nothing_better() -> None:
    """A store that takes everything for issued is no way round the signature."""
    book, vault = Book(), Vault()
    genuine = await _descriptor(vault, book)
    before = list(book.entries)
    lenient = Vault(clock=vault.clock, approvals=MemoryApprovals(clock=vault.clock))
    scope = cast("dict[str, object]", cast("dict[str, object]", genuine["binding"])["scope"])
    binding = {**cast("dict[str, object]", genuine["binding"]), "scope": {**scope, "principal": "eve"}}
    async with lenient.open(_toolbox(book)) as supervisor:
        for forbidden in (supervisor.restore_approval, supervisor.resume_approval):
            with pytest.raises(ApprovalError, match="invalid-signature"):
                await forbidden({**genuine, "binding": binding})
    assert book.entries == before


@requirement("approving.forgery")
@pytest.mark.parametrize("document", [{}, [], "", None, 1, {"version": 1}], ids=repr)
async def test_what_is_no_descriptor_at_all_is_told_so(document: object) -> None:
    async with Vault().open(Toolbox([])) as supervisor:
        for forbidden in (supervisor.resume_approval, supervisor.restore_approval, supervisor.revoke_approval):
            with pytest.raises(ApprovalError, match="invalid-binding"):
                await forbidden(cast("dict[str, object]", document))


@requirement("approving.forgery")
async def test_who_changes_the_document_while_it_is_verified_changes_nothing() -> None:
    book, vault = Book(), Vault()
    genuine = await _descriptor(vault, book)

    @attrs.define
    class Slow:
        """Keys that let somebody else do something before they answer."""

        document: dict[str, object]

        def signing_key(self, domain: str, /) -> SigningKey | None:
            return vault.keys.signing_key(domain)

        async def key(self, domain: str, key_id: str, /) -> SigningKey | None:
            cast("dict[str, object]", self.document["arguments"])["to"] = "eve"
            await trio.lowlevel.checkpoint()
            return vault.keys.key(domain, key_id)

    given = copy.deepcopy(genuine)
    async with vault.open(_toolbox(book), keys=Slow(given)) as supervisor:
        result = await supervisor.resume_approval(given)
    assert result.outcome == "success"
    assert book.entries[-1] == ("pay", {"to": "bob", "amount": 5})
