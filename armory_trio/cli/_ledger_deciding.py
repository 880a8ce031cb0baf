"""Deciding about an attempt at the command line: what is meant, whether somebody agrees, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from ..definitions import parse_json
from ..errors import DefinitionError, JsonError
from ..ledger import (
    Answer,
    Attempt,
    Choice,
    Decision,
    Done,
    FenceLost,
    LedgerStore,
    LegacyReceipt,
    Receipt,
    ReceiptError,
    Refused,
    choices,
    decide,
    is_live,
    receipt_for,
    release_of,
    sign_receipt,
    words_of,
)
from ._exit import Unusable
from ._ledger_finding import Filters, find, key_of
from ._ledger_store import Undone, open_existing
from ._ledger_view import receipt_of, utc, words
from ._streams import Streams, plain, read_some, say
from ._terminal import Terminal, open_terminal
from ._texts import show

if TYPE_CHECKING:
    from ..authority.signing import Keyring

_PROMPT: Final = "Decide so? y yes, n no [n] "
_ALL: Final = 1 << 30
"""Characters of a line that is asked about: what is cut off can't be agreed to."""

_CHUNK: Final = 1 << 16
_AFTERWARDS: Final = {
    "release": "it is forgotten, and its key can be claimed again",
    "retry": "the next call with its key takes its place, and runs again",
    "completed": "whoever asks for its key gets the result that you gave, and it is never run again",
    "abandoned": "whoever asks for its key gets a conflict, and it is never run again",
}


@attrs.frozen(kw_only=True)
class Resolution:
    """What was asked for, checked as far as that goes without a store.

    Args:
        word: Which attempt is meant.
        filters: Among which.
        choice: What is decided.
        evidence: Why; None for a release, which leaves nothing that could say so.
        by: Who decides; likewise.
        result: How it ended, as JSON text, if that is what is decided.
        nonce: What tells the receipt from others; None makes one up.
        keys: What signs; None for a release.
        domain: In which security domain.
        prints: Only print the receipt.
        yes: Nobody has to be asked.
    """

    word: str
    filters: Filters
    choice: Choice
    evidence: str | None
    by: str | None
    result: str | None
    nonce: str | None
    keys: Keyring | None
    domain: str
    prints: bool
    yes: bool


def result_text(text: str | None, file: str | None, streams: Streams) -> str | None:
    """The result that was given, by an option or in a file; None if there is none.

    Raises:
        Unusable: It can't be read, or is no JSON.
    """
    name = "--result"
    if file is not None:
        name, text = file, _text_of(file, streams)
    if text is None:
        return None
    try:
        parse_json(text)
    except JsonError as error:
        raise Unusable(
            f"{name}: not JSON: {error.detail}; a text is written with quotes, such as '\"paid\"'"
        ) from error
    return text.strip()


def _text_of(file: str, streams: Streams) -> str:
    try:
        if file != "-":
            return Path(file).read_text(encoding="utf-8")
        pieces: list[bytes] = []
        while piece := read_some(streams.stdin, _CHUNK):
            pieces.append(piece)
        return b"".join(pieces).decode()
    except OSError as error:
        raise Unusable(f"{file}: the result can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Unusable(f"{file}: the result is no UTF-8 (byte {error.start})") from error


async def resolve(where: str, asked: Resolution, streams: Streams) -> int:
    """Decide about an attempt, or print the receipt that would. Answers the exit code.

    Cancelled: it is decided, or is not; the store tells.

    Raises:
        Undone: It was not decided.
        Unusable: What was given can't be used.
        Unsure: It may be decided or not.
    """
    async with open_existing(where) as store:
        attempt = await find(store.ledger, asked.word, asked.filters)
        _require(attempt, asked, store.now())
        receipt = await _signed(attempt, asked, store.now())
        if asked.prints:
            assert receipt is not None
            return show(streams, [written(receipt)])
        if not asked.yes:
            await require_yes(open_terminal(), question(attempt, asked, store.now()))
        try:
            answer = await apply_decision(store.ledger, attempt, asked, receipt, store.now)
        except KeyboardInterrupt:
            say(f"interrupted: it may be decided or not, and show {attempt.attempt_id} tells")
            raise
        return show(streams, _outcome(answer, attempt, asked.choice))


def _require(attempt: Attempt, asked: Resolution, now: float) -> None:
    possible = choices(attempt, now)
    if asked.choice in possible:
        return
    name = f"attempt {attempt.attempt_id}"
    if is_live(attempt, now):
        until = f"until {utc(attempt.lease_expires_at)}"
        raise Undone(
            f"{name}: somebody may be at it: its lease on host {attempt.host} is live {until}; nothing is decided"
        )
    if not possible:
        # A receipt for another try stands by the attempt that it let in; that one may have ended by itself.
        receipt = receipt_of(attempt, result=False) or {}
        decided = f", decided{_by_whom(attempt)}" if receipt.get("decision") == attempt.state else ""
        raise Undone(f"{name}: nothing has to be decided: it is {attempt.state}{decided}")
    if asked.choice == "release":
        told = "the world may have seen it, so it can't be released"
    elif asked.choice == "retry":
        told = (
            "nobody asks for it again"
            if not attempt.deduplicates
            else "it never started: whoever claims its key runs it"
        )
    else:
        told = "it never started, so there is nothing to decide"
    raise Undone(f"{name}: {told}; what can be decided: {', '.join(possible)}")


def _by_whom(attempt: Attempt) -> str:
    receipt = receipt_of(attempt, result=False)
    return "" if receipt is None else f" by {receipt.get('authorized_by')}"


async def _signed(attempt: Attempt, asked: Resolution, now: float) -> Receipt | None:
    if asked.choice == "release":
        return None
    assert asked.keys is not None
    assert asked.evidence is not None
    assert asked.by is not None
    decision: Decision = asked.choice
    try:
        receipt = receipt_for(
            attempt,
            decision,
            evidence=asked.evidence,
            authorized_by=asked.by,
            authorized_at=now,
            result=asked.result,
            nonce=asked.nonce,
        )
        if isinstance(receipt, LegacyReceipt):  # a signed receipt is of the same kind, which the checkers want to see
            return await sign_receipt(asked.keys, receipt, domain=asked.domain)
        return await sign_receipt(asked.keys, receipt, domain=asked.domain)
    except ReceiptError as error:
        hint = "; --domain names another one" if error.code == "unsigned" else ""
        raise Unusable(f"no receipt can be made: {error.detail}{hint}") from error
    except DefinitionError as error:
        raise Unusable(f"--domain {error.reason}") from error


def written(receipt: Receipt) -> str:
    """*receipt* as a line of JSON."""
    return json.dumps(receipt.to_json(), separators=(",", ":"))


async def require_yes(terminal: Terminal | str, lines: Sequence[str]) -> None:
    """Return if whoever sits at *terminal* agrees to what the *lines* say.

    Cancelled: nobody has agreed.

    Args:
        terminal: Where is asked; or why nobody can be.
        lines: What somebody has to know who is to agree.

    Raises:
        Unusable: Nobody can be asked.
        Undone: They do not agree.
    """
    nobody = terminal if isinstance(terminal, str) else "" if terminal.in_front else "this runs in the background"
    if isinstance(terminal, str) or nobody:
        raise Unusable(f"nobody can be asked whether to decide so ({nobody}); --yes decides unasked")
    try:
        terminal.forget_typed()
        await terminal.say("".join(f"{line}\n" for line in lines))
        await terminal.say(_PROMPT)
        answer = (await terminal.line() or "n").lower()
    except OSError as error:
        raise Unusable(f"the terminal is gone: {error.strerror}; nothing was decided") from error
    if answer not in ("y", "yes"):
        raise Undone("nothing was decided")


def question(attempt: Attempt, asked: Resolution, now: float) -> Sequence[str]:
    """What somebody has to know who is to agree."""
    rows = [
        ("attempt", f"{attempt.attempt_id}: {words(attempt, now)}"),
        ("tool", f"{attempt.tool_id} of tenant {attempt.tenant}"),
        ("key", key_of(attempt)),
        ("decision", f"{asked.choice}: {_AFTERWARDS[asked.choice]}"),
        ("result", asked.result),
        ("evidence", asked.evidence),
        ("by", asked.by),
    ]
    return [f"  {name:<11}{plain(text, _ALL)}" for name, text in rows if text is not None]


async def apply_decision(
    ledger: LedgerStore, attempt: Attempt, asked: Resolution, receipt: Receipt | None, now: Callable[[], float]
) -> Answer:
    """Release *attempt*, or do what *receipt* decided about it, if it still stands there as it was found.

    Cancelled: it is done, or is not; the store tells.

    Raises:
        Undone: It does not.
    """
    # Looked at again: somebody may have decided while we waited for an answer.
    found = await ledger.load(attempt.key)
    if found is None or found.attempt_id != attempt.attempt_id:
        return FenceLost(found)
    _require(found, asked, now())
    if found.receipt != attempt.receipt:
        return Refused(f"it was decided{_by_whom(found)}")
    if receipt is None:
        operation = release_of(found, now())
        return Refused("somebody may be at it") if operation is None else await ledger.apply(operation)
    assert asked.keys is not None
    try:
        return await decide(ledger, asked.keys, receipt, domain=asked.domain)
    except ReceiptError:  # it was made for this attempt and signed with these keys: another one is there by now
        return FenceLost(await ledger.load(attempt.key))


def _outcome(answer: Answer, attempt: Attempt, choice: Choice) -> list[str]:
    """What came of it, in words.

    Raises:
        Undone: Nothing.
    """
    name = f"attempt {attempt.attempt_id}"
    match answer:
        case Done(after) if choice == "release" and after.granted:
            return [plain(f"{name} is released: its key stands as before it was claimed"), plain(words_of(after))]
        case Done() if choice == "release":
            return [plain(f"{name} is released: {_AFTERWARDS['release']}")]
        case Done(after):
            return [plain(f"{name} is decided: {choice}: {_AFTERWARDS[choice]}"), plain(words_of(after))]
        case FenceLost():
            raise Undone(taken(name, answer))
        case _:
            reason = answer.reason if isinstance(answer, Refused) else f"the ledger answered {answer}"
            raise Undone(f"{name}: somebody was faster, and nothing is decided here: {reason}")


def taken(name: str, lost: FenceLost) -> str:
    """What is said of an attempt, called *name*, that is not there any more."""
    other = lost.attempt
    gone = "it was released or forgotten"
    if other is not None:
        gone = f"attempt {other.attempt_id} (number {other.number}) took its place"
    return f"{name} is not there any more: {gone}; nothing was decided"
