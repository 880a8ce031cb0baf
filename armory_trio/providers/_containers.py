"""Objects and arrays in a provider's dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from ._alternatives import Shape
from ._codings import KEY, VALUE, Coding, ItemsOf, Member, Objects, Pairs, Tuples, item_name
from ._json_kinds import same_key
from ._loss import NotSayable
from ._names import legal_names
from ._normal import LIMITS, Normal
from ._page import NOTHING, Page, Said
from ._references import At, Branches, as_schema

__all__ = ("limits_of", "write_array", "write_object")

_OBJECT: Final = Shape(frozenset(("object",)))
_ARRAY: Final = Shape(frozenset(("array",)))
_LONGEST_TUPLE: Final = 24
"""Items of a tuple that is written as an object; longer ones are lists in all but name."""


def limits_of(page: Page, normal: Normal, kind: str) -> tuple[dict[str, object], dict[str, object]]:
    """The limits of a value of type *kind*: those that the dialect knows, and the others."""
    known: dict[str, object] = {}
    others: dict[str, object] = {}
    for word in LIMITS[kind]:
        if word not in normal.limits:
            continue
        value = normal.limits[word][0]
        if isinstance(value, float) and value.is_integer() and kind != "number":
            value = int(value)
        legal = isinstance(value, str if word == "pattern" else int | float)
        if word == "minItems" and page.rules.most_min_items is not None:
            legal = legal and cast("float", value) <= page.rules.most_min_items
        (known if legal and word in page.rules.words.get(kind, ()) else others)[word] = value
    return known, others


# ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_object(page: Page, normal: Normal, depth: int) -> Said:
    """An object."""
    others = normal.others()
    if others is not None and all(at.schema is False for at in others):
        others = None
    if normal.closed is not None and others is None and not normal.required.keys() <= normal.properties().keys():
        page.lose(normal.closed, "required", "dropped", "a member that has to be there can't be, so nothing is legal")
        return NOTHING
    members = _members(page, normal, others, depth)
    open_ended = others is not None or (normal.closed is None and not members)
    if open_ended and not page.rules.maps:
        return _any_members(page, normal, others, depth, named=bool(members))
    if not members and not open_ended and not page.rules.empty:
        return page.text(normal, "properties", "the dialect has no object without members")
    value = page.write(others, normal.stack, depth + 1) if others is not None else None
    if value is not None and value.word == "none":
        value, open_ended = None, False
        normal.closed = normal.pointer
    return _named_members(page, normal, members, value, open_ended=open_ended)


def _members(page: Page, normal: Normal, others: tuple[At, ...] | None, depth: int) -> dict[str, Said]:
    said_of = normal.properties()
    for name, pointer in normal.required.items():
        if name not in said_of and (normal.closed is None or others is not None):
            said_of[name] = others or (At(schema=True, pointer=pointer),)
    found: dict[str, Said] = {}
    for name, conjuncts in said_of.items():
        said = page.write(conjuncts, normal.stack, depth + 1)
        if said.word == "none":
            page.lose(conjuncts[0].pointer, "properties", "dropped", "nothing is legal here, so it is not offered")
        else:
            found[name] = said
    return found


def _any_members(page: Page, normal: Normal, others: tuple[At, ...] | None, depth: int, *, named: bool) -> Said:
    """An object with members of any name, where the dialect knows none."""
    reason = "an object with members of any name"
    if not page.rules.inventive:
        raise NotSayable(normal.pointer, reason)
    value = page.write(others, normal.stack, depth + 1) if others is not None and not named else None
    if value is None or value.word in ("any", "none"):
        return page.text(normal, "additionalProperties", reason)
    page.lose(normal.pointer, "additionalProperties", "encoded", f"{reason} is written as a list of keys and values")
    key, inner = page.kind("string"), page.with_null(value)
    pair: dict[str, object] = {
        "type": page.kind("object"),
        "properties": {KEY: {"type": key}, VALUE: inner},
        "required": [KEY, VALUE],
    }
    if page.rules.closable:
        pair["additionalProperties"] = False
    wire: dict[str, object] = {"type": page.kind("array")}
    known, unknown = limits_of(page, normal, "object")
    page.noted(wire, normal, known | unknown)
    return Said({**wire, "items": pair}, Pairs(value.coding), shape=_ARRAY)


def _named_members(
    page: Page, normal: Normal, members: dict[str, Said], value: Said | None, *, open_ended: bool
) -> Said:
    """An object of *members* that are written by name; *value* is what others may be, if it is *open_ended*."""
    rules = page.rules
    renames = rules.members is not None and not rules.members_at_root_only
    wires = (
        legal_names(members, rules.members, bare=True)
        if renames and rules.members
        else {name: name for name in members}
    )
    written: dict[str, object] = {}
    entries: list[Member] = []
    for name, each in members.items():
        if not rules.all_required or name in normal.required:
            written[wires[name]] = page.with_null(each)
            entries.append(Member(name, wires[name], each.coding, null=each.nullable))
        else:
            said, default = _to_be_left_out(page, normal, name, each)
            null = Said(said.wire, nullable=True, word="some" if said.word == "any" else said.word)
            written[wires[name]] = page.with_null(null)
            entries.append(Member(name, wires[name], said.coding, omitted=True, null=said.nullable, default=default))
    wire: dict[str, object] = {"type": page.kind("object")}
    known, others = limits_of(page, normal, "object")
    page.noted(wire, normal, others)
    wire |= known
    if written or not open_ended:
        wire["properties"] = written
    required = [each.wire for each in entries if rules.all_required or each.name in normal.required]
    if required:
        wire["required"] = required
    elif rules.all_required:
        wire["required"] = []
    _others(page, normal, wire, value, open_ended=open_ended)
    return Said(
        wire, _object_coding(normal, entries, value, closed=not open_ended), shape=_shape(wire, entries, required)
    )


def _to_be_left_out(page: Page, normal: Normal, name: str, said: Said) -> tuple[Said, bool]:
    """A member that is null when it is left out, and whether that is what the contract means by leaving it out."""
    if not said.nullable:
        return said, False
    if normal.counted is not None:
        reason = f"{name!r} left out can't be told from {name!r} null, and that matters here"
        return page.boxed(said, normal.counted, "required", reason), False
    page.lose(f"{normal.pointer}/properties", "required", "narrowed", f"{name!r} left out is {name!r} null")
    schemas = [as_schema(at.schema) for at in normal.member(name)]
    defaults = [schema["default"] for schema in schemas if "default" in schema]
    return said, bool(defaults) and all(each is None for each in defaults) and not page.counts


def _others(page: Page, normal: Normal, wire: dict[str, object], value: Said | None, *, open_ended: bool) -> None:
    """Write whether there may be other members than the named ones."""
    rules = page.rules
    if open_ended:
        if value is not None:
            wire["additionalProperties"] = page.with_null(value) or True
    elif not rules.closable:
        if normal.closed is not None:
            page.lose(normal.closed, "additionalProperties", "dropped", "no dialect word closes an object")
    elif rules.strict:
        wire["additionalProperties"] = False
        if normal.closed is None:
            page.lose(normal.pointer, "additionalProperties", "narrowed", "an object that says nothing is closed")
    elif normal.closed is not None:
        wire["additionalProperties"] = False


def _object_coding(normal: Normal, entries: Sequence[Member], value: Said | None, *, closed: bool) -> Coding | None:
    others = None if value is None else value.coding
    if others is None and all(each.coding is None and each.wire == each.name and not each.omitted for each in entries):
        return None
    members = {each.name: each for each in entries}
    required = frozenset(name for name in normal.required if name in members)
    shut = closed and normal.closed is not None
    return Objects(members, {each.wire: each for each in entries}, others, shut, required)


def _shape(wire: dict[str, object], entries: Sequence[Member], required: Sequence[str]) -> Shape:
    closed = wire.get("additionalProperties") is False
    properties = cast("dict[str, dict[str, object]]", wire.get("properties", {}))
    tags: dict[str, frozenset[str]] = {}
    for name in required:
        choices = properties[name].get("enum")
        if isinstance(choices, list):
            null = [None] if properties[name].get("nullable") is True else []
            tags[name] = frozenset(same_key(choice) for choice in [*cast("list[object]", choices), *null])
    names = frozenset(each.wire for each in entries) if closed else None
    return Shape(_OBJECT.types, frozenset(required), names, tags)


# ── arrays ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_array(page: Page, normal: Normal, depth: int) -> Said:
    """An array."""
    first, others = normal.items()
    if first:
        return _tuple(page, normal, first, others, depth)
    if not others:
        page.lose(normal.pointer, "items", "added", "every array says what its items are")
        others = (At(schema=True, pointer=normal.pointer),)
    said = page.write(others, normal.stack, depth + 1)
    if said.word == "none":
        nothing: dict[str, object] = {} if page.rules.untyped else {"type": page.kind("string")}
        return _written(page, normal, {"items": nothing, "maxItems": 0}, None)
    return _written(page, normal, {"items": page.with_null(said)}, said.coding and ItemsOf((), said.coding))


def _written(page: Page, normal: Normal, inside: dict[str, object], coding: Coding | None) -> Said:
    known, others = limits_of(page, normal, "array")
    for word, value in inside.items():
        if word in ("minItems", "maxItems"):
            tight = max if word == "minItems" else min
            known[word] = tight(cast("int", known.get(word, others.pop(word, value))), cast("int", value))
    wire: dict[str, object] = {"type": page.kind("array")}
    page.noted(wire, normal, others)
    whole = {**inside, **known}
    for word in ("minItems", "maxItems"):
        if word in whole and word not in page.rules.words.get("array", ()):
            page.lose(normal.pointer, word, "widened", f"{word} {whole.pop(word)} can't be said")
    return Said({**wire, **whole}, coding, shape=_ARRAY)


def _tuple(page: Page, normal: Normal, first: list[tuple[At, ...]], others: tuple[At, ...], depth: int) -> Said:
    """An array whose first items have schemas of their own, in the closest form that the dialect has."""
    most = cast("float | None", normal.limit("maxItems"))
    ends = any(at.schema is False for at in others) or (most is not None and most <= len(first))
    if most is not None:
        first = first[: max(int(most), 0)]
    items = [page.write(conjuncts, normal.stack, depth + 1) for conjuncts in first]
    dead = next((index for index, said in enumerate(items) if said.word == "none"), None)
    if dead is not None:
        items, ends = items[:dead], True
    wires = [page.with_null(said) for said in items]
    if page.rules.tuples and items:
        return _by_place(page, normal, items, None if ends else others, depth)
    alike = all(wire == wires[0] for wire in wires) and all(said.coding is None for said in items)
    if ends and items and alike:
        return _written(page, normal, {"items": wires[0], "maxItems": len(items)}, None)
    if ends and items and len(items) <= _LONGEST_TUPLE and page.rules.inventive:
        return _as_object(page, normal, items)
    if not items:
        return page.text(normal, "prefixItems", "it has no items")
    behind = () if ends else (others or (At(schema=True, pointer=normal.pointer),),)
    return _as_list(page, normal, (*first[: len(items)], *behind), depth, most=len(items) if ends else None)


def _by_place(page: Page, normal: Normal, items: list[Said], others: tuple[At, ...] | None, depth: int) -> Said:
    """A tuple in a dialect that knows ``prefixItems``."""
    inside: dict[str, object] = {"prefixItems": [page.with_null(said) for said in items]}
    rest: Said | None = None
    if others is None:
        inside["maxItems"] = len(items)
    elif others:
        rest = page.write(others, normal.stack, depth + 1)
        inside["items"] = page.with_null(rest)
    first = tuple(said.coding for said in items)
    last = None if rest is None else rest.coding
    coded = last is not None or any(coding is not None for coding in first)
    return _written(page, normal, inside, ItemsOf(first, last) if coded else None)


def _as_list(page: Page, normal: Normal, options: tuple[tuple[At, ...], ...], depth: int, *, most: int | None) -> Said:
    """A list whose items are each of any of the kinds."""
    page.lose(normal.pointer, "prefixItems", "widened", "an item may be of any kind that is legal for one of them")
    said = page.write((At(Branches(options), normal.pointer),), normal.stack, depth + 1)
    inside: dict[str, object] = {"items": page.with_null(said)}
    if most is not None:
        inside["maxItems"] = most
    return _written(page, normal, inside, said.coding and ItemsOf((), said.coding))


def _as_object(page: Page, normal: Normal, items: list[Said]) -> Said:
    """A tuple written as an object with a member for each place."""
    rules = page.rules
    least = int(cast("float", normal.limit("minItems") or 0))
    if rules.all_required and any(said.nullable for said in items[least:]):
        return page.text(normal, "prefixItems", "an item that is left out can't be told from one that is null")
    page.lose(normal.pointer, "prefixItems", "encoded", "the items are written as the members of an object")
    properties: dict[str, object] = {}
    for index, said in enumerate(items):
        optional = rules.all_required and index >= least
        word = "some" if said.word == "any" and optional else said.word
        properties[item_name(index)] = page.with_null(Said(said.wire, nullable=said.nullable or optional, word=word))
    wire: dict[str, object] = {"type": page.kind("object")}
    page.noted(
        wire, normal, {word: each for word, (each, _) in normal.limits.items() if word not in ("minItems", "maxItems")}
    )
    wire["properties"] = properties
    required = list(properties) if rules.all_required else list(properties)[:least]
    wire["required"] = required
    if rules.closable:
        wire["additionalProperties"] = False
    shape = Shape(_OBJECT.types, frozenset(required), frozenset(properties) if rules.closable else None)
    return Said(wire, Tuples(tuple(said.coding for said in items), least if rules.all_required else None), shape=shape)
