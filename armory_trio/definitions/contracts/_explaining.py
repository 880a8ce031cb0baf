"""What a validator finds wrong, one level of the value at a time.

A validator that lists what is wrong lists it for every alternative of every alternative: for an expression of depth
eight that is millions of errors, and for a list of a million wrong members a million. So its schema is cut into levels:
what is below is only asked whether it fits, and opened only where it does not, in the alternative that was meant.
"""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from attrs import frozen

from .._arguments import ArgumentIssue
from ._bounds import Counted, Step, TooManySteps, size_of, start_steps, steps_left
from ._document import BESIDE, INSIDE, REFERENCES, Document, Path
from ._fitting import Schema
from ._issues import MOST, Found, schema_issues
from ._library import ADDRESS, Unchecked, errors_of, validator_of
from ._library import fits as fits_by

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator, Registry, Validator
    from jsonschema_rs import ValidationError as SchemaError

_OPENED: Final = 1_000
"""Members that one explanation looks into."""

_NAMES: Final = 1_000
"""Names that are no legal ones, of one object: a validator lists them all."""

_COPIED: Final = 3_000_000
"""Members that the errors of a level may carry: each has a copy of the value that it is about, with all its members."""

_PLAIN: Final = 50
"""Schemas that a member of an object may ask about itself and still be shown with the object that it is in."""

_DEEPEST: Final = 50
"""Schemas beside each other that one level follows; more are a level of their own."""

_SILENT: Final = frozenset(
    (
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs", "definitions"),
        *("$vocabulary", *REFERENCES),
    )
)
"""Words about the document, which a level is none of, and references, which a level follows."""

_BY_NAME: Final = frozenset(("properties", "patternProperties"))
_FOR_ALL: Final = frozenset(
    ("contains", "unevaluatedItems", "unevaluatedProperties", "additionalProperties", "additionalItems")
)
"""Words by which a validator says one thing about all members that are forbidden."""


@frozen
class _Below:
    """A schema that speaks about members, and where the one stands that it means."""

    schema: object
    path: Path
    known: bool = True
    """Whether we know all that it says."""


class Explainer:
    """Explains what is wrong with values of one schema. Threads may share it, and wait for each other."""

    def __init__(self, root: dict[str, object], counting: Counted | None, *, formats: bool) -> None:
        self.root = root
        self._document = Document(root)
        self._formats = formats
        self._counting = counting
        self._lock = threading.Lock()
        self._below: list[_Below] = []
        self._numbers: dict[int, int] = {}
        self._levels: dict[int, Validator] = {}
        self._asked: dict[int, int] = {}
        """Errors that there may be at the top of a level, by the identity of its schema."""

        self._asking = 0
        self._validators: dict[Path, Validator | None] = {}
        self._around: Registry | None = None
        self._keyword = "below"
        while any(self._keyword in schema for _, schema in self._document.places.values()):
            self._keyword += "-"
        self._class = _keyword_class(self)
        self._told: dict[int, int] = {}
        self._wrong: list[object] = []
        """The members that were told to be wrong, in this explanation."""

        self._failed: BaseException | None = None

    def issues(self, value: object) -> list[ArgumentIssue]:
        """What is wrong with the plain JSON *value*.

        Raises:
            Unchecked: It can't be found out, or would take too long.
            ValueError: Half a character stands in a text, or it is too deep.
        """
        with self._lock:
            if self._counting is not None:
                start_steps(2 * self._counting.allowance(value))
            try:
                return schema_issues(self.root, _Opener(self, value))
            finally:
                self._wrong = []

    def level(self, schema: object, value: object) -> list[SchemaError] | None:
        """What is wrong with *value* by *schema*, one error for each member that is wrong in itself.

        None if it would take too long to say.

        Raises:
            Unchecked, ValueError: As by `issues`.
        """
        self._told = {}
        self._failed = None
        key = id(schema)
        validator = self._levels.get(key)
        if validator is None:
            validator = self._levels[key] = self._cut(schema)
        if self._asked[key] * size_of(value) > _COPIED:
            return None
        found = errors_of(validator, value)
        if self._failed is not None:
            raise self._failed
        return found

    def below(self, error: SchemaError) -> _Below | None:
        """The schema that says *error* of a member; None if it is said of the value itself."""
        return self._below[int(_words(error)[0])] if error.kind.name == self._keyword else None

    def member(self, error: SchemaError) -> object:
        """The member of which *error* says that it is wrong."""
        return self._wrong[int(_words(error)[1])]

    def fits(self, number: int, value: object) -> bool:
        """Whether *value* is as the schema of that number says. True once it can't be found out any more."""
        if self._failed is not None:
            return True
        below = self._below[number]
        if isinstance(below.schema, bool):
            return below.schema
        if below.path not in self._validators:
            self._validators[below.path] = self._at(below.path)
        validator = self._validators[below.path]
        try:
            fits = validator is None or fits_by(validator, value)
        except Unchecked:
            fits, self._validators[below.path] = True, None
        except BaseException as error:  # noqa: ASYNC103, BLE001  # the library would take it for what is wrong
            self._failed = error  # and raised later; nothing is awaited
            return True  # noqa: ASYNC104  # as said
        if self._counting is not None and steps_left() < 0:
            self._failed = TooManySteps()
        return fits

    def told(self, number: int, value: object) -> str | None:
        """The words that say that *value* is wrong by the schema of that number; None if that was said often enough."""
        if self.often(number, MOST):
            return None
        self._wrong.append(value)
        return f"{number} {len(self._wrong) - 1}"

    def often(self, number: int, most: int) -> bool:
        """Count what is told of the schema of that number; whether it is more than *most*."""
        self._told[number] = self._told.get(number, 0) + 1
        return self._told[number] > most

    def _at(self, path: Path) -> Validator | None:
        """The validator of the schema at *path* with all that is below; None if it can't be asked for alone."""
        from jsonschema_rs import Registry  # noqa: PLC0415  # only a refusal pays for it

        root = self._document.root if self._counting is None else self._counting.root
        if self._around is None:
            self._around = Registry([(ADDRESS, root)])
        asked: dict[str, object] = {word: root[word] for word in ("$schema",) if word in root}
        asked["$ref"] = f"{ADDRESS}#{_pointer(path)}"
        keywords = {} if self._counting is None else {self._counting.keyword: Step}
        try:
            return validator_of(asked, formats=self._formats, keywords=keywords, around=self._around)
        except ValueError:
            return None

    # ── cutting a level out ──────────────────────────────────────────────────────────────────────────────────────────

    def _cut(self, schema: object) -> Validator:
        self._asking = 0
        cut = self._cut_one(schema, ())
        self._asked[id(schema)] = self._asking
        root = self._document.root
        if isinstance(cut, dict) and "$schema" in root:
            cut = {"$schema": root["$schema"], **cast("dict[str, object]", cut)}
        return validator_of(
            cast("dict[str, object] | bool", cut), formats=self._formats, keywords={self._keyword: self._class}
        )

    def _cut_one(self, given: object, around: tuple[int, ...]) -> object:
        """*given* without references and without what is below; those *around* it, by their identities, are being cut."""
        if not isinstance(given, Mapping):
            return given
        schema = cast("Schema", given)
        if len(around) >= _DEEPEST:
            return self._referred(schema)
        around = (*around, id(schema))
        self._asking += 1 + _answers(schema)
        alone = self._document.alone and "$ref" in schema
        cut: dict[str, object] = {}
        for word, member in () if alone else schema.items():
            if word in BESIDE:
                cut[word] = self._cut_beside(word, member, around)
            elif word in INSIDE:
                cut[word] = self._cut_inside(word, member)
            elif word not in _SILENT:
                cut[word] = member
        meant = [self._followed(schema, word, around) for word in REFERENCES if word in schema]
        return {**cut, "allOf": [*cast("list[object]", cut.get("allOf", [])), *meant]} if meant else cut

    def _cut_beside(self, word: str, member: object, around: tuple[int, ...]) -> object:
        if isinstance(member, list):
            return [self._cut_one(inner, around) for inner in cast("list[object]", member)]
        if word in ("dependentSchemas", "dependencies") and isinstance(member, Mapping):
            named = cast("Schema", member)
            return {
                name: self._cut_one(inner, around) for name, inner in named.items()
            }  # names in a list stay as they are
        return self._cut_one(member, around)

    def _followed(self, schema: Schema, word: str, around: tuple[int, ...]) -> object:
        targets = self._document.targets(schema, word)
        if len(targets) != 1:
            return self._referred(schema, known=False)
        return True if id(targets[0]) in around else self._cut_one(targets[0], around)

    def _cut_inside(self, word: str, member: object) -> object:
        if word in _BY_NAME and isinstance(member, Mapping):
            named = cast("Schema", member)
            return {name: self._member(inner, once=word == "properties") for name, inner in named.items()}
        if isinstance(member, list):
            return [self._member(inner, once=True) for inner in cast("list[object]", member)]
        if isinstance(member, bool) and word in _FOR_ALL:
            return member
        return self._member(member, once=False, names=word == "propertyNames")

    def _member(self, given: object, *, once: bool, names: bool = False) -> object:
        """What stands for the schema of members; of one member that is there *once*, the schema itself, if it is plain."""
        if given is True or (once and given is False):
            return given
        if not isinstance(given, Mapping):
            return self._referred(given, names=names)
        schema = cast("Schema", given)
        if not once or not self._plain(schema):
            return self._referred(schema, names=names)
        asking = self._asking
        try:
            return self._cut_one(schema, ())
        finally:
            self._asking = asking

    def _plain(self, schema: Schema) -> bool:
        """Whether *schema* speaks about the value alone, and not long."""
        waiting = [schema]
        for _ in range(_PLAIN):
            if not waiting:
                return True
            asked = waiting.pop()
            if not INSIDE.isdisjoint(asked) or _answers(asked) or self._document.elsewhere(asked):
                return False
            waiting.extend(self._document.beside(asked))
        return False

    def _referred(self, given: object, *, known: bool = True, names: bool = False) -> dict[str, object]:
        """A schema that asks *given*, and says no more than whether it fits."""
        key = id(given)
        number = self._numbers.get(key)
        if number is None or self._below[number].known != known:
            number = self._numbers[key] = len(self._below)
            path = self._document.places[key][0] if key in self._document.places else ()
            self._below.append(_Below(given, path, known))
        return {self._keyword: f"{number} names" if names else str(number)}


class _Opener:
    """What stands behind the errors of one value."""

    def __init__(self, explainer: Explainer, value: object) -> None:
        self._explainer = explainer
        self._value = value
        self._left = _OPENED

    def first(self) -> list[Found]:
        """The errors of the value's own level."""
        errors = self._explainer.level(self._explainer.root, self._value)
        return [Found(error, (), self._value) for error in errors or ()]

    def opened(self, found: Found) -> list[Found] | None:
        """What is wrong below, if *found* only says that something is; None if there is no more to say."""
        below = self._explainer.below(found.error)
        if below is None or not below.known:
            return None
        self._left -= 1
        if self._left < 0:
            return []
        path, value = found.path, self._explainer.member(found.error)
        errors = self._explainer.level(below.schema, value)
        if errors is None:
            return None
        return [Found(error, path, value, in_alternative=found.in_alternative) for error in errors]

    def about_name(self, error: SchemaError) -> SchemaError:
        """What is wrong with the name of a member of which *error* only says that something is."""
        below = self._explainer.below(error)
        if below is None or not below.known:
            return error
        return next(iter(self._explainer.level(below.schema, error.instance) or ()), error)


def _keyword_class(explainer: Explainer) -> type[KeywordValidator]:
    """The keyword that asks whether a member fits, and says no more."""

    class Below:
        __slots__ = ("_names", "_number")

        def __init__(self, parent_schema: dict[str, object], value: str, schema_path: Sequence[str | int]) -> None:
            del parent_schema, schema_path
            number, _, names = value.partition(" ")
            self._number = int(number)
            self._names = bool(names)

        def validate(self, instance: object) -> None:
            if not explainer.fits(self._number, instance) and not (
                self._names and explainer.often(self._number, _NAMES)
            ):
                raise ValueError(f"{self._number} ")

        def iter_errors(self, instance: object) -> Iterator[Exception]:
            words = None if explainer.fits(self._number, instance) else explainer.told(self._number, instance)
            if words is not None:
                yield ValueError(words)

    return Below


def _answers(schema: Schema) -> int:
    """Errors about a value that *schema* may have beside one."""
    required, dependent = schema.get("required"), schema.get("dependentRequired")
    lists = [required, *(cast("Schema", dependent).values() if isinstance(dependent, Mapping) else ())]
    names = MOST if "propertyNames" in schema else 0
    return names + sum(len(cast("Sequence[object]", each)) for each in lists if isinstance(each, list))


def _words(error: SchemaError) -> list[str]:
    return str(getattr(error.kind, "message", "")).split(" ")


def _pointer(path: Sequence[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{urllib.parse.quote(step)}" for step in steps)
