"""The pytest fixtures of armory_trio.

pytest loads this in every run of every project in whose environment the library is installed, used or not. That is why
it stands outside of the package, and imports that only for a test that asks for one of the fixtures.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, ParamSpec
from weakref import WeakKeyDictionary

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    import pluggy

    from armory_trio import Supervisor
    from armory_trio.testing import CallHistory, OpenRecorded

    P = ParamSpec("P")

_histories: Final[WeakKeyDictionary[pytest.Item, list[CallHistory]]] = WeakKeyDictionary()
"""What the supervisors of running tests were asked for."""


@pytest.fixture
def armory_ids() -> Generator[None]:
    """Ids that nobody chose are the same in each run of this test: ``call-test-1``, ``exe-test.1-1``."""
    from armory_trio.testing import fixed_ids  # noqa: PLC0415  # as said above

    with fixed_ids():
        yield


@pytest.fixture
def armory_supervisor(request: pytest.FixtureRequest) -> OpenRecorded:
    """Opens supervisors that are recorded, with the arguments of `armory_trio.testing.open_recorded`.

    Use it as ``async with armory_supervisor(toolbox) as (supervisor, calls)``.
    If the test fails, its report lists the calls of all supervisors that it opened so.
    """
    from armory_trio.testing import open_recorded  # noqa: PLC0415  # as said above

    return _listing(open_recorded, _histories.setdefault(request.node, []))


def _listing(
    opening: Callable[P, AbstractAsyncContextManager[tuple[Supervisor, CallHistory]]], histories: list[CallHistory]
) -> Callable[P, AbstractAsyncContextManager[tuple[Supervisor, CallHistory]]]:
    @asynccontextmanager
    async def opened(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[tuple[Supervisor, CallHistory]]:
        async with opening(*args, **kwargs) as (supervisor, calls):
            histories.append(calls)
            yield supervisor, calls

    return opened


@pytest.hookimpl(hookwrapper=True)  # the younger kind of wrapper is not there in every pytest that may load this
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """Add what was called to the report of a test that failed."""
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        for number, calls in enumerate(_histories.get(item, ()), start=1):
            report.sections.append((f"armory_trio: calls of supervisor {number}", str(calls)))
