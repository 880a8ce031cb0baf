"""A process that measures on request: one line of JSON in, one line of JSON out.

Only the standard library is used here, since the environment is that of the package that is measured. First the worker
says who it is; then it answers each ``{"measure": NAME, "count": N}`` with the sample, or with what went wrong, and
ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import metadata
from typing import TextIO

from benchmarks._sample import Sample

Measure = Callable[[int], Sample]
"""Does so much of the work, and tells what it cost."""


def serve(distribution: str, apis: Mapping[str, str], measures: Mapping[str, Measure]) -> None:
    """Answer requests until there are no more.

    Args:
        distribution: The package that is measured, as its installer calls it.
        apis: What of it is called, for each measure. It may name measures that `measures` lacks: there it says why.
        measures: What can be measured.
    """
    replies = _private_output()
    _say(replies, {"distribution": distribution, "version": metadata.version(distribution), "apis": dict(apis)})
    for line in sys.stdin:
        request = json.loads(line)
        name = request["measure"]
        if name in measures:
            _say(replies, _answer(measures[name], request["count"]))
        else:
            _say(replies, {"error": apis.get(name, "it has nothing for this")})


def _private_output() -> TextIO:
    """What was stdout. Whatever anybody else prints there goes to stderr from now on."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _answer(measure: Measure, count: int) -> dict[str, object]:
    try:
        return {"sample": asdict(measure(count))}
    except Exception as error:  # noqa: BLE001  # whatever it is, the others are measured all the same
        return {"error": f"{type(error).__name__}: {error}"}


def _say(replies: TextIO, message: Mapping[str, object]) -> None:
    replies.write(f"{json.dumps(message)}\n")
    replies.flush()
