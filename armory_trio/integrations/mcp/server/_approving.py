"""Asking the person behind a client whether a call may run, while it waits."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, cast

from ....authority.policy import Deny
from ....definitions import (
    ApprovalRequest,
    ElicitAccepted,
    ElicitCancelled,
    ElicitDeclined,
    ElicitRequest,
    thaw_json,
)
from ....engine._keywords import Elicitor
from ....errors import ElicitationUnavailable

_ASKER: Final[ContextVar[Elicitor | None]] = ContextVar("armory_trio_mcp_asker", default=None)
"""What asks the client of the request in which a call was made; calls take it along to their tasks."""

_SHOWN: Final = 2_000
"""Characters of arguments that a person is shown; nobody agrees to more than that by reading."""

_FORM: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Allow this call"}},
    "required": ["approve"],
}


@contextmanager
def asking(elicit: Elicitor | None) -> Generator[None]:
    """Let *elicit* ask about the calls that are made in the block."""
    token = _ASKER.set(elicit)
    try:
        yield
    finally:
        _ASKER.reset(token)


async def ask_client(request: ApprovalRequest) -> bool | Deny:
    """Ask the person behind the MCP client that made a call whether it may run: an ``approval_handler``.

    A client that can put questions shows what would run, and why it is asked. Calls that came in another way, and those
    of clients that can put none, or that answer ``cancel`` or neither yes nor no, are refused as ``APPROVAL_UNAVAILABLE``: nobody said no.
    Cancelled: the question is withdrawn.

    Raises:
        ElicitationUnavailable: Nobody can be asked, or nobody answered, so that the call is refused.
    """
    elicit = _ASKER.get()
    if elicit is None:
        raise ElicitationUnavailable(f"{request.tool_name!r} needs an approval, and its client can put no questions")
    answer = await elicit(
        ElicitRequest(request.execution_id, request.call_id, request.tool_name, _words(request), dict(_FORM))
    )
    match answer:
        case ElicitAccepted(content=content):
            said = isinstance(content, Mapping) and cast("Mapping[str, object]", content).get("approve")
            if isinstance(said, bool):
                return said or Deny("the person behind the client did not agree")
            raise ElicitationUnavailable(
                f"{request.tool_name!r} needs an approval, and the client's answer is neither yes nor no"
            )
        case ElicitDeclined():
            return Deny("the person behind the client said no")
        case ElicitCancelled():
            reason = f"{request.tool_name!r} needs an approval, and the client gave no answer, whether or not it asked anybody"
            raise ElicitationUnavailable(reason)


def _words(request: ApprovalRequest) -> str:
    arguments = json.dumps(thaw_json(request.arguments), ensure_ascii=False)
    shown = arguments if len(arguments) <= _SHOWN else f"{arguments[:_SHOWN]}... ({len(arguments)} characters in all)"
    targets = f" on {', '.join(request.targets)}" if request.targets else ""
    effect = f" It counts as {request.effect}{targets}." if request.effect else ""
    return f"May the tool {request.tool_name!r} run?{effect}\n{request.question.reason}\nArguments: {shown}"
