"""The arguments of an operation: one name for each parameter and each member of the body, and where each is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ._bodies import Body
from ._naming import LONGEST, Distinct, legal_name
from ._parameters import Declared
from ._schemas import Schema, Schemas, reachable, with_definitions
from ._styles import Parameter, Place

__all__ = ("Arguments", "arguments_of")


class Arguments(msgspec.Struct, frozen=True, eq=False):
    """What a model gives, and where each of it is sent.

    Args:
        schema: JSON Schema 2020-12 of all.
        parameters: The parameters by the names of their arguments.
        fields: The members of the body by the names of their arguments.
        whole: The name of the argument that is the body, if it is one.
    """

    schema: dict[str, object]
    parameters: Mapping[str, Parameter]
    fields: Mapping[str, str]
    whole: str | None

    def names_in(self, place: Place) -> frozenset[str]:
        """What the parameters of *place* are called there."""
        return frozenset(each.wire for each in self.parameters.values() if each.place == place)


def arguments_of(declared: Sequence[Declared], body: Body | None, schemas: Schemas) -> Arguments:
    """Put the parameters and the body of an operation together.

    A name that is legal as it is stays; of several that are the same the first in the order path, query, header, cookie,
    body. The others end in ``_query`` and so on; if that is taken, too, a number comes behind.

    Raises:
        DocumentFault: A schema of a parameter can't be read.
    """
    fields: Mapping[str, Schema] = {} if body is None or body.fields is None else body.fields.properties
    wishes: list[tuple[str, str]] = [(each.parameter.wire, each.parameter.place) for each in declared]
    wishes += [(name, "body") for name in fields]
    names = _named(wishes)
    parameters = dict(zip(names, (each.parameter for each in declared), strict=False))
    sent = dict(zip(names[len(declared) :], fields, strict=True))
    properties = {name: _schema_of(each, schemas) for name, each in zip(names, declared, strict=False)}
    properties |= {name: fields[wire] for name, wire in sent.items()}
    required = [name for name, parameter in parameters.items() if parameter.required]
    whole: str | None = None
    if body is not None and body.fields is not None:
        required += [name for name, wire in sent.items() if wire in body.fields.required]
    elif body is not None:
        whole = _free("body", properties)
        properties[whole] = body.schema
        required += [whole] if body.required else []
    schema: dict[str, object] = {"type": "object", "properties": properties, "additionalProperties": False}
    schema |= {"required": required} if required else {}
    return Arguments(with_definitions(schema, reachable(schema, schemas.definitions())), parameters, sent, whole)


def _named(wishes: list[tuple[str, str]]) -> list[str]:
    """A name for each of *wishes*, a name on the wire and its place, in their order."""
    taken = Distinct()
    names: dict[int, str] = {}
    for index, (wire, _) in enumerate(wishes):
        if legal_name(wire)[:LONGEST] == wire and wire not in names.values():
            names[index] = taken.take(wire)
    for index, (wire, place) in enumerate(wishes):
        if index not in names:
            names[index] = taken.take(wire, f"{legal_name(wire)[: LONGEST - 7]}_{place}")
    return [names[index] for index in range(len(wishes))]


def _free(wish: str, taken: Mapping[str, object]) -> str:
    name = wish
    while name in taken:
        name = f"request_{name}"
    return name


def _schema_of(declared: Declared, schemas: Schemas) -> Schema:
    """What the argument for a parameter may be. One in a path is never empty."""
    told = True if declared.schema is None else schemas.of(declared.schema)
    schema: dict[str, object] = {"type": "string"} if declared.schema is None else {} if told is True else _object(told)
    if declared.parameter.place == "path" and schema.get("type") == "string":
        schema.setdefault("minLength", 1)
    description = declared.node.text("description")
    if description:
        schema["description"] = description
    if "example" in declared.node.members and "examples" not in schema:
        schema["examples"] = [declared.node.members["example"]]
    if declared.node.flag("deprecated"):
        schema["deprecated"] = True
    return schema


def _object(schema: Schema) -> dict[str, object]:
    return dict(schema) if isinstance(schema, dict) else {"not": {}}
