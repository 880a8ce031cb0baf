"""What every input contract can do, and how it says no."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from attrs import field, frozen

from ..errors import ArmoryError

Invoker = Callable[[object, object], object]
"""(validated arguments, context or None) -> whatever the function returns."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


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

    def __init__(self, issues: Sequence[ArgumentIssue]) -> None:
        super().__init__("; ".join(issue.message for issue in issues) or "the arguments were refused")
        self.issues = tuple(issues)


class OutputInvalid(ArmoryError):
    """What a tool returned does not fit its output contract. ``issues`` lists all that is known to be wrong."""

    def __init__(self, issues: Sequence[ArgumentIssue]) -> None:
        super().__init__("; ".join(issue.message for issue in issues) or "the value was refused")
        self.issues = tuple(issues)


def path_text(steps: Sequence[str | int]) -> str:
    """The path grammar of `ArgumentIssue`: ``("a", 0, "b")`` is ``a[0].b``."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


@frozen(eq=False)
class InputContract(ABC):
    """What arguments a tool takes: a closed JSON Schema and the validator that agrees with it.

    Args:
        schema: JSON Schema 2020-12 of an object, deeply immutable.
        context_parameter: The parameter that the engine fills in with the tool's context, if there is one. It is
            not in the schema, and a model cannot supply it.
        context_type: `ToolContext` or `BlockingContext`, as that parameter is annotated.
    """

    schema: Mapping[str, object]
    context_parameter: str | None = field(default=None, kw_only=True)
    context_type: type | None = field(default=None, kw_only=True)

    @abstractmethod
    def validate(self, arguments: Mapping[str, object]) -> object:
        """Check the arguments of one call; what comes back is for `named`, `dump` and an `Invoker` of this contract.

        Raises:
            InvalidArguments: They do not fit; all that is wrong is listed.
        """

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
