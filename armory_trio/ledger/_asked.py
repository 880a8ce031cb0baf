"""What callers ask of the attempts, looked at before a store does anything: no wrong type is taken for another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast, get_args

from ..definitions._checks import count, filters, past, shown, some_of, text
from ..errors import DefinitionError
from ._attempts import AttemptState, LedgerKey
from ._operations import Claim, Operation

_OPERATIONS: Final[tuple[type, ...]] = get_args(Operation)
_STATES: Final[tuple[str, ...]] = get_args(AttemptState)
_SUBJECT: Final = "ledger"


def check_operation(operation: object) -> None:
    """Refuse what is no operation on the attempt of a key.

    Raises:
        DefinitionError: It is none, or its key is of a wrong type.
    """
    if not isinstance(operation, _OPERATIONS):
        words = ", ".join(each.__name__ for each in _OPERATIONS)
        raise DefinitionError(_SUBJECT, "operation", f"must be one of {words}, not {shown(operation)}")
    if not isinstance(operation, Claim):
        check_key_text(cast("object", getattr(operation, "key_text", None)))
    elif not isinstance(operation.key, LedgerKey):  # pyright: ignore[reportUnnecessaryIsInstance]  # as Keep
        raise DefinitionError(_SUBJECT, "key", f"must be a LedgerKey, not {shown(operation.key)}")


def check_key_text(value: object) -> None:
    """Refuse what is not the text of a key.

    Raises:
        DefinitionError: It is of another type.
    """
    text(_SUBJECT, "key_text", value)


def check_page(states: object, limit: object, sought: Mapping[str, object]) -> frozenset[AttemptState] | None:
    """What `LedgerStore.list` is asked for; answers the states, None for all of them.

    Args:
        states: The states.
        limit: How many at most.
        sought: Everything else, by the names of the arguments: text, or None for any.

    Raises:
        DefinitionError: One of them is of a wrong type, or no state.
    """
    count(_SUBJECT, "limit", limit)
    filters(_SUBJECT, sought)
    if states is None:
        return None
    return cast("frozenset[AttemptState]", some_of(_SUBJECT, "states", states, _STATES))


def check_ended_before(value: object, now: float) -> float:
    """What `LedgerStore.forget` is asked for at the time *now*.

    Raises:
        DefinitionError: It is no instant, or one in the future.
    """
    return past(_SUBJECT, "ended_before", value, now)
