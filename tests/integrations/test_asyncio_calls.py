"""Calls made from real asyncio programs."""

from __future__ import annotations

import asyncio
import gc
import inspect
import signal
import threading
from typing import Final

import pytest
import trio

from armory_trio import (
    AdmissionClosed,
    BatchError,
    DefinitionError,
    ElicitAccepted,
    ElicitAnswer,
    ElicitCancelled,
    ElicitRequest,
    Limits,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolExecutionError,
    open_supervisor,
    tool,
)
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from tests.integrations.loops import CITY, TOOLBOX, Run, Trace, add, on_each_loop, sleepers
from tests.requirements import requirement

SUM: Final = ToolCall("add", {"a": 5, "b": 3})


@requirement("asyncio.native")
@on_each_loop
def test_a_call_is_awaited_like_anything_else_in_asyncio(run: Run) -> None:
    async def main() -> object:
        async with open_asyncio_host(TOOLBOX) as host:
            return (await host.execute(SUM)).value

    assert run(main) == 8


@requirement("asyncio.native")
@on_each_loop
def test_a_batch_answers_in_call_order_and_takes_the_options_of_a_batch(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX, limits=Limits(concurrent=3)) as host:
            calls = [ToolCall("add", {"a": n, "b": n}) for n in range(50)]
            results = await host.execute_batch(calls, concurrency=2, owner_id="run-7")
            assert [result.value for result in results] == [2 * n for n in range(50)]
            assert len(host.executions.inspect(owner_id="run-7")) == 50
            assert await host.execute_batch([]) == []
            wrong = [ToolCall("add", {"a": 1}), SUM]
            with pytest.raises(BatchError):
                await host.execute_batch(wrong, mode="sequential", on_error="fail_fast")

    run(main)


@requirement("asyncio.order")
@on_each_loop
def test_calls_that_are_gathered_are_admitted_in_their_order(run: Run) -> None:
    wrote: list[int] = []

    @tool(writes=["the list"])
    async def write(number: int) -> None:
        wrote.append(number)
        await trio.lowlevel.checkpoint()

    async def main() -> None:
        async with open_asyncio_host(Toolbox([write])) as host:
            for count in range(30):  # by chance, each would be right every other time
                wrote.clear()
                await asyncio.gather(*(host.execute(ToolCall("write", {"number": n})) for n in range(count)))
                assert wrote == list(range(count))

    run(main)


@requirement("asyncio.order")
@on_each_loop
def test_calls_that_are_given_up_before_they_begin_hold_up_nobody(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            for _ in range(20):
                tasks = [asyncio.create_task(host.execute(SUM)) for _ in range(10)]
                await asyncio.sleep(0)
                for task in tasks[::3]:
                    task.cancel()
                results = await asyncio.gather(*tasks, return_exceptions=True)
                kept = [result for number, result in enumerate(results) if number % 3]
                assert all(not isinstance(result, BaseException) and result.value == 8 for result in kept)

    run(main)


@requirement("asyncio.native")
@on_each_loop
def test_start_answers_a_handle_at_once(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            execution = host.start(SUM, owner_id="run-7")
            assert execution.snapshot.state == "queued"
            assert host.active == 1
            located = host.executions.locate(execution.id)
            assert located is not None
            assert located.owner_id == "run-7"
            assert (await execution.result()).value == 8
            assert (await execution.settled()).state == "terminal"
            assert (await execution.result()).value == 8
            assert execution.privileged_snapshot().call == SUM
            assert execution.abort() == "already-ended"
            assert execution.id in repr(execution)
            [kept] = host.executions.inspect_privileged()
            assert (kept.snapshot.execution_id, kept.call, kept.result) == (execution.id, None, None)
            assert host.active == 0

    run(main)


@requirement("asyncio.abort-answers")
@on_each_loop
def test_an_aborted_execution_answers_a_result(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            calling = asyncio.create_task(host.execute(ToolCall("sleep"), owner_id="run-7"))
            await trace.running.wait()
            assert list(host.abort("the user left", owner_id="run-7").values()) == ["requested"]
            result = await calling
            assert result.error is not None
            assert (result.outcome, result.error.code) == ("error", "CANCELLED")
            [shot] = host.executions.inspect()
            assert shot.abort is not None
            assert (shot.abort.source, shot.abort.reason) == ("owner", "the user left")

            handle = host.start(ToolCall("sleep"))
            assert handle.abort("never mind") == "not-started"
            assert (await handle.settled()).outcome == "error"
            with pytest.raises(ValueError, match="abort what"):
                host.abort("everything")

    run(main)


@requirement("asyncio.own-work")
@on_each_loop
def test_a_thousand_calls_run_while_the_program_does_its_own_work(run: Run) -> None:
    async def main() -> None:
        ticks = 0

        async def work() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        async def ask(port: int) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            answer = await reader.readline()
            writer.close()
            await writer.wait_closed()
            return answer

        async with open_asyncio_host(TOOLBOX, limits=Limits(concurrent=64)) as host:
            server = await asyncio.start_server(echo, "127.0.0.1", 0)
            port: int = server.sockets[0].getsockname()[1]
            async with server:
                working = asyncio.create_task(work())
                calls = [host.execute(ToolCall("add", {"a": n, "b": 1}), owner_id=f"run-{n % 7}") for n in range(1000)]
                *results, answer = await asyncio.gather(*calls, ask(port))
                working.cancel()
            assert answer == b"hello\n"
            assert [getattr(result, "value", None) for result in results] == [n + 1 for n in range(1000)]
            assert ticks > 10  # the loop took turns with trio
        assert host.report is not None
        assert (host.report.ended, host.report.exit_code) == (1000, 0)

    run(main)


@requirement("asyncio.native")
@on_each_loop
def test_trios_code_runs_on_the_thread_of_the_loop_and_def_tools_do_not(run: Run) -> None:
    @tool(effect="read-only")
    async def in_task() -> int:
        """Say which thread this is."""
        return threading.get_ident()

    @tool(effect="read-only")
    def in_thread() -> int:
        """Say which thread this is."""
        return threading.get_ident()

    async def main() -> None:
        async with open_asyncio_host(Toolbox([in_task, in_thread])) as host:
            here = threading.get_ident()
            assert (await host.execute(ToolCall("in_task"))).value == here
            assert (await host.execute(ToolCall("in_thread"))).value != here

    run(main)


@requirement("asyncio.context")
@on_each_loop
@pytest.mark.parametrize("name", ["where", "where_async"])
def test_context_variables_of_the_calling_task_reach_the_tool_and_come_back_unchanged(run: Run, name: str) -> None:
    async def call_from(host: AsyncioHost, city: str) -> list[object]:
        CITY.set(city)
        call = ToolCall(name)
        async with host.stream(call) as stream:
            assert [chunk async for chunk in stream] == []
        found = [
            (await host.execute(call)).value,
            (await host.start(call).result()).value,
            *(result.value for result in await host.execute_batch([call, call])),
            stream.result.value,
        ]
        assert CITY.get() == city
        return found

    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            found = await asyncio.gather(call_from(host, "Oslo"), call_from(host, "Rome"))
            assert list(found) == [["Oslo"] * 5, ["Rome"] * 5]

    run(main)


@requirement("asyncio.not-nested")
@on_each_loop
def test_only_what_a_tool_calls_is_nested(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            assert (await host.execute(ToolCall("relay", {"name": "add"}))).value == 3
            inner: list[AsyncioHost] = [host]

            @tool(effect="read-only")
            async def through_the_host() -> object:
                """Use the door of the host from inside, on trio's side."""
                return (await inner[0].supervisor.execute(SUM)).value

        async with open_asyncio_host(TOOLBOX.extend(through_the_host)) as host:
            inner[0] = host
            assert (await host.execute(ToolCall("through_the_host"))).value == 8
            await asyncio.gather(host.execute(SUM))
            shots = {shot.execution_id: shot for shot in host.executions.inspect()}
            outer, nested, plain = shots.values()
            assert nested.parent_id == outer.execution_id
            assert (plain.parent_id, plain.started_by) == (None, None)

    run(main)


@requirement("asyncio.raises")
@on_each_loop
@pytest.mark.parametrize(
    "failure",
    [ValueError("no"), SystemExit(3), GeneratorExit(), asyncio.CancelledError(), StopIteration(), TimeoutError()],
)
def test_whatever_a_tool_raises_is_the_failure_of_its_own_call(run: Run, failure: BaseException) -> None:
    @tool
    async def fail() -> None:
        """Raise."""
        raise failure

    @tool
    def fail_in_thread() -> None:
        """Raise."""
        raise failure

    async def main() -> None:
        async with open_asyncio_host(Toolbox([fail, fail_in_thread, add])) as host:
            results = await asyncio.gather(
                host.execute(ToolCall("fail")), host.execute(ToolCall("fail_in_thread")), host.execute(SUM)
            )
            assert [result.outcome for result in results] == ["error", "error", "success"]
            with pytest.raises(ToolExecutionError):
                results[0].unwrap()

    run(main)


@requirement("asyncio.raises")
@on_each_loop
def test_a_tool_that_awaits_asyncio_fails_alone(run: Run) -> None:
    @tool
    async def wrong() -> None:
        """Await what trio cannot."""
        await asyncio.sleep(0.01)

    async def main() -> None:
        async with open_asyncio_host(Toolbox([wrong, add])) as host:
            failed, fine = await asyncio.gather(host.execute(ToolCall("wrong")), host.execute(SUM))
            assert failed.error is not None
            assert "TypeError" in failed.error.message
            assert fine.value == 8

    run(main)


@requirement("asyncio.native")
@on_each_loop
def test_wrong_options_and_late_calls_are_refused_as_a_supervisor_refuses_them(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(DefinitionError, match="drain_for"):
            async with open_asyncio_host(TOOLBOX, drain_for=-1):
                pytest.fail("it opened")
        async with open_asyncio_host(TOOLBOX) as host:
            with pytest.raises(ValueError, match="timeout=0"):
                await host.execute(SUM, timeout=0)
            with pytest.raises(TypeError, match="elicit=5"):
                host.start(SUM, elicit=5)  # type: ignore[arg-type]  # rubbish is what is tested
            host.close_admission("enough")
            assert host.closed
            with pytest.raises(AdmissionClosed, match="enough"):
                await host.execute(SUM)
            with pytest.raises(AdmissionClosed, match="enough"):
                host.start(SUM)
        for late in (
            host.execute(SUM),
            host.execute_batch([SUM]),
            host.wait_idle(),
            host.run(trio.lowlevel.checkpoint),
        ):
            with pytest.raises(AdmissionClosed, match="closed"):
                await late
        with pytest.raises(AdmissionClosed):
            host.start(SUM)
        assert host.toolbox is TOOLBOX

    run(main)


@requirement("asyncio.elicit")
@on_each_loop
def test_a_question_is_asked_by_an_asyncio_function(run: Run) -> None:
    schema = {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]}

    @tool(effect="read-only")
    async def balance(ctx: ToolContext) -> str:
        """Ask which account."""
        answer = await ctx.elicit("Which account?", schema=schema)
        return str(answer.content) if isinstance(answer, ElicitAccepted) else type(answer).__name__

    async def main() -> None:
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        async def answer(request: ElicitRequest) -> ElicitAnswer:
            await asyncio.sleep(0.001)
            return ElicitAccepted({"account": f"{request.message} savings"})

        async def never(_: ElicitRequest) -> ElicitAnswer:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                withdrawn.set()
            return ElicitCancelled()

        async def give_up(_: ElicitRequest) -> ElicitAnswer:
            raise asyncio.CancelledError

        async with open_asyncio_host(Toolbox([balance])) as host:
            call = ToolCall("balance")
            assert (await host.execute(call, elicit=answer)).value == "{'account': 'Which account? savings'}"
            assert (await host.execute(call, elicit=never, human_timeout=0.01)).value == "ElicitCancelled"
            assert withdrawn.is_set()
            failed = (await host.execute(call, elicit=give_up)).error
            assert failed is not None
            assert "cancelled itself" in failed.message

            asked.clear()
            calling = asyncio.create_task(host.execute(call, elicit=never))
            await asked.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling

    run(main)


@requirement("asyncio.elicit")
@on_each_loop
def test_what_a_handler_raises_while_it_is_stopped_is_not_quoted_in_any_log(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(effect="read-only")
    async def balance(ctx: ToolContext) -> None:
        """Ask which account."""
        await ctx.elicit("Which account?")

    async def main() -> None:
        asked = asyncio.Event()

        async def breaks(_: ElicitRequest) -> ElicitAnswer:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise LookupError("hunter2")

        async with open_asyncio_host(Toolbox([balance])) as host:
            execution = host.start(ToolCall("balance"), elicit=breaks)
            await asked.wait()
            execution.abort("not wanted")
            assert (await execution.settled()).error_code == "CANCELLED"

    caplog.set_level(0)
    run(main)
    gc.collect()
    assert "hunter2" not in caplog.text


@requirement("asyncio.native")
@on_each_loop
def test_a_trio_function_runs_on_trios_side(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:

            async def two_calls() -> list[object]:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(trio.sleep, 0)
                return [(await host.supervisor.execute(SUM)).value, CITY.get()]

            CITY.set("Bern")
            assert await host.run(two_calls) == [8, "Bern"]

            async def wrong() -> None:
                await trio.lowlevel.checkpoint()
                raise LookupError("nothing here")

            async def stray() -> None:
                kept: list[trio.Cancelled] = []
                with trio.CancelScope() as scope:
                    scope.cancel()
                    try:
                        await trio.lowlevel.checkpoint()
                    except trio.Cancelled as exc:
                        kept.append(exc)
                raise kept[0]

            waiting = asyncio.create_task(host.run(trio.sleep_forever))
            with pytest.raises(LookupError, match="nothing here"):
                await host.run(wrong)
            with pytest.raises(RuntimeError, match="stray"):
                await host.run(stray)
            assert not waiting.done()
        with pytest.raises(AdmissionClosed, match="closed before this ended"):
            await waiting

    run(main)


@requirement("asyncio.native")
@on_each_loop
def test_the_call_of_a_trio_function_is_refused_with_what_to_give(run: Run) -> None:
    async def later() -> None:
        raise AssertionError("it ran")

    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            called = later()
            with pytest.raises(TypeError, match=r"give the async function itself, not its call: run\(later\)"):
                await host.run(called)  # type: ignore[arg-type]  # the point of the test
            assert inspect.getcoroutinestate(called) == inspect.CORO_CLOSED
            with pytest.raises(TypeError, match="3 is no async function; give the function itself"):
                await host.run(3)  # type: ignore[arg-type]  # the point of the test

    run(main)


@requirement("asyncio.native")
@on_each_loop
def test_another_thread_is_told_how_to_come_in(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            loop = asyncio.get_running_loop()

            def from_a_thread() -> object:
                with pytest.raises(RuntimeError, match="run_coroutine_threadsafe"):
                    host.start(SUM)
                return asyncio.run_coroutine_threadsafe(host.execute(SUM), loop).result().value

            assert await asyncio.to_thread(from_a_thread) == 8

    run(main)


@requirement("asyncio.signals")
@on_each_loop
def test_signals_stay_with_the_program(run: Run) -> None:
    async def main() -> None:
        loop, came = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, came.set)
        before = signal.getsignal(signal.SIGINT)
        async with open_asyncio_host(TOOLBOX) as host:
            assert signal.getsignal(signal.SIGINT) == before
            signal.raise_signal(signal.SIGUSR1)
            await came.wait()
            assert (await host.execute(SUM)).value == 8
        came.clear()
        signal.raise_signal(signal.SIGUSR1)
        await came.wait()
        loop.remove_signal_handler(signal.SIGUSR1)

    run(main)


@requirement("asyncio.native")
def test_a_host_has_the_parameters_of_a_supervisor() -> None:
    assert inspect.signature(open_asyncio_host).parameters == inspect.signature(open_supervisor).parameters
    assert (open_asyncio_host.__name__, open_asyncio_host.__module__) == (
        "open_asyncio_host",
        "armory_trio.integrations.asyncio_host",
    )
