"""Telling what claims would do before they are requested, without touching anything. Pure: no trio, no clock, no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ._claims import Claim, Limits
from ._dispatch import Dispatcher
from ._resources import Resource


def would_wait(dispatcher: Dispatcher, claims: Iterable[Claim]) -> int:
    """See `Planner.would_wait`."""
    taken: Counter[str] = Counter()
    touched: dict[str, bool] = {}
    """What earlier ones of *claims* read, or write, whether or not they would wait."""
    owners = dispatcher.owners
    lines = {owner: {needs for parent, needs in known.lines if parent is None} for owner, known in owners.items()}
    waiting = 0
    for claim in claims:
        mine = lines.setdefault(claim.owner, set())
        if _is_in_the_way(claim, dispatcher.resources, touched):
            waiting += 1  # at a resource, not in a line: it lets others of its kind pass
        elif claim.needs in mine or any(_free(dispatcher.limits, name) <= taken[name] for name in claim.needs):
            waiting += 1
            mine.add(claim.needs)
        else:
            taken.update(claim.needs)
        for name, write in claim.uses:
            touched[name] = write or touched.get(name, False)
    return waiting


def _is_in_the_way(claim: Claim, resources: Mapping[str, Resource], touched: Mapping[str, bool]) -> bool:
    for name, write in claim.uses:
        if name in touched and (write or touched[name]):
            return True
        resource = resources.get(name)
        if resource is None:
            continue
        if next(resource.holders_in_the_way(claim, write=write), None) is not None:
            return True
        if next(resource.waiters_in_the_way(claim, write=write), None) is not None:
            return True
    return False


def _free(limits: Limits, name: str) -> int:
    limit = limits.by_name.get(name)
    if limit is not None:
        return limit.spare(None)
    size = limits.families.get(name.partition(":")[0])
    if size is None:
        raise LookupError(f"no limit {name!r} was set: call set_limit({name!r}, size) before it is needed")
    return size
