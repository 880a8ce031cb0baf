"""Turning what validators say into issues that a model can act on.

Values are named by type and never quoted, numbers excepted: arguments may hold secrets, and issues travel to logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from ...errors import JsonError
from .._arguments import ArgumentIssue, path_text
from .._canonical import canonical_text
from .._checks import near
from .._plurals import counted
from ._fitting import Schema, at, json_type, target
from ._library import Unchecked

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError as SchemaError

MOST: Final = 50
"""Issues that one refusal lists."""
_LONGEST_KEY: Final = 80
"""Characters of an unknown name that an issue shows."""
_SHOWN_KEYS: Final = 12
"""Known names that an issue lists when none comes near."""
_SHOWN_CHOICES: Final = 40
"""Allowed values that an issue lists. A schema may have thousands, and a model reads them with every mistake."""


class Found(msgspec.Struct, frozen=True, eq=False):
    """Something that a validator found wrong with *value*, which stands at *base*, or with what is below it."""

    error: SchemaError
    base: tuple[str | int, ...]
    value: object
    in_alternative: bool = False

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it is wrong."""
        path: list[str | int] = [*self.base]
        value = self.value
        for step in self.error.instance_path:
            if isinstance(value, list):
                path.append(step)
                value = cast("list[object]", value)[int(step)]
            else:
                members = cast("Mapping[str, object]", value)
                path.append(_spelled(members, step))
                value = members.get(str(path[-1]))
        return tuple(path)


def _spelled(members: Mapping[str, object], step: str | int) -> str:
    """The name that *step* is of one of *members*: the validator makes numbers of those that look like some."""
    name = str(step)
    if name in members or isinstance(step, str):
        return name
    return next((other for other in members if other.lstrip("+").isdecimal() and int(other) == step), name)


class Opener(Protocol):
    """Says what stands behind an error."""

    def first(self) -> list[Found]:
        """What is wrong with the value."""
        ...

    def opened(self, found: Found) -> list[Found] | None:
        """What is wrong below, if *found* only says that something is."""
        ...

    def about_name(self, error: SchemaError) -> SchemaError:
        """The same for the name of a member."""
        ...


def schema_issues(root: Schema, opener: Opener) -> list[ArgumentIssue]:
    """What the validator of *root* found, each place and each word once, up to `MOST`."""
    issues: dict[ArgumentIssue, None] = {}
    leftover: dict[ArgumentIssue, None] = {}
    waiting = opener.first()[::-1]
    while waiting and len(issues) < MOST:
        found = waiting.pop()
        inner = opener.opened(found)
        if inner is None:
            inner = _meant(found)
        if inner is not None:
            waiting.extend(reversed(inner))
            continue
        uncertain = found.error.kind.name == "unevaluatedProperties" and not found.in_alternative
        (leftover if uncertain else issues).update(dict.fromkeys(_from_error(root, found, opener)))
    # Where an alternative failed, all its members count as unevaluated: those are news only when nothing else is.
    unknown = [issue for issue in leftover if not issues or "not a known argument" in issue.message]
    chosen = {issue.path for issue in issues if issue.code == "choice"}
    return [*(issue for issue in issues if issue.code != "type" or issue.path not in chosen), *unknown][:MOST]


def _from_error(root: Schema, found: Found, opener: Opener) -> list[ArgumentIssue]:
    path, error = found.path, found.error
    kind = error.kind
    match kind.name:
        case "additionalProperties" | "unevaluatedProperties":
            unexpected = cast("list[str]", getattr(kind, "unexpected", []))
            return [_unknown(root, path, name) for name in unexpected[:MOST]]
        case "required":
            return [missing_issue((*path, str(getattr(kind, "property", ""))))]
        case "anyOf" | "oneOf":
            return [_from_union(root, found)]
        case "type":
            wanted = cast("Sequence[str]", getattr(kind, "types", ()))
            return [_issue(path, "type", f"expected {_or(wanted)}, got {json_type(error.instance)}")]
        case "enum" | "const":
            return [_issue(path, "choice", f"expected {_choices(kind)}, got {_brief(error.instance)}")]
        case "format":
            return [_issue(path, "format", f"is not a legal {getattr(kind, 'format', 'value')}")]
        case "falseSchema":
            return [_issue(path, "unknown", "is not allowed here")]
        case "propertyNames":
            return _from_name(path, opener.about_name(cast("SchemaError", getattr(kind, "error"))))  # noqa: B009  # each kind has its own fields
        case "pattern" if hasattr(kind, "error"):
            return [_issue(path, "constraint", "takes too many steps to match its pattern; make it shorter")]
        case _ if type(kind).__name__ == "Custom":  # it could not be looked into
            return [_issue(path, "constraint", "does not fit its schema")]
        case _:
            return [_issue(path, "constraint", _limit(kind.name, kind.value, error.instance))]


def _unknown(root: Schema, path: Sequence[str | int], name: str) -> ArgumentIssue:
    known = sorted({key for schema in at(root, path) for key in _properties(schema)})
    shown = name if len(name) <= _LONGEST_KEY else f"{name[:_LONGEST_KEY]}..."
    place = path_text((*path, shown))
    if name in known:
        return ArgumentIssue(place, "unknown", f"`{place}` does not go together with the other arguments")
    hint = near(name, known, 1) if len(name) <= _LONGEST_KEY else ()
    if hint:
        words = f"did you mean `{hint[0]}`?"
    elif known:
        more = ", ..." if len(known) > _SHOWN_KEYS else ""
        words = f"known here: {', '.join(known[:_SHOWN_KEYS])}{more}"
    else:
        words = "none is known here"
    return ArgumentIssue(place, "unknown", f"`{place}` is not a known argument; {words}")


def missing_issue(path: Sequence[str | int]) -> ArgumentIssue:
    """The issue of a required argument that is not there."""
    place = path_text(path)
    return ArgumentIssue(place, "missing", f"`{place}` is required and missing")


def _from_name(path: Sequence[str | int], error: SchemaError) -> list[ArgumentIssue]:
    """The issue of a member of a free-form object whose name is not as it must be."""
    words = f"is no legal name here: {_limit(error.kind.name, error.kind.value, error.instance)}"
    if error.kind.name in ("enum", "const"):
        words = f"is no legal name here: expected {_choices(error.kind)}"
    return [_issue((*path, str(error.instance)), "unknown", words)]


def _meant(found: Found) -> list[Found] | None:
    """The errors of the alternative that was most likely meant; None where none is, or there are no alternatives."""
    error = found.error
    if error.kind.name not in ("anyOf", "oneOf") or _fits_several(error):
        return None
    path = tuple(error.instance_path)
    meant = [branch for branch in _context(error) if branch and not any(_at_root(inner, path) for inner in branch)]
    best = min(meant, key=len) if meant else ()
    return [Found(inner, found.base, found.value, in_alternative=True) for inner in best] or None


def _from_union(root: Schema, found: Found) -> ArgumentIssue:
    """The list of alternatives."""
    error = found.error
    path, branches = tuple(error.instance_path), _context(error)
    if _fits_several(error):
        return _issue(found.path, "choice", "fits several of the alternatives where exactly one must fit")
    marks = [[inner for inner in branch if _is_mark(inner, path)] for branch in branches]
    if marks and all(marks) and len({tuple(mark.instance_path) for branch in marks for mark in branch}) == 1:
        wanted = _or(list(dict.fromkeys(_choices(branch[0].kind) for branch in marks)))
        place = (*found.base, *marks[0][0].instance_path)
        return _issue(place, "choice", f"expected {wanted}, got {_brief(marks[0][0].instance)}")
    alternatives = _branches(root, found)
    shapes = list(dict.fromkeys(described(root, branch) for branch in alternatives[:_SHOWN_CHOICES]))
    more = len(alternatives) - _SHOWN_CHOICES
    wanted = _or([*shapes, f"one of {more} more"] if more > 0 else shapes) or "one of the alternatives"
    return _issue(found.path, "type", f"expected {wanted}, got {json_type(error.instance)}")


def _context(error: SchemaError) -> list[list[SchemaError]]:
    return cast("list[list[SchemaError]]", getattr(error.kind, "context", []))


def _fits_several(error: SchemaError) -> bool:
    return type(error.kind).__name__ == "OneOfMultipleValid"


def _at_root(error: SchemaError, path: Sequence[str | int]) -> bool:
    """Whether the branch is out of the question: already the type, or the mark that tells branches apart, is wrong."""
    here = tuple(error.instance_path) == path
    return error.kind.name in ("type", "enum", "const", "falseSchema") if here else _is_mark(error, path)


def _is_mark(error: SchemaError, path: Sequence[str | int]) -> bool:
    """Whether the member that tells alternatives apart is not the one of this alternative."""
    return error.kind.name in ("const", "enum") and len(error.instance_path) == len(path) + 1


def _branches(root: Schema, found: Found) -> Sequence[object]:
    for schema in at(root, found.path):
        branches = schema.get(found.error.kind.name)
        if isinstance(branches, list | tuple):
            return cast("Sequence[object]", branches)
    return ()


def described(root: Schema, schema: object) -> str:
    """A schema in a word or two: ``array of string``, ``Point``, ``"a" or "b"``."""
    if not isinstance(schema, Mapping):
        return "value"
    known = cast("Schema", schema)
    reference = known.get("$ref")
    if isinstance(reference, str):
        inner = target(root, reference)
        title = cast("Schema", inner).get("title") if isinstance(inner, Mapping) else None
        return str(title or reference.rpartition("/")[2])
    if "const" in known:
        return _alternatives([known["const"]])
    choices, types = known.get("enum"), known.get("type", "value")
    if isinstance(choices, list | tuple):
        return _alternatives(cast("Sequence[object]", choices))
    words = [str(each) for each in cast("Sequence[object]", types)] if isinstance(types, list | tuple) else [str(types)]
    word = _or(words)
    if word == "array" and isinstance(known.get("items"), Mapping):
        return f"array of {described(root, known['items'])}"
    return f"{word} ({known['format']})" if "format" in known else word


def _choices(kind: object) -> str:
    options = getattr(kind, "options", None)
    values = cast("list[object]", options) if options is not None else [getattr(kind, "expected_value", None)]
    return _alternatives(values)


def _alternatives(values: Sequence[object]) -> str:
    """A few of *values*, and how many more there are."""
    words = [_cut(canonical_text(value, mode="exact")) for value in values[:_SHOWN_CHOICES]]
    more = len(values) - len(words)
    return _or([*words, f"one of {more} more"] if more else words) or "nothing, since no value is allowed"


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST_KEY else f"{words[:_LONGEST_KEY]}..."


def _limit(word: str, limit: object, value: object) -> str:
    match word:
        case "minimum":
            return f"expected at least {_brief(limit)}, got {_brief(value)}"
        case "maximum":
            return f"expected at most {_brief(limit)}, got {_brief(value)}"
        case "exclusiveMinimum":
            return f"expected more than {_brief(limit)}, got {_brief(value)}"
        case "exclusiveMaximum":
            return f"expected less than {_brief(limit)}, got {_brief(value)}"
        case "multipleOf":
            return f"expected a multiple of {_brief(limit)}, got {_brief(value)}"
        case "minLength" | "maxLength":
            side = "at least" if word == "minLength" else "at most"
            return f"expected {side} {counted(cast('float', limit), 'character')}, got {len(str(value))}"
        case "minItems" | "maxItems" | "minProperties" | "maxProperties":
            side = "at least" if word.startswith("min") else "at most"
            return (
                f"expected {side} {counted(cast('float', limit), 'member')}, got {len(cast('Sequence[object]', value))}"
            )
        case "uniqueItems":
            return "expected members that differ, but some are equal"
        case "pattern":
            return f"does not match the pattern {_cut(str(limit))}"
        case _:
            return f"does not fit {word}"


def _brief(value: object) -> str:
    return _cut(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else json_type(value)


def _or(words: Sequence[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def _issue(path: Sequence[str | int], code: str, words: str) -> ArgumentIssue:
    place = path_text(path)
    return ArgumentIssue(place, code, f"`{place}`: {words}" if place else f"the arguments: {words}")


def _properties(schema: Schema) -> Mapping[str, object]:
    found = schema.get("properties")
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


FOREIGN: Final = ("non-index-array-property", "non-plain-object", "unsupported-type")
"""What `JsonError` says of Python objects that host code may pass, such as dates."""


def not_json(fault: JsonError) -> ArgumentIssue:
    """The issue of a value that no JSON text could have carried."""
    place = path_text(fault.path)
    return ArgumentIssue(place, "not-json", f"`{place}`: {fault.detail}" if place else f"the arguments: {fault.detail}")


def not_an_object(arguments: object) -> ArgumentIssue:
    """The issue of arguments that are no object at all."""
    return ArgumentIssue("", "type", f"the arguments: expected object, got {json_type(arguments)}")


UNSAID: Final = ArgumentIssue("", "constraint", "the arguments: do not fit their schema")
"""The issue of a value that the validator refuses, but can't say why."""


def unchecked(error: Unchecked) -> ArgumentIssue:
    """The issue of a value that could not be checked."""
    return ArgumentIssue("", "constraint", f"the arguments: {error}")
