"""Effect windows of tools in threads and processes are written down before the world changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from armory_trio import Toolbox, ToolCall, open_supervisor
from armory_trio.definitions import Placement
from armory_trio.ledger import Answer, Complete, OpenWindow, Operation
from tests.engine.ledger.placed import PATIENCE, TOOLS, pay_process
from tests.engine.ledger.stores import HER, Troubled, code_of, said_of, the_attempt, told_of
from tests.requirements import requirement

PLACES: list[Placement] = ["thread", "process"]


class Watching(Troubled):
    """Looks into the file that the tool writes whenever a window is opened or closed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.seen: list[tuple[str, int]] = []

    async def apply(self, operation: Operation, /) -> Answer:
        answer = await super().apply(operation)
        await trio.sleep(0.02)
        self.seen.append((type(operation).__name__, self.path.read_text().count("paid") if self.path.exists() else 0))
        return answer


async def until(so: Callable[[], bool]) -> None:
    """Return when something is so that nobody tells."""
    while not so():  # noqa: ASYNC110  # as said
        await trio.sleep(0.01)


@requirement("keeping.places")
@pytest.mark.parametrize("place", PLACES)
async def test_a_window_is_written_down_before_the_body_goes_on(place: Placement, tmp_path: Path) -> None:
    path = tmp_path / "paid"
    store, body = Watching(path), TOOLS[place]
    async with open_supervisor(Toolbox([body]), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            call = ToolCall(body.name, {"path": str(path)})
            result = await supervisor.execute(call, idempotency_key="k")
            again = await supervisor.execute(call, idempotency_key="k")

    assert (result.outcome, result.value, result.effect) == ("success", "k", "completed")
    assert store.seen[:5] == [("Claim", 0), ("Start", 0), ("OpenWindow", 0), ("CloseWindow", 1), ("Complete", 1)]
    assert (told_of(again), again.value, path.read_text()) == ("deduped", "k", "paid\n")


@requirement("keeping.places")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("trouble", ["raises", "does-and-raises"])
async def test_a_window_that_can_not_be_written_down_is_not_entered_anywhere(
    place: Placement, trouble: str, tmp_path: Path
) -> None:
    path = tmp_path / "paid"
    store, body = Troubled(), TOOLS[place]
    store.trouble[OpenWindow] = trouble  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]
    async with open_supervisor(Toolbox([body]), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall(body.name, {"path": str(path)}), idempotency_key="k")

    assert (result.outcome, result.effect, path.exists()) == ("error", "none", False)
    assert result.error is not None and "can't be recorded" in result.error.message


@requirement("keeping.places")
@pytest.mark.parametrize("place", PLACES)
async def test_a_window_that_was_left_by_an_exception_is_unknown_anywhere(place: Placement, tmp_path: Path) -> None:
    store, body = Troubled(), TOOLS[place]
    call = ToolCall(body.name, {"path": str(tmp_path / "paid"), "how": "within"})
    async with open_supervisor(Toolbox([body]), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(call, idempotency_key="k")
            again = await supervisor.execute(call, idempotency_key="k")

    assert (result.effect, told_of(again)) == ("unknown", "unknown-outcome")


@requirement("keeping.places.inline")
@pytest.mark.parametrize("keyed", [False, True])
async def test_a_def_tool_on_trio_s_thread_can_not_wait_for_the_ledger_and_says_so(keyed: bool, tmp_path: Path) -> None:
    path, body = tmp_path / "paid", TOOLS["task"]
    async with open_supervisor(Toolbox([body]), default_request_context=HER) as supervisor:
        result = await supervisor.execute(
            ToolCall(body.name, {"path": str(path)}), idempotency_key="k" if keyed else None
        )

    if keyed:
        assert (code_of(result), result.effect, path.exists()) == ("INTERNAL_ERROR", "none", False)
        assert result.error is not None and "trio's thread" in result.error.message
    else:
        assert (result.outcome, result.effect) == ("success", "completed")


@requirement("keeping.places")
async def test_the_end_of_a_worker_process_is_written_down(tmp_path: Path) -> None:
    path, gate = tmp_path / "paid", tmp_path / "gate"
    store = Troubled()
    async with open_supervisor(Toolbox([pay_process]), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            call = ToolCall("pay_process", {"path": str(path), "gate": str(gate)})
            execution = supervisor.start(call, idempotency_key="k")
            await until(path.exists)
            execution.abort("not needed")
            await execution.settled()
            again = await supervisor.execute(call, idempotency_key="k")
            attempt = await the_attempt(store)

    assert attempt is not None and (attempt.state, attempt.effect) == ("unknown", "unknown")
    assert (told_of(again), path.read_text()) == ("unknown-outcome", "paid\n")


@requirement("keeping.places")
async def test_a_thread_that_can_not_be_stopped_is_written_down_when_it_ends(tmp_path: Path) -> None:
    path, gate = tmp_path / "paid", tmp_path / "gate"
    store, body = Troubled(), TOOLS["thread"]
    async with open_supervisor(Toolbox([body]), ledger=store, default_request_context=HER) as supervisor:
        with trio.fail_after(PATIENCE):
            call = ToolCall(body.name, {"path": str(path), "gate": str(gate)})
            execution = supervisor.start(call, idempotency_key="k")
            await until(path.exists)
            execution.abort("not needed")
            early = await execution.result()
            gate.touch()
            snapshot = await execution.settled()
            await until(lambda: "Complete" in store.asked)
            await supervisor.wait_idle()
            attempt = await the_attempt(store)

    assert (early.effect, said_of(early).recorded) == ("unknown", False)
    assert snapshot.effect == "completed"
    assert attempt is not None and (attempt.state, attempt.effect) == ("completed", "completed")
    assert Complete.__name__ in store.asked
