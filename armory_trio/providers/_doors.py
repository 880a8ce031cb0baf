"""What a host may pass to parsers, assemblers and histories: anything else is refused before it does silent harm."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, cast

from ..definitions import ToolResult
from ..definitions._checks import shown, text
from ..errors import DefinitionError

__all__ = ("place", "require_names", "require_results", "require_way_back", "words")

_READS: Final[Mapping[str, str]] = {"common": "openai-chat", "gemini-openapi": "gemini"}
"""Who speaks in the forms that are not called like their provider."""

_NO_LISTS: Final[tuple[type, ...]] = (str, bytes, Mapping)
"""What can be iterated all the same."""


def require_way_back(provider: str, names: object, manifest: object) -> None:
    """Refuse what does not lead from *provider*'s names to ours.

    Raises:
        DefinitionError: *names* is no mapping of names to names; *manifest* is none, or was made for another provider.
    """
    subject = f"the {provider} parser"
    require_names(subject, names)
    if manifest is None:
        return
    if not all(callable(getattr(manifest, name, None)) for name in ("called", "read")):
        wanted = "must be a Manifest, such as what toolbox.to_provider(...) answers"
        raise DefinitionError(subject, "manifest", f"{wanted}, not {shown(manifest)}")
    owner = getattr(manifest, "provider", None)
    if isinstance(owner, str) and _READS.get(owner, owner) != provider:
        wanted = f"was made for {owner}, whose names and arguments mean something else; pass the one that was sent"
        raise DefinitionError(subject, "manifest", wanted)


def require_names(subject: str, names: object) -> None:
    """Refuse *names* unless it is None or says of the provider's names what they are here.

    Raises:
        DefinitionError: It is something else.
    """
    if names is None:
        return
    if not isinstance(names, Mapping):
        wanted = "must be a mapping from the provider's names to names here"
        raise DefinitionError(subject, "names", f"{wanted}, not {shown(names)}")
    for wire, name in cast("Mapping[object, object]", names).items():
        text(subject, "names", wire)
        text(subject, f"names[{shown(wire)}]", name, blank=False)


def require_results(subject: str, results: object) -> tuple[ToolResult[object], ...]:
    """The results that *results* holds.

    Raises:
        DefinitionError: It is no list, or an entry is no result.
    """
    found = _listed(results)
    if found is None:
        raise DefinitionError(subject, "results", f"must be a list of ToolResult, not {shown(results)}")
    for at, result in enumerate(found):
        if not isinstance(result, ToolResult):
            wanted = "must be a ToolResult (collect_results waits for what still runs)"
            raise DefinitionError(subject, f"results[{at}]", f"{wanted}, not {shown(result)}")
    return cast("tuple[ToolResult[object], ...]", found)


def words(subject: str, field: str, value: object, wanted: str) -> frozenset[str]:
    """The texts that the collection *value* holds. One text alone is none: each of its characters would count.

    Raises:
        DefinitionError: It is no collection, or an entry is no text.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        raise DefinitionError(subject, field, f"must be a list of {wanted}, not {shown(value)}")
    entries = tuple(cast("Collection[object]", value))
    for at, entry in enumerate(entries):
        text(subject, f"{field}[{at}]", entry)
    return frozenset(cast("tuple[str, ...]", entries))


def place(subject: str, field: str, value: object) -> int:
    """*value* as an index.

    Raises:
        DefinitionError: It is no whole number from 0 on.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DefinitionError(subject, field, f"must be a whole number from 0 on, not {shown(value)}")
    return value


def _listed(value: object) -> tuple[object, ...] | None:
    if isinstance(value, _NO_LISTS) or not isinstance(value, Iterable):
        return None
    return tuple(cast("Iterable[object]", value))
