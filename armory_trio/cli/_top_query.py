"""What the user says that they want to see, as a query. Pure."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, get_args

import msgspec

from ..engine import State
from ..observability.live import Query

_STATES: Final = (*get_args(State), "live", "ended", "stuck", "slow", "all")
_FIELDS: Final = {"state": "states", "tool": "tools", "owner": "owners"}
_MOST: Final = 16


def filtered(query: Query, words: str) -> Query:
    """*query* for what *words* choose: ``state=active,tool=db_*,owner=run-7``, and text that ids or names contain.

    A field that is named again adds an alternative.

    Raises:
        ValueError: They can't be understood. The text says what would be right.
    """
    found: dict[str, list[str]] = {field: [] for field in _FIELDS.values()}
    text = ""
    for word in re.split(r"[,\s]+", words.strip()):
        name, equals, value = word.partition("=")
        if not equals:
            if text and word:
                raise ValueError(f"{text!r} and {word!r}: one text at most; the others are state=, tool= or owner=")
            text = word or text
            continue
        if name not in _FIELDS:
            raise ValueError(f"{name!r} is no field; they are state=, tool= and owner=")
        if not value:
            raise ValueError(f"{name}= names nothing; as {_EXAMPLES[name]}")
        if name == "state" and value not in _STATES:
            raise ValueError(f"{value!r} is no state; they are {', '.join(_STATES)}")
        found[_FIELDS[name]].append(value)
    for name, field in _FIELDS.items():
        if len(found[field]) > _MOST:
            raise ValueError(f"at most {_MOST} alternatives for {name}=")
    if any(len(value) > _LONGEST for value in (text, *chain.from_iterable(found.values()))):
        raise ValueError(f"a name or text has at most {_LONGEST} characters here; use * in a shorter one")
    return msgspec.structs.replace(
        query,
        text=text,
        offset=0,
        states=tuple(found["states"]),
        tools=tuple(found["tools"]),
        owners=tuple(found["owners"]),
    )


_LONGEST: Final = 200
_EXAMPLES: Final = {"state": "state=active", "tool": "tool=db_*", "owner": "owner=run-7"}
