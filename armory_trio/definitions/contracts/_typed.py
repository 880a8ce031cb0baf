"""Contracts over Python types: one msgspec conversion when all is well, a second look when it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import attrs
import msgspec
from attrs import field, frozen

from ...errors import DefinitionError, JsonError
from .._arguments import ArgumentIssue, InputContract, InvalidArguments, Invoker, path_text
from .._canonical import freeze_json, thaw_json
from ._calling import single_caller
from ._cattrs import ConverterDecoder, StructureConverter
from ._fitting import fitted
from ._issues import FOREIGN, not_an_object, not_json
from ._markers import ObjectDecoder, convert, decoder_of, marker
from ._objects import object_shape
from ._refusals import conversion_issues, placed
from ._shapes import Shape, Translator
from ._writing import members, written, written_by_fields

if TYPE_CHECKING:
    from ._compiled import SchemaValidator


def _plain_integers(contract: InputContract) -> tuple[str, ...]:
    """The arguments that are integers and nothing else."""
    properties = cast("Mapping[str, Mapping[str, object]]", contract.schema.get("properties", {}))
    return tuple(name for name, schema in properties.items() if schema.get("type") == "integer")


@frozen(eq=False)
class TypedContract(InputContract):
    """What contracts over Python types have in common.

    Args:
        kind: What msgspec converts the arguments into.
        needs_hook: Whether markers occur in it. Telling msgspec how to read them doubles the price of a call.
        kinds: The msgspec type of each argument, to look for several errors at once.
        lenient: Whether numbers, booleans and containers may come as strings.
        plain: Whether msgspec itself writes values as the contract takes them.
    """

    _kind: object
    _needs_hook: bool
    _kinds: Mapping[str, object]
    _lenient: bool = False
    _plain: bool = True
    _integers: tuple[str, ...] = attrs.field(init=False, default=attrs.Factory(_plain_integers, takes_self=True))
    _compiled: dict[str, SchemaValidator] = field(factory=dict[str, "SchemaValidator"], init=False)

    def validate(self, arguments: Mapping[str, object]) -> object:
        try:
            if self._needs_hook:
                return convert(arguments, self._kind)
            return msgspec.convert(arguments, self._kind)
        except Exception as error:  # noqa: BLE001  # beside msgspec's own errors, what a mapping or number of host code raises
            return self._second_look(arguments, error)

    def _second_look(self, arguments: object, error: Exception) -> object:
        if not isinstance(arguments, Mapping):
            raise InvalidArguments([not_an_object(arguments)]) from None
        whole = self._with_whole_numbers(cast("Mapping[str, object]", arguments))
        if whole is not None:
            return whole
        try:
            plain = fitted(self.schema, thaw_json(cast("object", arguments)), lenient=self._lenient)
        except JsonError as fault:
            known = fault.code in FOREIGN and isinstance(error, msgspec.ValidationError)
            raise InvalidArguments(
                [placed(issue) for issue in conversion_issues(error)] if known else [not_json(fault)]
            ) from None
        try:
            return convert(plain, self._kind)
        except msgspec.ValidationError as second:
            raise InvalidArguments(self._issues(cast("dict[str, object]", plain), second)) from None

    def _with_whole_numbers(self, arguments: Mapping[str, object]) -> object | None:
        """The commonest repair, done cheaply: some providers send every number as a float."""
        whole: dict[str, object] = {}
        try:
            for name in self._integers:
                value = arguments.get(name)
                if isinstance(value, float) and float.is_integer(value):
                    whole[name] = int(value)
            return convert({**arguments, **whole}, self._kind) if whole else None
        except Exception:  # noqa: BLE001  # as in `validate`; what is wrong is said by the reading that follows
            return None

    def _issues(self, arguments: dict[str, object], error: msgspec.ValidationError) -> list[ArgumentIssue]:
        try:
            issues = self._validator().issues(arguments)
        except ValueError:  # half a character, or too deep for the validator; the conversion knows what it did not like
            issues = []
        for name, value in arguments.items():
            if name in self._kinds and not any(_is_inside(issue.path, path_text((name,))) for issue in issues):
                issues.extend(_conversion(value, self._kinds[name], path_text((name,))))
        return issues or [placed(issue) for issue in conversion_issues(error)]

    def _validator(self) -> SchemaValidator:
        """The schema, compiled when it is first needed: only to explain a refusal."""
        if not self._compiled:
            from ._compiled import trusted_validator  # noqa: PLC0415  # only a refusal pays for it

            plain = cast("dict[str, object]", thaw_json(self.schema))
            self._compiled["schema"] = trusted_validator(plain)
        return self._compiled["schema"]

    def _written(self, value: object) -> object:
        return written(value) if self._plain else written_by_fields(value)


def _is_inside(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) :][:1] in ("", ".", "[")


def _conversion(value: object, kind: object, name: str) -> list[ArgumentIssue]:
    try:
        convert(value, kind)
    except msgspec.ValidationError as error:
        return [placed(issue) for issue in conversion_issues(error, name)]
    return []


@frozen(eq=False)
class TypeContract(TypedContract):
    """The arguments as a whole become one instance, which is the function's only argument beside the context."""

    def named(self, validated: object) -> dict[str, object]:
        return members(validated)

    def dump(self, validated: object) -> dict[str, object]:
        return cast("dict[str, object]", self._written(validated))

    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        return single_caller(function, context_parameter or self.context_parameter)


@frozen(eq=False)
class ConvertedContract(TypeContract):
    """An attrs class that a cattrs converter builds, and writes back."""

    converter: StructureConverter = field(kw_only=True)

    def named(self, validated: object) -> dict[str, object]:
        known = attrs.fields(type(cast("attrs.AttrsInstance", validated)))
        return {info.name: getattr(validated, info.name) for info in known if info.init}

    def dump(self, validated: object) -> dict[str, object]:
        names = self.named(validated)
        plain = cast("Mapping[str, object]", self.converter.unstructure(validated))
        return {name: thaw_json(value) for name, value in plain.items() if name in names}


def contract_from_type(
    kind: object,
    *,
    subject: str = "input",
    converter: StructureConverter | None = None,
    localns: Mapping[str, object] | None = None,
    lenient: bool = False,
) -> InputContract:
    """See `contracts.contract_from_type`."""
    if converter is not None and not (isinstance(kind, type) and attrs.has(kind)):
        raise DefinitionError(subject, "converter", "builds attrs classes only; leave it out for other types")
    translator = Translator(subject, object_shape, localns or {}, hooked=converter is not None)
    shape = translator.translate(kind, "input")
    if not is_object(translator, shape.schema):
        raise DefinitionError(subject, "input", "arguments are an object with named members; give a class with fields")
    schema = frozen_schema(root_schema(translator, shape), subject)
    kinds = _kinds(shape)
    if converter is None:
        return TypeContract(schema, shape.type, translator.needs_hook, kinds, lenient, translator.plain_dump)
    built = marker("Converted", ConverterDecoder(cast("type[object]", kind), shape.type, converter))
    return ConvertedContract(schema, built, True, kinds, lenient, converter=converter)


def _kinds(shape: Shape) -> dict[str, object]:
    """The msgspec type of each member of a class."""
    decoder = decoder_of(shape.type)
    if not isinstance(decoder, ObjectDecoder):
        return {}
    return {info.encode_name: cast("object", info.type) for info in msgspec.structs.fields(decoder.shape)}


def is_object(translator: Translator, schema: Mapping[str, object]) -> bool:
    """Whether *schema* is about closed objects only."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return is_object(translator, translator.definitions[reference.rpartition("/")[2]])
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        return all(is_object(translator, branch) for branch in cast("list[dict[str, object]]", branches))
    return schema.get("type") == "object" and "properties" in schema


def root_schema(translator: Translator, shape: Shape) -> dict[str, object]:
    """The schema of *shape* with its own properties at the root, where a model looks first."""
    definitions = dict(translator.definitions)
    schema = dict(shape.schema)
    reference = schema.pop("$ref", None)
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        schema = {**definitions[name], **schema}
        others: Sequence[object] = [schema, *(value for key, value in definitions.items() if key != name)]
        if not _refers(others, reference):
            del definitions[name]
    elif "anyOf" in schema:
        schema = {"type": "object", **schema}
    return with_definitions(schema, definitions)


def with_definitions(schema: dict[str, object], definitions: Mapping[str, object]) -> dict[str, object]:
    """*schema* as a document of its own."""
    return {**schema, "$defs": dict(definitions)} if definitions else schema


def frozen_schema(schema: dict[str, object], subject: str, field: str = "input schema") -> Mapping[str, object]:
    """*schema* as a contract keeps it.

    Raises:
        DefinitionError: Something that was declared beside a type, such as an example, is not JSON.
    """
    try:
        return cast("Mapping[str, object]", freeze_json(schema))
    except JsonError as error:
        raise DefinitionError(subject, f"{field} at {path_text(error.path)}", error.detail) from error


def _refers(value: object, reference: str) -> bool:
    if isinstance(value, dict):
        schema = cast("dict[str, object]", value)
        return schema.get("$ref") == reference or any(_refers(member, reference) for member in schema.values())
    return isinstance(value, list) and any(_refers(member, reference) for member in cast("list[object]", value))
