"""Names that a package imports only when somebody asks: the same for type checkers, for readers and at run time."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

import armory_trio
from armory_trio._on_demand import on_demand
from tests.public_names import LIST, names_of

ROOT: Final = Path(__file__).parents[1]


def _is_late(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _imported(body: Iterable[ast.stmt]) -> dict[str, str]:
    """Names, and the module within the package that each is imported from."""
    return {
        alias.asname: node.module or ""
        for node in body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if alias.asname is not None
    }


def offered_by(package: ast.Module) -> dict[str, str]:
    """What the ``__init__`` *package* offers, at once or on demand, and from where."""
    late = [statement for node in package.body if isinstance(node, ast.If) for statement in node.body]
    return _imported((*package.body, *late))


def _told(package: ast.Module) -> dict[str, str]:
    """What *package* hands to `on_demand`."""
    [branch] = [node for node in package.body if isinstance(node, ast.If)]
    [assigned] = branch.orelse
    assert isinstance(assigned, ast.Assign)
    assert isinstance(assigned.value, ast.Call)
    assert ast.unparse(assigned.targets[0]) == "(__getattr__, __dir__)"
    name, homes = assigned.value.args
    assert ast.unparse(name) == "__name__"
    told: dict[str, str] = ast.literal_eval(homes)
    return told


PACKAGES: Final = {
    ".".join(path.parent.relative_to(ROOT).parts): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "armory_trio").rglob("__init__.py"))
    if "import on_demand" in path.read_text(encoding="utf-8")
}


def test_the_face_of_the_package_is_among_them() -> None:
    assert "armory_trio" in PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
def test_what_type_checkers_are_told_is_what_there_is(package: str) -> None:
    [branch] = [node for node in PACKAGES[package].body if isinstance(node, ast.If)]

    assert _is_late(branch)
    assert _imported(branch.body) == _told(PACKAGES[package])


@pytest.mark.parametrize("package", PACKAGES)
def test_such_a_package_holds_nothing_but_names_that_are_offered_again(package: str) -> None:
    docstring, *rest = PACKAGES[package].body
    imports = [node for node in rest if not _is_late(node)]

    assert isinstance(docstring, ast.Expr)
    assert [ast.unparse(node) for node in imports if not isinstance(node, ast.ImportFrom)] == []
    assert [
        ast.unparse(node)
        for node in imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname != alias.name and alias.name not in ("TYPE_CHECKING", "on_demand")
    ] == []


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in PACKAGES for name in _told(PACKAGES[package])]
)
def test_each_name_is_there_when_it_is_asked_for_and_is_listed_before(package: str, name: str) -> None:
    module = importlib.import_module(package)

    assert name in dir(module)
    assert getattr(module, name) is getattr(module, name)
    assert name in vars(module) or not _told(PACKAGES[package])[name].startswith("_")


def test_a_name_that_nobody_offers_is_missing_as_in_any_module() -> None:
    misspelt = "Supervizor"

    with pytest.raises(AttributeError, match="module 'armory_trio' has no attribute 'Supervizor'") as caught:
        getattr(armory_trio, misspelt)

    assert (caught.value.name, caught.value.obj) == ("Supervizor", armory_trio)
    assert not hasattr(armory_trio, "__path_of_nobody__")


def test_a_home_that_has_no_such_name_says_which_module_that_is() -> None:
    get, _ = on_demand("armory_trio.engine", {"nothing": "_copies"})

    with pytest.raises(AttributeError, match=r"armory_trio\.engine\._copies.*nothing"):
        get("nothing")


def test_importing_the_package_loads_neither_the_engine_nor_trio() -> None:
    program = "import armory_trio, sys; print('trio' in sys.modules, 'armory_trio.engine' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ended.stdout.split() == ["False", "False"]


def test_defining_a_tool_loads_no_engine_and_what_runs_it_is_loaded_once() -> None:
    program = """
import sys
from armory_trio import tool

@tool(effect="read-only")
async def double(number: int) -> int:
    \"""Twice.\"""
    return 2 * number

print("armory_trio.engine" in sys.modules)
import armory_trio, trio
print(armory_trio.open_supervisor is armory_trio.open_supervisor, trio.run(double, 4))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ended.stdout.split() == ["False", "True", "8"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_star_takes_all_names_and_nothing_of_ours(package: str) -> None:
    taken: dict[str, object] = {}
    exec(f"from {package} import *", taken)  # noqa: S102  # the words of this test

    assert {*offered_by(PACKAGES[package])} <= {*taken}
    assert not {"TYPE_CHECKING", "on_demand"} & ({*taken} | {*dir(importlib.import_module(package))})


def test_the_rooms_are_attributes_of_the_package_before_anybody_imports_them() -> None:
    program = """
import armory_trio
print(*sorted({"authority", "content", "definitions", "engine", "errors", "toolbox"} - {*dir(armory_trio)}))
print(armory_trio.engine.open_supervisor is armory_trio.open_supervisor)
print(armory_trio.authority.Allow is armory_trio.Allow, armory_trio.content.encode_content is armory_trio.encode_content)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ended.stdout.split() == ["True", "True", "True"]


def test_what_is_put_in_place_of_a_name_for_a_while_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    real = armory_trio.engine.Limits

    with monkeypatch.context() as patched:
        patched.setattr("armory_trio.engine.Limits", 1)
        assert vars(armory_trio).get("Limits", 1) == 1
        assert getattr(armory_trio, "Limits") == 1  # noqa: B009  # a type checker knows better

    assert armory_trio.Limits is real


def test_the_engine_imports_none_of_its_modules_by_itself() -> None:
    """A thread that imports one of them would wait for the package, which waits for that module."""
    program = "import armory_trio.engine, sys; print(*(name for name in sys.modules if 'trio.engine.' in name))"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ended.stdout == "\n"


def test_threads_that_ask_for_the_first_time_at_once_each_get_what_they_asked_for() -> None:
    program = """
import importlib, sys, threading
import armory_trio
sys.setswitchinterval(1e-6)
ROOMS = ["middleware", "testing", "storage.sql", "observability.logs", "integrations.portal", "kits.background"]
ROOMS += ["engine", "engine.capacity", "authority.policy", "authority.grants", "providers", "composition", "ledger"]
ROOMS += ["engine._concurrency", "engine._settlement", "engine._spending", "engine._onion", "engine.placement._thread"]
DEEDS = [lambda: armory_trio.open_supervisor, lambda: armory_trio.serve_until_signal, lambda: armory_trio.Allow]
DEEDS += [lambda room=room: importlib.import_module(f"armory_trio.{room}") for room in ROOMS]
start, wrong = threading.Barrier(len(DEEDS)), []
def run(deed):
    start.wait()
    try:
        deed()
    except BaseException as error:
        wrong.append(repr(error))
threads = [threading.Thread(target=run, args=[deed]) for deed in DEEDS]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
"""
    for _ in range(4):
        ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

        assert ended.stdout == "[]\n"


def test_the_types_of_a_tool_can_be_read_at_run_time() -> None:
    kind: type = armory_trio.Tool

    assert typing.get_type_hints(kind)
    assert typing.get_type_hints(vars(kind)["bound"])


@pytest.mark.parametrize("options", ["CallOptions", "AuthorityOptions", "GrantTerms"])
def test_options_that_a_host_builds_as_a_dict_can_be_checked_at_run_time(options: str) -> None:
    assert typing.get_type_hints(getattr(armory_trio, options))


# ── Types that stand in signatures ───────────────────────────────────────────────────────────────────────────────────


STANDING_IN: Final = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "armory_trio").rglob("*.py"))
    if "import in_words" in path.read_text(encoding="utf-8")
}
OFFERING: Final = sorted({line.rpartition(".")[0] for line in LIST.read_text(encoding="utf-8").split()})
MADE_UP: Final = "<attrs generated"
"""Where the code of an ``__init__`` comes from that is made of an attrs class: it has no globals of ours, so that
`typing.get_type_hints` finds nothing there; what is to be said of such a class, it says of its fields."""


@pytest.mark.parametrize("module", STANDING_IN)
def test_words_stand_in_for_what_type_checkers_are_told(module: str) -> None:
    [branch] = [node for node in STANDING_IN[module].body if _is_late(node) and isinstance(node, ast.If)]
    package = module.removesuffix(".__init__") if module.endswith(".__init__") else module.rpartition(".")[0]
    told = {
        alias.name: importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    stand: dict[str, str] = {}
    for node in branch.orelse:
        assert isinstance(node, ast.Assign)
        assert isinstance(node.value, ast.Call)
        home, *names = (ast.literal_eval(each) for each in node.value.args)
        assert ast.unparse(node.targets[0]) == ast.unparse(ast.parse(f"({', '.join(names)},)"))
        stand |= dict.fromkeys(names, home)

    assert stand.items() <= told.items()  # types that only overloads name need none


def _functions_of(offered: object) -> Iterable[object]:
    """*offered*, and what can be called of it from outside, if that is ours."""
    if inspect.isfunction(offered):
        yield offered
    if not inspect.isclass(offered):
        return
    yield offered
    for kind in offered.__mro__:
        if kind.__module__.startswith("armory_trio"):
            for name, member in vars(kind).items():
                function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                if inspect.isfunction(function) and (name.startswith("__") or not name.startswith("_")):
                    yield function


@pytest.mark.parametrize("module", OFFERING)
def test_the_types_of_everything_that_is_offered_can_be_read_at_run_time(module: str) -> None:
    offered = importlib.import_module(module)
    wrong: list[str] = []
    for function in {
        each
        for name in names_of(module)
        if getattr(getattr(offered, name), "__module__", "").startswith("armory_trio")
        for each in _functions_of(getattr(offered, name))
    }:
        code: object = getattr(function, "__code__", None)
        if code is None or not str(getattr(code, "co_filename", "")).startswith(MADE_UP):
            try:
                typing.get_type_hints(function)
            except ImportError as error:
                assert not (error.name or "armory_trio").startswith("armory_trio")  # it is not installed here
            except Exception as error:  # noqa: BLE001  # each of them is to be told
                wrong.append(f"{getattr(function, '__qualname__', function)}: {error!r}")

    assert sorted(wrong) == []


def test_nobody_pays_for_a_type_before_looking_at_it() -> None:
    program = """
import sys, typing, armory_trio
kinds = armory_trio.Toolbox, armory_trio.Supervisor
print("armory_trio.engine._keywords" in sys.modules, "armory_trio.toolbox.query" in sys.modules)
print(typing.get_type_hints(armory_trio.Supervisor.execute)["options"] == typing.Unpack[armory_trio.CallOptions])
print(typing.get_type_hints(armory_trio.open_supervisor)["toolbox"])
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    loaded, execute, toolbox = ended.stdout.splitlines()
    assert (loaded, execute) == ("False False", "True")
    assert toolbox.count("armory_trio.toolbox") == 2
