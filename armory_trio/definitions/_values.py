"""Values that a host hands to a call: on whose behalf it runs, and what a person answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec
from msgspec.structs import force_setattr

from ..errors import DefinitionError, JsonError
from ._canonical import thaw_json
from ._checks import members, shown

Audience = Literal["public", "tenant", "operator"]
"""Who looks: anybody, the tenant whose work it is, whoever runs the host. From the one who may see least."""

_AUDIENCES: Final = ("public", "tenant", "operator")
_SUBJECT: Final = "RequestContext"
_NAMES: Final = (
    "principal",
    "tenant",
    "owner",
    "authorization_revision",
    "audience",
    "agent",
    "run",
    "session",
    "request",
)
_FIXED: Final = ("principal", "tenant", "owner", "authorization_revision", "agent", "run", "session")
"""What a narrower context has in common with the wider one. A run or a session that was not said is not to be said
later either: there are grants for a single run."""


class RequestContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """On whose behalf a call is made. Frozen, and only ever narrowed.

    Credentials do not belong here, and there is no place for them. None means that nothing was said: it gives no
    authority, and what was not said cannot be added by narrowing.

    Args:
        principal: Who wants it.
        tenant: In whose name, and with whose data.
        owner: Whom the work belongs to; see ``owner_id``.
        delegation: To whom the principal handed it on, the last one last. An empty chain is not the same as None.
        capabilities: What may be done, in the host's own words.
        authorization_revision: The state of the host's permissions at which this was decided.
        audience: Who will see what comes of it; ``public``, ``tenant`` and ``operator`` are known to be ordered.
        agent: The agent that asks.
        run: Its run.
        session: The conversation that the run is part of.
        request: The host's name for this request. It carries no authority.

    Raises:
        DefinitionError: A name is no text, is blank or holds half a character, or a list is none.
    """

    principal: str | None = None
    tenant: str | None = None
    owner: str | None = None
    delegation: tuple[str, ...] | None = None
    capabilities: frozenset[str] | None = None
    authorization_revision: str | None = None
    audience: str | None = None
    agent: str | None = None
    run: str | None = None
    session: str | None = None
    request: str | None = None

    def __post_init__(self) -> None:
        for field in _NAMES:
            value: object = getattr(self, field)
            if value is not None:
                force_setattr(self, field, _name(field, value))
        if self.delegation is not None:
            force_setattr(self, "delegation", tuple(_names("delegation", self.delegation)))
        if self.capabilities is not None:
            force_setattr(self, "capabilities", frozenset(_names("capabilities", self.capabilities)))

    def narrow(self, *, capabilities: Iterable[str] | None = None, audience: str | None = None) -> RequestContext:
        """The same with less authority: what a policy may decide.

        Args:
            capabilities: Those that may stay. What is not there already is not added.
            audience: Who may see it from now on, at most who might before. ``public`` is always narrow enough.

        Raises:
            DefinitionError: The audience would grow, or a value has the wrong type.
        """
        asked = RequestContext(
            capabilities=None if capabilities is None else frozenset(_names("capabilities", capabilities)),
            audience=audience,
        )
        return self.narrow_to(asked)

    def narrow_to(self, asked: RequestContext) -> RequestContext:
        """What a call that is made within this context, and says *asked*, has of it.

        What *asked* leaves out stays as it is here. Capabilities are those that both have; the chain of delegation may
        have grown at its end; the name of the request is free.

        Raises:
            DefinitionError: *asked* names somebody or something else than is named here, or a wider audience.
        """
        for field in _FIXED:
            mine, other = getattr(self, field), getattr(asked, field)
            if other is not None and other != mine:
                raise _wider(field, other, mine)
        chain = self.delegation or ()
        if asked.delegation is not None and asked.delegation[: len(chain)] != chain:
            raise _wider("delegation", asked.delegation, self.delegation)
        if asked.audience is not None and not _within(asked.audience, self.audience):
            raise _wider("audience", asked.audience, self.audience)
        return msgspec.structs.replace(
            self,
            delegation=self.delegation if asked.delegation is None else asked.delegation,
            capabilities=self.capabilities
            if asked.capabilities is None
            else asked.capabilities & (self.capabilities or frozenset()),
            audience=asked.audience or self.audience,
            request=asked.request or self.request,
        )

    def delegate(self, principal: str) -> RequestContext:
        """The same, handed on to *principal*, who now stands last in the chain.

        Raises:
            DefinitionError: *principal* is no name.
        """
        return msgspec.structs.replace(self, delegation=(*(self.delegation or ()), principal))

    def to_json(self) -> dict[str, object]:
        """A JSON object of what was said, the caller's to change; the capabilities are sorted."""
        said: dict[str, object] = {field: getattr(self, field) for field in self.__struct_fields__}
        if self.delegation is not None:
            said["delegation"] = list(self.delegation)
        if self.capabilities is not None:
            said["capabilities"] = sorted(self.capabilities)
        return {field: value for field, value in said.items() if value is not None}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> RequestContext:
        """Read what `to_json` wrote: the context is equal.

        Raises:
            JsonError: A member is unknown, such as a credential, or not what it has to be.
        """
        try:
            return msgspec.convert(thaw_json(document), cls)
        except msgspec.ValidationError as error:
            raise JsonError("unsupported-type", (), str(error), root="request_context") from error
        except DefinitionError as error:
            raise JsonError("unsupported-type", (error.field,), error.reason, root="request_context") from error


def _name(field: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DefinitionError(_SUBJECT, field, f"must be a name, or None if there is none; not {shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DefinitionError(_SUBJECT, field, f"{value!a} holds half a character (a lone surrogate)") from error
    return value if type(value) is str else str.__str__(value)


def _names(field: str, value: object) -> list[str]:
    found = members(_SUBJECT, field, value, "names")
    return [_name(f"{field}[{index}]", name) for index, name in enumerate(found)]


def _within(asked: str, mine: str | None) -> bool:
    """Whether the audience *asked* is no wider than *mine*."""
    if asked in (mine, _AUDIENCES[0]):
        return True
    return asked in _AUDIENCES and mine in _AUDIENCES and _AUDIENCES.index(asked) < _AUDIENCES.index(mine)


def _wider(field: str, asked: object, mine: object) -> DefinitionError:
    there = "nothing was said of it" if mine is None else f"it is {shown(mine)}"
    reason = f"{shown(asked)} is not within the context that this one is made of, where {there}; leave it out"
    return DefinitionError(_SUBJECT, field, reason)


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
