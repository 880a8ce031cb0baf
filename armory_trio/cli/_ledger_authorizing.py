"""Letting a recorded result be told under other rules, at the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from ..errors import DefinitionError
from ..ledger import (
    Answer,
    Attempt,
    AuthorizationReceipt,
    Done,
    FenceLost,
    LedgerStore,
    ReceiptError,
    Refused,
    authorization_for,
    decide,
    sign_receipt,
)
from ._exit import Unusable
from ._ledger_deciding import require_yes, taken, written
from ._ledger_finding import Filters, find, key_of
from ._ledger_store import Undone, open_existing
from ._ledger_view import words
from ._streams import Streams, plain, say
from ._terminal import open_terminal
from ._texts import show

if TYPE_CHECKING:
    from ..authority.signing import Keyring

_ALL = 1 << 30
"""Characters of a line that is asked about: what is cut off can't be agreed to."""


@attrs.frozen(kw_only=True)
class Authorization:
    """What was asked for, checked as far as that goes without a store.

    Args:
        word: Which attempt is meant.
        filters: Among which.
        under: The policy revision under which its result may be told from now on.
        evidence: Why.
        by: Who allows it.
        nonce: What tells the receipt from others; None makes one up.
        keys: What signs.
        domain: In which security domain.
        prints: Only print the receipt.
        yes: Nobody has to be asked.
    """

    word: str
    filters: Filters
    under: str
    evidence: str
    by: str
    nonce: str | None
    keys: Keyring
    domain: str
    prints: bool
    yes: bool


async def authorize(where: str, asked: Authorization, streams: Streams) -> int:
    """Let the result of an attempt be told, or print the receipt that would. Answers the exit code.

    Cancelled: it is done, or is not; the store tells.

    Raises:
        Undone: It was not done.
        Unusable: What was given can't be used.
        Unsure: It may be done or not.
    """
    async with open_existing(where) as store:
        attempt = await find(store.ledger, asked.word, asked.filters)
        _require(attempt, asked)
        receipt = await _signed(attempt, asked, store.now())
        if asked.prints:
            return show(streams, [written(receipt)])
        if not asked.yes:
            await require_yes(open_terminal(), _question(attempt, asked, store.now()))
        try:
            answer = await _allow(store.ledger, attempt, asked, receipt)
        except KeyboardInterrupt:
            say(f"interrupted: it may be allowed or not, and show {attempt.attempt_id} tells")
            raise
        return show(streams, _outcome(answer, attempt, asked))


def _require(attempt: Attempt, asked: Authorization) -> None:
    name = f"attempt {attempt.attempt_id}"
    if attempt.state != "completed":
        raise Undone(f"{name}: there is no result that could be told: it is {attempt.state}")
    if not attempt.policy_revision:
        raise Undone(
            f"{name}: its result is told under every policy, since nobody knows under which it was let through"
        )
    if attempt.policy_revision == asked.under:
        raise Undone(f"{name}: nothing has to be allowed: its result is told under {asked.under!r} already")


async def _signed(attempt: Attempt, asked: Authorization, now: float) -> AuthorizationReceipt:
    try:
        receipt = authorization_for(
            attempt,
            asked.under,
            evidence=asked.evidence,
            authorized_by=asked.by,
            authorized_at=now,
            nonce=asked.nonce,
        )
        return await sign_receipt(asked.keys, receipt, domain=asked.domain)
    except ReceiptError as error:
        hint = "; --domain names another one" if error.code == "unsigned" else ""
        raise Unusable(f"no receipt can be made: {error.detail}{hint}") from error
    except DefinitionError as error:
        raise Unusable(f"--domain {error.reason}") from error


def _question(attempt: Attempt, asked: Authorization, now: float) -> Sequence[str]:
    rows = (
        ("attempt", f"{attempt.attempt_id}: {words(attempt, now)}"),
        ("tool", f"{attempt.tool_id} of tenant {attempt.tenant}"),
        ("key", key_of(attempt)),
        ("recorded", f"under the policy {attempt.policy_revision!r}"),
        ("decision", f"whoever asks for its key under the policy {asked.under!r} is told its result"),
        ("evidence", asked.evidence),
        ("by", asked.by),
    )
    return [f"  {name:<11}{plain(text, _ALL)}" for name, text in rows]


async def _allow(ledger: LedgerStore, attempt: Attempt, asked: Authorization, receipt: AuthorizationReceipt) -> Answer:
    try:
        return await decide(ledger, asked.keys, receipt, domain=asked.domain)
    except ReceiptError:  # it was made for this attempt and signed with these keys: things are different by now
        found = await ledger.load(attempt.key)
        if found is None or found.attempt_id != attempt.attempt_id:
            return FenceLost(found)
        return Refused(f"it is recorded under the policy {found.policy_revision!r} by now")


def _outcome(answer: Answer, attempt: Attempt, asked: Authorization) -> list[str]:
    """What came of it, in words.

    Raises:
        Undone: Nothing.
    """
    name = f"attempt {attempt.attempt_id}"
    match answer:
        case Done():
            told = f"its result, recorded under {attempt.policy_revision!r}, is told under {asked.under!r} from now on"
            return [plain(f"{name}: {told}")]
        case FenceLost():
            raise Undone(taken(name, answer))
        case _:
            reason = answer.reason if isinstance(answer, Refused) else f"the ledger answered {answer}"
            raise Undone(f"{name}: somebody was faster, and nothing is decided here: {reason}")
