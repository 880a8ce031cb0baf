"""What callers ask of a journal and of buckets, looked at before anything is done: no wrong type is taken for another."""

from __future__ import annotations

from typing import Final

from ..buckets import Rate
from ..definitions._checks import count, filters, instant, members, past, seconds, shown, text
from ..errors import DefinitionError
from ..journal import Publication

_JOURNAL: Final = "journal"
_BUCKETS: Final = "buckets"


def check_publications(value: object) -> None:
    """What `JournalStore.append` is to keep.

    Raises:
        DefinitionError: It is no list of publications, or a field of one of them is of a wrong type.
    """
    for index, each in enumerate(members(_JOURNAL, "publications", value, "Publication objects")):
        if not isinstance(each, Publication):
            raise DefinitionError(_JOURNAL, f"publications[{index}]", f"must be a Publication, not {shown(each)}")
        if each.at == each.at:  # a clock that says no time says NaN, which is the clock's own trouble
            instant(_JOURNAL, f"publications[{index}].at", each.at)
        for field, said in (("host", each.host), ("execution_id", each.execution_id), ("snapshot", each.snapshot)):
            text(_JOURNAL, f"publications[{index}].{field}", said)
        count(_JOURNAL, f"publications[{index}].revision", each.revision, least=0)


def check_page(after: object, limit: object, execution_id: object) -> None:
    """What `JournalStore.read` is asked for.

    Raises:
        DefinitionError: One of them is of a wrong type, or too small.
    """
    count(_JOURNAL, "after", after, least=0)
    count(_JOURNAL, "limit", limit)
    filters(_JOURNAL, {"execution_id": execution_id})


def check_before(value: object, now: float) -> float:
    """What `JournalStore.forget` is asked for at the time *now*.

    Raises:
        DefinitionError: It is no instant, or one in the future.
    """
    return past(_JOURNAL, "before", value, now)


def check_taking(bucket: object, rate: object, most: object) -> None:
    """What `BucketStore.take` is asked for.

    Raises:
        DefinitionError: One of them is of a wrong type, or too small.
    """
    text(_BUCKETS, "bucket", bucket)
    if not isinstance(rate, Rate):
        raise DefinitionError(_BUCKETS, "rate", f"must be a Rate, not {shown(rate)}")
    seconds(_BUCKETS, "rate.interval", rate.interval, zero=False)
    count(_BUCKETS, "rate.burst", rate.burst)
    count(_BUCKETS, "most", most)
