"""Asking code of the host's about a tool. What raises has not answered: nobody can tell whether the tool is meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from ...definitions._checks import shown
from ...errors import DefinitionError
from .._resolution import AnyTool

A = TypeVar("A")
Answer = bool | None
"""Yes, no, or that nobody can tell."""

SUBJECT: Final = "query"


def answer_of(name: str, predicate: Callable[[A], object], asked: A) -> Answer:
    """Whether *predicate* says yes; None when it raises.

    Raises:
        DefinitionError: It is async, so it cannot be asked here.
    """
    try:
        answer = predicate(asked)
        if not inspect.isawaitable(answer):
            return bool(answer)
    except Exception:  # noqa: BLE001  # code of the host's own: what it cannot tell is not known
        return None
    _dismiss(answer)
    raise DefinitionError(SUBJECT, name, f"{shown(predicate)} is async, and a query does not wait; answer at once")


def is_available(tool: AnyTool, context: Mapping[str, object]) -> bool:
    """Whether *tool* is available in *context*. As everywhere, a hook that raises says no.

    Raises:
        DefinitionError: Its hook is async, so it cannot be asked here.
    """
    hook = tool.options.availability
    if hook is None:
        return True
    try:
        answer = hook(context)
    except (Exception, SystemExit):  # noqa: BLE001  # a hook that cannot tell says no
        return False
    if not inspect.isawaitable(answer):
        return answer is True
    _dismiss(answer)
    reason = f"the hook of {tool.id} is async; query what `await toolbox.available(context)` answers instead"
    raise DefinitionError(SUBJECT, "available_in", reason)


def _dismiss(answer: object) -> None:
    if inspect.iscoroutine(answer):
        answer.close()  # or Python warns that nobody awaited it
