"""``def`` tools in worker processes: what crosses, how the tool is found, when a process is used again."""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import trio

from armory_trio import (
    CustomEmitted,
    DefinitionError,
    ExecutionSettled,
    Limits,
    LogWritten,
    Process,
    ProgressReported,
    RequestContext,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
    define_tool,
    open_supervisor,
    tool,
)
from armory_trio.engine.placement import _pool, _process
from armory_trio.engine.placement._group import end_group
from tests.engine.placement import _faulty as faulty
from tests.engine.placement._faulty import tenant
from tests.engine.placement._tools import PATIENCE, Point
from tests.requirements import requirement

HERE = Path(__file__).parent


async def run(placed: Tool[..., object], call: ToolCall) -> ToolResult[object]:
    async with open_supervisor(Toolbox([placed])) as supervisor:
        with trio.fail_after(PATIENCE):
            return await supervisor.execute(call)


# -- declaring


def module_level(a: int) -> int:
    return a


async def module_level_later(a: int) -> int:
    return a


class Something:
    def method(self, a: int) -> int:
        return a

    def __call__(self, a: int) -> int:
        return a


def local() -> Callable[..., object]:
    def inside(a: int) -> int:
        return a

    return inside


def in_main(a: int) -> int:
    return a


in_main.__module__ = "__main__"


@requirement("processes.declared")
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (local(), "defined inside a function"),
        (cast("Callable[..., object]", lambda: None), "a lambda has no name"),
        (in_main, "__main__"),
        (functools.partial(module_level, 1), "no plain function"),
        (Something().method, "no plain function"),
        (Something(), "no plain function"),
        (module_level_later, "an async function runs in a task"),
    ],
    ids=["closure", "lambda", "main", "partial", "method", "object", "async"],
)
def test_what_a_worker_could_not_find_is_refused_at_definition(function: Callable[..., object], reason: str) -> None:
    with pytest.raises(DefinitionError, match=rf"'t'.*placement: a worker process cannot run this: .*{reason}"):
        tool(function, name="t", placement="process")


@requirement("processes.declared")
def test_a_worker_process_may_be_declared_by_its_word_or_with_more() -> None:
    short, long = tool(module_level, placement="process"), tool(module_level, placement=Process(fresh=True))

    assert (short.options.placement, short.options.process) == ("process", Process())
    assert (long.options.placement, long.options.process) == ("process", Process(fresh=True))
    assert tool(module_level).options.process is None


@requirement("processes.declared")
@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"fresh": 1}, "placement.fresh: must be True or False"),
        ({"max_frame": 0}, "placement.max_frame: must be a whole number from 1 on"),
        ({"context": ["a"]}, "placement.context: must be a mapping"),
        ({"context": {1: "a"}}, "placement.context: names are text"),
        ({"context": {"lock": object()}}, "placement.context: the value of 'lock' cannot cross"),
    ],
)
def test_a_wrong_declaration_of_a_process_says_where(declared: dict[str, object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        Process(**declared)  # type: ignore[arg-type]  # as said


@requirement("processes.limit")
@pytest.mark.parametrize("processes", [0, -1])
def test_a_limit_of_no_processes_is_refused(processes: int) -> None:
    with pytest.raises(DefinitionError, match="processes: is"):
        Limits(processes=processes)


# -- where a body runs


@requirement("processes.surroundings")
async def test_a_body_runs_in_a_process_and_a_session_of_its_own_in_the_surroundings_of_its_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ARMORY_TRIO_TEST", "yes")
    monkeypatch.chdir(tmp_path)
    result = await run(faulty.around, ToolCall("around"))

    value = cast("dict[str, object]", result.value)
    assert value == {
        "session": value["pid"],
        "group": value["pid"],
        "pid": value["pid"],
        "cwd": str(tmp_path),
        "env": "yes",
        "path": sys.path,
        "stdin": "",
        "main thread": True,
        "argv": ["armory_trio worker"],
    }
    assert value["pid"] != os.getpid()


@requirement("processes.context")
async def test_named_values_travel_and_context_variables_among_them_as_their_caller_sees_them() -> None:
    async with open_supervisor(Toolbox([faulty.values], context={"host": "only"})) as supervisor:
        with trio.fail_after(PATIENCE):
            first = await supervisor.execute(ToolCall("values"))
            tenant.set("acme")
            second = await supervisor.execute(ToolCall("values"))
            tenant.set(cast("str", object()))
            third = await supervisor.execute(ToolCall("values"))

    assert first.value == {"fixed": {"a": [1]}}
    assert second.value == {"fixed": {"a": [1]}, "tenant": "acme"}
    assert third.error is not None and "named values of Process(context=...) cannot cross" in third.error.message
    assert third.effect == "none"


@requirement("processes.stays")
async def test_what_stays_with_the_host_says_so_in_the_worker() -> None:
    async with open_supervisor(Toolbox([faulty.stays])) as supervisor:
        for member in ("call", "elicit", "metadata", "toolbox"):
            result = await supervisor.execute(ToolCall("stays", {"member": member}))

            words = f"ArmoryError: ctx.{member} stays with the host: 'stays' runs in a worker process"
            assert result.error is not None and result.error.message.startswith(words)


@requirement("processes.context")
async def test_a_deadline_is_a_point_on_the_workers_own_clock() -> None:
    async with open_supervisor(Toolbox([faulty.seconds_left])) as supervisor:
        result = await supervisor.execute(ToolCall("seconds_left"), deadline=trio.current_time() + 1000)
        without = await supervisor.execute(ToolCall("seconds_left"))

    assert isinstance(result.value, float) and 1000 - PATIENCE < result.value <= 1000
    assert without.value is None


@requirement("processes.context")
async def test_the_request_context_crosses_whole() -> None:
    context = RequestContext("ann", "acme", "run-1", ("bob",), frozenset({"a"}), "7", "aud", "agent", "run", "s", "r")
    async with open_supervisor(Toolbox([faulty.whose])) as supervisor:
        result = await supervisor.execute(ToolCall("whose"), request_context=context)

    assert result.value == context


# -- finding the tool


@requirement("processes.found")
async def test_a_tool_is_found_by_the_name_of_its_function_whatever_made_it() -> None:
    tools = [
        faulty.Toolkit.in_class,
        faulty.wrapped,
        tool(faulty.bare, placement="process", effect="read-only"),
        tool(faulty.bare, name="lenient", placement="process", lenient=True),
    ]
    async with open_supervisor(Toolbox(tools)) as supervisor:
        with trio.fail_after(PATIENCE):
            results = [
                await supervisor.execute(call)
                for call in (
                    ToolCall("in_class", {"a": 1}),
                    ToolCall("wrapped", {"x": 7}),
                    ToolCall("bare", {"a": 3}),
                    ToolCall("lenient", {"a": "4", "b": "5"}),
                )
            ]

    assert [result.value for result in results] == [2, 7, 6, 20], [result.error for result in results]


@requirement("processes.found")
async def test_a_tool_that_cannot_be_found_says_why_and_did_nothing() -> None:
    hidden = define_tool(input=Point, execute=faulty.nameless, placement="process")
    renamed = tool(module_level, placement="process")
    module_level.__qualname__ = "no_such_name"
    try:
        async with open_supervisor(Toolbox([hidden, renamed])) as supervisor:
            with trio.fail_after(PATIENCE):
                own_input = await supervisor.execute(ToolCall("nameless", {"x": 1}))
                not_there = await supervisor.execute(ToolCall("module_level", {"a": 1}))
    finally:
        module_level.__qualname__ = "module_level"

    for result, words in ((own_input, "give the tool a name in the module"), (not_there, "has no no_such_name")):
        assert result.error is not None and words in result.error.message
        assert result.error.code == "INTERNAL_ERROR"
        assert result.effect == "none"


@requirement("processes.not-entered")
async def test_a_module_that_cannot_be_imported_is_that_calls_failure_with_the_traceback_and_did_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARMORY_TRIO_TEST_HOST", str(os.getpid()))
    unimportable = importlib.import_module("tests.engine.placement._unimportable")
    async with open_supervisor(Toolbox([unimportable.unreachable, faulty.pid])) as supervisor:
        with trio.fail_after(PATIENCE):
            before = await supervisor.execute(ToolCall("pid"))
            result = await supervisor.execute(ToolCall("unreachable"))
            after = await supervisor.execute(ToolCall("pid"))

    assert result.error is not None and result.error.code == "INTERNAL_ERROR"
    assert result.error.message.startswith("LookupError: not in this process; the tool could not be made ready")
    assert "_unimportable.py" in result.error.message
    assert result.effect == "none"
    assert after.outcome == "success"
    assert after.value != before.value  # neither the used one nor its replacement, which could not do it either


# -- what crosses


@requirement("processes.results")
async def test_values_are_read_as_annotated_where_they_fit_and_plain_otherwise() -> None:
    tools = [faulty.annotated_otherwise, faulty.points, faulty.unannotated, faulty.either, faulty.unresolved]
    async with open_supervisor(Toolbox(tools)) as supervisor:
        otherwise, points, plain, either, unresolved = [
            await supervisor.execute(ToolCall(placed.name)) for placed in tools
        ]

    assert otherwise.value == "annotated_otherwise"
    assert points.value == [Point(1), Point(2, 3.5)]
    assert either.value == {"x": 1, "y": 0.5}
    assert unresolved.value == [1]
    assert plain.value == {"point": {"x": 1, "y": 0.5}, "pair": [1, 2], "raw": b"v"}


@requirement("processes.results")
async def test_what_cannot_be_written_is_refused_in_words() -> None:
    async with open_supervisor(Toolbox([faulty.unsendable])) as supervisor:
        for how, code, effect in (
            ("value", "OUTPUT_INVALID", "completed"),
            ("chunk", "OUTPUT_INVALID", "unknown"),
            ("log", "INTERNAL_ERROR", "unknown"),
            ("emit", "INTERNAL_ERROR", "unknown"),
            ("checkpoint", "INTERNAL_ERROR", "unknown"),
        ):
            result = await supervisor.execute(ToolCall("unsendable", {"how": how}))

            assert result.error is not None
            assert (how, result.error.code, result.effect) == (how, code, effect)
            assert "lock" in result.error.message


@requirement("processes.unreadable")
@pytest.mark.parametrize("what", faulty.UNREADABLE)
async def test_what_can_be_written_and_not_be_read_is_refused_in_words_as_well(what: str) -> None:
    async with open_supervisor(Toolbox([faulty.unreadable])) as supervisor:
        for how, code, effect in (
            ("value", "OUTPUT_INVALID", "completed"),
            ("chunk", "OUTPUT_INVALID", "unknown"),
            ("log", "INTERNAL_ERROR", "unknown"),
            ("emit", "INTERNAL_ERROR", "unknown"),
            ("checkpoint", "INTERNAL_ERROR", "unknown"),
        ):
            with trio.fail_after(PATIENCE):
                result = await supervisor.execute(ToolCall("unreadable", {"what": what, "how": how}))

            assert result.error is not None
            assert (how, result.error.code, result.effect) == (how, code, effect)
            assert "cannot be read again as plain data" in result.error.message


@requirement("processes.unreadable")
@pytest.mark.parametrize("what", faulty.UNREADABLE)
async def test_a_declared_failure_crosses_whole_when_its_details_cannot(what: str) -> None:
    result = await run(faulty.unreadable, ToolCall("unreadable", {"what": what, "how": "details"}))

    assert result.error is not None
    assert (result.error.category, result.error.code, result.error.message) == ("permission", "MINE", "mine")
    assert result.error.details is not None and "could not cross" in str(result.error.details["undelivered"])


@requirement("processes.words")
async def test_what_a_body_tells_in_words_may_be_any_object() -> None:
    async with open_supervisor(Toolbox([faulty.tell_anything])) as supervisor:
        async with supervisor.events() as events:
            with trio.fail_after(PATIENCE):
                execution = supervisor.start(ToolCall("tell_anything"))
                told: list[object] = []
                async for event in events:
                    match event:
                        case ProgressReported():
                            told.append((event.percent, event.message))
                        case LogWritten():
                            told.append(event.message)
                        case CustomEmitted():
                            told.append(("emitted", event.name))
                        case ExecutionSettled():
                            break
                        case _:
                            pass
        result = await execution.result()

    half = "half \\ud800"
    assert told == [(1.0, half), (50.0, "7"), "404", "None", half, ("emitted", "7")]
    assert result.value == "told"
    assert [(window.label, window.target) for window in result.effects] == [("7", half)]
    assert execution.snapshot.cleanup == "failed"


@requirement("processes.words", "processes.sizes")
@pytest.mark.parametrize("how", ["progress", "log", "emit", "effect", "target", "waiting", "cleanup"])
async def test_words_beyond_the_bound_are_refused_with_both_sizes(how: str) -> None:
    result = await run(faulty.tell_much, ToolCall("tell_much", {"how": how}))

    name, words = cast("list[str]", result.value)
    assert name == "TooLarge"
    assert "max_frame of 1000 it may have 1049576" in words
    assert int(words.split()[3]) > 2**20 + 2000


@requirement("processes.sizes")
async def test_a_result_beyond_the_bound_is_refused_with_both_sizes_and_within_a_larger_one_arrives() -> None:
    size = 200 * 2**20
    async with open_supervisor(Toolbox([faulty.large, faulty.very_large])) as supervisor:
        with trio.fail_after(PATIENCE):
            refused = await supervisor.execute(ToolCall("large", {"size": size}))
            fitting = await supervisor.execute(ToolCall("large", {"size": 10_000_000}))
            large = await supervisor.execute(ToolCall("very_large", {"size": 80 * 2**20}))

    assert refused.error is not None
    assert (refused.error.code, refused.effect) == ("OUTPUT_INVALID", "completed")
    assert f"it has {size + 5} bytes" in refused.error.message
    assert f"max_frame is {64 * 2**20}" in refused.error.message
    assert isinstance(fitting.value, bytes) and len(fitting.value) == 10_000_000
    assert isinstance(large.value, bytes) and len(large.value) == 80 * 2**20


@requirement("processes.sizes")
async def test_arguments_chunks_and_logs_keep_the_declared_bound() -> None:
    async with open_supervisor(Toolbox([faulty.narrow])) as supervisor:
        with trio.fail_after(PATIENCE):
            results = {
                how: await supervisor.execute(ToolCall("narrow", {"text": "x" * 50, "how": how}))
                for how in ("value", "chunk", "log")
            }
            arguments = await supervisor.execute(ToolCall("narrow", {"text": "x" * 2000, "how": "value"}))

    for how, code in (("value", "OUTPUT_INVALID"), ("chunk", "OUTPUT_INVALID"), ("log", "INTERNAL_ERROR")):
        error = results[how].error
        assert error is not None and error.code == code, how
        assert "max_frame is 1000" in error.message
    assert arguments.error is not None
    assert (arguments.error.category, arguments.error.code) == ("validation", "INVALID_ARGUMENTS")
    assert arguments.effect == "none"


@requirement("processes.sizes")
async def test_arguments_that_no_text_can_hold_are_refused_before_anything_runs() -> None:
    async with open_supervisor(Toolbox([faulty.narrow])) as supervisor:
        result = await supervisor.execute(ToolCall("narrow", {"text": "\ud800", "how": "value"}))

    assert result.error is not None
    assert (result.error.category, result.error.code) == ("validation", "INVALID_ARGUMENTS")
    assert "cannot cross to a worker process" in result.error.message
    assert result.effect == "none"


@requirement("processes.output")
def test_what_a_body_prints_goes_to_the_standard_error_of_its_host_and_disturbs_nothing() -> None:
    program = (
        "import trio\n"
        "from armory_trio import Toolbox, ToolCall, open_supervisor\n"
        "from tests.engine.placement import _faulty\n"
        "async def main():\n"
        "    async with open_supervisor(Toolbox([_faulty.shout])) as supervisor:\n"
        "        print((await supervisor.execute(ToolCall('shout', {'lines': 2000}))).value)\n"
        "trio.run(main)\n"
    )
    root = HERE.parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True, timeout=PATIENCE
    )

    assert ended.stdout == "said\n"
    for line in ("out 0 xxx", "out 1999 xxx", "err 1999", "raw"):
        assert line in ended.stderr


@requirement("processes.telling")
async def test_a_body_may_tell_very_much_from_several_threads() -> None:
    async with open_supervisor(Toolbox([faulty.chatter])) as supervisor:
        with trio.fail_after(PATIENCE):
            result = await supervisor.execute(ToolCall("chatter", {"lines": 300}))

    assert result.value == 300, result.error


# -- using a process again


@requirement("processes.reuse")
async def test_a_process_is_used_again_and_a_fresh_one_is_not() -> None:
    async with open_supervisor(Toolbox([faulty.pid, faulty.fresh_pid]), limits=Limits(processes=1)) as supervisor:
        with trio.fail_after(PATIENCE):
            pids = [(await supervisor.execute(ToolCall("pid"))).value for _ in range(3)]
            fresh = [(await supervisor.execute(ToolCall("fresh_pid"))).value for _ in range(2)]
            after = (await supervisor.execute(ToolCall("pid"))).value

    assert len(set(pids)) == 1
    assert len({*pids, *fresh, after}) == 4  # the fresh ones needed the only place, so the idle one had to go


@requirement("processes.reuse")
async def test_a_process_in_which_a_call_left_something_running_is_not_used_again() -> None:
    async with open_supervisor(Toolbox([faulty.leave, faulty.pid])) as supervisor:
        with trio.fail_after(PATIENCE):
            before = await supervisor.execute(ToolCall("pid"))
            for how in ("thread", "waiting thread", "raw thread", "child", "orphan", "failing", "fork"):
                result = await supervisor.execute(ToolCall("leave", {"how": how}))
                after = await supervisor.execute(ToolCall("pid"))

                if how == "failing":
                    assert result.error is not None and result.error.message == "ValueError: left"
                else:
                    assert result.value == before.value
                assert after.outcome == "success"
                assert after.value != before.value
                before = after


@requirement("processes.reuse")
async def test_a_process_in_which_a_call_has_waited_for_its_threads_is_used_again() -> None:
    async with open_supervisor(Toolbox([faulty.with_a_thread])) as supervisor:
        with trio.fail_after(PATIENCE):
            pids = {(await supervisor.execute(ToolCall("with_a_thread"))).value for _ in range(20)}

    assert len(pids) == 1


@requirement("processes.reuse")
async def test_a_forked_child_has_no_context() -> None:
    result = await run(faulty.forked_context, ToolCall("forked_context"))

    assert result.value == 7


@requirement("processes.limit", "processes.reuse")
async def test_no_more_processes_run_than_the_limit_says_and_they_are_kept_for_the_next_call() -> None:
    async with open_supervisor(Toolbox([faulty.pid]), limits=Limits(processes=2)) as supervisor:
        with trio.fail_after(PATIENCE):
            results = await supervisor.execute_batch([ToolCall("pid")] * 12)
            held = [shot.capacity for shot in supervisor.executions.inspect()]

    assert {result.outcome for result in results} == {"success"}
    assert len({result.value for result in results}) <= 2
    assert held == [()] * 12


@requirement("processes.reuse")
async def test_an_idle_process_is_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pool, "IDLE_FOR", 0.0)
    async with open_supervisor(Toolbox([faulty.pid])) as supervisor:
        with trio.fail_after(PATIENCE):
            first = await supervisor.execute(ToolCall("pid"))
            assert isinstance(first.value, int)
            while Path(f"/proc/{first.value}").exists():  # noqa: ASYNC110, ASYNC240  # nobody tells of it
                await trio.sleep(0.01)
            second = await supervisor.execute(ToolCall("pid"))

    assert second.outcome == "success"
    assert second.value != first.value


@requirement("processes.direct")
async def test_host_code_may_call_such_a_tool_as_any_other() -> None:
    with trio.fail_after(PATIENCE):
        assert await faulty.pid() != os.getpid()


@requirement("processes.unkillable")
async def test_a_group_that_cannot_be_killed_is_named_and_makes_the_state_unknown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def in_vain(group: int, _patience: float) -> bool:
        end_group(group, PATIENCE)
        time.sleep(0.3)  # longer than the cleanup timeout below
        return False

    monkeypatch.setattr(_process, "end_group", in_vain)
    stubborn = tool(faulty.transfer.function, name="stubborn", placement="process", cleanup_timeout=0.01)
    async with open_supervisor(Toolbox([stubborn])) as supervisor:
        with trio.fail_after(PATIENCE):
            execution = supervisor.start(ToolCall("stubborn", {"gate": str(tmp_path / "never")}))
            async with supervisor.executions.subscribe(execution_id=execution.id) as updates:
                async for snapshot in updates:
                    if snapshot.progress is not None:
                        break
            execution.abort("enough")
            given_up = await execution.settled()
            await supervisor.wait_idle()

    assert (given_up.state, given_up.cleanup, given_up.effect) == ("unknown-effect", "unresolved", "unknown")
    assert "cannot be killed" in caplog.text
    report = supervisor.report
    assert report is not None
    assert [shot.execution_id for shot in report.cleanup_failures] == [execution.id]
