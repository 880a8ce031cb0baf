"""Toolboxes that are written down: in a manifest that names functions, and as the JSON of their definitions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, cast

from ..definitions import (
    Lifecycle,
    Process,
    Risk,
    Semantics,
    ToolDefinition,
    create_executable_tool,
    define_tool,
    is_tool,
    near,
    parse_json,
    tool,
)
from ..definitions._checks import members, named, names, shown, text, told
from ..errors import DefinitionError, JsonError
from ._importing import GetTool
from ._resolution import AnyTool
from ._toolbox import Toolbox

_WRITTEN: Final = {"revision": "revision", "policyRevision": "policy_revision", "approvalRevision": "approval_revision"}
"""The names of the revisions in JSON, and those of a toolbox."""

_OPTIONS: Final = (*_WRITTEN.values(), "default_timeout")
_TOP: Final = (*_OPTIONS, "context", "tools")
_CLASSES: Final = cast(
    "Mapping[str, Callable[..., object]]",
    {"risk": Risk, "lifecycle": Lifecycle, "semantics": Semantics, "placement": Process},
)
"""Declarations whose tables are the arguments of a class."""

_CODE: Final = ("availability", "policy", "policy_context", "idempotency_key", "reconcile", "reducer", "input")
"""Declarations that may name something in a module."""


def toolbox_from_manifest(
    path: str | Path, *, allow: Iterable[str] | None = None, context: Mapping[str, object] | None = None
) -> Toolbox:
    """The toolbox that the file at *path* describes: TOML or JSON, as its name ends.

    Reading a manifest imports the modules that it names, so runs code: *allow* says which.

    Args:
        path: The file. Its members are ``revision``, ``policy_revision``, ``approval_revision``, ``default_timeout``,
            ``context`` and ``tools``. Each tool has a ``function``, written ``module:qualname``, and the declarations
            of `Declarations` by their names; a ``Risk``, ``Lifecycle``, ``Semantics`` or ``Process`` is a table of
            its arguments; ``input``, ``availability``, ``policy``, ``policy_context``, ``idempotency_key``, ``reconcile``
            and ``reducer`` may be ``module:qualname``, too. A function that is a tool already has nothing declared beside it.
        allow: The modules that may be imported, with all inside them: ``["my_agent.tools"]``. None for any.
        context: Named values for the tools, over those of the file.

    Raises:
        DefinitionError: The file can't be read, or something in it is wrong; the error names the file, the entry and
            the field.
        DuplicateToolError: Two entries have one id.
    """
    if not isinstance(cast("object", path), str | Path):
        raise DefinitionError("toolbox_from_manifest", "path", f"must be text or a Path, not {shown(path)}")
    file = Path(path)
    manifest = _read(file)
    _only(str(file), "", manifest, _TOP)
    allowed = None if allow is None else names("toolbox_from_manifest", "allow", allow)
    entries = members(str(file), "tools", manifest.get("tools"), "tables, each with a function")
    tools = [_Entry(f"{file}: tools[{index}]", entry, allowed).made() for index, entry in enumerate(entries)]
    options = {field: value for field, value in manifest.items() if field in _OPTIONS}
    with named(str(file)):
        shared = _table(str(file), "context", manifest.get("context", {}))
        given = _table("toolbox_from_manifest", "context", {} if context is None else context)
        return Toolbox(tools, context={**shared, **given}, **options)  # type: ignore[arg-type]  # it checks them


def toolbox_to_json(toolbox: Toolbox) -> dict[str, object]:
    """See `Toolbox.to_json`."""
    return {
        **{written: getattr(toolbox, field) for written, field in _WRITTEN.items()},
        "defaultTimeout": toolbox.default_timeout,
        "tools": [each.definition.to_json() for each in toolbox],
    }


def toolbox_from_json(document: Mapping[str, object], get_tool: GetTool) -> Toolbox:
    """See `Toolbox.from_json`."""
    subject = "toolbox"
    given = _table(subject, "document", document)
    _only(subject, "", given, (*_WRITTEN, "defaultTimeout", "tools"))
    if not callable(cast("object", get_tool)):
        raise DefinitionError(subject, "get_tool", f"must be a function of a definition, not {shown(get_tool)}")
    entries = members(subject, "tools", given.get("tools"), "tool definitions")
    options = {field: given[written] for written, field in _WRITTEN.items() if written in given}
    tools: list[AnyTool] = []
    for index, entry in enumerate(entries):
        with named(f"toolbox: tools[{index}]"):
            tools.append(_joined(ToolDefinition.from_json(_table(subject, "document", entry)), get_tool))
    timeout = given.get("defaultTimeout")
    return Toolbox(tools, default_timeout=timeout, **options)  # type: ignore[arg-type]  # it checks them


def _joined(definition: ToolDefinition, get_tool: GetTool) -> AnyTool:
    subject = f"tool {definition.name!r}"
    found: object = get_tool(definition)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        reason = f"answers for {subject} what has to be awaited; answer lazy(...), which is loaded when it is called"
        raise DefinitionError(subject, "get_tool", reason)
    if is_tool(found):
        if found.definition != definition:
            raise DefinitionError(subject, "get_tool", f"answers {found!r}, whose definition is another one")
        return found
    if found is None:
        raise DefinitionError(subject, "get_tool", f"knows nothing that runs {definition.id}")
    return create_executable_tool(definition, None, cast("Callable[..., object]", found))


# ── one entry of a manifest ──────────────────────────────────────────────────────────────────────────────────────────


class _Entry:
    """One tool of a manifest. *subject* says where it stands."""

    def __init__(self, subject: str, entry: object, allowed: tuple[str, ...] | None) -> None:
        self.entry = dict(_table(subject, "entry", entry))
        name = self.entry.get("name", self.entry.get("function"))
        self.subject = f"{subject} ({name})" if isinstance(name, str) else subject
        self.allowed = allowed

    def made(self) -> AnyTool:
        """The tool that it describes."""
        if "function" not in self.entry:
            raise DefinitionError(self.subject, "function", 'is missing; write "module:qualname"')
        function = self.found("function", self.entry.pop("function"))
        if is_tool(function):
            if self.entry:
                reason = f"the function is a tool already; declare this where it is written, in {function.origin}"
                raise DefinitionError(self.subject, next(iter(self.entry)), reason)
            return function
        if "execute" in self.entry:
            raise DefinitionError(self.subject, "execute", "there is no such declaration; that is the function")
        declared = {field: self.value(field, said) for field, said in self.entry.items()}
        with named(self.subject):
            if "input" not in declared:
                return cast("Callable[..., AnyTool]", tool)(function, **declared)
            return cast("Callable[..., AnyTool]", define_tool)(execute=function, **declared)

    def value(self, field: str, said: object) -> object:
        """What is declared as *field*, made of what the file can say."""
        if field in _CLASSES and isinstance(said, Mapping):
            table = cast("Mapping[str, object]", said)
            make = _CLASSES[field]
            _only(self.subject, f"{field}.", table, tuple(inspect.signature(make).parameters))
            with named(self.subject, f"{field}."):
                return make(**table)
        return self.found(field, said) if field in _CODE and isinstance(said, str) else said

    def found(self, field: str, reference: object) -> object:
        """What *reference*, written ``module:qualname``, names."""
        import importlib  # noqa: PLC0415  # only who reads manifests pays for it

        text(self.subject, field, reference)
        module, colon, qualname = str(reference).partition(":")
        if not (module and colon and qualname):
            raise DefinitionError(self.subject, field, f'must be "module:qualname", not {shown(reference)}')
        if self.allowed is not None and not any(f"{module}.".startswith(f"{one}.") for one in self.allowed):
            there = ", ".join(self.allowed) or "none"
            raise DefinitionError(self.subject, field, f"{module} may not be imported here; allowed: {there}")
        try:
            place: object = importlib.import_module(module)
        except (Exception, SystemExit) as error:  # an import runs code: anything may go wrong in it
            reason = f"{module} can't be imported: {told(error)}"
            raise DefinitionError(self.subject, field, reason) from error
        for step in qualname.split("."):
            place = self.inside(field, module, place, step)
        return place

    def inside(self, field: str, module: str, place: object, step: str) -> object:
        """What *place*, in *module*, calls *step*: no other module, whatever is allowed, and no inner works of Python's."""
        if step.startswith("__"):
            raise DefinitionError(self.subject, field, f"{step!r} is Python's own; name what {module} defines")
        try:
            found: object = getattr(place, step)
        except AttributeError as error:
            hint = near(step, [name for name in dir(place) if not name.startswith("_")], 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else ""
            raise DefinitionError(self.subject, field, f"there is no {step!r} in {module}{meant}") from error
        except Exception as error:
            reason = f"looking {step!r} up in {module} raised {told(error)}"
            raise DefinitionError(self.subject, field, reason) from error
        if inspect.ismodule(found):
            reason = f'{step!r} is a module; name it before the colon, as in "{found.__name__}:..."'
            raise DefinitionError(self.subject, field, reason)
        return found


# ── reading files ────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(file: Path) -> Mapping[str, object]:
    kind = file.suffix.lower()
    if kind not in (".toml", ".json"):
        raise DefinitionError(str(file), "file", "is neither .toml nor .json")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DefinitionError(str(file), "file", f"can't be read: {error.strerror or error}") from error
    except ValueError as error:
        raise DefinitionError(str(file), "file", "can't be read: no file can have this name") from error
    return _table(str(file), "file", (_toml if kind == ".toml" else _json)(str(file), content))


def _toml(subject: str, content: bytes) -> object:
    import tomllib  # noqa: PLC0415  # only who reads manifests pays for it

    try:
        return tomllib.loads(content.decode())
    except ValueError as error:  # a TOMLDecodeError, which says the line, or bytes that are no text
        raise DefinitionError(subject, "file", f"is no TOML: {error}") from error
    except RecursionError as error:
        raise DefinitionError(subject, "file", "is nested too deeply") from error


def _json(subject: str, content: bytes) -> object:
    try:
        return parse_json(content)
    except JsonError as error:
        raise DefinitionError(subject, "file", f"is no JSON: {error}") from error


def _table(subject: str, field: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise DefinitionError(subject, field, f"must be a table of names and values, not {shown(value)}")
    return cast("Mapping[str, object]", value)


def _only(subject: str, prefix: str, given: Mapping[str, object], legal: tuple[str, ...]) -> None:
    for field in given:
        if field not in legal:
            hint = near(str(field), legal, 1)
            meant = f"; did you mean {hint[0]!r}?" if hint else f"; there are {', '.join(legal)}"
            raise DefinitionError(subject, f"{prefix}{field}", f"is unknown here{meant}")
