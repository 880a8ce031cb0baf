"""What a host says about an import, and about single operations of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypedDict, cast

import attrs
import msgspec

from ...definitions import EffectDeclaration, EffectSpec, EffectTarget, ExecutionDeclarations, near
from ...definitions._checks import count, flag, members, seconds, shown, text
from ...definitions._effects import parse_effect
from ...errors import DefinitionError
from ._json import is_object

__all__ = (
    "ImportSettings",
    "OperationInfo",
    "OperationOptions",
    "Selection",
    "Settings",
    "effect_of",
    "settings_of",
)

_SUBJECT: Final = "toolbox_from_openapi"
_READING: Final = frozenset({"get", "head", "options", "trace"})


class OperationInfo(msgspec.Struct, frozen=True):
    """One operation of a document, as far as it can be chosen by.

    Args:
        method: In upper case.
        path: As the document has it.
        operation_id: The document's own name for it; None if it has none.
        tags: As the document has them.
        deprecated: Whether the document says so.
    """

    method: str
    path: str
    operation_id: str | None
    tags: tuple[str, ...]
    deprecated: bool

    @property
    def place(self) -> str:
        """``GET /pets``."""
        return f"{self.method} {self.path}"


@attrs.frozen(kw_only=True)
class OperationOptions:
    """What a host says about one operation, over what follows from the document.

    Args:
        name: The name of the tool.
        effect: What it does to the world; by default that follows from the method.
        sends_key: The call's idempotency key is sent as the header ``Idempotency-Key``: the far side knows it.
        requires_approval: A person has to agree to each call.
        check_response: Whether what comes back is held against the document.
        execution: How the tool is run: timeout, groups, policy, ``idempotency_key`` and so on.

    Raises:
        DefinitionError: One of them is not legal.
    """

    name: str | None = None
    effect: EffectSpec | None = None
    sends_key: bool = False
    requires_approval: bool = False
    check_response: bool = True
    execution: ExecutionDeclarations = attrs.field(factory=ExecutionDeclarations, repr=False)

    def __attrs_post_init__(self) -> None:
        subject = "OperationOptions"
        if self.name is not None:
            text(subject, "name", self.name, blank=False)
        if self.effect is not None:
            parse_effect(self.effect)
        for field in ("sends_key", "requires_approval", "check_response"):
            flag(subject, field, getattr(self, field))
        if not isinstance(cast("object", self.execution), Mapping):
            raise DefinitionError(subject, "execution", f"must be a dict of declarations, not {shown(self.execution)}")


class ImportSettings(TypedDict, total=False):
    """Settings of a whole import.

    Args:
        namespace: That of all tools.
        timeout: How long a call of one may take, in seconds; None for ever. By default 60.
        max_response_bytes: How much of a response is read, once decompressed. By default a million.
        max_schemas: How many schemas the arguments or the result of one operation may need beside each other; what lies
            beyond, farthest from the root, takes any value. By default 500.
        check_responses: Whether what comes back is held against the document. By default it is.
        follow_redirects: Whether a redirect of a tool that only looks is followed to the same server. By default it is;
            none is ever followed to another one.
        untrusted: Whether results are marked as words of others. By default they are.
        base: What other documents call this one, so that they can refer to it.
    """

    namespace: str
    timeout: float | None
    max_response_bytes: int
    max_schemas: int
    check_responses: bool
    follow_redirects: bool
    untrusted: bool
    base: str


class Settings(msgspec.Struct, frozen=True):
    """`ImportSettings`, filled in and checked."""

    namespace: str = "default"
    timeout: float | None = 60.0
    max_response_bytes: int = 1_000_000
    max_schemas: int = 500
    check_responses: bool = True
    follow_redirects: bool = True
    untrusted: bool = True
    base: str = ""


def settings_of(given: ImportSettings) -> Settings:
    """Check *given* and fill it in.

    Raises:
        DefinitionError: A setting does not exist, or is not legal.
    """
    known = Settings.__struct_fields__
    for name in given:
        if name not in known:
            hint = near(name, known, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else f"; there are {', '.join(known)}"
            raise DefinitionError(_SUBJECT, name, f"there is no such setting{meant}")
    settings = Settings(**given)
    for name in ("namespace", "base"):
        text(_SUBJECT, name, getattr(settings, name))
    for name in ("check_responses", "follow_redirects", "untrusted"):
        flag(_SUBJECT, name, getattr(settings, name))
    for name in ("max_response_bytes", "max_schemas"):
        count(_SUBJECT, name, getattr(settings, name))
    if settings.timeout is not None:
        seconds(_SUBJECT, "timeout", settings.timeout, zero=False, optional=True)
    return settings


class Selection:
    """Which operations are imported, and what the host says about each.

    Operations are named by their ``operationId``, as ``GET /pets``, or by their path.
    """

    def __init__(self, include: object, exclude: object, filter: object, options: object) -> None:
        wanted = "operations, such as ('listPets', 'GET /pets/{id}')"
        self._include = None if include is None else _words("include", members(_SUBJECT, "include", include, wanted))
        self._exclude = _words("exclude", members(_SUBJECT, "exclude", exclude, wanted))
        self._filter = cast("Callable[[OperationInfo], object] | None", filter)
        self._named: Mapping[str, object] = options if is_object(options) else {}
        self._asked = cast("Callable[[OperationInfo], object]", options) if callable(options) else None
        if filter is not None and not callable(filter):
            raise DefinitionError(_SUBJECT, "filter", f"must be a function of an operation, not {shown(filter)}")
        if options is not None and not is_object(options) and not callable(options):
            wanted = "a mapping of operations to OperationOptions, or a function of an operation"
            raise DefinitionError(_SUBJECT, "options", f"must be {wanted}, not {shown(options)}")

    def require_known(self, operations: Iterable[OperationInfo]) -> None:
        """Refuse names that no operation has.

        Raises:
            DefinitionError: One of *include*, *exclude* or *options* names no operation.
        """
        known = {name for operation in operations for name in _names(operation)}
        said: tuple[tuple[str, Iterable[str]], ...] = (
            ("include", self._include or ()),
            ("exclude", self._exclude),
            ("options", self._named),
        )
        for field, names in said:
            for name in names:
                if name not in known:
                    hint = near(name, known, 1)
                    meant = f"; did you mean {hint[0]!r}?" if hint else ""
                    raise DefinitionError(_SUBJECT, field, f"the document has no operation {name!r}{meant}")

    def takes(self, operation: OperationInfo) -> bool:
        """Whether *operation* is imported."""
        names = _names(operation)
        if self._include is not None and not self._include & names:
            return False
        if self._exclude & names:
            return False
        return self._filter is None or bool(self._filter(operation))

    def options_of(self, operation: OperationInfo) -> OperationOptions:
        """What the host says about *operation*.

        Raises:
            DefinitionError: It is no `OperationOptions`.
        """
        found = next((self._named[name] for name in _names(operation) if name in self._named), None)
        if self._asked is not None:
            found = self._asked(operation)
        if found is None:
            return OperationOptions()
        if not isinstance(found, OperationOptions):
            raise DefinitionError(
                _SUBJECT, f"options of {operation.place}", f"must be OperationOptions, not {shown(found)}"
            )
        return found


def _words(field: str, given: list[object]) -> frozenset[str]:
    for index, name in enumerate(given):
        text(_SUBJECT, f"{field}[{index}]", name, blank=False)
    return frozenset(map(str, given))


def _names(operation: OperationInfo) -> frozenset[str]:
    own = () if operation.operation_id is None else (operation.operation_id,)
    return frozenset((operation.place, operation.path, *own))


def effect_of(method: str, origin: str, options: OperationOptions) -> EffectDeclaration:
    """What an operation does to the world: as the host says, or as its method means."""
    if options.effect is not None:
        return parse_effect(options.effect)
    if method in _READING:
        return EffectDeclaration("read-only")
    target = EffectTarget("service", origin[:255])
    return EffectDeclaration("destructive" if method == "delete" else "external-write", (target,))
