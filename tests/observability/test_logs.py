"""A line for each step, ids in a tool's own lines, and nothing configured that nobody asked for."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final, Literal, cast

import pytest
import structlog
import trio
import trio.testing
from structlog.testing import capture_logs

from armory_trio import (
    DefinitionError,
    LiveToolbox,
    RequestContext,
    Toolbox,
    ToolCall,
    ToolContext,
    open_supervisor,
    tool,
)
from armory_trio.observability._vocabulary import IDENTITIES
from armory_trio.observability.logs import Redaction, add_trace, configure_logging, log_executions
from armory_trio.observability.otel import instrument
from tests.engine.tools import add, count, sleep, stubborn
from tests.requirements import requirement

from .exporting import Exported, context_of

ADD: Final = ToolCall("add", {"a": 1, "b": 2}, id="call-1")

Line = dict[str, object]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)


def steps(lines: list[Line]) -> list[object]:
    return [line["event"] for line in lines]


async def lines_of(*calls: ToolCall, toolbox: Toolbox, seconds: float = 60) -> list[Line]:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as found:
        async with open_supervisor(toolbox) as supervisor:
            log_executions(supervisor)
            await supervisor.execute_batch(calls, timeout=seconds)
    return cast("list[Line]", found)


@requirement("logs.lines")
async def test_each_step_is_a_line_with_the_ids() -> None:
    lines = await lines_of(ADD, toolbox=Toolbox([add]))

    assert steps(lines) == [
        "execution.admitted",
        "execution.started",
        "execution.outcome_decided",
        "execution.settled",
        "supervisor.closed",
    ]
    assert {(line["call_id"], line["tool"]) for line in lines[:-1]} == {("call-1", "add")}
    assert len({line["execution_id"] for line in lines[:-1]}) == 1
    assert [line["log_level"] for line in lines] == ["debug", "debug", "debug", "info", "info"]
    assert lines[3].items() >= {"state": "terminal", "outcome": "success", "effect": "none", "attempts": 1}.items()


@requirement("logs.lines")
async def test_what_goes_wrong_is_louder_than_what_was_stopped(autojump_clock: trio.testing.MockClock) -> None:
    calls = (ToolCall("nobody"), ToolCall("add"), ToolCall("stubborn", {"seconds": 9}), ToolCall("count", {"upto": 2}))
    lines = await lines_of(*calls, toolbox=Toolbox([add, stubborn, count]), seconds=1)

    ends = {line["tool"]: line for line in lines if line["event"] == "execution.settled"}
    assert {name: line["log_level"] for name, line in ends.items()} == {
        "nobody": "warning",
        "add": "warning",
        "stubborn": "warning",
        "count": "info",
    }
    assert (
        ends["stubborn"].items()
        >= {"code": "TIMEOUT", "category": "timeout", "duration": 9.0, "aborted_by": "deadline"}.items()
    )
    assert [step for step in steps(lines) if "stream" in str(step)] == [
        "execution.stream_opened",
        "execution.stream_closed",
    ]


@requirement("logs.lines", "telemetry.discreet")
async def test_a_wait_is_a_quiet_line_and_a_body_that_is_given_up_a_loud_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(effect="read-only")
    async def clings(ctx: ToolContext) -> None:
        async with ctx.waiting("the card 4111"):
            with trio.CancelScope(shield=True):
                await trio.sleep(60)

    lines = await lines_of(ToolCall("clings"), toolbox=Toolbox([clings]), seconds=1)

    told = {str(line["event"]).removeprefix("execution."): line for line in lines}
    assert [(name, line["log_level"]) for name, line in told.items() if "wait" in name or "cleanup" in name] == [
        ("wait_began", "debug"),
        ("cleanup_pending", "info"),
        ("cleanup_overdue", "warning"),
        ("wait_ended", "debug"),
    ]
    assert told["wait_began"]["kind"] == "declared"
    assert told["wait_ended"]["seconds"] == 1 + 0.05 + 30
    assert told["cleanup_pending"]["allowed"] == 30.0
    assert "4111" not in repr(lines)


@requirement("logs.lines")
async def test_the_owner_is_written_only_when_that_is_asked_for() -> None:
    for identify in ((), IDENTITIES):
        with capture_logs() as lines:
            async with open_supervisor(Toolbox([add])) as supervisor:
                log_executions(supervisor, identify=identify)
                await supervisor.execute(ADD, request_context=RequestContext(owner="run-7", session="talk-1"))
        told = {(line.get("owner"), line.get("conversation")) for line in lines if "execution_id" in line}
        assert told == ({("run-7", "talk-1")} if identify else {(None, None)})


@requirement("logs.lines")
async def test_a_toolbox_that_is_exchanged_is_a_line() -> None:
    live = LiveToolbox(Toolbox([add]))
    with capture_logs() as lines:
        async with open_supervisor(live) as supervisor:
            log_executions(supervisor)
            live.swap(Toolbox([add, sleep]))

    assert lines[0].items() >= {"event": "toolbox.changed", "added": ("default:sleep",)}.items()


@requirement("logs.lines")
async def test_what_a_tool_reports_is_no_line_and_what_runs_already_gets_the_rest_of_its_lines(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(effect="read-only")
    async def chatty(ctx: ToolContext) -> None:
        """Report."""
        await trio.sleep(1)
        ctx.progress(50, "half way")
        ctx.log("info", "a line of its own")

    with capture_logs() as lines:
        async with open_supervisor(Toolbox([chatty])) as supervisor:
            execution = supervisor.start(ToolCall("chatty"))
            await trio.testing.wait_all_tasks_blocked()
            log_executions(supervisor)
            await execution.settled()

    assert [line["event"] for line in lines] == [
        "execution.outcome_decided",
        "execution.settled",
        "supervisor.closed",
    ]


@requirement("logs.bound")
async def test_a_tool_s_own_lines_carry_its_ids_in_tasks_and_threads() -> None:
    own = structlog.get_logger()

    @tool(effect="read-only")
    async def outer(ctx: ToolContext) -> None:
        """Write a line before and after calling another tool."""
        own.info("before")
        (await ctx.call("inner", {})).unwrap()
        own.info("after")

    @tool(effect="read-only")
    def inner() -> None:
        """Write a line in a thread."""
        own.info("inside")

    structlog.contextvars.bind_contextvars(request="r-1")
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        async with open_supervisor(Toolbox([outer, inner])) as supervisor:
            log_executions(supervisor)
            result = await supervisor.execute(ToolCall("outer", id="call-1"))
        own.info("outside")

    told = {line["event"]: (line.get("tool"), line.get("execution_id"), line["request"]) for line in lines}
    assert told["before"] == told["after"] == ("outer", result.execution_id, "r-1")
    assert told["inside"][0] == "inner"
    assert told["inside"][1] != result.execution_id
    assert told["outside"] == (None, None, "r-1")


@requirement("logs.bound")
async def test_a_line_has_what_was_bound_where_the_call_was_made_and_not_where_it_was_stopped(
    autojump_clock: trio.testing.MockClock,
) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        async with open_supervisor(Toolbox([sleep])) as supervisor:
            log_executions(supervisor)
            with structlog.contextvars.bound_contextvars(request="of the caller"):
                execution = supervisor.start(ToolCall("sleep", {"seconds": 5}))
            await trio.testing.wait_all_tasks_blocked()
            with structlog.contextvars.bound_contextvars(request="of somebody else", user="eve"):
                execution.abort("enough")
            await execution.settled()

    told = {line["event"]: (line.get("request"), line.get("user")) for line in lines if "execution_id" in line}
    assert told["execution.abort_requested"] == ("of the caller", None)
    assert set(told.values()) == {("of the caller", None)}


class _Broken:
    def debug(self, event: str, **facts: object) -> None:
        raise RuntimeError("the disk is full of secrets")

    info = warning = debug


@requirement("logs.quiet")
async def test_a_logger_that_fails_harms_no_call(caplog: pytest.LogCaptureFixture) -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        log_executions(supervisor, _Broken())
        result = await supervisor.execute(ADD)

    assert result.value == 3
    assert [record.getMessage() for record in caplog.records] == ["the probe Lines raised RuntimeError"]


@requirement("logs.quiet")
async def test_what_was_stopped_writes_nothing_more() -> None:
    with capture_logs() as lines:
        async with open_supervisor(Toolbox([add])) as supervisor:
            stop = log_executions(supervisor)
            stop()
            stop()
            await supervisor.execute(ADD)

    assert lines == []


@requirement("logs.quiet")
def test_importing_configures_nothing() -> None:
    program = (
        "import logging, structlog, sys; before = logging.getLogger().handlers[:]\n"
        "import armory_trio.observability.logs\n"
        "print(structlog.is_configured(), logging.getLogger().handlers == before, 'opentelemetry' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["False", "True", "False"]


# -- configure_logging


@requirement("logs.lines", "logs.bound")
async def test_json_lines_carry_ids_and_traces_also_those_of_other_libraries() -> None:
    exported, written = Exported(), io.StringIO()

    @tool(effect="read-only")
    async def talks() -> None:
        """Write a line of each kind."""
        structlog.get_logger().info("by structlog", shelf=7)
        logging.getLogger("some.library").warning("by %s", "logging")

    configure_logging("json", level="DEBUG", stream=written)
    configure_logging("json", level="DEBUG", stream=written)
    async with open_supervisor(Toolbox([talks])) as supervisor:
        instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)
        log_executions(supervisor)
        result = await supervisor.execute(ToolCall("talks"))

    lines = {line["event"]: line for line in map(json.loads, written.getvalue().splitlines())}
    span = context_of(exported.of_tool("talks"))
    for event, level in (("by structlog", "info"), ("by logging", "warning"), ("execution.settled", "info")):
        assert (
            lines[event].items()
            >= {
                "level": level,
                "execution_id": result.execution_id,
                "tool": "talks",
                "trace_id": f"{span.trace_id:032x}",
                "span_id": f"{span.span_id:016x}",
            }.items()
        )
    assert lines["by structlog"]["shelf"] == 7
    assert str(lines["by structlog"]["timestamp"]).endswith("Z")


@requirement("logs.redaction")
def test_lines_for_people_are_masked_too() -> None:
    written = io.StringIO()
    configure_logging(stream=written)
    try:
        int("password=hunter2")
    except ValueError:
        structlog.get_logger().exception("login failed", user="ann", password="hunter2")
        logging.getLogger("some.library").exception("token=%s", "hunter2")
    structlog.get_logger().debug("not shown")

    told = written.getvalue()
    assert "hunter2" not in told
    assert "ann" in told
    assert "ValueError" in told
    assert "not shown" not in told


@requirement("logs.redaction")
async def test_a_name_that_a_model_made_up_neither_forges_lines_nor_steers_a_terminal() -> None:
    written = io.StringIO()
    configure_logging(stream=written)
    async with open_supervisor(Toolbox([add])) as supervisor:
        log_executions(supervisor)
        await supervisor.execute(ToolCall("\x1b[2J\x9bm\nall_is_well"))
    logging.getLogger("some.library").warning("two\r\nlines")

    told = written.getvalue()
    assert len(told.splitlines()) == 4
    try:
        int("\x1b[2J")
    except ValueError:
        structlog.get_logger().exception("two lines\n and more")
    told = written.getvalue()
    assert [sign for sign in told if not sign.isprintable() and sign != "\n"] == []
    assert "all_is_well" in told


class Steering:
    def __repr__(self) -> str:
        return "\x1b[2J\nall is well"


@requirement("logs.redaction")
def test_names_of_facts_objects_and_tracebacks_neither_forge_lines_nor_steer_a_terminal() -> None:
    written = io.StringIO()
    configure_logging(stream=written)
    log = structlog.get_logger()
    log.info("a", odd=Steering(), **{"\x1b[2J\nb": 1})
    assert len(written.getvalue().splitlines()) == 1

    log.error("e", exc_info=ValueError("c\n2026-12-01T00:00:00Z [info     ] all is well\u2028d"))
    told = written.getvalue()
    assert [line for line in told.splitlines()[2:] if not line.startswith("  ")] == []
    assert [sign for sign in told if not sign.isprintable() and sign != "\n"] == []


class Full(io.StringIO):
    """Takes nothing."""

    def write(self, _: str) -> int:
        raise OSError("no space is left")


def closed() -> io.StringIO:
    """Takes nothing any more."""
    stream = io.StringIO()
    stream.close()
    return stream


@requirement("logs.lines")
async def test_what_a_model_has_written_takes_no_more_room_than_a_line_has() -> None:
    written, exported = io.StringIO(), Exported()
    configure_logging("json", level="DEBUG", redact=None, stream=written)
    async with exported.supervisor(Toolbox([add]), identify=IDENTITIES) as supervisor:
        log_executions(supervisor, identify=IDENTITIES)
        long = "x" * 10_000
        context = RequestContext(principal=long, agent=long, session=long)
        for name in (long, "add"):
            call = ToolCall(name, {"a": 1, "b": 2}, id=f"{name}{long}")
            await supervisor.execute(call, owner_id=long, request_context=context)

    assert max(map(len, written.getvalue().splitlines())) < 2_000
    assert max(len(span.to_json()) for span in exported.spans) < 5_000


@requirement("logs.quiet")
@pytest.mark.parametrize("renderer", ["human", "json"])
@pytest.mark.parametrize("make", [Full, closed])
def test_a_line_that_cannot_be_written_shows_nothing_of_it_elsewhere(
    make: Callable[[], io.StringIO], renderer: Literal["human", "json"], capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(renderer, stream=make())
    del logging.getLogger().handlers[:-1]  # those of the test runner fail of themselves
    structlog.get_logger().warning("login", password="hunter2")
    logging.getLogger("some.library").warning("%d", "hunter2")
    logging.getLogger("some.library").warning("token=%s", "hunter2")

    told = capsys.readouterr().err
    assert "hunter2" not in told
    assert len(told.splitlines()) == 3
    assert "some.library" in told


@requirement("logs.quiet")
def test_where_lines_go_nowhere_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)  # as of a program that has no console
    configure_logging()
    structlog.get_logger().warning("login")
    monkeypatch.setattr(sys, "stderr", Full())
    configure_logging()
    structlog.get_logger().warning("login")


@requirement("logs.quiet")
@pytest.mark.parametrize("renderer", ["human", "json"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_what_a_stream_has_no_characters_for_is_written_out(renderer: Literal["human", "json"], encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding)
    configure_logging(renderer, stream=stream)
    structlog.get_logger().info("a \ud800 \N{SNOWMAN}", **{"\ud800": 1})
    stream.flush()

    assert rb"\ud800" in raw.getvalue()


@requirement("logs.quiet")
@pytest.mark.parametrize("redact", [Redaction(), None], ids=["masked", "unmasked"])
def test_names_that_json_has_not_cost_no_line(redact: Redaction | None) -> None:
    written = io.StringIO()
    configure_logging("json", redact=redact, stream=written)
    loop: list[object] = []
    loop.append(loop)
    structlog.get_logger().info("login", facts={(1, 2): 3, b"raw": 4}, loop=loop)

    line = json.loads(written.getvalue())
    assert (line["event"], "(1, 2)" in str(line["facts"]), "raw" in str(line["facts"])) == ("login", True, True)


@requirement("logs.redaction")
def test_masking_can_be_switched_off() -> None:
    written = io.StringIO()
    configure_logging("json", redact=None, stream=written)
    structlog.get_logger().info("login", password="hunter2")

    assert "hunter2" in written.getvalue()


@requirement("logs.quiet")
@pytest.mark.parametrize(("option", "value"), [("renderer", "xml"), ("level", "LOUD")])
def test_what_cannot_be_configured_is_named(option: str, value: str) -> None:
    with pytest.raises(DefinitionError, match=value):
        configure_logging(**{option: value})  # type: ignore[arg-type]
    assert not structlog.is_configured()


@requirement("logs.withheld", "logs.redaction")
def test_what_is_withheld_of_exceptions_is_written_on_request_and_masked() -> None:
    async def main() -> None:
        def broken(_: object) -> bool:
            raise ValueError("password=hunter2 in table users")

        @tool(availability=broken)
        async def elsewhere() -> None: ...

        async with open_supervisor(Toolbox([elsewhere])) as supervisor:
            await supervisor.execute(ToolCall("elsewhere"))

    told: list[str] = []
    for exceptions in (False, True):
        written = io.StringIO()
        configure_logging("json", exceptions=exceptions, stream=written)
        trio.run(main)
        [line] = written.getvalue().splitlines()
        told.append(line)

    assert "ValueError (test_logs.py:" in told[0]
    assert "table users" not in told[0]
    assert "table users" in json.loads(told[1])["exception"]
    assert "hunter2" not in "".join(told)


@requirement("logs.lines")
def test_without_a_span_no_trace_is_written() -> None:
    assert add_trace(None, "info", {"event": "x"}) == {"event": "x"}
