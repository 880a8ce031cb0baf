"""The bytes of keys: nowhere in what the engine keeps, hands out, tells, logs or raises."""

from __future__ import annotations

import base64
import copy
import gc
import json
import logging
import os
import pickle
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Final, cast

import attrs
import msgspec
import pytest
import trio

from armory_trio import (
    ApprovalError,
    GrantError,
    Happening,
    Supervisor,
    Toolbox,
    ToolCall,
    project_snapshot,
)
from armory_trio.authority.signing import Keyring, SigningKey
from armory_trio.composition import pipe
from tests.requirements import requirement

from .bank import ANN, Book, TroubledApprovals, Vault, bank, granting, look_tool, pay_tool, pending_of, relay_tool

_MASK: Final = 0x5A
_PIECE: Final = 9
"""Bytes of a secret of which not even so many may show; a multiple of three, so that base64 can be cut there."""


class Hidden:
    """A secret that is kept in a form in which nobody would leak it, so that this test is not what is found."""

    def __init__(self) -> None:
        self._masked = [byte ^ _MASK for byte in os.urandom(36)]

    def _plain(self) -> bytes:
        return bytes(byte ^ _MASK for byte in self._masked)

    def key(self, name: str) -> SigningKey:
        """A key that is made of it."""
        return SigningKey(name, self._plain())

    def spellings(self) -> list[bytes]:
        """Every piece of it, in the ways in which somebody could spell it."""
        plain = self._plain()
        pieces = [plain[at : at + _PIECE] for at in range(0, len(plain), _PIECE)]
        found: list[bytes] = []
        for piece in pieces:
            found += [piece, piece.hex().encode(), piece.hex().upper().encode(), repr(piece)[2:-1].encode()]
            found += [base64.b64encode(piece), base64.urlsafe_b64encode(piece), str(list(piece))[1:-1].encode()]
        return found

    def pattern(self) -> re.Pattern[bytes]:
        """What finds a piece of it. Not to be kept where it would be found."""
        return re.compile(b"|".join(map(re.escape, self.spellings())))

    def is_in(self, *texts: object) -> bool:
        """Whether any of *texts* holds a piece of it."""
        pattern = self.pattern()
        try:
            return any(pattern.search(_bytes_of(text)) for text in texts)
        finally:
            re.purge()


def _bytes_of(thing: object) -> bytes:
    if isinstance(thing, str):
        return thing.encode("utf-8", "surrogatepass")
    return bytes(thing) if isinstance(thing, bytes | bytearray) else b""


def reachable(roots: Iterable[object]) -> Iterator[object]:
    """Whatever *roots* refer to, however far: attributes, slots, closures, globals, tasks and their variables."""
    waiting, seen = list(roots), set[int]()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        yield thing
        waiting += _referents(thing)


def _referents(thing: object) -> list[object]:
    if type(thing) is ModuleType:
        # Its names alone. Python 3.12's `_asyncio` has its free objects to show as well, and whoever takes hold of one
        # and lets it go frees it again: the next to look walks in a circle, or crashes.
        return [thing.__dict__]
    return gc.get_referents(thing)


def _attributes(value: object) -> str:
    return repr([getattr(value, name, None) for name in dir(value)])


def _fields(value: object) -> str:
    return repr(attrs.asdict(cast("attrs.AttrsInstance", value)))


DUMPS: Final[tuple[Callable[[object], object], ...]] = (
    pickle.dumps,
    msgspec.json.encode,
    lambda value: msgspec.json.encode(value, enc_hook=repr),
    lambda value: json.dumps(value, default=repr),
    lambda value: repr(msgspec.to_builtins(value, enc_hook=repr)),
    lambda value: repr(vars(value)),
    lambda value: repr(copy.deepcopy(value)),
    _fields,
    _attributes,
)


def shown(thing: object) -> list[object]:
    """Every text and every dump of *thing* that somebody could write somewhere."""
    found: list[object] = [repr(thing), str(thing), format(thing)]
    for dump in DUMPS:
        try:
            made = dump(thing)
        except Exception as exc:  # noqa: BLE001  # what can't be dumped says so, and that must be harmless, too
            made = "".join(traceback.format_exception(exc))
        found.append(made)
    return found


def told(exc: BaseException) -> str:
    """A traceback with the variables of each frame."""
    return "".join(traceback.TracebackException.from_exception(exc, capture_locals=True).format())


class World:
    """What came of a busy supervisor."""

    def __init__(self) -> None:
        self.things: list[object] = []
        self.raised: list[BaseException] = []

    async def refuse(self, supervisor: Supervisor, pending: object) -> None:
        """Try what is refused, and keep how."""
        for operation in (supervisor.resume_approval, supervisor.restore_approval, supervisor.revoke_approval):
            try:
                await operation(pending)  # type: ignore[arg-type]  # a forged one may be anything
            except Exception as exc:  # noqa: BLE001  # all of them are looked at
                self.raised.append(exc)


async def _work(world: World, hidden: Hidden) -> Supervisor:
    vault = Vault(keys=Keyring({"default": [hidden.key("first")]}))
    book = Book()
    composed = pipe(look_tool(book, "first"), pay_tool(book, "paid"), name="whole")
    toolbox = bank(book, composed, relay_tool(book))
    async with vault.open(toolbox) as supervisor, supervisor.events(include_payloads=True) as events:
        for call in (ToolCall("pay", {"to": "bob"}), ToolCall("whole"), ToolCall("relay"), ToolCall("nothing")):
            result = await supervisor.execute(call)
            world.things.append(result)
            if result.pending_approval is not None:
                pending = result.pending_approval
                forged = {**pending.to_json(), "tool_name": "other"}
                world.things += [pending, pending.to_json(), pending.binding, pending.signature]
                await world.refuse(supervisor, forged)
                world.things.append(await supervisor.resume_approval(pending))
                await world.refuse(supervisor, pending)
        granted = await supervisor.issue_grant(
            "pay", principal="ann", tenant="acme", agent="*", lifetime=9, max_uses=1, scope="principal"
        )
        world.things += [granted, granted.to_json(), await supervisor.list_grants()]
        with pytest.raises(GrantError) as caught:
            await supervisor.issue_grant(
                "none", principal="ann", tenant="acme", agent="*", lifetime=9, max_uses=1, scope="principal"
            )
        world.raised.append(caught.value)
        for snapshot in supervisor.executions.inspect():
            world.things.append(snapshot)
            for audience in ("public", "tenant", "operator"):
                world.things.append(project_snapshot(snapshot, audience=audience, tenant="acme", request_context=ANN))
        world.things += supervisor.executions.inspect_privileged()
        with trio.move_on_after(0):
            async for event in events:
                assert isinstance(event, Happening)
                world.things.append(event)
        world.things += reachable_texts(supervisor, hidden)
    world.things += [supervisor, toolbox, vault.keys]
    return supervisor


def reachable_texts(root: object, hidden: Hidden) -> Sequence[object]:
    """The texts that *root* leads to and in which a piece of the secret stands."""
    pattern = hidden.pattern()
    re.purge()
    # By their types alone: whatever other tests left behind may have code of its own, also for its class.
    texts = [_bytes_of(thing) for thing in reachable([root]) if issubclass(type(thing), str | bytes | bytearray)]
    return [text for text in texts if len(text) >= _PIECE and pattern.search(text)]


@requirement("approving.secrets")
async def test_no_piece_of_a_key_is_in_anything_that_the_engine_keeps_hands_out_tells_logs_or_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    hidden, world = Hidden(), World()
    supervisor = await _work(world, hidden)

    assert len(world.things) > 60
    assert len(world.raised) > 15
    assert reachable_texts([supervisor, world.things, world.raised], hidden) == []
    assert not any(hidden.is_in(*shown(thing)) for thing in world.things)
    assert not any(hidden.is_in(told(exc), *shown(exc)) for exc in world.raised)
    assert not hidden.is_in(caplog.text, *(repr(vars(record)) for record in caplog.records))


@requirement("approving.secrets")
async def test_stores_and_resolvers_that_fail_show_no_piece_of_a_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    hidden, book, raised = Hidden(), Book(), list[BaseException]()
    key = hidden.key("first")
    things: list[object] = []

    class Broken:
        """Gives keys, or the wrong thing, or fails with a key in its hands."""

        fails = False

        def signing_key(self, domain: str, /) -> SigningKey:
            held = key
            if self.fails:
                raise LookupError(f"{domain}: {held}")
            return held

        def key(self, domain: str, key_id: str, /) -> SigningKey:
            return self.signing_key(domain)

    keys, vault = Broken(), Vault()
    store = TroubledApprovals(vault.approvals)
    vault.approvals = store
    async with vault.open(Toolbox([*granting(book), pay_tool(book, "declared")]), keys=keys) as supervisor:
        pending = pending_of(await supervisor.execute(ToolCall("declared", {"to": "bob"})))
        for operation in ("state", "reserve", "commit", "issue"):
            store.trouble = {operation: "raises"}
            things.append(await supervisor.execute(ToolCall("declared", {"to": "bob"})))
            try:
                things.append(await supervisor.resume_approval(pending))
            except Exception as exc:  # noqa: BLE001  # all of them are looked at
                raised.append(exc)
        store.trouble = {}
        keys.fails = True
        things.append(await supervisor.execute(ToolCall("declared", {"to": "bob"})))
        things.append(await supervisor.execute(ToolCall("pay", {"to": "bob"})))
        for forbidden in (supervisor.resume_approval, supervisor.restore_approval, supervisor.revoke_approval):
            with pytest.raises((LookupError, ApprovalError)) as caught:
                await forbidden(pending)
            raised.append(caught.value)
    assert not any(hidden.is_in(*shown(thing)) for thing in things)
    assert not any(hidden.is_in(told(exc), *shown(exc)) for exc in raised)
    assert reachable_texts([things, raised, supervisor], hidden) == []
    assert not hidden.is_in(caplog.text)
    assert len(raised) >= 4


@requirement("approving.secrets")
def test_a_leak_would_be_found() -> None:
    hidden = Hidden()
    plain = bytes(byte ^ _MASK for byte in hidden._masked)  # pyright: ignore[reportPrivateUsage]
    pieces = (plain, plain.hex(), base64.b64encode(plain), base64.urlsafe_b64encode(plain).decode(), repr(plain))

    class Slotted:
        __slots__ = ("kept",)

        def __init__(self, kept: object) -> None:
            self.kept = kept

    def closing_over(kept: object) -> Callable[[], object]:
        return lambda: kept

    planted = [Slotted({"deep": [closing_over(piece)]}) for piece in pieces]
    assert set(map(_bytes_of, reachable_texts(planted, hidden))) == set(map(_bytes_of, pieces))
    for piece in pieces:
        assert hidden.is_in(*shown({"a": piece}))
    assert not hidden.is_in("something else")
