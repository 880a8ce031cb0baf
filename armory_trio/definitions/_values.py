"""Values that a host hands to a call: on whose behalf it runs."""

from __future__ import annotations

import msgspec


class RequestContext(msgspec.Struct, frozen=True):
    """On whose behalf a call is made. Frozen before anything is decided, and only ever narrowed.

    Credentials do not belong here. ``capabilities`` None means that nothing was said about them.
    """

    principal: str | None = None
    tenant: str | None = None
    owner: str | None = None
    delegation: tuple[str, ...] = ()
    capabilities: frozenset[str] | None = None
    authorization_revision: str | None = None
    audience: str | None = None
    agent: str | None = None
    run: str | None = None
    session: str | None = None
    request: str | None = None


class ElicitRequest(msgspec.Struct, frozen=True):
    """A question from a running tool to a person.

    Args:
        execution_id: The execution that asks.
        call_id: The call that it answers.
        tool_name: Its tool.
        message: The question.
        schema: A JSON Schema for the content of an accepted answer, or None.
        url: A page where the person answers instead, or None.
    """

    execution_id: str
    call_id: str
    tool_name: str
    message: str
    schema: dict[str, object] | None = None
    url: str | None = None


class ElicitAccepted(msgspec.Struct, frozen=True, tag="accept", tag_field="action"):
    """The person answered. ``content`` fits the schema of the question, if it had one."""

    content: object = None


class ElicitDeclined(msgspec.Struct, frozen=True, tag="decline", tag_field="action"):
    """The person said no."""


class ElicitCancelled(msgspec.Struct, frozen=True, tag="cancel", tag_field="action"):
    """Nobody answered: dismissed, too late, or withdrawn because the host shuts down."""


ElicitAnswer = ElicitAccepted | ElicitDeclined | ElicitCancelled
