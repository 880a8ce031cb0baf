"""The outlet: order, back-pressure and failure, without a process around it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from armory_trio.cli._output import Outlet
from tests.requirements import requirement


def never(size: int) -> bool:
    return False


def nothing() -> None:
    pass


def always(size: int) -> bool:
    return True


class Paper:
    """Takes what is written, or fails."""

    def __init__(self, error: OSError | None = None) -> None:
        self.written = b""
        self.errors: list[OSError] = []
        self._error = error

    def write(self, data: bytes) -> None:
        if self._error is not None:
            raise self._error
        self.written += data

    def outlet(self, *, ordered: bool = True) -> Outlet:
        return Outlet(self.write, never, ordered=ordered, on_failure=self.errors.append, on_progress=nothing)


@requirement("cli.run.order")
async def test_lines_wait_for_those_before_them() -> None:
    paper = Paper()
    outlet = paper.outlet()
    first, second, third = (outlet.reserve(1) for _ in range(3))
    outlet.fill(third, b"3\n")
    outlet.fill(first, b"1\n")
    outlet.fill(second, b"2\n")
    outlet.close()
    await outlet.run()

    assert paper.written == b"1\n2\n3\n"


@requirement("cli.run.order")
async def test_unordered_lines_do_not() -> None:
    paper = Paper()
    outlet = paper.outlet(ordered=False)
    first, second = outlet.reserve(1), outlet.reserve(1)
    outlet.fill(second, b"2\n")
    outlet.fill(first, b"1\n")
    outlet.close()
    await outlet.run()

    assert paper.written == b"2\n1\n"


@requirement("cli.run.back-pressure")
async def test_there_is_room_once_enough_is_written() -> None:
    paper = Paper()
    outlet = paper.outlet()
    slots = [outlet.reserve(2), outlet.reserve(1)]
    had_room = False

    async def wait() -> None:
        nonlocal had_room
        await outlet.room(2)
        had_room = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        nursery.start_soon(outlet.run)
        await trio.testing.wait_all_tasks_blocked()
        assert (had_room, outlet.pending) == (False, 3)
        outlet.fill(slots[1], b"b\n")
        await trio.testing.wait_all_tasks_blocked()
        assert (had_room, outlet.pending) == (False, 3)
        outlet.fill(slots[0], b"a\n")
        outlet.close()

    assert (had_room, outlet.pending, paper.written) == (True, 0, b"a\nb\n")


@requirement("cli.stdout.unwritable")
@pytest.mark.parametrize("takes", [never, always])
async def test_after_a_failure_the_rest_is_dropped_and_counted(takes: Callable[[int], bool]) -> None:
    error = BrokenPipeError("gone")
    paper = Paper(error)
    failed = trio.Event()

    def on_failure(given: OSError) -> None:
        paper.errors.append(given)
        failed.set()

    outlet = Outlet(paper.write, takes, ordered=True, on_failure=on_failure, on_progress=nothing)
    slots = [outlet.reserve(1) for _ in range(3)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outlet.run)
        outlet.fill(slots[0], b"a\n")
        with trio.fail_after(60):
            await failed.wait()
        outlet.fill(slots[1], b"b\n")
        outlet.fill(slots[2], b"c\n")
        outlet.close()

    assert (paper.errors, paper.written) == ([error], b"")
    assert (outlet.lost, outlet.pending) == (3, 0)
