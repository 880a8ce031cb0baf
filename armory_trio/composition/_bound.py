"""The contract of a tool of whose arguments some are fixed, and the arguments that go from a whole to its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, cast

from attrs import frozen

from ..definitions import ArgumentIssue, InputContract, InvalidArguments, Invoker, near
from ..definitions._arguments import path_steps, path_text
from ..definitions.contracts._pairs import Admitted, Parsed


def bound_contract(schema: Mapping[str, object], whole: InputContract, bound: Mapping[str, object]) -> InputContract:
    """The contract *whole* for callers who give all but the *bound* arguments, and are shown *schema*."""
    kind = AwaitingBoundContract if whole.awaits else BoundContract
    return kind(schema, whole, bound)


@frozen(eq=False)
class BoundContract(InputContract):
    """The contract of another tool without the arguments that are bound; a caller who gives one of these is refused.

    Validated arguments are those of the other contract, the bound ones included.
    """

    whole: InputContract
    bound: Mapping[str, object]

    def validate(self, arguments: Mapping[str, object]) -> object:
        return self._checked(arguments, self.whole.validate)

    def named(self, validated: object) -> dict[str, object]:
        return self.without(self.whole.named(validated))

    def dump(self, validated: object) -> dict[str, object]:
        return self.without(self.whole.dump(validated))

    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        return self.whole.caller(function, context_parameter)

    def without(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """*arguments* as a caller gives them."""
        return {name: value for name, value in arguments.items() if name not in self.bound}

    def _checked(self, arguments: object, validate: Callable[[Mapping[str, object]], object]) -> object:
        if not isinstance(arguments, Mapping):
            return validate(cast("Mapping[str, object]", arguments))  # which will say so
        sent = cast("Mapping[str, object]", arguments)
        issues = self._given_too(sent)
        try:
            validated = validate({**sent, **self.bound})
        except InvalidArguments as refusal:
            raise self._refusal([*issues, *refusal.issues]) from None
        if issues:
            raise self._refusal(issues)
        return validated

    def _given_too(self, sent: Mapping[str, object]) -> list[ArgumentIssue]:
        return [self._unknown(name) for name in self.bound if name in sent]

    def _refusal(self, issues: Iterable[ArgumentIssue]) -> InvalidArguments:
        return InvalidArguments([self._retold(issue) for issue in issues])

    def _retold(self, issue: ArgumentIssue) -> ArgumentIssue:
        """An unknown argument is one of its callers', who are not told what is bound."""
        steps = path_steps(issue.path)
        if issue.code != "unknown" or steps is None or len(steps) != 1:
            return issue
        return self._unknown(str(steps[0]))

    def _unknown(self, name: str) -> ArgumentIssue:
        properties = self.schema.get("properties")
        known = sorted(cast("Mapping[str, object]", properties or {}))
        hint = near(name, known, 1)
        words = f"did you mean `{hint[0]}`?" if hint else f"known here: {', '.join(known) or 'none'}"
        place = path_text((name,))
        return ArgumentIssue(place, "unknown", f"`{place}` is not a known argument; {words}")


@frozen(eq=False)
class AwaitingBoundContract(BoundContract):
    """The same over a contract that has to be awaited."""

    awaits: ClassVar[bool] = True

    def validate(self, arguments: Mapping[str, object]) -> object:
        return arguments.verdict_of(self) if isinstance(arguments, Admitted) else super().validate(arguments)

    async def validate_async(self, arguments: Mapping[str, object]) -> object:
        issues = self._given_too(arguments)
        if issues:
            raise self._refusal(issues)
        try:
            return await self.whole.validate_async({**arguments, **self.bound})
        except InvalidArguments as refusal:
            raise self._refusal(refusal.issues) from None


def plain_arguments(contract: InputContract, validated: object) -> Mapping[str, object]:
    """The arguments that *validated* was made of, as a part takes them: plain JSON values, defaults filled in.

    What a parser made of them may not be what it takes, so it gets them as they came.
    """
    if isinstance(contract, BoundContract):
        return contract.without(plain_arguments(contract.whole, validated))
    return validated.arguments if isinstance(validated, Parsed) else contract.dump(validated)
