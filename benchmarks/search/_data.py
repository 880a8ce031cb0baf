"""The Berkeley function-calling data as one large toolbox, and what users asked that some of its tools answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import msgspec

from armory_trio import Tool, define_tool

ASKED: Final = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple")
"""The files whose questions have functions for their answers."""

_TYPES: Final[Mapping[str, str]] = {
    "array": "array",
    "boolean": "boolean",
    "dict": "object",
    "float": "number",
    "integer": "integer",
    "string": "string",
    "tuple": "array",
}
_PLAIN: Final = ("description", "enum", "default")


class Definition(msgspec.Struct, frozen=True):
    """A function as a test entry offers it. ``parameters`` are in the dialect of the data."""

    name: str
    description: str = ""
    parameters: dict[str, object] = {}


class Question(msgspec.Struct, frozen=True):
    """What a user said, and the names of the functions that answer it."""

    id: str
    words: str
    expected: frozenset[str]


class _Entry(msgspec.Struct, frozen=True):
    id: str
    question: list[list[dict[str, object]]] = []
    function: list[Definition] | Definition = []


class _Answer(msgspec.Struct, frozen=True):
    id: str
    ground_truth: list[dict[str, object]]


def definitions(folder: Path) -> list[Definition]:
    """Every function of the data, by name; of several with one name, the first."""
    found: dict[str, Definition] = {}
    for path in sorted(folder.glob("BFCL_v4_*.json")):
        for entry in _entries(path):
            offered = entry.function if isinstance(entry.function, list) else [entry.function]
            for definition in offered:
                found.setdefault(definition.name, definition)
    return list(found.values())


def questions(folder: Path) -> list[Question]:
    """Every question whose answer is a call, in order of files and lines."""
    found: list[Question] = []
    for category in ASKED:
        name = f"BFCL_v4_{category}.json"
        answers = msgspec.json.Decoder(_Answer).decode_lines((folder / "possible_answer" / name).read_bytes())
        expected = {answer.id: frozenset(key for call in answer.ground_truth for key in call) for answer in answers}
        found.extend(Question(entry.id, _said(entry), expected[entry.id]) for entry in _entries(folder / name))
    return found


def tool_of(definition: Definition) -> Tool[..., object]:
    """*definition* as a tool that does nothing."""
    schema = {**_schema(definition.parameters), "type": "object"}
    return define_tool(name=definition.name, description=definition.description, input=schema, execute=_nothing)


def variants(found: Iterable[Definition], count: int) -> list[Definition]:
    """*count* definitions: those that were found, and then the same again under other names."""
    known = list(found)
    return [
        msgspec.structs.replace(known[at % len(known)], name=_numbered(known[at % len(known)].name, at // len(known)))
        for at in range(count)
    ]


def _numbered(name: str, time: int) -> str:
    return f"{name}_{time + 1}" if time else name


def _nothing(**arguments: object) -> None:
    """Do nothing with *arguments*."""


def _entries(path: Path) -> list[_Entry]:
    text = path.read_bytes()
    # One of the files is a single object that describes how to format prompts.
    return [] if text.startswith(b"{\n") else msgspec.json.Decoder(_Entry).decode_lines(text)


def _said(entry: _Entry) -> str:
    said = (message for turn in entry.question for message in turn if message["role"] == "user")
    return " ".join(str(message["content"]) for message in said)


def _schema(parameters: Mapping[str, object]) -> dict[str, object]:
    schema: dict[str, object] = {key: parameters[key] for key in _PLAIN if key in parameters}
    kind = _TYPES.get(str(parameters.get("type")))
    if kind is not None:
        schema["type"] = kind
    if isinstance(required := parameters.get("required"), list):
        schema["required"] = required
    if isinstance(items := parameters.get("items"), Mapping):
        schema["items"] = _schema(cast("Mapping[str, object]", items))
    if properties := dict(_properties(parameters)):
        schema["properties"] = properties
    return schema


def _properties(parameters: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    properties = parameters.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in cast("Mapping[str, object]", properties).items():
            if isinstance(inner, Mapping):
                yield name, _schema(cast("Mapping[str, object]", inner))
