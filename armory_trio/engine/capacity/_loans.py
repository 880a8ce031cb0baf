"""Slots that are lent: what an ancestor holds, one descendant at a time may use meanwhile. Pure."""

from __future__ import annotations

from typing import Final

from ._claims import HELD, Claim, Limit, Line

NO_LOANS: Final[dict[str, Claim]] = {}
"""What nearly every claim borrows. Never changed."""


def lender_for(claim: Claim, limit: Limit, line: Line | None) -> Claim | None:
    """The nearest ancestor of *claim*, waiting in *line* if in any, that may lend it a slot of *limit* now.

    What those that have reserved *limit* before it could borrow is kept for them.
    """
    reservers = limit.reserved_before(line) if limit.reservers else ()
    for above in claim.ancestors():
        if above.standing is not HELD or limit.name not in above.needs or borrower_of(above, limit.name) is not None:
            continue
        if not any(reserver.head.is_below(above) for reserver in reservers):
            return above
    return None


def tokens_above(claim: Claim, name: str) -> list[tuple[Claim, Claim | None]]:
    """The slots of limit *name* that ancestors of *claim* could lend to it, each with who has borrowed it now."""
    tokens: list[tuple[Claim, Claim | None]] = []
    for above in claim.ancestors():
        if above.standing is HELD and name in above.needs:
            borrower = borrower_of(above, name)
            if borrower is None or not claim.is_below(borrower):
                tokens.append((above, borrower))
    return tokens


def borrower_of(claim: Claim, name: str) -> Claim | None:
    """Who has borrowed the slot of limit *name* that *claim* has."""
    return None if claim.lent is None else claim.lent.get(name)


def lend(lender: Claim, name: str, borrower: Claim) -> None:
    """*borrower* has the slot of limit *name* that *lender* has, until either ends."""
    if lender.lent is None:
        lender.lent = {}
    lender.lent[name] = borrower
    if borrower.borrowed is None:
        borrower.borrowed = {}
    borrower.borrowed[name] = lender


def hand_back(claim: Claim, limit: Limit) -> Claim | None:
    """*claim* ended, and with it its use of one slot of *limit*.

    A slot that it has lent stays with the borrower, who owes it to the lender of *claim* then, or owns it.

    Returns:
        The lender who has the slot back; *claim* itself when the slot is free; None when somebody still uses it.
    """
    lender = None if claim.borrowed is None else claim.borrowed.pop(limit.name, None)
    borrower = None if claim.lent is None else claim.lent.pop(limit.name, None)
    if lender is None:
        del limit.owners[claim]
    elif lender.lent is not None:
        del lender.lent[limit.name]
    if borrower is None:
        return lender or claim
    if lender is not None:
        lend(lender, limit.name, borrower)
    else:
        limit.owners[borrower] = None
        if borrower.borrowed is not None:
            del borrower.borrowed[limit.name]
    return None
