"""The tools of a run: from ``module:attribute``, or from a kit."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Final, cast

import attrs

from ..definitions import Tool, is_tool, near
from ..errors import DefinitionError
from ..toolbox import Toolbox, combine_toolboxes, is_toolbox, toolbox_from_manifest
from ._exit import Unusable

REFERENCE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
"""``module:attribute``, both with dots inside if need be."""

KITS: Final = ("coding",)
_RIGHT: Final = "a Toolbox, a tool, a list of tools, or a function without arguments that returns one of these"


def load_toolbox(references: Sequence[str], manifests: Sequence[str], kit: str | None, root: str | None) -> Toolbox:
    """All the tools that were named, as one toolbox.

    Raises:
        Unusable: None were named, one cannot be loaded, or two of them claim one id.
    """
    if root is not None and kit is None:
        raise Unusable("--root says where a kit works; give --kit coding with it")
    loaded = [_from_reference(reference) for reference in references]
    loaded += [_from_manifest(path) for path in manifests]
    if kit is not None:
        loaded.append(_from_kit(root))
    if not loaded:
        raise Unusable("no tools: give MODULE:ATTRIBUTE, --manifest FILE, or --kit coding --root DIR")
    try:
        return _under_rules(combine_toolboxes(*loaded), loaded)
    except DefinitionError as error:
        raise Unusable(f"the tools do not go together: {error}") from error


def _under_rules(together: Toolbox, parts: Sequence[Toolbox]) -> Toolbox:
    """The rules of the one part that has some count for all: a toolbox takes its options from its first part only."""
    ruling: list[Toolbox] = []
    for part in parts:
        if _rules(part) != _NO_RULES and all(_rules(part) != _rules(other) for other in ruling):
            ruling.append(part)
    if len(ruling) > 1:
        raise Unusable(
            "two of the toolboxes have rules of their own about what may run, and one run has one set of rules: run "
            "them apart, or combine them in Python"
        )
    for part in ruling:
        return attrs.evolve(
            together,
            policy=part.policy,
            policy_context=part.policy_context,
            approval_policy=part.approval_policy,
            gates=part.gates,
        )
    return together


def _rules(toolbox: Toolbox) -> tuple[object, ...]:
    return toolbox.policy, toolbox.policy_context, toolbox.approval_policy, toolbox.gates


_NO_RULES: Final = _rules(Toolbox())


def _from_manifest(path: str) -> Toolbox:
    _look_here()
    try:
        return toolbox_from_manifest(path)
    except DefinitionError as error:
        raise Unusable(f"--manifest {error}") from error


def _from_kit(root: str | None) -> Toolbox:
    from ..kits.coding import coding_tools  # noqa: PLC0415  # who does not name the kit does not pay for it

    if root is None:
        raise Unusable("--kit coding needs --root DIR, the directory that its tools may read")
    try:
        return Toolbox(coding_tools(root))
    except DefinitionError as error:
        raise Unusable(f"--kit coding --root {root}: {error}") from error


def _from_reference(reference: str) -> Toolbox:
    if REFERENCE.fullmatch(reference) is None:
        raise Unusable(f"{reference!r} is no MODULE:ATTRIBUTE; write it like my_tools:toolbox")
    module_name, _, attribute = reference.partition(":")
    value = _attribute(_import(module_name), attribute, reference)
    return _as_toolbox(value, reference)


def _import(name: str) -> ModuleType:
    here = _look_here()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise Unusable(f"importing {name!r} failed: {_words(error)}") from error
        hint = f"; write {name.removesuffix('.py')!r}, without .py" if name.endswith(".py") else ""
        raise Unusable(f"there is no module {missing!r} in {here} or among the installed packages{hint}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Unusable(f"importing {name!r} failed: {_words(error)}") from error  # noqa: ASYNC104  # no trio runs yet


def _look_here() -> str:
    """Have modules looked for in the current directory, too, and answer which that is."""
    try:
        here = os.getcwd()  # noqa: PTH109  # a text, as sys.path wants it
    except OSError as error:
        raise Unusable(f"the current directory, where modules are looked for, is gone: {error.strerror}") from error
    if here not in sys.path:
        sys.path.insert(0, here)
    return here


def _words(error: BaseException) -> str:
    """What was raised, and the place in the user's code: the innermost one that is not ours or the import system's."""
    lines = traceback.format_exception_only(error)
    text = " ".join(lines[-1].split()) if lines else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{text} ({error.filename}:{error.lineno})"
    ours = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  # compared as text with what frames say
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<frozen")) and not _is_importlib(frame.filename)
    ]
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if frames else text


def _is_importlib(filename: str) -> bool:
    return filename.startswith(os.path.dirname(importlib.__file__))  # noqa: PTH120  # the same


def _attribute(module: ModuleType, path: str, reference: str) -> object:
    value: object = module
    for name in path.split("."):
        try:
            value = cast("object", getattr(value, name))
        except AttributeError as error:
            there = vars(value) if hasattr(value, "__dict__") else {}
            raise Unusable(f"{reference}: {_missing(name, there)}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            told = f"{reference}: looking up {name!r} failed: {_words(error)}"
            raise Unusable(told) from error  # noqa: ASYNC104  # no trio runs yet
    return value


def _missing(name: str, there: Mapping[str, object]) -> str:
    usable = [key for key, value in there.items() if _is_one_of(value, Toolbox, Tool)]
    named = [key for key, value in there.items() if not (key.startswith("_") or _is_one_of(value, type, ModuleType))]
    meant = near(name, named, 1)
    told = f"there is no attribute {name!r}"
    if meant:
        return f"{told}; did you mean {meant[0]!r}?"
    return f"{told}; toolboxes and tools there: {', '.join(usable[:10])}" if usable else told


def _is_one_of(value: object, *kinds: type) -> bool:
    """As `isinstance`, also of what can't be asked: a proxy may raise, of which nothing is behind it now."""
    try:
        return isinstance(value, kinds)
    except Exception:  # noqa: BLE001  # whatever its code raises
        return False


def _as_toolbox(value: object, reference: str) -> Toolbox:
    made = value
    if not _is_one_of(value, Toolbox, Tool) and callable(value):
        made = _made_by(value, reference)
    try:
        return _toolbox_of(made, "is" if made is value else "returned", reference)
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"{reference}: looking at it failed: {_words(error)}") from error


def _toolbox_of(made: object, what: str, reference: str) -> Toolbox:
    try:
        if is_toolbox(made):
            return made
        if is_tool(made):
            return Toolbox([made])
        if isinstance(made, (list, tuple, set, frozenset)):
            return Toolbox(cast("Iterable[object]", made))  # type: ignore[arg-type]  # it refuses what is no tool
    except DefinitionError as error:
        raise Unusable(f"{reference}: {error}") from error
    if inspect.iscoroutine(made):
        made.close()  # else Python warns that nobody awaited it
    raise Unusable(f"{reference}: it {what} a value of type {type(made).__name__!r}; expected {_RIGHT}")


def _made_by(function: Callable[..., object], reference: str) -> object:
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise Unusable(
            f"{reference}: it is a function with arguments; decorate it with @tool, or give {_RIGHT}"
        ) from None
    except ValueError:
        pass  # it has no signature to look at, as some that are written in C
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Unusable(f"{reference}: calling it failed: {_words(error)}") from error  # noqa: ASYNC104  # no trio runs yet
