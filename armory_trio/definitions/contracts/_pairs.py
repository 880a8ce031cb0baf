"""Contracts that are the caller's own: a schema to show, and a function that decides, at once or after waiting."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, TypeGuard, cast

import msgspec
from attrs import frozen

from ...errors import DefinitionError, JsonError
from .._arguments import ArgumentIssue, InputContract, InvalidArguments, Invoker
from .._canonical import freeze_json, thaw_json
from .._checks import shown
from .._functions import kind_of
from .._options import refuse_unknown
from ._calling import single_caller
from ._issues import MOST, not_an_object, not_json
from ._json_schema import copied_schema
from ._writing import UNWRITABLE, members, written

_Own = Callable[[Mapping[str, object]], object]
"""A function of the caller's: see `contracts.PairValidator` and `contracts.Parser`."""

_KEYS: Final = ("schema", "validate", "parse")


def contract_from_pair(schema: Mapping[str, object], validate: _Own, *, subject: str = "input") -> InputContract:
    """See `contracts.contract_from_pair`."""
    kind = AsyncPairContract if _is_async(validate, "validate", subject) else PairContract
    return kind(_frozen(schema, subject), validate)


def contract_from_parser(schema: Mapping[str, object], parse: _Own, *, subject: str = "input") -> InputContract:
    """See `contracts.contract_from_parser`."""
    kind = AsyncParserContract if _is_async(parse, "parse", subject) else ParserContract
    return kind(_frozen(schema, subject), parse)


def contract_from_parts(given: Mapping[str, object], *, subject: str) -> InputContract:
    """See `contracts.contract_from_parts`."""
    refuse_unknown(subject, given, _KEYS)
    if len(given) > 2:
        raise DefinitionError(subject, "input", "takes 'validate' or 'parse', not both: one of them has to decide")
    if "schema" not in given:
        reason = "is missing: what a validator of your own accepts can't be read from it, so say it in JSON Schema"
        raise DefinitionError(subject, "input.schema", reason)
    schema = cast("Mapping[str, object]", given["schema"])
    if "parse" in given:
        return contract_from_parser(schema, cast("_Own", given["parse"]), subject=subject)
    return contract_from_pair(schema, cast("_Own", given["validate"]), subject=subject)


def _frozen(schema: object, subject: str) -> Mapping[str, object]:
    return cast("Mapping[str, object]", freeze_json(copied_schema(schema, subject)))


def _is_async(function: object, word: str, subject: str) -> bool:
    if not callable(function):
        raise DefinitionError(subject, f"input.{word}", f"must be a function, not {shown(function)}")
    return kind_of(function) == "async"


def _detached(arguments: object) -> Mapping[str, object]:
    try:
        detached = freeze_json(arguments)
    except JsonError as fault:
        raise InvalidArguments([not_json(fault)]) from None
    if not isinstance(detached, Mapping):
        raise InvalidArguments([not_an_object(detached)])
    return cast("Mapping[str, object]", detached)


# ── deciding at once ─────────────────────────────────────────────────────────────────────────────────────────────────


@frozen(eq=False)
class PairContract(InputContract):
    """A schema to show and a function that decides; validated arguments are deeply frozen."""

    _decide: _Own

    def validate(self, arguments: Mapping[str, object]) -> object:
        detached = _detached(arguments)
        return _decided(detached, self._decide(detached))

    def named(self, validated: object) -> dict[str, object]:
        return dict(cast("Mapping[str, object]", validated))

    def dump(self, validated: object) -> dict[str, object]:
        return cast("dict[str, object]", thaw_json(validated))

    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        return single_caller(function, context_parameter or self.context_parameter)


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """What another library made of the arguments, and the arguments."""

    arguments: Mapping[str, object]
    value: object


@frozen(eq=False)
class ParserContract(InputContract):
    """A schema to show and a parser; validated arguments are what it made of them, with the arguments themselves."""

    _parse: _Own

    def validate(self, arguments: Mapping[str, object]) -> object:
        detached = _detached(arguments)
        try:
            return _parsed(detached, self._parse(detached))
        except (ValueError, TypeError) as error:
            raise _refusal(error) from error

    def named(self, validated: object) -> dict[str, object]:
        parsed = cast("Parsed", validated)
        return members(parsed.value) or dict(parsed.arguments)

    def dump(self, validated: object) -> dict[str, object]:
        parsed = cast("Parsed", validated)
        try:
            plain = written(parsed.value)
        except UNWRITABLE:
            plain = None
        return cast("dict[str, object]", plain if isinstance(plain, dict) else thaw_json(parsed.arguments))

    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        call = single_caller(function, context_parameter or self.context_parameter)
        return lambda validated, context: call(cast("Parsed", validated).value, context)


def _parsed(detached: Mapping[str, object], value: object) -> Parsed:
    if inspect.iscoroutine(value):
        value.close()
        raise InvalidArguments([_whole("their parser answers a coroutine; write it with async def")])
    return Parsed(detached, value)


def _refusal(error: Exception) -> InvalidArguments:
    return InvalidArguments([_whole(str(error) or type(error).__name__)])


def _whole(words: str) -> ArgumentIssue:
    return ArgumentIssue("", "invalid", f"the arguments were refused: {words}")


# ── deciding after waiting ───────────────────────────────────────────────────────────────────────────────────────────


class Admitted(Mapping[str, object]):
    """Arguments about which their contract has decided already; it takes them at once, and only it does."""

    __slots__ = ("_arguments", "_contract", "_verdict")

    def __init__(
        self, arguments: Mapping[str, object], contract: InputContract, verdict: object | InvalidArguments
    ) -> None:
        self._arguments = arguments
        self._contract = contract
        self._verdict = verdict

    def __getitem__(self, name: str) -> object:
        return self._arguments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)

    def verdict_of(self, contract: InputContract) -> object:
        """What *contract* made of the arguments.

        Raises:
            InvalidArguments: It refused them, or it is another contract.
        """
        if contract is not self._contract:
            raise InvalidArguments([_whole("they were checked for another tool")])
        if isinstance(self._verdict, InvalidArguments):
            raise InvalidArguments(self._verdict.issues)
        return self._verdict


async def admitted(contract: InputContract, arguments: Mapping[str, object]) -> Mapping[str, object]:
    """See `contracts.admitted`. Cancelled: its validator is."""
    try:
        return Admitted(arguments, contract, await contract.validate_async(arguments))
    except InvalidArguments as refusal:
        return Admitted(arguments, contract, refusal)


async def _awaited(answer: object) -> object:
    """What *answer* gives; itself, if a wrapper round an async function had the answer at hand."""
    return await answer if inspect.isawaitable(answer) else answer


def _at_once(contract: InputContract, arguments: object) -> object:
    if isinstance(arguments, Admitted):
        return arguments.verdict_of(contract)
    raise InvalidArguments([_whole("their validator has to be awaited, and is not here")])


@frozen(eq=False)
class AsyncPairContract(PairContract):
    """A pair whose function has to be awaited."""

    awaits: ClassVar[bool] = True

    def validate(self, arguments: Mapping[str, object]) -> object:
        return _at_once(self, arguments)

    async def validate_async(self, arguments: Mapping[str, object]) -> object:
        detached = _detached(arguments)
        return _decided(detached, await _awaited(self._decide(detached)))


@frozen(eq=False)
class AsyncParserContract(ParserContract):
    """A parser that has to be awaited."""

    awaits: ClassVar[bool] = True

    def validate(self, arguments: Mapping[str, object]) -> object:
        return _at_once(self, arguments)

    async def validate_async(self, arguments: Mapping[str, object]) -> object:
        detached = _detached(arguments)
        try:
            return _parsed(detached, await _awaited(self._parse(detached)))
        except (ValueError, TypeError) as error:
            raise _refusal(error) from error


# ── what a validator answered ────────────────────────────────────────────────────────────────────────────────────────


def _decided(detached: Mapping[str, object], answer: object) -> Mapping[str, object]:
    details = cast("Mapping[str, object]", answer) if isinstance(answer, Mapping) else {"valid": answer}
    if details.get("valid") is True:
        return detached
    raise InvalidArguments(_pair_issues(details))


def _pair_issues(answer: Mapping[str, object]) -> list[ArgumentIssue]:
    verdict, found = answer.get("valid"), answer.get("issues")
    if inspect.iscoroutine(verdict):
        verdict.close()
    if verdict is not False:
        return [_whole("their validator must answer True, False or a mapping whose 'valid' is one of these")]
    issues = [_pair_issue(issue) for issue in found[:MOST] if _is_mapping(issue)] if _is_list(found) else []
    return issues or [ArgumentIssue("", "invalid", "the arguments were refused")]


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _pair_issue(issue: Mapping[str, object]) -> ArgumentIssue:
    path, code = str(issue.get("path", "")), str(issue.get("code", "invalid"))
    words = issue.get("message", issue.get("safeMessage", issue.get("safe_message")))
    place = f"`{path}`" if path else "the arguments"
    return ArgumentIssue(path, code, str(words) if words is not None else f"{place}: {code}")
