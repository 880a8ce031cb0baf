"""What may be decided about a call, how decisions are joined, and how a hook's answer is read.

Verdicts form a lattice, Deny over Ask over Allow. Whatever contradicts itself or can't be understood is a denial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, cast, get_args

import msgspec

from ..definitions._canonical import freeze_json, thaw_json
from ..definitions._checks import near, one_of, shown, text
from ..errors import DefinitionError, JsonError

AskKind = Literal["approval", "input"]
"""Whether a person has to agree, or has to say something that the arguments lack."""

DENIED: Final = "Policy denied"
"""The reason of a denial that gives none."""

_ASKED: Final[Mapping[AskKind, str]] = {
    "approval": "Tool execution requires approval",
    "input": "Tool execution requires input",
}
_KIND_OF_STATUS: Final[Mapping[str, AskKind]] = {"needs_approval": "approval", "needs_input": "input"}
_STATUSES: Final = ("allow", "deny", *_KIND_OF_STATUS)
_MEMBERS: Final = ("allow", "status", "reason", "action", "capabilities")
_EVERY: Final = "*"
"""In a list of capabilities: leave all that the request has."""


class Allow(msgspec.Struct, frozen=True):
    """Nothing speaks against the call.

    Args:
        capabilities: Those that are left to the call; None leaves what the request has. Naming more adds none.

    Raises:
        DefinitionError: The capabilities are no set of names.
    """

    capabilities: frozenset[str] | None = None

    def __post_init__(self) -> None:
        _settle_capabilities(self, self.capabilities)


class Ask(msgspec.Struct, frozen=True):
    """The call waits for a person.

    Args:
        reason: Why, for people and for the log.
        kind: ``approval``, or ``input`` for something that the arguments lack.
        message: What the person reads; by default the reason.
        schema: A JSON Schema of what the person may fill in, or None.
        capabilities: Those that are left to the call, as in `Allow`.

    Raises:
        DefinitionError: A value has the wrong type.
    """

    reason: str = ""
    kind: AskKind = "approval"
    message: str = ""
    schema: Mapping[str, object] | None = None
    capabilities: frozenset[str] | None = None

    def __post_init__(self) -> None:
        one_of("Ask", "kind", self.kind, get_args(AskKind))
        text("Ask", "reason", self.reason)
        text("Ask", "message", self.message)
        _settle_capabilities(self, self.capabilities)
        reason = _sayable(self.reason) if self.reason.strip() else _ASKED[self.kind]
        msgspec.structs.force_setattr(self, "reason", reason)
        msgspec.structs.force_setattr(self, "message", _sayable(self.message) if self.message.strip() else reason)
        if self.schema is not None:
            msgspec.structs.force_setattr(self, "schema", _frozen("Ask", "schema", self.schema))

    def action(self) -> dict[str, object]:
        """What the person is asked for, as a JSON object: ``type``, ``message``, and ``schema`` if there is one."""
        asked: dict[str, object] = {"type": self.kind, "message": self.message}
        return asked if self.schema is None else {**asked, "schema": thaw_json(self.schema)}


class Deny(msgspec.Struct, frozen=True):
    """The call does not run.

    Args:
        reason: Why, for the model and for people.

    Raises:
        DefinitionError: The reason is no text.
    """

    reason: str = DENIED

    def __post_init__(self) -> None:
        text("Deny", "reason", self.reason)
        msgspec.structs.force_setattr(self, "reason", _sayable(self.reason) if self.reason.strip() else DENIED)


class Edit(msgspec.Struct, frozen=True):
    """The call is to run with other arguments. They are validated and judged from the start, once.

    An edit that changes nothing is no objection. It is no verdict: what it says is looked at before any are joined.

    Args:
        arguments: All of them, not only those that change. They are copied.

    Raises:
        DefinitionError: They are no JSON object.
    """

    arguments: Mapping[str, object]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "arguments", _frozen("Edit", "arguments", self.arguments))


Verdict = Allow | Ask | Deny
"""A point of the lattice."""

Decision = Allow | Ask | Deny | Edit
"""What a hook may decide."""


def combine(*verdicts: Verdict) -> Verdict:
    """The strictest of *verdicts*: a denial over a question over an allowance; `Allow` when there are none.

    Of several that are equally strict the first one gives its words. Capabilities are those that all of them leave.
    """
    strictest: Allow | Ask = Allow()
    capabilities: frozenset[str] | None = None
    for verdict in verdicts:
        if isinstance(verdict, Deny):
            return verdict
        if not isinstance(cast("object", verdict), Allow | Ask):
            return _unclear(f"it is of type {type(verdict).__name__}, not a verdict")
        capabilities = narrowed(capabilities, verdict.capabilities)
        if isinstance(verdict, Ask) and isinstance(strictest, Allow):
            strictest = verdict
    if strictest.capabilities == capabilities:
        return strictest
    return msgspec.structs.replace(strictest, capabilities=capabilities)


def narrowed(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """What two of them leave, where None leaves all."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def read_decision(answer: object) -> Decision:
    """Read what a hook answered. Nothing that can't be understood lets a call pass.

    Understood are None (no objection), True, False, `Allow`, `Ask`, `Deny`, `Edit`, and a mapping of ``allow``,
    ``status`` (``allow``, ``deny``, ``needs_approval``, ``needs_input``), ``reason``, ``action`` (``message``,
    ``schema``) and ``capabilities``, in which ``allow`` or ``status`` must stand. Anything else is a denial that says
    what was not understood: an unknown member or status, or an ``allow`` that the status contradicts.
    """
    if answer is None or answer is True:
        return Allow()
    if answer is False:
        return Deny()
    try:
        if isinstance(answer, Decision):
            return answer
        if not isinstance(answer, Mapping):
            return _unclear(f"it is of type {type(answer).__name__}")
        given = dict(cast("Mapping[object, object]", answer))
        return _decided({key: value for key, value in given.items() if value is not None})
    except DefinitionError as error:
        return _unclear(f"{error.field}: {error.reason}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001, ASYNC103  # code of the answer's own, in which nothing is awaited
        return _unclear(f"reading it raised {name_of(error)}")  # noqa: ASYNC104  # one that can't be read allows nothing


def _decided(given: dict[object, object]) -> Verdict:
    _known("", given, _MEMBERS)
    status, allow = given.get("status"), given.get("allow")
    if status is None and allow is None:
        raise DefinitionError("decision", "status", f"is missing, and so is allow; it may be {', '.join(_STATUSES)}")
    if allow is not None and not isinstance(allow, bool):
        raise DefinitionError("decision", "allow", f"must be True or False, not {shown(allow)}")
    if status is None:
        status = "allow" if allow else "deny"
    one_of("decision", "status", status, _STATUSES)
    if allow is not None and allow is not (status == "allow"):
        raise DefinitionError("decision", "allow", f"{allow} contradicts the status {status!r}")
    return _said(str(status), given)


def _said(status: str, given: dict[object, object]) -> Verdict:
    reason = cast("str", given.get("reason", ""))
    action = given.get("action", {})
    capabilities = _capabilities(given.get("capabilities"))
    kind = _KIND_OF_STATUS.get(status)
    if kind is None:
        if action:
            raise DefinitionError("decision", "action", f"contradicts the status {status!r}: nobody is asked")
        text("decision", "reason", reason)
        return Deny(reason) if status == "deny" else Allow(capabilities)
    if not isinstance(action, Mapping):
        raise DefinitionError("decision", "action", f"must be {{'message', 'schema'}}, not {shown(action)}")
    asked = {key: value for key, value in cast("Mapping[object, object]", action).items() if value is not None}
    _known("action.", asked, ("type", "message", "schema"))
    if asked.get("type", kind) != kind:
        raise DefinitionError("decision", "action.type", f"{shown(asked['type'])} contradicts the status {status!r}")
    schema = cast("Mapping[str, object] | None", asked.get("schema"))
    return Ask(reason, kind, cast("str", asked.get("message", "")), schema, capabilities)


def _known(prefix: str, given: Iterable[object], legal: tuple[str, ...]) -> None:
    for key in given:
        if key not in legal:
            hint = near(key, legal, 1) if isinstance(key, str) else ()
            meant = f" (did you mean {hint[0]!r}?)" if hint else f"; legal are {', '.join(legal)}"
            raise DefinitionError("decision", f"{prefix}{key}" if isinstance(key, str) else "key", f"is unknown{meant}")


def _capabilities(value: object) -> frozenset[str] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple | set | frozenset):
        raise DefinitionError("decision", "capabilities", f"must be a list of names, not {shown(value)}")
    found = _names("decision", cast("Iterable[object]", value))
    return None if _EVERY in found else found


def _settle_capabilities(verdict: Allow | Ask, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, set | frozenset):
        raise DefinitionError(type(verdict).__name__, "capabilities", f"must be a set of names, not {shown(value)}")
    names = _names(type(verdict).__name__, cast("Iterable[object]", value))
    msgspec.structs.force_setattr(verdict, "capabilities", names)


def _names(subject: str, value: Iterable[object]) -> frozenset[str]:
    found: set[str] = set()
    for name in value:
        text(subject, "capabilities", name, blank=False)
        found.add(str(name))
    return frozenset(found)


def _frozen(subject: str, field: str, value: object) -> object:
    if not isinstance(value, Mapping):
        raise DefinitionError(subject, field, f"must be a JSON object, not {shown(value)}")
    try:
        return freeze_json(cast("object", value), root=field)
    except JsonError as error:
        raise DefinitionError(subject, field, str(error)) from error


def _sayable(words: str) -> str:
    """*words* as every encoder takes them: half a character is spelled out."""
    return str.encode(words, "utf-8", "backslashreplace").decode()


def name_of(value: object) -> str:
    """What the class of *value* is called, which may be the user's and have code of its own."""
    try:
        return _sayable(type(value).__name__)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001, ASYNC103  # as said; nothing is awaited
        return "something without a name"  # noqa: ASYNC104  # as said


def _unclear(what: str) -> Deny:
    return Deny(f"{DENIED}: the answer of a policy hook is not understood: {what}")
