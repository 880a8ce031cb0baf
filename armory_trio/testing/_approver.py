"""A person who answers questions about calls as a test says, and of whom the test can ask what they were asked."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from ..definitions import ApprovalRequest
from ..definitions._plurals import counted
from ..errors import DefinitionError
from ._deeds import fresh, is_failure

_SUBJECT: Final = "ScriptedApprover"

Answer = Callable[[ApprovalRequest], object]
"""Answers a question as an approval handler does; sync or async."""


class ScriptedApprover:
    """An ``approval_handler`` that answers as it was told, and remembers what it was asked.

    Args:
        answers: What it answers, one for each question in turn: True, False, a `Deny`, a mapping or an `Edit` of other
            arguments, an exception to raise, or a function of the request that answers, sync or async. Or one such
            function for all questions.

    Raises:
        DefinitionError: There is neither a list nor a function.
    """

    def __init__(self, answers: Iterable[object] | Answer) -> None:
        self._function: Answer | None = None
        self._answers: deque[object] = deque()
        given = cast("object", answers)
        if callable(given):
            self._function = cast("Answer", given)
        elif isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
            self._answers.extend(cast("Iterable[object]", given))
        else:
            raise DefinitionError(_SUBJECT, "answers", f"are {given!r}; give a list of answers, or a function")
        self.asked: list[ApprovalRequest] = []
        """The questions, in the order in which they came."""
        self._unscripted: list[ApprovalRequest] = []

    def __repr__(self) -> str:
        left = "a function" if self._function is not None else f"{counted(len(self._answers), 'answer')} left"
        return f"<ScriptedApprover: {counted(len(self.asked), 'question')} asked, {left}>"

    async def __call__(self, request: ApprovalRequest) -> object:
        """Answer *request*. Cancelled: the function that answers is.

        Raises:
            AssertionError: No answer is left. The call ends with ``APPROVAL_UNAVAILABLE``, and `assert_done` fails.
        """
        self.asked.append(request)
        answer: object = self._function
        if self._function is None:
            if not self._answers:
                self._unscripted.append(request)
                raise AssertionError(f"no answer is left for {_named(request)}")
            answer = self._answers.popleft()
        if is_failure(answer):
            raise fresh(answer)
        if callable(answer):
            answer = cast("Answer", answer)(request)
        return await answer if inspect.isawaitable(answer) else answer

    def assert_done(self) -> None:
        """All answers were asked for, and no more than these.

        Raises:
            AssertionError: It is not so.
        """
        __tracebackhide__ = True
        if self._unscripted:
            told = "".join(f"\n- {_named(request)}" for request in self._unscripted)
            raise AssertionError(
                f"{counted(len(self._unscripted), 'question')} came for which no answer was left:{told}"
            )
        if self._answers:
            asked = counted(len(self.asked), "question")
            raise AssertionError(f"{counted(len(self._answers), 'answer')} left that nobody asked for, after {asked}")


def _named(request: ApprovalRequest) -> str:
    return f"{request.tool_name}({dict(request.arguments)!r}): {request.question.reason}"
