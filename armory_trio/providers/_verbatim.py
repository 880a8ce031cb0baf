"""JSON Schema as it is, for providers that take it: only the root is made to look as they want it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, cast

from ..definitions import thaw_json
from ..toolbox._offering import Loss
from ._codings import Coding, Member, Objects
from ._dialects import Rules
from ._loss import NotSayable
from ._names import Alphabet, legal_names
from ._normal import Normal, Stack
from ._page import Page, Said
from ._references import At, Branches, Schema, as_list, as_schema
from ._roots import flattened, root_of

__all__ = ("copied",)

_MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas"))
_LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_SINGLE: Final = frozenset(
    (
        *("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contains"),
        *("not", "if", "then", "else", "contentSchema"),
    )
)
_EVALUATING: Final = frozenset(
    (*("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "contains"), "$ref", "$dynamicRef")
)
"""Words beside which `unevaluatedItems` may pass over some items."""

_LEFT_OUT: Final = frozenset(
    (
        "$schema",
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "$defs",
        "definitions",
        "$comment",
        "$vocabulary",
        "additionalItems",
    )
)
_COMBINING: Final = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf"))
_CONDITIONAL: Final = frozenset(("if", "then", "else", "dependentSchemas"))
_DEEPEST: Final = 100
_DEFINITIONS: Final = Alphabet("A-Za-z_", "A-Za-z0-9_-", 64)


def copied(root: Schema, rules: Rules) -> tuple[dict[str, object], Coding | None, list[Loss]]:
    """The schema of the arguments, how they are written, and what is lost.

    Raises:
        NotSayable: Nothing is legal.
    """
    copier = _Copier(root, rules)
    combines = not root.keys().isdisjoint(_COMBINING) or (
        root.get("unevaluatedProperties") is False and not root.keys().isdisjoint(_CONDITIONAL)
    )
    schema = copier.joined_root(flattened(root_of(copier), copier)) if combines else copier.plain_root()
    coding = copier.renamed(schema)
    definitions = copier.definitions()
    return {**schema, "$defs": definitions} if definitions else schema, coding, list(dict.fromkeys(copier.losses))


class _Copier(Page):
    def __init__(self, root: Schema, rules: Rules) -> None:
        super().__init__(root, rules)
        self._names: dict[str, str] = {}
        self._waiting: list[At] = []

    def write(self, conjuncts: object, stack: Stack, depth: int) -> Said:  # pragma: no cover
        raise NotImplementedError  # nothing is written here that is not copied

    def definitions(self) -> dict[str, object]:
        """What the references that were copied point at."""
        found: dict[str, object] = {}
        while self._waiting:
            target = self._waiting.pop()
            found[self._names[target.pointer]] = self.copy(target, 0)
        return found

    def plain_root(self) -> dict[str, object]:
        """The root, which combines nothing."""
        root = as_schema(self.book.root.schema)
        schema = cast("dict[str, object]", self.copy(self.book.root, 0))
        for word in self.rules.forbidden_at_root:
            if schema.pop(word, None) is not None:
                self.lose("#", word, "dropped", "it must not stand at the root")
                if word == "if":
                    schema.pop("then", None)
                    schema.pop("else", None)
                    if isinstance(root.get("unevaluatedProperties"), dict):
                        del schema["unevaluatedProperties"]  # it is about what the condition does not speak of
                        self.lose("#", "unevaluatedProperties", "dropped", "it hangs on a condition at the root")
        if schema.get("unevaluatedProperties") is False and "additionalProperties" not in root:
            schema["additionalProperties"] = schema.pop("unevaluatedProperties")
        schema.setdefault("properties", {})
        self._require_possible(schema)
        return {"type": "object", **schema} | {"type": "object"}

    def _require_possible(self, schema: dict[str, object]) -> None:
        """Refuse a root that asks for a member which it does not allow."""
        if schema.get("additionalProperties") is not False or schema.get("patternProperties"):
            return
        there = as_schema(schema["properties"])
        for name in as_list(schema.get("required")):
            if name not in there:
                raise NotSayable("#/required", f"{name!r} has to be there and is no member, so nothing is legal here")

    def joined_root(self, normal: Normal) -> dict[str, object]:
        """The root, made of all that it combines."""
        self.losses += (loss for loss in normal.losses if loss.keyword != "type")
        schema: dict[str, object] = {"type": "object"}
        for word, (value, _) in normal.notes.items():
            schema[word] = thaw_json(value)
        schema["properties"] = {name: self.joined(conjuncts) for name, conjuncts in normal.properties().items()}
        if normal.required:
            schema["required"] = list(normal.required)
        if normal.choices is not None:
            self.lose(normal.choices[1], "enum", "dropped", "it must not stand at the root")
        others = normal.others()
        if others is not None and not all(at.schema is False for at in others):
            schema["additionalProperties"] = self.joined(others)
        elif normal.closed is not None:
            schema["additionalProperties"] = False
        for word, (value, pointer) in normal.limits.items():
            if word in ("minProperties", "maxProperties"):
                schema[word] = value
            else:
                self.lose(pointer, word, "dropped", "it is left to our validation at a root that combines schemas")
        return schema

    def joined(self, conjuncts: tuple[At, ...]) -> object:
        """What *conjuncts* say together."""
        written = [self._one(at) for at in conjuncts]
        return written[0] if len(written) == 1 else {"allOf": written}

    def _one(self, at: At) -> object:
        if isinstance(at.schema, Branches):
            return {"anyOf": [self.joined(option) for option in at.schema.options]}
        return self.copy(at, 0)

    def copy(self, at: At, depth: int) -> object:
        """A copy of one schema, in which references point at our own definitions."""
        if at.schema is False:
            return {"not": {}}
        schema = as_schema(at.schema)
        if depth > _DEEPEST:
            self.lose(at.pointer, "type", "widened", "the schema is too deep to be told whole")
            return {}
        made: dict[str, object] = {}
        for word, value in schema.items():
            if word not in _LEFT_OUT:
                self._copy_word(made, at, word, value, depth)
        kinds = schema.get("type")
        arrays = kinds == "array" or "array" in as_list(kinds)
        if arrays and not made.keys() & {"items", "prefixItems"}:
            self._say_items(made, at)
        return made

    def _say_items(self, made: dict[str, object], at: At) -> None:
        """Say in an array what its items are, since every array has to."""
        if "unevaluatedItems" in made and not made.keys() & _EVALUATING:
            made["items"] = made.pop("unevaluatedItems")  # nothing else has looked at them: it is about all of them
            self.lose(at.pointer, "unevaluatedItems", "added", "it is said as items, which every array has")
            return
        made["items"] = {}
        if self._looks_back:  # whatever items says counts as looked at, so that unevaluatedItems passes over it
            self.lose(
                at.pointer, "items", "narrowed", "every array says what its items are, and unevaluatedItems looks back"
            )
        else:
            self.lose(at.pointer, "items", "added", "every array says what its items are")

    @cached_property
    def _looks_back(self) -> bool:
        return _mentions(self.book.root.schema, "unevaluatedItems")

    def _copy_word(self, made: dict[str, object], at: At, word: str, value: object, depth: int) -> None:
        if not _is_well_formed(word, value):
            self.lose(at.pointer, word, "dropped", "it is malformed")
        elif word in ("$ref", "$dynamicRef"):
            target = self.book.find(value, at.pointer) if isinstance(value, str) else None
            if target is None:
                self.lose(at.pointer, word, "dropped", "it points at nothing in this schema")
            else:
                made["$ref"] = f"#/$defs/{self._name_of(target)}"
        elif word in _MAPS:
            made[word] = {name: self.copy(at.below(word, name), depth + 1) for name in as_schema(value)}
        elif word == "items" and as_list(value):  # the older drafts' way to say prefixItems
            made["prefixItems"] = [self.copy(at.below(word, index), depth + 1) for index in range(len(as_list(value)))]
            if "additionalItems" in as_schema(at.schema):
                made["items"] = self._boolean(at.below("additionalItems"), depth + 1)
        elif word in _LISTS:
            made[word] = [self.copy(at.below(word, index), depth + 1) for index in range(len(as_list(value)))]
        elif word in _SINGLE:
            made[word] = self._boolean(at.below(word), depth + 1)
        else:
            made[word] = thaw_json(value) if as_schema(value) or as_list(value) else value

    def _boolean(self, at: At, depth: int) -> object:
        return at.schema if isinstance(at.schema, bool) else self.copy(at, depth)

    def _name_of(self, target: At) -> str:
        if target.pointer not in self._names:
            short = target.pointer.rpartition("/")[2].strip("#") or "root"
            taken = set(self._names.values())
            (name,) = legal_names([short], _DEFINITIONS).values()
            if name in taken:
                (name,) = legal_names([f"{short} {target.pointer}"], _DEFINITIONS).values()
            self._names[target.pointer] = name
            self._waiting.append(target)
        return self._names[target.pointer]

    def renamed(self, schema: dict[str, object]) -> Coding | None:
        """Give the members of the root legal names; answer how to find theirs again."""
        properties = cast("dict[str, object]", schema["properties"])
        alphabet = self.rules.members
        if alphabet is None or all(map(alphabet.allows, properties)):
            return None
        wires = legal_names(properties, alphabet, bare=True)
        schema["properties"] = {wires[name]: inner for name, inner in properties.items()}
        schema["required"] = [wires.get(name, name) for name in cast("list[str]", schema.get("required", []))]
        for word in ("dependentRequired", "dependentSchemas", "propertyNames"):
            if schema.pop(word, None) is not None:
                self.lose("#", word, "dropped", "members of the root are called otherwise here")
        entries = [Member(name, wire) for name, wire in wires.items()]
        return Objects({each.name: each for each in entries}, {each.wire: each for each in entries})


def _mentions(schema: object, word: str) -> bool:
    """Whether *word* stands anywhere in *schema*, if only as the name of a member."""
    waiting = [schema]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, Mapping):
            if word in inner:
                return True
            waiting += cast("Mapping[str, object]", inner).values()
        else:
            waiting += as_list(inner)
    return False


def _is_well_formed(word: str, value: object) -> bool:
    """Whether *value* is what *word* wants. A contract whose schema is the caller's own was never checked."""
    if word in _MAPS:
        return isinstance(value, dict)
    if word in _LISTS or word in ("enum", "required"):
        words = word != "required" or all(isinstance(each, str) for each in as_list(value))
        return isinstance(value, list) and words
    if word == "type":
        return isinstance(value, str) or (
            bool(as_list(value)) and all(isinstance(each, str) for each in as_list(value))
        )
    if word in _SINGLE:
        return isinstance(value, bool | dict) or (word == "items" and isinstance(value, list))
    return True
