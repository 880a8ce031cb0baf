"""What claims read and write: who holds it, and who goes first among those that wait. Pure: no trio, no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ._claims import Claim, Place, Queue


class Resource(Place):
    """Something that is read and written. All that wait for it stand in order of admission.

    ``inside`` are those waiting whose ancestors held it when they came, ``urgent`` those that need not heed the order. ``parked`` are
    those that wait for nothing else first, in groups of which only the front can go next.
    """

    __slots__ = ("inside", "parked", "readers", "urgent", "writers", "writing")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.readers: dict[Claim, None] = {}
        self.writers: dict[Claim, None] = {}
        self.writing = Queue()
        self.inside = Queue()
        self.parked: dict[Claim | None, Queue] = {}
        self.urgent: dict[Claim, None] = {}

    def hold(self, claim: Claim, *, write: bool) -> None:
        """*claim* reads or writes it from now on."""
        (self.writers if write else self.readers)[claim] = None

    def let_go(self, claim: Claim) -> None:
        """*claim* is done with it."""
        self.writers.pop(claim, None)
        self.readers.pop(claim, None)

    def is_held_by(self, claim: Claim) -> bool:
        """Whether *claim* reads or writes it now."""
        return claim in self.writers or claim in self.readers

    def is_late(self, claim: Claim) -> bool:
        """Whether claims that were admitted after *claim* wait already."""
        last = self.waiting.last()
        return last is not None and last.order > claim.order

    def enter(self, claim: Claim, *, write: bool) -> None:
        """*claim* waits from now on."""
        self.waiting.add(claim)
        if write:
            self.writing.add(claim)
        if any(map(self.is_held_by, claim.ancestors())):
            self.inside.add(claim)

    def leave(self, claim: Claim) -> None:
        """*claim* waits no longer."""
        self.waiting.discard(claim)
        self.writing.discard(claim)
        self.inside.discard(claim)
        self.urgent.pop(claim, None)

    def park(self, claim: Claim) -> None:
        """*claim* waits for nothing but this first."""
        group = claim if claim.urgent else claim.parent if claim in self.inside else None
        self.parked.setdefault(group, Queue()).add(claim)

    def unpark(self, claim: Claim) -> None:
        """*claim* is parked here no longer."""
        for group in (claim, claim.parent, None):
            queue = self.parked.get(group)
            if queue is not None:
                queue.discard(claim)
                if not queue:
                    del self.parked[group]

    def holders_in_the_way(self, claim: Claim, *, write: bool) -> Iterator[Claim]:
        """Who must end before *claim* may have it. What an ancestor holds is lent, so it is never in the way."""
        for holder in self.writers:
            if holder is not claim and not claim.is_below(holder):
                yield holder
        if write:
            for holder in self.readers:
                if holder is not claim and not claim.is_below(holder):
                    yield holder

    def holders_above(self, claim: Claim) -> list[Claim]:
        """The ancestors of *claim* that hold it."""
        return [each for each in claim.ancestors() if self.is_held_by(each)] if claim.parent is not None else []

    def waiters_in_the_way(self, claim: Claim, *, write: bool) -> Iterator[Claim]:
        """Who goes first by the order of admission, but for those that wait for an ancestor of *claim* here."""
        above = self.holders_above(claim)
        for waiter in self._earlier(above, write=write):
            if waiter.order >= claim.order:
                return
            if (write or waiter in self.writing) and not self.waits_for(waiter, above):
                yield waiter

    def _earlier(self, above: list[Claim], *, write: bool) -> Queue:
        """A queue that holds everybody who can be in the way, as short as is cheap to tell."""
        if not above:
            return self.waiting if write else self.writing
        if write and not any(each in self.writers for each in above):
            return self.waiting
        return self.writing if not write and len(self.writing) < len(self.inside) else self.inside

    def waits_for(self, waiter: Claim, above: list[Claim]) -> bool:
        """Whether *waiter* waits until one of *above*, who hold it, has ended."""
        writes = waiter in self.writing
        return any((writes or each in self.writers) and not waiter.is_below(each) for each in above)

    def is_idle(self) -> bool:
        """Whether nobody holds it or waits for it."""
        return not (self.readers or self.writers or self.waiting)


def blocking(claim: Claim, resources: Mapping[str, Resource]) -> Resource | None:
    """One of *resources* that *claim* must wait for."""
    for name, write in claim.uses:
        resource = resources.get(name)
        if resource is None:
            continue
        if next(resource.holders_in_the_way(claim, write=write), None) is not None:
            return resource
        if not claim.urgent and next(resource.waiters_in_the_way(claim, write=write), None) is not None:
            return resource
    return None
