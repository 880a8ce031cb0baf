"""A contract's JSON Schema in a provider's dialect.

What is legal by the contract can be written in the dialect, unless a loss says ``narrowed``. The dialect may let through
more: our own validation, which has the whole contract, decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

import attrs

from ._alternatives import Option, Shape, Unions, Wrapped, option_name
from ._codings import Choice, Coding, Named
from ._conjuncts import gather, takes_null
from ._containers import limits_of, write_array, write_object
from ._dialects import Rules
from ._json_kinds import json_kind, same_key
from ._loss import NotSayable
from ._names import Alphabet, legal_names
from ._normal import LIMITS, Normal, Stack, Union
from ._page import NOTHING, Page, Said, worded
from ._references import At, Schema

__all__ = ("Compiler",)

_DEEPEST: Final = 60
"""Schemas in one another. No provider takes as many, and each costs several frames of the stack."""

_MOST: Final = 8_000
"""Places of one contract. References that branch make more of them than anybody meant to say."""

_INLINED: Final = 400
"""Places of definitions that are written where they are referred to, before references are kept instead."""

_TOLD: Final = 1_500
"""The same where references can't be kept, before what they point at is left untold."""

_TURNS: Final = 2
"""How often a definition is told inside of itself, where it can't be a reference."""


class Compiler(Page):
    """One contract on its way into a dialect that is not JSON Schema as it is."""

    def __init__(self, root: Schema, rules: Rules) -> None:
        super().__init__(root, rules)
        self.definitions: dict[str, object] = {}
        self.codings: dict[str, Coding | None] = {}
        self._names: dict[str, str] = {}
        self._nulls: dict[str, bool] = {}
        self._waiting: list[tuple[str, At]] = []
        self._places = 0
        self._referred = 0

    def settle(self) -> None:
        """Write the definitions that references were kept for."""
        while self._waiting:
            name, target = self._waiting.pop()
            said = self.write((target,), (target.pointer,), 1)
            self.definitions[name] = self.with_null(said)
            self.codings[name] = said.coding

    def write(self, conjuncts: Iterable[At], stack: Stack, depth: int) -> Said:
        """What *conjuncts* say together, in the dialect."""
        self._places += 1
        self._referred += len(stack) > 1
        keeps = self.rules.keeps
        known = tuple(conjuncts)
        if self._places > _MOST or depth > _DEEPEST or (self._referred > _TOLD and not keeps):
            pointer = known[0].pointer if known else "#"
            self.lose(pointer, "type", "widened", "the schema is too large or too deep to be told whole")
            return self.anything(Normal([At(schema=True, pointer=pointer)]))
        turns = int(self._referred <= _INLINED) if keeps else _TURNS
        normal = gather(known, self.book, stack, keeps=keeps, turns=turns)
        return self.written(normal, depth)

    def written(self, normal: Normal, depth: int) -> Said:
        """What *normal* says, in the dialect."""
        self.losses += normal.losses
        if normal.impossible is not None:
            return NOTHING
        if normal.recursive is not None:
            return self._reference(normal, normal.recursive) if self.rules.keeps else self.anything(normal, "$ref")
        if normal.choices is not None:
            return self._choices(normal)
        if normal.unions:
            return self._union(normal, normal.unions[0], depth)
        return self._by_type(normal, depth)

    def _by_type(self, normal: Normal, depth: int) -> Said:
        """What is said by its types: nothing, one of them, or a union of several."""
        if normal.types is None:
            return self.anything(normal)
        types = normal.types - {"null"}
        if "number" in types:
            types -= {"integer"}
        nullable = "null" in normal.types
        if not types:
            return self._only_null(normal)
        if len(types) > 1:
            options = tuple((At({"type": kind}, normal.pointer),) for kind in sorted(types))
            said = self._union(normal, Union("type", normal.pointer, options, None), depth)
        else:
            said = self._of_type(normal, next(iter(types)), depth)
        if nullable and said.word == "none":
            return self._only_null(normal)
        return attrs.evolve(said, nullable=True) if nullable and said.word == "some" else said

    def _only_null(self, normal: Normal) -> Said:
        """What can only be null."""
        wire: dict[str, object] = {}
        self.noted(wire, normal)
        return Said(wire, nullable=True, word="null")

    def _of_type(self, normal: Normal, kind: str, depth: int) -> Said:
        """What has exactly one type that is not null."""
        if kind == "object":
            return write_object(self, normal, depth)
        if kind == "array":
            return write_array(self, normal, depth)
        wire: dict[str, object] = {"type": self.kind(kind)}
        known, others = ({}, {}) if kind == "boolean" else limits_of(self, normal, kind)
        if kind == "integer":
            known, others = _whole_bounds(known, others, self.rules)
        form = normal.notes.get("format")
        if form is not None:
            formats = self.rules.formats
            if isinstance(form[0], str) and (formats is None or form[0] in formats.get(kind, ())):
                known["format"] = form[0]
            else:
                others["format"] = form[0]
        self.noted(wire, normal, others)
        shape = Shape(frozenset(("number" if kind == "integer" else kind,)))
        return Said({**wire, **known}, shape=shape)

    # ── references ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _reference(self, normal: Normal, target: At) -> Said:
        """A reference to a definition that is written once, for schemas that hold themselves."""
        if normal.objects or normal.arrays or normal.limits or normal.choices or normal.types:
            self.lose(normal.pointer, "$ref", "widened", "what stands beside the reference is left to our validation")
        name = self._name_of(target)
        inner = gather((target,), self.book, (target.pointer,), keeps=True)
        types = inner.types or frozenset(("null",))
        wire: dict[str, object] = {"$ref": f"#/$defs/{name}"}
        note: dict[str, object] = {}
        self.noted(note, normal)
        wire = _remarked(wire, note)
        shape = Shape(types) if types == frozenset(("object",)) and inner.properties() else Shape(None)
        if name not in self._nulls:
            self._nulls[name] = takes_null(inner, self.book)
        return Said(wire, Named(name, self.codings), nullable=self._nulls[name], shape=shape)

    def _name_of(self, target: At) -> str:
        """What the definition at *target* is called in the dialect; one that is new is queued to be written."""
        if target.pointer not in self._names:
            wanted = [*self._names, target.pointer]
            short = {pointer: pointer.rpartition("/")[2].strip("#") or "root" for pointer in wanted}
            taken = set(self._names.values())
            name = next(iter(legal_names([short[target.pointer]], _DEFINITIONS).values()))
            if name in taken:
                name = next(iter(legal_names([target.pointer], _DEFINITIONS).values()))
            self._names[target.pointer] = name
            self.definitions[name] = {}
            self.codings[name] = None
            self._waiting.append((name, target))
        return self._names[target.pointer]

    # ── choices ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _choices(self, normal: Normal) -> Said:
        """What is one of several values."""
        values, pointer = normal.choices or ([], normal.pointer)
        kept = {same_key(value): value for value in values if _of_types(value, normal.types)}
        nullable = kept.pop("null", _MISSING) is None
        if not kept:
            return self._only_null(normal) if nullable else NOTHING
        kinds = {"number" if (kind := json_kind(value)) == "integer" else kind for value in kept.values()}
        for word in _beside(normal, kinds):
            self.lose(pointer, word, "dropped", "the choices stand, without what else holds")
        if kinds == {"boolean"} and len(kept) == 2:
            wire: dict[str, object] = {"type": self.kind("boolean")}
            self.noted(wire, normal)
            return Said(wire, nullable=nullable, shape=Shape(frozenset(kinds)))
        if kinds <= set(self.rules.choices) and ("" not in kept.values() or self.rules.empty_choice):
            return self._listed(normal, list(kept.values()), nullable=nullable)
        return self._labelled(normal, list(kept.values()), pointer, nullable=nullable)

    def _listed(self, normal: Normal, values: list[object], *, nullable: bool) -> Said:
        """Choices that the dialect can say as they are."""
        groups: dict[str, list[object]] = {}
        for value in values:
            kind = json_kind(value)
            groups.setdefault("number" if kind == "integer" else kind, []).append(value)
        wires: list[dict[str, object]] = []
        for kind, group in groups.items():
            whole = kind == "number" and all(json_kind(value) == "integer" for value in group)
            wires.append({"type": self.kind("integer" if whole else kind), "enum": group})
        wire = wires[0] if len(wires) == 1 else cast("dict[str, object]", {"anyOf": wires})
        note: dict[str, object] = {}
        self.noted(note, normal)
        return Said({**note, **wire}, nullable=nullable, shape=Shape(frozenset(groups)))

    def _labelled(self, normal: Normal, values: list[object], pointer: str, *, nullable: bool) -> Said:
        """Choices that the dialect can only say as text, each under a label that is turned back."""
        labels: dict[str, object] = {value: value for value in values if isinstance(value, str) and value}
        if len(labels) < len(values):
            self.lose(pointer, "enum", "encoded", "the choices that are no text are written as text")
        for value in values:
            if isinstance(value, str) and value:
                continue
            label = worded(value) or f"option {len(labels) + 1}"
            while label in labels:
                label += " "
                label = f"{label.strip()} ({json_kind(value)})" if not label.endswith(") ") else f"{label}{len(labels)}"
            labels[label] = value
        note: dict[str, object] = {"type": self.kind("string")}
        self.noted(note, normal)
        by_value = {same_key(value): label for label, value in labels.items()}
        coding = Choice(labels, by_value)
        return Said({**note, "enum": list(labels)}, coding, nullable=nullable, shape=Shape(frozenset(("string",))))

    # ── unions ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _union(self, normal: Normal, union: Union, depth: int) -> Said:
        """What is one of several schemas. An option that may be anything makes the whole anything."""
        base = normal.rest(union)
        written: list[Said] = []
        for option in union.options:
            written.append(self.write((*option, *base), normal.stack, depth + 1))
            if written[-1].word == "any":
                if union.keyword == "oneOf":
                    self.lose(union.pointer, "oneOf", "widened", "it is written as anyOf")
                return self.anything(normal, union.keyword)
        nulls = sum(said.nullable for said in written)
        nullable = nulls > 0
        some = [said for said in written if said.word not in ("none", "null")]
        if union.keyword == "oneOf" and (len(some) > 1 or nulls > 1):
            self.lose(union.pointer, "oneOf", "widened", "it is written as anyOf")
        options: list[Said] = []
        for said in some:
            _add(options, said)
        note: dict[str, object] = {}
        if not options:
            return self._only_null(normal) if nullable else NOTHING
        if len(options) == 1:
            (only,) = options
            self.noted(note, normal)
            return attrs.evolve(only, wire=_remarked(only.wire, note), nullable=nullable)
        self.noted(note, normal)
        return self._alternatives(union, options, note, nullable=nullable)

    def _alternatives(self, union: Union, options: list[Said], note: dict[str, object], *, nullable: bool) -> Said:
        """Several *options* side by side; where a value could not be told to be of one, each gets a name."""
        alike = any(
            not (one.coding is None and other.coding is None) and not one.shape.differs(other.shape)
            for index, one in enumerate(options)
            for other in options[:index]
        )
        types = [said.shape.types for said in options]
        shape = Shape(None if None in types else frozenset(word for each in types if each for word in each))
        if not alike:
            coded = any(said.coding is not None for said in options)
            coding = Unions(tuple(map(self._option, options))) if coded else None
            return Said({**note, "anyOf": [said.wire for said in options]}, coding, nullable=nullable, shape=shape)
        if not self.rules.inventive:
            raise NotSayable(union.pointer, "its alternatives look alike and are written differently")
        self.lose(union.pointer, union.keyword, "encoded", "the alternatives look alike, so each gets a name")
        named = {option_name(index): said for index, said in enumerate(options)}
        wrapped: list[object] = []
        for name, said in named.items():
            wire: dict[str, object] = {"type": self.kind("object"), "properties": {name: said.wire}, "required": [name]}
            wrapped.append({**wire, "additionalProperties": False} if self.rules.closable else wire)
        wrapping = Wrapped({name: self._option(said) for name, said in named.items()})
        return Said({**note, "anyOf": wrapped}, wrapping, nullable=nullable, shape=Shape(frozenset(("object",))))

    def _option(self, said: Said) -> Option:
        return Option(said.shape, said.coding, said.wire, self.definitions)


_MISSING: Final = object()
_DEFINITIONS: Final = Alphabet("A-Za-z_", "A-Za-z0-9_-", 64)


def _remarked(wire: dict[str, object], note: dict[str, object]) -> dict[str, object]:
    """*wire* with the remarks *note*; beside a reference nothing may stand."""
    return {**note, "anyOf": [wire]} if note and "$ref" in wire else {**wire, **note}


def _add(options: list[Said], said: Said) -> None:
    """Put *said* among *options*, unless one of them says the same."""
    if said.coding is not None or all(known.coding is not None or known.wire != said.wire for known in options):
        options.append(said)


def _beside(normal: Normal, kinds: set[str]) -> Iterator[str]:
    """The keywords beside the choices, which are of *kinds*, by which fewer of them may be legal."""
    yield from (union.keyword for union in normal.unions[:1])
    yield from (word for kind in sorted(kinds) for word in LIMITS.get(kind, ()) if word in normal.limits)
    if "object" in kinds and (normal.objects or normal.required):
        yield "properties"
    if "array" in kinds and normal.arrays:
        yield "items"


def _of_types(value: object, types: frozenset[str] | None) -> bool:
    kind = json_kind(value)
    return types is None or kind in types or (kind == "integer" and "number" in types)


def _whole_bounds(
    known: dict[str, object], others: dict[str, object], rules: Rules
) -> tuple[dict[str, object], dict[str, object]]:
    """The bounds of an integer with those that exclude their limit said by the next integer, where they can't be."""
    for word, plain, by, tight in (("exclusiveMinimum", "minimum", 1, max), ("exclusiveMaximum", "maximum", -1, min)):
        limit = others.get(word)
        if isinstance(limit, int) and plain in rules.words.get("integer", ()):
            bound = known.get(plain, limit + by)
            known[plain] = tight(bound, limit + by) if isinstance(bound, int | float) else limit + by
            del others[word]
    return known, others
