"""Which tool a misspelt name probably means. Off unless a host asks for it, and careful: a wrong guess is worse than none.

The tiers are tried in order, and the first one in which any tool answers decides. Whatever is guessed is a *spelling*:
the tool is then the one that `Toolbox.get` finds for that spelling, so of several versions and namespaces none is
chosen that the right spelling would not choose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, get_args
from urllib.parse import unquote

import msgspec

from ..definitions import EffectClass, ToolId
from ..definitions._checks import flag, instance, one_of, required
from ..definitions._declared import Declared
from ..definitions._identity import DEFAULT_NAMESPACE
from ._resolution import AnyTool, NameTier
from ._toolbox import Toolbox

Fold = Callable[[str], str]

_CLASSES: Final[tuple[EffectClass, ...]] = get_args(EffectClass)
_SEPARATORS: Final = str.maketrans("./_", "---")
_PREFIX_END: Final = r"[./]|__"
"""What ends the prefixes that models put before a name. A single hyphen or underscore is part of a name: without this
``delete-file`` could become ``file``."""
_LONGEST: Final = 1_000
"""Characters of a name that is guessed at. What is longer is no misspelling, and each of them costs time."""


class Resolution(Declared, frozen=True, kw_only=True):
    """Which misspellings of a tool's name are understood. What is spelled right is always found, and first.

    Args:
        case: ``Read-File`` means ``read-file``.
        separators: ``read_file``, ``read.file`` and ``read/file`` mean ``read-file``; each separator counts as one.
        suffix: ``functions.read-file`` and ``mcp__fs__read-file`` mean ``read-file``: what comes before ``.``, ``/``
            or ``__`` is left out, if the whole rest is a name. A prefix that is a namespace of the toolbox means tools
            of that namespace only, any other one tools of the namespace ``default`` only.
        riskiest: The strictest effect class that a guess may pick. A tool of a stricter class has to be spelled
            right; then it is offered as the near name.

    Raises:
        DefinitionError: A value is not legal.
    """

    case: bool = True
    separators: bool = True
    suffix: bool = False
    riskiest: EffectClass = "external-write"

    def __post_init__(self) -> None:
        for field in ("case", "separators", "suffix"):
            flag("Resolution", field, getattr(self, field))
        one_of("Resolution", "riskiest", self.riskiest, _CLASSES)

    def may_guess(self, tool: AnyTool) -> bool:
        """Whether *tool* may be meant by a misspelling."""
        effect_class = tool.definition.classification.effect_class
        return _CLASSES.index(effect_class) <= _CLASSES.index(self.riskiest)


class Resolved(msgspec.Struct, frozen=True, eq=False):
    """The tool that a name means, and what had to be overlooked to find it."""

    tool: AnyTool
    tier: NameTier


class Unresolved(msgspec.Struct, frozen=True):
    """No tool, or none that may be guessed.

    Args:
        near: Names that look alike, best first.
        ambiguous: The names between which the best tier could not decide; then nothing is guessed.
    """

    near: tuple[str, ...]
    ambiguous: tuple[str, ...] = ()


class Resolver:
    """Finds tools of one toolbox by name. A name that is spelled right costs what `Toolbox.get` costs.

    The tables of the other tiers are made when the first name is misspelt.

    Args:
        toolbox: The tools.
        resolution: Which misspellings are understood; None for none.

    Raises:
        DefinitionError: One of them is something else.
    """

    def __init__(self, toolbox: Toolbox, resolution: Resolution | None) -> None:
        required("resolve", "toolbox", toolbox, Toolbox)
        instance("resolve", "resolution", resolution, Resolution)
        self.toolbox = toolbox
        self.resolution = resolution
        self._tiers = () if resolution is None else tuple(_tiers(resolution))
        self._widest: Fold = self._tiers[-1][1] if self._tiers else str

    def __repr__(self) -> str:
        return f"<Resolver of {self.toolbox!r}>"

    def resolve(self, name: str) -> Resolved | Unresolved:
        """The tool that *name* means: a name, ``namespace:name`` or a full id."""
        tool = self.toolbox.get(name)
        if tool is not None:
            return Resolved(tool, "exact")
        if self.resolution is not None and len(name) <= _LONGEST:
            for tier, spellings in self._guesses(name, self.resolution):
                if spellings:
                    return self._pick(tier, spellings, self.resolution)
        return Unresolved(self.toolbox.near(name))

    def _pick(self, tier: NameTier, spellings: tuple[str, ...], resolution: Resolution) -> Resolved | Unresolved:
        first, *others = spellings
        if others:
            return Unresolved((), spellings)
        tool = self.toolbox.get(first)
        if tool is None:
            return Unresolved(self.toolbox.near(first))  # there is no such version
        return Resolved(tool, tier) if resolution.may_guess(tool) else Unresolved(spellings)

    def _guesses(self, name: str, resolution: Resolution) -> Iterator[tuple[NameTier, tuple[str, ...]]]:
        """What *name* could be a misspelling of, one tier after the other: each answers the right spellings."""
        namespace, rest, version = self._taken_apart(name)
        for tier, fold in self._tiers:
            yield tier, self._spellings(fold, namespace, rest, version)
        if resolution.suffix and namespace is None:
            for found, rest in self._without_prefix(name):
                yield "suffix", self._spellings(self._widest, found, rest, None)

    def _taken_apart(self, name: str) -> tuple[str | None, str, str | None]:
        """Namespace, name and version, as ids are written, if *name* begins with a namespace that is known."""
        head, colon, rest = name.partition(":")
        if not colon or unquote(head) not in self._namespaces:
            return None, name, None
        plain, _, version = rest.partition("@")
        return unquote(head), unquote(plain), unquote(version) or None

    def _without_prefix(self, name: str) -> Iterator[tuple[str, str]]:
        """The namespace in which to look for what follows each prefix of *name*, and that; longest names first."""
        start = 0
        for end in re.finditer(_PREFIX_END, name):
            if ":" in name[: end.start()]:
                return  # it names a namespace, and not one of ours
            prefixes = (self._widest(name[: end.start()]), self._widest(name[start : end.start()]))
            start = end.end()
            known = [prefix for prefix in prefixes if prefix in self._prefixes]
            namespace = self._prefixes[known[0]] if known else DEFAULT_NAMESPACE
            if namespace is not None:
                yield namespace, name[start:]

    def _spellings(self, fold: Fold, namespace: str | None, name: str, version: str | None) -> tuple[str, ...]:
        names = self._tables[fold].get((namespace, fold(name)), ())
        if namespace is None:
            return tuple(names)
        return tuple(ToolId(found, namespace, version).text for found in names)

    @cached_property
    def _tables(self) -> Mapping[Fold, Mapping[tuple[str | None, str], Iterable[str]]]:
        """For each fold the names that have one folded form, in each namespace and, under None, in all of them."""
        tables: dict[Fold, dict[tuple[str | None, str], dict[str, None]]] = {}
        for fold in {fold for _, fold in self._tiers} | {self._widest}:
            table = tables.setdefault(fold, {})
            for tool in self.toolbox:
                for namespace in (None, tool.id.namespace):
                    table.setdefault((namespace, fold(tool.name)), {})[tool.name] = None
        return tables

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        return frozenset(tool.id.namespace for tool in self.toolbox)

    @cached_property
    def _prefixes(self) -> Mapping[str, str | None]:
        """Each namespace by its folded form; None where two have the same."""
        found: dict[str, str | None] = {}
        for namespace in self._namespaces:
            folded = self._widest(namespace)
            found[folded] = None if folded in found else namespace
        return found


def resolve(toolbox: Toolbox, name: str, resolution: Resolution | None = None) -> Resolved | Unresolved:
    """The tool of *toolbox* that *name* means. For many names make one `Resolver`."""
    return Resolver(toolbox, resolution).resolve(name)


def _tiers(resolution: Resolution) -> Iterator[tuple[NameTier, Fold]]:
    if resolution.case:
        yield "case-insensitive", str.casefold
    if resolution.separators:
        yield "normalized", _folded if resolution.case else _separated


def _separated(name: str) -> str:
    return name.strip().translate(_SEPARATORS)


def _folded(name: str) -> str:
    return _separated(name).casefold()
