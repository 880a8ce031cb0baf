"""A blocking host whose trio ends in no regular way: its run is torn, or it does not end before the interpreter does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import requirement

ROOT: Final = Path(__file__).parents[2]

PROGRAM: Final = """
import atexit, sys, threading, time
import trio
from armory_trio import Toolbox, ToolCall, tool
from armory_trio.integrations import _thread_side
from armory_trio.integrations.portal import open_blocking_host

running = threading.Event()

@tool
async def sleep() -> None:
    "Sleep until stopped."
    running.set()
    await trio.sleep_forever()

@tool
async def beat():
    "Yield once, and then no more."
    yield 1
    await trio.sleep_forever()

@tool
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

@tool(placement="task")
def stick() -> None:
    "Hold up trio itself."
    running.set()
    while True:
        time.sleep(0.01)

toolbox = Toolbox([sleep, beat, add, stick])
SLEEP = ToolCall("sleep")

def told(function):
    try:
        return str(function())
    except BaseException as exc:
        return f"{type(exc).__name__}: {exc}"
"""


def run_program(tmp_path: Path, rest: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + rest, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


TORN: Final = """
class Torn:
    "Input and output of trio that breaks."
    def __init__(self, real):
        self.real = real
    def get_events(self, timeout):
        raise trio.TrioInternalError("a bug of trio")
    def __getattr__(self, name):
        return getattr(self.real, name)

def tear(_):
    runner = trio._core._run.GLOBAL_RUN_CONTEXT.runner
    runner.io_manager = Torn(runner.io_manager)

def read_on():
    for _ in stream:
        one.set()

said, one, kept = {}, threading.Event(), []

def use(host):
    global stream
    done = host.start(ToolCall("add", {"a": 5, "b": 3}))
    done.settled()
    execution = host.start(SLEEP)
    with host.stream(ToolCall("beat")) as stream:
        waits = {
            "execute": lambda: host.execute(SLEEP), "batch": lambda: host.execute_batch([SLEEP, SLEEP]),
            "result": execution.result, "bounded": lambda: execution.result(timeout=1e9), "settled": execution.settled,
            "stream": read_on, "idle": host.wait_idle, "run": lambda: host.run(lambda _: trio.sleep_forever()),
            "view": lambda: host.serve_live_view(path=sys.argv[0] + ".sock").__enter__(), "stop": host.shutdown,
        }
        threads = [
            threading.Thread(target=lambda name, wait: said.update({name: told(wait)}), args=each)
            for each in waits.items() if each[0] not in ("view", "stop")
        ]
        for each in threads:
            each.start()
        while host.active < 5 or not one.is_set():
            time.sleep(0.001)
        threads.append(threading.Thread(target=lambda: said.update(stop=told(host.shutdown))))
        threads[-1].start()
        while not host.closed:
            time.sleep(0.001)
        kept.append(trio._core._run.GLOBAL_RUN_CONTEXT)
        told(lambda: host.call(tear))
        for each in threads:
            each.join()
        said["late"] = told(lambda: host.execute(SLEEP))
        said["late start"] = told(lambda: host.start(SLEEP))
        said["late view"] = told(waits["view"])
        said["late stream"] = told(lambda: next(stream))
        said["done"] = told(lambda: done.result().value)
        said["snapshot"] = told(lambda: execution.snapshot.state)
        said["inspected"] = told(lambda: len(host.inspect(live_only=True)))

def whole():
    with open_blocking_host(toolbox) as host:
        kept.append(host)
        use(host)

print(told(whole))
for name, words in sorted(said.items()):
    print(name, "-", words)
host = kept[0]
print(host.closed, host.report.torn, host.report.exit_code, len(host.report.unfinished))
print(host.report.lines()[0])
"""


@requirement("portal.torn")
def test_a_run_that_is_torn_within_trio_leaves_no_thread_waiting(tmp_path: Path) -> None:
    """As by a bug of trio: its tasks are not ended, they are just no more."""
    ended = run_program(tmp_path, TORN)

    torn = "trio's own run broke off; what was at work was not ended, and nobody knows what it did"
    lost = f"AdmissionClosed: {torn}"
    waits = ["batch", "bounded", "execute", "idle", "late", "result", "run", "settled", "stop", "stream"]
    said = dict.fromkeys([*waits, "late stream", "late view"], lost)
    said["late start"] = f"AdmissionClosed: the supervisor takes no new work: {torn}"
    said |= {"done": "8", "snapshot": "active", "inspected": "5"}
    assert ended.stdout.split("\n")[:-1] == [
        "TrioInternalError: a bug of trio",
        *(f"{name} - {words}" for name, words in sorted(said.items())),
        "True True 4 5",
        f"torn: {torn}",
    ], ended.stderr
    assert ended.returncode == 0


STUCK: Final = """
_thread_side._EXIT_PATIENCE = 0.2
opening = open_blocking_host(toolbox)

def last():
    print(told(USE))

atexit.register(last)
host = opening.__enter__()
execution = host.start(ToolCall("stick"))
running.wait()
"""


@requirement("hosts.exit")
@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("lambda: host.execute(SLEEP)", "AdmissionClosed"),
        ("execution.result", "AdmissionClosed"),
        ("lambda: host.inspect()", "AdmissionClosed"),
        ("lambda: opening.__exit__(None, None, None)", "RuntimeError"),
        ("lambda: opening.gen.close()", "RuntimeError"),
    ],
)
def test_a_tool_that_holds_up_trio_does_not_hold_up_an_exit_that_uses_its_host(
    tmp_path: Path, use: str, said: str
) -> None:
    ended = run_program(tmp_path, STUCK.replace("USE", use))

    assert ended.stdout == f"{said}: the interpreter exits, and the host did not end in time\n", ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")
