"""What every input contract can do, and how it says no."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, cast

import msgspec
from attrs import field, frozen

from ..errors import ArmoryError, JsonError
from ._canonical import canonical_text, parse_json

Invoker = Callable[[object, object], object]
"""(validated arguments, context or None) -> whatever the function returns."""

_PLAIN: Final = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_STEP: Final = rf'(?P<dot>\.?)(?P<plain>{_PLAIN})|\[(?:(?P<index>[0-9]{{1,4000}})|(?P<quoted>"(?:[^"\\]|\\.)*"))\]'


class ArgumentIssue(msgspec.Struct, frozen=True):
    """One thing that is wrong with the arguments of a call.

    Args:
        path: Where, as ``name``, ``name.inner`` or ``name[0].inner``; a key that is no plain word is quoted, as in
            ``["page[size]"]``; empty for the arguments as a whole.
        code: ``unknown`` (no such argument), ``missing``, ``type``, ``choice`` (none of the allowed values),
            ``constraint`` (a limit, a length, a pattern), ``format``, ``not-json``, or ``invalid`` (refused by code
            that belongs to the type). A validator of the user's own may use words of its own.
        message: Words for the model: the place, what was expected, what came.
    """

    path: str
    code: str
    message: str


class InvalidArguments(ArmoryError):
    """The arguments of a call do not fit the contract. Nothing ran. ``issues`` lists all that is known to be wrong."""

    __module__ = "armory_trio"

    def __init__(self, issues: Sequence[ArgumentIssue]) -> None:
        super().__init__("; ".join(issue.message for issue in issues) or "the arguments were refused")
        self.issues: tuple[ArgumentIssue, ...] = tuple(issues)


class OutputInvalid(ArmoryError):
    """What a tool returned does not fit its output contract. ``issues`` lists all that is known to be wrong."""

    __module__ = "armory_trio"

    def __init__(self, issues: Sequence[ArgumentIssue]) -> None:
        super().__init__("; ".join(issue.message for issue in issues) or "the value was refused")
        self.issues: tuple[ArgumentIssue, ...] = tuple(issues)


def path_text(steps: Sequence[str | int]) -> str:
    """The path grammar of `ArgumentIssue`: ``("a", 0, "b")`` is ``a[0].b``."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_PLAIN, step):
            text += f".{step}" if text else step
        else:
            text += f"[{canonical_text(step, mode='exact')}]"
    return text


def path_steps(text: str) -> tuple[str | int, ...] | None:
    """The steps that `path_text` wrote; None for a path that it did not write."""
    found: list[str | int] = []
    rest = text
    while rest:
        step = re.match(_STEP, rest)
        if step is None or (step["plain"] is not None and bool(step["dot"]) is not bool(found)):
            return None
        plain, index = step["plain"], step["index"]
        try:
            found.append(plain or (int(index) if index else cast("str", parse_json(step["quoted"]))))
        except JsonError:
            return None
        rest = rest[step.end() :]
    return tuple(found)


@frozen(eq=False, repr=False)
class InputContract(ABC):
    """What arguments a tool takes: a closed JSON Schema and the validator that agrees with it.

    Args:
        schema: JSON Schema 2020-12 of an object, deeply immutable.
        context_parameter: The parameter that the engine fills in with the tool's context, if there is one. It is
            not in the schema, and a model cannot supply it.
        context_type: `ToolContext` or `BlockingContext`, as that parameter is annotated.
    """

    awaits: ClassVar[bool] = False
    """Whether `validate` can't answer, and `validate_async` has to be awaited."""

    schema: Mapping[str, object]
    context_parameter: str | None = field(default=None, kw_only=True)
    context_type: type | None = field(default=None, kw_only=True)

    @abstractmethod
    def validate(self, arguments: Mapping[str, object]) -> object:
        """Check the arguments of one call; what comes back is for `named`, `dump` and an `Invoker` of this contract.

        Raises:
            InvalidArguments: They do not fit; all that is wrong is listed.
        """

    async def validate_async(self, arguments: Mapping[str, object]) -> object:
        """The same for a contract that ``awaits``. Others answer at once. Cancelled: the caller's validator is.

        Raises:
            InvalidArguments: They do not fit; all that is wrong is listed.
        """
        return self.validate(arguments)

    @abstractmethod
    def named(self, validated: object) -> dict[str, object]:
        """The Python values by parameter name, defaults filled in."""

    @abstractmethod
    def dump(self, validated: object) -> dict[str, object]:
        """The arguments as plain JSON values, defaults filled in: what a person is shown and a digest covers.

        A default that has no JSON form, such as a private marker object, is left out.
        """

    @abstractmethod
    def caller(self, function: Callable[..., object], context_parameter: str | None = None) -> Invoker:
        """How *function* is called with validated arguments and a context.

        Args:
            function: For a contract made from a signature, a function with that signature; otherwise one that takes
                the validated arguments as its only parameter beside the context.
            context_parameter: The name of the parameter that takes the context; by default the contract's own.
        """
