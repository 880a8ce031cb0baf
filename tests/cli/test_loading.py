"""Where the tools come from, and what is said when they cannot be had."""

from __future__ import annotations

import pytest

from tests.requirements import requirement

from .commands import Cli, call, jsonl

ADD = jsonl(call("add", a=1, b=1))

SOURCES = '''
from armory_trio import Toolbox, tool

@tool(effect="read-only")
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b

@tool(effect="read-only")
async def other() -> int:
    """Other."""
    return 1

toolbox = Toolbox([add])
tools = [add, other]
class deep:
    inside = (add,)

def make():
    return toolbox

def make_list():
    return [add]

def needs(argument):
    return toolbox

async def later():
    return toolbox

def failing():
    raise RuntimeError("no tools today")

def exiting():
    raise SystemExit(5)

class Stop(BaseException):
    """No Exception."""

def stopping():
    raise Stop("not today")

def odd():
    return 17

class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("nothing is behind it now")

proxy = Proxy()

def make_proxy():
    return Proxy()

number = 17
mixed = [add, 17]
plain = [needs]
'''


@requirement("cli.tools.named")
@pytest.mark.parametrize("attribute", ["toolbox", "tools", "add", "deep.inside", "make", "make_list"])
def test_tools_may_be_named_in_any_of_these_ways(attribute: str, cli: Cli) -> None:
    cli.write("sources.py", SOURCES)

    assert cli("run", f"sources:{attribute}", "-", stdin=ADD).values == [2]


@requirement("cli.tools.named")
def test_several_are_combined_and_their_order_with_the_file_does_not_matter(cli: Cli) -> None:
    cli.write("sources.py", SOURCES)
    name = cli.write("calls.jsonl", jsonl(call("add", a=1, b=1), call("other"), call("echo", text="hi")))

    ended = cli("run", "sources:add", name, "sources:other", "--toolbox", "my_tools:echo")

    assert (ended.code, ended.values) == (0, [2, 1, "hi"])


@requirement("cli.tools.named")
def test_the_same_tool_may_be_named_twice(cli: Cli) -> None:
    cli.write("sources.py", SOURCES)

    assert cli("run", "sources:add", "sources:toolbox", "-", stdin=ADD).values == [2]


@requirement("cli.tools.bad")
@pytest.mark.parametrize(
    ("reference", "told"),
    [
        pytest.param("nowhere:x", "there is no module 'nowhere' in ", id="no module"),
        pytest.param("sources.inner:x", "there is no module 'sources.inner' in ", id="no submodule"),
        pytest.param("sources.py:x", "write 'sources', without .py", id="a file name"),
        pytest.param("sources:toolbux", "there is no attribute 'toolbux'; did you mean 'toolbox'?", id="near"),
        pytest.param(
            "sources:zzz", "there is no attribute 'zzz'; toolboxes and tools there: add, other, toolbox", id="far"
        ),
        pytest.param("sources:number.real.zzz", "there is no attribute 'zzz'", id="deep"),
        pytest.param(
            "sources:number", "it is a value of type 'int'; expected a Toolbox, a tool, a list", id="a number"
        ),
        pytest.param("sources:odd", "it returned a value of type 'int'; expected", id="returns a number"),
        pytest.param("sources:needs", "it is a function with arguments; decorate it with @tool", id="arguments"),
        pytest.param("sources:later", "it returned a value of type 'coroutine'", id="async"),
        pytest.param("sources:failing", "calling it failed: RuntimeError: no tools today (", id="raises"),
        pytest.param("sources:exiting", "calling it failed: SystemExit: 5", id="exits"),
        pytest.param("sources:stopping", "calling it failed: sources.Stop: not today (", id="raises no Exception"),
        pytest.param(
            "sources:proxy", "sources:proxy: looking at it failed: RuntimeError: nothing is behind", id="proxy"
        ),
        pytest.param("sources:make_proxy", "looking at it failed: RuntimeError: nothing is behind", id="makes a proxy"),
        pytest.param("sources:mixed", "tools[1]: 17 is no tool", id="a list with a number"),
        pytest.param("sources:plain", "decorate it with @tool", id="a list with a function"),
        pytest.param("broken:x", "importing 'broken' failed: SyntaxError: ", id="syntax"),
        pytest.param(
            "needy:x", "importing 'needy' failed: ModuleNotFoundError: No module named 'not_there' (", id="needs"
        ),
        pytest.param("boom:x", "importing 'boom' failed: ZeroDivisionError: division by zero (", id="raises on import"),
        pytest.param("leave:x", "importing 'leave' failed: SystemExit: ", id="exits on import"),
        pytest.param("halt:x", "importing 'halt' failed: BaseException: no (", id="raises no Exception on import"),
        pytest.param("lazy:x", "lazy:x: looking up 'x' failed: RuntimeError: no x (", id="raises when it is looked up"),
        pytest.param("rude:x", "rude:x: looking up 'x' failed: SystemExit: 5", id="exits when it is looked up"),
        pytest.param(
            "badly:x", "importing 'badly' failed: armory_trio.errors.DefinitionError: tool 'f'", id="bad tool"
        ),
    ],
)
def test_tools_that_cannot_be_had_get_one_line(reference: str, told: str, cli: Cli) -> None:
    cli.write("sources.py", SOURCES)
    cli.write("broken.py", "def f(:\n")
    cli.write("needy.py", "x = 1\nimport not_there\n")
    cli.write("boom.py", "x = 1\n\nx / 0\n")
    cli.write("leave.py", "import sys\nsys.exit('bye')\n")
    cli.write("halt.py", "raise BaseException('no')\n")
    cli.write("lazy.py", "def __getattr__(name):\n    raise RuntimeError(f'no {name}')\n")
    cli.write("rude.py", "def __getattr__(name):\n    raise SystemExit(5)\n")
    cli.write("badly.py", "from armory_trio import tool\n@tool(timeout=-1)\nasync def f() -> None: ...\n")

    ended = cli("run", reference, "-", stdin=ADD)

    [line] = ended.told
    assert told in line
    assert (ended.code, ended.out) == (2, b"")


@requirement("cli.tools.bad")
def test_the_place_in_the_users_module_is_named(cli: Cli) -> None:
    cli.write("boom.py", "x = 1\n\nx / 0\n")
    cli.write("outer.py", "import boom\n")

    [line] = cli("run", "outer:x", "-", stdin=ADD).told

    assert line.endswith("boom.py:3)")


@requirement("cli.tools.bad")
def test_a_current_directory_that_is_gone_gets_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = cli.directory / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    ended = cli("tools", "sources:add")

    [line] = ended.told
    assert line == "the current directory, where modules are looked for, is gone: No such file or directory"
    assert ended.code == 2


@requirement("cli.tools.bad")
def test_two_tools_of_one_id_do_not_go_together(cli: Cli) -> None:
    cli.write("sources.py", SOURCES)

    [line] = cli("run", "sources:add", "my_tools:toolbox", "-", stdin=ADD).told

    assert "the tools do not go together: " in line
    assert "default:add is claimed twice" in line


@requirement("cli.tools.bad")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "no tools: give MODULE:ATTRIBUTE, --manifest FILE, or --kit coding", id="none"),
        pytest.param(["--root", "."], "--root says where a kit works; give --kit coding", id="a root alone"),
        pytest.param(["--kit", "coding"], "--kit coding needs --root DIR", id="a kit alone"),
        pytest.param(["--kit", "coding", "--root", "gone"], "--kit coding --root gone: ", id="no root there"),
        pytest.param(["--kit", "coding", "--root", "my_tools.py"], "--root my_tools.py: ", id="a file as root"),
        pytest.param(["--kit", "cooking", "--root", "."], "'cooking' is not", id="no such kit"),
        pytest.param(["--toolbox", "my_tools"], "'my_tools' is no MODULE:ATTRIBUTE; write it like", id="half a name"),
    ],
)
def test_wrong_options_for_tools_get_one_line(arguments: list[str], told: str, cli: Cli) -> None:
    ended = cli("run", "-", *arguments, stdin=ADD)

    [line] = ended.told
    assert told in line
    assert ended.code == 2


@requirement("cli.stdout.only-results")
def test_what_a_module_prints_when_it_is_imported_goes_to_stderr(cli: Cli) -> None:
    cli.write("chatty.py", "print('hello')\n" + SOURCES)

    with cli.spawn("run", "chatty:add") as process:
        ended = process.end(ADD)

    assert (ended.code, ended.values, ended.err) == (0, [2], "hello\n")
