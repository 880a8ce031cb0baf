"""Places in documents, and what references mean: within a document, and in others that the host has allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec

from ...definitions._checks import shown
from ...errors import DefinitionError
from ._json import is_array, is_object
from ._losses import DocumentFault
from ._reading import DocumentSource, read_document

__all__ = ("Documents", "Node", "References", "loader_for")

Documents = Mapping[str, DocumentSource] | Path | Callable[[str], DocumentSource]
"""Where other documents are found: by their names, in a directory, or by a function of the name."""

_CHAIN: Final = 32
"""References that lead to references; more are a circle, or nobody's meaning."""

_DOCUMENTS: Final = 1_000
"""Documents that one document may be spread over."""

_NOTHING: Final[Mapping[str, object]] = {}


class Node(msgspec.Struct, frozen=True, eq=False):
    """A value and where it stands.

    Args:
        value: Plain JSON.
        document: The name of its document, empty for the one that is imported.
        pointer: A JSON pointer, empty for the whole.
    """

    value: object
    document: str = ""
    pointer: str = ""

    @property
    def where(self) -> str:
        """The place in words: ``#/paths/~1pets``, or ``pets.yaml#/Pet``."""
        return f"{self.document}#{self.pointer}"

    @property
    def members(self) -> Mapping[str, object]:
        """The members of an object; none of anything else."""
        return self.value if is_object(self.value) else _NOTHING

    def child(self, key: str | int) -> Node:
        """The member or item called *key*; None in its place if there is none."""
        value: object = None
        if is_object(self.value):
            value = self.value.get(str(key))
        elif is_array(self.value) and isinstance(key, int):
            value = self.value[key] if key < len(self.value) else None
        step = str(key).replace("~", "~0").replace("/", "~1")
        return Node(value, self.document, f"{self.pointer}/{step}")

    def children(self) -> Iterator[tuple[str, Node]]:
        """The members of an object that are no extensions."""
        for key in self.members:
            if not key.startswith("x-"):
                yield key, self.child(key)

    def items(self) -> Iterator[Node]:
        """The items of a list; none of anything else."""
        if is_array(self.value):
            yield from (self.child(index) for index in range(len(self.value)))

    def text(self, key: str) -> str:
        """The member *key* if it is text, else nothing."""
        value = self.members.get(key)
        return value if isinstance(value, str) else ""

    def flag(self, key: str, usual: bool = False) -> bool:  # noqa: FBT001, FBT002  # reads like `dict.get`
        """The member *key* if it is True or False, else *usual*."""
        value = self.members.get(key)
        return value if isinstance(value, bool) else usual

    def fault(self, why: str) -> DocumentFault:
        """An error that names this place."""
        return DocumentFault(self.where, why)


class References:
    """Finds what references of a document mean."""

    def __init__(self, root: Mapping[str, object], name: str, load: Callable[[str], DocumentSource] | None) -> None:
        self.root = Node(root)
        self._load = load
        self._name = name
        self._loaded: dict[str, Mapping[str, object]] = {}

    def resolve(self, node: Node) -> Node:
        """*node* itself, or what it refers to if it is a reference, as far as that leads.

        Raises:
            DocumentFault: It leads nowhere, in a circle, or to a document that can't be had.
        """
        for _ in range(_CHAIN):
            reference = node.members.get("$ref")
            if not isinstance(reference, str):
                return node
            node = self.target(node, reference)
        raise node.fault("refers to itself, or over too many references")

    def target(self, node: Node, reference: str) -> Node:
        """What *reference*, which stands in *node*, points to.

        Raises:
            DocumentFault: It leads nowhere, or to a document that can't be had.
        """
        try:
            location, pointer = urldefrag(reference)
            document = urljoin(node.document or self._name, location) if location else node.document
        except ValueError as error:
            raise node.fault(f"{reference!r} is no reference: {error}") from error
        document = "" if location and document == self._name else document
        found = Node(self._document(document, node), document)
        pointer = unquote(pointer)
        if pointer and not pointer.startswith("/"):
            raise node.fault(f"{reference!r} is no JSON pointer; anchors are not followed")
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            holds_items = is_array(found.value) and key.isdecimal() and len(key) < 7
            found = found.child(int(key) if holds_items else key)
            if found.value is None:
                raise node.fault(f"{reference!r} leads nowhere")
        return found

    def _document(self, name: str, asking: Node) -> Mapping[str, object]:
        if not name:
            return self.root.members
        if name not in self._loaded:
            if self._load is None:
                raise asking.fault(f"refers to {name!r}; give documents= to allow other documents")
            if len(self._loaded) >= _DOCUMENTS:
                raise asking.fault(f"refers to more than {_DOCUMENTS} documents")
            try:
                self._loaded[name] = read_document(self._load(name), name)
            except Exception as error:  # the host's own function: one document less is no end
                reason = error.reason if isinstance(error, DefinitionError) else f"{type(error).__name__}: {error}"
                raise asking.fault(f"refers to {name!r}, which can't be had: {reason}") from error
        return self._loaded[name]


def loader_for(documents: object) -> Callable[[str], DocumentSource] | None:
    """What finds other documents, from what was given as ``documents=``.

    Raises:
        DefinitionError: It is nothing that could.
    """
    if documents is None:
        return None
    if isinstance(documents, Mapping):
        return dict(cast("Mapping[str, DocumentSource]", documents)).__getitem__
    if isinstance(documents, Path):
        return _Directory(documents)
    if callable(documents):
        return cast("Callable[[str], DocumentSource]", documents)
    wanted = "a mapping of names to documents, a pathlib.Path to a directory, or a function of a name"
    raise DefinitionError("toolbox_from_openapi", "documents", f"must be {wanted}, not {shown(documents)}")


class _Directory:
    """Documents in one directory and below it; no name, and no link, leads out."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        if not self._path.is_dir():
            raise DefinitionError("toolbox_from_openapi", "documents", f"{str(path)!r} is no directory")

    def __call__(self, name: str) -> Path:
        parts = urlsplit(name)
        if parts.scheme or parts.netloc or parts.query:
            raise LookupError("it is no file of the directory that was allowed")
        found = (self._path / unquote(parts.path).lstrip("/")).resolve()
        if not found.is_relative_to(self._path):
            raise LookupError("it lies outside of the directory that was allowed")
        if found.exists() and not found.is_file():  # a pipe would be waited for
            raise LookupError("it is no file")
        return found
