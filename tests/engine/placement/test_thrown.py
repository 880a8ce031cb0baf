"""Whatever a body in a worker process raises, it is that call's own failure, and its worker goes on."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest
import trio

from armory_trio import Limits, Tool, Toolbox, ToolCall, open_supervisor
from tests.engine.placement import _faulty as faulty
from tests.engine.placement import _throwing as throwing
from tests.engine.placement._tools import PATIENCE
from tests.engine.throwing import THROWN
from tests.requirements import requirement

KINDS: Final[list[Tool[..., object]]] = [
    throwing.returning,
    throwing.streaming,
    throwing.never_streaming,
    throwing.in_window,
    throwing.while_failing,
]


@requirement("processes.thrown")
@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
async def test_whatever_is_thrown_in_a_worker_is_an_internal_error_and_the_worker_is_used_again(
    kind: Tool[..., object],
) -> None:
    async with open_supervisor(Toolbox([kind, faulty.pid]), limits=Limits(processes=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            worker = (await supervisor.execute(ToolCall("pid"))).value
        for index, what in enumerate(THROWN):
            with trio.fail_after(PATIENCE):
                execution = supervisor.start(ToolCall(kind.name, {"index": index}))
                result = await execution.result()
                snapshot = await execution.settled()
                again = (await supervisor.execute(ToolCall("pid"))).value
            assert result.error is not None, what
            found = (result.error.category, result.error.code, result.effect)
            assert (what, found) == (what, ("internal", "INTERNAL_ERROR", "unknown"))
            assert snapshot.capacity == (), what
            assert again == worker, f"{what}: its worker was not used again"
            msgspec.json.encode(result)
    assert supervisor.report is not None
    assert supervisor.report.mode == "drain"
